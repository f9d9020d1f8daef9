import { INTENTS } from '@licet/contract/intents';
import {
  installationQuery,
  type LicenseQuery,
  license,
  licenseBatch,
  licenseCreate,
  licensePaths,
  licenseQuery,
  licenseRotate,
  licenseTransfer,
  licenseUpdate,
  slot,
} from '@licet/contract/licenses';
import { MAX_BATCH_LICENSES, MAX_BATCH_TEXT_BYTES } from '@licet/contract/limits';
import { mailAction } from '@licet/contract/mail';
import { installation } from '@licet/contract/requests';
import { type Context, Hono } from 'hono';
import type * as z from 'zod';
import { type AuthEnv, databaseOf, hasIntent, requireIntents } from '../../auth/middleware.ts';
import { only, type Sender } from '../../db/change.ts';
import type { Page } from '../../db/predicates.ts';
import { ApiError, notFound } from '../../http/errors.ts';
import {
  body,
  idempotencyKey,
  ifMatch,
  ifMatchOnce,
  path,
  pathId,
  query,
} from '../../http/input.ts';
import { jsonResponse } from '../../http/json.ts';
import { type Operation, operationsOn } from '../../http/operation.ts';
import { listResponse, pageOf } from '../../http/pagination.ts';
import { jsonBytesOf } from '../../lib/bytes.ts';
import {
  listAddressesIn,
  listInstallations,
  MAX_INSTALLATIONS,
} from '../../requests/installations.ts';
import type { NamedOwner } from '../../resources/customers/owner.ts';
import { insertLicenses } from '../../resources/licenses/create.ts';
import {
  countLicenses,
  type LicenseFilter,
  type ListedLicense,
  listLicenses,
  readLongLicenses,
} from '../../resources/licenses/list.ts';
import {
  findLicense,
  findLicenseByKey,
  findLicenses,
  markLicenseDeleted,
  rotateLicenseKey,
  transferLicense,
  updateLicense,
} from '../../resources/licenses/queries.ts';
import { type LicenseRow, toLicense, valuesOf } from '../../resources/licenses/row.ts';
import {
  addressesToBind,
  checkLimits,
  normalizeLicenseKey,
  stateOf,
  updatedExpiryOf,
  withDefaults,
} from '../../resources/licenses/rules.ts';
import { listSlots } from '../../resources/licenses/slots.ts';
import { findProduct } from '../../resources/products/queries.ts';
import { unknownProduct } from '../../resources/products/rules.ts';
import { SEND_KEY, sendKey } from './mails.ts';
import {
  type ConditionalInput,
  createdResponse,
  createOnce,
  objectResponse,
  optimisticUpdate,
  type RepeatableInput,
  theOne,
} from './objects.ts';

const oneLicense = (c: Context, row: LicenseRow): Response =>
  objectResponse(c, row, toLicense(row, Date.now()));

async function licenseList(
  c: Context<AuthEnv>,
  { limit, after, total, ip, ...given }: LicenseFilter & LicenseQuery,
) {
  const db = databaseOf(c);
  const now = Date.now();
  const filter = {
    ...given,
    hidesKeys: c.get('actor').isMcp,
    ...(ip !== undefined && { addresses: await listAddressesIn(db, ip) }),
  };
  const list = {
    read: (page: Page) => listLicenses(db, filter, page, now),
    readLong: (rows: readonly ListedLicense[]) => readLongLicenses(db, rows),
    count: total === false ? undefined : () => countLicenses(db, filter, now),
  };
  return listResponse(c, { limit, after }, list, (row) => toLicense(row, now));
}

/** The customer that a body names (3); undefined if it has neither field, so that the owner fields decide. */
function namedOwnerIn(
  c: Context<AuthEnv>,
  id: number | null | undefined,
  email: string | null | undefined,
): NamedOwner | undefined {
  if (id === undefined && email === undefined) return undefined;
  if (typeof id === 'number') {
    return { id, email: email ?? null, mustBeShown: !hasIntent(c, INTENTS.readCustomers) };
  }
  return typeof email === 'string' ? { id: null, email } : null;
}

/** Creates licenses with the same values, all or none. */
async function createLicenses(
  c: Context<AuthEnv>,
  sender: Sender,
  body: z.output<typeof licenseCreate>,
  count: number,
): Promise<LicenseRow[]> {
  const { customerId, customerEmail, expiryDate: _, licenseStatus, ...rest } = body;
  const product = await findProduct(sender.db, rest.productId);
  if (!product) throw unknownProduct(rest.productId);
  const owner = namedOwnerIn(c, customerId ?? undefined, customerEmail ?? undefined);
  const values = {
    ...rest,
    ...withDefaults(body, product),
    state: stateOf(licenseStatus),
    ips: addressesToBind(rest.ips, [], sender.db.ipv6SlotPrefix),
  };
  checkLimits(values, { ips: [], hwids: [] }, sender.db.ipv6SlotPrefix);
  return insertLicenses(sender, values, owner, count);
}

/** Gives a license a new key, once for an `Idempotency-Key`. @param write stores the license with its new key */
const replaceKey = (
  c: Context<AuthEnv, string, ConditionalInput & RepeatableInput>,
  write: (sender: Sender, current: LicenseRow) => Promise<LicenseRow>,
): Promise<Response> =>
  createOnce(c, {
    create: (sender) =>
      optimisticUpdate(c, {
        name: 'License',
        find: findLicense,
        write: ({ now }, current) => write({ ...sender, now }, current),
      }),
    find: theOne(findLicense),
    respond: (row) => oneLicense(c, row),
  });

const canRead = requireIntents(INTENTS.readLicenses);
const canWrite = requireIntents(INTENTS.writeLicenses);

const { list, get, create, update, remove } = operationsOn({
  tag: 'Licenses',
  names: ['License', 'Licenses'],
  one: 'a license',
  many: 'licenses',
  section: '[4.3]',
  body: license,
  creating: 'The service makes the key. Omitted limits are those of the product.',
  deleting: 'It is marked `DELETED`, and stays readable; a PUT with another status restores it.',
});

const GET_BY_KEY: Operation = {
  ...get,
  operationId: 'getLicenseByKey',
  summary: 'Get a license by its key',
  description: `A key that was replaced returns 404; \`q\` of the list finds its license. ${get.description}`,
};

const listBy = (name: string, whose: string): Operation => ({
  ...list,
  operationId: `findLicensesBy${name}`,
  summary: `List licenses ${whose}`,
});

/** by-chat-id under its name in older clients (3). */
const BY_DISCORD_ID: Operation = {
  ...listBy('DiscordId', 'of an owner at Discord, for older clients'),
  description: 'The same as `by-chat-id`, under its name in older clients. An extension.',
  deprecated: true,
};

const INSTALLATIONS: Operation = {
  operationId: 'listInstallations',
  tag: 'Licenses',
  summary: 'List the installations of a license',
  description: `The machines that have asked with its key, the most recently seen first: at most ${MAX_INSTALLATIONS}, with \`limit\` a page. Machines without a record in the history are left out. An extension.`,
  success: {
    description: 'The installations.',
    headers: ['Link'],
    body: installation.array(),
  },
  errors: [404],
};

const SLOTS: Operation = {
  operationId: 'listSlots',
  tag: 'Licenses',
  summary: 'List the slots of a license',
  description:
    'The bound addresses and hardware IDs, in the order in which they were bound, each with its last use and the time from which it is idle. An extension.',
  success: { description: 'The slots that are taken.', body: slot.array() },
  errors: [404],
};

const BATCH: Operation = {
  operationId: 'createLicenses',
  tag: 'Licenses',
  summary: `Create up to ${MAX_BATCH_LICENSES} licenses at once`,
  description:
    'Creates `count` licenses with the same fields, each with a key of its own: all of them or none. 400 if `metadata` and `notes` of all of them would exceed 4 MB. An extension.',
  success: {
    status: 201,
    description: 'The new licenses, sorted by id.',
    body: license.array(),
  },
};

const NEW_KEY_SUCCESS: Operation['success'] = {
  description: 'The license with its new key.',
  headers: ['ETag'],
  body: license,
};

const ROTATE: Operation = {
  operationId: 'rotateLicenseKey',
  tag: 'Licenses',
  summary: 'Give a license a new key',
  description:
    'The replaced key is unknown from then on. Slots, history and id stay. 409 for a `DELETED` license. An extension.',
  success: NEW_KEY_SUCCESS,
};

const TRANSFER: Operation = {
  operationId: 'transferLicense',
  tag: 'Licenses',
  summary: 'Give a license a new owner',
  description:
    'Changes its customer, removes the accounts of the old owner, frees all slots and gives it a new key, all of it at once. 409 for a `DELETED` license. An extension.',
  success: NEW_KEY_SUCCESS,
};

/** [4.3] */
export const licenseRoutes = new Hono<AuthEnv>()
  .get('/', canRead(list), query(licenseQuery), (c) => licenseList(c, c.req.valid('query')))
  .post('/', canWrite(create), body(licenseCreate), idempotencyKey, (c) =>
    createOnce(c, {
      create: async (sender) => only(await createLicenses(c, sender, c.req.valid('json'), 1)),
      find: theOne(findLicense),
      respond: (row) => createdResponse(c, 'licenses', row, toLicense(row, Date.now())),
    }),
  )
  .post('/batch', canWrite(BATCH), body(licenseBatch), idempotencyKey, (c) => {
    const { count, ...values } = c.req.valid('json');
    // The lists of all licenses would not fit into memory.
    if (count > 1 && values.ips.length + values.hwids.length > 0) {
      throw new ApiError(400, 'ips and hwids must be empty for more than one license');
    }
    const most = Math.floor(MAX_BATCH_TEXT_BYTES / jsonBytesOf([values.metadata, values.notes]));
    if (count > 1 && count > most) {
      throw new ApiError(
        400,
        `metadata and notes are too long for ${count} licenses: create at most ${most} at once`,
        { field: 'metadata' },
      );
    }
    return createOnce(c, {
      create: (sender) => createLicenses(c, sender, values, count),
      find: findLicenses,
      respond(rows) {
        const now = Date.now();
        return jsonResponse(
          c,
          rows.map((row) => toLicense(row, now)),
          201,
        );
      },
    });
  })
  // Before the routes of one license, to which it is an id: it has no other methods.
  .all('/batch', (c) => c.notFound())
  .get('/:id', canRead(get), pathId, async (c) => {
    const row = await findLicense(databaseOf(c), c.req.valid('param').id);
    if (!row) throw notFound('License');
    return oneLicense(c, row);
  })
  .get(
    '/:id/installations',
    canRead(INSTALLATIONS),
    pathId,
    query(installationQuery),
    async (c) => {
      const { id } = c.req.valid('param');
      const installations = await listInstallations(databaseOf(c), id, Date.now());
      if (!installations) throw notFound('License');
      return jsonResponse(c, pageOf(c, installations, c.req.valid('query')));
    },
  )
  .get('/:id/slots', canRead(SLOTS), pathId, async (c) => {
    const slots = await listSlots(databaseOf(c), c.req.valid('param').id, Date.now());
    if (!slots) throw notFound('License');
    return jsonResponse(c, slots);
  })
  .post('/:id/rotate', canWrite(ROTATE), pathId, ifMatchOnce, body(licenseRotate), (c) =>
    replaceKey(c, rotateLicenseKey),
  )
  .post('/:id/transfer', canWrite(TRANSFER), pathId, ifMatchOnce, body(licenseTransfer), (c) => {
    const { customerId, customerEmail } = c.req.valid('json');
    const owner = namedOwnerIn(c, customerId, customerEmail) ?? null;
    return replaceKey(c, (sender, current) => transferLicense(sender, current, owner));
  })
  .post('/:id/send-key', canWrite(SEND_KEY), pathId, body(mailAction), idempotencyKey, sendKey)
  .get('/by-license-key/:licenseKey', canRead(GET_BY_KEY), path(licensePaths.key), async (c) => {
    const row = await findLicenseByKey(databaseOf(c), c.req.valid('param').licenseKey);
    if (!row) throw notFound('License');
    return oneLicense(c, row);
  })
  .get(
    '/by-customer-email/:email',
    canRead(listBy('CustomerEmail', 'of the customer with an e-mail')),
    path(licensePaths.email),
    query(licenseQuery),
    (c) => licenseList(c, { ...c.req.valid('query'), customerEmail: c.req.valid('param').email }),
  )
  .get(
    '/by-platform/:platform/:platformId',
    canRead(listBy('Platform', 'of an owner on a platform')),
    path(licensePaths.owner),
    query(licenseQuery),
    (c) => licenseList(c, { ...c.req.valid('query'), owner: c.req.valid('param') }),
  )
  .get(
    '/by-customer-id/:customerId',
    canRead(listBy('CustomerId', 'of a customer')),
    path(licensePaths.customer),
    query(licenseQuery),
    (c) => licenseList(c, { ...c.req.valid('query'), ...c.req.valid('param') }),
  )
  .get(
    '/by-product-id/:productId',
    canRead(listBy('ProductId', 'for a product')),
    path(licensePaths.product),
    query(licenseQuery.omit({ productId: true })),
    (c) => licenseList(c, { ...c.req.valid('query'), ...c.req.valid('param') }),
  )
  .get(
    '/by-chat-id/:chatId',
    canRead(listBy('ChatId', 'of an owner at Discord')),
    path(licensePaths.chat),
    query(licenseQuery),
    (c) => licenseList(c, { ...c.req.valid('query'), ...c.req.valid('param') }),
  )
  .get(
    '/by-discord-id/:chatId',
    canRead(BY_DISCORD_ID),
    path(licensePaths.chat),
    query(licenseQuery),
    (c) => licenseList(c, { ...c.req.valid('query'), ...c.req.valid('param') }),
  )
  .put('/:id', canWrite(update), pathId, ifMatch, body(licenseUpdate), async (c) => {
    const { id: bodyId, customerId, customerEmail, ...fields } = c.req.valid('json');
    const { licenseKey, expiryDate, expiresAfterDays, licenseStatus, ...changes } = fields;
    const owner = namedOwnerIn(c, customerId, customerEmail);
    const row = await optimisticUpdate(c, {
      name: 'License',
      bodyId,
      find: findLicense,
      write: (sender, current) => {
        if (
          licenseKey !== undefined &&
          normalizeLicenseKey(licenseKey) !== current.licenseKeyNormalized
        ) {
          throw new ApiError(400, 'licenseKey cannot be changed', { field: 'licenseKey' });
        }
        const licenseType = changes.licenseType ?? current.licenseType;
        const { ipv6SlotPrefix } = sender.db;
        const values = {
          ...valuesOf(current),
          ...changes,
          ...updatedExpiryOf(current, licenseType, { expiryDate, expiresAfterDays }),
          state: licenseStatus === undefined ? current.state : stateOf(licenseStatus),
          ips: addressesToBind(changes.ips ?? current.ips, current.ips, ipv6SlotPrefix),
        };
        checkLimits(values, current, ipv6SlotPrefix);
        return updateLicense(sender, current, values, owner);
      },
    });
    return oneLicense(c, row);
  })
  .delete('/:id', canWrite(remove), pathId, ifMatch, async (c) => {
    await optimisticUpdate(c, { name: 'License', find: findLicense, write: markLicenseDeleted });
    return c.body(null, 204);
  });
