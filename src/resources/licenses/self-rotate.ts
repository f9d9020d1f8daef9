import { DAY_MS } from '@licet/contract/durations';
import type { Rotation, RotationOutcome } from '@licet/contract/portal-page';
import { toTimestamp } from '@licet/contract/time';
import { and, eq, gt, sql } from 'drizzle-orm';
import type { Sender } from '../../db/change.ts';
import { batch, type Database } from '../../db/client.ts';
import { isOneOf } from '../../db/predicates.ts';
import { products } from '../products/schema.ts';
import type { Person } from './own.ts';
import { changeOwnLicense, rotateLicenseKey } from './queries.ts';
import type { LicenseRow } from './row.ts';
import { replacedKeys } from './schema.ts';

/** Keys that customers replace themselves because they have leaked, at most once a day for a license (10). */

/** The last replacement of the keys of licenses within a day, by anybody. @param now milliseconds since 1970 */
const selectReplaced = (db: Database, ids: readonly number[], now: number) =>
  db
    .select({
      id: replacedKeys.licenseId,
      replacedAt: sql<number>`max(${replacedKeys.replacedAt})`.as('last_replaced_at'),
    })
    .from(replacedKeys)
    .where(and(isOneOf(replacedKeys.licenseId, ids), gt(replacedKeys.replacedAt, now - DAY_MS)))
    .groupBy(replacedKeys.licenseId);

/** A key proves one license: an account that has redeemed that of a customer may not take the license from them. */
const isProved = (person: Person, { customerId, customer }: LicenseRow): boolean =>
  'customerId' in person || customerId === null || customer?.chatId === person.chatId;

const rotationOf = (isAllowed: boolean, replacedAt: number | undefined): Rotation => ({
  isAllowed,
  returnsAt: replacedAt === undefined ? null : toTimestamp(replacedAt + DAY_MS),
});

/**
 * Whether a person may replace the keys of licenses, by id.
 *
 * @param of the licenses, and whether their products allow it
 * @param now milliseconds since 1970
 */
export async function rotationsOf(
  db: Database,
  person: Person,
  of: readonly { row: LicenseRow; isAllowed: boolean }[],
  now: number,
): Promise<Map<number, Rotation>> {
  const allowed = of.flatMap(({ row, isAllowed }) => (isAllowed ? row.id : []));
  const replaced = allowed.length > 0 ? await selectReplaced(db, allowed, now) : [];
  const times = new Map(replaced.map(({ id, replacedAt }) => [id, replacedAt]));
  return new Map(
    of.map(({ row, isAllowed }) => [
      row.id,
      rotationOf(isAllowed && isProved(person, row), times.get(row.id)),
    ]),
  );
}

/**
 * Gives a license a new key for its owner.
 *
 * @param newSender see {@link changeOwnLicense}
 * @returns undefined for a license that is not theirs
 * @throws DomainError if others change the license all the time
 */
export const rotateOwnKey = (
  newSender: () => Sender,
  person: Person,
  licenseId: number,
): Promise<RotationOutcome | undefined> =>
  changeOwnLicense(newSender, person, licenseId, async (sender, row) => {
    const { db, now } = sender;
    const read = await batch(db, {
      product: db
        .select({ isAllowed: products.selfRotate })
        .from(products)
        .where(eq(products.id, row.productId)),
      // Read after the license: another replacement in between changes its revision, and this one begins again.
      replaced: selectReplaced(db, [licenseId], now),
    });
    if (row.state !== 'ACTIVE') return { outcome: 'deactivated' };
    if (!read.product[0]?.isAllowed || !isProved(person, row)) return { outcome: 'not allowed' };
    const { returnsAt } = rotationOf(true, read.replaced[0]?.replacedAt);
    if (returnsAt !== null) return { outcome: 'too soon', returnsAt };
    const { licenseKey } = await rotateLicenseKey(sender, row);
    return { outcome: 'replaced', licenseKey };
  });
