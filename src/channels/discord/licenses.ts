import { countTaken } from '@licet/contract/addresses';
import { DAY_MS } from '@licet/contract/durations';
import { isWebAddress } from '@licet/contract/fields';
import { and, desc, type SQL, sql } from 'drizzle-orm';
import type { Database } from '../../db/client.ts';
import { containsText, isOneOf } from '../../db/predicates.ts';
import { escapeMarkdown } from '../../lib/discord.ts';
import { isOwnedBy } from '../../resources/licenses/own.ts';
import { selectLicenses } from '../../resources/licenses/queries.ts';
import type { LicenseRow } from '../../resources/licenses/row.ts';
import { KEY_END_LENGTH, keyEnd, sentExpiryOf, statusAt } from '../../resources/licenses/rules.ts';
import { licenses } from '../../resources/licenses/schema.ts';
import type { ProductRow } from '../../resources/products/queries.ts';
import { products } from '../../resources/products/schema.ts';
import type { Interaction } from './interaction.ts';

/** The licenses of an account at Discord, and their lines in messages (10). */

/** As many as the page shows. */
const MAX_OWN = 100;
const MAX_SUGGESTED = 25;

/** The newest 100 licenses of an account, the oldest first. @param where chooses among them */
export async function findOwnLicenses(
  db: Database,
  userId: string,
  where?: SQL,
): Promise<LicenseRow[]> {
  const rows = await selectLicenses(db)
    .where(and(isOwnedBy({ chatId: userId }), where))
    .orderBy(desc(licenses.id))
    .limit(MAX_OWN);
  return rows.reverse();
}

/** The number of all licenses of an account. @param rows those that {@link findOwnLicenses} found of all */
export const countOwnLicenses = async (
  db: Database,
  userId: string,
  rows: readonly LicenseRow[],
): Promise<number> =>
  rows.length < MAX_OWN ? rows.length : db.$count(licenses, isOwnedBy({ chatId: userId }));

/** Licenses whose suggestion, as below, has a text: the product, the end of the key and the id. */
export const isSuggestedBy = (typed: string): SQL | undefined =>
  containsText(typed || undefined, [
    sql`(select name from products where products.id = ${licenses.productId})
      || ' …' || substr(${licenses.licenseKey}, ${-KEY_END_LENGTH}) || ' (#' || ${licenses.id} || ')'`,
  ]);

/** The id of the license that an option names; 0 for a text that is none. */
export function licenseIdIn({ options }: Interaction): number {
  const id = Number((options.get('license') ?? '').replace('#', ''));
  return Number.isSafeInteger(id) ? id : 0;
}

/** Products by their ids. */
export async function productsOf(db: Database, rows: readonly { productId: number }[]) {
  const ids = [...new Set(rows.map(({ productId }) => productId))];
  const found = await db.select().from(products).where(isOneOf(products.id, ids));
  return new Map(found.map((product) => [product.id, product]));
}

/** Products by a part of their names, at most 25; of `roleIds` only those whose buyers hold one of these roles. */
export const suggestProducts = (
  db: Database,
  typed: string,
  roleIds?: readonly string[],
): Promise<(typeof products.$inferSelect)[]> =>
  db
    .select()
    .from(products)
    .where(
      and(
        containsText(typed || undefined, [products.name]),
        roleIds && isOneOf(products.purchaseRoleId, roleIds),
      ),
    )
    .limit(MAX_SUGGESTED);

/** Discord shows the time in the language and zone of each reader. */
const discordTime = (ms: number): string => `<t:${Math.floor(ms / 1000)}:D>`;

const limitText = (taken: number, limit: number): string =>
  limit < 0 ? `${taken}` : `${taken} of ${limit}`;

/** The end of a license's key, as messages show it. */
export const keyText = ({ licenseKey }: LicenseRow): string => `…${keyEnd(licenseKey)}`;

/** The end of a license in words. */
export function endText(row: LicenseRow, now: number): string {
  const { expiryDate, expiresAfterDays } = sentExpiryOf(row);
  if (expiresAfterDays !== null) return `${expiresAfterDays} days from the first use`;
  if (expiryDate === null) return 'does not expire';
  return `${expiryDate <= now ? 'expired on' : 'until'} ${discordTime(expiryDate)}`;
}

/** Whether programs take a license: its end, or why they refuse it. */
export function conditionText(row: LicenseRow, now: number): string {
  const isDeactivated = statusAt(row, now) === 'DEACTIVATED';
  return isDeactivated ? 'deactivated by the shop' : endText(row, now);
}

const NEXT_STEPS = {
  ACTIVE: '',
  EXPIRED: ' Ask the shop to renew it.',
  DEACTIVATED: ' Ask the shop to activate it again.',
  // Shown to nobody.
  DELETED: '',
} as const;

/** A longer address would leave a message no room. */
const MAX_URL_LENGTH = 200;

/** The page of a product as a link without a preview; null for none. */
function pageOf(product: ProductRow | undefined): string | null {
  const url = product?.url;
  if (url == null || !isWebAddress(url)) return null;
  const { href } = new URL(url);
  return href.length > MAX_URL_LENGTH ? null : `<${href}>`;
}

/** The next step of the customer of a license that programs refuse, with a blank before it; empty for none. */
export function nextStep(row: LicenseRow, product: ProductRow | undefined, now: number): string {
  const status = statusAt(row, now);
  const page = status === 'EXPIRED' ? pageOf(product) : null;
  return page === null ? NEXT_STEPS[status] : ` Renew it at ${page}, or ask the shop.`;
}

/** The next step of the customer of a license that binds no other machine, with a blank before it; empty for none. */
export function fullStep(row: LicenseRow, product: ProductRow | undefined, now: number): string {
  const isFull = [
    [countTaken(row.ips), row.maxIPs] as const,
    [row.hwids.length, row.maxHWIDs] as const,
  ].some(([taken, limit]) => limit > 0 && taken >= limit);
  const canReset =
    statusAt(row, now) === 'ACTIVE' && product !== undefined && product.selfResets > 0;
  return isFull && canReset ? ' All places are taken: /reset frees one.' : '';
}

/** A license in a line. */
export function lineOf(row: LicenseRow, productName: string, now: number): string {
  const parts = [
    `**${escapeMarkdown(productName)}** \`${keyText(row)}\``,
    statusAt(row, now) === 'ACTIVE' ? `active, ${endText(row, now)}` : conditionText(row, now),
    `IP addresses ${limitText(countTaken(row.ips), row.maxIPs)}`,
    `hardware IDs ${limitText(row.hwids.length, row.maxHWIDs)}`,
  ];
  return parts.join(', ');
}

/** The end after so many days more: from the end, or from now if that is over. */
export const extendedBy = (days: number, expiresAt: number | null, now: number): number =>
  Math.max(now, expiresAt ?? now) + days * DAY_MS;
