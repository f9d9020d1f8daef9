import { createWriteStream, renameSync, rmSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { CliError, Progress } from '../terminal.ts';
import { type Counts, KINDS, NAMES, type Source } from './kinds.ts';
import { cannotWrite, type OutputFile } from './output-file.ts';

/** Writes all that a source has: a JSON object a line, and a last line that counts them. */

async function* linesOf(source: Source, counts: Record<string, number>): AsyncGenerator<string> {
  for (const kind of KINDS) {
    const progress = new Progress(kind, source.counts[kind]);
    let count = 0;
    for await (const { item } of source.read(kind)) {
      yield `${JSON.stringify({ [NAMES[kind]]: item })}\n`;
      progress.add(1);
      count++;
    }
    counts[kind] = count;
    progress.end();
  }
  yield `${JSON.stringify({ end: counts })}\n`;
}

/** Writes an export to the standard output. @returns how many there are of each kind */
export async function exportToOutput(source: Source): Promise<Counts> {
  const counts = {};
  try {
    await pipeline(linesOf(source, counts), process.stdout, { end: false });
  } catch (error) {
    throw error instanceof CliError ? error : cannotWrite('The standard output', error);
  }
  return counts;
}

/**
 * Writes an export into a file, which has its name only when it is whole; into a device or a pipe as it
 * comes.
 *
 * @returns how many there are of each kind
 */
export async function exportToFile(
  source: Source,
  { path, isReplaceable }: OutputFile,
): Promise<Counts> {
  const counts = {};
  const written = isReplaceable ? `${path}.${process.pid}.part` : path;
  const remove = () => {
    if (isReplaceable) rmSync(written, { force: true });
  };
  process.on('exit', remove);
  try {
    // It has license keys and people's addresses: it is for its owner alone.
    await pipeline(linesOf(source, counts), createWriteStream(written, { mode: 0o600 }));
    if (isReplaceable) renameSync(written, path);
  } catch (error) {
    throw error instanceof CliError ? error : cannotWrite(path, error);
  }
  process.off('exit', remove);
  return counts;
}
