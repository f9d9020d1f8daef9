import { DOCTOR_HEADER } from '@licet/contract/license-key';
import { MAX_MARKET_BODY_BYTES } from '@licet/contract/limits';
import type { Database } from '../../db/client.ts';
import { readBody } from '../../http/connection.ts';
import { ApiError, TOO_MANY_REJECTED } from '../../http/errors.ts';
import { clientOf } from '../../lib/networks.ts';
import type { LocalLimiter } from '../../lib/rate-limiter.ts';
import { ADAPTERS } from './adapters.ts';
import type { HeldMarkets } from './held.ts';
import { Incoming } from './incoming.ts';
import type { Rejection } from './notice.ts';
import { failure, type Receiver, type Reply, receive, reject, UNAVAILABLE } from './receive.ts';
import { type Arrivals, type ArrivedRequest, reportGuesses } from './received.ts';
import { type MarketSource, type SellingMarket, sourceOf } from './source.ts';

/** The entrance of the requests of markets: it finds the market, bounds the cost of strangers, and lists the requests (9). */

/** An address of markets. */
export interface Address {
  /** The name under which rejections at it are counted. */
  countedAs: string;
  /** Its name in messages to the seller, without a secret. */
  shown: string;
  isGuessable: boolean;
  sourcesIn: (markets: readonly SellingMarket[]) => MarketSource[];
}

/** The parts of the service that requests of markets use. */
export interface Entrance extends Receiver {
  db: Database;
  markets: HeldMarkets;
  arrivals: Arrivals;
  ceilings: Record<'rejectedNotices' | 'wrongSecrets' | 'guesses', Pick<LocalLimiter, 'count'>>;
  /** The connecting address; null if it is unknown. */
  ip: string | null;
  /** Whether too many requests of the client were rejected under a name. */
  isOverLimit: (countedAs: string) => boolean;
  /** Counts a rejection. @returns whether the client is over the limit */
  countRejection: (countedAs: string) => Promise<boolean>;
  /** Writes after the response. */
  writeLater: (writing: Promise<unknown>) => void;
}

/** The address of a market, which the service has made. */
export const secretAddress = (path: string, platformLabels: string | undefined): Address => ({
  countedAs: path,
  shown: 'its address',
  isGuessable: false,
  sourcesIn: (held) =>
    held.filter((one) => one.path === path).map((one) => sourceOf(one, platformLabels)),
});

/**
 * The old address of a product at BuiltByBit, which stands for an item that no product is chosen for.
 *
 * @param productId undefined for an address that names none
 */
export function oldAddress(
  productId: number | undefined,
  platformLabels: string | undefined,
): Address {
  const path = ADAPTERS.builtbybit.oldPath?.(productId ?? Number.NaN) ?? UNKNOWN;
  return {
    countedAs: path,
    shown: path,
    isGuessable: true,
    sourcesIn: (held) =>
      held.flatMap((market) => {
        const fallback = market.products.find((one) => one.productId === productId);
        const isIts = ADAPTERS[market.kind].oldPath !== undefined && fallback !== undefined;
        return isIts ? { ...sourceOf(market, platformLabels), fallback } : [];
      }),
  };
}

/** The name of all unknown addresses together: a client can make up any number of them. */
const UNKNOWN = 'markets';
const NOT_FOUND = failure(404, 'There is no market at this address');
const TOO_MANY = failure(TOO_MANY_REJECTED.status, TOO_MANY_REJECTED.message);

/** The response to a request. */
export async function enter(
  entrance: Entrance,
  address: Address,
  request: Request,
): Promise<Reply> {
  try {
    return await replyTo(entrance, address, request);
  } catch (error) {
    // The market repeats the request.
    entrance.onFailure(error);
    return UNAVAILABLE;
  }
}

/**
 * The checks come in this order: the limit, the size, the secret, the rest. A client over the limit is rejected unread.
 */
async function replyTo(entrance: Entrance, address: Address, request: Request): Promise<Reply> {
  const { markets } = entrance;
  const { sourcesIn } = address;
  const known = sourcesIn(await markets.all());
  if (entrance.isOverLimit(known.length > 0 ? address.countedAs : UNKNOWN)) return TOO_MANY;
  const sources = known.length > 0 ? known : sourcesIn((await markets.again()) ?? []);
  const [first] = sources;
  if (!first) return (await entrance.countRejection(UNKNOWN)) ? TOO_MANY : NOT_FOUND;

  const maxBytes = ADAPTERS[first.market.kind].maxBytes ?? MAX_MARKET_BODY_BYTES;
  const body = await readBody(request, maxBytes).catch(tooLargeOrLate);
  if (!(body instanceof Uint8Array)) return rejectFrom(entrance, address, first, body, request);
  const incoming = new Incoming(body, request.headers, Date.now());
  let found = await findSource(sources, incoming);
  if (found?.rejection) {
    const changed = await markets.again();
    if (changed) found = await findSource(sourcesIn(changed), incoming);
  }
  if (!found) return NOT_FOUND;
  const { source, rejection } = found;
  if (rejection) return rejectFrom(entrance, address, source, rejection, request, incoming);
  entrance.writeLater(entrance.arrivals.listWaiting(entrance.writeLater));
  const { reply, arrived } = await receive(entrance, source, incoming);
  list(entrance, arrived, request.headers);
  return reply;
}

const tooLargeOrLate = (error: unknown): Rejection => {
  if (!(error instanceof ApiError)) throw error;
  return { status: error.status, why: error.message };
};

/** Checks a request with each of some markets. @returns the first that it comes from, else the first with its reason */
async function findSource(
  sources: readonly MarketSource[],
  incoming: Incoming,
): Promise<{ source: MarketSource; rejection?: Rejection } | undefined> {
  let first: { source: MarketSource; rejection: Rejection } | undefined;
  for (const source of sources) {
    const rejection = await rejectionOf(source, incoming);
    if (!rejection) return { source };
    first ??= { source, rejection };
  }
  return first;
}

const SWITCHED_OFF: Rejection = {
  status: 403,
  why: 'The market is switched off in Licet: switch it on',
  isFromMarket: true,
};

/** Checks that a request comes from the market, and that the market is on. @returns undefined if both hold */
async function rejectionOf(
  { market }: MarketSource,
  incoming: Incoming,
): Promise<Rejection | undefined> {
  if (market.secrets.length === 0) {
    return { status: 401, why: 'The market has no secret in Licet yet' };
  }
  const rejection = await ADAPTERS[market.kind].authenticate(incoming, market);
  return rejection ?? (market.isEnabled ? undefined : SWITCHED_OFF);
}

/** The response to a request without proof that it comes from a market, or from a market that is off. */
async function rejectFrom(
  entrance: Entrance,
  { countedAs, shown, isGuessable }: Address,
  { market }: MarketSource,
  rejection: Rejection,
  { headers }: Request,
  incoming?: Incoming,
): Promise<Reply> {
  const { db, ceilings, ip, writeLater } = entrance;
  if (!rejection.isFromMarket) {
    const isOver = await entrance.countRejection(countedAs);
    // A client that guesses slowly, or over the end of a minute, is never over its limit.
    const isSlow = ip !== null && ceilings.wrongSecrets.count(`${clientOf(ip)} ${market.id}`);
    if ((isOver || isSlow) && !ceilings.guesses.count(String(market.id))) {
      writeLater(reportGuesses(db, market.id, { ip, path: shown }, Date.now()));
    }
    if (isOver) return TOO_MANY;
  }
  const { reply, arrived } = reject(market, rejection, rejection.isFromMarket && incoming);
  // A flood must not fill the list, and nobody who guesses an address may raise the alert of failing requests.
  const isListed =
    rejection.isFromMarket || (!isGuessable && !ceilings.rejectedNotices.count(String(market.id)));
  if (isListed) list(entrance, arrived, headers);
  return reply;
}

/** Lists a request, unless the doctor sent it: its samples change nothing, and say nothing about the market. */
function list({ arrivals, writeLater }: Entrance, arrived: ArrivedRequest, headers: Headers): void {
  if (headers.has(DOCTOR_HEADER) && arrived.effect !== 'CHANGED') return;
  writeLater(arrivals.list(arrived, Date.now(), writeLater));
}
