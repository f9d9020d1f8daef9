import { MINUTE_MS } from '@licet/contract/durations';
import type { ResponseType } from '@licet/contract/enums';
import { and, eq, gte, inArray, type SQL, sql } from 'drizzle-orm';
import type { Database } from '../db/client.ts';
import {
  NO_INSTALLATION,
  NO_PRODUCT,
  REQUEST_TYPE_CODES,
  RESPONSE_TYPE_CODES,
} from '../db/codes.ts';
import { isOneOf } from '../db/predicates.ts';
import { bucketOfIdSql, isStored, productOf } from '../db/records.ts';
import { buckets, counters, installations, licenses, requests } from '../db/schema.ts';
import { aggregatedBucketOfNew, countLate } from '../db/totals.ts';
import { toBase64url } from '../lib/base64url.ts';
import { BoundedMap } from '../lib/bounded-map.ts';
import { sha256 } from '../lib/sha256.ts';
import {
  BUCKET_MS,
  BUCKETS_A_DAY,
  bucketAt,
  bucketOf,
  dayOf,
  firstIdAt,
  timeOfBucket,
  timeOfId,
} from '../lib/time-id.ts';
import {
  type HistoryRecord,
  installationFields,
  type RecordDetails,
  SHARED_PREFIX,
} from './record.ts';

const MAX_INSTALLATIONS = 20_000;
/** New installations of a license and day (1.7). */
const MAX_NEW_INSTALLATIONS = 1_000;
/** The bucket of a later record may be rolled up or aggregated already (see `aggregate.ts`). */
const LATE_MS = 5 * MINUTE_MS;
/** Enough for no two installations to share a fingerprint. */
const FINGERPRINT_BYTES = 12;

/** In the order of the columns of `installations`. */
const INSTALLATION_FIELDS = installationFields.keyof().options;

/** A row of JSON, in the order of the columns that a statement expects. */
type Row = readonly (string | number | null)[];

/** The row that new installations of a license and day share beyond {@link MAX_NEW_INSTALLATIONS}. */
interface SharedInstallation {
  fingerprint: string;
  /** Null if the program can have made it up. */
  productId: number | null;
}

/** An installation that this isolate does not know, and its records of a day. */
interface NewInstallation {
  identity: string;
  licenseId: number;
  shared: SharedInstallation;
  records: HistoryRecord[];
}

/** Outcomes of requests whose product need not be that of the license (1.3). */
const HAS_ANY_PRODUCT: ReadonlySet<ResponseType> = new Set([
  'INVALID_REQUEST',
  'RATE_LIMITED',
  'IP_BLACKLISTED',
  'HWID_BLACKLISTED',
  'PRODUCT_MISMATCH',
  'ERROR',
]);

/** Its fingerprint depends on the record alone: a repeated write finds the same row. */
function sharedInstallationOf(
  licenseId: number,
  { id, outcome, installation }: HistoryRecord,
): SharedInstallation {
  const productId = HAS_ANY_PRODUCT.has(outcome) ? null : installation.productId;
  return { fingerprint: `${SHARED_PREFIX}${dayOf(id)}:${licenseId}:${productId}`, productId };
}

/** The identity of an installation. Without a `kid` it is as before signatures existed: known installations stay known. */
function identityOf(licenseId: number, { installation, kid }: HistoryRecord): string {
  let identity = String(licenseId);
  for (const field of INSTALLATION_FIELDS) {
    const value = installation[field];
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

/** The details of a record of no license: it has no installation, so all fields are there. */
function allDetailsOf({
  installation,
  licenseKeyNormalized,
  details,
}: HistoryRecord): string | null {
  const isAsSent = licenseKeyNormalized === installation.licenseKey;
  const { spam, ...others } = details;
  return toJson({
    ...installation,
    licenseKeyNormalized: isAsSent ? null : licenseKeyNormalized,
    ...others,
    spam: spam || null,
  });
}

/** The part of a row after the installation. */
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

/** The id of the installation with the key and the fingerprint in two columns of a row. */
const installationWith = (
  key: number,
  fingerprint: number,
): SQL => sql`select i.id from installations i
  where i.license_key_normalized = ${field(key)} and i.fingerprint = ${field(fingerprint)}`;

/** The id of the installation of a record: see {@link HistoryInserter}. */
const INSTALLATION_ID = sql`coalesce(
  (${installationWith(0, 2)} and ${isStored(field(3), field(4))}),
  (${installationWith(0, 1)}),
  (${installationWith(0, 2)}))`;

/**
 * Prepares the statements that write records into the history, each record exactly once: a record that is
 * there already changes nothing. An installation that was met before is not inserted again.
 *
 * A key holder can make up any number of installations. Beyond {@link MAX_NEW_INSTALLATIONS} the new ones of a license and day
 * share a row without what they sent, and from then on none of that day gets a row of its own. The installation is part of
 * the identity of a record. A repeated write could find another one, because the installation got its own row on a later
 * day. Therefore a record that is stored under the shared row stays there. The others are stored under the row of
 * their own, if there is one, and else under the shared row.
 */
export class HistoryInserter {
  readonly #db: Database;
  /** Buckets up to this one were rolled up or aggregated when it was last read. */
  #countedBucket = Number.POSITIVE_INFINITY;
  /** The fingerprints of the installations that are stored, by identity. */
  readonly #fingerprints = new BoundedMap<string, string>(MAX_INSTALLATIONS);

  constructor(db: Database) {
    this.#db = db;
  }

  /**
   * @param now milliseconds since 1970
   * @returns the statements for one batch, a function that takes the result `counted`, and whether the batch relies on
   * installations that were met before
   */
  async prepare(records: readonly HistoryRecord[], now: number) {
    const licenseIds = await this.#findLicenses(records);
    const owned: { identity: string; shared: SharedInstallation; record: HistoryRecord }[] = [];
    const others: Row[] = [];
    const fingerprints = new Map<string, string>();
    const newInstallations = new Map<string, NewInstallation>();
    let reliesOnKnown = false;
    for (const record of records) {
      const { licenseId = licenseIds.get(record.licenseKeyNormalized) ?? null } = record;
      if (licenseId === null) {
        others.push(rowOf(record, allDetailsOf(record)));
        continue;
      }
      const identity = identityOf(licenseId, record);
      const shared = sharedInstallationOf(licenseId, record);
      owned.push({ identity, shared, record });
      const fingerprint = this.#fingerprints.get(identity);
      if (fingerprint !== undefined) {
        reliesOnKnown = true;
        fingerprints.set(identity, fingerprint);
        continue;
      }
      const newInstallation = newInstallations.get(`${identity} ${shared.fingerprint}`);
      if (newInstallation) newInstallation.records.push(record);
      else {
        newInstallations.set(`${identity} ${shared.fingerprint}`, {
          identity,
          licenseId,
          shared,
          records: [record],
        });
      }
    }
    await Promise.all(
      Array.from(newInstallations.values(), async ({ identity }) => {
        fingerprints.set(identity, await fingerprintOf(identity));
      }),
    );
    const rows = owned.map(({ identity, shared, record }) => [
      record.licenseKeyNormalized,
      fingerprints.get(identity) ?? null,
      shared.fingerprint,
      ...rowOf(record, detailsOf(record.details)),
    ]);
    const onTime = Math.max(bucketAt(now - LATE_MS), this.#countedBucket + 1);
    const firstOnTime = firstIdAt(timeOfBucket(onTime));

    const statements = {
      counted: this.#selectCountedBucket(),
      installations: this.#insertInstallations([...newInstallations.values()], fingerprints),
      late: this.#countLate(rows, firstOnTime),
      rollups: this.#rollUpAgain(records, firstOnTime),
      owned: this.#insertOwned(rows),
      others: this.#insertOthers(others),
      buckets: this.#insertBuckets(records),
    };
    const learn = ([counted]: readonly { bucket: number }[]): void => {
      if (counted) this.#countedBucket = counted.bucket;
      for (const { identity } of newInstallations.values()) {
        const fingerprint = fingerprints.get(identity);
        if (fingerprint !== undefined) this.#fingerprints.set(identity, fingerprint);
      }
    };
    return { statements, learn, reliesOnKnown };
  }

  /** Forgets the installations, because a removed one rejects its batch. */
  forgetInstallations(): void {
    this.#fingerprints.clear();
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
      .where(inArray(counters.name, ['rolled_up_bucket', 'aggregated_bucket']));
  }

  #insertInstallations(
    newInstallations: readonly NewInstallation[],
    fingerprints: ReadonlyMap<string, string>,
  ) {
    if (newInstallations.length === 0) return [];
    const rows = newInstallations.map(({ identity, licenseId, shared, records }) => {
      const ids = records.map(({ id }) => id);
      const firstId = Math.min(...ids);
      const [record] = records;
      return [
        null,
        record?.licenseKeyNormalized,
        fingerprints.get(identity),
        licenseId,
        ...INSTALLATION_FIELDS.map((name) => record?.installation[name]),
        timeOfId(firstId),
        timeOfId(Math.max(...ids)),
        0,
        aggregatedBucketOfNew(firstId),
        record?.kid ?? null,
        shared.fingerprint,
        shared.productId,
        dayOf(firstId),
      ];
    });
    const json = JSON.stringify(rows);
    const [key, fingerprint, licenseId, firstSeenAt] = [1, 2, 3, INSTALLATION_FIELDS.length + 4];
    const [aggregatedBucket, columns] = [firstSeenAt + 3, firstSeenAt + 5];
    const [sharedFingerprint, sharedProductId, day] = [columns, columns + 1, columns + 2];
    return [
      this.#db
        .insert(installations)
        .select(
          sql`with
              fresh as materialized (
                select r.value, ${field(licenseId)} as license_id, ${field(day)} as day,
                  row_number() over (partition by ${field(licenseId)}, ${field(day)}) as position
                from json_each(${json}) r
                where not exists (${installationWith(key, fingerprint)})
                  and not exists (${installationWith(key, sharedFingerprint)})),
              stored as materialized (
                select license_id, day, (
                  select count(*) from installations i
                  where i.license_id = d.license_id and i.first_seen_at >= d.day
                    and i.first_seen_at < d.day + ${sql.raw(String(BUCKETS_A_DAY * BUCKET_MS))}
                ) as installations
                from (select distinct license_id, day from fresh) d)
            select ${fields(columns)} from fresh r join stored using (license_id, day)
            where position + installations <= ${MAX_NEW_INSTALLATIONS}`,
        )
        .onConflictDoNothing(),
      this.#db
        .insert(installations)
        .select(
          sql`select null, ${field(key)}, ${field(sharedFingerprint)}, ${field(licenseId)},
              ${field(key)}, ${field(sharedProductId)}, null, null, null, null, null, null, null, null,
              ${field(firstSeenAt)}, ${field(firstSeenAt + 1)}, 0, ${field(aggregatedBucket)}, null
            from json_each(${json}) r
            where not exists (${installationWith(key, fingerprint)})`,
        )
        .onConflictDoNothing(),
    ];
  }

  /** Inserts records of licenses. A missing installation leaves a null, which rejects the batch. */
  #insertOwned(rows: readonly Row[]) {
    if (rows.length === 0) return [];
    return [
      this.#db
        .insert(requests)
        .select(
          sql`select ${bucketOfIdSql(field(3))}, ${productOf('i')}, i.id, ${field(3)},
              ${field(4)}, ${field(5)}, ${field(6)}, ${field(7)}
            from json_each(${JSON.stringify(rows)}) r left join installations i on i.id = ${INSTALLATION_ID}
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
          sql`select ${bucketOfIdSql(field(0))}, ${NO_PRODUCT}, ${NO_INSTALLATION}, ${fields(5)}
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

  /** Goes before the insert. The queue may deliver a record twice in a batch. */
  #countLate(rows: readonly Row[], firstOnTime: number) {
    const late = rows.filter(([, , , id]) => Number(id) < firstOnTime);
    if (late.length === 0) return [];
    return [
      countLate(
        this.#db,
        sql`select ${INSTALLATION_ID} as installation_id, ${field(3)} as id, ${field(4)} as nonce,
            ${field(6)} as outcome
          from (select distinct value from json_each(${JSON.stringify(late)})) r`,
      ),
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
