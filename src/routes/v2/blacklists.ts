import { entry, entryCreate, entryQuery, entryUpdate } from '@licet/contract/blacklists';
import { INTENTS } from '@licet/contract/intents';
import { sharedHwid } from '@licet/contract/shared-hwids';
import { type Context, Hono } from 'hono';
import { type AuthEnv, databaseOf, requireIntents } from '../../auth/middleware.ts';
import { notFound } from '../../http/errors.ts';
import { body, idempotencyKey, ifMatch, pathId, query } from '../../http/input.ts';
import { operationsOn } from '../../http/operation.ts';
import { listResponse } from '../../http/pagination.ts';
import {
  deleteEntry,
  findEntry,
  insertEntry,
  listEntries,
  toEntry,
  updateEntry,
} from '../../resources/blacklists/queries.ts';
import { type EntryRow, entryOf } from '../../resources/blacklists/rules.ts';
import {
  createdResponse,
  createOnce,
  objectResponse,
  optimisticUpdate,
  theOne,
} from './objects.ts';

const canRead = requireIntents(INTENTS.readBlacklists);
const canWrite = requireIntents(INTENTS.writeBlacklists);

const { list, get, create, update, remove } = operationsOn({
  tag: 'Blacklists',
  names: ['BlacklistEntry', 'BlacklistEntries'],
  one: 'a blacklist entry',
  many: 'blacklist entries',
  section: '[4.4]',
  body: entry,
  creating:
    'An entry that exists already returns 409. A hardware ID that many machines share is stored, and `Warning` says so.',
  warns: true,
  deleting: 'It no longer blocks.',
});

/** Says in the header `Warning` that the entry refuses many machines, where a person would be asked (7). */
function warnIfShared(c: Context, { licenseDataType, data }: EntryRow): void {
  const why = licenseDataType === 'HWID' ? sharedHwid(data) : undefined;
  if (why) c.header('Warning', `299 - "Many machines share data: ${why}"`);
}

/** [4.4] */
export const blacklistRoutes = new Hono<AuthEnv>()
  .get('/', canRead(list), query(entryQuery), (c) => {
    const filter = c.req.valid('query');
    return listResponse(c, filter, listEntries(databaseOf(c), filter), toEntry);
  })
  .get('/:id', canRead(get), pathId, async (c) => {
    const row = await findEntry(databaseOf(c), c.req.valid('param').id);
    if (!row) throw notFound('Blacklist entry');
    return objectResponse(c, row, toEntry(row));
  })
  .post('/', canWrite(create), body(entryCreate), idempotencyKey, (c) => {
    const values = entryOf(c.req.valid('json'));
    return createOnce(c, {
      create: (sender) => insertEntry(sender, values),
      find: theOne(findEntry),
      respond: (row) => {
        warnIfShared(c, row);
        return createdResponse(c, 'blacklists', row, toEntry(row));
      },
    });
  })
  .put('/:id', canWrite(update), pathId, ifMatch, body(entryUpdate), async (c) => {
    const changes = c.req.valid('json');
    const row = await optimisticUpdate(c, {
      name: 'Blacklist entry',
      bodyId: changes.id,
      find: findEntry,
      write: (sender, current) => {
        // A product in the body makes the entry one for this product.
        const isForAllProducts = current.productId === null && changes.productId == null;
        const values = entryOf({ isForAllProducts, ...current, ...changes }, current);
        return updateEntry(sender, current, values);
      },
    });
    warnIfShared(c, row);
    return objectResponse(c, row, toEntry(row));
  })
  .delete('/:id', canWrite(remove), pathId, ifMatch, async (c) => {
    await optimisticUpdate(c, { name: 'Blacklist entry', find: findEntry, write: deleteEntry });
    return c.body(null, 204);
  });
