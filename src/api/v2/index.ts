import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { INTENTS } from '../../auth/intents';
import { type AuthEnv, requireIntents, requireToken } from '../../auth/middleware';
import { ApiError } from '../errors';
import { blacklistRoutes } from './blacklists';
import { customerRoutes } from './customers';
import { readBodyAsJson } from './input';
import { licenseRoutes } from './licenses';
import { productRoutes } from './products';
import { requestRoutes } from './requests';
import { tokenRoutes } from './tokens';
import { validateRoute } from './validate';

const MAX_BODY_BYTES = 1024 * 1024;

/** The interface for administrators [4.1 to 4.6]; all but `healthy` needs a token. */
export const v2 = new Hono<AuthEnv>()
  .get('/healthy', (c) => c.text('healthy'))
  .use(requireToken())
  .get('/ping', requireIntents(INTENTS.any), (c) => c.text('pong'))
  .route('/validate', validateRoute)
  .use(
    bodyLimit({
      maxSize: MAX_BODY_BYTES,
      onError: () => {
        throw new ApiError(413, `Body must be at most ${MAX_BODY_BYTES} bytes`);
      },
    }),
    readBodyAsJson(),
  )
  .route('/products', productRoutes)
  .route('/licenses', licenseRoutes)
  .route('/blacklists', blacklistRoutes)
  .route('/requests', requestRoutes)
  .route('/customers', customerRoutes)
  .route('/tokens', tokenRoutes);
