import * as z from 'zod';
import { named, UPDATED } from './bodies.ts';
import { MAX_EXPIRY_WEEKS, MAX_STATISTICS_PRODUCTS, MAX_STATISTICS_VERSIONS } from './limits.ts';
import { objectOf } from './objects.ts';
import { RESPONSE_TYPES } from './outcomes.ts';
import { period, productId } from './parameters.ts';
import { wireTimestamp } from './time.ts';

/** The statistics on the wire (6). */

export const STEPS = ['hour', 'day'] as const;
export type Step = (typeof STEPS)[number];

const HOUR = '2025-02-03T08:00:00.000+00:00';

const count = (description: string) => z.int().describe(description);
const productNumber = z.int().describe('The id of the product.');

const stepExample = { time: HOUR, VALID: 120, LICENSE_EXPIRED: 3 };

/** A step of the series: the number of validations with each outcome. */
const statisticsStep = named(
  'StatisticsStep',
  'The validations of an hour or a day by outcome.',
  z.strictObject({
    time: wireTimestamp.describe('The first millisecond of the step.'),
    ...objectOf(RESPONSE_TYPES, () =>
      z.exactOptional(count('Validations with this outcome; absent if there are none.')),
    ),
  }),
  stepExample,
);

const productExample = {
  productId: 1,
  productName: 'Chunk Guard',
  active: 210,
  validations: 123,
};

const productStatistics = named(
  'ProductStatistics',
  'The statistics of a product.',
  z.strictObject({
    productId: productNumber,
    productName: z.string().describe('The name of the product.'),
    active: count('Its active licenses.'),
    validations: count('The validations of its licenses in the period, whatever their outcome.'),
  }),
  productExample,
);

const licenseExample = {
  countedAt: UPDATED,
  active: 210,
  activeBefore: 204,
  deactivated: 4,
  expired: 17,
};

const licenseStatistics = named(
  'LicenseStatistics',
  'The number of licenses.',
  z.strictObject({
    countedAt: wireTimestamp.describe('When the licenses were counted.'),
    active: count('Licenses that are `ACTIVE`.'),
    activeBefore: z
      .int()
      .nullable()
      .describe('Those that were active on the first day of the period; null if unknown.'),
    deactivated: count('Licenses that are `DEACTIVATED`.'),
    expired: count('Licenses that are `EXPIRED`.'),
  }),
  licenseExample,
);

const versionExample = { productId: 1, productVersion: '1.4.2', installations: 180 };

const versionStatistics = named(
  'VersionStatistics',
  'The installations of a version.',
  z.strictObject({
    productId: productNumber,
    productVersion: z
      .string()
      .nullable()
      .describe('As programs sent it; null for those that sent none.'),
    installations: count('The installations of this version.'),
  }),
  versionExample,
);

const expiryExample = { date: '2025-02-14', licenses: 6 };

const expiryStatistics = named(
  'ExpiryStatistics',
  'The licenses that expire on a day.',
  z.strictObject({
    date: z.string().describe('The day, in UTC.'),
    licenses: count('The licenses that expire on it.'),
  }),
  expiryExample,
);

const gapExample = { time: HOUR, requests: 250 };

export const gap = named(
  'Gap',
  'Requests that are missing in the history.',
  z.strictObject({
    time: wireTimestamp.describe('The first millisecond of the hour.'),
    requests: count(
      'The requests that were given up, because the database did not store their records.',
    ),
  }),
  gapExample,
);

export const statistics = named(
  'Statistics',
  'The statistics of a period.',
  z.strictObject({
    from: wireTimestamp.describe('The first millisecond of the first step.'),
    to: wireTimestamp.describe('The last millisecond of the last step.'),
    step: z.enum(STEPS).describe('The length of a step.'),
    series: z.array(statisticsStep).describe('All steps, the oldest first.'),
    products: z
      .array(productStatistics)
      .describe(
        `The ${MAX_STATISTICS_PRODUCTS} products with the most active licenses, or the one that was asked for.`,
      ),
    licenses: licenseStatistics.describe('The licenses by status.'),
    versions: z
      .array(versionStatistics)
      .describe(`The ${MAX_STATISTICS_VERSIONS} most frequent versions of each of these products.`),
    expiries: z
      .array(expiryStatistics)
      .describe(`The licenses that expire in the next ${MAX_EXPIRY_WEEKS} weeks, by day in UTC.`),
    gaps: z
      .array(gap)
      .describe(
        'Hours in which requests of any product are missing in the history and in `series`; usually empty.',
      ),
  }),
  {
    from: HOUR,
    to: '2025-02-03T08:59:59.999+00:00',
    step: 'hour',
    series: [stepExample],
    products: [productExample],
    licenses: licenseExample,
    versions: [versionExample],
    expiries: [expiryExample],
    gaps: [gapExample],
  },
);
export type Statistics = z.infer<typeof statistics>;

export const statisticsQuery = z.strictObject({
  ...period,
  step: z
    .enum(STEPS)
    .default('hour')
    .meta({ description: 'The length of a step.', example: 'day' }),
  productId: productId.optional(),
});
