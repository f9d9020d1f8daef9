import { Hono } from 'hono';
import * as z from 'zod';
import { INTENTS } from '../../auth/intents';
import { type AuthEnv, requireIntents } from '../../auth/middleware';
import { findRecord, listRecords } from '../../history/queries';
import { toRequest } from '../../history/schema';
import { notFound } from '../../http/errors';
import { objectResponse } from '../../http/etag';
import { pathId, query } from '../../http/input';
import { linkNextPage, MAX_LIMIT, pageQuery } from '../../http/pagination';
import { address, booleanText, hardwareId, idText } from '../../lib/fields';
import { timestampText } from '../../lib/time';
import { databaseOf } from './database';

const requestQuery = z.strictObject({
  ...pageQuery,
  licenseKey: z.string().trim().min(1).max(255).optional(),
  productId: idText.optional(),
  ip: address.optional(),
  hwid: hardwareId.optional(),
  valid: booleanText.optional(),
  from: timestampText.optional(),
  to: timestampText.optional(),
});

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
