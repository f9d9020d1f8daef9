import { type SQL, sql } from 'drizzle-orm';
import type { PurchaseRow } from './list.ts';

/** Placeholders: facts about purchases that have not arrived. They are kept for 30 days (9). */

export const NOT_ARRIVED = 'The purchase has not arrived yet';

/** Whether nothing but facts of others is known of a purchase. A download that waits has the buyer, or another reason. */
export const isPlaceholder = ({
  licenseId,
  buyerId,
  facts,
  state,
  reason,
}: Pick<PurchaseRow, 'licenseId' | 'buyerId' | 'facts' | 'state' | 'reason'>): boolean =>
  licenseId === null &&
  buyerId === null &&
  facts.boughtAt === undefined &&
  (state === 'REVOKED' || reason === NOT_ARRIVED);

/** {@link isPlaceholder} in SQL. */
export const isPlaceholderSql: SQL = sql`license_id is null and buyer_id is null
  and facts ->> 'boughtAt' is null and (state = 'REVOKED' or reason = ${NOT_ARRIVED})`;
