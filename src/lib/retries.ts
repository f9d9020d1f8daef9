import { HOUR_MS, MINUTE_MS } from '@licet/contract/durations';

/** The schedule of repeated attempts, of webhooks (8) and mails (13). */

/** The delays after failed attempts. The last attempt follows about two days after the first. */
const RETRY_DELAYS_MS: readonly number[] = [
  MINUTE_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  6 * HOUR_MS,
  12 * HOUR_MS,
  24 * HOUR_MS,
];
/** The step of what is not repeated. */
export const LAST_STEP = RETRY_DELAYS_MS.length;
const JITTER = 0.2;

/**
 * The time of the attempt after one that failed; null without another one.
 *
 * @param step the number of failed attempts before it
 * @param now milliseconds since 1970
 * @param notBefore until when the receiver wants a pause, in milliseconds since 1970
 */
export function retryAt(step: number, now: number, notBefore: number | null = null): number | null {
  const delayMs = RETRY_DELAYS_MS[step];
  if (delayMs === undefined) return null;
  const jitteredMs = delayMs * (1 + JITTER * (2 * Math.random() - 1));
  return Math.max(Math.round(now + jitteredMs), notBefore ?? 0);
}
