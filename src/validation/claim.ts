import { and, eq, sql } from 'drizzle-orm';
import { selectChanges } from '../db/changes';
import { retry } from '../db/retry';
import { bindings, licenses } from '../db/schema';
import type { Edge } from '../edge/edge';
import { DATABASE_PATIENCE_MS, inTime } from '../edge/in-time';
import { type LicenseSnapshot, snapshotColumns } from '../licenses/snapshot';
import type { ValidationRequest } from './request';

/** A program waits for the answer, so not for long. */
const RETRY_DELAYS_MS = [50, 200];

/**
 * Binds a request's address and hardware ID to a license, both or neither, and only where each is
 * bound already, has a free slot, or needs none (1.4). All that a refusal depends on is checked in
 * the very statement that inserts, so no concurrency anywhere can exceed a limit, and a request that
 * is refused binds nothing. Repeating a claim changes nothing.
 *
 * @param now milliseconds since 1970
 * @returns the license as the claim left it, on which to decide; null when it is gone
 */
export async function claim(
  { db, feed }: Pick<Edge, 'db' | 'feed'>,
  license: Pick<LicenseSnapshot, 'id'>,
  request: Pick<ValidationRequest, 'productId' | 'ip' | 'hwid'>,
  now: number,
): Promise<LicenseSnapshot | null> {
  const wanted = JSON.stringify({
    ...(request.ip !== null && { IP: request.ip }),
    ...(request.hwid !== null && { HWID: request.hwid }),
  });
  // -1, unlimited, is null: nothing is bound there, and no number of values reaches it.
  const limitOf = (kind: string) =>
    sql.raw(`nullif(case ${kind} when 'IP' then l.max_ips else l.max_hwids end, -1)`);
  const bind = db
    .insert(bindings)
    .select(
      sql`
        select null, l.id, wanted.key, wanted.value
        from licenses l, json_each(${wanted}) wanted
        where l.id = ${license.id} and l.product_id = ${request.productId} and l.state = 'ACTIVE'
          and (l.expires_at is null or l.expires_at > ${now})
          and ${limitOf('wanted.key')} is not null
          and not exists (
            select 1 from json_each(${wanted}) w
            where not exists (
                select 1 from bindings b
                where b.license_id = l.id and b.kind = w.key and b.value = w.value)
              and (select count(*) from bindings b where b.license_id = l.id and b.kind = w.key)
                >= ${limitOf('w.key')})`,
    )
    .onConflictDoNothing();
  const moveRevision = db
    .update(licenses)
    .set({ revision: sql`${licenses.revision} + 1` })
    .where(and(eq(licenses.id, license.id), sql`changes() > 0`));
  const bound = retry(RETRY_DELAYS_MS, async () => {
    const reading = feed.begin();
    const [, , [current = null], news] = await db.batch([
      bind,
      moveRevision,
      db.select(snapshotColumns).from(licenses).where(eq(licenses.id, license.id)),
      selectChanges(db, reading.from),
    ]);
    feed.take(reading, news);
    return current;
  });
  // Given up, it may still bind: the same values, for whoever asks again.
  return inTime(bound, DATABASE_PATIENCE_MS);
}
