import { Hono } from 'hono';
import { INTENTS } from '../../auth/intents';
import { type AuthEnv, requireIntents } from '../../auth/middleware';
import { query } from '../../http/input';
import { linkNextPage, MAX_LIMIT } from '../../http/pagination';
import { listEvents } from '../../resources/events/queries';
import { eventQuery, toEvent } from '../../resources/events/schema';
import { databaseOf } from './database';

/** The events of changes, an extension (5). */
export const eventRoutes = new Hono<AuthEnv>().get(
  '/',
  requireIntents(INTENTS.readEvents),
  query(eventQuery),
  async (c) => {
    const { limit, ...filter } = c.req.valid('query');
    const { rows, next } = await listEvents(databaseOf(c), filter, limit ?? MAX_LIMIT);
    linkNextPage(c, next);
    return c.json(rows.map(toEvent));
  },
);
