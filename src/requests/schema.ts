import * as z from 'zod';
import type { requests } from '../db/schema';
import { requestType, responseType } from '../fields';
import { toTimestamp, wireTimestamp } from '../time';
import { timeOfRequestId } from './id';

export type RequestRow = typeof requests.$inferSelect;

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

export function toRequest(row: RequestRow): z.infer<typeof request> {
  const { responseType } = row;
  return {
    id: row.id,
    licenseId: row.licenseId,
    licenseKey: row.licenseKey,
    productId: row.productId,
    productVersion: row.productVersion,
    ip: row.ip,
    hwid: row.hwid,
    macAddress: row.macAddress,
    operatingSystem: row.operatingSystem,
    operatingSystemVersion: row.operatingSystemVersion,
    operatingSystemArchitecture: row.operatingSystemArchitecture,
    javaVersion: row.javaVersion,
    requestDate: toTimestamp(timeOfRequestId(row.id)),
    requestType: row.requestType,
    responseType,
    blockReason: row.blockReason,
    notes: null,
    remarks: row.remarks,
    valid: responseType === 'VALID',
    successful: responseType !== 'ERROR',
    rateLimited: responseType === 'RATE_LIMITED',
    blocked: responseType === 'IP_BLACKLISTED' || responseType === 'HWID_BLACKLISTED',
    spam: row.spam,
  };
}
