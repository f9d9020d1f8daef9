import { DAY_MS } from './durations.ts';

/** A change of the expiry: by days of either sign, or to a time. */
export type Move = { days: number } | { until: string };

/** The service stores no other times. */
const FIRST_TIME = Date.parse('0000-01-01T00:00:00Z');
const LAST_TIME = Date.parse('9999-12-31T23:59:59.999Z');

/** The moved expiry. Days are added to the current time if the expiry has passed. */
export function moved(expiryDate: string, move: Move, now = Date.now()): string {
  if ('until' in move) return move.until;
  const expiry = Date.parse(expiryDate);
  const start = move.days > 0 ? Math.max(expiry, now) : expiry;
  const end = start + move.days * DAY_MS;
  return new Date(Math.min(Math.max(end, FIRST_TIME), LAST_TIME)).toISOString();
}
