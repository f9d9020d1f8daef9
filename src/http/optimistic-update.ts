import type { Context } from 'hono';
import { wait } from '../lib/wait';
import { ApiError, notFound } from './errors';
import { checkIfMatch } from './etag';

const MAX_ATTEMPTS = 10;
const MAX_PAUSE_MS = 100;

interface Change<Row, Result> {
  /** What the object is called in an error. */
  what: string;
  read: () => Promise<Row | undefined>;
  /** Undefined when somebody else has changed the row since it was read. */
  write: (row: Row) => Promise<Result | undefined>;
}

/**
 * Changes or deletes an object so that no other change is lost: reads it, checks `If-Match`, and
 * writes only where it is still as it was read, else begins again. 404, 412, 409.
 */
export async function change<Row extends { revision: number }, Result>(
  c: Context,
  { what, read, write }: Change<Row, Result>,
): Promise<Result> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const row = await read();
    if (row === undefined) throw notFound(what);
    checkIfMatch(c, row);
    const result = await write(row);
    if (result !== undefined) return result;
    // At random, so that those who meet here do not meet again.
    await wait(Math.random() * MAX_PAUSE_MS);
  }
  throw new ApiError(409, `${what} is being changed by others, try again`);
}

/** A PUT cannot move an object to another id. */
export function checkSameId(pathId: number, bodyId: number | undefined): void {
  if (bodyId !== undefined && bodyId !== pathId) {
    throw new ApiError(400, `id must be ${pathId} as in the path`);
  }
}
