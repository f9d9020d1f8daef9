import { INTENTS } from '@licet/contract/intents';
import { MAX_PAGE_DELIVERIES } from '@licet/contract/limits';
import {
  market,
  marketCreate,
  marketDelivery,
  marketDeliveryQuery,
  marketQuery,
  marketUpdate,
} from '@licet/contract/markets';
import { type Context, Hono } from 'hono';
import { type AuthEnv, databaseOf, hasIntent, requireIntents } from '../../auth/middleware.ts';
import {
  deleteMarket,
  findMarket,
  insertMarket,
  toMarket,
  updateMarket,
} from '../../channels/markets/queries.ts';
import { listDeliveries } from '../../channels/markets/received.ts';
import type { MarketRow } from '../../channels/markets/source.ts';
import { findUsedMarket, listMarkets, type MarketUse, UNUSED } from '../../channels/markets/use.ts';
import { notFound } from '../../http/errors.ts';
import { body, idempotencyKey, ifMatch, pathId, query } from '../../http/input.ts';
import { jsonResponse } from '../../http/json.ts';
import { type Operation, operationsOn } from '../../http/operation.ts';
import { linkNextPage, listResponse } from '../../http/pagination.ts';
import { publicUrlOf } from '../../lib/public-url.ts';
import { servicesOf } from '../../services.ts';
import { createdResponse, createOnce, objectResponse, optimisticUpdate } from './objects.ts';

const canRead = requireIntents(INTENTS.readMarkets);
const canWrite = requireIntents(INTENTS.everything);

const { list, get, create, update, remove } = operationsOn({
  tag: 'Markets',
  names: ['Market', 'Markets'],
  one: 'a market',
  many: 'markets',
  section: 'An extension.',
  body: market,
  deleting: 'Its purchases and their licenses stay.',
});

const DELIVERIES: Operation = {
  operationId: 'listMarketDeliveries',
  tag: 'Markets',
  summary: 'List what arrived from a market',
  description: `Newest first, at most ${MAX_PAGE_DELIVERIES} a page. Kept for 30 days, without secrets. The total is not counted. An extension.`,
  success: { description: 'The requests.', headers: ['Link'], body: marketDelivery.array() },
  errors: [404],
};

/** A market for the client. Only tokens that can change it see the addresses: they hold a secret. */
function shown(c: Context<AuthEnv>, row: MarketRow, use: MarketUse) {
  const wire = toMarket(row, use, publicUrlOf(c.env, c.req.url));
  return hasIntent(c, INTENTS.everything) ? wire : { ...wire, addresses: [] };
}

/** Lets this isolate know a change at once. */
function changed(c: Context<AuthEnv>, row: MarketRow): MarketRow {
  servicesOf(c.env).markets.forget();
  return row;
}

/** Markets, an extension (9). */
export const marketRoutes = new Hono<AuthEnv>()
  .get('/', canRead(list), query(marketQuery), (c) =>
    listResponse(c, c.req.valid('query'), listMarkets(databaseOf(c), Date.now()), (row) =>
      shown(c, row, row),
    ),
  )
  .get('/:id', canRead(get), pathId, async (c) => {
    const row = await findUsedMarket(databaseOf(c), c.req.valid('param').id, Date.now());
    if (!row) throw notFound('Market');
    return objectResponse(c, row, shown(c, row, row));
  })
  .post('/', canWrite(create), body(marketCreate), idempotencyKey, (c) => {
    const { secrets = [], apiToken = null, ...values } = c.req.valid('json');
    return createOnce(c, {
      create: async (sender) =>
        changed(c, await insertMarket(sender, { ...values, secrets, apiToken })),
      respond: (row) => createdResponse(c, 'markets', row, shown(c, row, UNUSED)),
    });
  })
  .put('/:id', canWrite(update), pathId, ifMatch, body(marketUpdate), async (c) => {
    const { id: bodyId, ...changes } = c.req.valid('json');
    const row = await optimisticUpdate(c, {
      name: 'Market',
      bodyId,
      find: findMarket,
      write: (sender, current) => updateMarket(sender, current, changes),
    });
    return objectResponse(c, row, shown(c, changed(c, row), row));
  })
  .delete('/:id', canWrite(remove), pathId, ifMatch, async (c) => {
    await optimisticUpdate(c, { name: 'Market', find: findMarket, write: deleteMarket });
    servicesOf(c.env).markets.forget();
    return c.body(null, 204);
  })
  .get('/:id/deliveries', canRead(DELIVERIES), pathId, query(marketDeliveryQuery), async (c) => {
    const { id } = c.req.valid('param');
    const db = databaseOf(c);
    if (!(await findMarket(db, id))) throw notFound('Market');
    const { limit = MAX_PAGE_DELIVERIES, after } = c.req.valid('query');
    const { deliveries, next } = await listDeliveries(db, id, after, limit);
    linkNextPage(c, next);
    return jsonResponse(c, deliveries);
  });
