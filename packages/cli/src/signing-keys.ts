import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { parseEnv } from 'node:util';
import { addLine, readSecrets } from './root-token.ts';

/** The private signing keys in a secrets file (1.8). */

/** Whether a secret is a signing key, by its name. */
export const isSigningKey = (name: string): boolean => /^SIGNING_KEY_\d+$/.test(name);

const KINDS = [
  {
    name: 'SIGNING_KEY_1',
    kid: 'es',
    pair: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  },
  {
    name: 'SIGNING_KEY_2',
    kid: 'rs',
    pair: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
  },
];

/** A `kid` is never used again, so it is random. */
const newKid = (kind: string): string => `${kind}-${randomBytes(4).toString('hex')}`;

/**
 * Reads the signing keys of a secrets file.
 *
 * @throws CliError if the file cannot be read
 */
export function readSigningKeys(file: string): Record<string, string> {
  const keys: Record<string, string> = {};
  for (const [name, value] of Object.entries(parseEnv(readSecrets(file)))) {
    if (isSigningKey(name) && value) keys[name] = value;
  }
  return keys;
}

/**
 * Creates a key of ES256 and one of RS256, for programs without a library, if the secrets file has no key.
 *
 * @returns whether it created them
 * @throws CliError if the file cannot be read
 */
export function ensureSigningKeys(file: string): boolean {
  if (Object.keys(readSigningKeys(file)).length > 0) return false;
  const lines = KINDS.map(({ name, kid, pair }) => {
    const jwk = { ...pair().privateKey.export({ format: 'jwk' }), kid: newKid(kid) };
    return `${name}='${JSON.stringify(jwk)}'`;
  });
  addLine(file, lines.join('\n'));
  return true;
}
