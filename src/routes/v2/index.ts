import { Hono } from 'hono';
import { INTENTS } from '../../auth/intents';
import { type AuthEnv, requireIntents, requireToken } from '../../auth/middleware';
import { parsePlatformLabels } from '../../lib/platform-labels';
import { allowPages } from '../../middleware/cors';
import { signingKeyUses } from '../../requests/signing-key-uses';
import { blacklistRoutes } from './blacklists';
import { customerRoutes } from './customers';
import { databaseOf } from './database';
import { eventRoutes } from './events';
import { importRoute } from './import';
import { licenseRoutes } from './licenses';
import { productRoutes } from './products';
import { requestRoutes } from './requests';
import { statisticsRoutes } from './statistics';
import { tokenRoutes } from './tokens';

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
