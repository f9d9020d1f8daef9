import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { InvalidArgumentError } from '@commander-js/extra-typings';
import { timestamp } from '../../../../src/lib/time.ts';
import { Licet, LicetError } from '../../../client/src/index.ts';
import { isLocal, readRootToken, SECRETS_FILE } from '../root-token.ts';
import { CliError, usageError } from '../terminal.ts';
import { Output } from './output.ts';

/** Which service is used, and by whom. */
export interface Access {
  url: URL;
  /** Where the token comes from, in words. */
  tokenSource: string;
}

/** What every command has to work with. */
export interface Session extends Access {
  licet: Licet;
  output: Output;
}

/** Opens the session that the options of the whole command line describe. */
export type OpenSession = () => Session;

export interface GlobalOptions {
  url: string;
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
        `The token file cannot be read: ${error instanceof Error ? error.message : error}`,
      );
    }
  }
  const { LICET_TOKEN } = process.env;
  if (LICET_TOKEN) return { token: LICET_TOKEN.trim(), source: 'LICET_TOKEN' };
  // The root token of this folder is nobody else's business.
  const token = isLocal(url) ? readRootToken() : undefined;
  if (token !== undefined) return { token, source: `ROOT_TOKEN in ${SECRETS_FILE}` };
  throw usageError(
    isLocal(url)
      ? 'There is no token yet: npm start makes one. Or set LICET_TOKEN.'
      : 'There is no token: set LICET_TOKEN, or name a file with --token-file.',
  );
}

/** @throws CliError where there is no token, or the URL cannot be one */
export function openSession({ url: text, tokenFile, json }: GlobalOptions): Session {
  const url = URL.parse(text);
  if (!url) throw usageError(`"${text}" is no URL: give one such as https://licet.example`);
  const { token, source } = findToken(url, tokenFile);
  try {
    return {
      url,
      licet: new Licet({ url: text, token }),
      output: new Output(json === true),
      tokenSource: source,
    };
  } catch (error) {
    throw usageError(error instanceof Error ? error.message : String(error));
  }
}

/** In plain words, with what to do. */
export function explain(error: LicetError, { url, tokenSource }: Access): string {
  const { status, message, acceptedIntents, retryAfterSeconds } = error;
  if (status === 0) {
    return `${message}. ${isLocal(url) ? 'Is it started? npm start' : 'Is the address right?'}`;
  }
  // Something else than Licet may refuse too, and names none.
  const isOfLicet = acceptedIntents.length > 0;
  if (status === 401 && isOfLicet) {
    return `The token is unknown, expired or revoked. It came from ${tokenSource}.`;
  }
  if (status === 403 && isOfLicet) {
    return `The token lacks an intent: needs one of ${acceptedIntents.join(', ')}`;
  }
  if (retryAfterSeconds !== undefined) {
    return `${message}: try again in ${retryAfterSeconds} seconds.`;
  }
  return message;
}

/** An integer from a number on, as an argument. */
export const integerFrom =
  (minimum: number) =>
  (text: string): number => {
    const value = Number(text);
    if (/^-?\d+$/.test(text) && Number.isSafeInteger(value) && value >= minimum) return value;
    throw new InvalidArgumentError(`It must be an integer from ${minimum} on.`);
  };

export const idArgument = integerFrom(1);

/** An id, where the text can be one. */
const idOf = (text: string): number | undefined =>
  /^[1-9]\d{0,15}$/.test(text) ? Number(text) : undefined;

/** The answer, or undefined where there is no such object. */
export async function ifThere<Result>(call: Promise<Result>): Promise<Result | undefined> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof LicetError && error.status === 404) return undefined;
    throw error;
  }
}

/** How objects of a kind are looked for. */
export interface Lookup<Item> {
  /** What it is called, and what its name is: "license", "key". */
  what: string;
  nameIs: string;
  byName: (name: string) => Promise<Item | undefined>;
  byId: (id: number) => Promise<Item>;
}

/**
 * The one object that a text means: the one with the id 50 for `id:50`, else the one with the text as its
 * name or its id.
 *
 * @returns undefined where there is none
 * @throws CliError where it is the name of one and the id of another
 */
export async function findOne<Item extends { id: number }>(
  text: string,
  { what, nameIs, byName, byId }: Lookup<Item>,
): Promise<Item | undefined> {
  const markedId = text.startsWith('id:') ? idOf(text.slice('id:'.length)) : undefined;
  if (markedId !== undefined) return ifThere(byId(markedId));
  const id = idOf(text);
  const named = await byName(text);
  const numbered = id === undefined ? undefined : await ifThere(byId(id));
  if (named && numbered && named.id !== numbered.id) {
    throw new CliError(
      `${text} is the ${nameIs} of ${what} ${named.id} and the id of ${what} ${numbered.id}: ` +
        `say id:${named.id} or id:${numbered.id}.`,
    );
  }
  return named ?? numbered;
}

const EXPIRES =
  'when it expires: 2030-01-31 is the first moment of that day, in UTC; without, it never does';

/** The option of what may expire, as `option()` takes it. */
export const EXPIRES_OPTION = ['--expires <date>', EXPIRES, comingMoment] as const;

/** Milliseconds since 1970 of a date or time, as the service reads it; undefined where it is none. */
export const momentOf = (text: string): number | undefined => timestamp.safeParse(text).data;

function comingMoment(text: string): string {
  const moment = momentOf(text);
  if (moment === undefined) {
    throw new InvalidArgumentError(
      'It must be a date such as 2030-01-31, or a time such as 2030-01-31T12:00:00Z.',
    );
  }
  if (moment <= Date.now()) {
    throw new InvalidArgumentError('It is over: a date alone is its first moment, in UTC.');
  }
  return text;
}
