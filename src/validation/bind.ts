import { DAY_MS } from '@licet/contract/durations';
import { and, eq, isNotNull, sql } from 'drizzle-orm';
import { batch, type Database } from '../db/client.ts';
import { nextRevisionSql } from '../db/outbox.ts';
import { bindings, licenses } from '../db/schema.ts';
import { DATABASE_TIMEOUT_MS, retry, withTimeout } from '../lib/async.ts';
import { isExpiredSql } from '../resources/licenses/rules.ts';
import { type LicenseSnapshot, snapshotColumns } from '../resources/licenses/snapshot.ts';
import type { ValidationRequest } from './request.ts';

/** A program waits for the response, so there are few retries. */
const RETRY_DELAYS_MS = [50, 200];

/**
 * Binds the address and the hardware ID of a request to a license, both or neither, and only if each is bound
 * already, has a free slot, or needs none (1.4). The inserting statement checks every condition of a rejection:
 * no concurrency anywhere can exceed a limit, and a rejected request binds nothing. A repetition changes
 * nothing.
 *
 * A license that waits for its first use gets its expiry then, in the same transaction (7).
 *
 * A binding is not in the outbox. A snapshot that lacks it causes no rejection, because values that it
 * lacks come here.
 *
 * @param now milliseconds since 1970
 * @returns the license after the binding, null if it was removed; and whether this changed it
 */
export async function bind(
  db: Database,
  license: Pick<LicenseSnapshot, 'id'>,
  request: Pick<ValidationRequest, 'productId' | 'ip' | 'hwid'>,
  now: number,
): Promise<{ license: LicenseSnapshot | null; isChanged: boolean }> {
  const wanted = JSON.stringify({
    ...(request.ip !== null && { IP: request.ip }),
    ...(request.hwid !== null && { HWID: request.hwid }),
  });
  const isValidNow = sql`l.id = ${license.id} and l.product_id = ${request.productId}
    and l.state = 'ACTIVE' and not ${isExpiredSql(sql`l.expires_at`, now)}`;
  // Unlimited, -1, becomes null: nothing is bound then, and no count reaches it.
  const limitOf = (type: string) =>
    sql.raw(`nullif(case ${type} when 'IP' then l.max_ips else l.max_hwids end, -1)`);
  const inserted = db
    .insert(bindings)
    .select(
      sql`
        select l.id, wanted.key, wanted.value, 1 + (
          select ifnull(max(position), 0) from bindings b where b.license_id = l.id), ${now}
        from licenses l, json_each(${wanted}) wanted
        where ${isValidNow}
          and ${limitOf('wanted.key')} is not null
          and not exists (
            select 1 from json_each(${wanted}) w
            where not exists (
                select 1 from bindings b
                where b.license_id = l.id and b.type = w.key and b.value = w.value)
              and (select count(*) from bindings b where b.license_id = l.id and b.type = w.key)
                >= ${limitOf('w.key')})`,
    )
    .onConflictDoNothing();
  const moveRevision = db
    .update(licenses)
    .set({ revision: nextRevisionSql(licenses.revision, now) })
    .where(and(eq(licenses.id, license.id), sql`changes() > 0`));
  const start = db
    .update(licenses)
    .set({
      expiresAt: sql`${now} + ${licenses.expiresAfterDays} * ${DAY_MS}`,
      expiresAfterDays: null,
      revision: nextRevisionSql(licenses.revision, now),
    })
    .where(
      and(
        eq(licenses.id, license.id),
        isNotNull(licenses.expiresAfterDays),
        sql`exists (
          select 1 from licenses l where ${isValidNow} and not exists (
            select 1 from json_each(${wanted}) w
            where ${limitOf('w.key')} is not null and not exists (
              select 1 from bindings b
              where b.license_id = l.id and b.type = w.key and b.value = w.value)))`,
      ),
    );
  const select = db.select(snapshotColumns).from(licenses).where(eq(licenses.id, license.id));
  const bound = retry(RETRY_DELAYS_MS, async () => {
    const { moved, started, rows } = await batch(db, {
      inserted,
      moved: moveRevision,
      started: start,
      rows: select,
    });
    const [current = null] = rows;
    return { license: current, isChanged: moved.meta.changes + started.meta.changes > 0 };
  });
  // It may still bind after the timeout, which the next request would do anyway.
  return withTimeout(bound, DATABASE_TIMEOUT_MS);
}
