import { Hono } from 'hono';
import * as z from 'zod';
import { INTENTS } from '../../auth/intents';
import { type AuthEnv, requireIntents } from '../../auth/middleware';
import {
  countBlacklists,
  deleteBlacklist,
  findBlacklist,
  insertBlacklist,
  listBlacklists,
  updateBlacklist,
} from '../../blacklists/queries';
import {
  type BlacklistValues,
  blacklistCreate,
  blacklistUpdate,
  canonicalData,
  toBlacklist,
} from '../../blacklists/schema';
import { isForeignKeyViolation, isUniqueViolation, openDatabase } from '../../db/client';
import { LICENSE_DATA_TYPES } from '../../enums';
import { idText } from '../../fields';
import { ApiError, notFound } from '../errors';
import { change, checkSameId } from './change';
import { setETag } from './etag';
import { body, path, query } from './input';
import { listResponse, pageQuery, searchText } from './list';

const blacklistPath = z.object({ id: idText });
const blacklistQuery = z.strictObject({
  ...pageQuery,
  licenseDataType: z.enum(LICENSE_DATA_TYPES).optional(),
  productId: idText.optional(),
  q: searchText,
});

/** The entry to store, or 400: what an entry is made of depends on more than one field. */
function storable(values: BlacklistValues & { isForAllProducts: boolean }): BlacklistValues {
  const { licenseDataType, reason, isForAllProducts } = values;
  const data = canonicalData(licenseDataType, values.data);
  if (data === null) throw new ApiError(400, 'data must be an IP address or a CIDR range');
  if (isForAllProducts) return { licenseDataType, data, productId: null, reason };
  if (values.productId === null) {
    throw new ApiError(400, 'productId is required when isForAllProducts is false');
  }
  return { licenseDataType, data, productId: values.productId, reason };
}

async function refuseConflicts<Result>(write: Promise<Result>): Promise<Result> {
  try {
    return await write;
  } catch (error) {
    if (isUniqueViolation(error)) throw new ApiError(409, 'The same entry exists already');
    if (isForeignKeyViolation(error)) throw new ApiError(400, 'productId is not a product');
    throw error;
  }
}

/** [4.4] */
export const blacklistRoutes = new Hono<AuthEnv>()
  .get('/', requireIntents(INTENTS.readBlacklists), query(blacklistQuery), (c) => {
    const db = openDatabase(c.env.DB);
    const { limit, after, ...filter } = c.req.valid('query');
    return listResponse(
      c,
      { limit, after },
      {
        read: (page) => listBlacklists(db, filter, page),
        count: () => countBlacklists(db, filter),
        id: (row) => row.id,
        toWire: toBlacklist,
      },
    );
  })
  .get('/:id', requireIntents(INTENTS.readBlacklists), path(blacklistPath), async (c) => {
    const row = await findBlacklist(openDatabase(c.env.DB), c.req.valid('param').id);
    if (!row) throw notFound('Blacklist entry');
    setETag(c, row);
    return c.json(toBlacklist(row));
  })
  .post('/', requireIntents(INTENTS.writeBlacklists), body(blacklistCreate), async (c) => {
    const values = storable(c.req.valid('json'));
    const row = await refuseConflicts(insertBlacklist(openDatabase(c.env.DB), values, Date.now()));
    setETag(c, row);
    return c.json(toBlacklist(row), 201, { Location: `/api/v2/blacklists/${row.id}` });
  })
  .put(
    '/:id',
    requireIntents(INTENTS.writeBlacklists),
    path(blacklistPath),
    body(blacklistUpdate),
    async (c) => {
      const db = openDatabase(c.env.DB);
      const { id } = c.req.valid('param');
      const changes = c.req.valid('json');
      checkSameId(id, changes.id);
      const row = await change(c, {
        what: 'Blacklist entry',
        read: () => findBlacklist(db, id),
        write: (current) => {
          // A product alone says that the entry is for it.
          const isForAllProducts = current.productId === null && changes.productId == null;
          const values = storable({ isForAllProducts, ...current, ...changes });
          return refuseConflicts(updateBlacklist(db, current, values, Date.now()));
        },
      });
      setETag(c, row);
      return c.json(toBlacklist(row));
    },
  )
  .delete('/:id', requireIntents(INTENTS.writeBlacklists), path(blacklistPath), async (c) => {
    const db = openDatabase(c.env.DB);
    await change(c, {
      what: 'Blacklist entry',
      read: () => findBlacklist(db, c.req.valid('param').id),
      write: (current) => deleteBlacklist(db, current),
    });
    return c.body(null, 204);
  });
