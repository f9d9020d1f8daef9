import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { parseEnv } from 'node:util';
import { addLine, readSecrets } from './root-token.ts';

/** The private signing keys in a secrets file (1.8). */

/** Whether a secret is a signing key, by its name. */
export const isSigningKey = (name: string): boolean => /^SIGNING_KEY_\d+$/.test(name);

/** The examples that check signatures of each algorithm. */
export const LANGUAGES = {
  ES256: 'TypeScript, JavaScript and Go',
  RS256: 'Java, C#, Python, PHP, Lua and the shell',
};

const KINDS = {
  ES256: { prefix: 'es', pair: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }) },
  RS256: { prefix: 'rs', pair: () => generateKeyPairSync('rsa', { modulusLength: 2048 }) },
};

/** A new private key as JWK, under a `kid` that is never used again: it is random. */
export function newSigningKey(algorithm: keyof typeof KINDS): { kid: string; jwk: string } {
  const { prefix, pair } = KINDS[algorithm];
  const kid = `${prefix}-${randomBytes(4).toString('hex')}`;
  const jwk = JSON.stringify({ ...pair().privateKey.export({ format: 'jwk' }), kid });
  return { kid, jwk };
}

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
  const lines = (['ES256', 'RS256'] as const).map(
    (algorithm, index) => `SIGNING_KEY_${index + 1}='${newSigningKey(algorithm).jwk}'`,
  );
  addLine(file, lines.join('\n'));
  return true;
}
