import { RESPONSE_TYPES, type ResponseType } from '@licet/contract/enums';
import { wireTimestamp } from '@licet/contract/time';
import * as z from 'zod';

/** The statistics on the wire (6). */

export const STEPS = ['hour', 'day'] as const;
export type Step = (typeof STEPS)[number];

const count = z.int();

type OutcomeCounts = Record<ResponseType, z.ZodExactOptional<z.ZodInt>>;

function outcomeCounts(): OutcomeCounts;
function outcomeCounts(): Record<string, z.ZodType> {
  return Object.fromEntries(RESPONSE_TYPES.map((outcome) => [outcome, z.exactOptional(count)]));
}

/** A step of the series: the number of validations with each outcome. */
export const statisticsStep = z.strictObject({ time: wireTimestamp, ...outcomeCounts() });

export const productStatistics = z.strictObject({
  productId: z.int(),
  productName: z.string(),
  active: count,
  validations: count,
});

export const licenseStatistics = z.strictObject({
  countedAt: wireTimestamp,
  active: count,
  activeBefore: count.nullable(),
  deactivated: count,
  expired: count,
});

export const versionStatistics = z.strictObject({
  productId: z.int(),
  productVersion: z.string().nullable(),
  installations: count,
});

export const expiryStatistics = z.strictObject({ date: z.string(), licenses: count });

/** Requests of an hour that are missing in the history. */
export const gap = z.strictObject({ time: wireTimestamp, requests: count });

export const statistics = z.strictObject({
  from: wireTimestamp,
  to: wireTimestamp,
  step: z.enum(STEPS),
  series: z.array(statisticsStep),
  products: z.array(productStatistics),
  licenses: licenseStatistics,
  versions: z.array(versionStatistics),
  expiries: z.array(expiryStatistics),
  gaps: z.array(gap),
});
