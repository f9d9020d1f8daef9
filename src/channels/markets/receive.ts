import { MAX_MARKET_BODY_BYTES } from '@licet/contract/limits';
import type { Sender } from '../../db/change.ts';
import { ADAPTERS } from './adapters.ts';
import type { ArrivedRequest } from './deliveries.ts';
import type { Incoming } from './incoming.ts';
import { type Accepted, isRejection, type Rejection } from './notice.ts';
import { type Applied, applyNotice } from './purchases.ts';
import { cleaned, redact } from './redact.ts';
import type { MarketRow, Seller } from './seller.ts';

/** A request of a market: verified, read, applied, and answered (9). */

/** The response. A failure is never 200: its text would land where a key belongs. */
export interface Reply {
  status: number;
  body: string;
  contentType: string;
}

interface Received {
  reply: Reply;
  /** For the list of what arrived. */
  arrived: ArrivedRequest;
}

const TEXT = 'text/plain; charset=utf-8';
const OK: Reply = { status: 200, body: 'OK', contentType: TEXT };
export const failure = (status: number, body: string): Reply => ({
  status,
  body,
  contentType: TEXT,
});
export const UNAVAILABLE = failure(503, 'The service is unavailable: try again');

/** The response to a request that is rejected. */
export const reject = ({ id: marketId }: MarketRow, { status, why }: Rejection): Received => ({
  reply: failure(status, why),
  arrived: {
    marketId,
    type: null,
    eventId: null,
    isAccepted: false,
    status,
    result: why,
    body: null,
  },
});

/** The largest request of a market. */
export const maxBytesOf = ({ market }: Seller): number =>
  ADAPTERS[market.kind].maxBytes ?? MAX_MARKET_BODY_BYTES;

const SWITCHED_OFF: Rejection = {
  status: 403,
  why: 'The market is switched off in Licet',
  isFromMarket: true,
};

/** Checks that a request comes from the market, and that the market is on. @returns undefined if both hold */
export async function authenticate(
  { market }: Seller,
  incoming: Incoming,
): Promise<Rejection | undefined> {
  if (market.secrets.length === 0) {
    return { status: 401, why: 'The market has no secret in Licet yet' };
  }
  const rejection = await ADAPTERS[market.kind].authenticate(incoming, market);
  return rejection ?? (market.isEnabled ? undefined : SWITCHED_OFF);
}

/**
 * Reads and applies a request that comes from the market, and says what to respond.
 *
 * @param onFailure called with the reason for which it was not applied
 */
export async function receive(
  newSender: () => Sender,
  seller: Seller,
  incoming: Incoming,
  onFailure: (error: unknown) => void,
): Promise<Received> {
  const { market } = seller;
  const request = await ADAPTERS[market.kind].read(incoming, market);
  if (isRejection(request)) return reject(market, request);
  const clean = (text: string | null): string | null => text && cleaned(text, market.secrets);
  const applied: Applied[] = [];
  let reply: Reply;
  try {
    for (const notice of request.notices) {
      applied.push(await applyNotice(newSender, seller, notice));
    }
    reply = replyTo(request, applied);
  } catch (error) {
    // The market repeats it, and what was applied already stays.
    onFailure(error);
    reply = UNAVAILABLE;
  }
  const results = cleaned(
    [...new Set(applied.map(({ result }) => result))].join('; '),
    market.secrets,
  );
  return {
    reply,
    arrived: {
      marketId: market.id,
      type: clean(request.type),
      eventId: clean(request.eventId),
      isAccepted: true,
      status: reply.status,
      result:
        reply === UNAVAILABLE
          ? 'The service failed: the market sends it again'
          : results || request.ignored || 'Nothing to do',
      body: redact(incoming.text, market.secrets),
    },
  };
}

function replyTo({ needsKey, respond }: Accepted, applied: readonly Applied[]): Reply {
  const keys = applied.flatMap((one) => one.keys);
  const withoutKey = applied.find((one) => one.keys.length === 0);
  if (needsKey && (keys.length === 0 || withoutKey)) {
    const isRevoked = withoutKey?.state === 'REVOKED';
    return failure(isRevoked ? 403 : 404, withoutKey?.result ?? 'There is no key');
  }
  return respond ? { status: 200, ...respond(keys) } : OK;
}
