import { INTENTS } from '@licet/contract/intents';
import { Hono } from 'hono';
import { type AuthEnv, databaseOf, requireIntents, requireToken } from '../auth/middleware.ts';
import { mailMetricStatements, mailMetrics } from '../channels/mail/metrics.ts';
import { marketMetricStatements, marketMetrics } from '../channels/markets/metrics.ts';
import { deliveryMetricStatements, deliveryMetrics } from '../channels/webhooks/metrics.ts';
import { batch } from '../db/client.ts';
import type { Operation } from '../http/operation.ts';
import { EXPOSITION_TYPE, exposition } from '../lib/exposition.ts';
import { requestMetricStatements, requestMetrics } from '../requests/metrics.ts';
import { servicesOf } from '../services.ts';

/** The metrics (6). */

const GET_METRICS: Operation = {
  operationId: 'getMetrics',
  tag: 'Statistics',
  summary: 'Get the metrics for Prometheus',
  description:
    'In the text format 0.0.4, in one batch of the database. Counts of the requests of a process are there on one machine only. The token may also come as `Authorization: Bearer`. An extension.',
  success: {
    description: 'The metrics.',
    sample:
      '# HELP licet_webhooks_failing Webhooks whose last attempts have failed.\n# TYPE licet_webhooks_failing gauge\nlicet_webhooks_failing 0\n',
  },
};

export const metricsRoutes = new Hono<AuthEnv>().get(
  '/',
  requireToken({ takesBearer: true }),
  requireIntents(INTENTS.readRequests)(GET_METRICS),
  async (c) => {
    const { recorder, requestCounts, isOnOneMachine } = servicesOf(c.env);
    const db = databaseOf(c);
    const now = Date.now();
    const rows = await batch(db, {
      ...requestMetricStatements(db, now),
      ...deliveryMetricStatements(db, now),
      ...marketMetricStatements(db, now),
      ...mailMetricStatements(db, now),
    });
    const metrics = [
      ...requestMetrics(rows, now),
      ...deliveryMetrics(rows, now),
      ...marketMetrics(rows),
      ...mailMetrics(rows, now),
      ...(isOnOneMachine ? requestCounts.metrics(recorder.pending()) : []),
    ];
    return c.body(exposition(metrics), 200, { 'Content-Type': EXPOSITION_TYPE });
  },
);
