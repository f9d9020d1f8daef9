import { Hono } from 'hono';
import { cors } from 'hono/cors';
import { INTENTS } from '../../auth/intents';
import { type AuthEnv, requireIntents, requireToken } from '../../auth/middleware';
import { PREFLIGHT_SECONDS } from '../v1';
import { blacklistRoutes } from './blacklists';
import { customerRoutes } from './customers';
import { importRoute } from './import';
import { licenseRoutes } from './licenses';
import { productRoutes } from './products';
import { requestRoutes } from './requests';
import { tokenRoutes } from './tokens';

/** The interface for administrators [4.1 to 4.5]; all but `healthy` needs a token. */
export const v2 = new Hono<AuthEnv>()
  .use('/healthy', cors({ origin: '*', allowMethods: ['GET'], maxAge: PREFLIGHT_SECONDS }))
  .get('/healthy', (c) => c.text('healthy'))
  .use(requireToken())
  .get('/ping', requireIntents(INTENTS.any), (c) => c.text('pong'))
  .route('/products', productRoutes)
  .route('/licenses', licenseRoutes)
  .route('/blacklists', blacklistRoutes)
  .route('/requests', requestRoutes)
  .route('/customers', customerRoutes)
  .route('/tokens', tokenRoutes)
  .route('/import', importRoute);
