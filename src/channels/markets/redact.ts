import { parseJson } from '@licet/contract/json';
import { parseObject } from './json.ts';

/** Bodies of markets as they are kept: without secrets, and without what is about a person (9). */

const MAX_LENGTH = 4 * 1024;
const MAX_DEPTH = 20;
const HIDDEN = '***';
const HIDDEN_NAME =
  /secret|token|password|signature|mail|phone|postal|address|name$|^ip$|_ip$|^ip_|^street|^city$|^line[12]$|^card$|last4|iban|bank|fingerprint|tax_?id|^receipt_url$|^hosted_invoice_url$|^invoice_pdf$/i;
/** A shorter name of a buyer is hidden only where it stands alone: it could be a part of any word. */
const MIN_NAME_LENGTH = 4;
/** Bounded, because a buyer may write what is searched. */
const EMAIL = /[^\s"'<>&=:,;(){}[\]@]{1,64}@[^\s"'<>&=:,;(){}[\]@]{1,255}/g;
/** Names of products are no names of persons. */
const PRODUCT = /product|package|item|resource|variant|plan/i;
/** Bodies that are neither JSON nor a form, and could hold anything. */
const UNREADABLE = '(neither JSON nor a form)';

/** The texts that are hidden: parts of names of fields, whole texts, and parts of texts. */
interface Hidden {
  secrets: readonly string[];
  names: readonly string[];
  parts: readonly string[];
}

function redacted(
  value: unknown,
  name: string,
  parent: string,
  hidden: Hidden,
  depth = 0,
): unknown {
  // People do not read deeper, and the stack has an end.
  if (depth > MAX_DEPTH) return HIDDEN;
  const isOfProduct = name === 'name' ? PRODUCT.test(parent) : PRODUCT.test(name);
  const isHidden = HIDDEN_NAME.test(name) && !(/(?<!user)name$/i.test(name) && isOfProduct);
  if (isHidden && value !== null && value !== '') return HIDDEN;
  if (Array.isArray(value)) {
    return value.map((one) => redacted(one, name, parent, hidden, depth + 1));
  }
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) => [
        hidden.names.includes(key) ? HIDDEN : cleaned(key, hidden.secrets),
        redacted(one, key, name, hidden, depth + 1),
      ]),
    );
  }
  if (typeof value !== 'string') return value;
  const inner = jsonIn(value);
  if (inner !== undefined) return redacted(inner, name, parent, hidden, depth + 1);
  if (hidden.names.includes(value.trim())) return HIDDEN;
  return cleaned(value, hidden.parts);
}

/** The object or list in a text; undefined for any other text. */
function jsonIn(text: string): object | undefined {
  const value = /^\s*[[{]/.test(text) ? parseJson(text) : undefined;
  return typeof value === 'object' && value !== null ? value : undefined;
}

/**
 * A body for people.
 *
 * @param secrets of the market, wherever they stand
 * @param names of buyers, wherever they stand
 */
export function redact(
  text: string,
  secrets: readonly string[],
  names: readonly string[] = [],
): string {
  const object = parseObject(text) ?? formOf(text);
  if (!object) return UNREADABLE;
  const longNames = names.filter(({ length }) => length >= MIN_NAME_LENGTH);
  const hidden = { secrets, names, parts: [...secrets, ...longNames] };
  const shown = JSON.stringify(redacted(object, '', '', hidden));
  return shown.slice(0, MAX_LENGTH).toWellFormed().replaceAll('\0', '');
}

/** A text without secrets and e-mail addresses. */
export function cleaned(text: string, secrets: readonly string[]): string {
  const rest = secrets.reduce((known, secret) => known.replaceAll(secret, HIDDEN), text);
  return rest.slice(0, MAX_LENGTH).replace(EMAIL, HIDDEN);
}

/** The fields of a form; undefined for any other text. */
const formOf = (text: string): object | undefined =>
  /^[\w.[\]%-]+=/.test(text) ? Object.fromEntries(new URLSearchParams(text)) : undefined;
