import { MINUTE_MS } from '@licet/contract/durations';
import { and, eq, getTableColumns, gte, inArray, type SQL, sql } from 'drizzle-orm';
import type { Database } from '../db/client.ts';
import { NO_INSTALLATION, REQUEST_TYPE_CODES, RESPONSE_TYPE_CODES } from '../db/codes.ts';
import { isOneOf, rowValues } from '../db/predicates.ts';
import { bucketOfIdSql, isStored, productOf, timeOfIdSql } from '../db/records.ts';
import { counters } from '../db/schema.ts';
import { BoundedMap } from '../lib/bounded-map.ts';
import { BUCKET_MS, BUCKETS_A_DAY, bucketAt, bucketOf, dayOf, timeOfId } from '../lib/time-id.ts';
import { keysMeantBy, normalizeLicenseKey } from '../resources/licenses/rules.ts';
import { installations, licenses, replacedKeys } from '../resources/licenses/schema.ts';
import { aggregatedBucketOfNew, countLate } from '../resources/licenses/totals.ts';
import { RecordAlerts, raiseForRecords } from './alerts.ts';
import { fingerprintOf, type HistoryRecord, identityOf, sharedFingerprintOf } from './record.ts';
import { buckets, requests } from './schema.ts';

/** Installations that an isolate remembers. */
const MAX_KNOWN = 20_000;
/** New installations of a license and day (1.7). */
const MAX_NEW = 1_000;
/** The bucket of a later record may be rolled up or aggregated already (see `aggregate.ts`). */
const LATE_MS = 5 * MINUTE_MS;
const DAY = sql.raw(String(BUCKETS_A_DAY * BUCKET_MS));

/** A row of JSON, in the order of the columns that a statement expects. */
type Row = readonly (string | number | null)[];

/** A record of a license. */
interface OwnedRecord {
  record: HistoryRecord;
  licenseId: number;
  /** The identity of its installation. */
  identity: string;
  /** Undefined if this isolate does not know the installation. */
  fingerprint: string | undefined;
}

/** The keys that a record without a license may mean (1.2), as it was sent first. */
const keysOf = ({ licenseKeyNormalized, installation }: HistoryRecord): string[] => {
  if (licenseKeyNormalized === null) return [];
  return [...new Set([licenseKeyNormalized, ...keysMeantBy(installation.licenseKey ?? '')])];
};

/** A record with the license that its key means, if none was looked up. */
function withLicense(
  record: HistoryRecord,
  licenseIds: ReadonlyMap<string, number>,
): HistoryRecord {
  if (record.licenseId !== undefined) return record;
  const key = keysOf(record).find((one) => licenseIds.has(one));
  if (key === undefined) return record;
  return { ...record, licenseId: licenseIds.get(key), licenseKeyNormalized: key };
}

/** A record under the installation of the key that it means: a program that sends a spoilt key is no other one (1.2). */
function underKey(record: HistoryRecord): HistoryRecord {
  const { licenseKeyNormalized, installation, details } = record;
  const { licenseKey } = installation;
  if (licenseKey === null || normalizeLicenseKey(licenseKey) === licenseKeyNormalized)
    return record;
  return {
    ...record,
    installation: { ...installation, licenseKey: licenseKeyNormalized },
    details: { ...details, licenseKey },
  };
}

/** The details of a record as JSON. One of no license has no installation, so all fields are there. */
function detailsOf(
  { installation, licenseKeyNormalized, details }: HistoryRecord,
  keys: readonly string[] | null,
): string | null {
  const { blockReason, remarks, spam, licenseKey } = details;
  const isOwned = keys === null;
  if (isOwned && !blockReason && !remarks && !spam && !licenseKey) return null;
  const isAsSent = licenseKeyNormalized === installation.licenseKey;
  const sent = {
    ...installation,
    licenseKeyNormalized: isAsSent ? null : licenseKeyNormalized,
    licenseKeyRead: keys?.slice(1).at(-1),
  };
  const fields = { ...(isOwned ? {} : sent), ...details, spam: spam || null };
  const text = JSON.stringify(fields, (_, value: unknown) => value ?? undefined);
  return text === '{}' ? null : text;
}

/** A value in a row of JSON, by its position or its name. */
const value = (key: number | string): SQL =>
  sql.raw(`r.value ->> ${typeof key === 'number' ? key : `'${key}'`}`);

/**
 * The values of a record: its key, two of its installation, then its own. A record of no license has null for the
 * installation, and one of a license has null for the keys that it may mean.
 */
const VALUES = {
  key: value(0),
  fingerprint: value(1),
  sharedFingerprint: value(2),
  id: value(3),
  nonce: value(4),
  type: value(5),
  outcome: value(6),
  details: value(7),
  keys: value(8),
};

const rowOf = (
  record: HistoryRecord,
  { fingerprint, shared }: Record<'fingerprint' | 'shared', string | null>,
  keys: readonly string[] | null = null,
): Row => [
  record.licenseKeyNormalized,
  fingerprint,
  shared,
  record.id,
  record.nonce,
  REQUEST_TYPE_CODES[record.type],
  RESPONSE_TYPE_CODES[record.outcome],
  detailsOf(record, keys),
  keys && JSON.stringify(keys),
];

const NO_LICENSE = { fingerprint: null, shared: null };

const installationWith = (key: SQL, fingerprint: SQL): SQL => sql`select i.id from installations i
  where i.license_key_normalized = ${key} and i.fingerprint = ${fingerprint}`;

const OWN = installationWith(VALUES.key, VALUES.fingerprint);
const SHARED = installationWith(VALUES.key, VALUES.sharedFingerprint);
/** The id of the installation of a record: see {@link HistoryInserter}. */
const INSTALLATION_ID = sql`coalesce(
  (${SHARED} and ${isStored(VALUES.id, VALUES.nonce)}), (${OWN}),
  (${SHARED} and i.last_seen_at / ${DAY} >= ${timeOfIdSql(VALUES.id)} / ${DAY}))`;

const NOT_FOUND = sql.raw(String(RESPONSE_TYPE_CODES.LICENSE_NOT_FOUND));
/** The details of a record, with a remark if its key was replaced: the look-up of a license does not pay for it. */
const DETAILS_WITH_REMARK = sql`iif(${VALUES.sharedFingerprint} is null and ${VALUES.outcome} = ${NOT_FOUND}, ifnull((
  select json_set(${VALUES.details}, '$.remarks',
    'This key was replaced on ' || date(${replacedKeys.replacedAt} / 1000, 'unixepoch'))
  from json_each(${VALUES.keys}) k cross join ${replacedKeys}
    on ${replacedKeys.licenseKeyNormalized} = k.value order by k.key limit 1), ${VALUES.details}), ${VALUES.details})`;

const NEW_KEY = value('licenseKeyNormalized');
/** Whether a new installation has no row yet. */
const IS_NEW = sql`not exists (${installationWith(NEW_KEY, value('fingerprint'))})`;

/** A statement with rows as JSON, unless there are none. */
const withRows = <Statement>(
  rows: readonly unknown[],
  statement: (json: string) => Statement,
): Statement[] => (rows.length === 0 ? [] : [statement(JSON.stringify(rows))]);

/**
 * Prepares the statements that write records into the history with their alerts, each record exactly once: a record that
 * is there already changes nothing. An installation that was met before is not inserted again.
 *
 * A key holder can make up any number of installations. Beyond {@link MAX_NEW} a day, new ones of a license share a row
 * without the values that were sent. After that, no new installation of the license gets a row of its own on that day.
 *
 * The installation is part of the identity of a record. A repeated write could choose another one, because the
 * installation got its own row on a later day. Therefore a record stays under the shared row if it is stored there.
 * Other records use the row of their own, else the shared row if it has their day or a later one. If not, the batch is
 * rejected: an isolate that met their installation on an earlier day inserts it again.
 */
export class HistoryInserter {
  readonly #db: Database;
  /** Buckets up to this one were rolled up or aggregated when it was last read. */
  #countedBucket = Number.POSITIVE_INFINITY;
  /** The fingerprints of the installations that are stored, by identity. */
  readonly #fingerprints = new BoundedMap<string, string>(MAX_KNOWN);
  readonly #alerts = new RecordAlerts();

  constructor(db: Database) {
    this.#db = db;
  }

  /**
   * @param now milliseconds since 1970
   * @returns the statements for one batch, a function that takes their result `counted`, and whether the batch relies
   * on installations that were met before
   */
  async prepare(records: readonly HistoryRecord[], now: number) {
    const licenseIds = await this.#findLicenses(records);
    const owned: OwnedRecord[] = [];
    const others: Row[] = [];
    for (const one of records) {
      const sent = withLicense(one, licenseIds);
      const { licenseId = null } = sent;
      if (licenseId === null) {
        others.push(rowOf(sent, NO_LICENSE, keysOf(sent)));
        continue;
      }
      const record = underKey(sent);
      const identity = identityOf(licenseId, record);
      const fingerprint = this.#fingerprints.get(identity);
      owned.push({ record, licenseId, identity, fingerprint });
    }
    const unknown = owned.filter(({ fingerprint }) => fingerprint === undefined);
    const identities = [...new Set(unknown.map(({ identity }) => identity))];
    const hashing = identities.map(
      async (identity) => [identity, await fingerprintOf(identity)] as const,
    );
    const fingerprints = new Map(await Promise.all(hashing));
    const rows = owned.map(({ record, licenseId, identity, fingerprint }) =>
      rowOf(record, {
        fingerprint: fingerprint ?? fingerprints.get(identity) ?? null,
        shared: sharedFingerprintOf(licenseId),
      }),
    );
    const onTime = Math.max(bucketAt(now - LATE_MS), this.#countedBucket + 1);
    const oldest = bucketOf(Math.min(...records.map(({ id }) => id)));
    const hasLate = oldest < onTime;
    const alerts = this.#alerts.dueOf(owned);
    const [raised] = alerts.length > 0 ? [raiseForRecords(this.#db, alerts, now)] : [];

    const statements = {
      counted: this.#selectCountedBucket(),
      installations: this.#insertInstallations(unknown, fingerprints),
      late: hasLate ? this.#countLate(rows) : [],
      rollups: hasLate ? this.#rollUpAgain(oldest) : [],
      records: this.#insertRecords([...rows, ...others]),
      buckets: this.#insertBuckets(records),
      events: raised?.events ?? [],
      deliveries: raised ? [raised.deliveries] : [],
      alerts: raised?.alerts ?? [],
    };
    const remember = ([counted]: readonly { bucket: number }[]): void => {
      if (counted) this.#countedBucket = counted.bucket;
      for (const [identity, fingerprint] of fingerprints) {
        this.#fingerprints.set(identity, fingerprint);
      }
      this.#alerts.remember(alerts);
    };
    return { statements, remember, reliesOnKnown: unknown.length < owned.length };
  }

  /** Forgets the installations, because a removed one rejects its batch. */
  forgetInstallations(): void {
    this.#fingerprints.clear();
  }

  /** The licenses that records without a look-up may mean, by normalized key. */
  async #findLicenses(records: readonly HistoryRecord[]): Promise<Map<string, number>> {
    const keys = records.flatMap((record) =>
      record.licenseId === undefined ? keysOf(record) : [],
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
      .where(inArray(counters.name, ['rolled_up_bucket', 'aggregated_bucket']));
  }

  /** Inserts the installations of records up to the limit of the day, and for the others their shared rows. */
  #insertInstallations(unknown: readonly OwnedRecord[], fingerprints: ReadonlyMap<string, string>) {
    const found = new Map<string, OwnedRecord & { firstId: number; lastId: number }>();
    for (const one of unknown) {
      const { id } = one.record;
      const { firstId = id, lastId = id } = found.get(one.identity) ?? {};
      found.set(one.identity, {
        ...one,
        firstId: Math.min(firstId, id),
        lastId: Math.max(lastId, id),
      });
    }
    const rows = Array.from(found.values(), ({ record, licenseId, identity, firstId, lastId }) => ({
      ...record.installation,
      licenseKeyNormalized: record.licenseKeyNormalized,
      fingerprint: fingerprints.get(identity),
      licenseId,
      firstSeenAt: timeOfId(firstId),
      lastSeenAt: timeOfId(lastId),
      requests: 0,
      aggregatedBucket: aggregatedBucketOfNew(firstId),
      kid: record.kid,
      sharedFingerprint: sharedFingerprintOf(licenseId),
      day: dayOf(firstId),
    }));
    return withRows(rows, (json) => [this.#insertOwn(json), this.#insertShared(json)]).flat();
  }

  /** The new ones of a license and day up to {@link MAX_NEW}, unless records of the day share the row already. */
  #insertOwn(json: string) {
    const columns = Object.keys(getTableColumns(installations)).map(value);
    return this.#db
      .insert(installations)
      .select(
        sql`with
            fresh as materialized (
              select r.value, ${value('licenseId')} as license_id, ${value('day')} as day,
                row_number() over (partition by ${value('licenseId')}, ${value('day')}) as position
              from json_each(${json}) r
              where ${IS_NEW}
                and not exists (${installationWith(NEW_KEY, value('sharedFingerprint'))}
                  and i.last_seen_at / ${DAY} = ${value('day')} / ${DAY})),
            stored as materialized (
              select license_id, day, (
                select count(*) from installations i
                where i.license_id = d.license_id and i.first_seen_at >= d.day
                  and i.first_seen_at < d.day + ${DAY}
              ) as total
              from (select distinct license_id, day from fresh) d)
          select ${sql.join(columns, sql`, `)} from fresh r join stored using (license_id, day)
          where position + total <= ${MAX_NEW}`,
      )
      .onConflictDoNothing();
  }

  /** The row has the last day that needed it. Then {@link #insertOwn} need not count the installations of that day. */
  #insertShared(json: string) {
    const row = rowValues(installations, {
      licenseKeyNormalized: NEW_KEY,
      fingerprint: value('sharedFingerprint'),
      licenseId: value('licenseId'),
      licenseKey: NEW_KEY,
      firstSeenAt: value('firstSeenAt'),
      lastSeenAt: value('lastSeenAt'),
      requests: 0,
      aggregatedBucket: value('aggregatedBucket'),
    });
    return this.#db
      .insert(installations)
      .select(sql`select ${row} from json_each(${json}) r where ${IS_NEW}`)
      .onConflictDoUpdate({
        target: [installations.licenseKeyNormalized, installations.fingerprint],
        set: { lastSeenAt: sql`excluded.last_seen_at` },
        setWhere: sql`${installations.lastSeenAt} / ${DAY} < excluded.last_seen_at / ${DAY}`,
      });
  }

  /** A missing installation of a record of a license leaves a null, which rejects the batch. */
  #insertRecords(rows: readonly Row[]) {
    const { sharedFingerprint, id, nonce, type, outcome } = VALUES;
    return withRows(rows, (json) =>
      this.#db
        .insert(requests)
        .select(
          sql`select ${bucketOfIdSql(id)}, ${productOf('i')},
              iif(${sharedFingerprint} is null, ${NO_INSTALLATION}, i.id), ${id}, ${nonce}, ${type},
              ${outcome}, ${DETAILS_WITH_REMARK}
            from json_each(${json}) r left join installations i on i.id = ${INSTALLATION_ID}
            where true`,
        )
        .onConflictDoNothing(),
    );
  }

  /** With every batch, because a database that was set back may lack a bucket. */
  #insertBuckets(records: readonly HistoryRecord[]) {
    return withRows([...new Set(records.map(({ id }) => bucketOf(id)))], (json) =>
      this.#db
        .insert(buckets)
        .select(sql`select value from json_each(${json}) where true`)
        .onConflictDoNothing(),
    );
  }

  /** Goes before the insert. Messages of an earlier version may have a record twice. */
  #countLate(rows: readonly Row[]) {
    const { id, nonce, outcome } = VALUES;
    return withRows(rows, (json) =>
      countLate(
        this.#db,
        sql`select ${INSTALLATION_ID} as installation_id, ${id} as id, ${nonce} as nonce,
            ${outcome} as outcome
          from (select distinct value from json_each(${json})) r`,
      ),
    );
  }

  /** Sets the roll-ups back to the bucket of the oldest record. */
  #rollUpAgain(oldest: number) {
    return this.#db
      .update(counters)
      .set({ value: oldest - 1 })
      .where(and(eq(counters.name, 'rolled_up_bucket'), gte(counters.value, oldest)));
  }
}
