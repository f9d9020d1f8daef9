import { INTENTS } from '@licet/contract/intents';
import { platformLabel } from '@licet/contract/platforms';
import { signingKeyUse } from '@licet/contract/requests';
import { serviceAddress } from '@licet/contract/service-address';
import { timeZoneOf } from '@licet/contract/time-zone';
import { Hono } from 'hono';
import { type AuthEnv, databaseOf, requireIntents, requireToken } from '../../auth/middleware.ts';
import { jsonResponse } from '../../http/json.ts';
import type { Operation } from '../../http/operation.ts';
import { parsePlatformLabels } from '../../lib/platform-labels.ts';
import { publicUrlOf } from '../../lib/public-url.ts';
import { signingKeyUses } from '../../requests/signing-key-uses.ts';
import { allowPages, preflight } from '../cors.ts';
import { blacklistRoutes } from './blacklists.ts';
import { customerRoutes } from './customers.ts';
import { eventRoutes } from './events.ts';
import { importRoute } from './import.ts';
import { licenseRoutes } from './licenses.ts';
import { mailSettingsRoutes } from './mail-settings.ts';
import { mailRoutes } from './mails.ts';
import { marketRoutes } from './markets.ts';
import { portalLinkRoutes } from './portal-links.ts';
import { productRoutes } from './products.ts';
import { purchaseRoutes } from './purchases.ts';
import { requestRoutes } from './requests.ts';
import { settingsRoutes } from './settings.ts';
import { statisticsRoutes } from './statistics.ts';
import { tokenRoutes } from './tokens.ts';
import { webhookRoutes } from './webhooks.ts';

const forAny = requireIntents(INTENTS.any);

const GET_HEALTH: Operation = {
  operationId: 'getHealth',
  tag: 'Service',
  summary: 'Check that the service runs',
  description: '[4.1]',
  success: { description: 'The service runs.', text: 'healthy' },
};
const PING: Operation = {
  operationId: 'ping',
  tag: 'Service',
  summary: 'Check that a token is live',
  description: '[4.1]',
  success: { description: 'The token is live.', text: 'pong' },
};
const LIST_PLATFORMS: Operation = {
  operationId: 'listPlatforms',
  tag: 'Service',
  summary: 'List the labels of platforms',
  description:
    'The variable `PLATFORM_LABELS` sets them, for people. All other endpoints take and return the names. An extension.',
  success: { description: 'The platforms, each with its label.', body: platformLabel.array() },
};
const GET_ADDRESS: Operation = {
  operationId: 'getAddress',
  tag: 'Service',
  summary: 'Get the address of the service',
  description:
    'The address for others, in links and for markets: the variable `PUBLIC_URL`, else the first of `CONSOLE_HOSTS`, else that of this request. With the time zone of the service. An extension.',
  success: { description: 'The address.', body: serviceAddress },
};
const LIST_SIGNING_KEY_USES: Operation = {
  operationId: 'listSigningKeyUses',
  tag: 'Requests',
  summary: 'Count the installations that use each signing key',
  description: 'Shows whether a key can be retired. Retired keys are listed too. An extension.',
  success: { description: 'The keys, the last used first.', body: signingKeyUse.array() },
};

/** The interface for administrators [4.1 to 4.5]. All paths but `healthy` require a token. */
export const v2 = new Hono<AuthEnv>()
  .get('/healthy', allowPages('GET', GET_HEALTH), (c) => c.text('healthy'))
  .options('/healthy', preflight('GET', 'allowHealth', 'Service'))
  .use(requireToken())
  .get('/ping', forAny(PING), (c) => c.text('pong'))
  .get('/platforms', forAny(LIST_PLATFORMS), (c) =>
    jsonResponse(c, parsePlatformLabels(c.env.PLATFORM_LABELS)),
  )
  .get('/address', forAny(GET_ADDRESS), (c) => {
    const { origin, isPublic } = publicUrlOf(c.env, c.req.url);
    return jsonResponse(c, { url: origin, isPublic, timeZone: timeZoneOf(c.env.TIME_ZONE) });
  })
  .get('/signing-keys', requireIntents(INTENTS.readRequests)(LIST_SIGNING_KEY_USES), async (c) =>
    jsonResponse(c, await signingKeyUses(databaseOf(c))),
  )
  .route('/products', productRoutes)
  .route('/licenses', licenseRoutes)
  .route('/blacklists', blacklistRoutes)
  .route('/requests', requestRoutes)
  .route('/statistics', statisticsRoutes)
  .route('/customers', customerRoutes)
  .route('/tokens', tokenRoutes)
  .route('/events', eventRoutes)
  .route('/webhooks', webhookRoutes)
  .route('/markets', marketRoutes)
  .route('/purchases', purchaseRoutes)
  .route('/portal-links', portalLinkRoutes)
  .route('/settings/mail', mailSettingsRoutes)
  .route('/settings', settingsRoutes)
  .route('/mails', mailRoutes)
  .route('/import', importRoute);
