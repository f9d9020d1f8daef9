import { Hono } from 'hono';
import * as z from 'zod';
import { INTENTS } from '../../auth/intents';
import { type AuthEnv, requireIntents, writerOf } from '../../auth/middleware';
import { ApiError, notFound } from '../../http/errors';
import { setETag } from '../../http/etag';
import { body, path, query } from '../../http/input';
import { checkSameId, optimisticUpdate } from '../../http/optimistic-update';
import { listResponse, pageQuery, searchText } from '../../http/pagination';
import { idText, productType } from '../../lib/fields';
import {
  countProducts,
  deleteProduct,
  findProduct,
  insertProduct,
  listProducts,
  updateProduct,
} from '../../resources/products/queries';
import {
  type ProductRow,
  productCreate,
  productUpdate,
  toProduct,
} from '../../resources/products/schema';
import { createOnce, restoreRow } from './create-once';
import { databaseOf } from './database';

const productPath = z.object({ id: idText });
const productQuery = z.strictObject({
  ...pageQuery,
  productType: productType.optional(),
  q: searchText,
});

/** [4.2] */
export const productRoutes = new Hono<AuthEnv>()
  .get('/', requireIntents(INTENTS.readProducts), query(productQuery), (c) => {
    const db = databaseOf(c);
    const filter = c.req.valid('query');
    return listResponse(c, filter, {
      read: (page) => listProducts(db, filter, page),
      count: () => countProducts(db, filter),
      id: (row) => row.id,
      toWire: toProduct,
    });
  })
  .get('/:id', requireIntents(INTENTS.readProducts), path(productPath), async (c) => {
    const row = await findProduct(databaseOf(c), c.req.valid('param').id);
    if (!row) throw notFound('Product');
    setETag(c, row);
    return c.json(toProduct(row));
  })
  .post('/', requireIntents(INTENTS.writeProducts), body(productCreate), (c) =>
    createOnce(c, {
      create: (writer) => insertProduct(writer, c.req.valid('json'), Date.now()),
      restore: restoreRow<ProductRow>,
      respond(row) {
        setETag(c, row);
        return c.json(toProduct(row), 201, { Location: `/api/v2/products/${row.id}` });
      },
    }),
  )
  .put(
    '/:id',
    requireIntents(INTENTS.writeProducts),
    path(productPath),
    body(productUpdate),
    async (c) => {
      const db = databaseOf(c);
      const { id } = c.req.valid('param');
      const { id: bodyId, ...changes } = c.req.valid('json');
      checkSameId(id, bodyId);
      const row = await optimisticUpdate(c, {
        name: 'Product',
        read: () => findProduct(db, id),
        write: (current) => updateProduct(writerOf(c), current, changes, Date.now()),
      });
      setETag(c, row);
      return c.json(toProduct(row));
    },
  )
  .delete('/:id', requireIntents(INTENTS.writeProducts), path(productPath), async (c) => {
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
