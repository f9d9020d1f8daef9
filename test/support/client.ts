import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { entry } from '@licet/contract/blacklists';
import { customer } from '@licet/contract/customers';
import type { ApiIntent } from '@licet/contract/enums';
import { ERROR_CODES } from '@licet/contract/errors';
import { license } from '@licet/contract/licenses';
import { product } from '@licet/contract/products';
import { request as historyRecord } from '@licet/contract/requests';
import { createdToken, token as tokenWire } from '@licet/contract/tokens';
import { expect, vi } from 'vitest';
import type * as z from 'zod';
import { app } from '../../src/routes/app.ts';
import { checkResponse } from './openapi.ts';
import { ROOT_TOKEN } from './root-token.ts';

/** A client of the service for tests: real requests to the Worker, in the same isolate. */

export type Product = z.infer<typeof product>;
export type License = z.infer<typeof license>;
export type Blacklist = z.infer<typeof entry>;
export type HistoryRecord = z.infer<typeof historyRecord>;
export type Customer = z.infer<typeof customer>;
export type Token = z.infer<typeof createdToken>;

export interface ReadResponse {
  status: number;
  headers: Headers;
  text: string;
  /** The parsed body; undefined where it is no JSON. */
  json: unknown;
}

export interface CallOptions {
  /** An object is sent as JSON, a string or a stream as it is. */
  body?: unknown;
  /** The root token unless given; null sends none. */
  token?: string | null;
  headers?: Record<string, string>;
  /** `licet.test` unless given. */
  host?: string;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const isAsSent = (body: unknown): body is string | ReadableStream =>
  typeof body === 'string' || body instanceof ReadableStream;

/** A request to any path of the service. Redirects are not followed. */
export const requestTo = (
  method: string,
  path: string,
  { body, token = ROOT_TOKEN, headers = {}, host = 'licet.test' }: CallOptions = {},
): Request =>
  new Request(`http://${host}${path}`, {
    method,
    redirect: 'manual',
    headers: { ...(token !== null && { TOKEN: token }), ...headers },
    ...(body !== undefined && { body: isAsSent(body) ? body : JSON.stringify(body) }),
  });

/** A response, read to its end, and held against the OpenAPI document. */
export async function readResponse(request: Request, response: Response): Promise<ReadResponse> {
  const text = await response.text();
  const { status, headers } = response;
  const read = { status, headers, text, json: parse(text) };
  checkResponse(request, read);
  return read;
}

/** The service keeps its state by the bindings. */
let bindings = { ...env };

/** Makes the Worker a cold isolate. */
export function restart(): void {
  bindings = { ...env };
}

const running = new Set<Promise<void>>();

/** Resolves at the end of all that a request has left running after its response. */
export function finish(context: ExecutionContext): Promise<void> {
  const finished = waitOnExecutionContext(context).finally(() => running.delete(finished));
  running.add(finished);
  return finished;
}

/** Resolves when nothing that a request has left running is running any more. */
export async function settled(): Promise<void> {
  await Promise.allSettled(running);
}

export async function send(request: Request): Promise<ReadResponse> {
  const context = createExecutionContext();
  const response = await readResponse(request, await app.fetch(request, bindings, context));
  void finish(context);
  return response;
}

export const call = (
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<ReadResponse> => send(requestTo(method, path, options));

/** Sends a request under /api/v2 and expects a status; the body comes back checked by a schema. */
async function expectWire<Schema extends z.ZodType>(
  schema: Schema,
  status: number,
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<z.infer<Schema>> {
  const response = await call(method, `/api/v2${path}`, options);
  expect(response.status, response.text).toBe(status);
  return schema.parse(response.json);
}

/** Reads an object that there is. */
export const get = {
  product: (id: number) => expectWire(product, 200, 'GET', `/products/${id}`),
  license: (id: number) => expectWire(license, 200, 'GET', `/licenses/${id}`),
  blacklist: (id: number) => expectWire(entry, 200, 'GET', `/blacklists/${id}`),
  customer: (id: number) => expectWire(customer, 200, 'GET', `/customers/${id}`),
  token: (id: number) => expectWire(tokenWire, 200, 'GET', `/tokens/${id}`),
};

/** Creates an object, from the fields that a test is about. */
export const create = {
  product: (body: object = {}) =>
    expectWire(product, 201, 'POST', '/products', {
      body: { name: 'Plugin', productType: 'GAME_JAVA_PLUGIN', ...body },
    }),

  /** A PERMANENT license, of a new product and with its default limits unless said otherwise. */
  async license(fields: Record<string, unknown> = {}): Promise<License> {
    const productId = fields.productId ?? (await create.product()).id;
    const body = { licenseType: 'PERMANENT', ...fields, productId };
    return expectWire(license, 201, 'POST', '/licenses', { body });
  },

  blacklist: (body: object) =>
    expectWire(entry, 201, 'POST', '/blacklists', {
      body: { licenseDataType: 'IP', isForAllProducts: true, reason: '', ...body },
    }),

  token: (intents: readonly ApiIntent[], body: object = {}) =>
    expectWire(createdToken, 201, 'POST', '/tokens', {
      body: { name: intents.join(), intents, ...body },
    }),
};

export const updateLicense = (id: number, body: object) =>
  expectWire(license, 200, 'PUT', `/licenses/${id}`, { body });

/** Asks v1 whether a license may run; `connectingAddress` is what the platform would report. */
export const validate = (
  body: unknown,
  { connectingAddress, ...options }: CallOptions & { connectingAddress?: string } = {},
): Promise<ReadResponse> =>
  call('POST', '/api/v1/validate', {
    body,
    token: null,
    ...options,
    headers: {
      ...(connectingAddress !== undefined && { 'CF-Connecting-IP': connectingAddress }),
      ...options.headers,
    },
  });

/**
 * The history under a filter, newest first, as soon as it has that many records. They are written after the
 * response, or when the queue delivers them.
 */
export async function historyOf(
  filter: Record<string, string>,
  count: number,
): Promise<HistoryRecord[]> {
  // A batch begins 100 ms after the one before. Other work takes longer, such as a second put into KV.
  await Promise.race([settled(), scheduler.wait(100)]);
  return vi.waitFor(
    async () => {
      const path = `/requests?${new URLSearchParams(filter)}`;
      const records = await expectWire(historyRecord.array(), 200, 'GET', path);
      expect(records).toHaveLength(count);
      return records;
    },
    { timeout: 2_000 },
  );
}

/** The responses of a list from a path on, each page linked to the next. */
export async function readPagesFrom(
  start: string,
  ask: (path: string) => Promise<ReadResponse> = (path) => call('GET', path),
): Promise<ReadResponse[]> {
  const pages: ReadResponse[] = [];
  for (let path: string | undefined = start; path !== undefined; ) {
    const response = await ask(path);
    expect(response.status, response.text).toBe(200);
    pages.push(response);
    const [, link] = /^<([^>]+)>; rel="next"$/.exec(response.headers.get('Link') ?? '') ?? [];
    expect(response.headers.has('Link')).toBe(link !== undefined);
    path = link?.slice(new URL(link).origin.length);
  }
  return pages;
}

/** Expects the error structure of v2, whole [7]. */
export function expectError(
  response: ReadResponse,
  status: number,
  message: string | RegExp,
  acceptedIntents?: readonly ApiIntent[],
): void {
  expect(response.status, response.text).toBe(status);
  expect(response.json).toEqual({
    message: message instanceof RegExp ? expect.stringMatching(message) : message,
    accepted_intents: acceptedIntents ?? expect.any(Array),
  });
  expect(Object.keys(ERROR_CODES)).toContain(response.headers.get('Error-Code'));
}
