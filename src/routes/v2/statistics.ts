import { DAY_MS, HOUR_MS } from '@licet/contract/durations';
import { INTENTS } from '@licet/contract/intents';
import {
  DEFAULT_STATISTICS_STEPS,
  MAX_EXPIRY_WEEKS,
  MAX_STATISTICS_DAYS,
} from '@licet/contract/limits';
import { statistics, statisticsQuery } from '@licet/contract/statistics';
import { Hono } from 'hono';
import { type AuthEnv, databaseOf, requireIntents } from '../../auth/middleware.ts';
import { ApiError } from '../../http/errors.ts';
import { query } from '../../http/input.ts';
import { jsonResponse } from '../../http/json.ts';
import { HELD_MS, HELD_MS_PER_INSTALLATION } from '../../requests/counts.ts';
import { readStatistics } from '../../requests/statistics.ts';
import { servicesOf } from '../../services.ts';

const STEP_MS = { hour: HOUR_MS, day: DAY_MS } as const;

/** The statistics (6). */
export const statisticsRoutes = new Hono<AuthEnv>().get(
  '/',
  requireIntents(INTENTS.readRequests)({
    operationId: 'getStatistics',
    tag: 'Statistics',
    summary: 'Get the statistics of a period',
    description: `Validations by outcome in steps of an hour or a day, in UTC, for all products or one. The default period is the last ${DEFAULT_STATISTICS_STEPS.hour} hours, or ${DEFAULT_STATISTICS_STEPS.day} days by day. Also the licenses, the installations by version, and the licenses that expire in the next ${MAX_EXPIRY_WEEKS} weeks. Counts of licenses are held for ${HELD_MS / 1_000} seconds, those of versions for ${HELD_MS_PER_INSTALLATION} ms per installation, at least ${HELD_MS / 1_000} seconds. At most ${MAX_STATISTICS_DAYS.hour} days by hour, or ${MAX_STATISTICS_DAYS.day} by day. An extension.`,
    success: { description: 'The statistics.', body: statistics },
  }),
  query(statisticsQuery),
  async (c) => {
    const now = Date.now();
    const { step, to = now, productId, ...given } = c.req.valid('query');
    const maxDays = MAX_STATISTICS_DAYS[step];
    const { from = to - (DEFAULT_STATISTICS_STEPS[step] - 1) * STEP_MS[step] } = given;
    if (from > to) throw new ApiError(400, 'from must not be after to', { field: 'from' });
    if (to - from > maxDays * DAY_MS) {
      throw new ApiError(400, `from must be at most ${maxDays} days before to, with step ${step}`, {
        field: 'from',
      });
    }
    const db = databaseOf(c);
    const { counts } = servicesOf(c.env);
    const { waitUntil } = c.get('timings');
    const period = { from, to, step, productId };
    return jsonResponse(c, await readStatistics(db, counts, period, now, waitUntil));
  },
);
