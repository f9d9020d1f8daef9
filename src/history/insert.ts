import { and, eq, gte, inArray, type SQL, sql } from 'drizzle-orm';
import type { Database } from '../db/client';
import { foldedBucketOf, isOneOf, productOf, RATE_LIMITED } from '../db/predicates';
import { buckets, callers, counters, licenses, requests } from '../db/schema';
import { toBase64url } from '../lib/base64url';
import { BoundedMap } from '../lib/bounded-map';
import { REQUEST_TYPE_CODES, RESPONSE_TYPE_CODES } from '../lib/enums';
import { sha256 } from '../lib/sha256';
import { bucketAt, firstIdAt, timeOfId } from '../lib/time-id';
import {
  bucketOf,
  bucketOfIdSql,
  callerFields,
  type HistoryRecord,
  type RecordDetails,
  timeOfBucket,
  timeOfRecordIdSql,
} from './record';

const MAX_CALLERS = 20_000;
/** The bucket of a later record may be rolled up or folded already (see `fold.ts`). */
const LATE_MS = 5 * 60 * 1000;
/** Enough for no two callers to share a fingerprint. */
const FINGERPRINT_BYTES = 12;

/** In the order of the columns of `callers`. */
const CALLER_FIELDS = callerFields.keyof().options;

/** A row of JSON, in the order of the columns that a statement expects. */
type Row = readonly (string | number | null)[];

interface NewCaller {
  licenseId: number;
  records: HistoryRecord[];
}

/** The identity of a caller. Without a `kid` it is as before signatures existed: known callers stay known. */
function identityOf(licenseId: number, { caller, kid }: HistoryRecord): string {
  let identity = String(licenseId);
  for (const field of CALLER_FIELDS) {
    const value = caller[field];
    // Unambiguous: no value contains NUL.
    identity += value === null ? '\0' : `\0=${value}`;
  }
  if (kid !== undefined) identity += `\0=${kid}`;
  return identity;
}

const fingerprintOf = async (identity: string): Promise<string> =>
  toBase64url((await sha256(identity)).subarray(0, FINGERPRINT_BYTES));

const toJson = (fields: object): string | null => {
  const text = JSON.stringify(fields, (_, value: unknown) => value ?? undefined);
  return text === '{}' ? null : text;
};

/** The details of a record of a license, as JSON. */
const detailsOf = ({ blockReason, remarks, spam }: RecordDetails): string | null =>
  blockReason || remarks || spam ? toJson({ blockReason, remarks, spam: spam || null }) : null;

/** The details of a record of no license: it has no caller, so all fields are there. */
function allDetailsOf({ caller, licenseKeyNormalized, details }: HistoryRecord): string | null {
  const isAsSent = licenseKeyNormalized === caller.licenseKey;
  const { spam, ...others } = details;
  return toJson({
    ...caller,
    licenseKeyNormalized: isAsSent ? null : licenseKeyNormalized,
    ...others,
    spam: spam || null,
  });
}

/** The part of a row after the caller. */
const rowOf = ({ id, nonce, type, outcome }: HistoryRecord, details: string | null): Row => [
  id,
  nonce,
  REQUEST_TYPE_CODES[type],
  RESPONSE_TYPE_CODES[outcome],
  details,
];

/** A column of a row of JSON. */
const field = (index: number): SQL => sql.raw(`r.value ->> ${index}`);
const fields = (count: number): SQL =>
  sql.raw(Array.from({ length: count }, (_, index) => `r.value ->> ${index}`).join(', '));

/** The caller of a row. */
const IS_CALLER = sql`c.license_key_normalized = ${field(0)} and c.fingerprint = ${field(1)}`;

/**
 * Prepares the statements that write records into the history, each record exactly once: a record that is
 * there already changes nothing. A caller that was met before is not inserted again.
 */
export class HistoryInserter {
  readonly #db: Database;
  /** Buckets up to this one were rolled up or folded when it was last read. */
  #countedBucket = Number.POSITIVE_INFINITY;
  /** The fingerprints of the callers that are stored, by identity. */
  readonly #fingerprints = new BoundedMap<string, string>(MAX_CALLERS);

  constructor(db: Database) {
    this.#db = db;
  }

  /**
   * @param now milliseconds since 1970
   * @returns the statements for one batch, and a function that takes the result of the first one
   */
  async prepare(records: readonly HistoryRecord[], now: number) {
    const licenseIds = await this.#findLicenses(records);
    const owned: { identity: string; record: HistoryRecord }[] = [];
    const others: Row[] = [];
    const fingerprints = new Map<string, string>();
    const newCallers = new Map<string, NewCaller>();
    for (const record of records) {
      const { licenseId = licenseIds.get(record.licenseKeyNormalized) ?? null } = record;
      if (licenseId === null) {
        others.push(rowOf(record, allDetailsOf(record)));
        continue;
      }
      const identity = identityOf(licenseId, record);
      owned.push({ identity, record });
      const fingerprint = this.#fingerprints.get(identity);
      const newCaller = newCallers.get(identity);
      if (fingerprint !== undefined) fingerprints.set(identity, fingerprint);
      else if (newCaller) newCaller.records.push(record);
      else newCallers.set(identity, { licenseId, records: [record] });
    }
    await Promise.all(
      Array.from(newCallers.keys(), async (identity) => {
        fingerprints.set(identity, await fingerprintOf(identity));
      }),
    );
    const rows = owned.map(({ identity, record }) => [
      record.licenseKeyNormalized,
      fingerprints.get(identity) ?? null,
      ...rowOf(record, detailsOf(record.details)),
    ]);
    const onTime = Math.max(bucketAt(now - LATE_MS), this.#countedBucket + 1);
    const firstOnTime = firstIdAt(timeOfBucket(onTime));

    const statements = [
      this.#selectCountedBucket(),
      ...this.#insertCallers(newCallers, fingerprints),
      ...this.#countLate(rows, firstOnTime),
      ...this.#rollUpAgain(records, firstOnTime),
      ...this.#insertOwned(rows),
      ...this.#insertOthers(others),
      ...this.#insertBuckets(records),
    ] as const;
    const learn = ([counted]: readonly { bucket: number }[]): void => {
      if (counted) this.#countedBucket = counted.bucket;
      for (const identity of newCallers.keys()) {
        const fingerprint = fingerprints.get(identity);
        if (fingerprint !== undefined) this.#fingerprints.set(identity, fingerprint);
      }
    };
    return { statements, learn };
  }

  /** Forgets the callers, because a removed one rejects its batch. @returns whether it knew any */
  forgetCallers(): boolean {
    const hasKnown = this.#fingerprints.size > 0;
    this.#fingerprints.clear();
    return hasKnown;
  }

  /** The licenses of records without a look-up, by normalized key. */
  async #findLicenses(records: readonly HistoryRecord[]): Promise<Map<string | null, number>> {
    const keys = records.flatMap(({ licenseId, licenseKeyNormalized }) =>
      licenseId === undefined ? (licenseKeyNormalized ?? []) : [],
    );
    if (keys.length === 0) return new Map();
    const found = await this.#db
      .select({ id: licenses.id, key: licenses.licenseKeyNormalized })
      .from(licenses)
      .where(isOneOf(licenses.licenseKeyNormalized, keys));
    return new Map(found.map(({ id, key }) => [key, id]));
  }

  #selectCountedBucket() {
    return this.#db
      .select({ bucket: sql<number>`max(${counters.value})`.as('bucket') })
      .from(counters)
      .where(inArray(counters.name, ['rolled_up_bucket', 'folded_bucket']));
  }

  #insertCallers(
    newCallers: ReadonlyMap<string, NewCaller>,
    fingerprints: ReadonlyMap<string, string>,
  ) {
    if (newCallers.size === 0) return [];
    const rows = Array.from(newCallers, ([identity, { licenseId, records }]) => {
      const ids = records.map(({ id }) => id);
      const firstId = Math.min(...ids);
      const [record] = records;
      return [
        null,
        record?.licenseKeyNormalized,
        fingerprints.get(identity),
        licenseId,
        ...CALLER_FIELDS.map((name) => record?.caller[name]),
        timeOfId(firstId),
        timeOfId(Math.max(...ids)),
        0,
        // Records of the bucket before can still come from other isolates, and are not late.
        bucketOf(firstId) - 2,
        record?.kid,
      ];
    });
    return [
      this.#db
        .insert(callers)
        .select(
          sql`select ${fields(CALLER_FIELDS.length + 9)} from json_each(${JSON.stringify(rows)}) r
            where true`,
        )
        .onConflictDoNothing(),
    ];
  }

  /** Inserts records of licenses. A missing caller leaves a null, which rejects the batch. */
  #insertOwned(rows: readonly Row[]) {
    if (rows.length === 0) return [];
    return [
      this.#db
        .insert(requests)
        .select(
          sql`select ${bucketOfIdSql(field(2))}, ${productOf('c')}, c.id, ${field(2)},
              ${field(3)}, ${field(4)}, ${field(5)}, ${field(6)}
            from json_each(${JSON.stringify(rows)}) r left join callers c on ${IS_CALLER}
            where true`,
        )
        .onConflictDoNothing(),
    ];
  }

  /** Inserts records of no license. */
  #insertOthers(rows: readonly Row[]) {
    if (rows.length === 0) return [];
    return [
      this.#db
        .insert(requests)
        .select(
          sql`select ${bucketOfIdSql(field(0))}, 0, 0, ${fields(5)}
            from json_each(${JSON.stringify(rows)}) r where true`,
        )
        .onConflictDoNothing(),
    ];
  }

  /** With every batch, because a database that was set back may lack a bucket. */
  #insertBuckets(records: readonly HistoryRecord[]) {
    if (records.length === 0) return [];
    const all = [...new Set(records.map(({ id }) => bucketOf(id)))];
    return [
      this.#db
        .insert(buckets)
        .select(sql`select value from json_each(${JSON.stringify(all)}) where true`)
        .onConflictDoNothing(),
    ];
  }

  /**
   * Counts records whose callers may be folded already. Goes before the insert: a record that is there
   * already is counted already. The queue may deliver a record twice in a batch.
   */
  #countLate(rows: readonly Row[], firstOnTime: number) {
    const late = rows.filter(([, , id]) => Number(id) < firstOnTime);
    if (late.length === 0) return [];
    const bucket = bucketOfIdSql(field(2));
    return [
      this.#db
        .update(callers)
        .set({
          requests: sql`${callers.requests} + late.requests`,
          firstSeenAt: sql`min(${callers.firstSeenAt}, ${timeOfRecordIdSql(sql`late.first_id`)})`,
          lastSeenAt: sql`max(${callers.lastSeenAt}, ${timeOfRecordIdSql(sql`late.last_id`)})`,
        })
        .from(
          sql`(
            select c.id as caller_id, min(${field(2)}) as first_id, max(${field(2)}) as last_id,
              count(*) filter (where ${field(5)} <> ${RATE_LIMITED}) as requests
            from (select distinct value from json_each(${JSON.stringify(late)})) r
              join callers c on ${IS_CALLER}
            where ${foldedBucketOf('c')} >= ${bucket}
              and not exists (
                select 1 from requests q
                where q.bucket = ${bucket} and q.product_id = ${productOf('c')}
                  and q.caller_id = c.id and q.id = ${field(2)} and q.nonce = ${field(3)})
            group by c.id) late`,
        )
        .where(eq(callers.id, sql`late.caller_id`)),
    ];
  }

  /** Sets the roll-ups back to the bucket of the oldest late record. */
  #rollUpAgain(records: readonly HistoryRecord[], firstOnTime: number) {
    const late = records.filter(({ id }) => id < firstOnTime);
    if (late.length === 0) return [];
    const oldest = bucketOf(Math.min(...late.map(({ id }) => id)));
    return [
      this.#db
        .update(counters)
        .set({ value: oldest - 1 })
        .where(and(eq(counters.name, 'rolled_up_bucket'), gte(counters.value, oldest))),
    ];
  }
}
