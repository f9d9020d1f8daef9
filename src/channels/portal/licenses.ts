import { countTaken } from '@licet/contract/addresses';
import type { PortalData } from '@licet/contract/portal-page';
import { toOptionalTimestamp } from '@licet/contract/time';
import { desc, sql } from 'drizzle-orm';
import type { Database } from '../../db/client.ts';
import { isOneOf } from '../../db/predicates.ts';
import { isOwnedBy, type Person } from '../../resources/licenses/own.ts';
import { selectLicenses } from '../../resources/licenses/queries.ts';
import { keyEnd, sentExpiryOf, statusAt } from '../../resources/licenses/rules.ts';
import { licenses } from '../../resources/licenses/schema.ts';
import { resetsOf } from '../../resources/licenses/self-reset.ts';
import { rotationsOf } from '../../resources/licenses/self-rotate.ts';
import { products } from '../../resources/products/schema.ts';

/** The licenses of a person, as their page shows them (10). */

const MAX_LICENSES = 100;

/** Active licenses come first, then those that wait for their first use, expired and deactivated ones. */
const placeAt = (now: number) => sql`case when ${licenses.state} = 'DEACTIVATED' then 3
  when ${licenses.expiresAt} <= ${now} then 2 when ${licenses.expiresAfterDays} is not null then 1 else 0 end`;

/** The licenses of a person, of each state the newest first. @param now milliseconds since 1970 */
export async function licensesOf(
  db: Database,
  person: Person,
  now: number,
): Promise<Omit<PortalData, 'canLinkDiscord'>> {
  const found = await selectLicenses(db)
    .where(isOwnedBy(person))
    .orderBy(placeAt(now), desc(licenses.id))
    .limit(MAX_LICENSES + 1);
  const rows = found.slice(0, MAX_LICENSES);
  const isSold = isOneOf(
    products.id,
    rows.map(({ productId }) => productId),
  );
  const sold = await db
    .select({
      id: products.id,
      name: products.name,
      url: products.url,
      allowed: products.selfResets,
      selfRotate: products.selfRotate,
    })
    .from(products)
    .where(isSold);
  const byId = new Map(sold.map((one) => [one.id, one]));
  const budgets = await resetsOf(
    db,
    rows.map(({ id, productId }) => ({ id, allowed: byId.get(productId)?.allowed ?? 0 })),
    now,
  );
  const rotations = await rotationsOf(
    db,
    person,
    rows.map((row) => ({ row, isAllowed: byId.get(row.productId)?.selfRotate ?? false })),
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
        isUsed: row.totalRequests > 0,
        url: byId.get(row.productId)?.url ?? null,
        keyEnd: keyEnd(row.licenseKey),
        slots: {
          IP: { taken: countTaken(row.ips), limit: row.maxIPs },
          HWID: { taken: row.hwids.length, limit: row.maxHWIDs },
        },
        resets: budgets.get(row.id) ?? { allowed: 0, left: 0, returnsAt: null },
        rotation: rotations.get(row.id) ?? { isAllowed: false, returnsAt: null },
      };
    }),
  };
}
