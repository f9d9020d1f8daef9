import { INTENTS } from '@licet/contract/intents';
import { Hono } from 'hono';
import { type AuthEnv, requireIntents, requireToken } from '../../auth/middleware.ts';
import { parsePlatformLabels } from '../../lib/platform-labels.ts';
import { signingKeyUses } from '../../requests/signing-key-uses.ts';
import { allowPages } from '../cors.ts';
import { blacklistRoutes } from './blacklists.ts';
import { customerRoutes } from './customers.ts';
import { databaseOf } from './database.ts';
import { eventRoutes } from './events.ts';
import { importRoute } from './import.ts';
import { licenseRoutes } from './licenses.ts';
import { productRoutes } from './products.ts';
import { requestRoutes } from './requests.ts';
import { statisticsRoutes } from './statistics.ts';
import { tokenRoutes } from './tokens.ts';

/** The interface for administrators [4.1 to 4.5]. All paths but `healthy` require a token. */
export const v2 = new Hono<AuthEnv>()
  .get('/healthy', allowPages('GET'), (c) => c.text('healthy'))
  .options('/healthy', allowPages('GET'))
  .use(requireToken())
  .get('/ping', requireIntents(INTENTS.any), (c) => c.text('pong'))
  .get('/platforms', requireIntents(INTENTS.any), (c) =>
    c.json(parsePlatformLabels(c.env.PLATFORM_LABELS)),
  )
  .get('/signing-keys', requireIntents(INTENTS.readRequests), async (c) =>
    c.json(await signingKeyUses(databaseOf(c))),
  )
  .route('/products', productRoutes)
  .route('/licenses', licenseRoutes)
  .route('/blacklists', blacklistRoutes)
  .route('/requests', requestRoutes)
  .route('/statistics', statisticsRoutes)
  .route('/customers', customerRoutes)
  .route('/tokens', tokenRoutes)
  .route('/events', eventRoutes)
  .route('/import', importRoute);
