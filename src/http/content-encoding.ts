import { ApiError } from './errors.ts';

/** Bodies that the client has compressed (1.1). */

const CODINGS: ReadonlyMap<string, Coding> = new Map([
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
]);
type Coding = 'gzip' | 'deflate';

/** A body that cannot be compressed grows by its frame. */
export const MAX_FRAME_BYTES = 1_024;
/** The runtime decodes each written part at once. One of a bomb is a thousand times as large. */
const PART_BYTES = 512;
const MAX_SHOWN_LENGTH = 40;

/**
 * The coding of a body; undefined for one that is not compressed.
 *
 * @throws ApiError 415 for another coding
 */
export function codingOf({ headers }: Request): Coding | undefined {
  const named = headers.get('Content-Encoding');
  if (named === null) return undefined;
  const name = named.trim().toLowerCase();
  if (name === '' || name === 'identity') return undefined;
  const coding = CODINGS.get(name);
  if (coding) return coding;
  const shown = JSON.stringify(named.slice(0, MAX_SHOWN_LENGTH));
  throw new ApiError(
    415,
    `Content-Encoding must be gzip or deflate, not ${shown}: send the body uncompressed`,
  );
}

type Format = ConstructorParameters<typeof DecompressionStream>[0];

/**
 * The format of bytes: under the name of deflate, some clients send it without the frame of zlib. Undefined for other bytes
 * than gzip under its name, which a proxy has decoded before.
 */
function formatOf(coding: Coding, [first = 0, second = 0]: Uint8Array): Format | undefined {
  if (coding === 'gzip') return first === 0x1f && second === 0x8b ? coding : undefined;
  const isFramed = (first & 0x0f) === 8 && (first * 256 + second) % 31 === 0;
  return isFramed ? 'deflate' : 'deflate-raw';
}

/** Decodes bytes. Null for more than `maxBytes`, undefined for other bytes than the format says. */
async function decode(
  bytes: Uint8Array,
  format: Format,
  maxBytes: number,
): Promise<Uint8Array | null | undefined> {
  const { readable, writable } = new DecompressionStream(format);
  const writer = writable.getWriter();
  const reader = readable.getReader({ mode: 'byob' });
  let isTooLarge = false;
  // At once: the runtime would give small parts, and decode the rest of a bomb meanwhile.
  const reading = reader.readAtLeast(maxBytes + 1, new Uint8Array(maxBytes + 1)).then((read) => {
    isTooLarge = read.value !== undefined && read.value.byteLength > maxBytes;
    return read.value ?? new Uint8Array();
  });
  const writing = (async () => {
    for (let start = 0; start < bytes.length && !isTooLarge; start += PART_BYTES) {
      await writer.write(bytes.subarray(start, start + PART_BYTES));
    }
    if (!isTooLarge) await writer.close();
  })();
  const [read, written] = await Promise.allSettled([reading, writing]);
  if (isTooLarge) return null;
  return read.status === 'fulfilled' && written.status === 'fulfilled' ? read.value : undefined;
}

/**
 * Decodes a body. Decoding ends with the first bytes beyond the limit. A proxy can decode a body and leave its header: bytes
 * without the beginning of gzip, and those that are no deflate, are the body itself.
 *
 * @returns null for more than `maxBytes`
 * @throws ApiError 400 for gzip that is broken, or has several members, which the runtime does not decode
 */
export async function decodeBody(
  bytes: Uint8Array,
  coding: Coding,
  maxBytes: number,
): Promise<Uint8Array | null> {
  const format = formatOf(coding, bytes);
  const decoded = format && (await decode(bytes, format, maxBytes));
  if (decoded !== undefined) return decoded;
  if (format !== 'gzip') return bytes.length > maxBytes ? null : bytes;
  throw new ApiError(400, `Body must be ${coding}, as its Content-Encoding says`, {
    code: 'INVALID_JSON',
  });
}
