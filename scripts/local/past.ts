import { DatabaseSync } from 'node:sqlite';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '@licet/contract/durations';
import { sql } from 'drizzle-orm';
import { SQLiteSyncDialect } from 'drizzle-orm/sqlite-core';
import { ALL_PRODUCTS, NO_PRODUCT, RESPONSE_TYPE_CODES } from '../../src/db/codes.ts';
import { EPOCH, SLOTS } from '../../src/lib/time-id.ts';
import { statusSql } from '../../src/resources/licenses/rules.ts';

/**
 * Gives a demo shop a past, in its local database. The interface cannot, because it stores the time of each request.
 * The records of real validations are repeated at earlier hours, and counted as by the scheduled handler
 * (`src/requests/aggregate.ts`, `src/requests/counts.ts`).
 */

const DAYS = 30;
/** A bucket is rolled up this long after its end. */
const CLOSING_MS = 15 * MINUTE_MS;
const BUSY_TIMEOUT_MS = 5_000;

const { VALID, LICENSE_EXPIRED, LICENSE_DEACTIVATED, LICENSE_DELETED } = RESPONSE_TYPE_CODES;
/** The hours since a license was changed: enough for a refusal on an earlier day, of which there are two in 100 hours. */
const changedHours = (id: string): string => `(130 + ${id} * 29 % 40)`;

/** A demo shop whose objects were created within a moment. */
export interface NewShop {
  /** The ids of its licenses, with the days since each was sold. */
  ageDays: ReadonlyMap<number, number>;
  /** Licenses whose last validation is so long ago that the history has none. */
  dormantIds: readonly number[];
  /** Milliseconds since 1970. */
  startedAt: number;
  /** The key of its validations that no license has. */
  unknownKey: string;
}

const statusOfDay = new SQLiteSyncDialect().sqlToQuery(statusSql(sql.raw(`day * ${DAY_MS}`))).sql;

const statements = (now: number, unknownKey: string): string[] => {
  const bucket = Math.floor((now - EPOCH) / HOUR_MS);
  const lastRolledUp = Math.floor((now - CLOSING_MS - EPOCH) / HOUR_MS) - 1;
  const day = Math.floor(now / DAY_MS);
  const rollUps = `select bucket, iif(product_id in (select id from products), product_id, ${NO_PRODUCT}) as product,
      outcome, count(*) as counted from requests where bucket <= ${lastRolledUp} group by 1, 2, 3
    union all select bucket, ${ALL_PRODUCTS}, outcome, count(*) from requests where bucket <= ${lastRolledUp}
      group by 1, 3`;
  const daily = `from rollups where bucket < ${Math.floor(lastRolledUp / 24) * 24}`;
  return [
    `update licenses set created_at = shop.sold_at, updated_at = shop.sold_at
     from shop where shop.id = licenses.id`,
    `update or ignore events set id = (shop.sold_at - ${EPOCH}) * ${SLOTS} + events.id % ${SLOTS}
     from shop where resource_type = 'license' and shop.id = resource_id and type = 'license.created'`,
    // The other changes of a license, some days ago.
    `update or ignore events set id = events.id - ${changedHours('resource_id')} * ${HOUR_MS * SLOTS}
     from shop where resource_type = 'license' and shop.id = resource_id and type <> 'license.created'`,
    // A license whose installation has no records any more keeps their count.
    `update licenses set past_requests = 1 + id % 40 where id in (select id from shop where dormant)`,
    `delete from requests where installation_id in (
       select id from installations where license_id in (select id from shop where dormant))`,
    'delete from installations where license_id in (select id from shop where dormant)',
    // More validations by day than by night and lately than before, and fewer refusals.
    `insert or ignore into requests
     with recursive hours(ago) as (select 1 union all select ago + 1 from hours where ago < ${DAYS * 24}),
       slots as (select ago, ${bucket} - ago as bucket,
         (12 - abs((${bucket} - ago) % 24 - 15)) + 12 - ago / 80 as weight from hours)
     select h.bucket, r.product_id, r.installation_id,
       (h.bucket * ${HOUR_MS} + (r.id * 7 + r.nonce * 131 + h.ago * 7919) % ${HOUR_MS}) * ${SLOTS} + r.id % ${SLOTS},
       r.nonce, r.type,
       iif(r.outcome = ${LICENSE_EXPIRED} and h.bucket < (l.expires_at - ${EPOCH}) / ${HOUR_MS}
           or r.outcome in (${LICENSE_DEACTIVATED}, ${LICENSE_DELETED})
             and h.ago > ${changedHours('s.id')},
         ${VALID}, r.outcome),
       r.details
     from (select * from requests where bucket >= (select min(started_at) from shop)) r
       cross join slots h
       left join installations c on c.id = r.installation_id left join shop s on s.id = c.license_id
       left join licenses l on l.id = s.id
     where iif(s.id is null, r.installation_id = 0 and r.details like '%${unknownKey}%',
         h.bucket > (s.sold_at - ${EPOCH}) / ${HOUR_MS})
       and (r.nonce + r.installation_id * 7919 + h.ago * 10477) % 100 < iif(r.outcome = ${VALID}, h.weight, 2)`,
    'insert or ignore into buckets select distinct bucket from requests',
    `insert into rollups select * from (${rollUps}) where true
     on conflict do update set requests = max(requests, excluded.requests)`,
    `insert into daily_rollups
     select bucket / 24 * 24, product_id, outcome, sum(requests) ${daily} group by 1, 2, 3
     on conflict do update set requests = excluded.requests`,
    `update counters set value = max(value, ${lastRolledUp}) where name = 'rolled_up_bucket'`,
    // The totals have all records at once. The scheduled handler aggregates them day by day.
    `update installations set aggregated_bucket = 0, requests = 0, first_seen_at = seen.first_id / ${SLOTS} + ${EPOCH}
     from (select installation_id, min(id) as first_id from requests group by 1) seen
     where seen.installation_id = installations.id and license_id in (select id from shop)`,
    "update counters set value = 0 where name = 'aggregated_bucket'",
    // The counts of each day: a license that has expired since then was active.
    `insert or ignore into daily_counts
     with recursive days(day) as (select ${day - DAYS} union all select day + 1 from days where day < ${day - 1})
     select day, product_id, ${statusOfDay}, count(*)
     from days join licenses on created_at < (day + 1) * ${DAY_MS} group by 1, 2, 3`,
  ];
};

/**
 * Repeats the validations of a new shop at the hours of the last 30 days.
 *
 * @param file the database of the service, which may run
 * @returns false if the file is not the database of the shop
 */
export function writePast(file: string, key: string, shop: NewShop): boolean {
  const { ageDays, dormantIds, startedAt, unknownKey } = shop;
  const now = Date.now();
  const database = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS });
  try {
    if (!database.prepare('select 1 from licenses where license_key = ?').get(key)) return false;
    database.exec('create temp table shop (id integer primary key, sold_at, dormant, started_at)');
    const insert = database.prepare('insert into shop values (?, ?, ?, ?)');
    const startedIn = Math.floor((startedAt - EPOCH) / HOUR_MS);
    for (const [id, days] of ageDays) {
      insert.run(id, now - days * DAY_MS, Number(dormantIds.includes(id)), startedIn);
    }
    database.exec(`begin immediate; ${statements(now, unknownKey).join(';')}; commit`);
    return true;
  } finally {
    database.close();
  }
}
