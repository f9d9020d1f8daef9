import { toTimestamp, wireTimestamp } from '@licet/contract/time';
import * as z from 'zod';
import { requestType, responseType } from '../lib/fields.ts';
import { timeOfId } from '../lib/time-id.ts';
import type { RecordRow } from './queries.ts';
import { installationFields, isShared } from './record.ts';

/** The remark of a request whose installation is not stored (1.7). */
const SHARED = 'Fields not stored: more than 1,000 new installations of this license on this day';

/** A license request on the wire [2.4]. */
export const request = z.strictObject({
  id: z.int(),
  licenseId: z.int().nullable(),
  ...installationFields.shape,
  requestDate: wireTimestamp,
  requestType,
  responseType,
  blockReason: z.string().nullable(),
  notes: z.null(),
  remarks: z.string().nullable(),
  valid: z.boolean(),
  successful: z.boolean(),
  rateLimited: z.boolean(),
  blocked: z.boolean(),
  spam: z.boolean(),
});

export function toRequest({
  id,
  type,
  outcome,
  installation,
  details,
}: RecordRow): z.infer<typeof request> {
  const sent = installation ?? details;
  return {
    id,
    licenseId: installation?.licenseId ?? null,
    // Empty for an installation that was erased.
    licenseKey: sent.licenseKey || null,
    productId: sent.productId ?? null,
    productVersion: sent.productVersion ?? null,
    ip: sent.ip ?? null,
    hwid: sent.hwid ?? null,
    macAddress: sent.macAddress ?? null,
    operatingSystem: sent.operatingSystem ?? null,
    operatingSystemVersion: sent.operatingSystemVersion ?? null,
    operatingSystemArchitecture: sent.operatingSystemArchitecture ?? null,
    javaVersion: sent.javaVersion ?? null,
    requestDate: toTimestamp(timeOfId(id)),
    requestType: type,
    responseType: outcome,
    blockReason: details.blockReason ?? null,
    notes: null,
    remarks: details.remarks ?? (installation && isShared(installation) ? SHARED : null),
    valid: outcome === 'VALID',
    successful: outcome !== 'ERROR',
    rateLimited: outcome === 'RATE_LIMITED',
    blocked: outcome === 'IP_BLACKLISTED' || outcome === 'HWID_BLACKLISTED',
    spam: details.spam ?? false,
  };
}
