import { isObject, type JsonObject } from './json.ts';

/** Messages about the values of an item of an import: the field, its value, and the reason. */

/** A field that is not stored as it was sent. */
export interface Change {
  field: string;
  /** For example `ips[1] "Unknown" must be an IP address`. */
  message: string;
}

/** A client makes up the names in `metadata`. */
const MAX_NAME_LENGTH = 100;

/** The name of a field in messages, such as `ips[1]`. */
export function fieldName(path: readonly PropertyKey[]): string {
  return path
    .map((part, index) =>
      typeof part === 'number'
        ? `[${part}]`
        : `${index > 0 ? '.' : ''}${String(part).slice(0, MAX_NAME_LENGTH)}`,
    )
    .join('');
}

const MAX_VALUE_LENGTH = 40;
const MAX_MESSAGES = 10;

function valueAt(sent: unknown, [name, ...rest]: readonly PropertyKey[]): unknown {
  if (name === undefined) return sent;
  if (Array.isArray(sent)) return valueAt(sent[Number(name)], rest);
  return isObject(sent) ? valueAt(sent[String(name)], rest) : undefined;
}

/** A value as JSON, shortened. Control characters are escaped. Empty for an object, a list and a missing value. */
function shown(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean') return ` ${value}`;
  if (typeof value !== 'string') return '';
  const isLong = value.length > MAX_VALUE_LENGTH;
  return ` ${JSON.stringify(isLong ? `${value.slice(0, MAX_VALUE_LENGTH)}…` : value)}`;
}

/** @param message the rest of a sentence that begins with the field and its value */
export function changeOf(sent: JsonObject, path: readonly PropertyKey[], message: string): Change {
  // A license key lets its reader use the license. The report has it in a field of its own.
  const value = path[0] === 'licenseKey' ? '' : shown(valueAt(sent, path));
  return { field: String(path[0]), message: `${fieldName(path)}${value} ${message}` };
}

/** One text with the messages; null without any. */
export function describeChanges(changes: readonly Change[]): string | null {
  if (changes.length === 0) return null;
  const rest = changes.length - MAX_MESSAGES;
  const messages = changes.slice(0, MAX_MESSAGES).map(({ message }) => message);
  return [...messages, ...(rest > 0 ? [`and ${rest} more`] : [])].join('; ');
}
