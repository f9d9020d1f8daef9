import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = join(tmpdir(), `licet-bench-${process.pid}`);

/** A folder for a moment: it is gone at the latest when the process ends. */
export function newFolder(): string {
  mkdirSync(root, { recursive: true });
  return mkdtempSync(join(root, '-'));
}

process.on('exit', () => rmSync(root, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
