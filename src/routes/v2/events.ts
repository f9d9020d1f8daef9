import { event, eventQuery } from '@licet/contract/events';
import { INTENTS } from '@licet/contract/intents';
import { MAX_PAGE_OBJECTS } from '@licet/contract/limits';
import { Hono } from 'hono';
import { type AuthEnv, databaseOf, requireIntents } from '../../auth/middleware.ts';
import { query } from '../../http/input.ts';
import { jsonResponse } from '../../http/json.ts';
import { operationsOn } from '../../http/operation.ts';
import { linkNextPage } from '../../http/pagination.ts';
import { listEvents, toEvent } from '../../resources/events/queries.ts';

const { list } = operationsOn({
  tag: 'Events',
  names: ['Event', 'Events'],
  one: 'an event',
  many: 'events',
  section: '[6]',
  body: event,
  listing: `The changes and their senders, newest first, at most ${MAX_PAGE_OBJECTS} without \`limit\`. The total is not counted. An extension.`,
  isCounted: false,
});

/** The events of changes, an extension (5). */
export const eventRoutes = new Hono<AuthEnv>().get(
  '/',
  requireIntents(INTENTS.readEvents)(list),
  query(eventQuery),
  async (c) => {
    const { limit, ...filter } = c.req.valid('query');
    const { rows, next } = await listEvents(databaseOf(c), filter, limit ?? MAX_PAGE_OBJECTS);
    linkNextPage(c, next);
    return jsonResponse(c, rows.map(toEvent));
  },
);
