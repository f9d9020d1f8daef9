import { Hono } from 'hono';
import * as z from 'zod';
import { INTENTS } from '../../auth/intents';
import { type AuthEnv, requireIntents, writerOf } from '../../auth/middleware';
import { isUniqueViolation } from '../../db/client';
import { ApiError, notFound } from '../../http/errors';
import { setETag } from '../../http/etag';
import { body, path, query } from '../../http/input';
import { change, checkSameId } from '../../http/optimistic-update';
import { listResponse, pageQuery, searchText } from '../../http/pagination';
import { idText, licenseDataType } from '../../lib/fields';
import {
  countBlacklists,
  deleteBlacklist,
  findBlacklist,
  insertBlacklist,
  listBlacklists,
  updateBlacklist,
} from '../../resources/blacklists/queries';
import { entryOf } from '../../resources/blacklists/rules';
import { blacklistCreate, blacklistUpdate, toBlacklist } from '../../resources/blacklists/schema';
import { refuseUnknownProduct } from '../../resources/products/rules';
import { databaseOf } from './database';

const blacklistPath = z.object({ id: idText });
const blacklistQuery = z.strictObject({
  ...pageQuery,
  licenseDataType: licenseDataType.optional(),
  productId: idText.optional(),
  q: searchText,
});

function refuseDoubles(error: unknown): never {
  throw isUniqueViolation(error) ? new ApiError(409, 'The same entry exists already') : error;
}

/** [4.4] */
export const blacklistRoutes = new Hono<AuthEnv>()
  .get('/', requireIntents(INTENTS.readBlacklists), query(blacklistQuery), (c) => {
    const db = databaseOf(c);
    const filter = c.req.valid('query');
    return listResponse(c, filter, {
      read: (page) => listBlacklists(db, filter, page),
      count: () => countBlacklists(db, filter),
      id: (row) => row.id,
      toWire: toBlacklist,
    });
  })
  .get('/:id', requireIntents(INTENTS.readBlacklists), path(blacklistPath), async (c) => {
    const row = await findBlacklist(databaseOf(c), c.req.valid('param').id);
    if (!row) throw notFound('Blacklist entry');
    setETag(c, row);
    return c.json(toBlacklist(row));
  })
  .post('/', requireIntents(INTENTS.writeBlacklists), body(blacklistCreate), async (c) => {
    const values = entryOf(c.req.valid('json'));
    const row = await insertBlacklist(writerOf(c), values, Date.now())
      .catch(refuseDoubles)
      .catch(refuseUnknownProduct);
    setETag(c, row);
    return c.json(toBlacklist(row), 201, { Location: `/api/v2/blacklists/${row.id}` });
  })
  .put(
    '/:id',
    requireIntents(INTENTS.writeBlacklists),
    path(blacklistPath),
    body(blacklistUpdate),
    async (c) => {
      const db = databaseOf(c);
      const { id } = c.req.valid('param');
      const changes = c.req.valid('json');
      checkSameId(id, changes.id);
      const row = await change(c, {
        what: 'Blacklist entry',
        read: () => findBlacklist(db, id),
        write: (current) => {
          // A product alone says that the entry is for it.
          const isForAllProducts = current.productId === null && changes.productId == null;
          const values = entryOf({ isForAllProducts, ...current, ...changes });
          return updateBlacklist(writerOf(c), current, values, Date.now())
            .catch(refuseDoubles)
            .catch(refuseUnknownProduct);
        },
      });
      setETag(c, row);
      return c.json(toBlacklist(row));
    },
  )
  .delete('/:id', requireIntents(INTENTS.writeBlacklists), path(blacklistPath), async (c) => {
    const db = databaseOf(c);
    await change(c, {
      what: 'Blacklist entry',
      read: () => findBlacklist(db, c.req.valid('param').id),
      write: (current) => deleteBlacklist(writerOf(c), current, Date.now()),
    });
    return c.body(null, 204);
  });
