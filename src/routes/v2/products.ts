import { Hono } from 'hono';
import { INTENTS } from '../../auth/intents';
import { type AuthEnv, requireIntents, writerOf } from '../../auth/middleware';
import { ApiError, notFound } from '../../http/errors';
import { createdResponse, objectResponse } from '../../http/etag';
import { body, pathId, query } from '../../http/input';
import { checkSameId, optimisticUpdate } from '../../http/optimistic-update';
import { listResponse } from '../../http/pagination';
import { checkWebAddresses } from '../../resources/fields';
import {
  deleteProduct,
  findProduct,
  insertProduct,
  listProducts,
  updateProduct,
} from '../../resources/products/queries';
import {
  PRODUCT_ADDRESSES,
  type ProductRow,
  productCreate,
  productQuery,
  productUpdate,
  toProduct,
} from '../../resources/products/schema';
import { createOnce, restoreRow } from './create-once';
import { databaseOf } from './database';

const canRead = requireIntents(INTENTS.readProducts);
const canWrite = requireIntents(INTENTS.writeProducts);

/** [4.2] */
export const productRoutes = new Hono<AuthEnv>()
  .get('/', canRead, query(productQuery), (c) => {
    const filter = c.req.valid('query');
    return listResponse(c, filter, listProducts(databaseOf(c), filter), toProduct);
  })
  .get('/:id', canRead, pathId, async (c) => {
    const row = await findProduct(databaseOf(c), c.req.valid('param').id);
    if (!row) throw notFound('Product');
    return objectResponse(c, row, toProduct(row));
  })
  .post('/', canWrite, body(productCreate), (c) =>
    createOnce(c, {
      create: (writer) => insertProduct(writer, c.req.valid('json'), Date.now()),
      restore: restoreRow<ProductRow>,
      respond: (row) => createdResponse(c, 'products', row, toProduct(row)),
    }),
  )
  .put('/:id', canWrite, pathId, body(productUpdate), async (c) => {
    const db = databaseOf(c);
    const { id } = c.req.valid('param');
    const { id: bodyId, ...changes } = c.req.valid('json');
    checkSameId(id, bodyId);
    const row = await optimisticUpdate(c, {
      name: 'Product',
      read: () => findProduct(db, id),
      write: (current) => {
        checkWebAddresses(PRODUCT_ADDRESSES, changes, current);
        return updateProduct(writerOf(c), current, changes, Date.now());
      },
    });
    return objectResponse(c, row, toProduct(row));
  })
  .delete('/:id', canWrite, pathId, async (c) => {
    const db = databaseOf(c);
    await optimisticUpdate(c, {
      name: 'Product',
      read: () => findProduct(db, c.req.valid('param').id),
      write: async (current) => {
        const result = await deleteProduct(writerOf(c), current, Date.now());
        if (result === 'in use') throw new ApiError(409, 'Product has licenses, cannot delete');
        return result === 'deleted' ? result : undefined;
      },
    });
    return c.body(null, 204);
  });
