import { DAY_MS, HOUR_MS } from '@licet/contract/durations';
import { INTENTS } from '@licet/contract/intents';
import { statistics, statisticsQuery } from '@licet/contract/statistics';
import { Hono } from 'hono';
import { type AuthEnv, databaseOf, requireIntents } from '../../auth/middleware.ts';
import { ApiError } from '../../http/errors.ts';
import { query } from '../../http/input.ts';
import { isolateOf } from '../../isolate.ts';
import { readStatistics } from '../../requests/statistics.ts';

/** The default and the longest period, by the step. */
const PERIODS = {
  hour: { defaultMs: 23 * HOUR_MS, maxDays: 90 },
  day: { defaultMs: 29 * DAY_MS, maxDays: 1_100 },
} as const;

/** The statistics (6). */
export const statisticsRoutes = new Hono<AuthEnv>().get(
  '/',
  requireIntents(INTENTS.readRequests)({
    operationId: 'getStatistics',
    tag: 'Statistics',
    summary: 'Get the statistics of a period',
    description:
      'Validations by outcome in steps of an hour or a day, in UTC, for all products or one. The default period is the last 24 hours, or 30 days by day. Also the licenses, the installations by version, and the licenses that expire in the next 26 weeks. Counts of licenses are held for 60 seconds, those of versions for 60 ms per installation, at least 60 seconds. At most 90 days by hour, or 1,100 by day.',
    success: { description: 'The statistics.', body: statistics },
  }),
  query(statisticsQuery),
  async (c) => {
    const now = Date.now();
    const { step, to = now, productId, ...given } = c.req.valid('query');
    const { defaultMs, maxDays } = PERIODS[step];
    const { from = to - defaultMs } = given;
    if (from > to) throw new ApiError(400, 'from must not be after to', { field: 'from' });
    if (to - from > maxDays * DAY_MS) {
      throw new ApiError(400, `from must be at most ${maxDays} days before to, with step ${step}`, {
        field: 'from',
      });
    }
    const db = databaseOf(c);
    const { counts } = isolateOf(c.env);
    const { waitUntil } = c.get('timings');
    const period = { from, to, step, productId };
    return c.json(await readStatistics(db, counts, period, now, waitUntil));
  },
);
