import { TimeoutError, withTimeout } from '../lib/timeout';

type BodyReader = ReadableStreamDefaultReader<Uint8Array>;

/** How much of an unwanted body is read before the answer, and for how long. */
const MAX_DRAINED_BYTES = 8 * 1024 * 1024;
const MAX_DRAINING_MS = 1_000;

const decoder = new TextDecoder();

/** The next part of a body; undefined at its end, and where the client broke off. */
const nextPart = (reader: BodyReader): Promise<Uint8Array | undefined> =>
  reader.read().then(
    ({ value }) => value,
    () => undefined,
  );

/**
 * Reads on in a body that nobody wants, for a while: a client that is still sending, and some
 * proxies, would not see the answer otherwise.
 */
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

/** Drains what of a request's body nobody has read. */
export async function drainBody(request: Request): Promise<void> {
  // In this order: a stream that nobody needs takes the platform longer than the rest of this.
  if (!request.bodyUsed && request.body) await drain(request.body.getReader());
}

/** A body must arrive within this time after its headers: the sender may lose its permission meanwhile. */
const BODY_TIMEOUT_MS = 10_000;

/** A body that is too large, or too late. */
export class BodyError extends Error {
  override name = 'BodyError';
  readonly status: 408 | 413;

  constructor(status: 408 | 413, message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * A request's body as text, as far as it arrived.
 *
 * @throws BodyError for a body of more than `maxBytes`, or one that takes longer than 10 seconds
 */
export async function readBody(request: Request, maxBytes: number): Promise<string> {
  const text = await withTimeout(read(request, maxBytes), BODY_TIMEOUT_MS).catch((error) => {
    if (!(error instanceof TimeoutError)) throw error;
    throw new BodyError(408, `Body must arrive within ${BODY_TIMEOUT_MS / 1000} seconds`);
  });
  if (text === null) throw new BodyError(413, `Body must be at most ${maxBytes} bytes`);
  return text;
}

/** Null for a body of more than `maxBytes`. */
async function read(request: Request, maxBytes: number): Promise<string | null> {
  // The common case, and by far the quickest way: the platform reads no more than was announced.
  const sizeText = request.headers.get('Content-Length');
  if (sizeText !== null && Number(sizeText) <= maxBytes) {
    // Not as text, about which the platform logs a warning where the content type says otherwise.
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
