import { type Context, Hono } from 'hono';
import type { Refusal } from '../http/responses';
import { allowPages } from '../middleware/cors';
import type { AppEnv } from '../middleware/request-log';

const refuse = (c: Context, status: 404 | 405, message: string): Response =>
  c.json({ valid: false, message } satisfies Refusal, status);

/** The legacy interface beside its one endpoint, which `app.ts` has: pages in a browser may ask it [4.6]. */
export const v1 = new Hono<AppEnv>()
  .options('/validate', allowPages('POST'))
  .all('/validate', allowPages('POST'), (c) => {
    c.header('Allow', 'POST');
    return refuse(c, 405, 'Method not allowed');
  })
  .all('*', (c) => refuse(c, 404, 'Not found'));
