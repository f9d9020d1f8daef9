import type { NoticeEffect } from '@licet/contract/enums';
import type { Sender } from '../../db/change.ts';
import { isOutOfQueries } from '../../db/client.ts';
import type { Outbound } from '../../lib/outbound.ts';
import { ADAPTERS } from './adapters.ts';
import { type Applied, applyNotices, type Left } from './apply.ts';
import type { Incoming } from './incoming.ts';
import { type Accepted, isRejection, type Notice, type Rejection, type Result } from './notice.ts';
import type { ArrivedRequest } from './received.ts';
import { cleaned, redact } from './redact.ts';
import type { MarketRow, MarketSource } from './source.ts';

/** A request of a market: its reading, its effect and its response (9). */

/** The response. A failure is never 200: its text would land where a key belongs. */
export interface Reply {
  status: number;
  body: string;
  contentType: string;
}

export interface Received {
  reply: Reply;
  /** For the list of what arrived. */
  arrived: ArrivedRequest;
}

/** The parts of the service that apply notices. */
export interface Receiver {
  /** The service itself as the sender, whose clock is read for each attempt. */
  newSender: () => Sender;
  /** Applies notices, perhaps beside those of other requests; undefined for alone. */
  apply?: ((left: Left) => Promise<readonly Applied[]>) | undefined;
  outbound: Outbound;
  /** Called with the reason for which a request was not applied. */
  onFailure: (error: unknown) => void;
}

const FAILED = 'The service failed: the market sends it again';
const UNFINISHED =
  'Cloudflare allows a request too few queries for all of it: the market sends it again, and the rest follows';
const TEXT = 'text/plain; charset=utf-8';
const OK: Reply = { status: 200, body: 'OK', contentType: TEXT };
export const failure = (status: number, body: string): Reply => ({
  status,
  body,
  contentType: TEXT,
});
export const UNAVAILABLE = failure(503, 'The service is unavailable: try again');

/**
 * The response to a request that is rejected.
 *
 * @param incoming the request, if it comes from the market: its body is shown
 */
export const reject = (
  { id: marketId, secrets }: MarketRow,
  { status, why }: Rejection,
  incoming?: Incoming,
): Received => ({
  reply: failure(status, why),
  arrived: {
    marketId,
    type: null,
    eventId: null,
    isAccepted: false,
    status,
    result: why,
    body: incoming ? redact(incoming.text, secrets) : null,
    effect: incoming ? 'NEEDS_PERSON' : null,
    item: null,
    orderId: null,
  },
});

/** Reads and applies a request that comes from the market, and says what to respond. */
export async function receive(
  receiver: Receiver,
  source: MarketSource,
  incoming: Incoming,
): Promise<Received> {
  const { market } = source;
  const read = await ADAPTERS[market.kind].read(incoming, market);
  if (isRejection(read)) return reject(market, read, incoming);
  const clean = (text: string | null): string | null => text && cleaned(text, market.secrets);
  let results: readonly Result[] = [];
  let reply: Reply;
  let failed: string | undefined;
  try {
    const notices = await wholeNotices(receiver, source, read.notices);
    results = await applyNotices(receiver.newSender, source, notices, receiver.apply);
    reply = replyWith(read, results);
  } catch (error) {
    // The market repeats the request. Notices that were applied already stay.
    receiver.onFailure(error);
    reply = UNAVAILABLE;
    failed = isOutOfQueries(error) ? UNFINISHED : FAILED;
  }
  const texts = [...new Set(results.map(({ text }) => text))].join('; ');
  return {
    reply,
    arrived: {
      marketId: market.id,
      type: clean(read.type),
      eventId: clean(read.eventId),
      isAccepted: true,
      status: reply.status,
      result: failed ?? (cleaned(texts, market.secrets) || read.ignored || 'Nothing to do'),
      body: redact(incoming.text, market.secrets, namesIn(read.notices)),
      effect: failed !== undefined ? null : effectOf(read, results),
      ...aboutOf(read.notices, clean),
    },
  };
}

/** The names of buyers. */
const namesIn = (notices: readonly Notice[]): string[] => [
  ...new Set(notices.flatMap((one) => (one.do === 'grant' ? (one.buyer.name ?? []) : []))),
];

/** The product and the purchase that the first notice is about. */
function aboutOf(
  [notice]: readonly Notice[],
  clean: (text: string | null) => string | null,
): Pick<ArrivedRequest, 'item' | 'orderId'> {
  const bought = notice?.do === 'report' ? notice.purchase : notice;
  const id = bought?.order ?? bought?.reference ?? notice?.about[0]?.id ?? null;
  return { item: clean(bought?.item ?? null), orderId: clean(id) };
}

/** The notices, with the lines that the API of the market adds. @throws Error if it does not respond */
async function wholeNotices(
  { outbound }: Receiver,
  { market }: MarketSource,
  notices: readonly Notice[],
): Promise<readonly Notice[]> {
  const { lines } = ADAPTERS[market.kind];
  const token = market.apiToken;
  if (!lines || token === null) return notices;
  const whole = notices.map((notice) =>
    notice.do === 'grant' ? lines(notice, { outbound, token }) : [notice],
  );
  return (await Promise.all(whole)).flat();
}

function effectOf({ needsPerson }: Accepted, results: readonly Result[]): NoticeEffect {
  const effects = results.map(({ effect }) => effect);
  if (needsPerson || effects.includes('NEEDS_PERSON')) return 'NEEDS_PERSON';
  return effects.includes('CHANGED') ? 'CHANGED' : 'NOTHING';
}

function replyWith({ needsKey, respond }: Accepted, results: readonly Result[]): Reply {
  const keys = results.flatMap((one) => one.keys);
  const withoutKey = results.find((one) => one.keys.length === 0);
  if (needsKey && (keys.length === 0 || withoutKey)) {
    const isRevoked = withoutKey?.state === 'REVOKED';
    return failure(isRevoked ? 403 : 404, withoutKey?.text ?? 'There is no key');
  }
  return respond ? { status: 200, ...respond(keys) } : OK;
}
