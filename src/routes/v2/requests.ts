import { INTENTS } from '@licet/contract/intents';
import { MAX_PAGE_OBJECTS } from '@licet/contract/limits';
import { request, requestQuery } from '@licet/contract/requests';
import { Hono } from 'hono';
import { type AuthEnv, databaseOf, requireIntents } from '../../auth/middleware.ts';
import { notFound } from '../../http/errors.ts';
import { pathId, query } from '../../http/input.ts';
import { jsonResponse } from '../../http/json.ts';
import { operationsOn } from '../../http/operation.ts';
import { linkNextPage } from '../../http/pagination.ts';
import { findRecord, listRecords, toRequest } from '../../requests/queries.ts';
import { objectResponse } from './objects.ts';

const { list, get } = operationsOn({
  tag: 'Requests',
  names: ['Request', 'Requests'],
  one: 'a license request',
  many: 'license requests',
  section: '[4.5]',
  body: request,
  listing: `Newest first, at most ${MAX_PAGE_OBJECTS} without \`limit\`. The total is not counted.`,
  isCounted: false,
});

const canRead = requireIntents(INTENTS.readRequests);
/** [4.5] Without `X-Total-Count`, because counting would read the whole history (1.6). */
export const requestRoutes = new Hono<AuthEnv>()
  .get('/', canRead(list), query(requestQuery), async (c) => {
    const { limit, ...filter } = c.req.valid('query');
    const { rows, hasMore } = await listRecords(databaseOf(c), filter, limit ?? MAX_PAGE_OBJECTS);
    linkNextPage(c, hasMore ? rows.at(-1)?.id : undefined);
    return jsonResponse(c, rows.map(toRequest));
  })
  .get('/:id', canRead(get), pathId, async (c) => {
    const row = await findRecord(databaseOf(c), c.req.valid('param').id);
    if (!row) throw notFound('License request');
    // A record never changes.
    return objectResponse(c, { revision: 1 }, toRequest(row));
  });
