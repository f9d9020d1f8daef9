import { IMPORT_FIELDS, IMPORT_TYPES } from '@licet/client/types';
import { canonicalAddress, globalAddress, LOCAL_ADDRESS } from '@licet/contract/addresses';
import { type Change, changeOf, describeChanges, fieldName } from '@licet/contract/changes';
import { isObject, type JsonObject } from '@licet/contract/json';
import {
  MAX_HWID_BYTES,
  MAX_LIMIT,
  MAX_METADATA_LENGTH,
  MAX_METADATA_NAMES,
  METADATA_NAME,
  METADATA_NAME_MESSAGE,
} from '@licet/contract/limits';
import { fitsHwid, isStorable } from '@licet/contract/texts';
import { DERIVED } from './fields.ts';
import type { Kind } from './kinds.ts';
import type { Result } from './results.ts';
import { readWord, truthOf } from './words.ts';

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

/** Whether a value says nothing, as databases and programs write it. */
const isBlank = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  (typeof value === 'string' && /^(?:|null|NULL|\\N)$/.test(value.trim()));

const toInteger = (value: unknown): unknown =>
  typeof value === 'string' && /^-?\d+(\.0+)?$/.test(value.trim()) ? Number(value) : value;

const toBoolean = (value: unknown): unknown => truthOf(value) ?? value;

/** An end that is none: a word, or the zero of a database. */
const NEVER = /^(?:never|none|lifetime|forever|unlimited|0000-00-00(?:[T ]00:00:00)?)$/i;

/** ISO 8601 for a time of a database, a spreadsheet or a shop. The service rejects other text. */
function toIsoTime(value: unknown): unknown {
  if (typeof value !== 'string' && typeof value !== 'number') return value;
  const text = String(value).trim();
  if (NEVER.test(text)) return null;
  if (/^\d{10}$/.test(text)) return new Date(Number(text) * 1_000).toISOString();
  if (/^\d{13}$/.test(text)) return new Date(Number(text)).toISOString();
  if (typeof value === 'number') return value;
  // Days and months between slashes have another order in other countries: 01/02/2030 is rejected.
  return text
    .replace(/^(\d{1,2})\.(\d{1,2})\.(\d{4})(?!\S)/, (_, day: string, month: string, year) =>
      [year, month.padStart(2, '0'), day.padStart(2, '0')].join('-'),
    )
    .replace(
      /^(\d{4})([/.])(\d{1,2})\2(\d{1,2})(?=T|\s|$)/,
      (_, year, __, month: string, day: string) =>
        [year, month.padStart(2, '0'), day.padStart(2, '0')].join('-'),
    )
    .replace(/^(\d{4}-\d\d-\d\d)\s+(?=\d)/, '$1T')
    .replace(/(T\S+)\s*(?:UTC|GMT|Z)$/i, '$1Z')
    .replace(/(T\S+)\s+(?=[+-]\d\d)/, '$1');
}

const READERS = { integer: toInteger, boolean: toBoolean, 'date-time': toIsoTime };
const TYPES: ReadonlyMap<string, keyof typeof READERS> = new Map(Object.entries(IMPORT_TYPES));

function readValue(name: string, value: unknown): unknown {
  if (isBlank(value)) return null;
  const type = TYPES.get(name);
  return type === undefined ? readWord(name, value) : READERS[type](value);
}

/** Reads the fields of an item. Adds the names of unknown ones to `ignored`. */
function readFields(kind: Kind, sent: JsonObject, ignored: string[], prefix = ''): Values {
  const values: Values = {};
  for (const [name, value] of Object.entries(sent)) {
    // Metadata of another form is a field of another service.
    const isKnown = name !== 'metadata' || isObject(value);
    if (isKnown && IMPORT_FIELDS[kind].includes(name)) values[name] = readValue(name, value);
    else if (DERIVED.includes(name)) continue;
    else if (!isBlank(value)) ignored.push(`${prefix}${name.slice(0, MAX_NAME_LENGTH)}`);
  }
  return values;
}

const LIMITS = ['maxIPs', 'maxHWIDs', 'defaultMaxIPs', 'defaultMaxHWIDs'];

/** A limit that is too high to be stored means unlimited elsewhere, and is here -1 (1.4). */
const replaceLimits = (values: Values, sent: JsonObject): Change[] =>
  LIMITS.flatMap((name) => {
    const limit = values[name];
    if (/^(?:unlimited|infinite|∞)$/i.test(String(limit))) values[name] = -1;
    if (!Number.isInteger(limit) || Number(limit) <= MAX_LIMIT) return [];
    values[name] = -1;
    return changeOf(sent, [name], `is above ${MAX_LIMIT}, and becomes -1`);
  });

const EXPIRY_FIELDS = ['expiryDate', 'expiresAfterDays'];

/** A license without a type is permanent if its end is empty. Without a field for it, the service rejects it. */
function deriveType(values: Values): void {
  if (!isBlank(values.licenseType) || !EXPIRY_FIELDS.some((name) => name in values)) return;
  const isPermanent = EXPIRY_FIELDS.every((name) => isBlank(values[name]));
  values.licenseType = isPermanent ? 'PERMANENT' : 'TEMPORARY';
}

const ACCOUNT_FIELDS = [
  ...['ownerChatId', 'ownerPlatformId', 'chatId', 'platformAId', 'platformBId', 'platformCId'],
  ...['marketAId', 'marketBId'],
];

/** The account of a guest, as shops and programs write it: it would make one person of all guests. */
const NOBODY = /^(?:0|-1?|none|nan|undefined|n\/a|unknown|guest)$/i;

function removeNobody(values: Values, sent: JsonObject, outer: readonly string[] = []): Change[] {
  return ACCOUNT_FIELDS.flatMap((name) => {
    if (!NOBODY.test(String(values[name]).trim()) || values[name] === undefined) return [];
    values[name] = null;
    return changeOf(sent, [...outer, name], 'is no account');
  });
}

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

/**
 * Leaves out the values that no validation could have bound, such as the address "Unknown", and repeated ones. An address
 * has several spellings, so a repeated one is reported.
 */
function removeUnbindable(
  values: Values,
  sent: JsonObject,
  name: string,
  read: (text: string) => Binding,
): Change[] {
  const bound = values[name];
  if (!isStrings(bound)) return [];
  const changes: Change[] = [];
  const firsts = new Map<string, number>();
  for (const [index, text] of bound.entries()) {
    const binding = read(text);
    const first = 'fault' in binding ? undefined : firsts.get(binding.value);
    if ('fault' in binding) changes.push(changeOf(sent, [name, index], binding.fault));
    else if (first === undefined && firsts.size < MAX_LIMIT) firsts.set(binding.value, index);
    else if (first !== undefined && name === 'ips') {
      changes.push(changeOf(sent, [name, index], `is the same as ${fieldName([name, first])}`));
    }
  }
  values[name] = [...firsts.keys()];
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

/** The text of a value in metadata, or the reason why it has none. */
function textOf(name: string, value: unknown): { text: string } | { fault: string } {
  if (!METADATA_NAME.test(name)) return { fault: METADATA_NAME_MESSAGE };
  if (!['string', 'number', 'boolean'].includes(typeof value)) return { fault: 'must be a text' };
  const text = String(value);
  if (!isStorable(text)) return { fault: 'must not contain NUL or unpaired surrogates' };
  return text.length > MAX_METADATA_LENGTH
    ? { fault: `must be at most ${MAX_METADATA_LENGTH} characters` }
    : { text };
}

/** Leaves out the texts in metadata that cannot be stored. Other services have numbers and lists there. */
function readMetadata(values: Values, sent: JsonObject, outer: readonly string[] = []): Change[] {
  const { metadata } = values;
  if (!isObject(metadata)) return [];
  const changes: Change[] = [];
  const texts: [name: string, text: string][] = [];
  for (const [name, value] of Object.entries(metadata)) {
    if (isBlank(value) || value === '') continue;
    const read =
      texts.length < MAX_METADATA_NAMES
        ? textOf(name, value)
        : { fault: `is beyond the first ${MAX_METADATA_NAMES}` };
    if ('text' in read) texts.push([name, read.text]);
    else changes.push(changeOf(sent, [...outer, 'metadata', name], read.fault));
  }
  values.metadata = Object.fromEntries(texts);
  return changes;
}

/** Reads the ends of entitlements. One that is none is left out. */
function readEnds(values: Values): void {
  const { entitlementsExpire } = values;
  if (!isObject(entitlementsExpire)) return;
  const ends = Object.entries(entitlementsExpire).map(([name, end]) => [name, toIsoTime(end)]);
  values.entitlementsExpire = Object.fromEntries(ends.filter(([, end]) => end !== null));
}

function readLicense(values: Values, sent: JsonObject, ignored: string[]): Change[] {
  const { customer } = values;
  const changes: Change[] = [];
  if (isObject(customer)) {
    const owner = readFields('customers', customer, ignored, 'customer.');
    changes.push(...removeNobody(owner, sent, ['customer']));
    changes.push(...readMetadata(owner, sent, ['customer']));
    values.customer = owner;
  }
  deriveType(values);
  readEnds(values);
  return [
    ...changes,
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
  const changes = [
    ...replaceLimits(item, sent),
    ...removeNobody(item, sent),
    ...readMetadata(item, sent),
  ];
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
