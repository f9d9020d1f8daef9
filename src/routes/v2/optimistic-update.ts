import type { Context } from 'hono';
import { type AuthEnv, senderOf } from '../../auth/middleware.ts';
import type { Sender } from '../../db/change.ts';
import type { Database } from '../../db/client.ts';
import { ApiError, notFound } from '../../http/errors.ts';
import { checkIfMatch } from '../../http/etag.ts';
import { wait } from '../../lib/async.ts';
import { DomainError } from '../../lib/errors.ts';
import { databaseOf } from './database.ts';

const MAX_ATTEMPTS = 10;
const MAX_PAUSE_MS = 100;

/** The input of a route with {@link pathId} and {@link ifMatch}. */
type ConditionalInput = {
  out: { param: { id: number }; header: { 'If-Match'?: string | undefined } };
};

interface Update<Row, Result> {
  /** The name of the object in an error. */
  name: string;
  /** The id in the body of a PUT, which cannot move an object to another id. */
  bodyId?: number | undefined;
  find: (db: Database, id: number) => Promise<Row | undefined>;
  /** Throws a DomainError if another request has changed the row since it was read. */
  write: (sender: Sender, row: Row) => Promise<Result>;
}

/**
 * Changes or deletes an object without losing a concurrent change: reads it, checks `If-Match`, and writes it
 * if it is unchanged. If it has changed, all of this is repeated.
 *
 * @throws ApiError 400, 404, 412, or 409 after too many attempts
 */
export async function optimisticUpdate<Row extends { revision: number }, Result>(
  c: Context<AuthEnv, string, ConditionalInput>,
  { name, bodyId, find, write }: Update<Row, Result>,
): Promise<Result> {
  const { id } = c.req.valid('param');
  if ((bodyId ?? id) !== id) {
    throw new ApiError(400, `id must be ${id} as in the path`, { field: 'id' });
  }
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const row = await find(databaseOf(c), id);
    if (row === undefined) throw notFound(name);
    checkIfMatch(c.req.valid('header')['If-Match'], row);
    try {
      // `senderOf` reads the clock: after the row, so that the change is not older than the row.
      return await write(senderOf(c), row);
    } catch (error) {
      if (!(error instanceof DomainError) || error.kind !== 'overtaken') throw error;
    }
    // Random, so that two concurrent updates do not collide again.
    await wait(Math.random() * MAX_PAUSE_MS);
  }
  throw new ApiError(409, `${name} is being changed by others, try again`, {
    code: 'CHANGED_MEANWHILE',
  });
}
