import { RESPONSE_TYPES } from '@licet/contract/outcomes';
import * as z from 'zod';
import { TIERS } from '../../src/lib/request-timings.ts';
import { routes } from '../../src/routes/app.ts';

/**
 * Checks the event of each request in every test. Its form has no place for a key, a token or SQL; an
 * event that does not fit fails its request. Events are kept off the console.
 */

const ROUTES = new Set(routes.map(({ path }) => path));

const requestEvent = z.strictObject({
  message: z.string().max(100),
  event: z.literal('request'),
  requestId: z.string().regex(/^[\w=-]{1,64}$/),
  method: z.enum(['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH', 'OTHER']),
  route: z.string().refine((route) => ROUTES.has(route), 'must be the pattern of a route'),
  status: z.int(),
  outcome: z.enum([...RESPONSE_TYPES, 'OK', 'REFUSED', 'FAILED']),
  tokenId: z.union([z.int(), z.literal('root')]).nullable(),
  tier: z.enum(TIERS).nullable(),
  durationMs: z.int(),
  colo: z.string().nullable(),
});
export type RequestEvent = z.infer<typeof requestEvent>;

const events: RequestEvent[] = [];

/** Takes an event in; false for another line of the log. */
export function takeEvent([value]: readonly unknown[]): boolean {
  const isEvent = typeof value === 'string' && value.includes('"event":"request"');
  if (isEvent) events.push(requestEvent.parse(JSON.parse(value)));
  return isEvent;
}

/** The events since the last call. */
export const newEvents = (): RequestEvent[] => events.splice(0);

const log = console.log;
console.log = (...values: unknown[]) => {
  if (!takeEvent(values)) log(...values);
};
