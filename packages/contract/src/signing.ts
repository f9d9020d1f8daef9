import * as z from 'zod';
import { named } from './bodies.ts';

/** The public halves of the signing keys, as `/.well-known/jwks.json` shows them (1.8). */

export const base64url = z.string().regex(/^[\w-]+$/);
const asBase64url = base64url.describe('As base64url.');
/** 2,048 bits: verifiers without a library support no other size. */
const modulus = base64url.refine((text) => /^[g-z0-9_-]/.test(text) && text.length === 342);

const TYPE = 'The type of the key.';
const ALGORITHM = 'The algorithm of its signatures.';
const kid = z
  .string()
  .regex(/^[\w.-]{1,64}$/)
  .describe('Its name, which a program sends.');
const use = z.literal('sig').describe('Always `sig`.');

const ecExample = {
  kty: 'EC',
  crv: 'P-256',
  x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
  y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
  kid: 'es-1',
  alg: 'ES256',
  use: 'sig',
} as const;

export const ecPublicKey = named(
  'EcPublicKey',
  'A public key of ES256.',
  z.strictObject({
    kty: z.literal('EC').describe(TYPE),
    crv: z.literal('P-256').describe('The curve.'),
    kid,
    x: asBase64url,
    y: asBase64url,
    alg: z.literal('ES256').describe(ALGORITHM),
    use,
  }),
  ecExample,
);

export const rsaPublicKey = named(
  'RsaPublicKey',
  'A public key of RS256.',
  z.strictObject({
    kty: z.literal('RSA').describe(TYPE),
    kid,
    n: modulus.describe('The modulus of 2,048 bits, as base64url.'),
    e: z.literal('AQAB').describe('The exponent, 65537.'),
    alg: z.literal('RS256').describe(ALGORITHM),
    use,
  }),
  {
    kty: 'RSA',
    kid: 'rs-1',
    n: `w${'A'.repeat(340)}Q`,
    e: 'AQAB',
    alg: 'RS256',
    use: 'sig',
  },
);

const publicKey = z.union([ecPublicKey, rsaPublicKey]);
export type PublicKey = z.infer<typeof publicKey>;

export const keySet = named(
  'KeySet',
  'The public halves of the signing keys (RFC 7517).',
  z.strictObject({
    keys: z
      .array(publicKey)
      .describe(
        'Public keys as JWK, the default key first. Empty for a service that does not sign.',
      ),
  }),
  { keys: [ecExample] },
);
