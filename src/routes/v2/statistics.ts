import { DAY_MS, HOUR_MS } from '@licet/contract/durations';
import { INTENTS } from '@licet/contract/intents';
import { statisticsQuery } from '@licet/contract/statistics';
import { Hono } from 'hono';
import { type AuthEnv, requireIntents } from '../../auth/middleware.ts';
import { ApiError } from '../../http/errors.ts';
import { query } from '../../http/input.ts';
import { isolateOf } from '../../isolate.ts';
import { readStatistics } from '../../requests/statistics.ts';
import { databaseOf } from './database.ts';

/** The default and the longest period, by the step. */
const PERIODS = {
  hour: { defaultMs: 23 * HOUR_MS, maxDays: 90 },
  day: { defaultMs: 29 * DAY_MS, maxDays: 1_100 },
} as const;

/** The statistics (6). */
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
