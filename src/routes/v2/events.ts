import { eventQuery } from '@licet/contract/events';
import { INTENTS } from '@licet/contract/intents';
import { MAX_PAGE_OBJECTS } from '@licet/contract/limits';
import { Hono } from 'hono';
import { type AuthEnv, requireIntents } from '../../auth/middleware.ts';
import { query } from '../../http/input.ts';
import { linkNextPage } from '../../http/pagination.ts';
import { listEvents, toEvent } from '../../resources/events/queries.ts';
import { databaseOf } from './database.ts';

/** The events of changes, an extension (5). */
export const eventRoutes = new Hono<AuthEnv>().get(
  '/',
  requireIntents(INTENTS.readEvents),
  query(eventQuery),
  async (c) => {
    const { limit, ...filter } = c.req.valid('query');
    const { rows, next } = await listEvents(databaseOf(c), filter, limit ?? MAX_PAGE_OBJECTS);
    linkNextPage(c, next);
    return c.json(rows.map(toEvent));
  },
);
