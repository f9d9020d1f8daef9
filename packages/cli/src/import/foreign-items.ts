import { IMPORT_FIELDS, IMPORT_TYPES } from '@licet/client/types';
import { canonicalAddress, globalAddress, LOCAL_ADDRESS } from '@licet/contract/addresses';
import { type Change, changeOf, describeChanges } from '@licet/contract/changes';
import { isObject, type JsonObject } from '@licet/contract/json';
import { MAX_HWID_BYTES, MAX_LIMIT } from '@licet/contract/limits';
import { fitsHwid, isStorable } from '@licet/contract/texts';
import type { Kind } from './kinds.ts';
import type { Result } from './results.ts';

/**
 * Items as other services, databases and spreadsheets write them, in the form that the service takes. The console uses
 * this too, so nothing here needs Node.
 */

/** An item to send. */
export interface Readable {
  item: unknown;
  /** The unknown fields that hold something. The service would reject the item for them. */
  ignored: readonly string[];
  /** The values that are not sent as they were. */
  changes: readonly Change[];
}

/** The known fields of an item, of which some values change. */
type Values = Record<string, unknown>;

const MAX_NAME_LENGTH = 100;

const isBlank = (value: unknown): boolean => value === undefined || value === null || value === '';

const toInteger = (value: unknown): unknown =>
  typeof value === 'string' && /^-?\d+(\.0+)?$/.test(value.trim()) ? Number(value) : value;

const BOOLEANS = new Map([
  ['true', true],
  ['false', false],
]);

/** Spreadsheets write TRUE. */
const toBoolean = (value: unknown): unknown =>
  typeof value === 'string' ? (BOOLEANS.get(value.trim().toLowerCase()) ?? value) : value;

/** ISO 8601 for a time of a database, a spreadsheet or a shop. The service rejects other text. */
function toIsoTime(value: unknown): unknown {
  if (typeof value !== 'string' && typeof value !== 'number') return value;
  const text = String(value).trim();
  if (/^\d{10}$/.test(text)) return new Date(Number(text) * 1_000).toISOString();
  if (/^\d{13}$/.test(text)) return new Date(Number(text)).toISOString();
  if (typeof value === 'number') return value;
  // Days and months between slashes have another order in other countries: 01/02/2030 is rejected.
  return text
    .replace(/^(\d{1,2})\.(\d{1,2})\.(\d{4})(?!\S)/, (_, day: string, month: string, year) =>
      [year, month.padStart(2, '0'), day.padStart(2, '0')].join('-'),
    )
    .replace(/^(\d{4}-\d\d-\d\d)\s+/, '$1T');
}

const READERS = { integer: toInteger, boolean: toBoolean, 'date-time': toIsoTime };
const TYPES: ReadonlyMap<string, keyof typeof READERS> = new Map(Object.entries(IMPORT_TYPES));

function readValue(name: string, value: unknown): unknown {
  if (isBlank(value)) return null;
  const type = TYPES.get(name);
  return type === undefined ? value : READERS[type](value);
}

/** Reads the fields of an item. Adds the names of unknown ones to `ignored`. */
function readFields(kind: Kind, sent: JsonObject, ignored: string[], prefix = ''): Values {
  const values: Values = {};
  for (const [name, value] of Object.entries(sent)) {
    if (IMPORT_FIELDS[kind].includes(name)) values[name] = readValue(name, value);
    // Follows from `productId`.
    else if (name === 'productIdString') continue;
    else if (!isBlank(value)) ignored.push(`${prefix}${name.slice(0, MAX_NAME_LENGTH)}`);
  }
  return values;
}

const LIMITS = ['maxIPs', 'maxHWIDs', 'defaultMaxIPs', 'defaultMaxHWIDs'];

/** A limit that is too high to be stored means unlimited elsewhere, and is here -1 (1.4). */
const replaceLimits = (values: Values, sent: JsonObject): Change[] =>
  LIMITS.flatMap((name) => {
    const limit = values[name];
    if (!Number.isInteger(limit) || Number(limit) <= MAX_LIMIT) return [];
    values[name] = -1;
    return changeOf(sent, [name], `is above ${MAX_LIMIT}, and becomes -1`);
  });

const EXPIRY_FIELDS = ['expiryDate', 'expiresAfterDays'];

function removeExpiry(values: Values, sent: JsonObject): Change[] {
  if (values.licenseType !== 'PERMANENT') return [];
  return EXPIRY_FIELDS.flatMap((name) => {
    if (isBlank(values[name])) return [];
    values[name] = null;
    return changeOf(sent, [name], 'does not apply to a PERMANENT license');
  });
}

/** A value as a validation binds it, or the reason why none can (1.2). */
type Binding = { value: string } | { fault: string };

function readAddress(text: string): Binding {
  const value = globalAddress(text);
  if (value !== null) return { value };
  return { fault: canonicalAddress(text) === null ? 'must be an IP address' : LOCAL_ADDRESS };
}

function readHwid(text: string): Binding {
  const value = text.trim();
  if (value === '') return { fault: 'must not be empty' };
  if (!isStorable(value)) return { fault: 'must not contain NUL or unpaired surrogates' };
  return fitsHwid(value) ? { value } : { fault: `must be at most ${MAX_HWID_BYTES} bytes` };
}

const isStrings = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string');

/** Leaves out the values that no validation could have bound, such as the address "Unknown". */
function removeUnbindable(
  values: Values,
  sent: JsonObject,
  name: string,
  read: (text: string) => Binding,
): Change[] {
  const bound = values[name];
  if (!isStrings(bound)) return [];
  const changes: Change[] = [];
  const kept = new Set<string>();
  for (const [index, text] of bound.entries()) {
    const binding = read(text);
    if ('fault' in binding) changes.push(changeOf(sent, [name, index], binding.fault));
    else if (kept.size < MAX_LIMIT) kept.add(binding.value);
  }
  values[name] = [...kept];
  if (bound.length > MAX_LIMIT) {
    changes.push(changeOf(sent, [name], `must be at most ${MAX_LIMIT} in number`));
  }
  return changes;
}

/** An entry without a product is one for all products. */
function completeEntry(values: Values, sent: JsonObject): Change[] {
  values.isForAllProducts ??= isBlank(values.productId);
  if (values.isForAllProducts !== true || isBlank(values.productId)) return [];
  values.productId = null;
  return [changeOf(sent, ['productId'], 'does not apply to an entry for all products')];
}

function readLicense(values: Values, sent: JsonObject, ignored: string[]): Change[] {
  const { customer } = values;
  if (isObject(customer)) {
    values.customer = readFields('customers', customer, ignored, 'customer.');
  }
  return [
    ...removeExpiry(values, sent),
    ...removeUnbindable(values, sent, 'ips', readAddress),
    ...removeUnbindable(values, sent, 'hwids', readHwid),
  ];
}

/** Reads an item of a file or of another service. */
export function readItem(kind: Kind, sent: unknown): Readable {
  // The service rejects it.
  if (!isObject(sent)) return { item: sent, ignored: [], changes: [] };
  const ignored: string[] = [];
  const item = readFields(kind, sent, ignored);
  const changes = replaceLimits(item, sent);
  if (kind === 'licenses') changes.push(...readLicense(item, sent, ignored));
  if (kind === 'blacklists') changes.push(...completeEntry(item, sent));
  return { item, ignored, changes };
}

/** The result of an item, with the values that were not sent as they were: a new object lacks them. */
export function withChanges(result: Result, changes: readonly Change[]): Result {
  if (result.outcome !== 'created' || changes.length === 0) return result;
  const reasons = [result.reason, describeChanges(changes)];
  return {
    ...result,
    differences: [...new Set([...result.differences, ...changes.map(({ field }) => field)])],
    reason: reasons.filter((reason) => reason !== null).join('; '),
  };
}
