import { spawnSync } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { delimiter } from 'node:path';

/** The needs of tests that not every machine meets: tools, above all. */

/** The output of `command -v`: the path of a tool; empty for none. */
export function pathOf(tool: string): string {
  const folders = (process.env.PATH ?? '').split(delimiter);
  // Debian has nginx beside the other programs, where the PATH of users other than root does not look.
  const all = [...folders, ...folders.map((path) => path.replace(/\/bin$/, '/sbin'))];
  const env = { ...process.env, PATH: all.join(delimiter) };
  return spawnSync('sh', ['-c', `command -v ${tool}`], { encoding: 'utf8', env }).stdout.trim();
}

export const isInstalled = (tool: string): boolean => pathOf(tool) !== '';

/**
 * Whether tests can run. `npm test` lists those that cannot, by their need.
 *
 * @param need named for a person, as are the tests
 */
export function canRun(isMet: boolean, need: string, tests: string): boolean {
  const { LICET_SKIPPED } = process.env;
  if (isMet) return true;
  if (LICET_SKIPPED) appendFileSync(LICET_SKIPPED, `${JSON.stringify({ need, tests })}\n`);
  else console.warn(`Skipped without ${need}: ${tests}`);
  return false;
}

/** Whether the machine has all tools that tests need. */
export const hasTools = (tests: string, ...tools: string[]): boolean =>
  tools.map((tool) => canRun(isInstalled(tool), tool, tests)).every(Boolean);
