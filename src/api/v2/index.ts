import { Hono } from 'hono';
import { INTENTS } from '../../auth/intents';
import { type AuthEnv, requireIntents, requireToken } from '../../auth/middleware';
import { blacklistRoutes } from './blacklists';
import { shareChanges } from './changes';
import { customerRoutes } from './customers';
import { importRoute } from './import';
import { licenseRoutes } from './licenses';
import { productRoutes } from './products';
import { requestRoutes } from './requests';
import { tokenRoutes } from './tokens';
import { validateRoute } from './validate';

/** The interface for administrators [4.1 to 4.6]; all but `healthy` needs a token. */
export const v2 = new Hono<AuthEnv>()
  .get('/healthy', (c) => c.text('healthy'))
  .use(requireToken())
  .get('/ping', requireIntents(INTENTS.any), (c) => c.text('pong'))
  .route('/validate', validateRoute)
  .use(shareChanges())
  .route('/products', productRoutes)
  .route('/licenses', licenseRoutes)
  .route('/blacklists', blacklistRoutes)
  .route('/requests', requestRoutes)
  .route('/customers', customerRoutes)
  .route('/tokens', tokenRoutes)
  .route('/import', importRoute);
