import { spawnSync } from 'node:child_process';
import { appendFileSync } from 'node:fs';

/** The tools that some tests need, and that a machine may lack. */

export const isInstalled = (tool: string): boolean =>
  spawnSync('sh', ['-c', `command -v ${tool}`]).status === 0;

/** Notes the tests that are skipped for want of a tool. `npm test` lists them at its end. */
export function noteSkipped(tool: string, tests: string): void {
  console.warn(`SKIPPED without ${tool}: ${tests}`);
  const { LICET_SKIPPED } = process.env;
  if (LICET_SKIPPED) appendFileSync(LICET_SKIPPED, `${JSON.stringify({ tool, tests })}\n`);
}

/** Whether the machine has all tools. The tests that are skipped for want of them are noted. */
export function hasTools(tests: string, ...tools: string[]): boolean {
  const missing = tools.filter((tool) => !isInstalled(tool));
  for (const tool of missing) noteSkipped(tool, tests);
  return missing.length === 0;
}
