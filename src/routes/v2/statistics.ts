import { DAY_MS, HOUR_MS } from '@licet/contract/durations';
import { INTENTS } from '@licet/contract/intents';
import { timestampText } from '@licet/contract/time';
import { Hono } from 'hono';
import * as z from 'zod';
import { type AuthEnv, requireIntents } from '../../auth/middleware.ts';
import { ApiError } from '../../http/errors.ts';
import { query } from '../../http/input.ts';
import { isolateOf } from '../../isolate.ts';
import { idText } from '../../lib/fields.ts';
import { readStatistics } from '../../requests/statistics.ts';
import { STEPS } from '../../requests/statistics-schema.ts';
import { databaseOf } from './database.ts';

/** The default and the longest period, by the step. */
const PERIODS = {
  hour: { defaultMs: 23 * HOUR_MS, maxDays: 90 },
  day: { defaultMs: 29 * DAY_MS, maxDays: 1_100 },
} as const;

const statisticsQuery = z.strictObject({
  from: timestampText.optional(),
  to: timestampText.optional(),
  step: z.enum(STEPS).default('hour'),
  productId: idText.optional(),
});

export const statisticsRoutes = new Hono<AuthEnv>().get(
  '/',
  requireIntents(INTENTS.readRequests),
  query(statisticsQuery),
  async (c) => {
    const now = Date.now();
    const { step, to = now, productId, ...given } = c.req.valid('query');
    const { defaultMs, maxDays } = PERIODS[step];
    const { from = to - defaultMs } = given;
    if (from > to) throw new ApiError(400, 'from must not be after to');
    if (to - from > maxDays * DAY_MS) {
      throw new ApiError(400, `from must be at most ${maxDays} days before to, with step ${step}`);
    }
    const db = databaseOf(c);
    const { counts } = isolateOf(c.env);
    const { waitUntil } = c.get('timings');
    const period = { from, to, step, productId };
    return c.json(await readStatistics(db, counts, period, now, waitUntil));
  },
);
