import { DAY_MS, MINUTE_MS } from '@licet/contract/durations';
import type { LicenseStatus } from '@licet/contract/enums';
import { MAX_EXPIRY_WEEKS, MAX_STATISTICS_VERSIONS } from '@licet/contract/limits';
import { and, eq, lt, sql } from 'drizzle-orm';
import { SingleFlight } from '../cache/batch-loader.ts';
import { batch, type Database } from '../db/client.ts';
import { IS_SHARED } from '../db/records.ts';
import type { Task } from '../db/task.ts';
import type { WaitUntil } from '../lib/async.ts';
import { statusSql } from '../resources/licenses/rules.ts';
import { installations, licenses } from '../resources/licenses/schema.ts';
import { dailyCounts } from './schema.ts';

/** The counts of licenses and of installations for the statistics (6). */

export const HELD_MS = MINUTE_MS;
/** A count of versions reads every installation: this bounds an isolate to 1.5 million a day. */
export const HELD_MS_PER_INSTALLATION = 60;
const DAYS_AHEAD = MAX_EXPIRY_WEEKS * 7;
const KEPT_DAYS = 400;

interface LicenseCount {
  productId: number;
  status: LicenseStatus;
  /** The day on which active licenses expire, if it is within {@link MAX_EXPIRY_WEEKS}. */
  expiryDate: string | null;
  count: number;
}

interface VersionCount {
  productId: number;
  version: string | null;
  /** The number of installations. */
  count: number;
  /** The number of installations of all products and versions, also those that are not counted. */
  total: number;
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
  const isCounted = sql`license_key_normalized <> '' and not ${IS_SHARED}`;
  const counted = sql`count(*) filter (where ${isCounted})`;
  const versions = sql`(
    select product_id, product_version, ${counted} as counted, sum(count(*)) over () as total,
      row_number() over (
        partition by product_id order by ${counted} desc, product_version desc) as place
    from ${installations} group by 1, 2)`;
  return (
    db
      .select({
        productId: sql<number>`product_id`.as('product'),
        version: sql<string | null>`product_version`.as('version'),
        count: sql<number>`counted`.as('installations'),
        total: sql<number>`total`.as('all_installations'),
      })
      .from(versions)
      // Programs can send any text as their version, and any number as their product.
      .where(
        sql`place <= ${MAX_STATISTICS_VERSIONS} and counted > 0 and product_id in (select id from products)`,
      )
  );
}

/** The counts of the present, which an isolate holds. */
export class HeldCounts {
  readonly #db: Database;
  readonly #flights = new SingleFlight<Counts>();
  #held: Counts | undefined;
  /** The time of the next count of versions, in milliseconds since 1970. */
  #versionsDueAt = 0;

  constructor(db: Database) {
    this.#db = db;
  }

  /**
   * @param now milliseconds since 1970
   * @param waitUntil keeps the count alive, for other requests that wait for it
   */
  async read(now: number, waitUntil: WaitUntil): Promise<Counts> {
    const held = this.#held;
    if (held && Math.abs(now - held.countedAt) < HELD_MS) return held;
    return this.#flights.run('', () => this.#count(now), waitUntil);
  }

  async #count(now: number): Promise<Counts> {
    const db = this.#db;
    const held = this.#held;
    const licenses = countLicenses(db, now);
    let counts: Counts;
    if (held && now < this.#versionsDueAt) {
      counts = { countedAt: now, ...(await batch(db, { licenses })), versions: held.versions };
    } else {
      counts = { countedAt: now, ...(await batch(db, { licenses, versions: countVersions(db) })) };
      const heldMs = (counts.versions[0]?.total ?? 0) * HELD_MS_PER_INSTALLATION;
      this.#versionsDueAt = now + Math.max(HELD_MS, heldMs);
    }
    this.#held = counts;
    return counts;
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

export const KEEP_COUNTS: Task = {
  failure: 'The licenses were not counted',
  most: 2,
  run: ({ db, now }) => keepCounts(db, now),
};
