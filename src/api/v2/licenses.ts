import { type Context, Hono } from 'hono';
import * as z from 'zod';
import { INTENTS } from '../../auth/intents';
import { type AuthEnv, requireIntents } from '../../auth/middleware';
import { type Database, isForeignKeyViolation, openDatabase } from '../../db/client';
import { LICENSE_PLATFORMS, LICENSE_STATUSES, LICENSE_TYPES } from '../../enums';
import { idText, text } from '../../fields';
import {
  countLicenses,
  findLicense,
  findLicenseByKey,
  insertLicense,
  type LicenseFilter,
  type LicenseValues,
  listLicenses,
  markLicenseDeleted,
  updateLicense,
} from '../../licenses/queries';
import { type LicenseRow, licenseCreate, licenseUpdate, toLicense } from '../../licenses/schema';
import { findProduct } from '../../products/queries';
import { foldLicenseKey } from '../../validation/request';
import { ApiError, notFound } from '../errors';
import { change, checkSameId } from './change';
import { setETag } from './etag';
import { body, path, query } from './input';
import { listResponse, type Page, pageQuery, searchText } from './list';

const licensePath = z.object({ id: idText });
const licenseQuery = z.strictObject({
  ...pageQuery,
  licenseStatus: z.enum(LICENSE_STATUSES).optional(),
  licenseType: z.enum(LICENSE_TYPES).optional(),
  productId: idText.optional(),
  q: searchText,
});

const unknownProduct = () => new ApiError(400, 'productId is not a product');

async function refuseUnknownProduct<Result>(write: Promise<Result>): Promise<Result> {
  try {
    return await write;
  } catch (error) {
    throw isForeignKeyViolation(error) ? unknownProduct() : error;
  }
}

/** The states that people set; on write EXPIRED means no more than ACTIVE [3]. */
const stateOf = (status: (typeof LICENSE_STATUSES)[number]): LicenseValues['state'] =>
  status === 'EXPIRED' ? 'ACTIVE' : status;

/** A PERMANENT license has no expiry, whatever was sent; a TEMPORARY one needs it [3]. */
function expiryOf(licenseType: LicenseValues['licenseType'], expiresAt: number | null) {
  if (licenseType === 'PERMANENT') return null;
  if (expiresAt !== null) return expiresAt;
  throw new ApiError(400, 'expiryDate is required for a TEMPORARY license');
}

/** Values that are bound already may exceed a lowered limit; new ones may not. */
function checkLimit(
  name: string,
  values: readonly string[],
  bound: readonly string[],
  limitName: string,
  limit: number,
): void {
  if (limit === -1 || values.length <= limit) return;
  if (values.some((value) => !bound.includes(value))) {
    throw new ApiError(
      400,
      `${name} must be at most ${limit} in number, the limit in ${limitName}`,
    );
  }
}

function checkLimits(values: LicenseValues, bound: Pick<LicenseValues, 'ips' | 'hwids'>): void {
  checkLimit('ips', values.ips, bound.ips, 'maxIPs', values.maxIPs);
  checkLimit('hwids', values.hwids, bound.hwids, 'maxHWIDs', values.maxHWIDs);
}

function oneLicense(c: Context, row: LicenseRow) {
  setETag(c, row.license);
  return toLicense(row, Date.now());
}

function licenseList(c: Context<AuthEnv>, filter: LicenseFilter, { limit, after }: Page) {
  const db = openDatabase(c.env.DB);
  const now = Date.now();
  return listResponse(
    c,
    { limit, after },
    {
      read: (page) => listLicenses(db, filter, page, now),
      count: () => countLicenses(db, filter, now),
      id: (row) => row.license.id,
      toWire: (row) => toLicense(row, now),
    },
  );
}

const read = requireIntents(INTENTS.readLicenses);
const write = requireIntents(INTENTS.writeLicenses);

/** What {@link change} reads: a license whose revision is where it looks for it. */
const readForChange = (db: Database, id: number) => async () => {
  const row = await findLicense(db, id);
  return row && { ...row, revision: row.license.revision };
};

/** [4.3] */
export const licenseRoutes = new Hono<AuthEnv>()
  .get('/', read, query(licenseQuery), (c) => {
    const { limit, after, ...filter } = c.req.valid('query');
    return licenseList(c, filter, { limit, after });
  })
  .get('/:id', read, path(licensePath), async (c) => {
    const row = await findLicense(openDatabase(c.env.DB), c.req.valid('param').id);
    if (!row) throw notFound('License');
    return c.json(oneLicense(c, row));
  })
  .post('/', write, body(licenseCreate), async (c) => {
    const db = openDatabase(c.env.DB);
    const { expiryDate, licenseStatus, maxIPs, maxHWIDs, ...rest } = c.req.valid('json');
    const product = await findProduct(db, rest.productId);
    if (!product) throw unknownProduct();
    const values = {
      ...rest,
      expiresAt: expiryOf(rest.licenseType, expiryDate),
      state: stateOf(licenseStatus),
      maxIPs: maxIPs ?? product.defaultMaxIPs,
      maxHWIDs: maxHWIDs ?? product.defaultMaxHWIDs,
    };
    checkLimits(values, { ips: [], hwids: [] });
    const row = await refuseUnknownProduct(insertLicense(db, values, Date.now()));
    const location = `/api/v2/licenses/${row.license.id}`;
    return c.json(oneLicense(c, row), 201, { Location: location });
  })
  .get('/by-license-key/:licenseKey', read, async (c) => {
    const row = await findLicenseByKey(openDatabase(c.env.DB), c.req.param('licenseKey'));
    if (!row) throw notFound('License');
    return c.json(oneLicense(c, row));
  })
  .get('/by-customer-email/:email', read, query(licenseQuery), (c) => {
    const { limit, after, ...filter } = c.req.valid('query');
    const customerEmail = c.req.param('email');
    return licenseList(c, { ...filter, customerEmail }, { limit, after });
  })
  .get(
    '/by-platform/:platform/:platformId',
    read,
    path(z.object({ platform: z.enum(LICENSE_PLATFORMS), platformId: text(255) })),
    query(licenseQuery),
    (c) => {
      const { limit, after, ...filter } = c.req.valid('query');
      const owner = c.req.valid('param');
      return licenseList(c, { ...filter, owner }, { limit, after });
    },
  )
  .get(
    '/by-customer-id/:customerId',
    read,
    path(z.object({ customerId: idText })),
    query(licenseQuery),
    (c) => {
      const { limit, after, ...filter } = c.req.valid('query');
      return licenseList(c, { ...filter, ...c.req.valid('param') }, { limit, after });
    },
  )
  .get(
    '/by-product-id/:productId',
    read,
    path(z.object({ productId: idText })),
    query(licenseQuery.omit({ productId: true })),
    (c) => {
      const { limit, after, ...filter } = c.req.valid('query');
      return licenseList(c, { ...filter, ...c.req.valid('param') }, { limit, after });
    },
  )
  .get('/by-chat-id/:chatId', read, query(licenseQuery), (c) => {
    const { limit, after, ...filter } = c.req.valid('query');
    return licenseList(c, { ...filter, ownerChatId: c.req.param('chatId') }, { limit, after });
  })
  .put('/:id', write, path(licensePath), body(licenseUpdate), async (c) => {
    const db = openDatabase(c.env.DB);
    const { id } = c.req.valid('param');
    const { id: bodyId, licenseKey, expiryDate, licenseStatus, ...changes } = c.req.valid('json');
    checkSameId(id, bodyId);
    const row = await change(c, {
      what: 'License',
      read: readForChange(db, id),
      write: (current) => {
        const { license } = current;
        if (licenseKey !== undefined && foldLicenseKey(licenseKey) !== license.licenseKeyFolded) {
          throw new ApiError(400, 'licenseKey cannot be changed');
        }
        const licenseType = changes.licenseType ?? license.licenseType;
        const values = {
          productId: license.productId,
          licensePlatform: license.licensePlatform,
          licensePlatformOther: license.licensePlatformOther,
          ownerPlatformId: license.ownerPlatformId,
          ownerChatId: license.ownerChatId,
          ownerChatUsername: license.ownerChatUsername,
          maxIPs: license.maxIPs,
          maxHWIDs: license.maxHWIDs,
          notes: license.notes,
          ips: current.ips,
          hwids: current.hwids,
          ...changes,
          licenseType,
          expiresAt: expiryOf(
            licenseType,
            expiryDate === undefined ? license.expiresAt : expiryDate,
          ),
          state: licenseStatus === undefined ? license.state : stateOf(licenseStatus),
        };
        checkLimits(values, current);
        return refuseUnknownProduct(updateLicense(db, current, values, Date.now()));
      },
    });
    return c.json(oneLicense(c, row));
  })
  .delete('/:id', write, path(licensePath), async (c) => {
    const db = openDatabase(c.env.DB);
    await change(c, {
      what: 'License',
      read: readForChange(db, c.req.valid('param').id),
      write: (current) => markLicenseDeleted(db, current, Date.now()),
    });
    return c.body(null, 204);
  });
