import type { Entitlement } from '@licet/contract/entitlements';

/**
 * Entitlements as text, in options and in cells of CSV files: `edition=gold`, `pro` for true, `!pro` for null. The console
 * uses this too, so nothing here needs Node.
 */

/** The value that a text means: a number if it is an integer. In quotation marks it is a text in any case. */
export function entitlementValue(text: string): Entitlement {
  if (text === '' || text === 'true') return true;
  const number = Number(text);
  if (Number.isSafeInteger(number) && String(number) === text) return number;
  return /^"(.*)"$/.exec(text)?.[1] ?? text;
}

/** A text that {@link entitlementValue} reads as this value. */
export const entitlementValueText = (value: unknown): string =>
  typeof value === 'string' && entitlementValue(value) !== value ? `"${value}"` : String(value);

function entitlementText([name, value]: readonly [string, unknown]): string {
  if (value === null) return `!${name}`;
  return value === true ? name : `${name}=${entitlementValueText(value)}`;
}

/** All of them, or all ends, in one text. */
export const entitlementsText = (values: object, separator = ';'): string =>
  Object.entries(values).map(entitlementText).join(separator);

function readEntitlement(text: string): [name: string, value: Entitlement | null] {
  const [, name = text, value = ''] = /^([^=]*)=(.*)$/s.exec(text) ?? [];
  if (name === text && text.startsWith('!')) return [text.slice(1).trim(), null];
  return [name.trim(), entitlementValue(value.trim())];
}

/** The entitlements, or the ends, in a cell. Undefined if it names one twice. */
export function entitlementsIn(cell: string): Record<string, Entitlement | null> | undefined {
  const parts = cell.split(';').filter((part) => part.trim() !== '');
  const entries = parts.map((part) => readEntitlement(part.trim()));
  const values = Object.fromEntries(entries);
  return Object.keys(values).length === entries.length ? values : undefined;
}
