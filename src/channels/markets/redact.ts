import { parseObject } from './json.ts';

/** Bodies of markets as they are kept: without secrets, and without what is about a person (9). */

const MAX_LENGTH = 4 * 1024;
const MAX_DEPTH = 20;
const HIDDEN = '***';
const HIDDEN_NAME =
  /secret|token|password|signature|mail|phone|postal|address|name$|^ip$|_ip$|^ip_|^street|^city$|^line[12]$|^receipt_url$|^hosted_invoice_url$|^invoice_pdf$/i;
/** Bounded, because a buyer may write what is searched. */
const EMAIL = /[^\s"'<>&=:,;(){}[\]@]{1,64}@[^\s"'<>&=:,;(){}[\]@]{1,255}/g;
/** Names of products are no names of persons. */
const PRODUCT = /product|package|item|resource|variant|plan/i;
/** Bodies that are neither JSON nor a form, and could hold anything. */
const UNREADABLE = '(neither JSON nor a form)';

function redacted(
  value: unknown,
  name: string,
  parent: string,
  secrets: readonly string[],
  depth = 0,
): unknown {
  // People do not read deeper, and the stack has an end.
  if (depth > MAX_DEPTH) return HIDDEN;
  const isOfProduct = name === 'name' ? PRODUCT.test(parent) : PRODUCT.test(name);
  const isHidden = HIDDEN_NAME.test(name) && !(/(?<!user)name$/i.test(name) && isOfProduct);
  if (isHidden && value !== null && value !== '') return HIDDEN;
  if (Array.isArray(value)) {
    return value.map((one) => redacted(one, name, parent, secrets, depth + 1));
  }
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) => [
        key,
        redacted(one, key, name, secrets, depth + 1),
      ]),
    );
  }
  return typeof value === 'string' ? cleaned(value, secrets) : value;
}

/**
 * A body for people.
 *
 * @param secrets of the market, wherever they stand
 */
export function redact(text: string, secrets: readonly string[]): string {
  const object = parseObject(text) ?? formOf(text);
  if (!object) return UNREADABLE;
  const shown = JSON.stringify(redacted(object, '', '', secrets));
  return shown.slice(0, MAX_LENGTH).toWellFormed().replaceAll('\0', '');
}

/** A text without secrets and e-mail addresses. */
export function cleaned(text: string, secrets: readonly string[]): string {
  const rest = secrets.reduce((known, secret) => known.replaceAll(secret, HIDDEN), text);
  return rest.slice(0, MAX_LENGTH).replace(EMAIL, HIDDEN);
}

/** The fields of a form, some of which hold JSON; undefined for any other text. */
function formOf(text: string): object | undefined {
  if (!/^[\w.[\]%-]+=/.test(text)) return undefined;
  return Object.fromEntries(
    [...new URLSearchParams(text)].map(([name, value]) => [name, parseObject(value) ?? value]),
  );
}
