import { emailAddress } from '@licet/contract/customers';

/** Values in the bodies of markets, read tolerantly: ids come as text or as numbers, and fields can be missing. */

export type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The object in a body; undefined for anything else. */
export function parseObject(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A value by its path, such as `item.product.id`. */
export function valueAt(value: unknown, path: string): unknown {
  let found = value;
  for (const name of path.split('.')) {
    found = isObject(found) && Object.hasOwn(found, name) ? found[name] : undefined;
  }
  return found;
}

/** A list by its path; empty if it is missing. */
export function listAt(value: unknown, path: string): readonly unknown[] {
  const found = valueAt(value, path);
  return Array.isArray(found) ? found : [];
}

const MAX_LENGTH = 255;

/** A text or a number as text; null if it is missing, empty, too long or of another type. */
export function textOf(value: unknown): string | null {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : null;
  if (typeof value !== 'string') return null;
  const text = value.trim().toWellFormed().replaceAll('\0', '');
  return text === '' || text.length > MAX_LENGTH ? null : text;
}

/** {@link textOf} by a path. */
export const textAt = (value: unknown, path: string): string | null => textOf(valueAt(value, path));

/** An e-mail; null for any other text: buyers who write the same, such as `none`, would become one customer. */
export const emailOf = (value: unknown): string | null =>
  emailAddress.safeParse(textOf(value)).data ?? null;

/** {@link emailOf} by a path. */
export const emailAt = (value: unknown, path: string): string | null =>
  emailOf(valueAt(value, path));

/** A number by its path, also as text; null if it is missing or none. */
export function numberAt(value: unknown, path: string): number | null {
  const found = valueAt(value, path);
  const number = typeof found === 'string' && found.trim() !== '' ? Number(found) : found;
  return typeof number === 'number' && Number.isFinite(number) ? number : null;
}

/** A quantity by its path: 1 if it is missing. */
export const quantityAt = (value: unknown, path: string): number =>
  Math.max(1, Math.floor(numberAt(value, path) ?? 1));

/** The end of shops that mean "never"; a later one would not be a date on the wire. */
const MAX_TIME = Date.UTC(9999, 0);

/** A time in ISO 8601 by its path, in milliseconds since 1970; null if it is missing or none. */
export function timeAt(value: unknown, path: string): number | null {
  const text = textAt(value, path);
  const time = text === null ? Number.NaN : Date.parse(text);
  return time > 0 ? Math.min(time, MAX_TIME) : null;
}

/** A time in seconds by its path, in milliseconds since 1970; null if it is missing or none. */
export function secondsAt(value: unknown, path: string): number | null {
  const seconds = numberAt(value, path);
  return seconds !== null && seconds > 0 && seconds < 1e11 ? Math.floor(seconds * 1000) : null;
}

/** Whether two values are the same JSON, with their fields in the same order. */
export const isSameJson = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one) === JSON.stringify(other);
