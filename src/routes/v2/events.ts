import { Hono } from 'hono';
import * as z from 'zod';
import { INTENTS } from '../../auth/intents';
import { type AuthEnv, requireIntents } from '../../auth/middleware';
import { query } from '../../http/input';
import { linkNextPage, MAX_LIMIT, pageQuery } from '../../http/pagination';
import { eventResource, eventType, idText } from '../../lib/fields';
import { timestampText } from '../../lib/time';
import { listEvents } from '../../resources/events/queries';
import { toEvent } from '../../resources/events/schema';
import { databaseOf } from './database';

const eventQuery = z.strictObject({
  ...pageQuery,
  type: eventType.optional(),
  resourceType: eventResource.optional(),
  resourceId: idText.optional(),
  tokenId: idText.optional(),
  from: timestampText.optional(),
  to: timestampText.optional(),
});

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
