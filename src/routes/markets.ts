import { integerText } from '@licet/contract/fields';
import { marketPath, oldMarketPath } from '@licet/contract/markets';
import { type Context, Hono } from 'hono';
import { addressIn, countRejection, isRejectedUnread } from '../auth/middleware.ts';
import { insertDelivery, reportGuesses } from '../channels/markets/deliveries.ts';
import { Incoming } from '../channels/markets/incoming.ts';
import type { Rejection } from '../channels/markets/notice.ts';
import { oldPathOf } from '../channels/markets/queries.ts';
import {
  authenticate,
  failure,
  maxBytesOf,
  type Reply,
  receive,
  reject,
  UNAVAILABLE,
} from '../channels/markets/receive.ts';
import { type MarketRow, type Seller, sellerOf } from '../channels/markets/seller.ts';
import { SERVICE } from '../db/events.ts';
import { readBody } from '../http/connection.ts';
import { ApiError, TOO_MANY_REJECTED } from '../http/errors.ts';
import { path } from '../http/input.ts';
import type { Operation } from '../http/operation.ts';
import { WINDOW_SECONDS } from '../lib/rate-limiter.ts';
import { type AppEnv, senderOf, servicesOf } from '../services.ts';

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

const NOT_FOUND = failure(404, 'There is no market at this address');
const TOO_MANY = failure(TOO_MANY_REJECTED.status, TOO_MANY_REJECTED.message);
const RETRY_AFTER_SECONDS: Readonly<Record<number, number>> = { 429: WINDOW_SECONDS, 503: 5 };

function respondWith({ status, body, contentType }: Reply): Response {
  const retryAfter = RETRY_AFTER_SECONDS[status];
  return new Response(body, {
    status,
    headers: {
      'Content-Type': contentType,
      'Cache-Control': 'no-store',
      ...(retryAfter !== undefined && { 'Retry-After': String(retryAfter) }),
    },
  });
}

/** The service itself changes what a market reports. */
const newSender = (c: Context<AppEnv>) => () =>
  senderOf(servicesOf(c.env), SERVICE, c.get('timings').waitUntil);

/** An address of markets. */
interface Address {
  /** Its name for the limit of rejected requests. */
  door: string;
  /** Its name in messages to the seller, without a secret. */
  shown: string;
  isGuessable: boolean;
  sellersIn: (markets: readonly MarketRow[]) => Seller[];
}

/** The door of all unknown addresses together: a client can make up any number of them. */
const UNKNOWN = 'markets';

/** Checks a request with each of some sellers. @returns the first that it comes from, else the first with its reason */
async function findSeller(
  sellers: readonly Seller[],
  incoming: Incoming,
): Promise<{ seller: Seller; rejection?: Rejection } | undefined> {
  let first: { seller: Seller; rejection: Rejection } | undefined;
  for (const seller of sellers) {
    const rejection = await authenticate(seller, incoming);
    if (!rejection) return { seller };
    first ??= { seller, rejection };
  }
  return first;
}

/** Writes after the response. */
function writeLater(c: Context<AppEnv>, writing: Promise<unknown>): void {
  const { unlistedNotices } = servicesOf(c.env);
  c.get('timings').waitUntil(writing.catch((error) => unlistedNotices.count(error)));
}

/** The response to a request without proof that it comes from a market, or from a market that is off. */
async function rejectFrom(
  c: Context<AppEnv>,
  { door, shown, isGuessable }: Address,
  { market }: Seller,
  rejection: Rejection,
): Promise<Reply> {
  const { db, ceilings } = servicesOf(c.env);
  const now = Date.now();
  if (!rejection.isFromMarket && (await countRejection(c, door))) {
    if (!ceilings.guesses.count(String(market.id))) {
      writeLater(c, reportGuesses(db, market.id, addressIn(c), shown, now));
    }
    return TOO_MANY;
  }
  const { reply, arrived } = reject(market, rejection);
  // A flood must not fill the list, and nobody who guesses an address may raise the alert of failing requests.
  if (!isGuessable && !ceilings.rejectedNotices.count(String(market.id))) {
    writeLater(c, insertDelivery(db, arrived, now));
  }
  return reply;
}

const tooLargeOrLate = (error: unknown): Rejection => {
  if (!(error instanceof ApiError)) throw error;
  return { status: error.status, why: error.message };
};

/**
 * The response to a request. The order of the checks is the limit, the size, the secret, and the rest: nothing is read of a
 * client over the limit.
 */
async function replyTo(c: Context<AppEnv>, address: Address): Promise<Reply> {
  const { db, markets, ceilings, failedNotices } = servicesOf(c.env);
  const { sellersIn } = address;
  const known = sellersIn(await markets.all());
  if (isRejectedUnread(c, known.length > 0 ? address.door : UNKNOWN)) return TOO_MANY;
  const sellers = known.length > 0 ? known : sellersIn((await markets.again()) ?? []);
  const [first] = sellers;
  if (!first) return (await countRejection(c, UNKNOWN)) ? TOO_MANY : NOT_FOUND;

  const body = await readBody(c.req.raw, maxBytesOf(first)).catch(tooLargeOrLate);
  if (!(body instanceof Uint8Array)) return rejectFrom(c, address, first, body);
  const incoming = new Incoming(body, c.req.raw.headers, Date.now());
  let found = await findSeller(sellers, incoming);
  if (found?.rejection) {
    const changed = await markets.again();
    if (changed) found = await findSeller(sellersIn(changed), incoming);
  }
  if (!found) return NOT_FOUND;
  const { seller, rejection } = found;
  if (rejection) return rejectFrom(c, address, seller, rejection);
  const { reply, arrived } = await receive(newSender(c), seller, incoming, (error) =>
    failedNotices.count(error),
  );
  if (arrived.isAccepted || !ceilings.rejectedNotices.count(String(seller.market.id))) {
    writeLater(c, insertDelivery(db, arrived, Date.now()));
  }
  return reply;
}

async function respond(c: Context<AppEnv>, address: Address): Promise<Response> {
  try {
    return respondWith(await replyTo(c, address));
  } catch (error) {
    // The market repeats it.
    servicesOf(c.env).failedNotices.count(error);
    return respondWith(UNAVAILABLE);
  }
}

const withLabels = (c: Context<AppEnv>) => (market: MarketRow) =>
  sellerOf(market, c.env.PLATFORM_LABELS);

const fromMarket = (c: Context<AppEnv, '/:path'>): Promise<Response> => {
  const sent = c.req.param('path');
  return respond(c, {
    door: sent,
    shown: 'its address',
    isGuessable: false,
    sellersIn: (held) => held.filter((one) => one.path === sent).map(withLabels(c)),
  });
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
  const path = oldPathOf(Number(productId));
  return respond(c, { door: path, shown: path, isGuessable: true, sellersIn });
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
