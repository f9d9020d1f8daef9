import type { InvalidResponse } from '@licet/contract/validation';
import { type Context, Hono } from 'hono';
import type { AppEnv } from '../services.ts';
import { allowPages, preflight } from './cors.ts';
import { receiveDownload } from './markets.ts';

const reject = (c: Context, status: 404 | 405, message: string): Response =>
  c.json({ valid: false, message } satisfies InvalidResponse, status);

/** Responses of v1 beyond its one endpoint, which `app.ts` routes. Browsers may call it from any page [4.6]. */
export const v1 = new Hono<AppEnv>()
  .options('/validate', preflight('POST', 'allowValidation', 'Validation'))
  .all('/validate', allowPages('POST'), (c) => {
    c.header('Allow', 'POST');
    return reject(c, 405, 'Method not allowed');
  })
  .post('/bbb/:productId', ...receiveDownload)
  .all('/bbb/:productId', (c) => {
    c.header('Allow', 'POST');
    return reject(c, 405, 'Method not allowed');
  })
  .all('*', (c) => reject(c, 404, 'Not found'));
