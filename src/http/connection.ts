import { canonicalAddress } from '@licet/contract/addresses';
import type { Context } from 'hono';
import { TimeoutError, withTimeout } from '../lib/async.ts';
import { joinBytes } from '../lib/bytes.ts';
import { isInNetworks } from '../lib/networks.ts';
import { codingOf, decodeBody, MAX_FRAME_BYTES } from './content-encoding.ts';
import { ApiError } from './errors.ts';

/** The connection of a request: its address, its body, and the time that the client has to send and to read. */

/** The part of a request that says where it comes from. */
interface Incoming {
  readonly headers: Headers;
  readonly cf?: unknown;
}

/** The other end of the connection, which workerd gives as `192.0.2.1:50000`, `[::1]:50000` or `[fe80::1%eth0]:50000`. */
function peerOf({ cf }: Incoming): string | null {
  const clientIp = typeof cf === 'object' && cf !== null && 'clientIp' in cf ? cf.clientIp : null;
  if (typeof clientIp !== 'string') return null;
  return canonicalAddress(clientIp.replace(/:\d+$/, '').replace(/^\[([^%]*).*\]$/, '$1'));
}

let isUnnamedLogged = false;

function logUnnamed(): void {
  if (isUnnamedLogged) return;
  isUnnamedLogged = true;
  const message =
    'A proxy of TRUSTED_PROXIES sends no IP address in CF-Connecting-IP. Its own address counts as that of its clients: let it set the header';
  console.warn(JSON.stringify({ message }));
}

/**
 * The canonical address from which a request came (1.2): that of `CF-Connecting-IP`, never that of
 * `X-Forwarded-For`. A trusted proxy that names no address there counts as the client: the limits need one.
 * Null if it is unknown.
 *
 * @param trustedProxies the networks whose header counts; undefined where only the platform can set it
 */
export function connectingAddressOf(
  request: Incoming,
  trustedProxies: readonly string[] | undefined,
): string | null {
  const peer = trustedProxies ? peerOf(request) : null;
  if (trustedProxies && (peer === null || !isInNetworks(trustedProxies, peer))) return peer;
  const named = request.headers.get('CF-Connecting-IP');
  const address = named === null ? peer : canonicalAddress(named);
  if (address === null && peer !== null) logUnnamed();
  return address ?? peer;
}

type BodyReader = ReadableStreamDefaultReader<Uint8Array>;

const MAX_DRAINED_BYTES = 8 * 1024 * 1024;
const MAX_DRAINING_MS = 1_000;
const DRAINED_PART_BYTES = 32 * 1024;

const decoder = new TextDecoder();
const strictDecoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });

/** The next part of a body; undefined at its end, or if the client has disconnected. */
const nextPart = (reader: BodyReader): Promise<Uint8Array | undefined> =>
  reader.read().then(
    ({ value }) => value,
    () => undefined,
  );

/**
 * Reads the rest of an unused body. Otherwise clients that still send, and some proxies, miss the response. A flood of
 * large bodies is read in large parts: each part takes a turn of the event loop.
 */
async function drain(body: ReadableStream): Promise<void> {
  const reader = body.getReader({ mode: 'byob' });
  const cancel = () => reader.cancel().catch(() => undefined);
  const timer = setTimeout(cancel, MAX_DRAINING_MS);
  let buffer = new ArrayBuffer(DRAINED_PART_BYTES);
  for (let sizeBytes = 0; sizeBytes < MAX_DRAINED_BYTES; ) {
    const part = await reader.read(new Uint8Array(buffer)).then(
      ({ done, value }) => (done ? undefined : value),
      () => undefined,
    );
    if (part === undefined) break;
    sizeBytes += part.byteLength;
    buffer = part.buffer;
  }
  clearTimeout(timer);
  await cancel();
}

/** Drains a body that no handler has read. */
export async function drainBody(request: Request): Promise<void> {
  // `bodyUsed` first: creating the stream of `body` takes longer than all of this.
  if (!request.bodyUsed && request.body) await drain(request.body);
}

/** Timeout of a body after its headers. The token of the sender could be revoked meanwhile. */
export const BODY_TIMEOUT_MS = 10_000;

export const TOO_LATE = `Body must arrive within ${BODY_TIMEOUT_MS / 1000} seconds`;

/**
 * Reads a body, as far as it arrived.
 *
 * @throws ApiError 413 for a body of more than `maxBytes`, 408 for one that takes longer than 10 seconds
 */
export async function readBody(request: Request, maxBytes: number): Promise<Uint8Array> {
  const bytes = await withTimeout(readBytes(request, maxBytes), BODY_TIMEOUT_MS).catch((error) => {
    if (!(error instanceof TimeoutError)) throw error;
    throw new ApiError(408, TOO_LATE);
  });
  if (bytes === null) throw new ApiError(413, tooLarge(maxBytes));
  return bytes;
}

/**
 * {@link readBody}, decoded if it is compressed.
 *
 * @throws ApiError also 415 for another coding, and 400 for a broken one
 */
async function readDecoded(request: Request, maxBytes: number): Promise<Uint8Array> {
  const coding = codingOf(request);
  const bytes = await readBody(request, coding ? maxBytes + MAX_FRAME_BYTES : maxBytes);
  const decoded = coding ? await decodeBody(bytes, coding, maxBytes) : bytes;
  if (decoded === null) throw new ApiError(413, tooLarge(maxBytes));
  return decoded;
}

/** {@link readDecoded} as text. */
export const readBodyText = async (request: Request, maxBytes: number): Promise<string> =>
  decoder.decode(await readDecoded(request, maxBytes));

/**
 * {@link readDecoded} as text that is stored: of another encoding, letters would be lost.
 *
 * @throws ApiError also 400 for a body that is not UTF-8
 */
export async function readUtf8(request: Request, maxBytes: number): Promise<string> {
  const bytes = await readDecoded(request, maxBytes);
  try {
    return strictDecoder.decode(bytes);
  } catch {
    throw new ApiError(400, 'Body must be in UTF-8', { code: 'INVALID_JSON' });
  }
}

export const tooLarge = (maxBytes: number): string => `Body must be at most ${maxBytes} bytes`;

/**
 * Reads a body as text, as far as it arrived, decoded if it is compressed, however long it takes. Null for more than
 * `maxBytes`.
 *
 * @throws ApiError 415 for another coding, and 400 for a broken one
 */
export function readText(request: Request, maxBytes: number): Promise<string | null> {
  const coding = codingOf(request);
  const bytes = coding
    ? readBytes(request, maxBytes + MAX_FRAME_BYTES).then(
        (sent) => sent && decodeBody(sent, coding, maxBytes),
      )
    : readBytes(request, maxBytes);
  return bytes.then((decoded) => decoded && decoder.decode(decoded));
}

const NOTHING = new Uint8Array();

/** Reads a body, as far as it arrived, however long it takes. Null for more than `maxBytes`. */
export function readBytes(request: Request, maxBytes: number): Promise<Uint8Array | null> {
  // The common case and the fastest way: the platform reads at most the announced length.
  const sizeText = request.headers.get('Content-Length');
  if (sizeText === null || Number(sizeText) > maxBytes) return readParts(request, maxBytes);
  // `text()` would log a warning if the content type is not text.
  return request.arrayBuffer().then(
    (bytes) => new Uint8Array(bytes),
    () => NOTHING,
  );
}

async function readParts({ body }: Request, maxBytes: number): Promise<Uint8Array | null> {
  if (!body) return NOTHING;
  const reader: BodyReader = body.getReader();
  const parts: Uint8Array[] = [];
  let sizeBytes = 0;
  for (let part = await nextPart(reader); part; part = await nextPart(reader)) {
    sizeBytes += part.byteLength;
    if (sizeBytes > maxBytes) {
      reader.releaseLock();
      await drain(body);
      return null;
    }
    parts.push(part);
  }
  return joinBytes(parts);
}

/** Longer than most work after a response, which ends with the connection. Another request takes over the rest. */
const MAX_UNREAD_MS = 25_000;

const timers = new WeakMap<object, ReturnType<typeof setTimeout>>();

/** Whether `npm start` runs the service. Cloudflare looks after its connections itself. */
export const isOnOneMachine = (env: { ONE_MACHINE?: string }): boolean =>
  env.ONE_MACHINE !== undefined;

function expectWithin(c: Context, timeoutMs: number, giveUp: () => void): void {
  clearTimeout(timers.get(c.executionCtx));
  timers.set(c.executionCtx, setTimeout(giveUp, timeoutMs));
}

/**
 * Starts again the time in which the client must read the bytes that were sent. After that time its connection is
 * closed, because it would stay open for ever. The timer ends with the request.
 */
export function expectReading(c: Context, timeoutMs = MAX_UNREAD_MS): void {
  const { executionCtx } = c;
  if (!isOnOneMachine(c.env) || !('abort' in executionCtx)) return;
  const { abort } = executionCtx;
  if (typeof abort !== 'function') return;
  expectWithin(c, timeoutMs, () => abort.call(executionCtx, 'The client does not read'));
}

/**
 * Starts the time in which the client must send its body and then read the response. One timer serves for both: two
 * took a tenth of the time of a hot validation.
 *
 * @returns a promise that resolves after ten seconds; undefined at Cloudflare
 */
export function expectBody(c: Context): Promise<void> | undefined {
  if (!isOnOneMachine(c.env)) return undefined;
  const { promise, resolve } = Promise.withResolvers<void>();
  expectWithin(c, BODY_TIMEOUT_MS, () => {
    resolve();
    expectReading(c, MAX_UNREAD_MS - BODY_TIMEOUT_MS);
  });
  return promise;
}

/** The same response with a body that this Worker sends. One that the runtime passes on outlives the request. */
export function ownResponse(c: Context, response: Response): Response {
  if (!isOnOneMachine(c.env) || response.body === null) return response;
  const passing = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      controller.enqueue(chunk);
      expectReading(c);
    },
  });
  return new Response(response.body.pipeThrough(passing), response);
}
