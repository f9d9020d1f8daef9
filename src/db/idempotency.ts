import { DAY_MS } from '@licet/contract/durations';
import { and, eq, getTableColumns, gt, lte, type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';
import type { Database } from './client.ts';
import { idempotencyKeys } from './schema.ts';

/**
 * POSTs with an `Idempotency-Key` (3). The transaction that creates an object also stores the key with the object, so
 * that of two requests with one key only one creates an object.
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
/** D1 allows 32 arguments of a function. */
const MAX_FIELDS = 15;

const isKey = ({ tokenId, keyHash }: KeyedRequest): SQL | undefined =>
  and(eq(idempotencyKeys.tokenId, tokenId), eq(idempotencyKeys.keyHash, keyHash));

const isExpired = (now: number): SQL => lte(idempotencyKeys.createdAt, now - KEPT_MS);

/** The first request with the key: its hash and the created object, null if that is not kept. */
export const findFirstRequest = (db: Database, request: KeyedRequest) =>
  db
    .select({ requestHash: idempotencyKeys.requestHash, created: idempotencyKeys.created })
    .from(idempotencyKeys)
    .where(and(isKey(request), gt(idempotencyKeys.createdAt, request.now - KEPT_MS)))
    .get();

/** A new object, kept for a repetition of the request. */
export interface Created {
  /** The object as JSON; null if it is not kept. */
  json: SQL | null;
  /** The customer whose data it has. */
  customerId?: SQL;
}

/**
 * The statements that store a key at the end of the batch that creates the object. They fail the batch if a
 * concurrent request has stored the key.
 */
export const storeKey = (db: Database, request: KeyedRequest, { json, customerId }: Created) => [
  db.delete(idempotencyKeys).where(and(isKey(request), isExpired(request.now))),
  db.insert(idempotencyKeys).values({
    tokenId: request.tokenId,
    keyHash: request.keyHash,
    requestHash: request.requestHash,
    createdAt: request.now,
    customerId: customerId ?? null,
    created: json,
  }),
];

/** A row as JSON: an array of objects, which together have all fields. */
export function rowJson(columns: Readonly<Record<string, SQL | SQLiteColumn>>): SQL {
  const fields = Object.entries(columns).map(
    ([name, column]) => sql`${sql.raw(`'${name}'`)}, ${column}`,
  );
  const objects: SQL[] = [];
  for (let first = 0; first < fields.length; first += MAX_FIELDS) {
    const some = fields.slice(first, first + MAX_FIELDS);
    objects.push(sql`json_object(${sql.join(some, sql`, `)})`);
  }
  return sql`json_array(${sql.join(objects, sql`, `)})`;
}

/** The row of {@link rowJson}. */
export const rowOf = <Row>(objects: readonly Partial<Row>[]): Row => Object.assign({}, ...objects);

/** {@link rowJson} of the newest row of a table, whose ids grow. */
export const newestRow = (table: SQLiteTable): SQL =>
  sql`(select ${rowJson(getTableColumns(table))} from ${table} order by id desc limit 1)`;
