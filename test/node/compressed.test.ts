/** @module-tag long */

import { execFileSync } from 'node:child_process';
import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { beforeAll, expect, it } from 'vitest';
import { sharedService } from './shared-service.ts';
import { hasTools } from './tools.ts';

/** Compressed bodies on the wire, as the tools of clients make them [decision 1.1]. */

let address: string;
beforeAll(async () => {
  address = await sharedService();
});

const BODY = JSON.stringify({ licenseKey: crypto.randomUUID(), productId: 1 });
const DECODED = { valid: false, message: 'License not found or invalid' };
const hasCurl = hasTools('compressed bodies on the wire', 'curl');

const curl = (body: Uint8Array, ...headers: string[]): unknown => {
  const named = headers.flatMap((header) => ['-H', header]);
  const sent = ['-sS', '--data-binary', '@-', ...named, `${address}/api/v1/validate`];
  return JSON.parse(execFileSync('curl', sent, { input: body, encoding: 'utf8' }));
};

it.runIf(hasCurl).each([
  ['gzip', 'gzip', gzipSync(BODY)],
  ['gzip -9 of the command line', 'gzip', execFileSync('gzip', ['-9'], { input: BODY })],
  ['zlib', 'deflate', deflateSync(BODY)],
  ['raw deflate', 'deflate', deflateRawSync(BODY)],
])('curl sends a body of %s as Content-Encoding %s, also in chunks', (_, coding, body) => {
  const header = `Content-Encoding: ${coding}`;
  expect(curl(body, header)).toEqual(DECODED);
  expect(curl(body, header, 'Transfer-Encoding: chunked')).toEqual(DECODED);
  expect(curl(body, header, 'Expect: 100-continue')).toEqual(DECODED);
});
