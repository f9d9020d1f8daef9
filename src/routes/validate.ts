import type { Context } from 'hono';
import { authorizeValidation } from '../auth/middleware';
import type { RecordDetails } from '../history/record';
import { readText, TOO_LATE, tooLarge } from '../http/body';
import { BUSY } from '../http/errors';
import type { ErrorResponse, InvalidResponse, ValidResponse } from '../http/responses';
import { expectBody, expectReading } from '../http/unread';
import { isolateOf } from '../isolate';
import type { ApiIntent, RequestType, ResponseType } from '../lib/enums';
import { clientOf, connectingAddressOf } from '../lib/ip';
import { WINDOW_SECONDS } from '../lib/rate-limiter';
import type { Signer } from '../lib/signing-keys';
import { toTimestampWithoutOffset } from '../lib/time';
import { type AppEnv, beginRequest, commonHeaders, endRequest } from '../middleware/request-log';
import type { LicenseSnapshot } from '../resources/licenses/snapshot';
import type { Outcome } from '../validation/decide';
import { recordingOf } from '../validation/record';
import {
  briefRequest,
  type PartialRequest,
  parseRequest,
  unreadableRequest,
  type ValidationRequest,
} from '../validation/request';
import { type Decided, type Signatures, signResponse } from '../validation/signed-response';
import { findSnapshots, type Snapshots, validate, validateNear } from '../validation/validate';
import { clientError } from './error-response';

/** Validation over HTTP, the same under v1 and v2 [4.6, 4.7]. */

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
): ValidResponse => ({
  valid: true,
  message,
  hardwareLocked: license.maxHWIDs !== -1,
  iPLocked: license.maxIPs !== -1,
  expiryDate: license.expiresAt === null ? null : toTimestampWithoutOffset(license.expiresAt),
  maxIPs: license.maxIPs,
  maxHWIDs: license.maxHWIDs,
  totalRequests,
});

interface Reply {
  status: number;
  body: ValidResponse | InvalidResponse | ErrorResponse;
  headers?: Readonly<Record<string, string>>;
}

/** A rejection. Programs expect exactly these two fields; many check only for status 200. */
const reject = (
  status: 400 | 413 | 429 | 503,
  message: string,
  headers?: Readonly<Record<string, string>>,
): Reply => ({ status, body: { valid: false, message }, ...(headers && { headers }) });

const UNAVAILABLE = reject(503, 'Service temporarily unavailable');

/** Any page in a browser may call v1. */
const V1_HEADERS = { 'Access-Control-Allow-Origin': '*' };

/**
 * The handler of a validation, which needs no middleware, with the intents that it accepts.
 *
 * @param intents undefined if no token is needed
 */
export function validation(requestType: RequestType, intents?: readonly ApiIntent[]) {
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
    const admitted = isolateOf(c.env).admission.validations.enter(c.get('timings').waitUntil);
    if (admitted !== true && !(await admitted)) {
      expectReading(c);
      return reject(503, BUSY.message, BUSY.headers);
    }
    return await validateLicense(c, requestType, intents);
  } catch (error) {
    const known = error instanceof Error ? clientError(error) : undefined;
    if (known) {
      const { status, message, headers } = known;
      return { status, body: { message, accepted_intents: [...(intents ?? [])] }, headers };
    }
    isolateOf(c.env).failedValidations.count(error);
    return UNAVAILABLE;
  }
}

/**
 * Validates a license [4.7] and records the request [2.4]. Checks without a look-up come first.
 *
 * @param intents of which the token needs one; undefined if no token is needed
 */
async function validateLicense(
  c: ValidationContext,
  requestType: RequestType,
  intents: readonly ApiIntent[] | undefined,
): Promise<Reply> {
  const isolate = isolateOf(c.env);
  const timings = c.get('timings');
  const connectingAddress = connectingAddressOf(c.req.raw, isolate.trustedProxies);
  // The limits count it. Without an address nothing is limited.
  const client = connectingAddress && clientOf(connectingAddress);
  const reading = readText(c.req.raw, MAX_BODY_BYTES);
  const lateness = expectBody(c);
  const bodyText = await (lateness ? Promise.race([reading, lateness]) : reading);
  const requestedAt = Date.now();
  // After the body, which may take long: the token could be revoked meanwhile. It is looked up beside the other snapshots.
  const authorized = intents && authorizeValidation(c, intents);
  authorized?.catch(() => undefined);
  let snapshots: Snapshots | undefined;
  let signer: Signer | undefined;
  const record = (request: PartialRequest, outcome: ResponseType, details: RecordDetails) => {
    c.set('outcome', outcome);
    const token = c.get('token');
    const kid = signer?.kid;
    const decided = { requestType, request, outcome, details, snapshots, token, kid, requestedAt };
    isolate.recorder.record(recordingOf(decided), timings.waitUntil);
  };
  const rejectFlood = async (request: PartialRequest, spam: boolean, counted: string) => {
    c.set('outcome', 'RATE_LIMITED');
    if (!(await isolate.ceilings.limitedRecords.count(counted))) {
      record(request, 'RATE_LIMITED', { spam });
    }
    return reject(429, 'Too many requests', { 'Retry-After': String(WINDOW_SECONDS) });
  };
  const rejectUnreadable = async (request: PartialRequest, status: 400 | 413, message: string) => {
    await authorized;
    if (client && (await isolate.limits.refused.count(client))) {
      return rejectFlood(request, true, client);
    }
    const isRecorded = !client || !(await isolate.ceilings.unreadableRecords.count(client));
    if (isRecorded) record(request, 'INVALID_REQUEST', { remarks: message });
    else c.set('outcome', 'INVALID_REQUEST');
    return reject(status, message);
  };

  if (bodyText === undefined) {
    return rejectUnreadable(unreadableRequest(connectingAddress), 400, TOO_LATE);
  }
  if (bodyText === null) {
    return rejectUnreadable(unreadableRequest(connectingAddress), 413, tooLarge(MAX_BODY_BYTES));
  }
  const parsed = parseRequest(
    bodyText,
    connectingAddress,
    c.env.TRUST_BODY_IP !== 'false',
    isolate.signingKeys,
  );
  if (!parsed.ok) return rejectUnreadable(parsed.partial, 400, parsed.message);
  const { request } = parsed;
  /** The name under which the limits count a client and a license. A client can make up any number of keys. */
  const withLicense = ({ id }: LicenseSnapshot) => `${client} ${id}`;
  const isOverValidations = async (license: LicenseSnapshot) =>
    client !== null && (await isolate.limits.validations.count(withLicense(license)));
  /** The fields of a signature, if the program asked for them (1.8). */
  const signaturesOf = (
    body: Decided['body'],
    license: LicenseSnapshot | null,
  ): Promise<Signatures> | undefined => {
    const { signature } = request;
    if (!signer || !signature || !isolate.signingKeys) return undefined;
    const offlineDays = snapshots?.blacklist.value.offlineDays[request.productId] ?? 0;
    const decided = { request, body, license, offlineDays, decidedAt: requestedAt };
    return signResponse(signer, isolate.signingKeys.issuer, signature, decided);
  };
  const accept = async (license: LicenseSnapshot): Promise<Reply> => {
    const totalRequests = isolate.countRequest(license);
    const body = validBody(MESSAGES.VALID, license, totalRequests);
    const signatures = signer && (await signaturesOf(body, license));
    record(request, 'VALID', NO_DETAILS);
    return { status: 200, body: signatures ? { ...body, ...signatures } : body };
  };
  // A flood of failed tokens looks up no license (1.7).
  if (client && isolate.limits.failedTokens.isOver(client)) await authorized;
  const context = { connectingAddress, requireHwid: c.env.REQUIRE_HWID === 'true' };
  const isOverLimit = client !== null && isolate.limits.refused.isOver(client);
  const finding = isOverLimit ? undefined : findSnapshots(isolate, request, timings);
  // An invalid token is reported before any other failure.
  finding?.catch(() => undefined);
  await authorized;
  try {
    // Before the decision, so that a validation whose key cannot be used binds nothing.
    if (request.signature) signer = await isolate.signingKeys?.signer(request.signature.kid);
    if (finding === undefined) {
      const { publishedReads } = isolate.ceilings;
      const mayReadPublished = async () => !(await publishedReads.count(String(client)));
      const { license, valid } = await validateNear(
        isolate,
        request,
        context,
        requestedAt,
        timings,
        mayReadPublished,
      );
      if (!valid) {
        return await rejectFlood(request, true, license ? withLicense(license) : String(client));
      }
      snapshots = valid.snapshots;
      if (await isOverValidations(valid.license)) {
        return await rejectFlood(request, false, withLicense(valid.license));
      }
      return await accept(valid.license);
    }
    snapshots = await finding;
    const known = snapshots.license.value;
    if (known && (await isOverValidations(known))) {
      return await rejectFlood(request, false, withLicense(known));
    }
    const validated = await validate(isolate, request, snapshots, context, requestedAt, timings);
    const { outcome, license } = validated;
    snapshots = { ...snapshots, license };
    if (outcome.responseType === 'VALID') return await accept(outcome.license);
    if (client && (await isolate.limits.refused.count(client))) {
      const counted = license.value ? withLicense(license.value) : client;
      return await rejectFlood(request, true, counted);
    }
    if (license.value) isolate.countRequest(license.value);
    const body: InvalidResponse = { valid: false, message: messageOf(outcome) };
    const isDecided = outcome.responseType !== 'INVALID_REQUEST';
    const signatures = signer && isDecided ? await signaturesOf(body, null) : undefined;
    const isMadeUp = outcome.responseType === 'LICENSE_NOT_FOUND' && client !== null;
    const isBrief = isMadeUp && (await isolate.ceilings.unknownRecords.count(client));
    record(
      isBrief ? briefRequest(request) : request,
      outcome.responseType,
      detailsOf(outcome, request, connectingAddress),
    );
    return { status: 400, body: signatures ? { ...body, ...signatures } : body };
  } catch (error) {
    isolate.failedValidations.count(error);
    if (client && isolate.ceilings.failedRecords.count(client)) c.set('outcome', 'ERROR');
    else record(request, 'ERROR', {});
    return UNAVAILABLE;
  }
}

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
      // Explains the rejection of an address that is not on the blacklist itself.
      const isOther = connectingAddress !== null && connectingAddress !== request.ip;
      const remarks = isOther ? 'The connecting address may be the one on the blacklist' : null;
      return { blockReason: outcome.blockReason, remarks };
    }
    case 'HWID_BLACKLISTED':
      return { blockReason: outcome.blockReason };
    default:
      return NO_DETAILS;
  }
}
