import { DAY_MS, HOUR_MS, MINUTE_MS } from '@licet/contract/durations';
import type { WebhookFormat } from '@licet/contract/enums';
import { beginningOf } from '../../lib/bytes.ts';
import type { Outbound, OutboundResult } from '../../lib/outbound.ts';
import { signatureHeaders } from './signature.ts';

/** One attempt of a delivery, and its outcome (8). */

/** The delays after failed attempts. The last attempt follows about two days after the event. */
const RETRY_DELAYS_MS: readonly number[] = [
  MINUTE_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  6 * HOUR_MS,
  12 * HOUR_MS,
  24 * HOUR_MS,
];
/** The step of a delivery that is not repeated. */
export const LAST_STEP = RETRY_DELAYS_MS.length;
const JITTER = 0.2;
/** A receiver that asks for a longer pause gets this one: the webhook is switched off after five days. */
const MAX_PAUSE_MS = DAY_MS;
const MIN_PAUSE_MS = 1_000;
/** The kept bytes of the response to a success. The response to a failure is kept longer, to find its cause. */
const MAX_SUCCESS_BYTES = 256;
const USER_AGENT = 'Licet-Webhooks/1';
const DISCORD_USER_AGENT = 'DiscordBot (https://www.npmjs.com/package/licet, 1)';

/** The delivery of an attempt. */
export interface Sending {
  id: number;
  step: number;
  url: string;
  format: WebhookFormat;
  secrets: readonly string[];
  body: string;
}

/** The outcome of an attempt, as it is stored. */
export interface Outcome {
  status: number | null;
  /** Null for a success. */
  error: string | null;
  response: string | null;
  durationMs: number | null;
  step: number;
  /** Milliseconds since 1970; null without another attempt. */
  nextAt: number | null;
  /** Until when the receiver wants no attempts at all; null for no wish. */
  pausedUntil: number | null;
  /** Why the webhook is to be switched off; null if it stays on. */
  goneReason: string | null;
  /** Whether the receiver works: null if the outcome does not say. */
  isWorking: boolean | null;
  /** The milliseconds in which this isolate sends nothing more to the receiver (Discord). */
  closedMs: number;
}

/** Sends a message once. @param now milliseconds since 1970 */
export async function attempt(outbound: Outbound, sending: Sending, now: number): Promise<Outcome> {
  const { id, format, secrets, body } = sending;
  const isDiscord = format === 'discord';
  const result = await outbound.send(urlOf(sending), {
    headers: {
      'Content-Type': 'application/json',
      'User-Agent': isDiscord ? DISCORD_USER_AGENT : USER_AGENT,
      ...(!isDiscord && (await signatureHeaders({ id: `msg_${id}`, body }, secrets, now))),
    },
    body,
  });
  // The result can be late: the clock of a request stands still while it computes, and moves while it waits.
  return outcomeOf(result, sending, Date.now());
}

/** Without `wait`, Discord reports no error for a message that it does not save. */
function urlOf({ url, format }: Sending): string {
  if (format !== 'discord') return url;
  const withWait = new URL(url);
  withWait.searchParams.set('wait', 'true');
  return withWait.href;
}

function outcomeOf(result: OutboundResult, { step, format }: Sending, now: number): Outcome {
  const isDiscord = format === 'discord';
  const { durationMs } = result;
  const known = { durationMs, closedMs: 0, pausedUntil: null, goneReason: null };
  const retryAt = (notBefore: number): number | null => {
    const delayMs = RETRY_DELAYS_MS[step];
    if (delayMs === undefined) return null;
    const jittered = delayMs * (1 + JITTER * (2 * Math.random() - 1));
    return Math.max(Math.round(now + jittered), notBefore);
  };
  if ('error' in result) {
    const { error } = result;
    const failed = { status: null, error, response: null, isWorking: false };
    return { ...known, ...failed, step: step + 1, nextAt: retryAt(0) };
  }
  const { status, headers, body: response } = result;
  const closedMs = isDiscord ? resetMs(headers) : 0;
  if (status >= 200 && status < 300) {
    return {
      ...known,
      closedMs,
      status,
      error: null,
      response: beginningOf(response, MAX_SUCCESS_BYTES),
      isWorking: true,
      step,
      nextAt: null,
    };
  }
  const pausedUntil = pauseOf(result, isDiscord, now);
  const failed = { ...known, closedMs, status, response, pausedUntil, error: errorOf(status) };
  // At Discord a limit is no failure: the message comes later.
  if (isDiscord && status === 429) {
    const nextAt = step < LAST_STEP ? (pausedUntil ?? now + MIN_PAUSE_MS) : null;
    return { ...failed, isWorking: null, step, nextAt };
  }
  const goneReason = isDiscord ? goneAtDiscord(status) : goneElsewhere(status);
  // Discord rejects the message itself, and would do so again.
  const isFinal = goneReason !== null || (isDiscord && status === 400);
  const nextAt = isFinal ? null : retryAt(pausedUntil ?? 0);
  return { ...failed, goneReason, isWorking: false, step: step + 1, nextAt };
}

const errorOf = (status: number): string =>
  status >= 300 && status < 400
    ? `The receiver returned ${status}, a redirect, which is not followed`
    : `The receiver returned ${status}`;

const goneElsewhere = (status: number): string | null =>
  status === 410 ? 'The receiver returned 410: it wants no more events' : null;

function goneAtDiscord(status: number): string | null {
  if (status === 404) return 'The webhook was deleted at Discord: make a new one there';
  const isDenied = status === 401 || status === 403;
  return isDenied ? `Discord denies access (${status}): make a new webhook there` : null;
}

/** The end of the pause for which a receiver asks; null for none. */
function pauseOf(
  { headers, body }: { headers: Headers; body: string },
  isDiscord: boolean,
  now: number,
): number | null {
  const pauseMs = retryAfterMs(headers, now) ?? (isDiscord ? retryAfterInBody(body) : undefined);
  if (pauseMs === undefined) return null;
  return Math.round(now + Math.min(Math.max(pauseMs, MIN_PAUSE_MS), MAX_PAUSE_MS));
}

/** `Retry-After` in milliseconds: seconds, or a date. Undefined for none. */
function retryAfterMs(headers: Headers, now: number): number | undefined {
  const text = headers.get('Retry-After')?.trim() ?? '';
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : date - now;
}

function retryAfterInBody(body: string): number | undefined {
  const [, seconds] = /"retry_after"\s*:\s*(\d+(?:\.\d+)?)/.exec(body) ?? [];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}

/** The milliseconds until Discord takes another message; 0 if it takes one now. */
function resetMs(headers: Headers): number {
  if (headers.get('X-RateLimit-Remaining') !== '0') return 0;
  const seconds = Number(headers.get('X-RateLimit-Reset-After'));
  return seconds > 0 && seconds < 60 ? seconds * 1000 : 0;
}
