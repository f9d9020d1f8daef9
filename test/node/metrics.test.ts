import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readRootToken } from '@licet/cli/root-token';
import { Licet } from '@licet/client';
import { expect, it } from 'vitest';
import { ownFolder } from './own.ts';
import { sharedService } from './shared-service.ts';
import { hasTools, pathOf } from './tools.ts';

/** The metrics and the documented alerts, as Prometheus' own tool reads them. */

const folder = ownFolder();

/** Runs promtool. @returns its output, and its findings */
function promtool(args: readonly string[], input = ''): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(pathOf('promtool'), args, {
    cwd: folder,
    encoding: 'utf8',
    input,
  });
  return { status, output: stdout + stderr };
}

it.runIf(hasTools('the metrics of a service and the documented alerts', 'promtool'))(
  'promtool finds no fault in the metrics of a service on one machine, and in the documented scrape and alerts',
  async () => {
    const licet = new Licet({ url: await sharedService(), token: readRootToken() });
    await licet.validate({ licenseKey: 'unknown', productId: 1 });
    const metrics = await licet.metrics();
    expect(metrics).toContain('licet_process_validations_total{outcome="LICENSE_NOT_FOUND"}');
    expect(promtool(['check', 'metrics'], metrics)).toEqual({ status: 0, output: '' });

    const document = readFileSync('docs/operations.md', 'utf8');
    const [config = '', rules = ''] = [...document.matchAll(/```yaml\n(.*?)```/gs)].map(
      ([, block]) => block,
    );
    writeFileSync(join(folder, 'token'), '');
    writeFileSync(
      join(folder, 'prometheus.yml'),
      config.replace(/credentials_file: .*/, 'credentials_file: token'),
    );
    writeFileSync(join(folder, 'licet.rules.yml'), rules);
    expect(promtool(['check', 'config', 'prometheus.yml']).output).toContain('3 rules found');
    const named = new Set([...document.matchAll(/\blicet_[a-z_]+/g)].map(([name]) => name));
    for (const name of named) expect(metrics).toContain(`# TYPE ${name} `);
  },
);
