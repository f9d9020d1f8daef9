import { globalAddress } from '@licet/contract/addresses';
import { isObject, type JsonObject, parseJson } from '@licet/contract/json';
import { withWesternDigits } from '@licet/contract/license-key';
import { MAX_HWID_BYTES } from '@licet/contract/limits';
import type { InstallationFields } from '@licet/contract/requests';
import { fitsHwid } from '@licet/contract/texts';
import type { SigningKeys } from '../lib/signing-keys.ts';
import {
  KEY_END_LENGTH,
  keyEnd,
  normalizeLicenseKey,
  toSqliteText,
} from '../resources/licenses/rules.ts';

/**
 * Copies a text. V8 makes a slice a view of its parent: 20 characters would keep a body of 16 KB in memory.
 */
const copyText = (text: string): string => JSON.parse(JSON.stringify(text));

/** The request of a program: may this license key run here? [4.7] */
export interface ValidationRequest {
  licenseKey: string;
  /** The license key, normalized. */
  key: string;
  productId: number;
  /** Canonical: the body's `ip` if it is a global address, else the connecting address. */
  ip: string | null;
  hwid: string | null;
  logged: LoggedFields;
  /** Whether a person wants to move the license to this machine (1.8). */
  takesOver: boolean;
  /** Undefined for a program that asks for no signature. */
  signature?: SignatureRequest | undefined;
}

/** The request fields by which a program asks for a signature (1.8). */
export interface SignatureRequest {
  nonce: string;
  /** Null for the default key. */
  kid: string | null;
  wantsLease: boolean;
  /** The license key and the hardware ID exactly as they were sent: a program compares them with what it sent. */
  sent: { licenseKey: string; hwid: string | null };
}

/** The fields that only the history has. */
type LoggedFields = Omit<InstallationFields, 'licenseKey' | 'productId' | 'ip' | 'hwid'>;

export type ParsedRequest =
  | { ok: true; request: ValidationRequest }
  /** `partial` has the fields that could be read, for the record, and `remarks` what is wrong. */
  | { ok: false; message: string; partial: PartialRequest; remarks: string };

export interface PartialRequest extends Pick<ValidationRequest, 'ip' | 'hwid' | 'logged'> {
  licenseKey: string | null;
  key: string | null;
  productId: number | null;
}

/** A key holder must not fill the database (1.7). */
const MAX_LOGGED_LENGTH = 64;
/** Longer, because the history finds requests by their keys. */
const MAX_LOGGED_KEY_LENGTH = 255;
/** A body of brackets takes longer to parse than the rest of its request. No program sends as many. */
const MAX_BRACKETS = 1_000;
/** JSON.parse takes milliseconds to report how thousands of values were written. */
const MAX_WRITTEN_VALUES = 200;
/** The fields that are text, although a program may send a number. */
const TEXT_FIELDS = [
  'licenseKey',
  'ip',
  'hwid',
  'nonce',
  'kid',
  'productVersion',
  'operatingSystem',
  'operatingSystemVersion',
  'osVersion',
  'operatingSystemArchitecture',
  'osArchitecture',
  'javaVersion',
  'macAddress',
] as const;
const NONCE = /^[\w-]{16,128}$/;

/** The start of an unreadable body that goes into the record. */
const MAX_SHOWN_LENGTH = 64;
/** Longer than {@link MAX_SHOWN_LENGTH}, so that no key is cut before it is recognized. */
const MAX_READ_LENGTH = 512;
/**
 * The value after `licenseKey`, and texts in groups, or of letters and digits, that may be a key. From the start of each
 * word alone, or a long one would be tried from each of its letters.
 */
const LIKE_A_KEY =
  /(?<=licenseKey\W{1,32})[\p{L}\p{N}_][^"'&,}\r\n]*|(?<![\p{L}\p{N}])(?:[\p{L}\p{N}]+(?:\p{Dash}[\p{L}\p{N}]+){2,}|[\p{L}\p{N}]{4}(?:[\s_][\p{L}\p{N}]{4}){4}(?![\p{L}\p{N}])|(?=\p{L}*\p{N})[\p{L}\p{N}]{16,})/giu;
/** The end of a shorter one would be most of it. */
const MIN_KEY_LENGTH = 3 * KEY_END_LENGTH;

/**
 * The parts of a body that a format string made: a text, a control character, a digit of another script. A text without
 * an end is one too, or each of its quotes would be tried to the end of the body.
 */
const PARTS = /"(?:[^"\\]|\\.?)*"?|\p{Cc}|(?!\d)\p{Nd}/gsu;
const CONTROLS = /\p{Cc}/gu;
/** Bodies of format strings have some hundred characters. To repair a longer one takes milliseconds. */
const MAX_REPAIRED_LENGTH = 4_096;
/** The characters that a repair has to look at. It takes milliseconds for thousands. */
const LOOKED_AT = /["\\\p{Cc}]|(?!\d)\p{Nd}/u;
const MAX_LOOKED_AT = 1_000;

/** A text field. Null, empty text and the text `null` count as absent. */
function readText(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const text = trimmed(value);
  return text === '' || text === 'null' ? null : text;
}

/** 602, 602.0 and "602" are the same product. */
function readProductId(value: unknown): number | null {
  const text = typeof value === 'string' ? withWesternDigits(value.trim()) : '';
  const number = /^-?\d+(\.0+)?$/.test(text) ? Number(text) : value;
  return Number.isSafeInteger(number) ? Number(number) : null;
}

const cut = (text: string | null, maxLength: number): string | null =>
  text === null || text.length <= maxLength
    ? text
    : copyText(text.slice(0, maxLength).toWellFormed());

/** The license key as it is logged. */
export const cutLoggedKey = (text: string | null): string | null =>
  cut(text, MAX_LOGGED_KEY_LENGTH);

function trimmed(text: string): string {
  const inner = toSqliteText(text).trim();
  return inner.length === text.length ? inner : copyText(inner);
}

/** The text of a number, as it was written: 1.10 is not 1.1. */
const numberAsWritten = (_: string, value: unknown, context?: { source?: string }): unknown =>
  typeof value === 'number' ? (context?.source ?? String(value)) : value;

/** Whether a text has one of the characters more often than `max`. */
const hasMoreThan = (text: string, characters: RegExp, max: number): boolean =>
  text.length > max && text.split(characters, max + 2).length > max + 1;

/** Reads the numbers of text fields as text. */
function readNumbers(json: string, body: JsonObject): JsonObject {
  const numbers = TEXT_FIELDS.filter((name) => typeof body[name] === 'number');
  if (numbers.length === 0) return body;
  const hasManyValues = hasMoreThan(json, /[[{,]/, MAX_WRITTEN_VALUES);
  const written: JsonObject = hasManyValues ? body : JSON.parse(json, numberAsWritten);
  const texts = numbers.map((name) => [name, String(written[name])]);
  return { ...body, ...Object.fromEntries(texts) };
}

/** Escapes the control characters of a text. */
const escapeControls = (text: string): string =>
  text.replaceAll(CONTROLS, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);

/**
 * A body that a format string made, as JSON (1.1). Control characters are escaped within texts, and blanks elsewhere;
 * digits of other scripts become 0 to 9.
 */
const repairJson = (text: string): string =>
  text.replaceAll(PARTS, (part) => {
    if (part.startsWith('"')) return escapeControls(part);
    return /\p{Nd}/u.test(part) ? withWesternDigits(part) : ' ';
  });

/** A text without the control characters and blanks behind it: some programs send their whole buffer. */
function withoutEnd(text: string): string {
  let end = text.length;
  while (end > 0 && text.charCodeAt(end - 1) <= 0x20) end--;
  return text.slice(0, end);
}

/** The bodies that a text can be, the likeliest first. A program that escapes nothing means each backslash as it is. */
function* readingsOf(text: string): Generator<string> {
  yield text;
  const body = withoutEnd(text);
  if (body.length > MAX_REPAIRED_LENGTH || hasMoreThan(body, LOOKED_AT, MAX_LOOKED_AT)) return;
  yield repairJson(body);
  yield repairJson(body.replaceAll('\\', '\\\\'));
}

function parseObject(bodyText: string): JsonObject | null {
  const text = bodyText.replace(/^\uFEFF/, '');
  if (hasMoreThan(text, /[[{]/, MAX_BRACKETS)) return null;
  for (const json of readingsOf(text)) {
    const body = parseJson(json);
    if (body !== undefined) return isObject(body) ? readNumbers(json, body) : null;
  }
  return null;
}

/** The start of an unreadable body. A text that may be a key shows its end only. */
function shownStart(bodyText: string): string {
  const shown = toSqliteText(bodyText.slice(0, MAX_READ_LENGTH)).replaceAll(LIKE_A_KEY, (key) =>
    key.length < MIN_KEY_LENGTH ? '…' : `…${keyEnd(key)}`,
  );
  return copyText(shown.slice(0, MAX_SHOWN_LENGTH).toWellFormed());
}

/** A request whose body could not be read, for the record. */
export const unreadableRequest = (connectingAddress: string | null): PartialRequest => ({
  licenseKey: null,
  key: null,
  productId: null,
  ip: connectingAddress,
  hwid: null,
  logged: readLoggedFields({}),
});

/** A request of an unknown key without what was sent beside it, for the record. */
export const briefRequest = (request: ValidationRequest): PartialRequest => ({
  ...request,
  hwid: null,
  logged: readLoggedFields({}),
});

function readLoggedFields(body: JsonObject): LoggedFields {
  const read = (name: string, alias = name): string | null =>
    cut(readText(body[name]) ?? readText(body[alias]), MAX_LOGGED_LENGTH);
  return {
    productVersion: read('productVersion'),
    operatingSystem: read('operatingSystem'),
    operatingSystemVersion: read('operatingSystemVersion', 'osVersion'),
    operatingSystemArchitecture: read('operatingSystemArchitecture', 'osArchitecture'),
    javaVersion: read('javaVersion'),
    macAddress: read('macAddress'),
  };
}

/**
 * Parses the body of a validation as shipped clients send it: JSON of any content type, with the aliases and
 * liberties of the decisions (1.2). Never throws.
 *
 * @param connectingAddress canonical; null if it is unknown
 * @param trustsBodyIp whether the `ip` of the body counts
 * @param keys undefined for a service that does not sign: it ignores the fields of a signature
 */
export function parseRequest(
  bodyText: string,
  connectingAddress: string | null,
  trustsBodyIp: boolean,
  keys?: Pick<SigningKeys, 'isUnknown'>,
): ParsedRequest {
  const body = parseObject(bodyText);
  if (!body) {
    const message = 'Body must be a JSON object';
    const start = shownStart(bodyText);
    return {
      ok: false,
      message,
      partial: unreadableRequest(connectingAddress),
      remarks: start === '' ? message : `${message}, not: ${start}`,
    };
  }

  const licenseKey = typeof body.licenseKey === 'string' ? trimmed(body.licenseKey) : null;
  const productId = readProductId(body.productId);
  const bodyIp = readText(body.ip);
  // Usually the body has the connecting address.
  const isOther = bodyIp !== null && bodyIp !== connectingAddress;
  const ip = (isOther && trustsBodyIp ? globalAddress(bodyIp) : null) ?? connectingAddress;
  const hwid = readText(body.hwid);

  const reject = (message: string): ParsedRequest => {
    const cutKey = cut(licenseKey || null, MAX_LOGGED_LENGTH);
    const partial = {
      licenseKey: cutKey,
      key: cutKey && normalizeLicenseKey(cutKey),
      productId,
      ip,
      hwid: cut(hwid, MAX_LOGGED_LENGTH),
      logged: readLoggedFields(body),
    };
    return { ok: false, message, partial, remarks: message };
  };

  if (licenseKey === null && body.licenseKey != null) return reject('licenseKey must be a string');
  if (!licenseKey) return reject('licenseKey is required');
  if (body.productId == null || body.productId === '') return reject('productId is required');
  if (productId === null) return reject('productId must be an integer');
  // Without its hardware ID the request would pass the limit.
  if (!hwid && body.hwid != null && typeof body.hwid !== 'string') {
    return reject('hwid must be a string');
  }
  if (hwid && !fitsHwid(hwid)) return reject(`hwid must be at most ${MAX_HWID_BYTES} bytes`);
  const signature = keys && readSignature(body, keys);
  if (typeof signature === 'string') return reject(signature);
  const key = normalizeLicenseKey(licenseKey);
  const logged = readLoggedFields(body);
  // Any other value counts as absent (1.2).
  const takesOver = body.takeOver === true;
  return {
    ok: true,
    request: { licenseKey, key, productId, ip, hwid, logged, takesOver, signature },
  };
}

/** @returns undefined for a request without a nonce, which asks for no signature; a text for an invalid one */
function readSignature(
  { nonce, kid: sentKid, lease, licenseKey, hwid }: JsonObject,
  keys: Pick<SigningKeys, 'isUnknown'>,
): SignatureRequest | string | undefined {
  if (nonce == null || (typeof nonce === 'string' && readText(nonce) === null)) return undefined;
  if (typeof nonce !== 'string' || !NONCE.test(nonce)) {
    return 'nonce must be 16 to 128 characters of base64url';
  }
  const kid = readText(sentKid);
  const isText = sentKid == null || typeof sentKid === 'string';
  if (!isText || (kid !== null && keys.isUnknown(kid))) return 'kid is unknown';
  const sent = {
    licenseKey: String(licenseKey),
    hwid: typeof hwid === 'string' ? hwid : null,
  };
  return { nonce, kid, wantsLease: lease === true, sent };
}
