import * as z from 'zod';
import { named } from './bodies.ts';
import { apiIntent } from './fields.ts';
import { keysOf } from './objects.ts';

/**
 * The values of the header `Error-Code` of all errors of v2 and of validations (3.1), and their meanings. Programs compare them: a code
 * never changes.
 */
export const ERROR_CODES = {
  INVALID_JSON: 'The body is not JSON, or empty.',
  MISSING_FIELD: 'A field or parameter is required.',
  UNKNOWN_FIELD: 'There is no field or parameter of this name.',
  INVALID_VALUE: 'A field or parameter has an invalid value.',
  INVALID_REQUEST: 'The request of a program is invalid, so nothing was decided.',
  UNAUTHORIZED: 'The token is missing, unknown, expired or revoked.',
  FORBIDDEN:
    'The token lacks a required intent, or a log-in, a log-out or a change with a session may come from another page.',
  NOT_FOUND: 'There is no such object or path.',
  METHOD_NOT_ALLOWED: 'The path does not accept this method; see `Allow`.',
  BODY_TIMEOUT: 'The body did not arrive within 10 seconds.',
  CONFLICT: 'The request conflicts with another object.',
  CHANGED_MEANWHILE: 'Others change the object at the same time: try again.',
  PRECONDITION_FAILED: '`If-Match` does not match: the object has changed since it was read.',
  BODY_TOO_LARGE: 'The body is too large.',
  UNSUPPORTED_ENCODING: 'The body has another `Content-Encoding` than gzip or deflate.',
  IDEMPOTENCY_KEY_REUSED: 'The `Idempotency-Key` was sent with another request.',
  TOO_MANY_REQUESTS: 'A limit is reached: try again after `Retry-After`.',
  INTERNAL_ERROR: 'The service failed.',
  UNAVAILABLE: 'The service is busy, or could not finish: try again.',
} as const;
export type ErrorCode = keyof typeof ERROR_CODES;

export const errorCode = z
  .enum(keysOf(ERROR_CODES))
  .meta({ id: 'ErrorCode', description: 'The kind of an error of v2, for programs (3.1).' });

/** The response of v2 to a request that failed or was rejected [7]. */
export const errorResponse = named(
  'Error',
  'An error of v2 [7].',
  z.strictObject({
    message: z.string().describe('The error; for bad input with the name of the field.'),
    accepted_intents: z
      .array(apiIntent)
      .describe('The intents that open the endpoint. One of them is enough.'),
  }),
  {
    message: 'maxIPs must be 0 to 1000; use -1 for unlimited',
    accepted_intents: ['LICENSES_READ_WRITE', 'ALL_READ_WRITE'],
  },
);
export type ErrorResponse = z.infer<typeof errorResponse>;
