import { DAY_MS } from '@licet/contract/durations';
import { cors } from 'hono/cors';

const PREFLIGHT_SECONDS = DAY_MS / 1000;

/** Lets pages of any site send a request, without credentials (1.1), and responds to preflights. */
export const allowPages = (method: 'GET' | 'POST') =>
  cors({ origin: '*', allowMethods: [method], maxAge: PREFLIGHT_SECONDS });
