import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { acceptedIntents, guardError } from '../auth/middleware';
import { ApiError } from '../http/errors';
import type { ErrorAnswer } from '../http/responses';
import type { ApiIntent } from '../lib/enums';
import { logFailure } from '../lib/log';

/** The response to an error of v2 [7]. */
export function errorResponse(
  c: Context,
  error: ApiError,
  intents: readonly ApiIntent[] = acceptedIntents(c),
): Response {
  const body: ErrorAnswer = { message: error.message, accepted_intents: [...intents] };
  return c.json(body, error.status, error.headers);
}

/** An error that is for the client; undefined for one of ours, which says nothing of our insides. */
export function clientError(error: Error): ApiError | undefined {
  const known = guardError(error);
  if (known instanceof ApiError) return known;
  // The body is no JSON: the only thing that Hono itself rejects here.
  const isBadBody = error instanceof HTTPException && error.status < 500;
  return isBadBody ? new ApiError(400, error.message) : undefined;
}

/** The one place where errors of v2 become responses. */
export function respondToError(error: Error, c: Context): Response {
  const known = clientError(error);
  if (!known) logFailure('A request failed', error);
  return errorResponse(c, known ?? new ApiError(500, 'Internal server error'));
}
