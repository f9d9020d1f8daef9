import type { Context } from 'hono';
import { authorizeValidation } from '../auth/middleware';
import type { RecordDetails } from '../history/record';
import { BodyError, readBody } from '../http/body';
import type { ErrorAnswer, Refusal, ValidAnswer } from '../http/responses';
import { type Isolate, isolateOf } from '../isolate';
import type { ApiIntent, RequestType, ResponseType } from '../lib/enums';
import { connectingAddressOf } from '../lib/ip';
import { logFailure } from '../lib/log';
import { type LimitResult, WINDOW_SECONDS } from '../lib/rate-limiter';
import { toTimestampWithoutOffset } from '../lib/time';
import { type AppEnv, beginRequest, commonHeaders, endRequest } from '../middleware/request-log';
import type { LicenseSnapshot } from '../resources/licenses/snapshot';
import type { Outcome } from '../validation/decide';
import { recordingOf } from '../validation/record';
import {
  type PartialRequest,
  parseRequest,
  unreadableRequest,
  type ValidationRequest,
} from '../validation/request';
import { findSnapshots, type Snapshots, validate } from '../validation/validate';
import { clientError } from './error-response';

/** The validation over HTTP, the same under v1 and v2 [4.6, 4.7]. */

const MAX_BODY_BYTES = 16 * 1024;

type ValidationContext = Context<AppEnv>;

const MESSAGES = {
  IP_BLACKLISTED: 'IP address is blacklisted',
  HWID_BLACKLISTED: 'Hardware ID is blacklisted',
  LICENSE_NOT_FOUND: 'License not found or invalid',
  PRODUCT_MISMATCH: 'License not found or invalid',
  LICENSE_DELETED: 'License not found or invalid',
  LICENSE_DEACTIVATED: 'License is deactivated',
  LICENSE_EXPIRED: 'License has expired',
  MAX_IPS_REACHED: 'Max IPs reached',
  MAX_HWIDS_REACHED: 'Max HWIDs reached',
  VALID: 'License is valid',
} as const satisfies Partial<Record<ResponseType, string>>;

const messageOf = (outcome: Outcome): string =>
  outcome.responseType === 'INVALID_REQUEST' ? outcome.message : MESSAGES[outcome.responseType];

const validBody = (
  message: string,
  license: LicenseSnapshot,
  totalRequests: number,
): ValidAnswer => ({
  valid: true,
  message,
  hardwareLocked: license.maxHWIDs !== -1,
  iPLocked: license.maxIPs !== -1,
  expiryDate: license.expiresAt === null ? null : toTimestampWithoutOffset(license.expiresAt),
  maxIPs: license.maxIPs,
  maxHWIDs: license.maxHWIDs,
  totalRequests,
});

/** A response to be sent. */
interface Reply {
  status: number;
  body: ValidAnswer | Refusal | ErrorAnswer;
  headers?: Readonly<Record<string, string>>;
}

/** A refusal in the two fields that programs expect: many take exactly 200 for yes, all else for no. */
const refuse = (
  status: 400 | 413 | 429 | 503,
  message: string,
  headers?: Readonly<Record<string, string>>,
): Reply => ({ status, body: { valid: false, message }, ...(headers && { headers }) });

const UNAVAILABLE = refuse(503, 'Service temporarily unavailable');

/** Pages in a browser may ask v1. */
const V1_HEADERS = { 'Access-Control-Allow-Origin': '*' };

/**
 * The handler of a validation, complete without any middleware, and the intents that open it.
 *
 * @param intents undefined where no token is needed
 */
export function validation(requestType: RequestType, intents?: readonly ApiIntent[]) {
  async function validation(c: ValidationContext): Promise<Response> {
    beginRequest(c);
    const { status, body, headers } = await reply(c, requestType, intents);
    const response = new Response(JSON.stringify(body), {
      status,
      headers: {
        'Content-Type': 'application/json',
        ...commonHeaders(c),
        ...(intents ? undefined : V1_HEADERS),
        ...headers,
      },
    });
    endRequest(c, response);
    return response;
  }
  return intents ? Object.assign(validation, { intents }) : validation;
}

async function reply(
  c: ValidationContext,
  requestType: RequestType,
  intents: readonly ApiIntent[] | undefined,
): Promise<Reply> {
  try {
    // The look-up of a token goes on beside the others.
    const authorized = intents && authorizeValidation(c, intents);
    authorized?.catch(() => undefined);
    return await validateLicense(c, requestType, authorized);
  } catch (error) {
    const known = error instanceof Error ? clientError(error) : undefined;
    if (known) {
      const { status, message, headers } = known;
      return { status, body: { message, accepted_intents: [...(intents ?? [])] }, headers };
    }
    logFailure('A request failed', error);
    return UNAVAILABLE;
  }
}

function keepBodyError(error: unknown): BodyError {
  if (error instanceof BodyError) return error;
  throw error;
}

/**
 * Validates a license [4.7] and records the request [2.4]. Checks without a look-up come first.
 *
 * @param authorized rejects a bad token. No reply goes out before it is settled
 */
async function validateLicense(
  c: ValidationContext,
  requestType: RequestType,
  authorized: Promise<void> | undefined,
): Promise<Reply> {
  const isolate = isolateOf(c.env);
  const timings = c.get('timings');
  const connectingAddress = connectingAddressOf(c.req.raw, isolate.trustedProxies);
  const bodyText = await readBody(c.req.raw, MAX_BODY_BYTES).catch(keepBodyError);
  const requestedAt = Date.now();
  let snapshots: Snapshots | undefined;
  const record = (request: PartialRequest, outcome: ResponseType, details: RecordDetails) => {
    c.set('outcome', outcome);
    const token = c.get('token');
    const answered = { requestType, request, outcome, details, snapshots, token, requestedAt };
    isolate.recorder.record(recordingOf(answered), timings.waitUntil);
  };

  if (bodyText instanceof BodyError) {
    await authorized;
    const remarks = bodyText.message;
    record(unreadableRequest(connectingAddress), 'INVALID_REQUEST', { remarks });
    return refuse(bodyText.status === 413 ? 413 : 400, remarks);
  }
  const parsed = parseRequest(bodyText, connectingAddress);
  if (!parsed.ok) {
    await authorized;
    record(parsed.partial, 'INVALID_REQUEST', { remarks: parsed.message });
    return refuse(400, parsed.message);
  }
  const { request } = parsed;
  const refuseFlood = (isFirst: boolean, spam: boolean): Reply => {
    // A flood of requests must not become a flood of writes (1.6).
    c.set('outcome', 'RATE_LIMITED');
    if (isFirst) record(request, 'RATE_LIMITED', { spam });
    return refuse(429, 'Too many requests', { 'Retry-After': String(WINDOW_SECONDS) });
  };
  const limit = await countRequest(isolate, request);
  if (limit.isLimited) {
    await authorized;
    return refuseFlood(limit.isFirst, false);
  }
  const finding = findSnapshots(isolate, request, timings);
  if (authorized) {
    // The token is judged before anything else can fail.
    finding.catch(() => undefined);
    await authorized;
  }
  try {
    snapshots = await finding;
    const context = { connectingAddress, requireHwid: c.env.REQUIRE_HWID === 'true' };
    const validated = await validate(isolate, request, snapshots, context, requestedAt, timings);
    const { outcome, license } = validated;
    snapshots = { ...snapshots, license };
    if (outcome.responseType === 'LICENSE_NOT_FOUND') {
      const failed = await countFailedLookup(isolate, connectingAddress ?? request.ip);
      if (failed.isLimited) return refuseFlood(failed.isFirst, true);
    }
    const totalRequests = license.value ? isolate.countRequest(license.value) : 0;
    record(request, outcome.responseType, detailsOf(outcome, request, connectingAddress));
    const message = messageOf(outcome);
    return outcome.responseType === 'VALID'
      ? { status: 200, body: validBody(message, outcome.license, totalRequests) }
      : refuse(400, message);
  } catch (error) {
    logFailure('A validation failed', error);
    record(request, 'ERROR', {});
    return UNAVAILABLE;
  }
}

const NOT_LIMITED: LimitResult = { isLimited: false };

/** Counts by key and by the address to be bound: servers behind one network share a connecting address. */
const countRequest = ({ limits }: Isolate, { ip, key }: ValidationRequest) =>
  ip === null ? NOT_LIMITED : limits.validations.count(`${ip} ${key.slice(0, 255)}`);

const countFailedLookup = ({ limits }: Isolate, address: string | null) =>
  address === null ? NOT_LIMITED : limits.failedLookups.count(address);

const NO_DETAILS: RecordDetails = {};

/** Details for administrators beyond the outcome. */
function detailsOf(
  outcome: Outcome,
  request: ValidationRequest,
  connectingAddress: string | null,
): RecordDetails {
  switch (outcome.responseType) {
    case 'INVALID_REQUEST':
      return { remarks: outcome.message };
    case 'IP_BLACKLISTED': {
      // Says why an address is refused that is on no list.
      const isOther = connectingAddress !== null && connectingAddress !== request.ip;
      const remarks = isOther ? `Connecting address ${connectingAddress}` : null;
      return { blockReason: outcome.blockReason, remarks };
    }
    case 'HWID_BLACKLISTED':
      return { blockReason: outcome.blockReason };
    default:
      return NO_DETAILS;
  }
}
