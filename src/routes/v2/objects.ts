import type { Context } from 'hono';
import { type AuthEnv, databaseOf, senderIn } from '../../auth/middleware.ts';
import { isOvertaken, type Sender, untilNotOvertaken } from '../../db/change.ts';
import { type Database, isUniqueViolation } from '../../db/client.ts';
import { findFirstRequest, type KeyedRequest } from '../../db/idempotency.ts';
import { ApiError, notFound } from '../../http/errors.ts';
import { jsonResponse } from '../../http/json.ts';
import { DomainError } from '../../lib/errors.ts';
import { sha256Hex } from '../../lib/sha256.ts';

/** The objects of a resource: their responses with ETags, their creation, and their changes. */

/**
 * Responds with an object and its ETag: its revision, which grows with each change by an administrator or a
 * binding. A license's `totalRequests`, expiry and customer do not change it. Otherwise an `If-Match` would hardly
 * ever match.
 */
export const objectResponse = (c: Context, row: { revision: number }, object: object): Response =>
  jsonResponse(c, object, 200, { ETag: `"${row.revision}"` });

/** Responds with a new object of a resource, with its ETag and its address. */
export const createdResponse = (
  c: Context,
  resource: string,
  row: { id: number; revision: number },
  object: object,
): Response =>
  jsonResponse(c, object, 201, {
    ETag: `"${row.revision}"`,
    Location: `/api/v2/${resource}/${row.id}`,
  });

/**
 * Checks an `If-Match`, if the request has one. A weak tag matches too: Cloudflare weakens the tags of
 * responses that it compresses.
 *
 * @throws ApiError 412 if no tag matches the revision
 */
export function checkIfMatch(sent: string | undefined, row: { revision: number }): void {
  if (sent === undefined || sent.trim() === '*') return;
  const tags = sent.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  if (!tags.includes(`"${row.revision}"`)) {
    throw new ApiError(412, 'The object has changed since it was read');
  }
}

/** The input of a route with {@link idempotencyKey}. */
export type RepeatableInput = { out: { header: { 'Idempotency-Key'?: string | undefined } } };

const HAS_SUCCEEDED = 'A request with this Idempotency-Key has succeeded';

interface Creation<Row> {
  create: (sender: Sender) => Promise<Row>;
  /** Finds the created objects by their ids, undefined if one is gone. Not for a response with a secret. */
  find?: (db: Database, ids: readonly number[]) => Promise<Row | undefined>;
  respond: (row: Row) => Response;
}

/**
 * Creates an object, or makes another change that must not be made twice. A repetition, with the same `Idempotency-Key`,
 * gets the object as it is now, and creates nothing (3, 7). A request that fails stores no key.
 *
 * @throws ApiError 422 for the key of another request, 409 if the object is gone or its first response had a secret
 */
export async function createOnce<Row>(
  c: Context<AuthEnv, string, RepeatableInput>,
  { create, find, respond }: Creation<Row>,
): Promise<Response> {
  const sender = senderIn(c);
  const key = await keyedRequestOf(c, sender);
  if (key === undefined) return respond(await create(sender));

  const findFirst = async (): Promise<Response | undefined> => {
    const first = await findFirstRequest(sender.db, key);
    if (!first) return undefined;
    if (first.requestHash !== key.requestHash) {
      throw new ApiError(422, 'Idempotency-Key was sent with another request: use a new key');
    }
    if (first.ids === null || !find) {
      throw new ApiError(
        409,
        `${HAS_SUCCEEDED}, but its response is not kept, because it had a secret or is of an earlier version: find what it created in the list`,
      );
    }
    const found = await find(sender.db, first.ids);
    if (found === undefined) {
      throw new ApiError(
        409,
        `${HAS_SUCCEEDED}, but what it created was deleted since: use a new key to create it again`,
      );
    }
    return respond(found);
  };

  const known = await findFirst();
  if (known) return known;
  try {
    return respond(await create({ ...sender, key }));
  } catch (error) {
    // A concurrent request with the same key was faster, has changed the object, or has stored the same unique value.
    const isRace =
      isUniqueViolation(error) ||
      (error instanceof DomainError && error.kind === 'conflict') ||
      (error instanceof ApiError && error.status === 412);
    const winner = isRace ? await findFirst() : undefined;
    if (winner) return winner;
    throw error;
  }
}

/** Finds the only object that a request created. */
export const theOne =
  <Row>(find: (db: Database, id: number) => Promise<Row | undefined>) =>
  (db: Database, [id]: readonly number[]): Promise<Row | undefined> =>
    id === undefined ? Promise.resolve(undefined) : find(db, id);

/** Undefined without an `Idempotency-Key`. */
async function keyedRequestOf(
  c: Context<AuthEnv, string, RepeatableInput>,
  { tokenId, now }: Sender,
): Promise<KeyedRequest | undefined> {
  const { 'Idempotency-Key': key } = c.req.valid('header');
  if (key === undefined) return undefined;
  return {
    tokenId: tokenId ?? 0,
    keyHash: await sha256Hex(key),
    requestHash: await sha256Hex(`${c.req.path} ${JSON.stringify(await c.req.json())}`),
    now,
  };
}

/** The input of a route with {@link ifMatch}. */
type IfMatchInput = { out: { header: { 'If-Match'?: string | undefined } } };

/** The input of a route with {@link pathId} and {@link ifMatch}. */
export type ConditionalInput = IfMatchInput & { out: { param: { id: number } } };

interface Write<Row, Result> {
  /** The name of the object in an error. */
  name: string;
  /** Throws a DomainError if another request has changed the row since it was read. */
  write: (sender: Sender, row: Row) => Promise<Result>;
}

interface Update<Row, Result> extends Write<Row, Result> {
  /** The id in the body of a PUT, which cannot move an object to another id. */
  bodyId?: number | undefined;
  find: (db: Database, id: number) => Promise<Row | undefined>;
}

/**
 * Changes or deletes the object of the id in the path, like {@link optimisticWrite}.
 *
 * @throws ApiError 400 for another id in the body, 404, 412, or 409 after too many attempts
 */
export async function optimisticUpdate<Row extends { revision: number }, Result>(
  c: Context<AuthEnv, string, ConditionalInput>,
  { bodyId, find, ...update }: Update<Row, Result>,
): Promise<Result> {
  const { id } = c.req.valid('param');
  if ((bodyId ?? id) !== id) {
    throw new ApiError(400, `id must be ${id} as in the path`, { field: 'id' });
  }
  return optimisticWrite(c, { ...update, read: (db) => find(db, id) });
}

/**
 * Writes an object without losing a concurrent change: reads it, checks `If-Match`, and writes it if it is unchanged. If
 * it has changed, all of this is repeated.
 *
 * @throws ApiError 404, 412, or 409 after too many attempts
 */
export async function optimisticWrite<Row extends { revision: number }, Result>(
  c: Context<AuthEnv, string, IfMatchInput>,
  { name, read, write }: Write<Row, Result> & { read: (db: Database) => Promise<Row | undefined> },
): Promise<Result> {
  const attempt = async (): Promise<Result> => {
    const row = await read(databaseOf(c));
    if (row === undefined) throw notFound(name);
    checkIfMatch(c.req.valid('header')['If-Match'], row);
    // `senderIn` reads the clock: after the row, so that the change is not older than the row.
    return write(senderIn(c), row);
  };
  try {
    return await untilNotOvertaken(attempt);
  } catch (error) {
    if (!isOvertaken(error)) throw error;
    throw new ApiError(409, `${name} is being changed by others, try again`, {
      code: 'CHANGED_MEANWHILE',
    });
  }
}
