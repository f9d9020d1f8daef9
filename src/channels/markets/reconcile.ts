import { HOUR_MS, MINUTE_MS } from '@licet/contract/durations';
import { and, eq, type SQL, sql } from 'drizzle-orm';
import type { Sender } from '../../db/change.ts';
import type { Database } from '../../db/client.ts';
import { isOneOf } from '../../db/predicates.ts';
import type { Outbound } from '../../lib/outbound.ts';
import { ADAPTERS } from './adapters.ts';
import { applyNotices } from './apply.ts';
import type { PurchaseRow } from './list.ts';
import { listedKey, type Notice } from './notice.ts';
import { markets, purchases } from './schema.ts';
import { sourceOf } from './source.ts';

/**
 * Compares the purchases of a market with those that the market lists (9): BuiltByBit reports no refunds, and a removal at
 * Voxel Shop can get lost. A purchase that is missing, or over, twice in a row is revoked.
 */

const INTERVAL_MS = HOUR_MS;
const MAX_PAGES = 100;
/** A purchase is revoked when it was not listed so often. */
const MISSES_TO_REVOKE = 2;
/** Below this share of the purchases, the list of the market counts as incomplete. */
const MIN_LISTED_SHARE = 0.5;
const MIN_COMPARED = 4;

/** The queries of a comparison, beside those for pages and for purchases that change. */
const OTHER_QUERIES = 8;
/** The queries of one purchase that changes, at most. */
const NOTICE_QUERIES = 20;
/** The queries and requests of a comparison with a page and a change. */
export const RECONCILE_QUERIES = OTHER_QUERIES + 1 + NOTICE_QUERIES;

/** Markets `m` with a token whose comparison is due. @param now milliseconds since 1970 */
export const isReconcileDue = (now: number): SQL =>
  sql`m.is_enabled and m.api_token is not null and ifnull(m.comparison_due_at, 0) <= ${now}`;

export interface Reconciling {
  db: Database;
  outbound: Outbound;
  /** The service itself. */
  newSender: () => Sender;
  platformLabels: string | undefined;
  /** The number of queries and requests that remain. */
  left: () => number;
  /** Counts requests to the market. */
  spend: (requests: number) => void;
}

/**
 * Compares a market. A list that cannot be read to its end, or that is suddenly short, revokes nothing.
 *
 * @throws Error that says why the market was not compared
 */
export async function reconcile(
  { db, outbound, newSender, platformLabels, left, spend }: Reconciling,
  marketId: number,
): Promise<void> {
  const now = Date.now();
  // Before the request, because a market that fails must not keep the others waiting.
  const [market] = await db
    .update(markets)
    .set({ comparisonDueAt: now + INTERVAL_MS })
    .where(eq(markets.id, marketId))
    .returning();
  // The market lists resources, and no add-ons.
  const items = market?.products.map(({ item }) => item).filter((item) => /^\d+$/.test(item)) ?? [];
  if (!market?.apiToken || items.length === 0) return;
  const { list } = ADAPTERS[market.kind];
  if (!list) return;
  const maxPages = Math.min(MAX_PAGES, left() - OTHER_QUERIES);
  const listed = await list({
    // Also the requests of a list that fails count.
    outbound: {
      send(...sent) {
        spend(1);
        return outbound.send(...sent);
      },
    },
    token: market.apiToken,
    items,
    now,
    maxPages,
  });
  const known = await db
    .select()
    .from(purchases)
    .where(
      and(
        eq(purchases.marketId, market.id),
        eq(purchases.isTest, false),
        // A download alone is no purchase: staff and free products have none.
        sql`${purchases.facts} ->> 'boughtAt' is not null`,
        isOneOf(purchases.item, items),
      ),
    );
  const isListed = ({ item, reference }: PurchaseRow): boolean =>
    listed.get(listedKey(item, reference)) === true;
  const active = known.filter(({ state }) => state === 'GRANTED');
  // An empty list says nothing: a shop with one purchase would lose it by a fault of the market.
  const missing = listed.size === 0 ? [] : active.filter((one) => !isListed(one));
  if (active.length >= MIN_COMPARED && missing.length > active.length * (1 - MIN_LISTED_SHARE)) {
    throw new Error(
      'The market lists less than half of the purchases, so none is revoked: check the API token and the products',
    );
  }
  // The second part of a comparison that took more queries than one run has counts nothing again.
  const isFirst = (market.reconciledAt ?? 0) <= now - INTERVAL_MS / 2;
  const counted = active
    .filter((one) => missing.includes(one) || (one.misses > 0 && isListed(one)))
    .map(({ id }) => id);
  if (isFirst && counted.length > 0) {
    const isMissing = isOneOf(
      purchases.id,
      missing.map(({ id }) => id),
    );
    await db
      .update(purchases)
      .set({ misses: sql`iif(${isMissing}, ${purchases.misses} + 1, 0)` })
      .where(isOneOf(purchases.id, counted));
  }
  const notices: Notice[] = [
    ...missing
      .filter(({ misses }) => misses + Number(isFirst) >= MISSES_TO_REVOKE)
      .map(({ item, reference }) => ({
        do: 'report' as const,
        about: [],
        purchase: { item, reference, order: null, facts: { missing: now } },
      })),
    // Listed again. A purchase that the market itself reported as removed stays so until it reports another one.
    ...known
      .filter((one) => one.state === 'REVOKED' && one.reason === 'missing' && isListed(one))
      .map((one) => ({
        do: 'grant' as const,
        item: one.item,
        reference: one.reference,
        order: one.orderId,
        buyer: { id: one.buyerId, name: one.buyerName, email: null },
        quantity: one.quantity,
        isTest: false,
        // Not now: a notice of the purchase may still come, and extend its license.
        facts: { boughtAt: (one.facts.missing ?? now) + 1 },
        about: [],
      })),
  ];
  const source = sourceOf({ ...market, accountName: market.name }, platformLabels);
  let isWhole = true;
  for (const notice of notices) {
    isWhole = left() > NOTICE_QUERIES;
    if (!isWhole) break;
    await applyNotices(newSender, source, [notice]);
  }
  await db
    .update(markets)
    .set({ reconciledAt: now, ...(!isWhole && { comparisonDueAt: now + MINUTE_MS }) })
    .where(eq(markets.id, marketId));
}
