import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fail, run } from '@licet/cli/terminal';
import { newFolder } from './folders.ts';

export const COMPATIBILITY_DATE = '2026-09-01';

/** The bundle that a deployment of a Worker would upload. @param checkout the folder of its code and settings */
export async function bundle(entry: string, checkout = '.'): Promise<string> {
  const outdir = newFolder();
  const options = [
    '--cwd',
    checkout,
    '--name',
    'bench',
    '--compatibility-date',
    COMPATIBILITY_DATE,
  ];
  const { ok, output } = await run('wrangler', [
    ...['deploy', entry, '--dry-run', '--outdir', outdir],
    ...options,
  ]);
  if (!ok) fail(output);
  const script = readdirSync(outdir).find((file) => file.endsWith('.js')) ?? fail(output);
  return readFileSync(join(outdir, script), 'utf8');
}
