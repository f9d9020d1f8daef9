import * as z from 'zod';
import { entryExample, entryFields } from './blacklists.ts';
import { CREATED, named, UPDATED } from './bodies.ts';
import { customerFields } from './customers.ts';
import { IMPORT_KINDS, IMPORT_OUTCOMES } from './enums.ts';
import { id, text } from './fields.ts';
import { licenseFields } from './licenses.ts';
import { MAX_IMPORT_ITEMS, MAX_TEXT_LENGTH } from './limits.ts';
import { productFields } from './products.ts';
import { type Fields, settable } from './resource.ts';
import { timestamp } from './time.ts';

/** The body of POST /api/v2/import. Items are checked one by one, so that an invalid one affects no other. */
export const importRequest = named(
  'ImportRequest',
  'Objects of another service, of one kind.',
  z.strictObject({
    kind: z
      .enum(IMPORT_KINDS)
      .describe(
        'The kind of the items. Products come before customers, licenses and blacklist entries.',
      ),
    items: z
      .array(z.unknown())
      .min(1)
      .max(MAX_IMPORT_ITEMS)
      .describe(
        `At most ${MAX_IMPORT_ITEMS}, each as GET shows it: the fields of POST, with the id, the key and the times. A field that is omitted or null has its default.`,
      ),
    dryRun: z.boolean().default(false).describe('Checks everything and writes nothing.'),
    assumedProductIds: z
      .array(z.int().min(1))
      .max(MAX_IMPORT_ITEMS)
      .default([])
      .describe('Products that a dry run assumes to exist.'),
  }),
  {
    kind: 'blacklists',
    items: [{ id: 5, ...entryExample, createdAt: CREATED, updatedAt: UPDATED }],
    dryRun: true,
    assumedProductIds: [],
  },
);
export type ImportRequest = z.infer<typeof importRequest>;

const resultExample = {
  outcome: 'created' as const,
  id: 5,
  differences: [],
  reason: null,
};

export const importResult = named(
  'ImportResult',
  'The result of one item.',
  z.strictObject({
    outcome: z
      .enum(IMPORT_OUTCOMES)
      .describe(
        '`created`; `unchanged` if it existed; `kept` if it existed with other values, which stay; or `refused`, for a rejected item.',
      ),
    id: z.int().nullable().describe('Its id; null if it was rejected, or would get a new one.'),
    differences: z
      .array(z.string())
      .describe(
        'The fields in which the stored object differs from the item; `id` if that was in use.',
      ),
    reason: z
      .string()
      .nullable()
      .describe(
        'Why it was rejected, or which values of a new one belong to another object: each field, value and reason.',
      ),
  }),
  resultExample,
);
export type ImportResult = z.infer<typeof importResult>;

/** The response to POST /api/v2/import. */
export const importResponse = named(
  'ImportResponse',
  'The results of an import.',
  z.strictObject({
    results: z.array(importResult).describe('In the order of the items.'),
    createdOwners: z
      .int()
      .describe(
        'The customers that were created as owners of licenses. A dry run counts them again in each request.',
      ),
  }),
  { results: [resultExample], createdOwners: 0 },
);
export type ImportResponse = z.infer<typeof importResponse>;

const MAX_ID = 2 ** 48;
/** An id to keep. The database assigns larger ones afterwards, which must be exact JSON numbers too. */
const keptId = id.max(MAX_ID);

type Shape<F extends Fields> = { [Name in keyof F]: F[Name]['create'] };

/** The fields of the body of POST. */
function shapeOf<F extends Fields>(fields: F): Shape<F>;
function shapeOf(fields: Fields): z.ZodRawShape {
  return Object.fromEntries(Object.entries(fields).map(([name, { create }]) => [name, create]));
}

export const productItem = z.strictObject({
  ...shapeOf(settable(productFields)),
  id: keptId,
  createdDate: timestamp.optional(),
  updatedDate: timestamp.optional(),
});

export const customerItem = z.strictObject({
  ...shapeOf(settable(customerFields)),
  id: keptId.optional(),
  createdAt: timestamp.optional(),
});

export const licenseItem = z.strictObject({
  ...shapeOf(settable(licenseFields)),
  id: keptId.optional(),
  licenseKey: text(MAX_TEXT_LENGTH).trim(),
  productIdString: z.unknown().optional(),
  effectiveEntitlements: z.unknown().optional(),
  createdDate: timestamp.optional(),
  updatedDate: timestamp.optional(),
  totalRequests: z.int().min(0).default(0),
  customer: customerItem.optional(),
});

export const entryItem = z.strictObject({
  ...shapeOf(settable(entryFields)),
  id: keptId.optional(),
  createdAt: timestamp.optional(),
  updatedAt: timestamp.optional(),
});
