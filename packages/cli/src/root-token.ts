import { randomBytes } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { isInstalled } from './invocation.ts';
import { CliError, systemReason } from './terminal.ts';

/** The file of local secrets, which `wrangler dev` reads too. */
export const SECRETS_FILE = '.dev.vars';

/** The sentence about the secrets file in the help of an option. */
export const ROOT_TOKEN_HELP = isInstalled
  ? ''
  : ` Default for a service on this machine: ROOT_TOKEN in ${SECRETS_FILE}`;

const MIN_LENGTH = 32;

/** Whether a service runs on this machine. */
export const isLocal = ({ hostname }: URL): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);

/**
 * Reads a secrets file.
 *
 * @returns an empty text if the file does not exist
 * @throws CliError if it cannot be read
 */
export function readSecrets(file: string): string {
  try {
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  } catch (error) {
    throw new CliError(`${file} cannot be read: ${systemReason(error)}.`);
  }
}

/** The numbers of the lines of a secrets file that set nothing, beside empty lines and comments. */
export function unreadableLines(text: string): number[] {
  // A value in quotation marks can have several lines.
  const values = /^[ \t]*(?:export[ \t]+)?[\w.-]+[ \t]*=[ \t]*(["'`])[\s\S]*?\1/gm;
  const lines = text.replace(values, (value) => `#${value.replaceAll(/[^\n]+/g, '#')}`).split('\n');
  return lines.flatMap((line, index) =>
    /^\s*($|#|(export\s+)?[\w.-]+\s*=)/.test(line) ? [] : index + 1,
  );
}

/**
 * Reads the root token from a secrets file.
 *
 * @throws CliError if the file cannot be read
 */
export const readRootToken = (file = SECRETS_FILE): string | undefined =>
  parseEnv(readSecrets(file)).ROOT_TOKEN || undefined;

/**
 * The root token of a service on this machine; it is sent to no other. An installed package knows none: the secrets
 * file of the user's folder belongs to another project.
 */
export const localRootToken = (url: URL): string | undefined =>
  isLocal(url) && !isInstalled ? readRootToken() : undefined;

/** Appends a line to a secrets file. Only its owner may read the file. */
export function addLine(file: string, line: string): void {
  const before = readSecrets(file);
  const separator = before === '' || before.endsWith('\n') ? '' : '\n';
  appendFileSync(file, `${separator}${line}\n`, { mode: 0o600 });
}

/** The reason why the service would reject a root token; undefined if it accepts the token. */
export const rootTokenFault = (token: string): string | undefined =>
  token.length < MIN_LENGTH
    ? `has fewer than ${MIN_LENGTH} characters, so the service would reject it.`
    : undefined;

/**
 * Creates a random root token if the secrets file has none.
 *
 * @returns whether it created one
 * @throws CliError if the file has one that the service would reject
 */
export function ensureRootToken(file = SECRETS_FILE): boolean {
  const token = readRootToken(file);
  if (token !== undefined) {
    const fault = rootTokenFault(token);
    if (fault === undefined) return false;
    throw new CliError(
      `ROOT_TOKEN in ${file} ${fault} Remove the line and start again; a new token is then created.`,
    );
  }
  const line = `ROOT_TOKEN=${randomBytes(32).toString('hex')}`;
  const text = readSecrets(file);
  const filled = text.replace(
    /^[ \t]*(export[ \t]+)?ROOT_TOKEN[ \t]*=[ \t]*(''|"")?[ \t]*$/m,
    line,
  );
  if (filled === text) addLine(file, line);
  else writeFileSync(file, filled);
  return true;
}
