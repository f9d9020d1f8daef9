import { OUTCOMES } from '@licet/contract/outcomes';
import type { InstallationFields, LicenseRequest, requestQuery } from '@licet/contract/requests';
import { toTimestamp } from '@licet/contract/time';
import { and, desc, eq, gte, lt, lte, ne, or, type SQL, sql } from 'drizzle-orm';
import type * as z from 'zod';
import type { Database } from '../db/client.ts';
import { ALL_PRODUCTS, NO_INSTALLATION, NO_PRODUCT, RESPONSE_TYPE_CODES } from '../db/codes.ts';
import { productOf } from '../db/records.ts';
import { BUCKET_MS, bucketAt, bucketOf, EPOCH, firstIdAt, timeOfId } from '../lib/time-id.ts';
import { keysMeantBy } from '../resources/licenses/rules.ts';
import { installations, licenses, replacedKeys } from '../resources/licenses/schema.ts';
import { aggregatedBucketOf } from '../resources/licenses/totals.ts';
import { mayHave } from './aggregate.ts';
import { allKeysOf } from './erase.ts';
import { isShared, type RecordDetails } from './record.ts';
import { buckets, requests } from './schema.ts';

/** A record of the history, and its installation if it belongs to a license. */
interface RecordRow extends Pick<typeof requests.$inferSelect, 'id' | 'type' | 'outcome'> {
  installation: typeof installations.$inferSelect | null;
  details: RecordDetails & Partial<InstallationFields>;
}

/** The remark of a request whose installation is not stored (1.7). */
const SHARED = 'Fields not stored: more than 1,000 new installations of this license on this day';

/** A record as responses show it. */
export function toRequest({ id, type, outcome, installation, details }: RecordRow): LicenseRequest {
  const sent = installation ?? details;
  return {
    id,
    licenseId: installation?.licenseId ?? null,
    // Empty for an installation that was erased.
    licenseKey: (details.licenseKey ?? sent.licenseKey) || null,
    productId: sent.productId ?? null,
    productVersion: sent.productVersion ?? null,
    ip: sent.ip ?? null,
    hwid: sent.hwid ?? null,
    macAddress: sent.macAddress ?? null,
    operatingSystem: sent.operatingSystem ?? null,
    operatingSystemVersion: sent.operatingSystemVersion ?? null,
    operatingSystemArchitecture: sent.operatingSystemArchitecture ?? null,
    javaVersion: sent.javaVersion ?? null,
    requestDate: toTimestamp(timeOfId(id)),
    requestType: type,
    responseType: outcome,
    blockReason: details.blockReason ?? null,
    notes: null,
    remarks: details.remarks ?? (installation && isShared(installation) ? SHARED : null),
    valid: outcome === 'VALID',
    successful: outcome !== 'ERROR',
    rateLimited: outcome === 'RATE_LIMITED',
    blocked: OUTCOMES[outcome].isBlocked,
    spam: details.spam ?? false,
  };
}

interface RecordFilter extends Omit<z.infer<typeof requestQuery>, 'limit'> {
  /** Only requests with a key of a license of this customer. */
  customerId?: number;
}

const equals = (field: SQL, value: string | number | undefined): SQL | undefined =>
  value === undefined ? undefined : sql`${field} = ${value}`;

/** The keys that a filter can mean (1.2), up to the first with a license, and the replaced keys of that license. */
function keysOf(licenseKey: string): SQL {
  const keys = sql`json_each(${JSON.stringify(keysMeantBy(licenseKey))}) k`;
  const meant = (column: string) =>
    sql`(select ${sql.raw(column)} from ${keys} cross join ${licenses}
      on ${licenses.licenseKeyNormalized} = k.value order by k.key limit 1)`;
  return sql`(
    select k.value from ${keys} where k.key <= ifnull(${meant('k.key')}, k.key)
    union all select ${replacedKeys.licenseKeyNormalized} from ${replacedKeys}
    where ${replacedKeys.licenseId} = ${meant('licenses.id')})`;
}

const isOneOfKeys = (field: SQL, { licenseKey, customerId }: RecordFilter): SQL | undefined =>
  and(
    licenseKey ? sql`${field} in ${keysOf(licenseKey)}` : undefined,
    customerId === undefined
      ? undefined
      : sql`${field} in ${allKeysOf(eq(licenses.customerId, customerId))}`,
  );

const matchesInstallation = (filter: RecordFilter): SQL | undefined =>
  and(
    isOneOfKeys(sql`${installations.licenseKeyNormalized}`, filter),
    equals(sql`${installations.hwid}`, filter.hwid),
    equals(sql`${installations.ip}`, filter.ip),
    equals(sql`${installations.productId}`, filter.productId),
  );

/** {@link matchesInstallation} for a record of no license, whose details have the fields of its installation. */
function matchesDetails(filter: RecordFilter): SQL | undefined {
  const sent = (name: string): SQL => sql`${requests.details} ->> ${sql.raw(`'${name}'`)}`;
  const key = sql`ifnull(${sent('licenseKeyNormalized')}, ${sent('licenseKey')})`;
  return and(
    or(isOneOfKeys(key, filter), isOneOfKeys(sent('licenseKeyRead'), filter)),
    equals(sent('hwid'), filter.hwid),
    equals(sent('ip'), filter.ip),
    equals(sent('productId'), filter.productId),
  );
}

const bucketAtSql = (time: string): SQL => sql.raw(`((${time} - ${EPOCH}) / ${BUCKET_MS})`);

/** The part of each bucket that a filter reads: all records, those of a product, or those of installations. */
interface Part {
  /** A table `part`. It includes the records of no license. */
  table: SQL;
  isPart: SQL | undefined;
}

const isByInstallation = ({ licenseKey, customerId, ip, hwid }: RecordFilter): boolean =>
  (licenseKey ?? customerId ?? ip ?? hwid) !== undefined;

function partOf(filter: RecordFilter): Part {
  const { productId } = filter;
  if (isByInstallation(filter)) {
    return {
      // A record of the bucket before the first one may have been inserted later.
      table: sql`(
        select id as installation_id, ${productOf('installations')} as product_id,
          ${aggregatedBucketOf('installations')} as aggregated_bucket,
          ${bucketAtSql('first_seen_at')} - 1 as first_bucket,
          ${bucketAtSql('last_seen_at')} as last_bucket
        from ${installations} where ${matchesInstallation(filter)}
        union all select ${NO_INSTALLATION}, ${NO_PRODUCT}, 0, 0, 0) part`,
      isPart: sql`${requests.productId} = part.product_id and ${requests.installationId} = part.installation_id
        and ${buckets.bucket} >= part.first_bucket
        and (${buckets.bucket} <= part.last_bucket or ${buckets.bucket} > part.aggregated_bucket)`,
    };
  }
  if (productId === undefined) return { table: sql`(select 0) part`, isPart: undefined };
  return {
    // NO_PRODUCT has the installations without a product, too.
    table: sql`(
      select ${productId} as product_id, ${Number.MAX_SAFE_INTEGER} as last_installation_id
      union all select ${NO_PRODUCT}, ${NO_INSTALLATION}) part`,
    isPart: sql`${requests.productId} = part.product_id
      and ${requests.installationId} <= part.last_installation_id`,
  };
}

/** Skips the buckets without the outcome, which can be rare. A seek for an installation reads fewer rows than this. */
function mayMatch({ valid, productId, ...filter }: RecordFilter): SQL | undefined {
  if (valid === undefined || isByInstallation(filter)) return undefined;
  const isOutcome = sql.raw(`u.outcome ${valid ? '=' : '<>'} ${RESPONSE_TYPE_CODES.VALID}`);
  // Records of no license can be of any product.
  const products = productId === undefined ? [ALL_PRODUCTS] : [productId, NO_PRODUCT];
  return mayHave(sql`u.product_id in ${products} and ${isOutcome}`);
}

/** Selects the newest records that match, from the newest bucket on, until there are enough. */
function selectNewest(db: Database, filter: RecordFilter, limit: number) {
  const { valid, from, to, after = Number.MAX_SAFE_INTEGER } = filter;
  const before = to === undefined ? after : Math.min(after, firstIdAt(to + 1));
  const { table, isPart } = partOf(filter);
  const details = matchesDetails(filter);
  // SQLite reads tables in the order of cross joins.
  return db
    .select({
      installationId: requests.installationId,
      id: requests.id,
      type: requests.type,
      outcome: requests.outcome,
      details: requests.details,
    })
    .from(buckets)
    .crossJoin(table)
    .crossJoin(requests)
    .where(
      and(
        lte(buckets.bucket, bucketOf(before)),
        mayMatch(filter),
        from === undefined ? undefined : gte(buckets.bucket, bucketAt(from)),
        eq(requests.bucket, buckets.bucket),
        isPart,
        lt(requests.id, before),
        from === undefined ? undefined : gte(requests.id, firstIdAt(from)),
        valid === true ? eq(requests.outcome, 'VALID') : undefined,
        valid === false ? ne(requests.outcome, 'VALID') : undefined,
        details && or(ne(requests.installationId, NO_INSTALLATION), details),
      ),
    )
    .orderBy(desc(buckets.bucket), desc(requests.id))
    .limit(limit)
    .as('record');
}

async function findRecords(
  db: Database,
  filter: RecordFilter,
  limit: number,
): Promise<RecordRow[]> {
  const record = selectNewest(db, filter, limit);
  const rows = await db
    .select({
      id: record.id,
      type: record.type,
      outcome: record.outcome,
      details: record.details,
      installation: installations,
    })
    .from(record)
    .leftJoin(installations, eq(installations.id, record.installationId))
    .orderBy(desc(record.id));
  return rows.map(({ details, ...row }) => ({
    ...row,
    details: details === null ? {} : JSON.parse(details),
  }));
}

/**
 * A page of the records that match, newest first.
 *
 * @returns at most `limit` records unless more share an id, and whether there are more
 */
export async function listRecords(
  db: Database,
  filter: RecordFilter,
  limit: number,
): Promise<{ rows: RecordRow[]; hasMore: boolean }> {
  const rows = await findRecords(db, filter, limit + 1);
  const next = rows[limit];
  if (!next) return { rows, hasMore: false };
  const page = rows.slice(0, limit);
  // The next page begins after an id, so records with the same id stay on one page.
  const together = page.filter(({ id }) => id !== next.id);
  if (together.length > 0) return { rows: together, hasMore: true };
  // They do not fit on the page: it becomes longer.
  return listRecords(db, filter, limit * 2);
}

export async function findRecord(db: Database, id: number): Promise<RecordRow | undefined> {
  const time = timeOfId(id);
  const rows = await findRecords(db, { from: time, to: time, after: id + 1 }, 1);
  return rows.find((row) => row.id === id);
}
