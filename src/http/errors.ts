import type { ErrorCode } from '@licet/contract/errors';
import { WINDOW_SECONDS } from '../lib/rate-limiter.ts';

/** The code of each status, for errors without a code of their own (3.1). */
const CODES = {
  400: 'INVALID_VALUE',
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_ALLOWED',
  408: 'BODY_TIMEOUT',
  409: 'CONFLICT',
  412: 'PRECONDITION_FAILED',
  413: 'BODY_TOO_LARGE',
  415: 'UNSUPPORTED_ENCODING',
  422: 'IDEMPOTENCY_KEY_REUSED',
  429: 'TOO_MANY_REQUESTS',
  500: 'INTERNAL_ERROR',
  503: 'UNAVAILABLE',
} as const satisfies Record<number, ErrorCode>;
export type ErrorStatus = keyof typeof CODES;

interface Details {
  headers?: Readonly<Record<string, string>>;
  code?: ErrorCode;
  /** The invalid field or parameter, if there is exactly one. */
  field?: string | undefined;
}

/** The names that fit into a header. A client may send an unknown field with any name. */
const HEADER_VALUE = /^[!-~]{1,100}$/;

/** An error response. The message is for the client and contains no secrets [7]. */
export class ApiError extends Error {
  readonly status: ErrorStatus;
  /** With `Error-Code`, and `Error-Field` where one field is to blame (3.1). */
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: ErrorStatus,
    message: string,
    { headers, code = CODES[status], field = '' }: Details = {},
  ) {
    super(message);
    this.status = status;
    this.headers = {
      'Error-Code': code,
      ...(HEADER_VALUE.test(field) && { 'Error-Field': field }),
      ...headers,
    };
  }
}

/** For a request that was not admitted (1.6). */
export const BUSY = new ApiError(503, 'Service is busy, try again', {
  headers: { 'Retry-After': '2' },
});

/** The same for a market, which repeats a notice after this status. */
export const BUSY_FOR_MARKETS = new ApiError(429, 'Service is busy, send it again', {
  headers: { 'Retry-After': '2' },
});

/** For a client that is over the limit of rejections at an address without a token (1.7). */
export const TOO_MANY_REJECTED = new ApiError(
  429,
  'Too many requests were rejected, try again in a minute',
  { headers: { 'Retry-After': String(WINDOW_SECONDS) } },
);

export const notFound = (name: string): ApiError => new ApiError(404, `${name} not found`);
