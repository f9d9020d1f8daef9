import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { InvalidArgumentError } from '@commander-js/extra-typings';
import { timestamp } from '../../../../src/lib/time.ts';
import { Licet, LicetError } from '../../../client/src/index.ts';
import { serviceUrl } from '../command-line.ts';
import { isLocal, readRootToken, SECRETS_FILE } from '../root-token.ts';
import { CliError, usageError } from '../terminal.ts';
import { Output } from './output.ts';

/** The service and the origin of the token. */
export interface Access {
  url: URL;
  /** The origin of the token, for messages. */
  tokenSource: string;
}

/** The service, its client and the output of a command. */
export interface Session extends Access {
  licet: Licet;
  output: Output;
}

/** Opens the session for the global options. */
export type OpenSession = () => Session;

export interface GlobalOptions {
  url: string;
  insecure?: true | undefined;
  tokenFile?: string | undefined;
  json?: true | undefined;
}

function findToken(url: URL, tokenFile: string | undefined): { token: string; source: string } {
  if (tokenFile !== undefined) {
    const file = resolve(process.env.INIT_CWD ?? '.', tokenFile);
    try {
      return { token: readFileSync(file, 'utf8').trim(), source: file };
    } catch (error) {
      throw usageError(
        `The token file cannot be read: ${error instanceof Error ? error.message : error}. Check --token-file.`,
      );
    }
  }
  const { LICET_TOKEN } = process.env;
  if (LICET_TOKEN) return { token: LICET_TOKEN.trim(), source: 'LICET_TOKEN' };
  // The local root token must go to no other machine.
  const token = isLocal(url) ? readRootToken() : undefined;
  if (token !== undefined) return { token, source: `ROOT_TOKEN in ${SECRETS_FILE}` };
  throw usageError(
    isLocal(url)
      ? 'No token in .dev.vars. Run npm start to create one, or set LICET_TOKEN.'
      : 'No token. Set LICET_TOKEN, or name a file with --token-file.',
  );
}

/** @throws CliError without a token, or for an invalid URL */
export function openSession({ url: text, insecure, tokenFile, json }: GlobalOptions): Session {
  const url = serviceUrl(text, '--url, or LICET_URL,', insecure);
  const { token, source } = findToken(url, tokenFile);
  try {
    return {
      url,
      licet: new Licet({ url: url.href, token, insecure }),
      output: new Output(json === true),
      tokenSource: source,
    };
  } catch (error) {
    throw usageError(error instanceof Error ? error.message : String(error));
  }
}

/** Describes an error and the way to fix it. */
export function explain(error: LicetError, { url, tokenSource }: Access): string {
  const { status, message, acceptedIntents, retryAfterSeconds } = error;
  if (status === 0) {
    return `${message}. ${isLocal(url) ? 'Start the service: npm start' : 'Check the address.'}`;
  }
  // A proxy's error names no intents.
  const isOfLicet = acceptedIntents.length > 0;
  if (status === 401 && isOfLicet) {
    return `The token of ${tokenSource} is unknown, expired or revoked. Use another one.`;
  }
  if (status === 403 && isOfLicet) {
    return `The token lacks an intent. Use one with ${acceptedIntents.join(', ')}.`;
  }
  if (retryAfterSeconds !== undefined) {
    return `${message}. Try again in ${retryAfterSeconds} seconds.`;
  }
  return message;
}

/** Parses an integer argument of at least `minimum`. */
export const integerFrom =
  (minimum: number) =>
  (text: string): number => {
    const value = Number(text);
    if (/^-?\d+$/.test(text) && Number.isSafeInteger(value) && value >= minimum) return value;
    throw new InvalidArgumentError(`Give an integer of at least ${minimum}.`);
  };

export const idArgument = integerFrom(1);

/** Parses an id; undefined if the text is none. */
const idOf = (text: string): number | undefined =>
  /^[1-9]\d{0,15}$/.test(text) ? Number(text) : undefined;

/** Resolves to undefined for a 404. */
export async function orUndefined<Result>(call: Promise<Result>): Promise<Result | undefined> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof LicetError && error.status === 404) return undefined;
    throw error;
  }
}

/** The ways to look up objects of a type. */
export interface Lookup<Item> {
  /** The type and the field of its name, such as "license" and "key". */
  what: string;
  nameIs: string;
  byName: (name: string) => Promise<Item | undefined>;
  byId: (id: number) => Promise<Item>;
}

/**
 * Finds the object with the id 50 for `id:50`, otherwise the one with the text as its name or id.
 *
 * @returns undefined if there is none
 * @throws CliError if the text is the name of one object and the id of another
 */
export async function findOne<Item extends { id: number }>(
  text: string,
  { what, nameIs, byName, byId }: Lookup<Item>,
): Promise<Item | undefined> {
  const markedId = text.startsWith('id:') ? idOf(text.slice('id:'.length)) : undefined;
  if (markedId !== undefined) return orUndefined(byId(markedId));
  const id = idOf(text);
  const named = await byName(text);
  const numbered = id === undefined ? undefined : await orUndefined(byId(id));
  if (named && numbered && named.id !== numbered.id) {
    throw new CliError(
      `${text} is the ${nameIs} of ${what} ${named.id} and the id of ${what} ${numbered.id}. ` +
        `Give id:${named.id} or id:${numbered.id}.`,
    );
  }
  return named ?? numbered;
}

const EXPIRES = 'the expiry date: 2030-01-31 is the start of that day, in UTC; default: never';

/** The arguments of `option()` for an expiry date. */
export const EXPIRES_OPTION = ['--expires <date>', EXPIRES, futureMoment] as const;

/** Parses a date or time like the service, into milliseconds since 1970; undefined if it is neither. */
export const momentOf = (text: string): number | undefined => timestamp.safeParse(text).data;

function futureMoment(text: string): string {
  const moment = momentOf(text);
  if (moment === undefined) {
    throw new InvalidArgumentError(
      'Give a date such as 2030-01-31, or a time such as 2030-01-31T12:00:00Z.',
    );
  }
  if (moment <= Date.now()) {
    throw new InvalidArgumentError(
      'Give a time in the future. A date means the start of that day, in UTC.',
    );
  }
  return text;
}
