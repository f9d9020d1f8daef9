import type { LicenseDataType } from '@licet/contract/enums';
import type { Slot } from '@licet/contract/licenses';
import { toOptionalTimestamp, toTimestamp } from '@licet/contract/time';
import { eq, sql } from 'drizzle-orm';
import type { Database } from '../../db/client.ts';
import { licenses } from './schema.ts';
import { idleDays, idleFrom, slotsOf } from './slot-uses.ts';

/**
 * The slots of a license that are taken, in the order in which their values were bound, with their exact last use.
 *
 * @param now milliseconds since 1970
 * @returns undefined if there is no such license
 */
export async function listSlots(
  db: Database,
  licenseId: number,
  now: number,
): Promise<Slot[] | undefined> {
  const rows = await db
    .select({
      type: sql<LicenseDataType | null>`s.type`.as('type'),
      value: sql<string>`s.value`.as('value'),
      usedAt: sql<number>`s.used_at`.as('used_at'),
      idleAt: sql<number | null>`${idleFrom('s.used_at', idleDays('s.type'))}`.as('idle_at'),
    })
    .from(licenses)
    .innerJoin(sql`products p`, sql`p.id = ${licenses.productId}`)
    .leftJoin(sql`(with ${slotsOf(db, sql`${licenseId}`, now)} select * from slots) s`, sql`true`)
    .where(eq(licenses.id, licenseId))
    .orderBy(sql`s.position, s.type desc`);
  if (rows.length === 0) return undefined;
  return rows.flatMap(({ type, value, usedAt, idleAt }) =>
    type === null
      ? []
      : {
          type,
          value,
          lastUsed: toTimestamp(usedAt),
          idleDate: toOptionalTimestamp(idleAt),
        },
  );
}
