import { spawnSync } from 'node:child_process';
import { appendFileSync } from 'node:fs';

/** The needs of tests that not every machine meets: tools, above all. */

/** The output of `command -v`: the path of a tool; empty for none. */
export const pathOf = (tool: string): string =>
  spawnSync('sh', ['-c', `command -v ${tool}`], { encoding: 'utf8' }).stdout.trim();

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
