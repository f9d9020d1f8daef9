import type { SigningKeyUse } from '@licet/contract/requests';
import { toTimestamp } from '@licet/contract/time';
import { desc, isNotNull, sql } from 'drizzle-orm';
import type { Database } from '../db/client.ts';
import { installations } from '../resources/licenses/schema.ts';

/**
 * The uses of all signing keys, as of the last aggregation, which is up to a day ago. Reads each installation once: an
 * index would cost every new one a written row, and an administrator asks before a key is retired, not every day.
 */
export async function signingKeyUses(db: Database): Promise<SigningKeyUse[]> {
  const rows = await db
    .select({
      kid: sql<string>`${installations.kid}`.as('kid'),
      installations: sql<number>`count(*)`.as('installations'),
      lastSeenAt: sql<number>`max(${installations.lastSeenAt})`.as('lastSeenAt'),
    })
    .from(installations)
    .where(isNotNull(installations.kid))
    .groupBy(installations.kid)
    .orderBy(desc(sql`lastSeenAt`));
  return rows.map(({ lastSeenAt, ...use }) => ({ ...use, lastSeen: toTimestamp(lastSeenAt) }));
}
