import { countTaken, isGlobal, slotOf } from '@licet/contract/addresses';
import type { PortalData, PortalSlot } from '@licet/contract/portal-page';
import { toOptionalTimestamp } from '@licet/contract/time';
import { desc } from 'drizzle-orm';
import type { Database } from '../../db/client.ts';
import { isOneOf } from '../../db/predicates.ts';
import { sha256Hex } from '../../lib/sha256.ts';
import { isOwnedBy, type Person } from '../../resources/licenses/own.ts';
import { selectLicenses } from '../../resources/licenses/queries.ts';
import { keyEnd, sentExpiryOf, statusAt } from '../../resources/licenses/rules.ts';
import { licenses } from '../../resources/licenses/schema.ts';
import { resetsOf, type SlotValue } from '../../resources/licenses/self-reset.ts';
import { listSlots } from '../../resources/licenses/slots.ts';
import { products } from '../../resources/products/schema.ts';

/** The licenses of a person, as their page shows them (10). */

const MAX_LICENSES = 100;
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
        keyEnd: keyEnd(row.licenseKey),
        slots: {
          IP: { taken: countTaken(row.ips), limit: row.maxIPs },
          HWID: { taken: row.hwids.length, limit: row.maxHWIDs },
        },
        resets: budgets.get(row.id) ?? { allowed: 0, left: 0, returnsAt: null },
      };
    }),
  };
}

/**
 * Names a slot without its value.
 *
 * @param secret without it, the few possible values of an address could be tried
 */
export const slotIdOf = async ({ type, value }: SlotValue, secret: string): Promise<string> =>
  (await sha256Hex(`${secret} slot ${type} ${value}`)).slice(0, SLOT_ID_LENGTH);

/** The beginning and the end of a value. @param end the length of the end: parts of an address, or characters */
function shortened({ type, value }: SlotValue, end: number): string {
  const separator = type === 'HWID' ? '' : value.includes(':') ? ':' : '.';
  const parts = value.split(separator);
  const begin = type === 'HWID' ? 6 : 2;
  if (begin + end >= parts.length) return value;
  return `${parts.slice(0, begin).join(separator)}${separator}…${parts.slice(-end).join(separator)}`;
}

/** The values as their owner knows them again: shortened, but no two of a type look the same. */
function shownValues(slots: readonly SlotValue[]): string[] {
  const shown = slots.map(() => '');
  let alike = slots.map((slot, index) => ({ slot, index }));
  // Doubled, because a customer chooses the hardware IDs, which can differ in one character.
  for (let end = 1; alike.length > 0; end *= 2) {
    const groups = Map.groupBy(alike, ({ slot }) => `${slot.type} ${shortened(slot, end)}`);
    for (const { slot, index } of alike) shown[index] = shortened(slot, end);
    alike = [...groups.values()].flatMap((group) => (group.length > 1 ? group : []));
  }
  return shown;
}

/**
 * The taken slots of a license.
 *
 * @param address from which the page was asked for
 * @param secret see {@link slotIdOf}
 * @param now milliseconds since 1970
 */
export async function slotsOf(
  db: Database,
  licenseId: number,
  address: string | null,
  secret: string,
  now: number,
): Promise<PortalSlot[]> {
  const slots = (await listSlots(db, licenseId, now)) ?? [];
  const shown = shownValues(slots);
  return Promise.all(
    slots.map(async ({ type, value, lastUsed, idleDate }, index) => ({
      id: await slotIdOf({ type, value }, secret),
      type,
      shown: shown[index] ?? '',
      isThisBrowser:
        type === 'IP' &&
        address !== null &&
        slotOf(value, db.ipv6SlotPrefix) === slotOf(address, db.ipv6SlotPrefix),
      isPrivate: type === 'IP' && !isGlobal(value),
      lastUsed,
      idleDate,
    })),
  );
}
