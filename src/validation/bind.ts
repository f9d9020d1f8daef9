import { firstOfSlots } from '@licet/contract/addresses';
import { DAY_MS } from '@licet/contract/durations';
import type { LicenseDataType } from '@licet/contract/enums';
import { and, eq, isNotNull, sql } from 'drizzle-orm';
import { batch, type Database } from '../db/client.ts';
import { nextRevisionSql, putIntoOutbox } from '../db/outbox.ts';
import { DATABASE_TIMEOUT_MS, retry, withTimeout } from '../lib/async.ts';
import { slotKind, valueSlot } from '../resources/licenses/address-slots.ts';
import { isExpiredSql } from '../resources/licenses/rules.ts';
import { bindings, licenses } from '../resources/licenses/schema.ts';
import { idleDays, idleFrom, slotsOf } from '../resources/licenses/slot-uses.ts';
import { type LicenseSnapshot, snapshotColumns } from '../resources/licenses/snapshot.ts';
import type { ValidationRequest } from './request.ts';

/** A program waits for the response, so there are few retries. */
const RETRY_DELAYS_MS = [50, 200];

/** The slots of a type of which none is free, and whose values may be idle (7). */
export interface IdleSlot {
  type: LicenseDataType;
  /** When the next slot is idle; null for never. */
  idleAt: number | null;
  /** The value that gives way, null if no slot is idle, and its last use. */
  taken: string | null;
  usedAt: number | null;
}

function parseSlots(json: string): IdleSlot[] {
  const slots: IdleSlot[] = JSON.parse(json);
  return slots;
}

/** The statements beside the one that binds read no slots of other products. */
const PRODUCT_WITH_IDLE_DAYS = sql.raw(`products on products.id = licenses.product_id
  and coalesce(products.ip_idle_days, products.hwid_idle_days) is not null`);

/** The limit of a wanted value `w` of a license `l`. */
const MAX = sql.raw("case w.type when 'IP' then l.max_ips else l.max_hwids end");

interface Bound {
  /** The license after the binding, null if it was removed or has another key. */
  license: LicenseSnapshot | null;
  /** Whether this has changed the license. */
  isChanged: boolean;
  /** For each wanted value that has no free slot, if its product has idle days. */
  idle: readonly IdleSlot[];
}

/**
 * Binds the address and the hardware ID of a request to a license, both or neither, and only if each is bound
 * already, has a free or idle slot, or needs none (1.4, 7). The inserting statement checks every condition of a
 * rejection: no concurrency anywhere can exceed a limit, and a rejected request binds nothing. A repetition changes
 * nothing.
 *
 * A license that waits for its first use gets its expiry then, in the same transaction (7).
 *
 * A binding of a free slot is not in the outbox. A snapshot that lacks it causes no rejection, because values that it
 * lacks come here. A snapshot with a value that gave way is stale, so that change is in the outbox.
 *
 * @param now milliseconds since 1970
 */
export async function bind(
  db: Database,
  { id, ips }: Pick<LicenseSnapshot, 'id' | 'ips'>,
  request: Pick<ValidationRequest, 'key' | 'productId' | 'ip' | 'hwid'>,
  now: number,
  requireHwid: boolean,
): Promise<Bound> {
  const wanted = JSON.stringify({
    ...(request.ip !== null && { IP: request.ip }),
    ...(request.hwid !== null && { HWID: request.hwid }),
  });
  const wantedSlots = sql`select j.key as type, j.value, ${slotKind('j.key', 'j.value')} as kind,
    ${valueSlot(db, 'j.key', 'j.value')} as slot from json_each(${wanted}) j`;
  // A snapshot may still have a key that was replaced.
  const isValidNow = sql`l.id = ${id} and l.license_key_normalized = ${request.key} and l.product_id = ${request.productId}
    and l.state = 'ACTIVE' and not ${isExpiredSql(sql`l.expires_at`, now)}
    ${requireHwid && request.hwid === null ? sql`and l.max_hwids = -1` : sql``}`;
  // Each wanted value that needs a slot. Unlimited is -1: nothing is bound then. Beyond a lowered limit, a value gives
  // way only if fewer than the limit are in use. SQLite reads the slots only if none is free.
  const claims = sql`
    with ${slotsOf(db, sql`${id}`, now)},
    asked as materialized (
      select w.*, ${idleDays('w.type')} as days, ${MAX} as max,
        (select count(distinct b.slot) from bound b where b.kind = w.kind) as bound
      from licenses l join products p on p.id = l.product_id cross join (${wantedSlots}) w
      where ${isValidNow} and not exists (
        select 1 from bound b where b.type = w.type and b.slot = w.slot)),
    due as (
      select type, kind, value, bound < max as is_free, iif(bound < max or days is null, null, (
        select ${idleFrom('s.used_at', sql`days`)} from slots s
        where s.kind = asked.kind and s.place = 1 + bound - max)) as idle_at
      from asked where max <> -1),
    claims as materialized (
      select type, value, is_free, idle_at, case
        when is_free then value
        when idle_at < ${now} then (
          select s.value from slots s where s.kind = due.kind and s.place = 1)
        end as taken
      from due)`;
  const isPossible = sql`not exists (select 1 from claims where taken is null)`;
  const idle = db
    .select({
      slots: sql`(${claims}
        select json_group_array(json_object(
          'type', c.type, 'idleAt', c.idle_at, 'taken', c.taken, 'usedAt', s.used_at))
        from claims c left join slots s on s.type = c.type and s.value = c.taken
        where c.idle_at is not null)`
        .mapWith(parseSlots)
        .as('slots'),
    })
    .from(sql`licenses join ${PRODUCT_WITH_IDLE_DAYS}`)
    .where(eq(licenses.id, id));
  // SQLite would check a condition without the product before it looks for one.
  const givesWay = sql`iif(products.id, ${isPossible} and exists (select 1 from claims where not is_free), 0)`;
  const { touched } = putIntoOutbox(
    db,
    [
      {
        rows: sql`${claims}
          select 'license:' || license_key_normalized, ${nextRevisionSql(licenses.revision, now)}
          from licenses join ${PRODUCT_WITH_IDLE_DAYS}
          where licenses.id = ${id} and ${givesWay}`,
      },
    ],
    now,
  );
  // An earlier version bound several addresses of a slot, or IPV6_SLOT_PREFIX was longer then.
  const hasShared = firstOfSlots(ips, db.ipv6SlotPrefix).length < ips.length;
  const others = db.delete(bindings).where(
    sql`license_id = ${id} and type = 'IP' and value in (${claims}
      select o.value from claims c cross join bound t cross join bound o
      where c.type = 'IP' and not c.is_free and ${isPossible} and t.type = 'IP' and t.value = c.taken
        and o.type = 'IP' and o.slot = t.slot and o.value <> t.value)`,
  );
  const inserted = db
    .insert(bindings)
    .select(
      sql`${claims}
        select ${id}, type, taken, 1 + (
          select ifnull(max(position), 0) from bindings b where b.license_id = ${id}), ${now}
        from claims where ${isPossible}`,
    )
    .onConflictDoUpdate({
      target: [bindings.licenseId, bindings.type, bindings.value],
      set: {
        value: sql`(select w.value from json_each(${wanted}) w where w.key = bindings.type)`,
        position: sql`excluded.position`,
        usedAt: sql`excluded.used_at`,
      },
    });
  const moveRevision = db
    .update(licenses)
    .set({ revision: nextRevisionSql(licenses.revision, now) })
    .where(and(eq(licenses.id, id), sql`changes() > 0`));
  const start = db
    .update(licenses)
    .set({
      expiresAt: sql`${now} + ${licenses.expiresAfterDays} * ${DAY_MS}`,
      expiresAfterDays: null,
      revision: nextRevisionSql(licenses.revision, now),
    })
    .where(
      and(
        eq(licenses.id, id),
        isNotNull(licenses.expiresAfterDays),
        sql`exists (
          select 1 from licenses l where ${isValidNow} and not exists (
            select 1 from (${wantedSlots}) w
            where ${MAX} <> -1 and not exists (
              select 1 from bindings b
              where b.license_id = l.id and b.type = w.type
                and ${valueSlot(db, 'b.type', 'b.value')} = w.slot)))`,
      ),
    );
  const select = db
    .select(snapshotColumns)
    .from(licenses)
    .where(and(eq(licenses.id, id), eq(licenses.licenseKeyNormalized, request.key)));
  const bound = retry(RETRY_DELAYS_MS, async () => {
    const { slots, moved, started, rows } = await batch(db, {
      slots: idle,
      touched,
      ...(hasShared && { others }),
      inserted,
      moved: moveRevision,
      started: start,
      rows: select,
    });
    const [license = null] = rows;
    const isChanged = moved.meta.changes + started.meta.changes > 0;
    return { license, isChanged, idle: slots[0]?.slots ?? [] };
  });
  // It may still bind after the timeout, which the next request would do anyway.
  return withTimeout(bound, DATABASE_TIMEOUT_MS);
}
