import * as z from 'zod';

/** The kinds of items. Later kinds refer to earlier ones. */
export const IMPORT_KINDS = ['products', 'customers', 'licenses', 'blacklists'] as const;
export type ImportKind = (typeof IMPORT_KINDS)[number];

export const MAX_ITEMS = 200;

export const IMPORT_OUTCOMES = ['created', 'unchanged', 'kept', 'refused'] as const;

/** The body of POST /api/v2/import. Items are checked one by one, so that an invalid one affects no other. */
export const importRequest = z.strictObject({
  kind: z.enum(IMPORT_KINDS),
  items: z.array(z.unknown()).min(1).max(MAX_ITEMS),
  dryRun: z.boolean().default(false),
  assumedProductIds: z.array(z.int().min(1)).max(MAX_ITEMS).default([]),
});
export type ImportRequest = z.infer<typeof importRequest>;

/** The result of one item. */
export const importResult = z.strictObject({
  outcome: z.enum(IMPORT_OUTCOMES),
  id: z.int().nullable(),
  differences: z.array(z.string()),
  reason: z.string().nullable(),
});
export type ImportResult = z.infer<typeof importResult>;

/** The response to POST /api/v2/import, with the results in the order of the items. */
export const importResponse = z.strictObject({
  results: z.array(importResult),
  ignoredFields: z.array(z.string()),
  createdOwners: z.int(),
});
export type ImportResponse = z.infer<typeof importResponse>;
