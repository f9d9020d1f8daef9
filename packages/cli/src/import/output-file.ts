import { accessSync, constants, lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { CliError, systemReason, usageError } from '../terminal.ts';

/** Where an export or a report is written. */

export const cannotWrite = (name: string, error: unknown): CliError =>
  new CliError(`${name} cannot be written: ${systemReason(error)}.`);

/** Whether two names, which need not be there, lead to one file. */
export function isSameFile(one: string, other: string): boolean {
  const [found, also] = [one, other].map((name) => statSync(name, { throwIfNoEntry: false }));
  return (
    one === other || (found !== undefined && found.ino === also?.ino && found.dev === also.dev)
  );
}

export interface OutputFile {
  /** Behind all links: it is what they lead to that is written. */
  path: string;
  /** Whether it can be written beside and then renamed. A device or a pipe must stay what it is. */
  isReplaceable: boolean;
}

function findNew(file: string): OutputFile {
  if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink()) {
    return findOutputFile(resolve(dirname(file), readlinkSync(file)));
  }
  const folder = dirname(file);
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    throw usageError(`There is no folder ${folder}.`);
  }
  accessSync(folder, constants.W_OK);
  return { path: join(realpathSync(folder), basename(file)), isReplaceable: true };
}

/** @throws where nothing can be written, before anything else is done */
export function findOutputFile(file: string): OutputFile {
  try {
    const found = statSync(file, { throwIfNoEntry: false });
    if (!found) return findNew(file);
    if (found.isDirectory()) throw usageError(`${file} is a folder: give the name of a file.`);
    if (!found.isFile()) return { path: file, isReplaceable: false };
    const path = realpathSync(file);
    accessSync(dirname(path), constants.W_OK);
    return { path, isReplaceable: true };
  } catch (error) {
    throw error instanceof CliError ? error : cannotWrite(file, error);
  }
}
