import { DAY_MS } from '@licet/contract/durations';
import { INTENTS } from '@licet/contract/intents';
import { MAX_SALES_DAYS } from '@licet/contract/limits';
import { marketProduct } from '@licet/contract/markets';
import {
  purchase,
  purchaseCreate,
  purchaseGrant,
  purchaseIgnore,
  purchaseQuery,
  purchaseStatistics,
  purchaseStatisticsQuery,
} from '@licet/contract/purchases';
import { type Context, Hono } from 'hono';
import { type AuthEnv, databaseOf, requireIntents } from '../../auth/middleware.ts';
import { applyChoice } from '../../channels/markets/apply.ts';
import { ignorePurchase } from '../../channels/markets/ignore.ts';
import {
  findPurchase,
  type ListedPurchase,
  listPurchases,
  toPurchase,
} from '../../channels/markets/list.ts';
import { readSales } from '../../channels/markets/sales.ts';
import { findSellingMarket, type SellingMarket, sourceOf } from '../../channels/markets/source.ts';
import { type Sender, untilNotOvertaken } from '../../db/change.ts';
import { ApiError, notFound } from '../../http/errors.ts';
import { body, idempotencyKey, ifMatch, pathId, query } from '../../http/input.ts';
import { jsonResponse } from '../../http/json.ts';
import { type Operation, operationsOn } from '../../http/operation.ts';
import { listResponse } from '../../http/pagination.ts';
import { DomainError } from '../../lib/errors.ts';
import {
  createdResponse,
  createOnce,
  objectResponse,
  optimisticUpdate,
  theOne,
} from './objects.ts';

const canRead = requireIntents(INTENTS.readPurchases);
const canWrite = requireIntents(INTENTS.writePurchases);

const { list, get, create } = operationsOn({
  tag: 'Purchases',
  names: ['Purchase', 'Purchases'],
  one: 'a purchase',
  many: 'purchases',
  section: 'An extension.',
  body: purchase,
  listing: 'All of them, sorted by id or with `sort`; with `limit` a page.',
  creating:
    'For purchases from before, staff and gifts. 409 if the purchase is known: change its license instead.',
});

const GRANT: Operation = {
  operationId: 'grantPurchase',
  tag: 'Purchases',
  summary: 'Give a purchase its license',
  description:
    'An unmatched purchase gets a new license: of the sent product, or as the market now maps it. With `licenseId`, any purchase gets that license, and the market delivers its key. An extension.',
  success: { description: 'The purchase.', headers: ['ETag'], body: purchase },
  errors: [404, 409],
};

const IGNORE: Operation = {
  operationId: 'ignorePurchase',
  tag: 'Purchases',
  summary: 'Ignore a purchase that waits for a product',
  description:
    'It gets no license and is not reported again, whatever the market reports about it; that is kept. `isIgnored` false takes it back, and so does giving it a license. An extension.',
  success: { description: 'The purchase.', headers: ['ETag'], body: purchase },
  errors: [404, 409],
};
const STATISTICS: Operation = {
  operationId: 'getPurchaseStatistics',
  tag: 'Purchases',
  summary: 'Get the sales of a period',
  description: `The default period is the last 24 hours; the longest has ${MAX_SALES_DAYS} days. An extension.`,
  success: { description: 'The sales.', body: purchaseStatistics },
};

async function purchaseOf(c: Context<AuthEnv>, id: number): Promise<ListedPurchase> {
  const found = await findPurchase(databaseOf(c), id);
  if (!found) throw notFound('Purchase');
  return found;
}

const onePurchase = (c: Context<AuthEnv>, found: ListedPurchase): Response =>
  objectResponse(c, found, toPurchase(found));

async function marketOf(sender: Sender, id: number): Promise<SellingMarket> {
  const row = await findSellingMarket(sender.db, id);
  if (!row) throw new DomainError('invalid', `marketId ${id} does not exist`, 'marketId');
  return row;
}

const MARKET_IS_GONE = new DomainError(
  'conflict',
  'The market of the purchase is deleted, and delivers no key: create a license by hand',
);

/** Purchases at markets, an extension (9). */
export const purchaseRoutes = new Hono<AuthEnv>()
  .get('/', canRead(list), query(purchaseQuery), (c) => {
    const { limit, after, ...filter } = c.req.valid('query');
    return listResponse(c, { limit, after }, listPurchases(databaseOf(c), filter), toPurchase);
  })
  .get('/statistics', canRead(STATISTICS), query(purchaseStatisticsQuery), async (c) => {
    const { to = Date.now(), ...given } = c.req.valid('query');
    const { from = to - DAY_MS } = given;
    if (from > to) throw new ApiError(400, 'from must not be after to', { field: 'from' });
    if (to - from > MAX_SALES_DAYS * DAY_MS) {
      throw new ApiError(400, `from must be at most ${MAX_SALES_DAYS} days before to`, {
        field: 'from',
      });
    }
    return jsonResponse(c, await readSales(databaseOf(c), { from, to }));
  })
  .get('/:id', canRead(get), pathId, async (c) =>
    onePurchase(c, await purchaseOf(c, c.req.valid('param').id)),
  )
  .post('/', canWrite(create), body(purchaseCreate), idempotencyKey, (c) => {
    const { marketId, ...sent } = c.req.valid('json');
    return createOnce(c, {
      async create(sender) {
        const source = sourceOf(await marketOf(sender, marketId), c.env.PLATFORM_LABELS);
        return untilNotOvertaken(() => applyChoice(sender, source, { do: 'enter', ...sent }));
      },
      find: theOne(findPurchase),
      respond: (row) => createdResponse(c, 'purchases', row, toPurchase(row)),
    });
  })
  .post('/:id/ignore', canWrite(IGNORE), pathId, ifMatch, body(purchaseIgnore), async (c) => {
    const { isIgnored } = c.req.valid('json');
    const row = await optimisticUpdate(c, {
      name: 'Purchase',
      find: findPurchase,
      write: (sender, current) => ignorePurchase(sender, current, isIgnored),
    });
    return onePurchase(c, row);
  })
  .post('/:id/grant', canWrite(GRANT), pathId, ifMatch, body(purchaseGrant), async (c) => {
    const { licenseId, productId } = c.req.valid('json');
    const granted = await optimisticUpdate(c, {
      name: 'Purchase',
      find: findPurchase,
      async write(sender, row) {
        const market = await findSellingMarket(sender.db, row.marketId);
        if (!market) throw MARKET_IS_GONE;
        const source = sourceOf(market, c.env.PLATFORM_LABELS);
        const purchaseId = row.id;
        if (licenseId !== undefined) {
          return applyChoice(sender, source, { do: 'bind', purchaseId, licenseId });
        }
        const mapped =
          productId === undefined
            ? market.products.find(({ item }) => item === row.item)
            : marketProduct.parse({ item: row.item, productId });
        if (!mapped) {
          throw new DomainError(
            'missing',
            'productId or licenseId is required: the market maps no product to this item',
            'productId',
          );
        }
        return applyChoice(sender, source, { do: 'choose', purchaseId, mapped });
      },
    });
    return onePurchase(c, granted);
  });
