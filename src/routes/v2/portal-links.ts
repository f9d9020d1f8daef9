import { INTENTS } from '@licet/contract/intents';
import { portalLink, portalLinkCreate } from '@licet/contract/portal';
import { Hono } from 'hono';
import { type AuthEnv, databaseOf, requireIntents, senderIn } from '../../auth/middleware.ts';
import { createPortalLink } from '../../channels/portal/sessions.ts';
import type { Database } from '../../db/client.ts';
import { body } from '../../http/input.ts';
import { jsonResponse } from '../../http/json.ts';
import type { Operation } from '../../http/operation.ts';
import { DomainError } from '../../lib/errors.ts';
import { publicUrlOf } from '../../lib/public-url.ts';
import { findLicense } from '../../resources/licenses/queries.ts';

const CREATE: Operation = {
  operationId: 'createPortalLink',
  tag: 'Customers',
  summary: "Make a link to the customer's page",
  description:
    'It works once, for `validMinutes`. The page shows the licenses of the customer. It frees slots, and replaces leaked keys, as the product allows. An extension.',
  success: {
    status: 201,
    description: 'The link, which only this response shows.',
    body: portalLink,
  },
};

/** @throws DomainError for a license without a customer */
async function customerOf(db: Database, licenseId: number): Promise<number> {
  const row = await findLicense(db, licenseId);
  if (!row) throw new DomainError('invalid', `licenseId ${licenseId} does not exist`, 'licenseId');
  if (row.customerId === null) {
    const message = `licenseId ${licenseId} has no customer: give it one by customerEmail or customerId`;
    throw new DomainError('invalid', message, 'licenseId');
  }
  return row.customerId;
}

/** Links to the customer's page, an extension (10). */
export const portalLinkRoutes = new Hono<AuthEnv>().post(
  '/',
  requireIntents(INTENTS.writeLicenses)(CREATE),
  body(portalLinkCreate),
  async (c) => {
    const { customerId: named, licenseId, validMinutes } = c.req.valid('json');
    const customerId =
      licenseId === undefined ? (named ?? 0) : await customerOf(databaseOf(c), licenseId);
    const { origin, isPublic } = publicUrlOf(c.env, c.req.url);
    const link = await createPortalLink(senderIn(c), { customerId }, { origin, validMinutes });
    return jsonResponse(c, { ...link, customerId, isPublic }, 201);
  },
);
