import { DAY_MS, MINUTE_MS } from '@licet/contract/durations';
import type { LicenseStatus } from '@licet/contract/enums';
import { and, eq, lt, sql } from 'drizzle-orm';
import { batch, type Database } from '../db/client.ts';
import { dailyCounts, installations, licenses } from '../db/schema.ts';
import { statusSql } from '../resources/licenses/status.ts';
import { IS_SHARED } from './record.ts';

/** The counts of licenses and of installations for the statistics (6). */

const HELD_MS = MINUTE_MS;
/** The versions of a product that are counted. */
const MAX_VERSIONS = 20;
/** The expiries ahead that are counted. */
const DAYS_AHEAD = 26 * 7;
const KEPT_DAYS = 400;

interface LicenseCount {
  productId: number;
  status: LicenseStatus;
  /** The day on which active licenses expire, if it is within 26 weeks. */
  expiryDate: string | null;
  count: number;
}

interface VersionCount {
  productId: number;
  version: string | null;
  /** The number of installations. */
  count: number;
}

export interface Counts {
  /** Milliseconds since 1970. */
  countedAt: number;
  licenses: readonly LicenseCount[];
  /** The most frequent versions of each product. */
  versions: readonly VersionCount[];
}

export const dayAt = (milliseconds: number): number => Math.floor(milliseconds / DAY_MS);

/** One pass over an index that has these columns. */
function countLicenses(db: Database, now: number) {
  const end = (dayAt(now) + DAYS_AHEAD) * DAY_MS;
  const status = statusSql(now);
  return db
    .select({
      productId: licenses.productId,
      status: sql<LicenseStatus>`${status}`.as('status'),
      expiryDate: sql<string | null>`iif(${status} = 'ACTIVE' and expires_at < ${end},
        strftime('%Y-%m-%d', expires_at / 1000, 'unixepoch'), null)`.as('expiry_date'),
      count: sql<number>`count(*)`.as('counted'),
    })
    .from(licenses)
    .groupBy(sql`1, 2, 3`);
}

/** Without the installations whose license key was erased, and the rows that stand for many. */
function countVersions(db: Database) {
  // Programs can send any text as their version, and any number as their product.
  const versions = sql`(
    select product_id, product_version, count(*) as counted,
      row_number() over (
        partition by product_id order by count(*) desc, product_version desc) as place
    from ${installations}
    where license_key_normalized <> '' and not ${IS_SHARED}
    group by 1, 2 having product_id in (select id from products))`;
  return db
    .select({
      productId: sql<number>`product_id`.as('product'),
      version: sql<string | null>`product_version`.as('version'),
      count: sql<number>`counted`.as('installations'),
    })
    .from(versions)
    .where(sql`place <= ${MAX_VERSIONS}`);
}

/** The counts of the present, which an isolate holds for 60 seconds. */
export class HeldCounts {
  readonly #db: Database;
  #held: Counts | undefined;

  constructor(db: Database) {
    this.#db = db;
  }

  /** @param now milliseconds since 1970 */
  async read(now: number): Promise<Counts> {
    if (this.#held && Math.abs(now - this.#held.countedAt) < HELD_MS) return this.#held;
    const db = this.#db;
    const counts = { licenses: countLicenses(db, now), versions: countVersions(db) };
    this.#held = { countedAt: now, ...(await batch(db, counts)) };
    return this.#held;
  }
}

/** The active licenses of a product, or of all, on a day of the past; null if that is unknown. */
export async function activeOnDay(
  db: Database,
  day: number,
  productId: number | undefined,
): Promise<number | null> {
  const [row] = await db
    .select({ active: sql<number | null>`sum(count)`.as('active') })
    .from(dailyCounts)
    .where(
      and(
        eq(dailyCounts.day, day),
        eq(dailyCounts.status, 'ACTIVE'),
        productId === undefined ? undefined : eq(dailyCounts.productId, productId),
      ),
    );
  return row?.active ?? null;
}

/**
 * Keeps the counts of the day, once a day, and removes those that are too old.
 *
 * @param now milliseconds since 1970
 */
export async function keepCounts(db: Database, now: number): Promise<void> {
  const day = dayAt(now);
  const { meta } = await db.insert(dailyCounts).select(
    // The cross join reads no license of a day that was counted before.
    sql`select ${day}, product_id, ${statusSql(now)}, count(*)
      from (select 1 where not exists (select 1 from ${dailyCounts} where day = ${day}))
        cross join ${licenses}
      group by 2, 3`,
  );
  if (meta.changes > 0) await db.delete(dailyCounts).where(lt(dailyCounts.day, day - KEPT_DAYS));
}
