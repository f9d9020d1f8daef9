import type {
  EcPublicKey,
  InvalidResponse,
  RsaPublicKey,
  ValidationRequest,
  ValidResponse,
} from './types.ts';

/** Verification of signed responses (docs/signing.md), with WebCrypto alone. */

type PublicKey =
  | Pick<EcPublicKey, 'kty' | 'crv' | 'kid' | 'x' | 'y'>
  | Pick<RsaPublicKey, 'kty' | 'kid' | 'n' | 'e'>;

/** A public key: a JWK, or the constant that `licet keys show` prints, `KID:X.Y` or `KID:N`. */
export type SigningKey = PublicKey | string;

const KID = /^[\w.-]{1,64}$/;
/** 32 bytes. */
const COORDINATE = /^[\w-]{43}$/;
/** 2,048 bits. */
const MODULUS = /^[g-z0-9_-][\w-]{341}$/;

const ES256 = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const RS256 = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };

function toJwk(constant: string): PublicKey {
  const [, kid = '', first = '', second] = /^([^:]*):([^.]*)(?:\.(.*))?$/.exec(constant) ?? [];
  return second === undefined
    ? { kty: 'RSA', kid, n: first, e: 'AQAB' }
    : { kty: 'EC', crv: 'P-256', kid, x: first, y: second };
}

/** A key with its algorithm. The header of a token never decides about the algorithm. */
export type PinnedKey = ReturnType<typeof pinKey>;

/** @throws TypeError unless the key is of P-256, or of RSA with 2,048 bits and the exponent 65537, and public */
export function pinKey(key: SigningKey) {
  const jwk = typeof key === 'string' ? toJwk(key) : key;
  const { kid } = jwk;
  if (typeof kid !== 'string' || !KID.test(kid)) {
    throw new TypeError('A signing key must be a public JWK with a kid, or KID:X.Y, or KID:N');
  }
  if ('d' in jwk) throw new TypeError(`Signing key ${kid} is private. Use its public half`);
  if (jwk.kty === 'EC' && jwk.crv === 'P-256' && COORDINATE.test(jwk.x) && COORDINATE.test(jwk.y)) {
    const { kty, crv, x, y } = jwk;
    return { kid, alg: 'ES256', algorithm: ES256, jwk: { kty, crv, x, y } };
  }
  if (jwk.kty === 'RSA' && jwk.e === 'AQAB' && MODULUS.test(jwk.n)) {
    const { kty, n, e } = jwk;
    return { kid, alg: 'RS256', algorithm: RS256, jwk: { kty, n, e } };
  }
  throw new TypeError(
    `Signing key ${kid} must be of P-256, or of RSA with 2048 bits and the exponent 65537`,
  );
}

const encoder = new TextEncoder();

const toBase64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');

/** @throws Error for other characters, for padding, and for unused bits that are set */
function fromBase64url(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
  if (toBase64url(bytes) !== text) throw new Error('it is not base64url');
  return bytes;
}

/** 128 random bits. */
export const newNonce = (): string => toBase64url(crypto.getRandomValues(new Uint8Array(16)));

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

type Claims = Record<string, unknown>;

const readPart = (part: string): Claims => ({
  ...JSON.parse(decoder.decode(fromBase64url(part))),
});

/** @returns its claims. @throws Error unless the token is signed with the key and has the type and the claims */
async function verifyToken(
  token: unknown,
  { kid, alg, algorithm, jwk }: PinnedKey,
  typ: string,
  expected: Claims,
): Promise<Claims> {
  if (typeof token !== 'string') throw new Error('there is none');
  const parts = token.split('.');
  const [header = '', payload = '', signature = ''] = parts;
  if (parts.length !== 3) throw new Error('it does not have three parts');
  const said = readPart(header);
  const isExpected = said.alg === alg && said.kid === kid && said.typ === typ;
  if (!isExpected || Object.keys(said).length !== 3) throw new Error('its header is different');
  const key = await crypto.subtle.importKey('jwk', jwk, algorithm, false, ['verify']);
  const signed = encoder.encode(`${header}.${payload}`);
  if (!(await crypto.subtle.verify(algorithm, key, fromBase64url(signature), signed))) {
    throw new Error('it does not verify');
  }
  const claims = readPart(payload);
  for (const [name, value] of Object.entries(expected)) {
    if (claims[name] !== value) throw new Error(`its ${name} is different`);
  }
  return claims;
}

/** The claims of a signed response that its body lacks. An unsigned response has none of them. */
export interface SignedClaims {
  /** True, a number or a text by name. */
  entitlements: ReadonlyMap<string, true | number | string>;
  /** When to ask again, in seconds since 1970, or the earliest end of an entitlement if that is sooner. Undefined for an older service. */
  checkAfter: number | undefined;
}

function readEntitlement(text: string): [name: string, value: true | number | string] {
  const [name = '', ...values] = text.split('=');
  if (values.length === 0) return [name, true];
  const value = values.join('=');
  const number = Number(value);
  return [name, Number.isSafeInteger(number) && String(number) === value ? number : value];
}

/** A claim of another type says nothing. */
function readClaims({ entitlements, checkAfter, entitlementsUntil }: Claims): SignedClaims {
  const texts = typeof entitlements === 'string' ? entitlements.split(' ').filter(Boolean) : [];
  const times = [checkAfter, entitlementsUntil].filter(Number.isSafeInteger).map(Number);
  return {
    entitlements: new Map(texts.map(readEntitlement)),
    checkAfter: Number.isSafeInteger(checkAfter) ? Math.min(...times) : undefined,
  };
}

/**
 * Verifies a response to a validation, and its lease if it has one.
 *
 * @returns what it says beside its body
 * @throws Error unless the key signed the response to this request
 */
export async function verifyResponse(
  { valid, message, signed, ...others }: ValidResponse | InvalidResponse,
  { licenseKey, productId, hwid }: ValidationRequest,
  nonce: string,
  key: PinnedKey,
): Promise<SignedClaims> {
  const keyText = encoder.encode(licenseKey);
  const sub = toBase64url(new Uint8Array(await crypto.subtle.digest('SHA-256', keyText)));
  const own = { aud: String(productId), sub, hwid: hwid ?? null, valid };
  const claims = await verifyToken(signed, key, 'licet-validation+jwt', { ...own, message, nonce });
  if ('lease' in others) await verifyToken(others.lease, key, 'licet-lease+jwt', own);
  return readClaims(claims);
}
