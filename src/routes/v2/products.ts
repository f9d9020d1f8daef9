import { INTENTS } from '@licet/contract/intents';
import {
  product,
  productCreate,
  productDelete,
  productFields,
  productQuery,
  productUpdate,
} from '@licet/contract/products';
import { Hono } from 'hono';
import { type AuthEnv, databaseOf, requireIntents } from '../../auth/middleware.ts';
import { checkUnsold } from '../../channels/markets/sold-products.ts';
import { notFound } from '../../http/errors.ts';
import { body, idempotencyKey, ifMatch, pathId, query } from '../../http/input.ts';
import { operationsOn } from '../../http/operation.ts';
import { listResponse } from '../../http/pagination.ts';
import { deleteProduct } from '../../resources/delete-product.ts';
import {
  findProduct,
  insertProduct,
  listProducts,
  toProduct,
  updateProduct,
} from '../../resources/products/queries.ts';
import { checkWebAddresses } from '../../resources/web-addresses.ts';
import {
  createdResponse,
  createOnce,
  objectResponse,
  optimisticUpdate,
  theOne,
} from './objects.ts';

const canRead = requireIntents(INTENTS.readProducts);
const canWrite = requireIntents(INTENTS.writeProducts);

const { list, get, create, update, remove } = operationsOn({
  tag: 'Products',
  names: ['Product', 'Products'],
  one: 'a product',
  many: 'products',
  section: '[4.2]',
  body: product,
  creating: 'Omitted fields have a default.',
  deleting:
    'All of its licenses must be `DELETED`. They are deleted with it. 409 if a market sells it, unless `evenIfSold` is true.',
});

/** [4.2] */
export const productRoutes = new Hono<AuthEnv>()
  .get('/', canRead(list), query(productQuery), (c) => {
    const filter = c.req.valid('query');
    return listResponse(c, filter, listProducts(databaseOf(c), filter), toProduct);
  })
  .get('/:id', canRead(get), pathId, async (c) => {
    const row = await findProduct(databaseOf(c), c.req.valid('param').id);
    if (!row) throw notFound('Product');
    return objectResponse(c, row, toProduct(row));
  })
  .post('/', canWrite(create), body(productCreate), idempotencyKey, (c) =>
    createOnce(c, {
      create: (sender) => insertProduct(sender, c.req.valid('json')),
      find: theOne(findProduct),
      respond: (row) => createdResponse(c, 'products', row, toProduct(row)),
    }),
  )
  .put('/:id', canWrite(update), pathId, ifMatch, body(productUpdate), async (c) => {
    const { id: bodyId, ...changes } = c.req.valid('json');
    const row = await optimisticUpdate(c, {
      name: 'Product',
      bodyId,
      find: findProduct,
      write: (sender, current) => {
        checkWebAddresses(productFields, changes, current);
        return updateProduct(sender, current, changes);
      },
    });
    return objectResponse(c, row, toProduct(row));
  })
  .delete('/:id', canWrite(remove), pathId, ifMatch, query(productDelete), async (c) => {
    const { evenIfSold } = c.req.valid('query');
    await optimisticUpdate(c, {
      name: 'Product',
      find: findProduct,
      async write(sender, row) {
        if (evenIfSold !== true) await checkUnsold(sender.db, row.id);
        await deleteProduct(sender, row);
      },
    });
    return c.body(null, 204);
  });
