import { cors } from 'hono/cors';

/** How long a browser may remember the response to a preflight. */
const PREFLIGHT_SECONDS = 24 * 60 * 60;

/** Lets pages of any site send a request, without credentials (1.1). Responds to a preflight. */
export const allowPages = (method: 'GET' | 'POST') =>
  cors({ origin: '*', allowMethods: [method], maxAge: PREFLIGHT_SECONDS });
