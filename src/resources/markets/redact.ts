import { parseObject } from './json.ts';

/** Bodies of markets as they are kept: without secrets, and without what is about a person (9). */

const MAX_LENGTH = 4 * 1024;
const MAX_DEPTH = 20;
const HIDDEN = '***';
const HIDDEN_NAME =
  /secret|token|password|signature|mail|phone|postal|address|^name$|username|_name$|^ip$|_ip$|^ip_/i;
const EMAIL = /[^\s"'<>&=:,;(){}[\]]+@[^\s"'<>&=:,;(){}[\]]+\.[a-z]{2,}/gi;
/** Names of products are no names of persons. */
const PRODUCT = /product|package|item|resource|variant|plan/i;

function redacted(value: unknown, name: string, parent: string, depth = 0): unknown {
  // People do not read deeper, and the stack has an end.
  if (depth > MAX_DEPTH) return HIDDEN;
  if (Array.isArray(value)) return value.map((one) => redacted(one, name, parent, depth + 1));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) => [key, redacted(one, key, name, depth + 1)]),
    );
  }
  const isHidden = HIDDEN_NAME.test(name) && !(/name$/i.test(name) && PRODUCT.test(name + parent));
  if (isHidden && value !== null && value !== '') return HIDDEN;
  return typeof value === 'string' ? value.replace(EMAIL, HIDDEN) : value;
}

/**
 * A body for people.
 *
 * @param secrets of the market, wherever they stand
 */
export function redact(text: string, secrets: readonly string[]): string {
  const object = parseObject(text) ?? formOf(text);
  const shown = object ? JSON.stringify(redacted(object, '', '')) : text.replace(EMAIL, HIDDEN);
  const clean = secrets.reduce((rest, secret) => rest.replaceAll(secret, HIDDEN), shown);
  return clean.slice(0, MAX_LENGTH).toWellFormed().replaceAll('\0', '');
}

/** The fields of a form, some of which hold JSON; undefined for any other text. */
function formOf(text: string): object | undefined {
  if (!/^[\w.[\]%-]+=/.test(text)) return undefined;
  return Object.fromEntries(
    [...new URLSearchParams(text)].map(([name, value]) => [name, parseObject(value) ?? value]),
  );
}
