import { eq } from 'drizzle-orm';
import { change, isUnchanged, only, type Sender } from '../../db/change.ts';
import { DomainError } from '../../lib/errors.ts';
import { type ListedPurchase, purchaseColumns } from './list.ts';
import { purchases } from './schema.ts';

const IS_OVER = new DomainError(
  'conflict',
  'The purchase does not wait for a product: there is nothing to ignore',
);

/**
 * Stores whether a person wants no license for a purchase that waits for a product (9).
 *
 * @throws DomainError for a purchase that does not wait, and if another request has changed it since it was read
 */
export async function ignorePurchase(
  sender: Sender,
  row: ListedPurchase,
  isIgnored: boolean,
): Promise<ListedPurchase> {
  const { db, now } = sender;
  const isKnown = row.ignoredAt !== null;
  if (isIgnored === isKnown) return row;
  if (isIgnored && (row.state !== 'UNMATCHED' || row.licenseId !== null)) throw IS_OVER;
  const { stored } = await change(sender, {
    event: {
      type: 'purchase.updated',
      id: row.id,
      changes: { isIgnored: { before: isKnown, after: isIgnored } },
    },
    when: [isUnchanged(purchases, row)],
    statements: {
      changed: db
        .update(purchases)
        .set({ ignoredAt: isIgnored ? now : null, updatedAt: now, revision: row.revision + 1 })
        .where(eq(purchases.id, row.id)),
      stored: db.select(purchaseColumns).from(purchases).where(eq(purchases.id, row.id)),
    },
  });
  return only(stored);
}
