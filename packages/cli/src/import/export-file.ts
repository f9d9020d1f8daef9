import { createWriteStream, openSync, renameSync, rmSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { CliError, Progress } from '../terminal.ts';
import { type Counts, KINDS, NAMES, type Source } from './kinds.ts';
import { cannotWrite, type OutputFile } from './output-file.ts';

/** Writes the items of a source, one JSON object per line, and a last line with their counts. */

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

/** Writes an export to the standard output. @returns the number of items of each kind */
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
 * Writes an export into a file, which gets its name when it is complete. A device or a pipe is written
 * directly.
 *
 * @returns the number of items of each kind
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
  // A signal ends the process.
  process.on('exit', remove);
  try {
    // The file holds license keys and addresses of people: only its owner may read it.
    // A new file: nobody has put a link to another one in its place.
    const flags = isReplaceable ? 'wx' : 'w';
    const fd = openSync(written, flags, 0o600);
    await pipeline(linesOf(source, counts), createWriteStream(written, { fd }));
    if (isReplaceable) renameSync(written, path);
  } catch (error) {
    remove();
    throw error instanceof CliError ? error : cannotWrite(path, error);
  } finally {
    process.off('exit', remove);
  }
  return counts;
}
