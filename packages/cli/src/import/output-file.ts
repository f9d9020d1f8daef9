import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { CliError, systemReason, usageError } from '../terminal.ts';

/** The files that an export or a report writes. */

export const cannotWrite = (name: string, error: unknown): CliError =>
  new CliError(`${name} cannot be written: ${systemReason(error)}.`);

/** Whether two paths lead to the same file. The files need not exist. */
export function isSameFile(one: string, other: string): boolean {
  const [found, also] = [one, other].map((name) => statSync(name, { throwIfNoEntry: false }));
  return (
    one === other || (found !== undefined && found.ino === also?.ino && found.dev === also.dev)
  );
}

export interface OutputFile {
  /** The target of all links. */
  path: string;
  /** Whether a temporary file can be renamed to it. A device or a pipe must not be replaced. */
  isReplaceable: boolean;
}

function findNew(file: string): OutputFile {
  if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink()) {
    return findOutputFile(resolve(dirname(file), readlinkSync(file)));
  }
  const folder = dirname(file);
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    throw usageError(`The folder ${folder} does not exist.`);
  }
  accessSync(folder, constants.W_OK);
  return { path: join(realpathSync(folder), basename(file)), isReplaceable: true };
}

/** @throws CliError if the file cannot be written */
export function findOutputFile(file: string): OutputFile {
  try {
    const found = statSync(file, { throwIfNoEntry: false });
    if (!found) return findNew(file);
    if (found.isDirectory()) throw usageError(`${file} is a folder. Give the name of a file.`);
    if (!found.isFile()) return { path: file, isReplaceable: false };
    const path = realpathSync(file);
    accessSync(dirname(path), constants.W_OK);
    return { path, isReplaceable: true };
  } catch (error) {
    throw error instanceof CliError ? error : cannotWrite(file, error);
  }
}

/** {@link findOutputFile} for an export. @throws CliError also for a file that exists */
export function findNewFile(file: string): OutputFile {
  const found = findOutputFile(file);
  if (!found.isReplaceable || !existsSync(found.path)) return found;
  throw new CliError(
    `${found.path} exists, and no export is overwritten. Give the name of a new file.`,
  );
}

/** Writes a text about people into a new file, which only its owner may read. */
export function writeNewFile({ path, isReplaceable }: OutputFile, text: string): void {
  let isCreated = false;
  try {
    if (isReplaceable) writeFileSync(path, '', { flag: 'wx', mode: 0o600 });
    isCreated = isReplaceable;
    writeFileSync(path, text);
  } catch (error) {
    if (isCreated) rmSync(path, { force: true });
    throw cannotWrite(path, error);
  }
}
