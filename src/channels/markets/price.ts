import { decimalsOf } from '@licet/contract/currencies';
import { numberAt, textAt } from './json.ts';
import type { Price } from './schema.ts';

/** The amounts of payments in the bodies of markets (9). Nothing is guessed: an amount that is not clear is left out. */

const CURRENCY = /^[A-Z]{3}$/;
/** With a sign or an exponent it is no amount that was paid, and a sum of larger ones would lose digits. */
const DECIMAL = /^\d{1,9}(\.\d{1,4})?$/;

/** The code of a currency by its path; null if it is missing or none. */
function currencyAt(value: unknown, path: string): string | null {
  const code = textAt(value, path)?.toUpperCase() ?? '';
  return CURRENCY.test(code) ? code : null;
}

/** An amount with the decimals that its currency has, and those that it needs. */
function withDecimals(text: string, decimals: number): string {
  const [whole = '', rest = ''] = text.split('.');
  const needed = rest.replace(/0+$/, '').padEnd(decimals, '0');
  return needed === '' ? whole : `${whole}.${needed}`;
}

/** The facts about a payment, whose amount stands as a decimal, such as `9.99`. */
export function decimalPrice(
  value: unknown,
  paths: { amount: string; currency: string },
  at: number | null,
): { price?: Price } {
  const amount = numberAt(value, paths.amount);
  const currency = currencyAt(value, paths.currency);
  const text = amount === null ? '' : String(amount);
  if (at === null || !DECIMAL.test(text)) return {};
  return { price: { at, amount: withDecimals(text, decimalsOf(currency)), currency } };
}

/**
 * The facts about a payment, whose amount stands in the smallest unit of its currency, such as cents.
 *
 * @param parts the number of equal parts of which one is meant
 */
export function minorPrice(
  value: unknown,
  paths: { amount: string; currency: string },
  at: number,
  parts = 1,
): { price?: Price } {
  const sum = numberAt(value, paths.amount);
  const currency = currencyAt(value, paths.currency);
  if (sum === null || currency === null) return {};
  const amount = sum / parts;
  if (!Number.isSafeInteger(amount) || amount < 0) return {};
  const decimals = decimalsOf(currency);
  const digits = String(amount).padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const text = decimals === 0 ? whole : `${whole}.${digits.slice(-decimals)}`;
  return DECIMAL.test(text) ? { price: { at, amount: text, currency } } : {};
}
