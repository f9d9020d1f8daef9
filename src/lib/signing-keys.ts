import { parseJson } from '@licet/contract/json';
import { base64url, ecPublicKey, type PublicKey, rsaPublicKey } from '@licet/contract/signing';
import * as z from 'zod';
import { toBase64url } from './base64url.ts';
import { logFailure } from './log.ts';

/** The signing keys (1.8): secrets `SIGNING_KEY_<n>`, each a private JWK with its `kid`. */

const SECRET = /^SIGNING_KEY_\d+$/;
const DEFAULT_ISSUER = 'licet';

const ecKey = ecPublicKey.omit({ alg: true, use: true }).extend({ d: base64url }).strip();
const rsaKey = rsaPublicKey
  .omit({ alg: true, use: true })
  .extend({ d: base64url, p: base64url, q: base64url, dp: base64url, dq: base64url, qi: base64url })
  .strip();
const privateKey = z.discriminatedUnion('kty', [ecKey, rsaKey]);
type PrivateKey = z.infer<typeof privateKey>;

const ALGORITHMS = {
  EC: { alg: 'ES256', name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' },
  RSA: { alg: 'RS256', name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
} as const;

function toPublic(key: PrivateKey): PublicKey {
  if (key.kty === 'EC') {
    const { kty, crv, x, y, kid } = key;
    return { kty, crv, x, y, kid, alg: 'ES256', use: 'sig' };
  }
  const { kty, n, e, kid } = key;
  return { kty, n, e, kid, alg: 'RS256', use: 'sig' };
}

const encoder = new TextEncoder();
const encodeText = (text: string): string => toBase64url(encoder.encode(text));

/** The type of a token, so that a lease never counts as a response, or a response as a lease. */
type TokenType = 'licet-validation+jwt' | 'licet-lease+jwt';

export interface Signer {
  readonly kid: string;
  /** A JWS in compact form (RFC 7515). */
  sign(typ: TokenType, claims: object): Promise<string>;
}

async function newSigner(jwk: PrivateKey): Promise<Signer> {
  const { kid } = jwk;
  const { alg, ...algorithm } = ALGORITHMS[jwk.kty];
  const key = await crypto.subtle.importKey('jwk', jwk, algorithm, false, ['sign']);
  // Encoded once: for each signature it would be a twentieth of the work.
  const headerOf = (typ: TokenType) => `${encodeText(JSON.stringify({ alg, kid, typ }))}.`;
  const headers = {
    'licet-validation+jwt': headerOf('licet-validation+jwt'),
    'licet-lease+jwt': headerOf('licet-lease+jwt'),
  };
  return {
    kid,
    async sign(typ, claims) {
      const signed = headers[typ] + encodeText(JSON.stringify(claims));
      const signature = await crypto.subtle.sign(algorithm, key, encoder.encode(signed));
      return `${signed}.${toBase64url(new Uint8Array(signature))}`;
    },
  };
}

/** The key of a secret; undefined for a secret that holds no usable key. */
export const parseKey = (secret: unknown): PrivateKey | undefined =>
  privateKey.safeParse(parseJson(String(secret))).data;

interface Held {
  secret: string;
  jwk: PrivateKey;
}

/** The keys of a service that signs. */
export class SigningKeys {
  readonly issuer: string;
  /** By `kid`. */
  readonly #held: ReadonlyMap<string, Held>;
  readonly #defaultKid: string | undefined;
  /** Whether each secret holds a usable key. If not, an unknown `kid` may belong to an unreadable secret. */
  readonly #isComplete: boolean;
  /** The keys that this isolate has imported. Not promises: a request must not await a promise of another request. */
  readonly #signers = new Map<string, Signer>();

  private constructor(
    issuer: string,
    held: ReadonlyMap<string, Held>,
    defaultKid: string | undefined,
    isComplete: boolean,
  ) {
    this.issuer = issuer;
    this.#held = held;
    this.#defaultKid = defaultKid;
    this.#isComplete = isComplete;
  }

  /** The keys of the secrets; undefined for a service that does not sign. A broken secret is logged. */
  static of(env: object): SigningKeys | undefined {
    const variables = new Map<string, unknown>(Object.entries(env));
    const secrets = [...variables.keys()]
      .filter((name) => SECRET.test(name) && variables.get(name))
      .sort(new Intl.Collator('en', { numeric: true }).compare);
    if (secrets.length === 0) return undefined;
    const held = new Map<string, Held>();
    let firstKid: string | undefined;
    let isComplete = true;
    for (const [index, secret] of secrets.entries()) {
      const jwk = parseKey(variables.get(secret));
      if (jwk && !held.has(jwk.kid)) {
        held.set(jwk.kid, { secret, jwk });
        if (index === 0) firstKid = jwk.kid;
        continue;
      }
      isComplete = false;
      logBroken(secret, jwk ? 'has the kid of another key' : NO_KEY);
    }
    const textOf = (name: string): string | undefined => {
      const value = variables.get(name);
      return typeof value === 'string' && value !== '' ? value : undefined;
    };
    const chosenKid = textOf('SIGNING_DEFAULT_KID');
    if (chosenKid !== undefined && !held.has(chosenKid)) {
      logBroken('SIGNING_DEFAULT_KID', 'is the kid of no signing key');
    }
    const issuer = textOf('SIGNING_ISSUER') ?? DEFAULT_ISSUER;
    return new SigningKeys(issuer, held, chosenKid ?? firstKid, isComplete);
  }

  isUnknown(kid: string): boolean {
    return this.#isComplete && !this.#held.has(kid);
  }

  /** The public halves, the default first. */
  publicKeys(): PublicKey[] {
    const isDefault = (kid: string): number => (kid === this.#defaultKid ? 0 : 1);
    return [...this.#held.values()]
      .map(({ jwk }) => toPublic(jwk))
      .sort((one, other) => isDefault(one.kid) - isDefault(other.kid));
  }

  /**
   * @param kid null for the default key
   * @throws if the key cannot be used, which is logged
   */
  async signer(kid: string | null): Promise<Signer> {
    const held = this.#held.get(kid ?? this.#defaultKid ?? '');
    if (!held) throw new Error('The signing key cannot be used');
    const { secret, jwk } = held;
    const known = this.#signers.get(jwk.kid);
    if (known) return known;
    const signer = await newSigner(jwk).catch((error) => {
      logBroken(secret, NO_KEY);
      throw error;
    });
    this.#signers.set(jwk.kid, signer);
    return signer;
  }
}

export const NO_KEY =
  'must be a private JWK with a kid: of P-256, or of RSA with 2048 bits and the exponent 65537';

/** Never with the value, which is a secret. */
const logBroken = (name: string, fault: string): void =>
  logFailure(`${name} ${fault}. Responses that need it fail with 503`, new Error(fault));
