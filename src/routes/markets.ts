import { integerText } from '@licet/contract/fields';
import { marketPath, oldMarketPath } from '@licet/contract/markets';
import { type Context, Hono } from 'hono';
import { addressIn, countRejection, isRejectedUnread } from '../auth/middleware.ts';
import {
  type Address,
  type Entrance,
  enter,
  oldAddress,
  secretAddress,
} from '../channels/markets/entrance.ts';
import type { Reply } from '../channels/markets/receive.ts';
import { SERVICE } from '../db/events.ts';
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

/**
 * The parts of the service that a request of a market uses.
 *
 * @param mailed gets the ids of new mails
 */
function entranceOf(c: Context<AppEnv>, mailed: number[]): Entrance {
  const services = servicesOf(c.env);
  const { markets, arrivals, outbound, ceilings, failedNotices, unlistedNotices } = services;
  const { waitUntil } = c.get('timings');
  const { db, sharedNotices } = services;
  const keep = async (ids: readonly number[]): Promise<void> => {
    mailed.push(...ids);
  };
  return {
    db,
    markets,
    arrivals,
    outbound,
    ceilings,
    // The service itself changes what a market reports.
    newSender: () => senderOf(services, SERVICE, waitUntil, keep),
    apply: sharedNotices && ((left) => sharedNotices.apply(left, waitUntil)),
    ip: addressIn(c),
    isOverLimit: (countedAs) => isRejectedUnread(c, countedAs),
    countRejection: (countedAs) => countRejection(c, countedAs),
    onFailure: (error) => failedNotices.count(error),
    writeLater: (writing) => waitUntil(writing.catch((error) => unlistedNotices.count(error))),
  };
}

async function respond(c: Context<AppEnv>, address: Address): Promise<Response> {
  const services = servicesOf(c.env);
  const { waitUntil } = c.get('timings');
  const mailed: number[] = [];
  const reply = await enter(entranceOf(c, mailed), address, c.req.raw);
  // The sales of an order need most of the queries of a request at Cloudflare: the scheduled handler sends their mails.
  if (services.isOnOneMachine || mailed.length === 1) {
    const newSender = () => senderOf(services, SERVICE, waitUntil);
    waitUntil(services.mailer.sendNew(newSender, mailed));
  }
  return respondWith(reply);
}

const fromMarket = (c: Context<AppEnv, '/:path'>): Promise<Response> =>
  respond(c, secretAddress(c.req.param('path'), c.env.PLATFORM_LABELS));

const productIdText = integerText(Number.MAX_SAFE_INTEGER);

const fromOldAddress = (c: Context<AppEnv, '/bbb/:productId'>): Promise<Response> => {
  const { data: productId } = productIdText.safeParse(c.req.param('productId'));
  return respond(c, oldAddress(productId, c.env.PLATFORM_LABELS));
};

export const marketRoutes = new Hono<AppEnv>().post(
  '/:path',
  path(marketPath),
  Object.assign(fromMarket, { operation: RECEIVE }),
);

/** The handlers of the old address. */
export const receiveDownload = [
  path(oldMarketPath),
  Object.assign(fromOldAddress, { operation: RECEIVE_DOWNLOAD }),
] as const;
