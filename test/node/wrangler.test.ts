import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';

it('the queue that wrangler.toml has in comments can be switched on', () => {
  const folder = mkdtempSync(join(tmpdir(), 'licet-wrangler-'));
  try {
    const settings = readFileSync('wrangler.toml', 'utf8');
    const queue = settings.slice(settings.indexOf('# [[queues.producers]]')).replace(/^# ?/gm, '');
    expect(queue).toContain('dead_letter_queue = "licet-records-dead"');
    const config = join(folder, 'wrangler.toml');
    writeFileSync(
      config,
      settings.replaceAll(/"(src\/index.ts|public)"/g, (_, path) => JSON.stringify(resolve(path))) +
        queue,
    );
    const options = ['deploy', '--dry-run', '--config', config, '--outdir', join(folder, 'out')];
    const output = execFileSync('wrangler', options, { encoding: 'utf8', stdio: 'pipe' });
    expect(output).toMatch(/env\.RECORDS \(licet-records\)\s+Queue/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
