import { and, eq, isNotNull, type SQL, sql } from 'drizzle-orm';
import { change, type Sender } from '../db/change.ts';
import type { Database } from '../db/client.ts';
import { NO_INSTALLATION, NO_PRODUCT } from '../db/codes.ts';
import { isOneOf } from '../db/predicates.ts';
import { bucketAtSql, productOf } from '../db/records.ts';
import { installations, licenses, replacedKeys } from '../resources/licenses/schema.ts';
import { keepUses } from '../resources/licenses/slot-uses.ts';
import { isOfLicense, keepRequestsOf } from '../resources/licenses/totals.ts';
import { requests } from './schema.ts';

/**
 * Erases the data of a person from the history: keys, addresses and hardware IDs. The records stay, with their
 * times, outcomes and versions, and so do all counts.
 */

/** All rounds together stay below 50 queries, the limit of a request on the Free plan. */
const MAX_ROUNDS = 3;
const MAX_INSTALLATIONS = 1_000;

/** This many statements read the records without a license, because D1 limits the time of each. */
const PARTS = 4;

/** The replaced keys of licenses. */
export const isReplacedKeyOf = (isLicense: SQL): SQL =>
  sql`${replacedKeys.licenseId} in (select id from ${licenses} where ${isLicense})`;

/** All keys that licenses have or had, normalized. */
export const allKeysOf = (isLicense: SQL): SQL =>
  sql`(select license_key_normalized from ${licenses} where ${isLicense}
    union all select license_key_normalized from ${replacedKeys} where ${isReplacedKeyOf(isLicense)})`;

/** The installations of licenses, at most `limit` of them. An erased installation is no longer found. */
async function findInstallations(
  db: Database,
  isLicense: SQL,
  limit: number,
): Promise<readonly number[]> {
  const rows = await db
    .select({ id: installations.id })
    .from(licenses)
    .innerJoin(installations, isOfLicense('installations', sql`${licenses.id}`))
    .where(isLicense)
    .limit(limit);
  return rows.map(({ id }) => id);
}

/** Whether a remark names values that gave way: `Took the slot of …`, or `Took over the slot of …`. */
const NAMES_VALUES = sql.raw(`details ->> 'remarks' glob 'Took *the slot of *'`);

/** The statements that erase installations. A program that still asks becomes another installation. */
function eraseInstallations(db: Database, ids: readonly number[]) {
  return {
    // Without its key, the total of a license no longer finds an installation.
    ...keepRequestsOf(db, ids),
    uses: keepUses(db, isOneOf(installations.id, ids)),
    erased: db
      .update(installations)
      .set({
        licenseKeyNormalized: '',
        licenseKey: '',
        // Addresses could be guessed from the fingerprint.
        fingerprint: sql`${installations.id}`,
        ip: null,
        hwid: null,
        macAddress: null,
        requests: 0,
      })
      .where(isOneOf(installations.id, ids)),
    // A remark can name an address or a hardware ID that gave way, and a spoilt key can be read.
    details: db
      .update(requests)
      .set({
        details: sql`json_remove(${requests.details}, '$.licenseKey',
        iif(${NAMES_VALUES}, '$.remarks', '$.licenseKey'))`,
      })
      .where(
        sql`(bucket, product_id, installation_id) in (
            select b.bucket, ${productOf('i')}, i.id
            from json_each(${JSON.stringify(ids)}) lost
              cross join installations i on i.id = lost.value
              cross join buckets b on b.bucket between
                ${bucketAtSql(sql`i.first_seen_at`)} and ${bucketAtSql(sql`i.last_seen_at`)})
          and (${NAMES_VALUES} or details ->> 'licenseKey' is not null)`,
      ),
  };
}

/**
 * The statements that erase records without a license but with a key of one. Their programs asked before the license was
 * imported, or with its replaced key.
 */
async function eraseRecordsOfKeys(db: Database, isLicense: SQL) {
  const [range] = await db
    .select({
      // Two selects: in one, SQLite would read all buckets instead of seeking each end.
      first: sql<number | null>`(select min(bucket) from buckets)`,
      last: sql<number | null>`(select max(bucket) from buckets)`,
    })
    .from(sql`(select 1)`);
  if (range?.first == null || range.last == null) return [];
  const { first, last } = range;
  const size = Math.ceil((last - first + 1) / PARTS);
  const sent = (name: string): SQL => sql.raw(`details ->> '${name}'`);
  const keys = allKeysOf(isLicense);
  return Array.from({ length: PARTS }, (_, part) =>
    db
      .update(requests)
      .set({
        details: sql`json_remove(${requests.details}, '$.licenseKey', '$.licenseKeyNormalized', '$.licenseKeyRead',
          '$.ip', '$.hwid', '$.macAddress')`,
      })
      .where(
        and(
          sql`${requests.bucket} in (
            select bucket from buckets
            where bucket >= ${first + part * size} and bucket < ${first + (part + 1) * size})`,
          eq(requests.productId, NO_PRODUCT),
          eq(requests.installationId, NO_INSTALLATION),
          isNotNull(requests.details),
          sql`(ifnull(${sent('licenseKeyNormalized')}, ${sent('licenseKey')}) in ${keys}
            or ${sent('licenseKeyRead')} in ${keys})`,
        ),
      ),
  );
}

/**
 * Erases keys, addresses and hardware IDs in a bounded part of the history of the licenses of a customer. The last part
 * also erases their replaced keys. The licenses keep their counts and their bindings.
 *
 * @returns whether nothing remains
 */
export async function eraseHistory(sender: Sender, customerId: number): Promise<boolean> {
  const { db } = sender;
  const isOfCustomer = eq(licenses.customerId, customerId);
  if ((await db.$count(licenses, isOfCustomer)) === 0) return true;
  // The event of the customer stands for all of it. A batch for each: D1 serves no other request during a batch.
  for (const records of await eraseRecordsOfKeys(db, isOfCustomer)) {
    await change(sender, { event: null, statements: { records } });
  }
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const ids = await findInstallations(db, isOfCustomer, MAX_INSTALLATIONS);
    if (ids.length > 0)
      await change(sender, { event: null, statements: eraseInstallations(db, ids) });
    if (ids.length === MAX_INSTALLATIONS) continue;
    const isReplacedKey = isReplacedKeyOf(isOfCustomer);
    if ((await db.$count(replacedKeys, isReplacedKey)) > 0) {
      const replaced = db.delete(replacedKeys).where(isReplacedKey);
      await change(sender, { event: null, statements: { replaced } });
    }
    return true;
  }
  return false;
}
