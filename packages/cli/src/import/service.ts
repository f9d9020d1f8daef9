import http from 'node:http';
import https from 'node:https';
import { setTimeout as pause } from 'node:timers/promises';
import type { Operations } from '../../../client/src/types.ts';
import { isLocal, readRootToken } from '../root-token.ts';
import { CliError, note, usageError } from '../terminal.ts';
import { stripControlCharacters } from '../text.ts';
import { findInJson } from './json.ts';
import { fieldsOf, KINDS, type Source, type SourceItem } from './kinds.ts';
import { OUTCOMES, type Result } from './report.ts';

/** A service that speaks v2: Licet, or another one of the same interface. */

type ImportResponse = Operations['POST /api/v2/import']['response'];

/** A failure that may have passed when the same is tried again later. */
export class Interruption extends CliError {}

/** Between attempts; together about a minute. */
const RETRY_DELAYS_MS = [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000];
const MAX_RETRY_AFTER_SECONDS = 60;
/** So long nothing may come. */
const SILENCE_MS = 120_000;
const RETRIED = [408, 409, 429, 500, 502, 503, 504];

/** @throws where it is no address to which a token may be sent */
export function serviceUrl(text: string, option: string): URL {
  const url = URL.parse(text);
  const isPlain = url && !(url.username || url.password || url.search || url.hash);
  if (!isPlain || !/^https?:$/.test(url.protocol)) {
    throw usageError(`${option} must be an address such as https://license.example.com`);
  }
  return url;
}

/** @throws where it is none, or holds what no token has: fetch would say so, and show it */
export function checkToken(token: string | undefined, how: string): string {
  if (!token) throw usageError(`There is no token: give it in ${how}.`);
  if (!/^[!-~]+$/.test(token)) throw usageError(`The token in ${how} holds what no token has.`);
  return token;
}

/** The token of one's own service: of the environment, or on this machine the root token. */
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

/** Services in between answer pages. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

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
  const { results, ignoredFields } = fieldsOf(parseJson(text));
  const isAnswer = Array.isArray(results) && results.every(isResult) && isStrings(ignoredFields);
  return isAnswer ? { results, ignoredFields } : undefined;
}

const asSentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);

/** What an error's body says, and where the token may not do it, what it would need. */
function describeError(status: number, text: string): string {
  const { message, accepted_intents: intents } = fieldsOf(parseJson(text));
  const told = `status ${status}${typeof message === 'string' ? `: ${stripControlCharacters(message)}` : ''}`;
  if (status !== 403 || !isStrings(intents) || intents.length === 0) return told;
  const needed = intents.length === 1 ? intents.join() : `one of ${intents.join(', ')}`;
  return `${asSentence(told)} The token needs ${stripControlCharacters(needed)}`;
}

async function textOf(response: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** @throws where it is no list: nothing is in `{}`, but who answers so has not told what there is */
async function* listText(path: string, chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let hasBegun = false;
  for await (const chunk of chunks) {
    const text: string = hasBegun ? '' : chunk.toString().trimStart();
    hasBegun ||= text.startsWith('[');
    if (!hasBegun && text !== '') throw new CliError(`GET ${path} answers no list.`);
    yield chunk;
  }
}

const headerOf = ({ headers }: http.IncomingMessage, name: string): string | undefined =>
  headers[name]?.toString();

/** Node's own client: beside `fetch` it takes half the memory. */
export class Service {
  readonly #url: URL;
  readonly #token: string;
  /** The latest attempt that was told: requests that wait side by side tell each one once. */
  #toldAttempt = 0;

  constructor(url: URL, token: string) {
    this.#url = url;
    this.#token = token;
  }

  /** Where it is, for a person. */
  get address(): string {
    return this.#url.href.replace(/\/+$/, '');
  }

  /** @throws where nothing answers there, or the token is not live */
  async check(): Promise<void> {
    const response = await this.#send('/ping').catch(() => {
      throw new CliError(`Nothing answers at ${this.address}.`);
    });
    const status = response.statusCode;
    const text = await textOf(response);
    if (status === 200 && text.trim() === 'pong') return;
    if (status === 401) throw new CliError(`${this.address} refuses the token.`);
    throw new CliError(
      `${this.address} answers ${status} to GET /api/v2/ping, and not "pong". Is it the right address?`,
    );
  }

  /** Imports up to 200 items. Sent again where no answer came: what is there stays as it is. */
  import(body: string): Promise<ImportResponse> {
    return this.#request(
      '/import',
      async (response) => {
        const answer = parseImportResponse(await textOf(response));
        if (!answer) throw new CliError(`${this.address} does not answer like Licet.`);
        return answer;
      },
      body,
    );
  }

  /** How many a list has; undefined where the service does not tell. */
  count(path: string): Promise<number | undefined> {
    return this.#request(withQuery(path, 'limit', 1), async (response) => {
      response.destroy();
      const total = headerOf(response, 'x-total-count');
      return total === undefined ? undefined : Number(total);
    });
  }

  /**
   * A whole list, as it arrives. It may come in one piece, or in pages that `Link` joins. Where it
   * breaks off it is read on behind the last one.
   */
  async *list(path: string): AsyncGenerator<unknown> {
    let part = path;
    let isComplete = false;
    let lastId: number | undefined;
    /** What is wrong, unless the next one comes behind the last one. */
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
          standstill = `GET ${path}: its next page does not go on behind the last one.`;
          if (isEmpty) throw new CliError(standstill);
        }
        isComplete = next === undefined;
        part = next ?? part;
      } catch (error) {
        if (error instanceof CliError) throw error;
        const delayMs = RETRY_DELAYS_MS[attempt++];
        if (delayMs === undefined) throw new Interruption(`GET ${path} breaks off.`);
        await this.#waitAgain(`GET ${path} broke off`, attempt, delayMs);
        if (lastId === undefined) continue;
        standstill = `GET ${path} broke off, and does not go on behind a given id.`;
        part = withQuery(part, 'after', lastId);
      }
    }
  }

  /** Only the path is taken of a link: the token is for nobody else. */
  #nextPage(link: string | undefined): string | undefined {
    const [, target] = /<([^>]*)>;\s*rel="?next"?/.exec(link ?? '') ?? [];
    if (target === undefined) return undefined;
    const { pathname, search } = new URL(target, this.#url);
    const [, path] = pathname.split('/api/v2');
    return path === undefined ? undefined : path + search;
  }

  /** Sends a request until it succeeds, for about a minute. */
  async #request<Result>(
    path: string,
    read: (response: http.IncomingMessage) => Promise<Result>,
    body?: string,
  ): Promise<Result> {
    for (let attempt = 0; ; attempt++) {
      let problem = 'no answer';
      let mayPass = true;
      let delayMs = RETRY_DELAYS_MS[attempt];
      try {
        const response = await this.#send(path, body);
        const status = response.statusCode ?? 0;
        if (status === 200) {
          const result = await read(response);
          this.#toldAttempt = 0;
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
        // All else is tried again.
      }
      const told = `${this.address}/api/v2${path}: ${problem}`;
      if (delayMs === undefined) {
        throw mayPass ? new Interruption(asSentence(told)) : new CliError(asSentence(told));
      }
      await this.#waitAgain(told, attempt + 1, delayMs);
    }
  }

  /** Tells that something is tried again, and waits until then. */
  async #waitAgain(problem: string, attempts: number, delayMs: number): Promise<void> {
    if (attempts > this.#toldAttempt) {
      this.#toldAttempt = attempts;
      const which = `try ${attempts + 1} of ${RETRY_DELAYS_MS.length + 1}`;
      note(`${problem}; trying again in ${delayMs / 1_000} s (${which})`);
    }
    await pause(delayMs);
  }

  /** Redirects are not followed: they would take the token along. */
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
      sent.on('timeout', () => sent.destroy(new Error('Nothing comes')));
      sent.on('error', reject);
      sent.end(body);
    });
  }
}

const isDeleted = (item: unknown): boolean => fieldsOf(item).licenseStatus === 'DELETED';

/** All licenses. DELETED ones are listed apart, but by services that list them with the others. */
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

/** All that a service has. */
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
