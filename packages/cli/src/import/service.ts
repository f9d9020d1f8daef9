import http from 'node:http';
import https from 'node:https';
import { setTimeout as pause } from 'node:timers/promises';
import { parseJson } from '../../../../src/lib/json.ts';
import type { Operations } from '../../../client/src/types.ts';
import { isLocal, readRootToken } from '../root-token.ts';
import { CliError, note, usageError } from '../terminal.ts';
import { stripControlCharacters } from '../text.ts';
import { findInJson } from './json.ts';
import { fieldsOf, KINDS, type Source, type SourceItem } from './kinds.ts';
import { OUTCOMES, type Result } from './results.ts';

/** A client of the v2 interface: for Licet, or another service with the same interface. */

type ImportResponse = Operations['POST /api/v2/import']['response'];

/** A failure that may be temporary. */
export class Interruption extends CliError {}

/** Delays between attempts; about a minute in all. */
const RETRY_DELAYS_MS = [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000];
const MAX_RETRY_AFTER_SECONDS = 60;
/** Longest time without data from the service. */
const SILENCE_MS = 120_000;
const RETRIED = [408, 409, 429, 500, 502, 503, 504];

/** @throws CliError for a missing token, or one that no HTTP header may contain */
export function checkToken(token: string | undefined, how: string): string {
  if (!token) throw usageError(`No token. Set it in ${how}.`);
  if (!/^[!-~]+$/.test(token))
    throw usageError(`The token in ${how} contains spaces or other invalid characters.`);
  return token;
}

/** The token of the user's own service: from the environment, or on this machine the root token. */
export function ownToken(url: URL): string {
  const root = isLocal(url) ? readRootToken() : undefined;
  return checkToken(process.env.LICET_TOKEN || root, 'LICET_TOKEN');
}

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
  const isKnown = OUTCOMES.some((known) => known === outcome);
  return isKnown && isStrings(differences) && hasId && hasReason;
}

function parseImportResponse(text: string): ImportResponse | undefined {
  const { results, ignoredFields, createdOwners = 0 } = fieldsOf(parseJson(text));
  const hasResults = Array.isArray(results) && results.every(isResult);
  const isAnswer = hasResults && isStrings(ignoredFields) && typeof createdOwners === 'number';
  return isAnswer ? { results, ignoredFields, createdOwners } : undefined;
}

const asSentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);

/** Describes an error response. For 403, names the intents that the token needs. */
function describeError(status: number, text: string): string {
  const { message, accepted_intents: intents } = fieldsOf(parseJson(text));
  const description = `status ${status}${typeof message === 'string' ? `: ${stripControlCharacters(message)}` : ''}`;
  if (status !== 403 || !isStrings(intents) || intents.length === 0) return description;
  const needed = intents.length === 1 ? intents.join() : `one of ${intents.join(', ')}`;
  return `${asSentence(description)} The token needs ${stripControlCharacters(needed)}`;
}

async function textOf(response: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** @throws CliError unless the text begins a list: `{}` must not count as an empty one */
async function* listText(path: string, chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let hasBegun = false;
  for await (const chunk of chunks) {
    const text: string = hasBegun ? '' : chunk.toString().trimStart();
    hasBegun ||= text.startsWith('[');
    if (!hasBegun && text !== '') throw new CliError(`GET ${path} returned no list.`);
    yield chunk;
  }
}

const headerOf = ({ headers }: http.IncomingMessage, name: string): string | undefined =>
  headers[name]?.toString();

/** Uses Node's HTTP client, which takes less memory than `fetch`. */
export class Service {
  readonly #url: URL;
  readonly #token: string;
  /** The last attempt that was reported. Concurrent requests report each attempt once. */
  #reportedAttempt = 0;

  constructor(url: URL, token: string) {
    this.#url = url;
    this.#token = token;
  }

  /** The address without a slash at its end. */
  get address(): string {
    return this.#url.href.replace(/\/+$/, '');
  }

  /** @throws CliError if nothing responds, or the token is not valid */
  async check(): Promise<void> {
    const response = await this.#send('/ping').catch(() => {
      throw new CliError(
        `No response from ${this.address}. Check the address, and start the service.`,
      );
    });
    const status = response.statusCode;
    const text = await textOf(response);
    if (status === 200 && text.trim() === 'pong') return;
    if (status === 401)
      throw new CliError(
        `${this.address} rejected the token. Use one that is neither expired nor revoked.`,
      );
    throw new CliError(
      `${this.address} returned ${status} for GET /api/v2/ping instead of "pong". Check the address.`,
    );
  }

  /** Imports up to 200 items. Safe to repeat without a response: existing items stay as they are. */
  import(body: string): Promise<ImportResponse> {
    return this.#request(
      '/import',
      async (response) => {
        const answer = parseImportResponse(await textOf(response));
        if (!answer)
          throw new CliError(`${this.address} returned no import result. Check the address.`);
        return answer;
      },
      body,
    );
  }

  /** The length of a list; undefined if the service does not say. */
  count(path: string): Promise<number | undefined> {
    return this.#request(withQuery(path, 'limit', 1), async (response) => {
      response.destroy();
      const total = headerOf(response, 'x-total-count');
      return total === undefined ? undefined : Number(total);
    });
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
      const response = await this.#request(part, async (answer) => answer);
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
        const next = this.#nextPage(headerOf(response, 'link'));
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
  #nextPage(link: string | undefined): string | undefined {
    const [, target] = /<([^>]*)>;\s*rel="?next"?/.exec(link ?? '') ?? [];
    if (target === undefined) return undefined;
    const { pathname, search } = new URL(target, this.#url);
    const [, path] = pathname.split('/api/v2');
    return path === undefined ? undefined : path + search;
  }

  /** Sends a request, and repeats it for about a minute until it succeeds. */
  async #request<Result>(
    path: string,
    read: (response: http.IncomingMessage) => Promise<Result>,
    body?: string,
  ): Promise<Result> {
    for (let attempt = 0; ; attempt++) {
      let problem = 'no response';
      let mayPass = true;
      let delayMs = RETRY_DELAYS_MS[attempt];
      try {
        const response = await this.#send(path, body);
        const status = response.statusCode ?? 0;
        if (status === 200) {
          const result = await read(response);
          this.#reportedAttempt = 0;
          return result;
        }
        problem = describeError(status, await textOf(response));
        mayPass = RETRIED.includes(status) || status >= 500;
        if (!RETRIED.includes(status)) delayMs = undefined;
        const seconds = Number(headerOf(response, 'retry-after'));
        if (delayMs !== undefined && seconds > 0) {
          delayMs = Math.min(seconds, MAX_RETRY_AFTER_SECONDS) * 1_000;
        }
      } catch (error) {
        if (error instanceof CliError) throw error;
        // Other errors are retried.
      }
      const failure = `${this.address}/api/v2${path}: ${problem}`;
      if (delayMs === undefined) {
        throw mayPass ? new Interruption(asSentence(failure)) : new CliError(asSentence(failure));
      }
      await this.#waitForRetry(failure, attempt + 1, delayMs);
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

  /** Follows no redirects: they would pass the token on. */
  #send(path: string, body?: string): Promise<http.IncomingMessage> {
    const { request } = this.#url.protocol === 'https:' ? https : http;
    return new Promise((resolve, reject) => {
      const sent = request(
        `${this.address}/api/v2${path}`,
        {
          method: body === undefined ? 'GET' : 'POST',
          headers: { TOKEN: this.#token, 'Content-Type': 'application/json' },
          timeout: SILENCE_MS,
        },
        resolve,
      );
      sent.on('timeout', () => sent.destroy(new Error('Timeout')));
      sent.on('error', reject);
      sent.end(body);
    });
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
