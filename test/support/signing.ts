import { exportJWK, generateKeyPair, importJWK, type JWK, jwtVerify } from 'jose';

/** Keys and verification of signed responses, by another implementation than the service's. */

export type Algorithm = 'ES256' | 'RS256';

export interface TestKey {
  alg: Algorithm;
  /** The private half, as a secret holds it. */
  jwk: JWK;
  secret: string;
}

export async function newSigningKey(alg: Algorithm, kid: string): Promise<TestKey> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  const jwk = { ...(await exportJWK(privateKey)), kid };
  return { alg, jwk, secret: JSON.stringify(jwk) };
}

/** The claims of a JWS that verifies by a key and has the type. */
export async function claimsOf(
  jws: unknown,
  { alg, jwk }: TestKey,
  typ: 'licet-validation+jwt' | 'licet-lease+jwt' = 'licet-validation+jwt',
) {
  const { d, p, q, dp, dq, qi, ...publicHalf } = jwk;
  const key = await importJWK(publicHalf, alg);
  const { payload, protectedHeader } = await jwtVerify(String(jws), key, {
    algorithms: [alg],
    typ,
    currentDate: new Date(),
  });
  return { claims: payload, header: protectedHeader };
}

/** 128 random bits. */
export const newNonce = (): string =>
  crypto.getRandomValues(new Uint8Array(16)).toBase64({ alphabet: 'base64url', omitPadding: true });
