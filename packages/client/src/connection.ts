import type { PinnedKey } from './signatures.ts';
import type { ApiIntent, ErrorCode } from './types.ts';

/** The HTTP requests of the client, and their errors. */

const DEFAULT_TIMEOUT_MS = 30_000;
const MAX_CREATE_ATTEMPTS = 3;
const CREATE_PAUSE_MS = 250;

export interface LicetOptions {
  /** Where the service runs, for example `https://licet.example`. */
  url: string;
  /** An API token. Health and `validate` need none. */
  token?: string | undefined;
  /** Sends the token over http to another machine, where everybody on the way can read it. */
  insecure?: boolean | undefined;
  /** The time limit of a call, including its response body. Default: 30 seconds. */
  timeoutMs?: number | undefined;
  /** Replaces the global `fetch`. */
  fetch?: ((request: Request) => Promise<Response>) | undefined;
}

export interface CallOptions {
  /** Ends the call early: it then fails with the signal's `reason`. */
  signal?: AbortSignal | undefined;
}

export interface CreateOptions extends CallOptions {
  /**
   * A key for this creation, such as the number of an order: another call with it within 24 hours creates nothing.
   * Default: a random one.
   */
  idempotencyKey?: string | undefined;
}

/** A rejected call, or one without a response from Licet. It never contains the token. */
export class LicetError extends Error {
  override readonly name = 'LicetError';
  /** The HTTP status; 0 without a response: no connection, or a timeout. */
  readonly status: number;
  /** The endpoint needs one of these intents; empty if no token helps. */
  readonly acceptedIntents: readonly ApiIntent[];
  /** The kind of the error; undefined if the response is not from Licet. A newer service may have further codes. */
  readonly code: ErrorCode | (string & {}) | undefined;
  /** The field or parameter to blame, if it is one. */
  readonly field: string | undefined;
  /** The delay before the next attempt, if the service gives one (429). */
  readonly retryAfterSeconds: number | undefined;

  constructor(
    status: number,
    message: string,
    details: {
      acceptedIntents?: readonly ApiIntent[] | undefined;
      code?: string | undefined;
      field?: string | undefined;
      retryAfterSeconds?: number | undefined;
      cause?: unknown;
    } = {},
  ) {
    super(message, { cause: details.cause });
    this.status = status;
    this.acceptedIntents = details.acceptedIntents ?? [];
    this.code = details.code;
    this.field = details.field;
    this.retryAfterSeconds = details.retryAfterSeconds;
  }
}

export interface Call extends CreateOptions {
  query?: object | undefined;
  body?: unknown;
  ifMatch?: string | undefined;
  /** False for endpoints without a token. */
  isGuarded?: boolean;
  /** Whether a second request does what one does. So it is with each GET. */
  isRepeatable?: boolean;
  /** The end of the time limit, if the call is more than one request. */
  timeout?: AbortSignal;
}

interface ReadResponse {
  status: number;
  headers: Headers;
  text: string;
}

/** Whether a body has the expected form: another server may respond in place of Licet. */
export type Check = (body: unknown) => boolean;

export const isObject = (body: unknown): body is object =>
  typeof body === 'object' && body !== null;

export const hasId: Check = (body) => isObject(body) && 'id' in body && typeof body.id === 'number';

interface ErrorBody {
  message: string;
  accepted_intents?: ApiIntent[];
}

function isError(body: unknown): boolean {
  if (!isObject(body) || !('message' in body) || typeof body.message !== 'string') return false;
  const intents = 'accepted_intents' in body ? body.accepted_intents : [];
  return Array.isArray(intents) && intents.every((intent) => typeof intent === 'string');
}

/** Proxies send it too. Undefined for a date, which the service does not send. */
function retryAfterSeconds(headers: Headers): number | undefined {
  const text = headers.get('Retry-After') ?? '';
  return /^\d+$/.test(text) ? Number(text) : undefined;
}

/** Not `crypto.randomUUID`, which pages without https lack. */
const randomKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');

const CLOSED_CODES: readonly unknown[] = ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'];

/** Whether the connection was closed before a response. Node says so; browsers repeat such a request themselves. */
function isClosed(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return isObject(cause) && 'code' in cause && CLOSED_CODES.includes(cause.code);
}

/** Sends all HTTP requests. */
export class Connection {
  readonly #url: string;
  readonly #token: string | undefined;
  readonly #timeoutMs: number;
  readonly #fetch: (request: Request) => Promise<Response>;

  constructor({ url, token, timeoutMs, insecure, fetch: ownFetch }: LicetOptions) {
    const { origin, hostname, pathname, protocol, username, password, search, hash } = new URL(url);
    if (!/^https?:$/.test(protocol) || username || password || search || hash) {
      throw new TypeError('url must be an http or https address without user, query or fragment');
    }
    const isLocal = /^(localhost|\[::1\]|127(\.\d+){3})$/.test(hostname);
    if (token !== undefined && protocol === 'http:' && !isLocal && !insecure) {
      throw new TypeError('url must be https, or insecure true, so that nobody reads the token');
    }
    // The error of fetch would contain the token.
    if (token !== undefined && !/^[!-~]+$/.test(token)) {
      throw new TypeError('token is empty, or has blanks or other characters that no token has');
    }
    this.#url = origin + pathname.replace(/\/+$/, '');
    this.#token = token;
    this.#timeoutMs = timeoutMs ?? DEFAULT_TIMEOUT_MS;
    // Wrapped, because fetch must not be called as a method.
    this.#fetch = ownFetch ? (request) => ownFetch(request) : (request) => fetch(request);
  }

  #requestOf(method: string, path: string, call: Call, signal?: AbortSignal): Request {
    const { query = {}, body, ifMatch, idempotencyKey, isGuarded = true } = call;
    const url = new URL(this.#url + path);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    const headers = new Headers();
    if (isGuarded && this.#token !== undefined) headers.set('TOKEN', this.#token);
    if (ifMatch !== undefined) headers.set('If-Match', ifMatch);
    if (idempotencyKey !== undefined) headers.set('Idempotency-Key', idempotencyKey);
    // Also without a body: the service rejects changes with a console session that lack this header.
    if (method !== 'GET') headers.set('Content-Type', 'application/json');
    return new Request(url, {
      method,
      headers,
      body: body === undefined ? null : JSON.stringify(body),
      // The service sends no redirects. A redirect elsewhere would pass the token on.
      redirect: 'manual',
      signal: signal ?? null,
    });
  }

  /**
   * Sends a request and reads the response, whatever its status. A server closes a connection that was idle, maybe while
   * a request is on its way (RFC 9112, 9.3.1): a repeatable one is then sent once more.
   */
  async exchange(method: string, path: string, call: Call = {}): Promise<ReadResponse> {
    const { signal, timeout = AbortSignal.timeout(this.#timeoutMs) } = call;
    const { isRepeatable = method === 'GET' } = call;
    const either = signal ? AbortSignal.any([signal, timeout]) : timeout;
    const request = (): Request => this.#requestOf(method, path, call, either);
    const first = request();
    try {
      const response = await this.#fetch(first).catch((error: unknown) => {
        if (isRepeatable && isClosed(error)) return this.#fetch(request());
        throw error;
      });
      const { status, headers: responded } = response;
      return { status, headers: responded, text: await response.text() };
    } catch (cause) {
      if (signal?.aborted) throw signal.reason;
      const why = timeout.aborted ? ` within ${this.#timeoutMs} ms` : '';
      throw new LicetError(0, `No response from ${this.#url}${why}`, { cause });
    }
  }

  /**
   * Requests a response that is read while it arrives. The only time limit is that of fetch for silence, which is five
   * minutes in Node.
   *
   * @throws LicetError unless it succeeds
   */
  async stream(path: string): Promise<Response> {
    const response = await this.#fetch(this.#requestOf('GET', path, {})).catch((cause) => {
      throw new LicetError(0, `No response from ${this.#url}`, { cause });
    });
    if (response.ok) return response;
    const { status, headers } = response;
    return this.fail({ status, headers, text: await response.text().catch(() => '') });
  }

  /** The error for a response that is not from Licet. */
  notLicet({ status, headers }: ReadResponse): LicetError {
    const message = `${this.#url} returned ${status}, but the response is not from Licet`;
    return new LicetError(status, message, { retryAfterSeconds: retryAfterSeconds(headers) });
  }

  /** The error for a response that is not signed as it must be. */
  notSigned(
    { status }: ReadResponse,
    { kid }: PinnedKey,
    cause: unknown,
    message: string,
  ): LicetError {
    const why = cause instanceof Error ? cause.message : cause;
    const text = `${this.#url} returned ${status} ${JSON.stringify(message)} without a signature of key ${kid}: ${why}`;
    return new LicetError(status, text, { cause });
  }

  /** @throws LicetError if the response is not JSON, or does not have the expected form */
  parse<Body>(response: ReadResponse, isDue: Check): Body {
    try {
      const body: Body = JSON.parse(response.text);
      if (isDue(body)) return body;
    } catch {
      // No JSON.
    }
    throw this.notLicet(response);
  }

  fail(response: ReadResponse): never {
    const { status, headers } = response;
    const { message, accepted_intents } = this.parse<ErrorBody>(response, isError);
    throw new LicetError(status, message, {
      acceptedIntents: accepted_intents,
      code: headers.get('Error-Code') ?? undefined,
      field: headers.get('Error-Field') ?? undefined,
      retryAfterSeconds: retryAfterSeconds(headers),
    });
  }

  /** Sends a request. @throws LicetError unless it succeeds */
  async send(method: string, path: string, call: Call = {}): Promise<ReadResponse> {
    const response = await this.exchange(method, path, call);
    return response.status >= 200 && response.status < 300 ? response : this.fail(response);
  }

  /** Sends a request and parses the response, by default an object with an id. */
  async read<Body>(method: string, path: string, call: Call, isDue = hasId): Promise<Body> {
    return this.parse<Body>(await this.send(method, path, call), isDue);
  }

  /**
   * Sends a request that creates. If there is no response, or the service fails, it is sent again with the same
   * `Idempotency-Key`, within the time limit of one call.
   */
  async create<Body>(path: string, call: Call, isDue = hasId): Promise<Body> {
    const { idempotencyKey = randomKey() } = call;
    const timeout = AbortSignal.timeout(this.#timeoutMs);
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.read('POST', path, { ...call, idempotencyKey, timeout }, isDue);
      } catch (error) {
        const isFailure =
          error instanceof LicetError && (error.status === 0 || error.status >= 500);
        if (!isFailure || timeout.aborted || attempt === MAX_CREATE_ATTEMPTS) throw error;
        await new Promise((resolve) => setTimeout(resolve, attempt * CREATE_PAUSE_MS));
      }
    }
  }
}
