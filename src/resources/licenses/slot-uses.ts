import { DAY_MS } from '@licet/contract/durations';
import { type SQL, sql } from 'drizzle-orm';
import type { Database } from '../../db/client.ts';
import { IS_SHARED, timeOfIdSql } from '../../db/records.ts';
import { addressSlot, slotKind, valueSlot } from './address-slots.ts';
import { bindings, installations } from './schema.ts';
import { recentRecords } from './totals.ts';

/**
 * The slots of a license: its bound values, each with the time of its last use (7). That is the latest of these:
 *
 * - when the value was bound. One that was bound before this was stored has at most the revision of its license;
 * - its last use by an installation that was removed or erased, which its binding keeps;
 * - `last_seen_at` of the installations that send it, or another address of its slot;
 * - their records since their last aggregation (see `totals.ts`).
 */

/** A key holder can make up installations. A license with more of them counts as used now in all its slots. */
const MAX_INSTALLATIONS = sql.raw('10000');

/** The digits of a position before a value. The value that was bound first then has the smallest text. */
const POSITION_DIGITS = 16;
const valueIn = (first: string): SQL => sql.raw(`substr(${first}, ${POSITION_DIGITS + 1})`);

/**
 * The table expressions from `bound`, which has the bound values with their slots, to `slots`, which has a row for each
 * slot. Its value is the one that was bound first. Its `place` counts within its kind: 1 is unused for the longest.
 */
export const slotsOf = (db: Database, license: SQL, now: number): SQL => sql`
  bound as materialized (
    select b.type, b.value, b.position, ${slotKind('b.type', 'b.value')} as kind,
      ${valueSlot(db, 'b.type', 'b.value')} as slot,
      printf('%0${sql.raw(String(POSITION_DIGITS))}d', b.position) || b.value as first,
      ifnull(b.used_at, (select l.revision from licenses l where l.id = ${license})) as used_at
    from bindings b where b.license_id = ${license}),
  known as materialized (
    select id, product_id, aggregated_bucket, last_seen_at, ${addressSlot(db, 'ip')} as ip, hwid, ${IS_SHARED} as is_shared
    from installations where license_id = ${license} limit ${MAX_INSTALLATIONS} + 1),
  uses as materialized (
    select ip, hwid, is_shared, max(last_seen_at, ifnull((
      select ${timeOfIdSql(sql`max(r.id)`)} from ${recentRecords('known')}), 0)) as used_at
    from known
    where is_shared or ip in (select slot from bound where type = 'IP')
      or hwid in (select slot from bound where type = 'HWID')),
  used as (
    select type, slot, max(kind) as kind, ${valueIn('min(first)')} as value, min(position) as position, max(
      max(used_at),
      ifnull((select max(used_at) from uses where is_shared), 0),
      iif((select count(*) from known) > ${MAX_INSTALLATIONS}, ${now}, 0)) as used_at
    from (
      select type, kind, slot, first, position, used_at from bound
      union all select 'IP', null, ip, null, null, used_at from uses
      union all select 'HWID', null, hwid, null, null, used_at from uses)
    group by type, slot having min(position) is not null),
  slots as materialized (
    select *, row_number() over (partition by kind order by used_at, position) as place from used)`;

/** The days after which a value of a type is idle, in a select from the products `p`; null for never. */
export const idleDays = (type: string): SQL =>
  sql.raw(`case ${type} when 'IP' then p.ip_idle_days else p.hwid_idle_days end`);

/** When a value is idle from; null for never. */
export const idleFrom = (usedAt: string, days: SQL): SQL =>
  sql`(${sql.raw(usedAt)} + ${days} * ${sql.raw(String(DAY_MS))})`;

/** Whether the license of the row has an idle slot. Most have none by their bindings alone, which are read first. */
export const hasIdleSlot = (db: Database, now: number): SQL => sql`exists (
  select 1 from products p
  where p.id = licenses.product_id and coalesce(p.ip_idle_days, p.hwid_idle_days) is not null
    and exists (
      select 1 from bindings b where b.license_id = licenses.id
        and ${idleFrom('ifnull(b.used_at, licenses.revision)', idleDays('b.type'))} < ${now})
    and exists (
      with ${slotsOf(db, sql`licenses.id`, now)}
      select 1 from slots s where ${idleFrom('s.used_at', idleDays('s.type'))} < ${now}))`;

/**
 * Keeps the last use of values by aggregated installations that their license loses. A shared row counts for each value.
 */
export const keepUses = (db: Database, isLost: SQL) =>
  db
    .update(bindings)
    .set({ usedAt: sql`lost.used_at` })
    .from(
      sql`(
        with gone as materialized (
          select license_id, ${addressSlot(db, 'ip')} as ip, hwid, ${IS_SHARED} as is_shared, last_seen_at
          from ${installations} where ${isLost})
        select b.license_id, b.type, b.value, max(gone.last_seen_at) as used_at
        from gone cross join bindings b on b.license_id = gone.license_id
            and (gone.is_shared
              or ${valueSlot(db, 'b.type', 'b.value')} = iif(b.type = 'IP', gone.ip, gone.hwid))
          join licenses l on l.id = b.license_id
        where gone.last_seen_at > ifnull(b.used_at, l.revision)
        group by 1, 2, 3) lost`,
    )
    .where(
      sql`(${bindings.licenseId}, ${bindings.type}, ${bindings.value}) = (lost.license_id, lost.type, lost.value)`,
    );
