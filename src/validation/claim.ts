import { and, eq, sql } from 'drizzle-orm';
import type { Database } from '../db/client';
import { bindings, licenses } from '../db/schema';
import type { Claims, LicenseSnapshot } from './decide';
import { selectSnapshot } from './snapshot';

/**
 * Binds the claimed values to a license, all of them or none, and only where each has a free slot
 * or is bound already: the conditions are checked in the very statement that inserts, so no
 * concurrency anywhere can exceed a limit. Repeating a claim changes nothing.
 *
 * @returns the license as it stands after the claim, on which to decide again; null when it is gone
 */
export async function claim(
  db: Database,
  license: Pick<LicenseSnapshot, 'id' | 'productId'>,
  claims: Claims,
  now: number,
): Promise<LicenseSnapshot | null> {
  const wanted = JSON.stringify(claims);
  const [, , [current = null]] = await db.batch([
    db
      .insert(bindings)
      .select(
        sql`
        select null, l.id, wanted.key, wanted.value
        from licenses l, json_each(${wanted}) wanted
        where l.id = ${license.id} and l.product_id = ${license.productId} and l.state = 'ACTIVE'
          and (l.expires_at is null or l.expires_at > ${now})
          and not exists (
            select 1 from json_each(${wanted}) w
            where not exists (
                select 1 from bindings b
                where b.license_id = l.id and b.kind = w.key and b.value = w.value)
              and (select count(*) from bindings b where b.license_id = l.id and b.kind = w.key)
                >= case w.key when 'IP' then l.max_ips else l.max_hwids end)`,
      )
      .onConflictDoNothing(),
    db
      .update(licenses)
      .set({ revision: sql`${licenses.revision} + 1` })
      .where(and(eq(licenses.id, license.id), sql`changes() > 0`)),
    selectSnapshot(db, eq(licenses.id, license.id)),
  ]);
  return current;
}
