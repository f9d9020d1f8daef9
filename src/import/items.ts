import { entryFields } from '@licet/contract/blacklists';
import { customerFields } from '@licet/contract/customers';
import { booleanText, id, text } from '@licet/contract/fields';
import { isObject, type JsonObject } from '@licet/contract/json';
import { licenseFields } from '@licet/contract/licenses';
import { MAX_LIMIT } from '@licet/contract/limits';
import { productFields } from '@licet/contract/products';
import { type Fields, settable } from '@licet/contract/resource';
import * as z from 'zod';
import { parseFields } from '../lib/issues.ts';
import { normalizeLicenseKey } from '../resources/licenses/rules.ts';
import { type Change, changeOf, changesOf, describeChanges } from './changes.ts';
import { importTime } from './times.ts';

/**
 * The items of an import: objects as GET shows them, from any service of this interface, or rows of a table.
 * They are checked by the rules of POST, with these exceptions: null and empty text count as absent, a number
 * may be text, a time has more forms, and unknown fields are ignored.
 */

export const isBlank = (value: unknown): boolean =>
  value === undefined || value === null || value === '';

const withoutBlanks = (value: unknown): unknown =>
  isObject(value)
    ? Object.fromEntries(Object.entries(value).filter(([, field]) => !isBlank(field)))
    : value;

const readNumber = (value: unknown): unknown =>
  typeof value === 'string' && /^-?\d+(\.0+)?$/.test(value.trim()) ? Number(value) : value;

const number = <Schema extends z.ZodType>(schema: Schema) => z.preprocess(readNumber, schema);

const isOverLimit = (value: unknown): boolean =>
  typeof value === 'number' && Number.isInteger(value) && value > MAX_LIMIT;

/** A limit. One that is too high to be stored means unlimited elsewhere, and is here -1 (1.4). */
const importLimit = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((value) => {
    const number = readNumber(value);
    return isOverLimit(number) ? -1 : number;
  }, schema);

/** The limits that are taken as -1. */
export const limitsTakenAsUnlimited = (sent: JsonObject, names: readonly string[]): Change[] =>
  names
    .filter((name) => isOverLimit(readNumber(sent[name])))
    .map((name) => changeOf(sent, [name], `is above ${MAX_LIMIT}, and becomes -1`));

const isNumber = (wire: z.core.$ZodType): boolean =>
  wire instanceof z.ZodNumber || (wire instanceof z.ZodNullable && isNumber(wire.unwrap()));

type Shape<F extends Fields> = { [Name in keyof F]: z.ZodType<z.output<F[Name]['create']>> };

/** The fields of a resource that an import checks as POST does. */
function shapeOf<F extends Fields>(fields: F): Shape<F>;
function shapeOf(fields: Fields): z.ZodRawShape {
  return Object.fromEntries(
    Object.entries(fields).map(([name, { create, wire }]) => [
      name,
      isNumber(wire) ? number(create) : create,
    ]),
  );
}

const MAX_ID = 2 ** 48;
/** An id to keep. The database assigns larger ones afterwards, which must be exact JSON numbers too. */
const importId = number(id.max(MAX_ID));

export const productItem = z.object({
  ...shapeOf(settable(productFields)),
  id: importId,
  defaultMaxIPs: importLimit(productFields.defaultMaxIPs.create),
  defaultMaxHWIDs: importLimit(productFields.defaultMaxHWIDs.create),
  createdDate: importTime.optional(),
  updatedDate: importTime.optional(),
});

/** Logins and their secrets are no fields of an item: they are ignored (3). */
export const customerItem = z.object({
  ...shapeOf(settable(customerFields)),
  id: importId.optional(),
  createdAt: importTime.optional(),
});

export const licenseItem = z.object({
  ...shapeOf(settable(licenseFields)),
  id: importId.optional(),
  licenseKey: text(255).refine((key) => normalizeLicenseKey(key) !== '', 'must not be empty'),
  productIdString: z.unknown().optional(),
  maxIPs: importLimit(licenseFields.maxIPs.create),
  maxHWIDs: importLimit(licenseFields.maxHWIDs.create),
  expiryDate: importTime.nullable().default(null),
  createdDate: importTime.optional(),
  updatedDate: importTime.optional(),
  totalRequests: number(z.int().min(0)).default(0),
  hwids: z.array(z.string()).default([]),
  ips: z.array(z.string()).default([]),
  customer: z.preprocess(withoutBlanks, customerItem).optional(),
});

export const blacklistItem = z.object({
  ...shapeOf(settable(entryFields)),
  id: importId.optional(),
  isForAllProducts: z
    // Spreadsheets write TRUE.
    .union([z.boolean(), z.string().trim().toLowerCase().pipe(booleanText)], {
      error: 'must be true or false',
    })
    .optional(),
  createdAt: importTime.optional(),
  updatedAt: importTime.optional(),
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
  const { data, error } = parseFields(schema, withoutBlanks(sent));
  return error ? (describeChanges(changesOf(error, sent)) ?? '') : { values: data, sent };
}

const MAX_NAME_LENGTH = 100;

/** Collects the names of fields that have a value and are ignored. */
export function collectIgnored(names: Set<string>, schema: z.ZodObject, sent: unknown): void {
  if (!isObject(sent)) return;
  for (const [name, value] of Object.entries(sent)) {
    if (isBlank(value)) continue;
    if (!Object.hasOwn(schema.shape, name)) names.add(name.slice(0, MAX_NAME_LENGTH));
  }
}
