import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = join(tmpdir(), `licet-bench-${process.pid}`);

/** A temporary folder. It is removed when the process ends, if not before. */
export function newFolder(): string {
  mkdirSync(root, { recursive: true });
  return mkdtempSync(join(root, '-'));
}

process.on('exit', () => rmSync(root, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
