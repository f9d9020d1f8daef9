import { Hono } from 'hono';
import { INTENTS } from '../../auth/intents';
import { type AuthEnv, requireIntents, writerOf } from '../../auth/middleware';
import { isUniqueViolation } from '../../db/client';
import { ApiError, notFound } from '../../http/errors';
import { createdResponse, objectResponse } from '../../http/etag';
import { body, pathId, query } from '../../http/input';
import { checkSameId, optimisticUpdate } from '../../http/optimistic-update';
import { listResponse } from '../../http/pagination';
import {
  deleteEntry,
  findEntry,
  insertEntry,
  listEntries,
  updateEntry,
} from '../../resources/blacklists/queries';
import { entryOf } from '../../resources/blacklists/rules';
import {
  type EntryRow,
  entryCreate,
  entryQuery,
  entryUpdate,
  toEntry,
} from '../../resources/blacklists/schema';
import { rejectUnknownProduct } from '../../resources/products/rules';
import { createOnce, restoreRow } from './create-once';
import { databaseOf } from './database';

function rejectDuplicate(error: unknown): never {
  throw isUniqueViolation(error) ? new ApiError(409, 'The same entry exists already') : error;
}

const canRead = requireIntents(INTENTS.readBlacklists);
const canWrite = requireIntents(INTENTS.writeBlacklists);

/** [4.4] */
export const blacklistRoutes = new Hono<AuthEnv>()
  .get('/', canRead, query(entryQuery), (c) => {
    const filter = c.req.valid('query');
    return listResponse(c, filter, listEntries(databaseOf(c), filter), toEntry);
  })
  .get('/:id', canRead, pathId, async (c) => {
    const row = await findEntry(databaseOf(c), c.req.valid('param').id);
    if (!row) throw notFound('Blacklist entry');
    return objectResponse(c, row, toEntry(row));
  })
  .post('/', canWrite, body(entryCreate), (c) => {
    const values = entryOf(c.req.valid('json'));
    return createOnce(c, {
      create: (writer) =>
        insertEntry(writer, values, Date.now()).catch(rejectDuplicate).catch(rejectUnknownProduct),
      restore: restoreRow<EntryRow>,
      respond: (row) => createdResponse(c, 'blacklists', row, toEntry(row)),
    });
  })
  .put('/:id', canWrite, pathId, body(entryUpdate), async (c) => {
    const db = databaseOf(c);
    const { id } = c.req.valid('param');
    const changes = c.req.valid('json');
    checkSameId(id, changes.id);
    const row = await optimisticUpdate(c, {
      name: 'Blacklist entry',
      read: () => findEntry(db, id),
      write: (current) => {
        // A product in the body makes the entry one for this product.
        const isForAllProducts = current.productId === null && changes.productId == null;
        const values = entryOf({ isForAllProducts, ...current, ...changes });
        return updateEntry(writerOf(c), current, values, Date.now())
          .catch(rejectDuplicate)
          .catch(rejectUnknownProduct);
      },
    });
    return objectResponse(c, row, toEntry(row));
  })
  .delete('/:id', canWrite, pathId, async (c) => {
    const db = databaseOf(c);
    await optimisticUpdate(c, {
      name: 'Blacklist entry',
      read: () => findEntry(db, c.req.valid('param').id),
      write: (current) => deleteEntry(writerOf(c), current, Date.now()),
    });
    return c.body(null, 204);
  });
