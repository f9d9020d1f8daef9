import { randomBytes } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { CliError, systemReason } from './terminal.ts';

/** Where `wrangler dev` reads the secrets of local development. */
export const SECRETS_FILE = '.dev.vars';

const MIN_LENGTH = 32;

/** Whether a service runs on this machine: the root token of this folder is nobody else's business. */
export const isLocal = ({ hostname }: URL): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);

/**
 * What a secrets file holds; nothing where there is none.
 *
 * @throws CliError where it cannot be read
 */
export function readSecrets(file: string): string {
  try {
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  } catch (error) {
    throw new CliError(`${file} cannot be read: ${systemReason(error)}.`);
  }
}

/**
 * The root token in a secrets file; undefined where there is none.
 *
 * @throws CliError where the file cannot be read
 */
export const readRootToken = (file = SECRETS_FILE): string | undefined =>
  parseEnv(readSecrets(file)).ROOT_TOKEN || undefined;

/** Adds a line to a secrets file, which is for its owner alone. */
export function addLine(file: string, line: string): void {
  const before = readSecrets(file);
  const separator = before === '' || before.endsWith('\n') ? '' : '\n';
  appendFileSync(file, `${separator}${line}\n`, { mode: 0o600 });
}

/** What is wrong with a root token that the service would not take; undefined for nothing. */
export const rootTokenFault = (token: string): string | undefined =>
  token.length < MIN_LENGTH
    ? `has fewer than ${MIN_LENGTH} characters, which turns it off.`
    : undefined;

/**
 * Makes a random root token where the secrets file has none.
 *
 * @returns whether it made one
 * @throws CliError where it holds one that the service would not take
 */
export function ensureRootToken(file = SECRETS_FILE): boolean {
  const token = readRootToken(file);
  if (token !== undefined) {
    const fault = rootTokenFault(token);
    if (fault === undefined) return false;
    throw new CliError(
      `ROOT_TOKEN in ${file} ${fault} Remove the line and start again: a new one is made.`,
    );
  }
  addLine(file, `ROOT_TOKEN=${randomBytes(32).toString('hex')}`);
  return true;
}
