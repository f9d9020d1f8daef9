import type { CallerFields } from '../history/record';
import { publicAddress } from '../lib/ip';
import { isObject, type JsonObject, parseJson } from '../lib/json';
import type { SigningKeys } from '../lib/signing-keys';
import { copyText, fitsHwid, MAX_HWID_BYTES, toStorable } from '../lib/text';
import { normalizeLicenseKey } from '../resources/licenses/key';

/** The request of a program: may this license key run here? [4.7] */
export interface ValidationRequest {
  licenseKey: string;
  /** The license key, normalized. */
  key: string;
  productId: number;
  /** Canonical: the body's `ip` if it is a public address, else the connecting address. */
  ip: string | null;
  hwid: string | null;
  logged: LoggedFields;
  /** Undefined for a program that asks for no signature. */
  signature?: SignatureRequest | undefined;
}

/** The request fields by which a program asks for a signature (1.8). */
export interface SignatureRequest {
  nonce: string;
  /** Null for the default key. */
  kid: string | null;
  wantsLease: boolean;
}

/** The fields that only the history has. */
type LoggedFields = Omit<CallerFields, 'licenseKey' | 'productId' | 'ip' | 'hwid'>;

export type ParsedRequest =
  | { ok: true; request: ValidationRequest }
  /** `partial` has the fields that could be read, for the record. */
  | { ok: false; message: string; partial: PartialRequest };

export interface PartialRequest extends Pick<ValidationRequest, 'ip' | 'hwid' | 'logged'> {
  licenseKey: string | null;
  key: string | null;
  productId: number | null;
}

const MAX_LOGGED_LENGTH = 255;
const NONCE = /^[\w-]{16,128}$/;
/** The fields of an unreadable request are cut here: a flood must not fill the database (1.7). */
const MAX_UNREADABLE_LENGTH = 64;

/** A text field. Null, empty text and the text `null` count as absent. */
function readText(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const text = trimmed(value);
  return text === '' || text === 'null' ? null : text;
}

/** 602, 602.0 and "602" are the same product. */
function readProductId(value: unknown): number | null {
  const text = typeof value === 'string' ? value.trim() : '';
  const number = /^-?\d+(\.0+)?$/.test(text) ? Number(text) : value;
  return Number.isSafeInteger(number) ? Number(number) : null;
}

const cut = (text: string | null, maxLength: number): string | null =>
  text === null || text.length <= maxLength
    ? text
    : copyText(text.slice(0, maxLength).toWellFormed());

/** Logged text is cut at 255 characters. */
export const cutLogged = (text: string | null): string | null => cut(text, MAX_LOGGED_LENGTH);

function trimmed(text: string): string {
  const inner = toStorable(text).trim();
  return inner.length === text.length ? inner : copyText(inner);
}

/** The text of a number in a text field, as it was written: 1.10 is not 1.1. */
const numberAsWritten = (key: string, value: unknown, context?: { source?: string }): unknown =>
  typeof value === 'number' && key !== 'productId' ? (context?.source ?? String(value)) : value;

function readNumbers(json: string): JsonObject | null {
  try {
    return JSON.parse(json, numberAsWritten);
  } catch {
    // With a reviver, JSON.parse overflows its stack on a value that is nested thousands of levels deep.
    return null;
  }
}

function parseObject(bodyText: string): JsonObject | null {
  const json = bodyText.replace(/^\uFEFF/, '');
  const body = parseJson(json);
  if (!isObject(body)) return null;
  for (const name in body) {
    if (typeof body[name] === 'number' && name !== 'productId') return readNumbers(json);
  }
  return body;
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

function readLoggedFields(body: JsonObject, maxLength = MAX_LOGGED_LENGTH): LoggedFields {
  const read = (...names: string[]): string | null =>
    cut(names.map((name) => readText(body[name])).find((text) => text !== null) ?? null, maxLength);
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
    return {
      ok: false,
      message: 'Body must be a JSON object',
      partial: unreadableRequest(connectingAddress),
    };
  }

  const licenseKey = typeof body.licenseKey === 'string' ? trimmed(body.licenseKey) : null;
  const productId = readProductId(body.productId);
  const bodyIp = readText(body.ip);
  // Usually the body has the connecting address.
  const isOther = bodyIp !== null && bodyIp !== connectingAddress;
  const ip = (isOther && trustsBodyIp ? publicAddress(bodyIp) : null) ?? connectingAddress;
  const hwid = readText(body.hwid);

  const reject = (message: string): ParsedRequest => {
    const cutKey = cut(licenseKey || null, MAX_UNREADABLE_LENGTH);
    const partial = {
      licenseKey: cutKey,
      key: cutKey && normalizeLicenseKey(cutKey),
      productId,
      ip,
      hwid: cut(hwid, MAX_UNREADABLE_LENGTH),
      logged: readLoggedFields(body, MAX_UNREADABLE_LENGTH),
    };
    return { ok: false, message, partial };
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
  return { ok: true, request: { licenseKey, key, productId, ip, hwid, logged, signature } };
}

/** @returns undefined for a request without a nonce, which asks for no signature; a text for an invalid one */
function readSignature(
  { nonce, kid: sentKid, lease }: JsonObject,
  keys: Pick<SigningKeys, 'isUnknown'>,
): SignatureRequest | string | undefined {
  if (nonce == null || (typeof nonce === 'string' && readText(nonce) === null)) return undefined;
  if (typeof nonce !== 'string' || !NONCE.test(nonce)) {
    return 'nonce must be 16 to 128 characters of base64url';
  }
  const kid = readText(sentKid);
  const isText = sentKid == null || typeof sentKid === 'string';
  if (!isText || (kid !== null && keys.isUnknown(kid))) return 'kid is unknown';
  return { nonce, kid, wantsLease: lease === true };
}
