import { HOUR_MS, MINUTE_MS } from '@licet/contract/durations';
import { eq, type SQL, sql } from 'drizzle-orm';
import type { Sender } from '../../db/change.ts';
import type { Database } from '../../db/client.ts';
import { isOneOf } from '../../db/predicates.ts';
import type { Outbound } from '../../lib/outbound.ts';
import { ADAPTERS } from './adapters.ts';
import { applyNotices } from './apply.ts';
import type { PurchaseRow } from './list.ts';
import { LISTS_TOO_MANY, type ListedPurchases, type Notice } from './notice.ts';
import { markets, purchases } from './schema.ts';
import { type MarketRow, sourceOf } from './source.ts';

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
/** Purchases that a market may list: their keys are a parameter of a query. */
const MAX_LISTED = 50_000;
/** Purchases that one run changes, at most. */
const MAX_CHANGED = 100;

/** The queries of a comparison, beside those for pages and for purchases that change. */
const OTHER_QUERIES = 8;
/** The queries of one purchase that changes, at most. */
const NOTICE_QUERIES = 14;
/** The queries and requests of a comparison with a page and a change. */
export const RECONCILE_QUERIES = OTHER_QUERIES + 1 + NOTICE_QUERIES;

const LISTING = Object.entries(ADAPTERS).flatMap(([kind, { list }]) => (list ? kind : []));

/** Markets `m` with a list and a token whose comparison is due. @param now milliseconds since 1970 */
export const isReconcileDue = (now: number): SQL =>
  sql`m.kind in (select value from json_each(${JSON.stringify(LISTING)}))
    and m.is_enabled and m.api_token is not null and ifnull(m.comparison_due_at, 0) <= ${now}`;

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
  if (listed.size > MAX_LISTED) throw new Error(LISTS_TOO_MANY);
  // The second part of a comparison that took more queries than one run has counts nothing again.
  const isFirst = (market.reconciledAt ?? 0) <= now - INTERVAL_MS / 2;
  // An empty list says nothing: a shop with one purchase would lose it by a fault of the market.
  const changed =
    listed.size === 0
      ? []
      : await compare(db, comparedWith(market, items, listed), {
          revokes: market.onRefund === 'deactivate',
          counts: isFirst,
        });
  const source = sourceOf({ ...market, accountName: market.name }, platformLabels);
  let isWhole = changed.length < MAX_CHANGED;
  for (const one of changed) {
    if (left() <= NOTICE_QUERIES) {
      isWhole = false;
      break;
    }
    await applyNotices(newSender, source, [noticeOf(one, now)]);
  }
  await db
    .update(markets)
    .set({ reconciledAt: now, ...(!isWhole && { comparisonDueAt: now + MINUTE_MS }) })
    .where(eq(markets.id, marketId));
}

/** Purchases `c` that are compared, with `is_listed`, in SQL. The keys that the market lists are bound once. */
function comparedWith(market: MarketRow, items: readonly string[], listed: ListedPurchases): SQL {
  const active = [...listed].flatMap(([key, isActive]) => (isActive ? key : []));
  // A download alone is no purchase: staff and free products have none. A forgotten buyer is in no list.
  return sql`(select id, state, reason, misses,
      item || ' ' || reference in (select value from json_each(${JSON.stringify(active)})) as is_listed
    from purchases where market_id = ${market.id} and ${isOneOf(purchases.item, items)} and is_test = 0
      and facts ->> 'boughtAt' is not null and reference <> 'forgotten-' || id) c`;
}

/**
 * Compares purchases in the database, because a market can have any number of them.
 *
 * @param revokes whether one that is missing is revoked
 * @param counts whether a purchase that is not listed is counted as missing
 * @returns the purchases whose state changes; the next run has the others
 * @throws Error if too many are missing
 */
async function compare(
  db: Database,
  compared: SQL,
  { revokes, counts }: { revokes: boolean; counts: boolean },
): Promise<PurchaseRow[]> {
  // A purchase that stays GRANTED would be reported again each time.
  const isMissing = revokes ? sql`c.state = 'GRANTED' and not c.is_listed` : sql`false`;
  const isBack = sql`c.state = 'REVOKED' and c.reason = 'missing' and c.is_listed`;
  const isFound = sql`c.state = 'GRANTED' and c.misses > 0 and c.is_listed`;
  const count = await db.get<Record<'active' | 'missing' | 'back' | 'found', number>>(
    sql`select count(*) filter (where c.state = 'GRANTED') as active,
      count(*) filter (where ${isMissing}) as missing, count(*) filter (where ${isBack}) as back,
      count(*) filter (where ${isFound}) as found from ${compared}`,
  );
  if (count.active >= MIN_COMPARED && count.missing > count.active * (1 - MIN_LISTED_SHARE)) {
    throw new Error(
      'The market lists less than half of the purchases, so none is revoked: check the API token and the products',
    );
  }
  if (counts && count.missing + count.found > 0) {
    await db
      .update(purchases)
      .set({ misses: sql`iif(c.is_listed, 0, c.misses + 1)` })
      .from(compared)
      .where(sql`${purchases.id} = c.id and (${isMissing} or ${isFound})`);
  }
  if (count.missing + count.back === 0) return [];
  const isChanged = sql`${isBack} or c.misses >= ${MISSES_TO_REVOKE} and ${isMissing}`;
  return db
    .select()
    .from(purchases)
    .where(sql`${purchases.id} in (select c.id from ${compared} where ${isChanged})`)
    .orderBy(purchases.id)
    .limit(MAX_CHANGED);
}

/** The notice of a purchase that is missing, or that is listed again. */
function noticeOf({ state, item, reference, ...one }: PurchaseRow, now: number): Notice {
  if (state === 'GRANTED') {
    const purchase = { item, reference, order: null, facts: { missing: now } };
    return { do: 'report', about: [], purchase };
  }
  // A purchase that the market itself reported as removed stays so until it reports another one.
  return {
    do: 'grant',
    item,
    reference,
    order: one.orderId,
    buyer: { id: one.buyerId, name: one.buyerName, email: null },
    quantity: one.quantity,
    isTest: false,
    // Not now: a notice of the purchase may still come, and extend its license.
    facts: { boughtAt: (one.facts.missing ?? now) + 1 },
    about: [],
  };
}
