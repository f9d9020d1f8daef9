import { DAY_MS } from '@licet/contract/durations';
import { cors } from 'hono/cors';
import type { Operation, Tag } from '../http/operation.ts';

const PREFLIGHT_SECONDS = DAY_MS / 1000;

/** Lets pages of any site send a request, without credentials (1.1), and responds to preflights. */
export const allowPages = (method: 'GET' | 'POST', operation?: Operation) =>
  Object.assign(cors({ origin: '*', allowMethods: [method], maxAge: PREFLIGHT_SECONDS }), {
    operation,
  });

/** Responds to the preflights of a path. */
export const preflight = (method: 'GET' | 'POST', operationId: string, tag: Tag) =>
  allowPages(method, {
    operationId,
    tag,
    summary: 'Allow requests from a page in a browser',
    description: 'The preflight of CORS. Pages of any site may send requests, without credentials.',
    success: {
      status: 204,
      description: `Pages may send ${method}.`,
      headers: [
        'Access-Control-Allow-Origin',
        'Access-Control-Allow-Methods',
        'Access-Control-Allow-Headers',
        'Access-Control-Max-Age',
      ],
    },
  });
