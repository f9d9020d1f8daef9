import { Hono } from 'hono';
import * as z from 'zod';
import { INTENTS } from '../../auth/intents';
import { type AuthEnv, requireIntents, writerOf } from '../../auth/middleware';
import { isUniqueViolation } from '../../db/client';
import { ApiError, notFound } from '../../http/errors';
import { setETag } from '../../http/etag';
import { body, path, query } from '../../http/input';
import { checkSameId, optimisticUpdate } from '../../http/optimistic-update';
import { listResponse, pageQuery, searchText } from '../../http/pagination';
import { idText } from '../../lib/fields';
import {
  countCustomers,
  findCustomer,
  listCustomers,
  updateCustomer,
} from '../../resources/customers/queries';
import { customerUpdate, toCustomer } from '../../resources/customers/schema';
import { databaseOf } from './database';

const customerPath = z.object({ id: idText });

/** [4.5], and PUT as an extension. */
export const customerRoutes = new Hono<AuthEnv>()
  .get(
    '/',
    requireIntents(INTENTS.readCustomers),
    query(z.strictObject({ ...pageQuery, q: searchText })),
    (c) => {
      const db = databaseOf(c);
      const filter = c.req.valid('query');
      return listResponse(c, filter, {
        read: (page) => listCustomers(db, filter, page),
        count: () => countCustomers(db, filter),
        id: (row) => row.id,
        toWire: toCustomer,
      });
    },
  )
  .get('/:id', requireIntents(INTENTS.readCustomers), path(customerPath), async (c) => {
    const row = await findCustomer(databaseOf(c), c.req.valid('param').id);
    if (!row) throw notFound('Customer');
    setETag(c, row);
    return c.json(toCustomer(row));
  })
  .put(
    '/:id',
    requireIntents(INTENTS.everything),
    path(customerPath),
    body(customerUpdate),
    async (c) => {
      const db = databaseOf(c);
      const { id } = c.req.valid('param');
      const { id: bodyId, ...changes } = c.req.valid('json');
      checkSameId(id, bodyId);
      const row = await optimisticUpdate(c, {
        name: 'Customer',
        read: () => findCustomer(db, id),
        write: async (current) => {
          try {
            return await updateCustomer(writerOf(c), current, changes);
          } catch (error) {
            if (!isUniqueViolation(error)) throw error;
            throw new ApiError(409, 'The e-mail or an account belongs to another customer');
          }
        },
      });
      setETag(c, row);
      return c.json(toCustomer(row));
    },
  );
