import { entryFields } from '@licet/contract/blacklists';
import { changeOf, describeChanges } from '@licet/contract/changes';
import { customerFields } from '@licet/contract/customers';
import { id, text } from '@licet/contract/fields';
import { isObject, type JsonObject } from '@licet/contract/json';
import { licenseFields } from '@licet/contract/licenses';
import { productFields } from '@licet/contract/products';
import { type Fields, settable } from '@licet/contract/resource';
import { timestamp } from '@licet/contract/time';
import * as z from 'zod';
import { parseFields } from '../lib/issues.ts';
import { normalizeLicenseKey } from '../resources/licenses/rules.ts';

/**
 * The items of an import: bodies of POST, with the id, the key, the times and the count of an existing object. The command
 * line and the console bring the files of others into this form (`foreign-items.ts`).
 */

const MAX_ID = 2 ** 48;
/** An id to keep. The database assigns larger ones afterwards, which must be exact JSON numbers too. */
const keptId = id.max(MAX_ID);

type Shape<F extends Fields> = { [Name in keyof F]: F[Name]['create'] };

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

/** Null counts as absent, as in the body of POST: GET shows it for an empty field. */
const withoutNulls = (value: unknown): unknown =>
  isObject(value)
    ? Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null))
    : value;

export const licenseItem = z.strictObject({
  ...shapeOf(settable(licenseFields)),
  id: keptId.optional(),
  licenseKey: text(255).refine((key) => normalizeLicenseKey(key) !== '', 'must not be empty'),
  productIdString: z.unknown().optional(),
  createdDate: timestamp.optional(),
  updatedDate: timestamp.optional(),
  totalRequests: z.int().min(0).default(0),
  customer: z.preprocess(withoutNulls, customerItem).optional(),
});

export const blacklistItem = z.strictObject({
  ...shapeOf(settable(entryFields)),
  id: keptId.optional(),
  createdAt: timestamp.optional(),
  updatedAt: timestamp.optional(),
});

/** A valid item, and the item as it was sent: only fields that were sent are compared. */
export interface Item<Values> {
  values: Values;
  sent: JsonObject;
}

/** Parses an item. @returns the reason if it is invalid */
export function readItem<Schema extends z.ZodObject>(
  schema: Schema,
  sent: unknown,
): Item<z.infer<Schema>> | string {
  if (!isObject(sent)) return 'must be an object';
  const { data, error } = parseFields(schema, withoutNulls(sent));
  if (!error) return { values: data, sent };
  const faults = error.issues.map((issue) =>
    issue.code === 'unrecognized_keys'
      ? { field: '', message: issue.message }
      : changeOf(sent, issue.path, issue.message),
  );
  return describeChanges(faults) ?? '';
}
