import { randomBytes } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';

/** Where `wrangler dev` reads the secrets of local development. */
export const SECRETS_FILE = '.dev.vars';

const MIN_LENGTH = 32;

/** Whether a service runs on this machine: the root token of this folder is nobody else's business. */
export const isLocal = ({ hostname }: URL): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);

/** The root token in a secrets file; undefined where there is none. */
export function readRootToken(file = SECRETS_FILE): string | undefined {
  if (!existsSync(file)) return undefined;
  return parseEnv(readFileSync(file, 'utf8')).ROOT_TOKEN || undefined;
}

/**
 * Makes a random root token where the secrets file has none.
 *
 * @returns whether it made one
 * @throws when it holds one that the service would not take
 */
export function ensureRootToken(file = SECRETS_FILE): boolean {
  const token = readRootToken(file);
  if (token !== undefined) {
    if (token.length >= MIN_LENGTH) return false;
    throw new Error(
      `ROOT_TOKEN in ${file} has fewer than ${MIN_LENGTH} characters, which turns it off. ` +
        'Remove the line and start again: a new one is made.',
    );
  }
  const before = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const separator = before === '' || before.endsWith('\n') ? '' : '\n';
  const line = `ROOT_TOKEN=${randomBytes(32).toString('hex')}\n`;
  appendFileSync(file, separator + line, { mode: 0o600 });
  return true;
}
