import { Hono } from 'hono';
import type { AppEnv } from '../../observe';
import { refuse, validateLicense } from '../validate';

/** The legacy interface: one endpoint, no token [4.6]. */
export const v1 = new Hono<AppEnv>()
  .post('/validate', validateLicense('V1_VALIDATE'))
  .all('/validate', (c) => refuse(c, 405, 'Method not allowed', { Allow: 'POST' }))
  .all('*', (c) => refuse(c, 404, 'Not found'));
