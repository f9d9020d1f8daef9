import type { LicenseDataType } from '@licet/contract/enums';
import type { PortalData, PortalSlot } from '@licet/contract/portal-page';
import { toOptionalTimestamp } from '@licet/contract/time';
import { desc } from 'drizzle-orm';
import type { Database } from '../../db/client.ts';
import { isOneOf } from '../../db/predicates.ts';
import { sha256Hex } from '../../lib/sha256.ts';
import { isOwnedBy, type Person } from '../../resources/licenses/own.ts';
import { selectLicenses } from '../../resources/licenses/queries.ts';
import { sentExpiryOf, statusAt } from '../../resources/licenses/rules.ts';
import { licenses } from '../../resources/licenses/schema.ts';
import { resetsOf, type SlotValue } from '../../resources/licenses/self-reset.ts';
import { listSlots } from '../../resources/licenses/slots.ts';
import { products } from '../../resources/products/schema.ts';

/** The licenses of a person, as their page shows them (10). */

const MAX_LICENSES = 100;
const KEY_END_LENGTH = 4;
const SLOT_ID_LENGTH = 16;

/** The licenses of a person, the newest first. @param now milliseconds since 1970 */
export async function licensesOf(
  db: Database,
  person: Person,
  now: number,
): Promise<Omit<PortalData, 'canLinkDiscord'>> {
  const found = await selectLicenses(db)
    .where(isOwnedBy(person))
    .orderBy(desc(licenses.id))
    .limit(MAX_LICENSES + 1);
  const rows = found.slice(0, MAX_LICENSES);
  const isSold = isOneOf(
    products.id,
    rows.map(({ productId }) => productId),
  );
  const sold = await db
    .select({ id: products.id, name: products.name, allowed: products.selfResets })
    .from(products)
    .where(isSold);
  const byId = new Map(sold.map((one) => [one.id, one]));
  const budgets = await resetsOf(
    db,
    rows.map(({ id, productId }) => ({ id, allowed: byId.get(productId)?.allowed ?? 0 })),
    now,
  );
  return {
    isCut: found.length > rows.length,
    licenses: rows.map((row) => {
      const { expiryDate, expiresAfterDays } = sentExpiryOf(row);
      return {
        id: row.id,
        product: byId.get(row.productId)?.name ?? '',
        status: statusAt(row, now),
        expiryDate: toOptionalTimestamp(expiryDate),
        expiresAfterDays: expiresAfterDays ?? null,
        keyEnd: row.licenseKey.slice(-KEY_END_LENGTH),
        slots: {
          IP: { taken: row.ips.length, limit: row.maxIPs },
          HWID: { taken: row.hwids.length, limit: row.maxHWIDs },
        },
        resets: budgets.get(row.id) ?? { allowed: 0, left: 0, returnsAt: null },
      };
    }),
  };
}

/**
 * Names a slot without its value: the page never has the whole.
 *
 * @param secret without it, the few possible values of an address could be tried
 */
export const slotIdOf = async ({ type, value }: SlotValue, secret: string): Promise<string> =>
  (await sha256Hex(`${secret} slot ${type} ${value}`)).slice(0, SLOT_ID_LENGTH);

/** The beginning of a value, by which its owner knows it again. */
export function shortened({ type, value }: { type: LicenseDataType; value: string }): string {
  if (type === 'HWID') return value.length > 8 ? `${value.slice(0, 6)}…` : `${value.slice(0, 2)}…`;
  const isIPv6 = value.includes(':');
  return `${value
    .split(isIPv6 ? ':' : '.')
    .slice(0, 2)
    .join(isIPv6 ? ':' : '.')}${isIPv6 ? ':…' : '.…'}`;
}

/**
 * The taken slots of a license.
 *
 * @param secret see {@link slotIdOf}
 * @param now milliseconds since 1970
 */
export async function slotsOf(
  db: Database,
  licenseId: number,
  secret: string,
  now: number,
): Promise<PortalSlot[]> {
  const slots = (await listSlots(db, licenseId, now)) ?? [];
  return Promise.all(
    slots.map(async ({ type, value, lastUsed, idleDate }) => ({
      id: await slotIdOf({ type, value }, secret),
      type,
      shown: shortened({ type, value }),
      lastUsed,
      idleDate,
    })),
  );
}
