import type { Sender } from '../../db/change.ts';
import { logFailure } from '../../lib/log.ts';
import { ADAPTERS } from './adapters.ts';
import type { ArrivedRequest } from './deliveries.ts';
import { type Accepted, type Incoming, isRejection, type Rejection } from './notice.ts';
import { type Applied, applyNotice } from './purchases.ts';
import { redact } from './redact.ts';
import type { Seller } from './seller.ts';

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
  /** Whether the request came from the market. */
  isAccepted: boolean;
}

const TEXT = 'text/plain; charset=utf-8';
const OK: Reply = { status: 200, body: 'OK', contentType: TEXT };
const failure = (status: number, body: string): Reply => ({ status, body, contentType: TEXT });
const UNAVAILABLE = failure(503, 'The service is unavailable: try again');

const reject = ({ market }: Seller, { status, why }: Rejection): Received => ({
  reply: failure(status, why),
  arrived: {
    marketId: market.id,
    type: null,
    eventId: null,
    isAccepted: false,
    status,
    result: why,
    body: null,
  },
  isAccepted: false,
});

/** Verifies and reads a request. */
export async function read(seller: Seller, incoming: Incoming): Promise<Accepted | Rejection> {
  const adapter = ADAPTERS[seller.market.kind];
  if (!seller.market.isEnabled) return { status: 403, why: 'The market is switched off in Licet' };
  if (seller.market.secrets.length === 0) {
    return { status: 401, why: 'The market has no secret in Licet yet' };
  }
  return adapter(incoming, seller.market);
}

/** Applies a request that was read, and says what to respond. */
export async function receive(
  newSender: () => Sender,
  seller: Seller,
  incoming: Incoming,
  request: Accepted | Rejection,
): Promise<Received> {
  if (isRejection(request)) return reject(seller, request);
  const { market } = seller;
  const applied: Applied[] = [];
  let reply: Reply;
  try {
    for (const notice of request.notices) {
      applied.push(await applyNotice(newSender, seller, notice));
    }
    reply = replyTo(request, applied);
  } catch (error) {
    // The market repeats it, and what was applied already stays.
    logFailure('A request of a market was not applied', error);
    reply = UNAVAILABLE;
  }
  const results = [...new Set(applied.map(({ result }) => result))].join('; ');
  return {
    reply,
    arrived: {
      marketId: market.id,
      type: request.type,
      eventId: request.eventId,
      isAccepted: true,
      status: reply.status,
      result:
        reply === UNAVAILABLE
          ? 'The service failed: the market sends it again'
          : results || request.ignored || 'Nothing to do',
      body: redact(incoming.text, market.secrets),
    },
    isAccepted: true,
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
