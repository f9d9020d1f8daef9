import { exportJWK, generateKeyPair, importJWK, type JWK, jwtVerify } from 'jose';
import * as z from 'zod';
import type { Isolate } from './app.ts';
import type { License } from './client.ts';

/** Signing keys, and the claims of signed responses, by another implementation than the service's (1.8). */

type Algorithm = 'ES256' | 'RS256';

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

/** A validation request with a nonce. */
export const signedBody = (
  { licenseKey, productId }: Pick<License, 'licenseKey' | 'productId'>,
  fields: object = {},
) => ({ licenseKey, productId, nonce: newNonce(), ...fields });

export const responded = z.looseObject({
  valid: z.boolean(),
  message: z.string(),
  signed: z.string().optional(),
  lease: z.string().optional(),
});

/** The address from which {@link askSigned} asks. */
export const CONNECTING = '192.0.2.80';

/** The response to a validation with a nonce. */
export async function askSigned(by: Isolate, license: License, fields: object = {}) {
  const headers = { 'CF-Connecting-IP': CONNECTING };
  const { json } = await by.validate(signedBody(license, fields), { headers });
  return responded.parse(json);
}
