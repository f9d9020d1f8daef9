import * as z from 'zod';
import { requestType, responseType } from '../lib/fields';
import { toTimestamp, wireTimestamp } from '../lib/time';
import { timeOfRecordId } from './id';
import type { RecordRow } from './queries';

/** A license request on the wire [2.4]. */
export const request = z.strictObject({
  id: z.int(),
  licenseId: z.int().nullable(),
  licenseKey: z.string().nullable(),
  productId: z.int().nullable(),
  productVersion: z.string().nullable(),
  ip: z.string().nullable(),
  hwid: z.string().nullable(),
  macAddress: z.string().nullable(),
  operatingSystem: z.string().nullable(),
  operatingSystemVersion: z.string().nullable(),
  operatingSystemArchitecture: z.string().nullable(),
  javaVersion: z.string().nullable(),
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
  caller,
  details,
}: RecordRow): z.infer<typeof request> {
  const said = caller ?? details;
  return {
    id,
    licenseId: caller?.licenseId ?? null,
    licenseKey: said.licenseKey ?? null,
    productId: said.productId ?? null,
    productVersion: said.productVersion ?? null,
    ip: said.ip ?? null,
    hwid: said.hwid ?? null,
    macAddress: said.macAddress ?? null,
    operatingSystem: said.operatingSystem ?? null,
    operatingSystemVersion: said.operatingSystemVersion ?? null,
    operatingSystemArchitecture: said.operatingSystemArchitecture ?? null,
    javaVersion: said.javaVersion ?? null,
    requestDate: toTimestamp(timeOfRecordId(id)),
    requestType: type,
    responseType: outcome,
    blockReason: details.blockReason ?? null,
    notes: null,
    remarks: details.remarks ?? null,
    valid: outcome === 'VALID',
    successful: outcome !== 'ERROR',
    rateLimited: outcome === 'RATE_LIMITED',
    blocked: outcome === 'IP_BLACKLISTED' || outcome === 'HWID_BLACKLISTED',
    spam: details.spam ?? false,
  };
}
