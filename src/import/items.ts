import { changeOf, describeChanges } from '@licet/contract/changes';
import { rewrittenIds } from '@licet/contract/import-ids';
import { isObject, type JsonObject } from '@licet/contract/json';
import type * as z from 'zod';
import { parseFields } from '../lib/issues.ts';

/** A valid item, and the item as it was sent: only fields that were sent are compared. */
export interface Item<Values> {
  values: Values;
  sent: JsonObject;
}

/** Null counts as absent, as in the body of POST: GET shows it for an empty field. */
const withoutNulls = (value: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null));

/**
 * Parses an item: a body of POST, with the id, the key, the times, the customer and the count of an existing object. The
 * command line and the console bring the files of others into this form.
 *
 * @returns the reason if it is invalid
 */
export function readItem<Schema extends z.ZodObject>(
  schema: Schema,
  sent: unknown,
): Item<z.infer<Schema>> | string {
  if (!isObject(sent)) return 'must be an object';
  const rewritten = describeChanges(rewrittenIds(sent));
  if (rewritten !== null) return rewritten;
  const { customer, ...fields } = withoutNulls(sent);
  const owner = isObject(customer) ? withoutNulls(customer) : customer;
  const { data, error } = parseFields(schema, {
    ...fields,
    ...(owner !== undefined && { customer: owner }),
  });
  if (!error) return { values: data, sent };
  const faults = error.issues.map((issue) =>
    issue.code === 'unrecognized_keys'
      ? { field: '', message: issue.message }
      : changeOf(sent, issue.path, issue.message),
  );
  return describeChanges(faults) ?? '';
}
