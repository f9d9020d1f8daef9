import { readFileSync } from 'node:fs';
import { InvalidArgumentError } from '@commander-js/extra-typings';
import { type LicensePlatform, Licet, LicetError, type Product } from '@licet/client';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '@licet/contract/durations';
import { LICENSE_PLATFORMS } from '@licet/contract/enums';
import { METADATA_NAME } from '@licet/contract/limits';
import { timestamp, toTimestamp } from '@licet/contract/time';
import { endOfDay, isDay } from '@licet/contract/time-zone';
import { serviceUrl } from '../command-line.ts';
import { fileAt, isInstalled } from '../invocation.ts';
import { isLocal, localRootToken, SECRETS_FILE } from '../root-token.ts';
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
  token: string;
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
    const file = fileAt(tokenFile);
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
  const token = localRootToken(url);
  if (token !== undefined) return { token, source: `ROOT_TOKEN in ${SECRETS_FILE}` };
  throw usageError(
    isLocal(url) && !isInstalled
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
      token,
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
    return `${message}. ${isLocal(url) && !isInstalled ? 'Start the service: npm start' : 'Check the address.'}`;
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

/** Parses an integer argument of at least `minimum`, and at most `maximum`. */
export const integerFrom =
  (minimum: number, maximum = Number.MAX_SAFE_INTEGER) =>
  (text: string): number => {
    const value = Number(text);
    if (/^-?\d+$/.test(text) && value >= minimum && value <= maximum) return value;
    throw new InvalidArgumentError(
      maximum === Number.MAX_SAFE_INTEGER
        ? `Give an integer of at least ${minimum}.`
        : `Give an integer from ${minimum} to ${maximum}.`,
    );
  };

type Days = number | 'never';

/** Parses a number of days, at most `maximum`, or "never". */
export const daysOrNever =
  (maximum: number) =>
  (text: string): Days =>
    text === 'never' ? text : integerFrom(1, maximum)(text);

/** The field of days: null for "never". Commander takes no null from a parser. */
export const daysField = (days: Days | undefined): number | null | undefined =>
  days === 'never' ? null : days;

export const idArgument = integerFrom(1);

/** The arguments of `option()` for the length of a list. */
export const LIMIT_OPTION = [
  '--limit <n>',
  'at most n of them; without it all',
  integerFrom(1),
] as const;

/** Parses a text to search for. A blank one would find everything. */
export function searchArgument(text: string): string {
  if (text.trim() !== '') return text;
  throw new InvalidArgumentError('Give a text to find.');
}

/** Parses an id, such as 50 or id:50; undefined if the text is none. */
export const idOf = (text: string): number | undefined =>
  /^(id:)?[1-9]\d{0,15}$/.test(text) ? Number(text.replace('id:', '')) : undefined;

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
  const id = idOf(text);
  if (id !== undefined && text.startsWith('id:')) return orUndefined(byId(id));
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

/** Finds the products with a name, in any case. */
export async function productsNamed(licet: Licet, text: string): Promise<Product[]> {
  const isNamed = ({ name }: Product) => name.toLowerCase() === text.toLowerCase();
  return (await licet.products.list({ q: text })).filter(isNamed);
}

/**
 * Finds the product with an id, or with a name in any case.
 *
 * @returns its id; an id is not looked up, because a token may read no products
 * @throws CliError unless exactly one product has the name
 */
export async function productIdOf(licet: Licet, text: string): Promise<number> {
  const id = idOf(text);
  if (id !== undefined) return id;
  const products = await productsNamed(licet, text);
  const [product] = products;
  if (!product) throw new CliError(`No product has the name or the id ${text}.`);
  if (products.length === 1) return product.id;
  const ids = products.map(({ id }) => `id:${id}`).join(', ');
  throw new CliError(`Several products have the name ${text}. Give one of ${ids}.`);
}

/** The same for an option that may be missing. */
export const optionalProductId = async (
  licet: Licet,
  text: string | undefined,
): Promise<number | undefined> => (text === undefined ? undefined : productIdOf(licet, text));

/** Reads the names of products. @returns a function that adds the name to an id, such as `1 Guard` */
export async function productNames({ licet, output }: Session): Promise<(id: number) => string> {
  // Programs read the id.
  if (output.isJson) return String;
  try {
    const names = new Map((await licet.products.list()).map(({ id, name }) => [id, name]));
    return (id) => [id, names.get(id)].join(' ').trimEnd();
  } catch (error) {
    // A token for licenses alone may read no products.
    if (error instanceof LicetError && error.status === 403) return String;
    throw error;
  }
}

/** Reads the labels of platforms. @returns a function that replaces a name by its label */
export async function platformLabels({
  licet,
  output,
}: Session): Promise<(name: LicensePlatform) => string> {
  // Programs read the name.
  if (output.isJson) return String;
  const labels = new Map<string, string>();
  for (const { platform, label } of await licet.platforms()) labels.set(platform, label);
  return (name) => labels.get(name) ?? name;
}

const isPlatform = (text: string): text is LicensePlatform =>
  LICENSE_PLATFORMS.some((name) => name === text);

/**
 * Finds the platform with a name, or with a label in any case, for an option that may be missing.
 *
 * @throws CliError if there is none
 */
export async function optionalPlatform(
  licet: Licet,
  text: string | undefined,
): Promise<LicensePlatform | undefined> {
  if (text === undefined || isPlatform(text)) return text;
  const labels = await licet.platforms();
  const named = labels.find(({ label }) => label.toLowerCase() === text.toLowerCase());
  if (named) return named.platform;
  const known = labels.flatMap(({ platform, label }) => (label === platform ? [] : [label]));
  throw new CliError(
    `No platform has the name or the label ${text}. Give one of ${[...LICENSE_PLATFORMS, ...known].join(', ')}.`,
  );
}

/** The texts of `metadata` that options give, by their names: empty to remove one. */
type Texts = Readonly<Record<string, string>>;

/** Parses `plan=gold`. */
function metadataArgument(text: string, earlier: Texts = {}): Texts {
  const [, name, value = ''] = /^([^=]*)=(.*)$/s.exec(text) ?? [];
  if (name !== undefined && METADATA_NAME.test(name)) return { ...earlier, [name]: value };
  throw new InvalidArgumentError(
    'Give a name and a text, such as plan=gold. The name has 1 to 40 letters, digits and signs "_", "." and "-".',
  );
}

/** The arguments of `option()` for metadata to set. */
export const METADATA_OPTION = [
  '--metadata <name=text>',
  'a text of your own under a name; again for another one; nothing after = removes it',
  metadataArgument,
] as const;

/** The arguments of `option()` for a text in the metadata to find. */
export const METADATA_FILTER = [
  '--metadata <name=text>',
  'only those with exactly this text under this name in their metadata',
  (text: string): string => {
    const [[name, value] = []] = Object.entries(metadataArgument(text));
    if (value) return `${name}:${value}`;
    throw new InvalidArgumentError('Give a text after the name, such as plan=gold.');
  },
] as const;

/** Metadata as people read it: `plan: gold, order: 4711`. */
export const metadataText = (metadata: Texts): string =>
  Object.entries(metadata)
    .map(([name, text]) => `${name}: ${text}`)
    .join(', ');

const NEVER = 'never';

/** The time zone of the service, in which a day ends (3). */
export const timeZoneOf = async (licet: Licet): Promise<string> => (await licet.address()).timeZone;

/** The time zone for the times of a table. Programs read times as they are. */
export const shownTimeZone = async ({ licet, output }: Session): Promise<string> =>
  output.isJson ? 'UTC' : timeZoneOf(licet);

/** The field for a date that a person enters: the end of a day alone. Commander accepts no null as a value. */
export async function expiryField(licet: Licet, expires: string): Promise<string | null> {
  if (expires === NEVER) return null;
  if (!isDay(expires)) return expires;
  const end = endOfDay(expires, await timeZoneOf(licet));
  // The service rejects a day that does not exist.
  return Number.isNaN(end) ? expires : toTimestamp(end);
}

const EXPIRES =
  'the expiry date, or never; 2030-01-31 is the end of that day, in the time zone of the service';

/** The arguments of `option()` for an expiry date. */
export const EXPIRES_OPTION = ['--expires <date>', EXPIRES, futureMoment] as const;

/** Parses a date or time like the service, into milliseconds since 1970; undefined if it is neither. */
export const momentOf = (text: string): number | undefined => timestamp.safeParse(text).data;

/** The hours by which the last zone is behind UTC. */
const LAST_ZONE_HOURS = 12;

/** Parses a date or time to come, or never. */
export function futureMoment(text: string): string {
  if (text === NEVER) return text;
  const moment = momentOf(text);
  if (moment === undefined) {
    throw new InvalidArgumentError(
      'Give a date such as 2030-01-31, a time such as 2030-01-31T12:00:00Z, or never.',
    );
  }
  const last = isDay(text) ? moment + DAY_MS + LAST_ZONE_HOURS * HOUR_MS : moment;
  if (last <= Date.now()) {
    throw new InvalidArgumentError('Give a time in the future: an earlier one is expired at once.');
  }
  return text;
}

const UNITS_MS: Record<string, number> = {
  s: 1_000,
  m: MINUTE_MS,
  h: HOUR_MS,
  d: DAY_MS,
};

/** Parses a date, or a time ago, into a timestamp. */
export function sinceArgument(text: string): string {
  const [, count, unit = ''] = /^(\d+)([smhd])$/.exec(text) ?? [];
  const agoMs = Number(count) * (UNITS_MS[unit] ?? 0);
  // No record is older than 1970.
  const moment = count === undefined ? momentOf(text) : Math.max(0, Date.now() - agoMs);
  if (moment === undefined) {
    throw new InvalidArgumentError(
      'Give a time ago such as 90s, 30m, 2h or 7d, or a date such as 2026-11-20.',
    );
  }
  return toTimestamp(moment);
}
