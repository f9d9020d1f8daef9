import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { ownFolder } from './own.ts';

const folder = ownFolder();

it('the queue that wrangler.toml has in comments can be switched on', () => {
  const settings = readFileSync('wrangler.toml', 'utf8');
  const queue = settings.slice(settings.indexOf('# [[queues.producers]]')).replace(/^# ?/gm, '');
  expect(queue).toContain('dead_letter_queue = "licet-records-dead"');
  const config = join(folder, 'wrangler.toml');
  const here = /"(src\/index.ts|public)"/g;
  const absolute = settings.replaceAll(here, (_, path) => JSON.stringify(resolve(path)));
  writeFileSync(config, absolute + queue);
  const options = ['deploy', '--dry-run', '--config', config, '--outdir', join(folder, 'out')];
  const output = execFileSync('wrangler', options, { encoding: 'utf8', stdio: 'pipe' });
  expect(output).toMatch(/env\.RECORDS \(licet-records\)\s+Queue/);
});
