import { sql } from 'drizzle-orm';
import { type Change, selectChanges } from '../db/changes';
import type { Database } from '../db/client';
import { licenseTotals, requests } from '../db/schema';
import { isOneOf } from '../db/search';
import { newRequestId, nextRequestId } from './id';

/** A history record before it has an id [2.4]. */
export type NewRequest = Omit<typeof requests.$inferInsert, 'id' | 'nonce'>;

/**
 * A record with its identity: a repeated write of it changes nothing. `licenseId` is null for an
 * unknown key; undefined where it came to no look-up: then the key tells, if it is known.
 */
export type IdentifiedRequest = NewRequest & { id: number; nonce: string };

/** @param requestedAt milliseconds since 1970 */
export const withIdentity = (request: NewRequest, requestedAt: number): IdentifiedRequest => ({
  ...request,
  id: newRequestId(requestedAt),
  nonce: crypto.randomUUID(),
});

/** A license as the write of its records left it. */
export interface CountedLicense {
  id: number;
  revision: number;
  totalRequests: number;
}

/** What a write of records has told. */
interface Written {
  news: Change[];
  counted: CountedLicense[];
  gone: number[];
}

/** A parameter of D1 takes 2 MB, and a character up to three bytes. */
const MAX_JSON_LENGTH = 500_000;

/** In the order of the table's columns, and behind them the key of a license that is to be found. */
const toValues = (row: IdentifiedRequest) => [
  row.id,
  row.nonce,
  row.licenseId,
  row.licenseKey,
  row.licenseKeyFolded,
  row.productId,
  row.productVersion,
  row.ip,
  row.hwid,
  row.macAddress,
  row.operatingSystem,
  row.operatingSystemVersion,
  row.operatingSystemArchitecture,
  row.javaVersion,
  row.requestType,
  row.responseType,
  row.blockReason,
  row.remarks,
  row.spam ? 1 : 0,
  row.licenseId === undefined ? row.licenseKeyFolded : null,
];

/** A column of the license that is counted. */
const ofLicense = (column: 'revision' | 'total_requests') =>
  sql`(select ${sql.raw(column)} from licenses where id = license_id)`.mapWith(Number);

const COLUMNS = 19;
const value = (index: number) => sql.raw(`r.value ->> ${index}`);
const licenseId = sql`ifnull(${value(2)}, (select id from licenses where license_key_folded = ${value(COLUMNS)}))`;
const columns = sql.join(
  Array.from({ length: COLUMNS }, (_, index) => (index === 2 ? licenseId : value(index))),
  sql`, `,
);

/**
 * Writes records into the history and counts them in their licenses' totals, each exactly once, in
 * one round trip: one statement for the totals, one for the records, and the news of the log of
 * changes from a place on. Another round trip only for records whose id another one had drawn.
 *
 * @returns the licenses that were counted, for the answers to be compared with, and the ids of those
 * that were to be counted and are not there any more
 */
export async function writeRequests(
  db: Database,
  rows: readonly IdentifiedRequest[],
  newsFrom: number,
): Promise<Written> {
  const ids = new Set<number>();
  const isFirstWithId = ({ id }: IdentifiedRequest) => ids.size < ids.add(id).size;
  const [distinct, doubles] = partition(rows, isFirstWithId);
  const json = JSON.stringify(distinct.map(toValues));
  if (json.length > MAX_JSON_LENGTH && rows.length > 1) {
    const middle = Math.ceil(rows.length / 2);
    const first = await writeRequests(db, rows.slice(0, middle), newsFrom);
    return after(first, await writeRequests(db, rows.slice(middle), newsFrom));
  }
  // Those that a former attempt has written, whose answer was lost, are counted already.
  const fresh = sql`(
    select ${licenseId} as license_id, count(*) as records
    from json_each(${json}) r
    where ${value(15)} <> 'RATE_LIMITED'
      and not exists (select 1 from requests where id = ${value(0)})
    group by 1) fresh`;
  const [counted, inserted, news] = await db.batch([
    db
      .insert(licenseTotals)
      .select(
        sql`select license_id, records from ${fresh} join licenses on licenses.id = license_id where true`,
      )
      .onConflictDoUpdate({
        target: licenseTotals.licenseId,
        set: { requests: sql`license_totals.requests + excluded.requests` },
      })
      .returning({
        id: licenseTotals.licenseId,
        revision: ofLicense('revision'),
        totalRequests: sql`requests + ${ofLicense('total_requests')}`.mapWith(Number),
      }),
    db
      .insert(requests)
      .select(sql`select ${columns} from json_each(${json}) r where true`)
      .onConflictDoNothing({ target: requests.id })
      .returning({ id: requests.id }),
    selectChanges(db, newsFrom),
  ]);
  const collided =
    inserted.length < distinct.length ? await findCollided(db, distinct, inserted) : [];
  const moved = collided.map((row) => ({ ...row, id: nextRequestId(row) }));
  const left = [...moved, ...doubles];
  const gone = findGone(distinct, inserted, counted);
  if (left.length === 0) return { news, counted, gone };
  return after({ news, counted, gone }, await writeRequests(db, left, newsFrom));
}

/** What two writes have told, one after the other. */
const after = (first: Written, second: Written): Written => ({
  news: second.news,
  counted: [...first.counted, ...second.counted],
  gone: [...first.gone, ...second.gone],
});

/** The licenses of records that were written just now and could not be counted. */
function findGone(
  rows: readonly IdentifiedRequest[],
  inserted: readonly { id: number }[],
  counted: readonly { id: number }[],
): number[] {
  const insertedIds = new Set(inserted.map(({ id }) => id));
  const countedIds = new Set(counted.map(({ id }) => id));
  return rows.flatMap(({ id, licenseId, responseType }) =>
    typeof licenseId === 'number' &&
    responseType !== 'RATE_LIMITED' &&
    insertedIds.has(id) &&
    !countedIds.has(licenseId)
      ? [licenseId]
      : [],
  );
}

function partition<Item>(items: readonly Item[], belongs: (item: Item) => boolean) {
  const [yes, no]: [Item[], Item[]] = [[], []];
  for (const item of items) (belongs(item) ? yes : no).push(item);
  return [yes, no] as const;
}

/** Of the records that were not inserted those that are not stored: another one has their id. */
async function findCollided(
  db: Database,
  rows: readonly IdentifiedRequest[],
  inserted: readonly { id: number }[],
): Promise<IdentifiedRequest[]> {
  const insertedIds = new Set(inserted.map(({ id }) => id));
  const others = rows.filter(({ id }) => !insertedIds.has(id));
  const ids = others.map(({ id }) => id);
  const stored = await db
    .select({ nonce: requests.nonce })
    .from(requests)
    .where(isOneOf(requests.id, ids));
  const nonces = new Set(stored.map(({ nonce }) => nonce));
  return others.filter(({ nonce }) => !nonces.has(nonce));
}
