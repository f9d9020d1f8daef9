import type { Context } from 'hono';
import { readBody } from '../body';
import { openDatabase } from '../db/client';
import type { RequestType, ResponseType } from '../enums';
import { logFailure } from '../log';
import { canonicalAddress } from '../network';
import { toTimestampWithoutOffset } from '../time';
import type { LicenseSnapshot, Outcome } from '../validation/decide';
import {
  type NewRequest,
  newRecord,
  type RecordDetails,
  recordRequest,
} from '../validation/record';
import { parseRequest, unreadableRequest, type ValidationRequest } from '../validation/request';
import { validate } from '../validation/validate';

/** The validation over HTTP, the same under v1 and v2 [4.6, 4.7]. */

const MAX_BODY_BYTES = 16 * 1024;

type ValidationContext = Context<{ Bindings: Env }>;

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

const validBody = (message: string, license: LicenseSnapshot) => ({
  valid: true,
  message,
  hardwareLocked: license.maxHWIDs !== -1,
  iPLocked: license.maxIPs !== -1,
  expiryDate: license.expiresAt === null ? null : toTimestampWithoutOffset(license.expiresAt),
  maxIPs: license.maxIPs,
  maxHWIDs: license.maxHWIDs,
  totalRequests: license.totalRequests + 1,
});

/** A refusal in the two fields that programs expect: many take exactly 200 for yes, all else for no. */
export const refuse = (
  c: Context,
  status: 400 | 404 | 405 | 413 | 503,
  message: string,
  headers: Record<string, string> = {},
): Response => c.json({ valid: false, message }, status, headers);

const connectingAddressOf = (c: Context): string | null =>
  canonicalAddress(c.req.header('CF-Connecting-IP') ?? '');

/** Writes the record after the answer; the platform keeps the process alive for it. */
function record(c: ValidationContext, requestedAt: number, request: NewRequest): void {
  const { responseType, requestType } = request;
  c.executionCtx.waitUntil(
    recordRequest(openDatabase(c.env.DB), request, requestedAt).catch((error) =>
      logFailure(`A history record was lost: ${requestType}, ${responseType}`, error),
    ),
  );
}

/** Validates a license [4.7] and records the request [2.4]. */
export const validateLicense = (requestType: RequestType) =>
  async function validateLicense(c: ValidationContext): Promise<Response> {
    const connectingAddress = connectingAddressOf(c);
    const bodyText = await readBody(c.req.raw, MAX_BODY_BYTES);
    const now = Date.now();
    if (bodyText === null) {
      const remarks = `Body must be at most ${MAX_BODY_BYTES} bytes`;
      const unread = unreadableRequest(connectingAddress);
      record(c, now, newRecord(requestType, unread, 'INVALID_REQUEST', { remarks }));
      return refuse(c, 413, remarks);
    }
    const parsed = parseRequest(bodyText, connectingAddress);
    if (!parsed.ok) {
      const details = { remarks: parsed.message };
      record(c, now, newRecord(requestType, parsed.partial, 'INVALID_REQUEST', details));
      return refuse(c, 400, parsed.message);
    }
    const { request } = parsed;
    try {
      const requireHwid = c.env.REQUIRE_HWID === 'true';
      const context = { connectingAddress, requireHwid };
      const { outcome, license } = await validate(openDatabase(c.env.DB), request, context, now);
      const message = messageOf(outcome);
      record(
        c,
        now,
        newRecord(requestType, request, outcome.responseType, {
          licenseId: license?.id ?? null,
          ...detailsOf(outcome, request, connectingAddress),
        }),
      );
      return outcome.responseType === 'VALID'
        ? c.json(validBody(message, outcome.license))
        : refuse(c, 400, message);
    } catch (error) {
      logFailure('A validation failed', error);
      record(c, now, newRecord(requestType, request, 'ERROR', {}));
      return refuse(c, 503, 'Service temporarily unavailable');
    }
  };

/** What the history tells an administrator beyond the outcome. */
function detailsOf(
  outcome: Outcome,
  request: ValidationRequest,
  connectingAddress: string | null,
): RecordDetails {
  switch (outcome.responseType) {
    case 'INVALID_REQUEST':
      return { remarks: outcome.message };
    case 'IP_BLACKLISTED':
      return {
        blockReason: outcome.entry.reason,
        // Says why an address is refused that is on no list.
        remarks:
          connectingAddress === null || connectingAddress === request.ip
            ? null
            : `Connecting address ${connectingAddress}`,
      };
    case 'HWID_BLACKLISTED':
      return { blockReason: outcome.entry.reason };
    default:
      return {};
  }
}
