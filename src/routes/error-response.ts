import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { acceptedIntents } from '../auth/middleware';
import { guardError } from '../auth/tokens';
import { ApiError } from '../http/errors';
import type { ErrorResponse } from '../http/responses';
import type { ApiIntent } from '../lib/enums';
import { logFailure } from '../lib/log';

/** The response to an error of v2 [7]. */
export function errorResponse(
  c: Context,
  error: ApiError,
  intents: readonly ApiIntent[] = acceptedIntents(c),
): Response {
  const body: ErrorResponse = { message: error.message, accepted_intents: [...intents] };
  return c.json(body, error.status, error.headers);
}

/** The error to report to the client; undefined for an internal error, whose message stays internal. */
export function clientError(error: Error): ApiError | undefined {
  const known = guardError(error);
  if (known instanceof ApiError) return known;
  // Hono itself rejects only a body that is not JSON.
  const isBadBody = error instanceof HTTPException && error.status < 500;
  return isBadBody ? new ApiError(400, error.message) : undefined;
}

/** Converts every error of v2 into a response. */
export function respondToError(error: Error, c: Context): Response {
  const known = clientError(error);
  if (!known) logFailure('A request failed', error);
  return errorResponse(c, known ?? new ApiError(500, 'Internal server error'));
}
