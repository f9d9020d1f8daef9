import type { Context } from 'hono';
import { wait } from '../lib/async';
import { ApiError, notFound } from './errors';
import { checkIfMatch } from './etag';

const MAX_ATTEMPTS = 10;
const MAX_PAUSE_MS = 100;

interface Update<Row, Result> {
  /** The name of the object in an error. */
  name: string;
  read: () => Promise<Row | undefined>;
  /** Returns undefined if the row has changed since it was read. */
  write: (row: Row) => Promise<Result | undefined>;
}

/**
 * Changes or deletes an object without losing a concurrent change: reads it, checks `If-Match`, and writes it
 * if it is unchanged. If it has changed, all of this is repeated.
 *
 * @throws ApiError 404, 412, or 409 after too many attempts
 */
export async function optimisticUpdate<Row extends { revision: number }, Result>(
  c: Context,
  { name, read, write }: Update<Row, Result>,
): Promise<Result> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const row = await read();
    if (row === undefined) throw notFound(name);
    checkIfMatch(c, row);
    const result = await write(row);
    if (result !== undefined) return result;
    // Random, so that two concurrent updates do not collide again.
    await wait(Math.random() * MAX_PAUSE_MS);
  }
  throw new ApiError(409, `${name} is being changed by others, try again`);
}

/** A PUT cannot move an object to another id. */
export function checkSameId(pathId: number, bodyId: number | undefined): void {
  if (bodyId !== undefined && bodyId !== pathId) {
    throw new ApiError(400, `id must be ${pathId} as in the path`);
  }
}
