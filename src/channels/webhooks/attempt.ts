import { DAY_MS } from '@licet/contract/durations';
import { beginningOf } from '../../lib/bytes.ts';
import type { Outbound, OutboundResult } from '../../lib/outbound.ts';
import { LAST_STEP, retryAt } from '../../lib/retries.ts';
import type { Format } from './formats/format.ts';
import { FORMATS } from './formats.ts';
import type { WebhookRow } from './schema.ts';

/** One attempt of a delivery, and its outcome (8). */

/** A receiver that asks for a longer pause gets this one: the webhook is switched off after five days. */
const MAX_PAUSE_MS = DAY_MS;
const MIN_PAUSE_MS = 1_000;
/** The kept bytes of the response to a success. The response to a failure is kept longer, to find its cause. */
const MAX_SUCCESS_BYTES = 256;

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
  /** The milliseconds in which this isolate sends nothing more to the receiver. */
  closedMs: number;
}

const UNKNOWN = {
  status: null,
  error: null,
  response: null,
  durationMs: null,
  nextAt: null,
  pausedUntil: null,
  goneReason: null,
  isWorking: null,
  closedMs: 0,
} as const;

/** The outcome of a delivery that cannot be sent. */
export const unsendable = (error: string, step: number): Outcome => ({ ...UNKNOWN, error, step });

/** A message, and the step of its delivery. */
interface Message {
  id: number;
  step: number;
  body: string;
}

/** Sends a message once. @param now milliseconds since 1970 */
export async function attempt(
  outbound: Outbound,
  webhook: WebhookRow,
  { id, step, body }: Message,
  now: number,
): Promise<Outcome> {
  const format = FORMATS[webhook.format];
  const { url, headers } = await format.request(webhook, { id, body }, now);
  const result = await outbound.send(url, {
    headers: { 'Content-Type': 'application/json', ...headers },
    body,
  });
  // The result can be late: the clock of a request stands still while it computes, and moves while it waits.
  return outcomeOf(result, format, step, Date.now());
}

function outcomeOf(result: OutboundResult, format: Format, step: number, now: number): Outcome {
  const { durationMs } = result;
  const failed = { ...UNKNOWN, durationMs, isWorking: false, step: step + 1 };
  if ('error' in result) return { ...failed, error: result.error, nextAt: retryAt(step, now) };
  const { status, body } = result;
  const { pauseMs, closedMs, isLimited } = format.limit(result, now);
  if (status >= 200 && status < 300) {
    const response = beginningOf(body, MAX_SUCCESS_BYTES);
    return { ...UNKNOWN, durationMs, status, response, isWorking: true, step, closedMs };
  }
  const pausedUntil =
    pauseMs === undefined
      ? null
      : Math.round(now + Math.min(Math.max(pauseMs, MIN_PAUSE_MS), MAX_PAUSE_MS));
  const error = errorOf(status);
  const responded = { ...failed, status, response: body, error, closedMs, pausedUntil };
  if (isLimited) {
    const nextAt = step < LAST_STEP ? (pausedUntil ?? now + MIN_PAUSE_MS) : null;
    return { ...responded, isWorking: null, step, nextAt };
  }
  const goneReason = format.isGone(status);
  const isLast = goneReason !== null || format.isFinal(status);
  return { ...responded, goneReason, nextAt: isLast ? null : retryAt(step, now, pausedUntil) };
}

function errorOf(status: number): string {
  const returned = `The receiver returned ${status}`;
  // The runtime of one machine takes the first response for the last.
  if (status < 200)
    return `${returned} before its response: let the receiver send its response alone`;
  return status >= 300 && status < 400
    ? `${returned}, a redirect, which is not followed`
    : returned;
}
