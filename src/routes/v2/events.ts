import { DAY_MS } from '@licet/contract/durations';
import { event, eventQuery } from '@licet/contract/events';
import { INTENTS } from '@licet/contract/intents';
import { MAX_PAGE_OBJECTS } from '@licet/contract/limits';
import { type Context, Hono } from 'hono';
import { type AuthEnv, databaseOf, hasIntent, requireIntents } from '../../auth/middleware.ts';
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
  listing: `The changes and their senders, newest first, at most ${MAX_PAGE_OBJECTS} without \`limit\`. The total is not counted. With the \`tokenId\` of the request's own token any intent is enough; without one of the intents above the list begins 24 hours ago. An extension.`,
  isCounted: false,
});

/** Whether a request asks for the changes of its own token alone: each token may read these. */
const isOfOwnToken = (c: Context<AuthEnv>): boolean =>
  c.req.query('tokenId') === String(c.get('actor').tokenId);

/** The earliest event for a token that may read its own alone. More would read the table for any token. */
const ownStart = (from = 0): number => Math.max(from, Date.now() - DAY_MS);

/** The events of changes, an extension (5). */
export const eventRoutes = new Hono<AuthEnv>().get(
  '/',
  requireIntents(INTENTS.readEvents, isOfOwnToken)(list),
  query(eventQuery),
  async (c) => {
    const { limit, ...filter } = c.req.valid('query');
    if (!hasIntent(c, INTENTS.readEvents)) filter.from = ownStart(filter.from);
    const { rows, next } = await listEvents(databaseOf(c), filter, limit ?? MAX_PAGE_OBJECTS);
    linkNextPage(c, next);
    return jsonResponse(c, rows.map(toEvent));
  },
);
