import type { Context } from 'hono';
import { readBody } from '../body';
import { type Edge, edgeOf } from '../edge/edge';
import { type Verdict, WINDOW_SECONDS } from '../edge/limits';
import type { RequestType, ResponseType } from '../enums';
import { foldLicenseKey } from '../licenses/key';
import type { LicenseSnapshot } from '../licenses/snapshot';
import { logFailure } from '../log';
import { connectingAddressOf } from '../network';
import type { AppEnv } from '../observe';
import { toTimestampWithoutOffset } from '../time';
import type { Outcome } from '../validation/decide';
import { type RecordDetails, recordRequest } from '../validation/record';
import {
  type PartialRequest,
  parseRequest,
  unreadableRequest,
  type ValidationRequest,
} from '../validation/request';
import { validate } from '../validation/validate';
import type { Refusal, ValidAnswer } from './answers';

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

/** A refusal in the two fields that programs expect: many take exactly 200 for yes, all else for no. */
export const refuse = (
  c: Context,
  status: 400 | 404 | 405 | 413 | 429 | 503,
  message: string,
  headers: Record<string, string> = {},
): Response => c.json({ valid: false, message } satisfies Refusal, status, headers);

/** Validates a license [4.7] and records the request [2.4]. */
export const validateLicense = (requestType: RequestType) =>
  async function validateLicense(c: ValidationContext): Promise<Response> {
    const edge = edgeOf(c.env);
    const visit = c.get('visit');
    const connectingAddress = connectingAddressOf(c.req.raw);
    const bodyText = await readBody(c.req.raw, MAX_BODY_BYTES);
    const now = Date.now();
    const record = (asked: PartialRequest, responseType: ResponseType, details: RecordDetails) => {
      c.set('outcome', responseType);
      recordRequest(
        edge,
        { requestType, asked, responseType, details, requestedAt: now },
        visit.afterAnswer,
      );
    };

    if (bodyText === null) {
      const remarks = `Body must be at most ${MAX_BODY_BYTES} bytes`;
      record(unreadableRequest(connectingAddress), 'INVALID_REQUEST', { remarks });
      return refuse(c, 413, remarks);
    }
    const parsed = parseRequest(bodyText, connectingAddress);
    if (!parsed.ok) {
      record(parsed.partial, 'INVALID_REQUEST', { remarks: parsed.message });
      return refuse(c, 400, parsed.message);
    }
    const { request } = parsed;
    const refuseFlood = (isFirst: boolean, spam: boolean) => {
      // A flood of requests is not to become a flood of writes (1.6).
      c.set('outcome', 'RATE_LIMITED');
      if (isFirst) record(request, 'RATE_LIMITED', { spam });
      return refuse(c, 429, 'Too many requests', { 'Retry-After': String(WINDOW_SECONDS) });
    };
    try {
      const asked = await countRequest(edge, request);
      if (asked.isOver) return refuseFlood(asked.isFirst, false);

      const requireHwid = c.env.REQUIRE_HWID === 'true';
      const context = { connectingAddress, requireHwid };
      const { outcome, license } = await validate(edge, request, context, now, visit);
      if (outcome.responseType === 'LICENSE_NOT_FOUND') {
        const failed = await countFailedLookup(edge, connectingAddress ?? request.ip);
        if (failed.isOver) return refuseFlood(failed.isFirst, true);
      }
      const message = messageOf(outcome);
      const totalRequests = license ? edge.countRequest(license) : 0;
      record(request, outcome.responseType, {
        license,
        ...detailsOf(outcome, request, connectingAddress),
      });
      return outcome.responseType === 'VALID'
        ? c.json(validBody(message, outcome.license, totalRequests))
        : refuse(c, 400, message);
    } catch (error) {
      logFailure('A validation failed', error);
      record(request, 'ERROR', {});
      return refuse(c, 503, 'Service temporarily unavailable');
    }
  };

const NOT_COUNTED = { isOver: false } as const;

/** Of one key from one address: the one that is bound, since a network's servers can share theirs. */
const countRequest = ({ limits }: Edge, { ip, licenseKey }: ValidationRequest): Promise<Verdict> =>
  ip === null
    ? Promise.resolve(NOT_COUNTED)
    : limits.validations.count(`${ip} ${foldLicenseKey(licenseKey).slice(0, 255)}`);

const countFailedLookup = ({ limits }: Edge, address: string | null): Promise<Verdict> =>
  address === null ? Promise.resolve(NOT_COUNTED) : limits.failedLookups.count(address);

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
