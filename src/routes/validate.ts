import type { ApiIntent, RequestType } from '@licet/contract/enums';
import type { ErrorResponse } from '@licet/contract/errors';
import { OUTCOMES } from '@licet/contract/outcomes';
import type { InvalidResponse, ValidResponse } from '@licet/contract/validation';
import type { Context } from 'hono';
import { authorizeValidation } from '../auth/middleware.ts';
import {
  connectingAddressOf,
  expectBody,
  expectReading,
  readText,
  TOO_LATE,
  tooLarge,
} from '../http/connection.ts';
import { ApiError, BUSY } from '../http/errors.ts';
import type { Operation } from '../http/operation.ts';
import { WINDOW_SECONDS } from '../lib/rate-limiter.ts';
import { parseBoolean } from '../lib/settings.ts';
import { type AppEnv, servicesOf } from '../services.ts';
import { type SentBody, type ValidationResult, validate } from '../validation/validate.ts';
import { clientError } from './error-response.ts';
import { beginRequest, commonHeaders, endRequest } from './request-log.ts';

/** Validation over HTTP, the same under v1 and v2 [4.6, 4.7]. */

const MAX_BODY_BYTES = 16 * 1024;

type ValidationContext = Context<AppEnv>;

interface Reply {
  status: number;
  body: ValidResponse | InvalidResponse | ErrorResponse;
  headers?: Readonly<Record<string, string>>;
}

/** A rejection. Programs expect exactly these two fields; many check only for status 200. */
const reject = ({ status, message, headers }: ApiError): Reply => ({
  status,
  body: { valid: false, message },
  headers,
});

const UNAVAILABLE = reject(new ApiError(503, OUTCOMES.ERROR.message));
const NO_ROOM = reject(BUSY);
const LIMITED = reject(
  new ApiError(429, OUTCOMES.RATE_LIMITED.message, {
    headers: { 'Retry-After': String(WINDOW_SECONDS) },
  }),
);

/** The name of the examples of version 0.2.0, in programs that cannot be updated. */
const FIRST_EXAMPLES = 'licet-client/1';

/** Any page in a browser may call v1. */
const V1_HEADERS = { 'Access-Control-Allow-Origin': '*' };

/**
 * The handler of a validation, which needs no middleware, with its operation and the intents that it accepts.
 *
 * @param intents undefined if no token is needed
 */
export function validation(
  requestType: RequestType,
  purpose: Pick<Operation, 'operationId' | 'summary' | 'description'>,
  intents?: readonly ApiIntent[],
) {
  const operation: Operation = { ...purpose, tag: 'Validation', success: 'validation' };
  async function validation(c: ValidationContext): Promise<Response> {
    beginRequest(c);
    const replying = reply(c, requestType, intents);
    c.get('timings').responding = replying;
    const { status, body, headers } = await replying;
    const response = new Response(JSON.stringify(body), {
      status,
      headers: {
        'Content-Type': 'application/json',
        ...commonHeaders(c),
        ...(intents ? undefined : V1_HEADERS),
        ...headers,
      },
    });
    endRequest(c, status, 'validation');
    return response;
  }
  return Object.assign(validation, { operation, ...(intents && { intents }) });
}

async function reply(
  c: ValidationContext,
  requestType: RequestType,
  intents: readonly ApiIntent[] | undefined,
): Promise<Reply> {
  const services = servicesOf(c.env);
  const timings = c.get('timings');
  try {
    const admitted = services.admission.validations.enter(timings.waitUntil);
    if (admitted !== true && !(await admitted)) {
      expectReading(c);
      return NO_ROOM;
    }
    const sent = await readSent(c);
    const requestedAt = Date.now();
    // After the body, which may take long: the token could be revoked meanwhile. It is looked up beside the snapshots.
    const authorized = intents && authorizeValidation(c, intents);
    // The validation awaits it later. A rejection before that would be an unhandled one.
    authorized?.catch(() => undefined);
    const result = await validate(services, sent, {
      requestType,
      connectingAddress: connectingAddressOf(c.req.raw, services.trustedProxies),
      trustsBodyIp: parseBoolean(c.env.TRUST_BODY_IP) ?? true,
      ipv6SlotPrefix: services.db.ipv6SlotPrefix,
      expectsNormalized: () => c.req.raw.headers.get('User-Agent') === FIRST_EXAMPLES,
      requireHwid: parseBoolean(c.env.REQUIRE_HWID) ?? false,
      authorized,
      requestedAt,
      timings,
    });
    c.set('outcome', result.responseType);
    return replyTo(result, requestType);
  } catch (error) {
    const known = error instanceof Error ? clientError(error) : undefined;
    if (known) {
      const { status, message, headers } = known;
      return { status, body: { message, accepted_intents: [...(intents ?? [])] }, headers };
    }
    services.failedValidations.count(error);
    return UNAVAILABLE;
  }
}

async function readSent(c: ValidationContext): Promise<SentBody> {
  try {
    const reading = readText(c.req.raw, MAX_BODY_BYTES);
    const lateness = expectBody(c);
    const text = await (lateness ? Promise.race([reading, lateness]) : reading);
    if (text === undefined) return { text: null, fault: 'unreadable', message: TOO_LATE };
    if (text === null) return { text, fault: 'too large', message: tooLarge(MAX_BODY_BYTES) };
    return { text };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { status, message } = error;
    return { text: null, fault: status === 415 ? 'unsupported' : 'unreadable', message };
  }
}

function replyTo(result: ValidationResult, requestType: RequestType): Reply {
  switch (result.kind) {
    case 'valid':
      return { status: 200, body: result.body };
    case 'unsupported':
      // Programs under v1 know 400 as the status of a bad request.
      if (requestType === 'V2_VALIDATE') return reject(new ApiError(415, result.body.message));
      return reject(new ApiError(400, result.body.message, { code: 'INVALID_REQUEST' }));
    case 'refused':
    case 'unreadable': {
      // The other refusals are decisions, not errors (3.1).
      const isError = result.responseType === 'INVALID_REQUEST';
      return isError
        ? reject(new ApiError(400, result.body.message, { code: 'INVALID_REQUEST' }))
        : { status: 400, body: result.body };
    }
    case 'too large':
      return reject(new ApiError(413, result.body.message));
    case 'limited':
      return LIMITED;
    case 'unavailable':
      return UNAVAILABLE;
  }
}
