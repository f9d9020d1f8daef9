/**
 * Reads a request's body as text; null for one of more than `maxBytes`. It is read to its end either
 * way: a client that is still sending would not see the answer.
 */
export async function readBody(request: Request, maxBytes: number): Promise<string | null> {
  const parts: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const part of request.body ?? []) {
    sizeBytes += part.byteLength;
    if (sizeBytes <= maxBytes) parts.push(part);
  }
  return sizeBytes > maxBytes ? null : await new Blob(parts).text();
}
