import { HOUR_MS, MINUTE_MS } from '@licet/contract/durations';
import { and, eq, type SQL, sql } from 'drizzle-orm';
import type { Sender } from '../../db/change.ts';
import type { Database } from '../../db/client.ts';
import { isOneOf } from '../../db/predicates.ts';
import type { Outbound } from '../../lib/outbound.ts';
import { listAt, numberAt, parseObject, textAt, valueAt } from './json.ts';
import type { PurchaseRow } from './list.ts';
import type { Notice } from './notice.ts';
import { applyNotice } from './purchases.ts';
import { markets, purchases } from './schema.ts';
import { sellerOf } from './seller.ts';

/**
 * Compares the purchases of a market with those that the market lists (9): BuiltByBit reports no refunds, and a removal at
 * Voxel Shop can get lost. A purchase that is missing, or over, twice in a row is revoked.
 */

const INTERVAL_MS = HOUR_MS;
const MAX_PAGES = 100;
const PAGE_ROWS = 100;
const MAX_RESPONSE_BYTES = 256 * 1024;
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

/** The purchases that the market lists, by `item` and `buyer`, joined: whether each is active. */
type Listed = Map<string, boolean>;

interface List {
  listed: Listed;
  /** The requests that it took. */
  requests: number;
}

interface Listing {
  outbound: Outbound;
  token: string;
  /** The mapped products of the market. */
  items: readonly string[];
  now: number;
  maxPages: number;
}

const keyOf = (item: string, buyer: string): string => `${item} ${buyer}`;

/** Sends a request. @throws Error if it fails */
async function fetchJson(
  outbound: Outbound,
  url: string,
  init: { method: 'GET' | 'POST'; headers: Record<string, string>; body?: string },
) {
  const result = await outbound.send(url, { ...init, maxBytes: MAX_RESPONSE_BYTES });
  if ('error' in result) throw new Error(result.error);
  const json = parseObject(result.body);
  if (result.status !== 200 || !json) throw new Error(`The market returned ${result.status}`);
  return json;
}

/** BuiltByBit accepts one of two words before a token. */
async function builtbybitPage(outbound: Outbound, url: string, token: string) {
  try {
    const headers = { Authorization: `Token ${token}` };
    return await fetchJson(outbound, url, { method: 'GET', headers });
  } catch (error) {
    if (!/returned 40[13]/.test(error instanceof Error ? error.message : '')) throw error;
    const headers = { Authorization: `Private ${token}` };
    return fetchJson(outbound, url, { method: 'GET', headers });
  }
}

/** The licenses at BuiltByBit: whether each is active. */
async function listBuiltByBit({ outbound, token, items, now, maxPages }: Listing): Promise<List> {
  const listed: Listed = new Map();
  const ids = items.join(',');
  for (let page = 1; page <= maxPages; page++) {
    const url = `https://api.builtbybit.com/v2/resources/creator/licenses?resource_ids=${ids}&page=${page}&per_page=${PAGE_ROWS}`;
    const json = await builtbybitPage(outbound, url, token);
    if (textAt(json, 'result') !== 'success') {
      throw new Error(`BuiltByBit: ${textAt(json, 'error.code') ?? 'no result'}`);
    }
    for (const one of listAt(json, 'data.licenses')) {
      const [item, buyer] = [textAt(one, 'content_id'), textAt(one, 'buyer_id')];
      // An add-on has ids of its own.
      if (item === null || buyer === null || textAt(one, 'content_type') === 'addon') continue;
      const end = numberAt(one, 'end_date') ?? 0;
      const isActive =
        valueAt(one, 'permanent') === false
          ? end === 0 || end * 1000 > now
          : valueAt(one, 'active') !== false;
      const key = keyOf(item, buyer);
      listed.set(key, isActive || listed.get(key) === true);
    }
    if (page >= (numberAt(json, 'data.stats.max_page') ?? 1)) return { listed, requests: page };
  }
  throw new Error('The market lists too many purchases');
}

/** The buyers at Voxel Shop: whether each purchase is valid. */
async function listVoxel({ outbound, token, items, maxPages }: Listing): Promise<List> {
  const listed: Listed = new Map();
  let pages = 0;
  for (const item of items) {
    let start: string | null = '0';
    while (start !== null) {
      if (++pages > maxPages) throw new Error('The market lists too many purchases');
      const body = String(new URLSearchParams({ api_key: token, resource_id: item, start }));
      const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
      const url = 'https://api.voxel.shop/v1/listBuyers';
      const json = await fetchJson(outbound, url, { method: 'POST', headers, body });
      for (const one of listAt(json, 'response.buyers')) {
        const buyer = textAt(one, 'userID');
        if (buyer !== null) listed.set(keyOf(item, buyer), valueAt(one, 'valid') !== false);
      }
      start = valueAt(json, 'response.more') === true ? textAt(json, 'response.next_start') : null;
    }
  }
  return { listed, requests: pages };
}

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
}

/**
 * Compares a market. A list that cannot be read to its end, or that is suddenly short, revokes nothing.
 *
 * @returns the number of requests
 * @throws Error that says why the market was not compared
 */
export async function reconcile(
  { db, outbound, newSender, platformLabels, left }: Reconciling,
  marketId: number,
): Promise<number> {
  const now = Date.now();
  // First: a market that fails must not keep the others waiting.
  const [market] = await db
    .update(markets)
    .set({ comparisonDueAt: now + INTERVAL_MS })
    .where(eq(markets.id, marketId))
    .returning();
  // The market lists resources, and no add-ons.
  const items = market?.products.map(({ item }) => item).filter((item) => /^\d+$/.test(item)) ?? [];
  if (!market?.apiToken || items.length === 0) return 0;
  const list = { builtbybit: listBuiltByBit, voxel: listVoxel }[String(market.kind)];
  if (!list) return 0;
  const maxPages = Math.min(MAX_PAGES, left() - OTHER_QUERIES);
  const { listed, requests } = await list({
    outbound,
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
    listed.get(keyOf(item, reference)) === true;
  const active = known.filter(({ state }) => state === 'GRANTED');
  // An empty list says nothing: a shop with one purchase would lose it by a fault of the market.
  const missing = listed.size === 0 ? [] : active.filter((one) => !isListed(one));
  if (active.length >= MIN_COMPARED && missing.length > active.length * (1 - MIN_LISTED_SHARE)) {
    throw new Error('The market lists less than half of the purchases');
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
        do: 'revoke' as const,
        target: { item, reference },
        at: now,
        reason: 'missing' as const,
      })),
    // Listed again. What the market itself has reported as removed stays so until it reports a purchase.
    ...known
      .filter((one) => one.state === 'REVOKED' && one.reason === 'missing' && isListed(one))
      .map((one) => ({
        ...one,
        do: 'grant' as const,
        order: one.orderId,
        buyer: { id: one.buyerId, name: one.buyerName, email: null },
        boughtAt: now,
        paidUntil: null,
      })),
  ];
  const seller = sellerOf(market, platformLabels);
  let isWhole = true;
  for (const notice of notices) {
    isWhole = left() - requests > NOTICE_QUERIES;
    if (!isWhole) break;
    await applyNotice(newSender, seller, notice);
  }
  await db
    .update(markets)
    .set({ reconciledAt: now, ...(!isWhole && { comparisonDueAt: now + MINUTE_MS }) })
    .where(eq(markets.id, marketId));
  return requests;
}
