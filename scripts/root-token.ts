import { randomBytes } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';

/** Where `wrangler dev` reads the secrets of local development. */
export const SECRETS_FILE = '.dev.vars';

const MIN_LENGTH = 32;

/** The root token in .dev.vars; undefined where there is none. */
export function readRootToken(): string | undefined {
  if (!existsSync(SECRETS_FILE)) return undefined;
  const line = /^\s*ROOT_TOKEN\s*=\s*(["']?)(.*?)\1\s*$/m.exec(readFileSync(SECRETS_FILE, 'utf8'));
  return line?.[2];
}

/**
 * Makes a random root token where .dev.vars has none.
 *
 * @returns whether it made one
 * @throws when .dev.vars holds one that the service would not take
 */
export function ensureRootToken(): boolean {
  const token = readRootToken();
  if (token !== undefined) {
    if (token.length >= MIN_LENGTH) return false;
    throw new Error(
      `ROOT_TOKEN in ${SECRETS_FILE} has fewer than ${MIN_LENGTH} characters, which turns it off. ` +
        'Remove the line and start again: a new one is made.',
    );
  }
  const before = existsSync(SECRETS_FILE) ? readFileSync(SECRETS_FILE, 'utf8') : '';
  const separator = before === '' || before.endsWith('\n') ? '' : '\n';
  const line = `ROOT_TOKEN=${randomBytes(32).toString('hex')}\n`;
  appendFileSync(SECRETS_FILE, separator + line, { mode: 0o600 });
  return true;
}
