import { and, gt, inArray, lt, or, type SQL, sql } from 'drizzle-orm';
import type { Database } from '../db/client';
import { counters, dailyCounts } from '../db/schema';
import { DAY_MS } from '../lib/durations';
import { IS_SHARED } from './record';

/**
 * The counts of a day, made once a day by the scheduled handler for the statistics of a large shop. Each run looks
 * at a bounded number of licenses or callers, and the next one goes on. A day is used once it is complete.
 */

/** The licenses or callers that one run looks at. */
const MAX_COUNTED = 4_000;
/** The versions of a product that are counted. */
export const MAX_VERSIONS = 20;
const DAYS_AHEAD = 26 * 7;
const KEPT_DAYS = 400;
/** The most days that one run removes. */
const MAX_REMOVED_DAYS = 2;

/** The product of the counts of all products. */
export const ALL = 0;

export const dayAt = (milliseconds: number): number => Math.floor(milliseconds / DAY_MS);

export const statusSql = (now: number): SQL =>
  sql`iif(state = 'ACTIVE' and ifnull(expires_at <= ${now}, false), 'EXPIRED', state)`;

/** Licenses that expire within 26 weeks, unless they are deactivated or deleted before. */
export const expiresAhead = (now: number, expiry = sql.raw('expires_at')): SQL =>
  sql`state = 'ACTIVE' and ${expiry} > ${now} and ${expiry} < ${(dayAt(now) + DAYS_AHEAD) * DAY_MS}`;

export const expiryDate = sql`strftime('%Y-%m-%d', expires_at / 1000, 'unixepoch')`;

/** Rows of callers are installations, unless their license key was erased or they stand for many callers. */
export const isInstallation = sql`license_key_normalized <> '' and not ${IS_SHARED}`;

type Progress = 'counted_day' | 'counting_day' | 'counted_license' | 'counted_caller';

const setCounters = (db: Database, values: Partial<Record<Progress, number>>, condition: SQL) =>
  db
    .insert(counters)
    .select(sql`select key, value from json_each(${JSON.stringify(values)}) where ${condition}`)
    .onConflictDoUpdate({ target: counters.name, set: { value: sql`excluded.value` } });

/** Whether a counter still has a value: another run may count at the same time. */
const isAt = (name: Progress, value: number): SQL =>
  sql`(select value from counters where name = ${name}) = ${value}`;

/** Adds counts to those of a day. The rows have the columns kind, product, label and count. */
const add = (db: Database, day: number, rows: SQL, condition: SQL) =>
  db
    .insert(dailyCounts)
    .select(
      sql`select ${day}, kind, product, label, sum(count) from (${rows}) where ${condition} group by 2, 3, 4`,
    )
    .onConflictDoUpdate({
      target: [dailyCounts.day, dailyCounts.kind, dailyCounts.productId, dailyCounts.label],
      set: { count: sql`${dailyCounts.count} + excluded.count` },
    });

/** The end of the next part of a table; null after its last row. */
async function endOfPart(db: Database, table: 'licenses' | 'callers', after: number) {
  const [part] = await db
    .select({ last: sql<number | null>`max(id)`.as('last') })
    .from(
      sql`(select id from ${sql.raw(table)} where id > ${after} order by id limit ${MAX_COUNTED})`,
    );
  return part?.last ?? null;
}

function countLicenses(db: Database, day: number, after: number, last: number, now: number) {
  const condition = isAt('counted_license', after);
  const rows = sql`with part as materialized (
      select product_id, ${statusSql(now)} as status,
        iif(${expiresAhead(now)}, ${expiryDate}, null) as date, count(*) as count
      from licenses where id > ${after} and id <= ${last} group by 1, 2, 3)
    select 'status' as kind, product_id as product, status as label, count from part
    union all select 'status', ${ALL}, status, count from part
    union all select 'expiry', ${ALL}, date, count from part where date is not null`;
  return db.batch([
    add(db, day, rows, condition),
    setCounters(db, { counted_license: last }, condition),
  ]);
}

/** Counts the most frequent versions of each part only, because callers can send any text as their version. */
function countCallers(db: Database, day: number, after: number, last: number) {
  const condition = isAt('counted_caller', after);
  const byVersion = sql`select 'version' as kind, product_id as product, version as label, count from (
      select product_id, ifnull(product_version, '') as version, count(*) as count,
        row_number() over (partition by product_id order by count(*) desc) as place
      from callers where id > ${after} and id <= ${last} and ${isInstallation}
        and product_id in (select id from products)
      group by 1, 2)
    where place <= ${MAX_VERSIONS}`;
  return db.batch([
    add(db, day, byVersion, condition),
    setCounters(db, { counted_caller: last }, condition),
  ]);
}

/** Removes the counts of old days, and those of a day that was not completed. */
const removeDays = (db: Database, day: number, counted: number) =>
  db
    .delete(dailyCounts)
    .where(
      or(
        and(gt(dailyCounts.day, counted), lt(dailyCounts.day, day + 1)),
        and(
          lt(dailyCounts.day, day - KEPT_DAYS),
          lt(dailyCounts.day, sql`(select min(day) from daily_counts) + ${MAX_REMOVED_DAYS}`),
        ),
      ),
    );

/** Whether most licenses or callers are newer than their count, for example after an import. Compares ids. */
async function hasOutgrown(db: Database, license: number, caller: number): Promise<boolean> {
  const [row] = await db
    .select({
      growth: sql<number>`max(
        ifnull((select max(id) from licenses), 0) - 2 * ${license},
        ifnull((select max(id) from callers), 0) - 2 * ${caller})`.as('growth'),
    })
    .from(sql`(select 1)`);
  return Number(row?.growth) > MAX_COUNTED;
}

/**
 * Counts the next part of the day. Two runs at once are safe. The day is counted again if the shop has outgrown its
 * counts: otherwise each request would count everything until the next day.
 *
 * @param now milliseconds since 1970
 */
export async function countDay(db: Database, now: number): Promise<void> {
  const day = dayAt(now);
  const names = ['counted_day', 'counting_day', 'counted_license', 'counted_caller'] as const;
  const rows = await db.select().from(counters).where(inArray(counters.name, names));
  const positionOf = (name: Progress) => rows.find((row) => row.name === name)?.value ?? 0;
  const [license, caller] = [positionOf('counted_license'), positionOf('counted_caller')];
  const isCounted = positionOf('counted_day') >= day;
  if (isCounted && !(await hasOutgrown(db, license, caller))) return;
  if (isCounted || positionOf('counting_day') !== day) {
    const counted = Math.min(positionOf('counted_day'), day - 1);
    const start = {
      counting_day: day,
      counted_day: counted,
      counted_license: 0,
      counted_caller: 0,
    };
    await db.batch([removeDays(db, day, counted), setCounters(db, start, sql`true`)]);
    return;
  }
  const lastLicense = await endOfPart(db, 'licenses', license);
  if (lastLicense !== null) {
    await countLicenses(db, day, license, lastLicense, now);
    return;
  }
  const lastCaller = await endOfPart(db, 'callers', caller);
  if (lastCaller !== null) {
    await countCallers(db, day, caller, lastCaller);
    return;
  }
  await setCounters(db, { counted_day: day }, sql`true`);
}
