import { integerText } from '@licet/contract/fields';
import { MAX_MARKET_BODY_BYTES } from '@licet/contract/limits';
import { marketPath, oldMarketPath } from '@licet/contract/markets';
import { type Context, Hono } from 'hono';
import type { Sender } from '../db/change.ts';
import { SERVICE } from '../db/events.ts';
import { readBody } from '../http/connection.ts';
import { path } from '../http/input.ts';
import type { Operation } from '../http/operation.ts';
import { type AppEnv, isolateOf } from '../isolate.ts';
import { logFailure } from '../lib/log.ts';
import { insertDelivery } from '../resources/markets/deliveries.ts';
import type { Incoming } from '../resources/markets/notice.ts';
import { isRejection } from '../resources/markets/notice.ts';
import { type Reply, read, receive } from '../resources/markets/receive.ts';
import { type MarketRow, type Seller, sellerOf } from '../resources/markets/seller.ts';

/** The requests of markets (9). They hold no token: each adapter verifies its own. */

const RECEIVE: Operation = {
  operationId: 'receiveFromMarket',
  tag: 'Markets',
  summary: 'Receive a request of a market',
  description:
    'For the market, at the address that the service made. The signature or secret of the market is checked first. A failure is never 200, because its text would land where a key belongs. An extension.',
  success: 'market',
};
const RECEIVE_DOWNLOAD: Operation = {
  ...RECEIVE,
  operationId: 'receiveFromBuiltByBit',
  summary: 'Receive a download from BuiltByBit, at the old address',
  description: 'For programs and guides that know this address. An extension.',
};

const text = (status: number, body: string): Reply => ({
  status,
  body,
  contentType: 'text/plain; charset=utf-8',
});

const respondWith = ({ status, body, contentType }: Reply): Response =>
  new Response(body, {
    status,
    headers: {
      'Content-Type': contentType,
      'Cache-Control': 'no-store',
      ...(status === 503 && { 'Retry-After': '5' }),
    },
  });

/** The service itself changes what a market reports. */
const senderOf = (c: Context<AppEnv>) => (): Sender => {
  const { db, caches, deliverer } = isolateOf(c.env);
  return {
    ...SERVICE,
    db,
    caches,
    deliver: (stored) => deliverer.gather(stored),
    now: Date.now(),
    waitUntil: c.get('timings').waitUntil,
    permissions: () => [],
  };
};

async function respond(
  c: Context<AppEnv>,
  sellersIn: (markets: readonly MarketRow[]) => Seller[],
  isGuessable = false,
): Promise<Response> {
  const { db, markets, ceilings } = isolateOf(c.env);
  const bytes = await readBody(c.req.raw, MAX_MARKET_BODY_BYTES);
  const incoming: Incoming = {
    bytes,
    text: new TextDecoder().decode(bytes),
    headers: c.req.raw.headers,
    now: Date.now(),
  };
  const findFirst = async (held: readonly MarketRow[]) => {
    let first: { seller: Seller; request: Awaited<ReturnType<typeof read>> } | undefined;
    for (const seller of sellersIn(held)) {
      const request = await read(seller, incoming);
      if (!isRejection(request)) return { seller, request };
      first ??= { seller, request };
    }
    return first;
  };
  let found = await findFirst(await markets.all());
  if (!found || isRejection(found.request)) {
    const held = await markets.again();
    if (held) found = await findFirst(held);
  }
  if (!found) return respondWith(text(404, 'There is no market at this address'));
  const { seller, request } = found;
  const { reply, arrived, isAccepted } = await receive(senderOf(c), seller, incoming, request);
  // A flood of wrong requests must not fill the list, and nobody who guesses an address may raise an alert.
  if (isAccepted || (!isGuessable && !ceilings.rejectedNotices.count(String(seller.market.id)))) {
    const writing = insertDelivery(db, arrived, Date.now()).catch((error) =>
      logFailure('A request of a market was not listed', error),
    );
    c.get('timings').waitUntil(writing);
  }
  return respondWith(reply);
}

const withLabels = (c: Context<AppEnv>) => (market: MarketRow) =>
  sellerOf(market, c.env.PLATFORM_LABELS);

const fromMarket = (c: Context<AppEnv, '/:path'>): Promise<Response> => {
  const sent = c.req.param('path');
  return respond(c, (held) => held.filter((one) => one.path === sent).map(withLabels(c)));
};

const productIdText = integerText(Number.MAX_SAFE_INTEGER);

/** The product of the address stands for a resource that no product is chosen for. */
const fromBuiltByBit = (c: Context<AppEnv, '/bbb/:productId'>): Promise<Response> => {
  const { data: productId } = productIdText.safeParse(c.req.param('productId'));
  const sellersIn = (held: readonly MarketRow[]): Seller[] =>
    held.flatMap((market) => {
      const fallback = market.products.find((one) => one.productId === productId);
      const isIts = market.kind === 'builtbybit' && fallback !== undefined;
      return isIts ? { ...withLabels(c)(market), fallback } : [];
    });
  return respond(c, sellersIn, true);
};

export const marketRoutes = new Hono<AppEnv>().post(
  '/:path',
  path(marketPath),
  Object.assign(fromMarket, { operation: RECEIVE }),
);

/** The handlers of the old address. */
export const receiveDownload = [
  path(oldMarketPath),
  Object.assign(fromBuiltByBit, { operation: RECEIVE_DOWNLOAD }),
] as const;
