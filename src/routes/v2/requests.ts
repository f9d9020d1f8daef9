import { Hono } from 'hono';
import { INTENTS } from '../../auth/intents';
import { type AuthEnv, requireIntents } from '../../auth/middleware';
import { notFound } from '../../http/errors';
import { objectResponse } from '../../http/etag';
import { pathId, query } from '../../http/input';
import { linkNextPage, MAX_LIMIT } from '../../http/pagination';
import { findRecord, listRecords, requestQuery } from '../../requests/queries';
import { toRequest } from '../../requests/schema';
import { databaseOf } from './database';

/** [4.5] Without `X-Total-Count`, because counting would read the whole history (1.6). */
export const requestRoutes = new Hono<AuthEnv>()
  .get('/', requireIntents(INTENTS.readRequests), query(requestQuery), async (c) => {
    const { limit, ...filter } = c.req.valid('query');
    const { rows, hasMore } = await listRecords(databaseOf(c), filter, limit ?? MAX_LIMIT);
    if (hasMore && limit !== undefined) linkNextPage(c, rows.at(-1)?.id);
    return c.json(rows.map(toRequest));
  })
  .get('/:id', requireIntents(INTENTS.readRequests), pathId, async (c) => {
    const row = await findRecord(databaseOf(c), c.req.valid('param').id);
    if (!row) throw notFound('License request');
    // A record never changes.
    return objectResponse(c, { revision: 1 }, toRequest(row));
  });
