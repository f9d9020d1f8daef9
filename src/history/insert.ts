import { and, eq, gte, inArray, type SQL, sql } from 'drizzle-orm';
import type { Database } from '../db/client';
import { foldedBucketOf, productOf } from '../db/folded';
import { isOneOf } from '../db/predicates';
import { buckets, callers, counters, licenses, requests } from '../db/schema';
import { BoundedMap } from '../lib/bounded-map';
import { REQUEST_TYPE_CODES, RESPONSE_TYPE_CODES } from '../lib/enums';
import { sha256 } from '../lib/sha256';
import {
  bucketAt,
  bucketOf,
  bucketOfIdSql,
  firstRecordIdAt,
  timeOfBucket,
  timeOfRecordId,
  timeOfRecordIdSql,
} from './id';
import type { CallerFields, HistoryRecord, RecordDetails } from './record';

const MAX_CALLERS = 20_000;
/** Later records may belong to a bucket that is rolled up or folded already (see `fold.ts`). */
const LATE_MS = 5 * 60 * 1000;
/** Enough that no two callers ever share a fingerprint. */
const FINGERPRINT_BYTES = 12;

const CALLER_FIELDS = [
  'licenseKey',
  'productId',
  'productVersion',
  'ip',
  'hwid',
  'macAddress',
  'operatingSystem',
  'operatingSystemVersion',
  'operatingSystemArchitecture',
  'javaVersion',
] as const satisfies (keyof CallerFields)[];

/** A row of JSON, in the order of the columns that a statement expects. */
type Row = readonly (string | number | null)[];

interface KnownCaller {
  id: number;
  fingerprint: string;
}

interface NewCaller {
  licenseId: number;
  fingerprint: string;
  /** In the order of their ids. */
  records: HistoryRecord[];
}

/** The identity of a caller. */
function identityOf(licenseId: number, caller: CallerFields): string {
  let identity = String(licenseId);
  for (const field of CALLER_FIELDS) {
    const value = caller[field];
    // No value can pass for an absent one, nor two for one.
    identity += value === null ? '\0' : `\0=${value}`;
  }
  return identity;
}

async function fingerprintOf(identity: string): Promise<string> {
  const bytes = (await sha256(identity)).subarray(0, FINGERPRINT_BYTES);
  return bytes.toBase64({ alphabet: 'base64url', omitPadding: true });
}

const toJson = (fields: object): string | null => {
  const text = JSON.stringify(fields, (_, value: unknown) => value ?? undefined);
  return text === '{}' ? null : text;
};

/** Details of a record that its caller does not have. */
const detailsOf = ({ blockReason, remarks, spam }: RecordDetails): string | null =>
  blockReason || remarks || spam ? toJson({ blockReason, remarks, spam: spam || null }) : null;

/** All that a record says that belongs to no license. */
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

/** The part of a row that comes after the caller. */
const rowOf = ({ id, nonce, type, outcome }: HistoryRecord, details: string | null): Row => [
  id,
  nonce,
  REQUEST_TYPE_CODES[type],
  RESPONSE_TYPE_CODES[outcome],
  details,
];

/** A column of a row that came as JSON. */
const field = (index: number): SQL => sql.raw(`r.value ->> ${index}`);
const fields = (count: number): SQL =>
  sql.raw(Array.from({ length: count }, (_, index) => `r.value ->> ${index}`).join(', '));

const RATE_LIMITED = sql.raw(String(RESPONSE_TYPE_CODES.RATE_LIMITED));

/**
 * The caller of a row: by its id where the isolate knows it, else by its license key. The fingerprint must
 * fit: ids change when retention removes a caller or the database is set back.
 */
const IS_CALLER = {
  known: sql`c.id = ${field(0)} and c.fingerprint = ${field(1)}`,
  new: sql`c.license_key_normalized = ${field(0)} and c.fingerprint = ${field(1)}`,
};

/**
 * Prepares the statements that write records into the history, each record exactly once: a record that is
 * there already changes nothing. It remembers the callers that it has met, so that a record of a known
 * caller is one row of one statement.
 */
export class HistoryInserter {
  readonly #db: Database;
  /** Buckets up to this one were rolled up or folded when it was last read. */
  #countedBucket = Number.POSITIVE_INFINITY;
  /** By identity. */
  readonly #callers = new BoundedMap<string, KnownCaller>(MAX_CALLERS);

  constructor(db: Database) {
    this.#db = db;
  }

  /**
   * @param now milliseconds since 1970
   * @returns the statements for one batch, and what takes in their results
   */
  async prepare(records: readonly HistoryRecord[], now: number) {
    const licenseIds = await this.#findLicenses(records);
    const known: Row[] = [];
    const others: Row[] = [];
    const newCallers = new Map<string, NewCaller>();
    for (const record of records) {
      const { licenseKeyNormalized, details, caller } = record;
      const { licenseId = licenseIds.get(licenseKeyNormalized) ?? null } = record;
      if (licenseId === null) {
        others.push(rowOf(record, allDetailsOf(record)));
        continue;
      }
      const identity = identityOf(licenseId, caller);
      const met = this.#callers.get(identity);
      const newCaller = newCallers.get(identity);
      if (met) known.push([met.id, met.fingerprint, ...rowOf(record, detailsOf(details))]);
      else if (newCaller) newCaller.records.push(record);
      else newCallers.set(identity, { licenseId, fingerprint: '', records: [record] });
    }
    await Promise.all(
      Array.from(newCallers, async ([identity, caller]) => {
        caller.fingerprint = await fingerprintOf(identity);
      }),
    );
    const unknown = [...newCallers.values()].flatMap(({ fingerprint, records }) =>
      records.map((record) => [
        record.licenseKeyNormalized,
        fingerprint,
        ...rowOf(record, detailsOf(record.details)),
      ]),
    );
    const onTime = Math.max(bucketAt(now - LATE_MS), this.#countedBucket + 1);
    const firstOnTime = firstRecordIdAt(timeOfBucket(onTime));

    const statements = [
      this.#selectCountedBucket(),
      ...this.#findOrInsert(newCallers),
      ...this.#countLate(known, 'known', firstOnTime),
      ...this.#countLate(unknown, 'new', firstOnTime),
      ...this.#rollUpAgain(records, firstOnTime),
      ...this.#insertOwned(known, 'known'),
      ...this.#insertOwned(unknown, 'new'),
      ...this.#insertOthers(others),
      ...this.#insertBuckets(records),
    ] as const;
    const learn = (
      [counted]: readonly { bucket: number }[],
      results: readonly (KnownCaller[] | D1Result)[],
    ): void => {
      if (counted) this.#countedBucket = counted.bucket;
      const found = results.flatMap((result) => (Array.isArray(result) ? result : []));
      const ids = new Map(found.map(({ id, fingerprint }) => [fingerprint, id]));
      for (const [identity, { fingerprint }] of newCallers) {
        const id = ids.get(fingerprint);
        if (id !== undefined) this.#callers.set(identity, { id, fingerprint });
      }
    };
    return { statements, learn };
  }

  /** Forgets the callers: one that is not there any more rejects its batch. @returns whether it knew any */
  forgetCallers(): boolean {
    const hasKnown = this.#callers.size > 0;
    this.#callers.clear();
    return hasKnown;
  }

  /** The licenses of records that came to no look-up, by normalized key. */
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

  /** Inserts the callers that are not there, and returns the ids of all. */
  #findOrInsert(newCallers: ReadonlyMap<string, NewCaller>) {
    if (newCallers.size === 0) return [];
    return [this.#selectCallers(newCallers), this.#insertCallers(newCallers)];
  }

  #selectCallers(newCallers: ReadonlyMap<string, NewCaller>) {
    const rows = Array.from(newCallers.values(), ({ records, fingerprint }) => [
      records[0]?.licenseKeyNormalized,
      fingerprint,
    ]);
    return this.#db
      .select({ id: callers.id, fingerprint: callers.fingerprint })
      .from(sql`json_each(${JSON.stringify(rows)}) r`)
      .innerJoin(
        callers,
        and(eq(callers.licenseKeyNormalized, field(0)), eq(callers.fingerprint, field(1))),
      );
  }

  #insertCallers(newCallers: ReadonlyMap<string, NewCaller>) {
    const rows = Array.from(newCallers.values(), ({ licenseId, fingerprint, records }) => {
      const ids = records.map(({ id }) => id);
      const firstId = Math.min(...ids);
      const [record] = records;
      return [
        null,
        record?.licenseKeyNormalized,
        fingerprint,
        licenseId,
        ...CALLER_FIELDS.map((name) => record?.caller[name]),
        timeOfRecordId(firstId),
        timeOfRecordId(Math.max(...ids)),
        0,
        // Records of the bucket before can still come from other isolates, and are not late.
        bucketOf(firstId) - 2,
      ];
    });
    return this.#db
      .insert(callers)
      .select(
        sql`select ${fields(CALLER_FIELDS.length + 8)} from json_each(${JSON.stringify(rows)}) r
          where true`,
      )
      .onConflictDoNothing()
      .returning({ id: callers.id, fingerprint: callers.fingerprint });
  }

  /** Inserts records of licenses. A caller that is not there leaves a null, which rejects the batch. */
  #insertOwned(rows: readonly Row[], by: keyof typeof IS_CALLER) {
    if (rows.length === 0) return [];
    return [
      this.#db
        .insert(requests)
        .select(
          sql`select ${bucketOfIdSql(field(2))}, ${productOf('c')}, c.id, ${field(2)},
              ${field(3)}, ${field(4)}, ${field(5)}, ${field(6)}
            from json_each(${JSON.stringify(rows)}) r left join callers c on ${IS_CALLER[by]}
            where true`,
        )
        .onConflictDoNothing(),
    ];
  }

  /** Inserts records that belong to no license. */
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

  /** Always: a bucket can be missing after the database was set back. */
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
   * Counts records that come when their callers may be folded. Before they are inserted: a record that is
   * there already is counted already. The queue can deliver a record twice at once.
   */
  #countLate(rows: readonly Row[], by: keyof typeof IS_CALLER, firstOnTime: number) {
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
              join callers c on ${IS_CALLER[by]}
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

  /** Has the roll-ups made again from the bucket of the oldest late record on. */
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
