import { TimeoutError, withTimeout } from '../lib/async.ts';
import { ApiError } from './errors.ts';

type BodyReader = ReadableStreamDefaultReader<Uint8Array>;

const MAX_DRAINED_BYTES = 8 * 1024 * 1024;
const MAX_DRAINING_MS = 1_000;

const decoder = new TextDecoder();

/** The next part of a body; undefined at its end, or if the client has disconnected. */
const nextPart = (reader: BodyReader): Promise<Uint8Array | undefined> =>
  reader.read().then(
    ({ value }) => value,
    () => undefined,
  );

/** Reads the rest of an unused body. Otherwise clients that still send, and some proxies, miss the response. */
async function drain(reader: BodyReader): Promise<void> {
  const cancel = () => reader.cancel().catch(() => undefined);
  const timer = setTimeout(cancel, MAX_DRAINING_MS);
  for (let sizeBytes = 0; sizeBytes < MAX_DRAINED_BYTES; ) {
    const part = await nextPart(reader);
    if (part === undefined) break;
    sizeBytes += part.byteLength;
  }
  clearTimeout(timer);
  await cancel();
}

/** Drains a body that no handler has read. */
export async function drainBody(request: Request): Promise<void> {
  // `bodyUsed` first: creating the stream of `body` takes longer than all of this.
  if (!request.bodyUsed && request.body) await drain(request.body.getReader());
}

/** Timeout of a body after its headers. The token of the sender could be revoked meanwhile. */
export const BODY_TIMEOUT_MS = 10_000;

export const TOO_LATE = `Body must arrive within ${BODY_TIMEOUT_MS / 1000} seconds`;

/**
 * Reads a body as text, as far as it arrived.
 *
 * @throws ApiError 413 for a body of more than `maxBytes`, 408 for one that takes longer than 10 seconds
 */
export async function readBody(request: Request, maxBytes: number): Promise<string> {
  const text = await withTimeout(readText(request, maxBytes), BODY_TIMEOUT_MS).catch((error) => {
    if (!(error instanceof TimeoutError)) throw error;
    throw new ApiError(408, TOO_LATE);
  });
  if (text === null) throw new ApiError(413, tooLarge(maxBytes));
  return text;
}

export const tooLarge = (maxBytes: number): string => `Body must be at most ${maxBytes} bytes`;

/** Reads a body as text, as far as it arrived, however long it takes. Null for more than `maxBytes`. */
export async function readText(request: Request, maxBytes: number): Promise<string | null> {
  // The common case and the fastest way: the platform reads at most the announced length.
  const sizeText = request.headers.get('Content-Length');
  if (sizeText !== null && Number(sizeText) <= maxBytes) {
    // `text()` would log a warning if the content type is not text.
    return request.arrayBuffer().then(
      (bytes) => decoder.decode(bytes),
      () => '',
    );
  }
  const { body } = request;
  if (!body) return '';
  const reader: BodyReader = body.getReader();
  const parts: Uint8Array[] = [];
  let sizeBytes = 0;
  for (let part = await nextPart(reader); part; part = await nextPart(reader)) {
    sizeBytes += part.byteLength;
    if (sizeBytes > maxBytes) {
      await drain(reader);
      return null;
    }
    parts.push(part);
  }
  return await new Blob(parts).text();
}
