import type { ApiIntent } from '@licet/contract/enums';
import type { ErrorCode, ErrorResponse } from '@licet/contract/errors';
import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { acceptedIntents } from '../auth/middleware.ts';
import { ApiError, type ErrorStatus } from '../http/errors.ts';
import { jsonResponse } from '../http/json.ts';
import { DomainError, type ErrorKind } from '../lib/errors.ts';
import { servicesOf } from '../services.ts';

const KINDS = {
  invalid: [400, 'INVALID_VALUE'],
  missing: [400, 'MISSING_FIELD'],
  'not live': [401, 'UNAUTHORIZED'],
  'not allowed': [403, 'FORBIDDEN'],
  conflict: [409, 'CONFLICT'],
  overtaken: [409, 'CHANGED_MEANWHILE'],
} as const satisfies Record<ErrorKind, readonly [ErrorStatus, ErrorCode]>;

/** The response to an error of v2 [7]. */
export function errorResponse(
  c: Context,
  error: ApiError,
  intents: readonly ApiIntent[] = acceptedIntents(c),
): Response {
  const body: ErrorResponse = { message: error.message, accepted_intents: [...intents] };
  return jsonResponse(c, body, error.status, error.headers);
}

/** The error to report to the client; undefined for an internal error, whose message stays internal. */
export function clientError(error: Error): ApiError | undefined {
  if (error instanceof ApiError) return error;
  if (error instanceof DomainError) {
    const [status, code] = KINDS[error.kind];
    return new ApiError(status, error.message, { code, field: error.field });
  }
  // Hono itself rejects only a body that is not JSON.
  const isBadBody = error instanceof HTTPException && error.status < 500;
  return isBadBody ? new ApiError(400, error.message, { code: 'INVALID_JSON' }) : undefined;
}

export function respondToError(error: Error, c: Context): Response {
  const known = clientError(error);
  if (!known) servicesOf(c.env).failedRequests.count(error);
  return errorResponse(c, known ?? new ApiError(500, 'Internal server error'));
}
