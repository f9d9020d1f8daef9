import { DAY_MS } from '@licet/contract/durations';
import { and, eq, gt, lte, type SQL, sql } from 'drizzle-orm';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import type { Database } from './client.ts';
import { idempotencyKeys } from './schema.ts';

/**
 * POSTs with an `Idempotency-Key` (3). The transaction that creates an object also stores the key with the id of the
 * object. One of two requests with the same key creates an object, and the other one reads it.
 */

/** A POST with an `Idempotency-Key`. */
export interface KeyedRequest {
  /** The token of the sender; 0 for ROOT_TOKEN. */
  tokenId: number;
  /** The SHA-256 of the key: shops put personal data into keys. */
  keyHash: string;
  /** The SHA-256 of the path and the body. */
  requestHash: string;
  /** Milliseconds since 1970. */
  now: number;
}

export const KEPT_MS = DAY_MS;

const isKey = ({ tokenId, keyHash }: KeyedRequest): SQL | undefined =>
  and(eq(idempotencyKeys.tokenId, tokenId), eq(idempotencyKeys.keyHash, keyHash));

const isExpired = (now: number): SQL => lte(idempotencyKeys.createdAt, now - KEPT_MS);

/** The first request with the key: its hash and the ids that it created, null if its response had a secret. */
export const findFirstRequest = (db: Database, request: KeyedRequest) =>
  db
    .select({ requestHash: idempotencyKeys.requestHash, ids: idempotencyKeys.ids })
    .from(idempotencyKeys)
    .where(and(isKey(request), gt(idempotencyKeys.createdAt, request.now - KEPT_MS)))
    .get();

/** The ids of new objects for a repetition of the request, as a JSON array in SQL. Null if its response has a secret. */
export type CreatedIds = SQL | readonly number[] | null;

/** The id of the newest row of a table, whose ids grow. */
export const idOfNewest = (table: SQLiteTable): SQL =>
  sql`(select json_array(max(id)) from ${table})`;

/**
 * The statements that store a key at the end of the batch that creates the object. They fail the batch if a
 * concurrent request has stored the key.
 */
export const storeKey = (db: Database, request: KeyedRequest, ids: CreatedIds) => [
  db.delete(idempotencyKeys).where(and(isKey(request), isExpired(request.now))),
  db.insert(idempotencyKeys).values({
    tokenId: request.tokenId,
    keyHash: request.keyHash,
    requestHash: request.requestHash,
    createdAt: request.now,
    ids,
  }),
];
