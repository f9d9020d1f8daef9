import { setTimeout as pause } from 'node:timers/promises';
import { LicetError } from '@licet/client';
import { Connection } from '@licet/client/connection';
import { IMPORT_OUTCOMES } from '@licet/contract/enums';
import { parseJson } from '@licet/contract/json';
import { localRootToken } from '../root-token.ts';
import { CliError, note, usageError } from '../terminal.ts';
import { stripControlCharacters } from '../text.ts';
import type { ImportRequest, ImportResponse } from './importer.ts';
import { findInJson } from './json.ts';
import { fieldsOf, KINDS, type Source, type SourceItem } from './kinds.ts';
import type { Result } from './results.ts';

/** A client of the v2 interface: for Licet, or another service with the same interface. */

/** A failure that may be temporary. */
export class Interruption extends CliError {}

/** Delays between attempts; about a minute in all. */
const RETRY_DELAYS_MS = [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000];
const MAX_RETRY_AFTER_SECONDS = 60;
const TIMEOUT_MS = 120_000;
const RETRIED = [408, 409, 429, 500, 502, 503, 504];

/** @throws CliError for a missing token, or one that no HTTP header may contain */
export function checkToken(token: string | undefined, how: string): string {
  if (!token) throw usageError(`No token. Set it in ${how}.`);
  if (!/^[!-~]+$/.test(token))
    throw usageError(`The token in ${how} contains spaces or other invalid characters.`);
  return token;
}

/** The token of the user's own service: from the environment, or on this machine the root token. */
export const ownToken = (url: URL): string =>
  checkToken(process.env.LICET_TOKEN || localRootToken(url), 'LICET_TOKEN');

const idOf = (item: unknown): number | undefined => {
  const { id } = fieldsOf(item);
  return Number.isSafeInteger(Number(id)) ? Number(id) : undefined;
};

const withQuery = (path: string, name: string, value: string | number): string => {
  const [before = '', query] = path.split('?');
  const parameters = new URLSearchParams(query);
  parameters.set(name, String(value));
  return `${before}?${parameters}`;
};

const isStrings = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

function isResult(value: unknown): value is Result {
  const { outcome, id, differences, reason } = fieldsOf(value);
  const hasId = id === null || typeof id === 'number';
  const hasReason = reason === null || typeof reason === 'string';
  const isKnown = IMPORT_OUTCOMES.some((known) => known === outcome);
  return isKnown && isStrings(differences) && hasId && hasReason;
}

function parseImportResponse(text: string): ImportResponse | undefined {
  const { results, createdOwners = 0 } = fieldsOf(parseJson(text));
  const hasResults = Array.isArray(results) && results.every(isResult);
  return hasResults && typeof createdOwners === 'number' ? { results, createdOwners } : undefined;
}

const asSentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);

/** Describes an error response of an address. For 403, names the intents that the token needs. */
function describe(address: string, { status, message, acceptedIntents }: LicetError): string {
  if (status === 0) return 'no response';
  // The client's own message, about a response that is not from Licet, repeats the address and the status.
  const isOfClient = message.startsWith(address);
  const description = `status ${status}${isOfClient ? '' : `: ${stripControlCharacters(message)}`}`;
  if (status !== 403 || acceptedIntents.length === 0) return description;
  const intents = stripControlCharacters(acceptedIntents.join(', '));
  const needed = acceptedIntents.length === 1 ? intents : `one of ${intents}`;
  return `${asSentence(description)} The token needs ${needed}`;
}

/** @throws CliError unless the text begins a list: `{}` must not count as an empty one */
async function* listText(path: string, response: Response): AsyncGenerator<Uint8Array> {
  let hasBegun = false;
  for await (const chunk of response.body ?? []) {
    const text: string = hasBegun ? '' : Buffer.from(chunk).toString().trimStart();
    hasBegun ||= text.startsWith('[');
    if (!hasBegun && text !== '') throw new CliError(`GET ${path} returned no list.`);
    yield chunk;
  }
}

export class Service {
  readonly #url: URL;
  readonly #connection: Connection;
  /** The last attempt that was reported. Concurrent requests report each attempt once. */
  #reportedAttempt = 0;

  constructor(url: URL, token: string) {
    this.#url = url;
    // The command line has asked about http already.
    this.#connection = new Connection({
      url: url.href,
      token,
      insecure: true,
      timeoutMs: TIMEOUT_MS,
    });
  }

  /** The address without a slash at its end. */
  get address(): string {
    return this.#url.href.replace(/\/+$/, '');
  }

  /** @throws CliError if nothing responds, or the token is not valid */
  async check(): Promise<void> {
    const { status, text } = await this.#connection.exchange('GET', '/api/v2/ping').catch(() => {
      throw new CliError(
        `No response from ${this.address}. Check the address, and start the service.`,
      );
    });
    if (status === 200 && text.trim() === 'pong') return;
    if (status === 401)
      throw new CliError(
        `${this.address} rejected the token. Use one that is neither expired nor revoked.`,
      );
    throw new CliError(
      `${this.address} returned ${status} for GET /api/v2/ping instead of "pong". Check the address.`,
    );
  }

  /** Imports items. Safe to repeat without a response: existing items stay as they are. */
  import(body: ImportRequest): Promise<ImportResponse> {
    return this.#request('/import', async (path) => {
      const { text } = await this.#connection.send('POST', path, { body });
      const response = parseImportResponse(text);
      if (!response)
        throw new CliError(`${this.address} returned no import result. Check the address.`);
      return response;
    });
  }

  /** The products, of which items of a file can have the name. */
  products(): AsyncGenerator<unknown> {
    return this.list('/products');
  }

  /** The time zone in which a day alone ends. */
  timeZone(): Promise<string> {
    return this.#request('/address', async (path) => {
      const { text } = await this.#connection.send('GET', path);
      return String(fieldsOf(parseJson(text)).timeZone ?? 'UTC');
    });
  }

  /** The length of a list; undefined if the service does not say. */
  async count(path: string): Promise<number | undefined> {
    const { headers, body } = await this.#open(withQuery(path, 'limit', 1));
    await body?.cancel();
    const total = headers.get('X-Total-Count');
    return total === null ? undefined : Number(total);
  }

  #open(path: string): Promise<Response> {
    return this.#request(path, (whole) => this.#connection.stream(whole));
  }

  /**
   * Yields the items of a list as they arrive, in one response or in pages with `Link`. A list that breaks
   * off is read on after the last item.
   */
  async *list(path: string): AsyncGenerator<unknown> {
    let part = path;
    let isComplete = false;
    let lastId: number | undefined;
    /** The error if the next item does not come after the last one. */
    let standstill: string | undefined;
    let attempt = 0;
    while (!isComplete) {
      const response = await this.#open(part);
      let isEmpty = true;
      try {
        for await (const { value } of findInJson(listText(path, response), ['$.*'])) {
          const id = idOf(value);
          if (standstill && (id ?? 0) <= (lastId ?? 0)) throw new CliError(standstill);
          standstill = undefined;
          attempt = 0;
          isEmpty = false;
          yield value;
          lastId = id;
        }
        const next = this.#nextPage(response.headers.get('Link'));
        if (next !== undefined) {
          standstill = `GET ${path}: the next page does not continue after the last item.`;
          if (isEmpty) throw new CliError(standstill);
        }
        isComplete = next === undefined;
        part = next ?? part;
      } catch (error) {
        if (error instanceof CliError) throw error;
        const delayMs = RETRY_DELAYS_MS[attempt++];
        if (delayMs === undefined) throw new Interruption(`GET ${path} broke off.`);
        await this.#waitForRetry(`GET ${path} broke off`, attempt, delayMs);
        if (lastId === undefined) continue;
        standstill = `GET ${path} broke off, and the service cannot continue after an id.`;
        part = withQuery(part, 'after', lastId);
      }
    }
  }

  /** Uses only the path of a link: the token must not go to another host. */
  #nextPage(link: string | null): string | undefined {
    const [, target] = /<([^>]*)>;\s*rel="?next"?/.exec(link ?? '') ?? [];
    if (target === undefined) return undefined;
    const { pathname, search } = new URL(target, this.#url);
    const [, path] = pathname.split('/api/v2');
    return path === undefined ? undefined : path + search;
  }

  /** Sends a request, and repeats it for about a minute until it succeeds. */
  async #request<Result>(path: string, send: (path: string) => Promise<Result>): Promise<Result> {
    for (let attempt = 0; ; attempt++) {
      try {
        const result = await send(`/api/v2${path}`);
        this.#reportedAttempt = 0;
        return result;
      } catch (error) {
        if (!(error instanceof LicetError)) throw error;
        const { status, retryAfterSeconds = 0 } = error;
        const failure = `${this.address}/api/v2${path}: ${describe(this.address, error)}`;
        const isRetried = status === 0 || RETRIED.includes(status);
        const delayMs = isRetried ? RETRY_DELAYS_MS[attempt] : undefined;
        if (delayMs === undefined) {
          const Failure = isRetried || status >= 500 ? Interruption : CliError;
          throw new Failure(asSentence(failure));
        }
        const askedMs = Math.min(retryAfterSeconds, MAX_RETRY_AFTER_SECONDS) * 1_000;
        await this.#waitForRetry(failure, attempt + 1, askedMs || delayMs);
      }
    }
  }

  /** Reports a retry and waits for it. */
  async #waitForRetry(problem: string, attempts: number, delayMs: number): Promise<void> {
    if (attempts > this.#reportedAttempt) {
      this.#reportedAttempt = attempts;
      const which = `try ${attempts + 1} of ${RETRY_DELAYS_MS.length + 1}`;
      note(`${problem}; trying again in ${delayMs / 1_000} s (${which})`);
    }
    await pause(delayMs);
  }
}

const isDeleted = (item: unknown): boolean => fieldsOf(item).licenseStatus === 'DELETED';

/** Yields all licenses. Licet lists DELETED ones separately; other services may list them with the rest. */
async function* listLicenses(service: Service): AsyncGenerator<unknown> {
  let hasDeleted = false;
  for await (const item of service.list('/licenses')) {
    hasDeleted ||= isDeleted(item);
    yield item;
  }
  if (hasDeleted) return;
  for await (const item of service.list(DELETED)) if (isDeleted(item)) yield item;
}

const DELETED = '/licenses?licenseStatus=DELETED';

/** All items of a service. */
export async function serviceSource(service: Service): Promise<Source> {
  const counts: Source['counts'] = {};
  for (const kind of KINDS) {
    const count = await service.count(`/${kind}`);
    if (count !== undefined) counts[kind] = count;
  }
  if (counts.licenses !== undefined) counts.licenses += (await service.count(DELETED)) ?? 0;
  return {
    counts,
    async *read(kind): AsyncGenerator<SourceItem> {
      const items = kind === 'licenses' ? listLicenses(service) : service.list(`/${kind}`);
      for await (const item of items) yield { item, where: `id ${idOf(item) ?? 'unknown'}` };
    },
  };
}
