import { beforeAll, expect, it } from 'vitest';
import {
  call,
  create,
  expectError,
  get,
  historyOf,
  type License,
  validate,
} from '../support/client.ts';
import { newcomer } from '../support/outcomes.ts';
import { askFor } from '../support/shop.ts';

/** Compressed bodies [decision 1.1]. */

let license: License;
beforeAll(async () => {
  license = await create.license();
});

type Format = ConstructorParameters<typeof CompressionStream>[0];

async function compressed(text: string | Uint8Array, format: Format): Promise<Uint8Array> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream(format));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const streamOf = (bytes: Uint8Array): ReadableStream => new Blob([bytes]).stream();

const withCoding = (coding: string) => ({ headers: { 'Content-Encoding': coding } });

it.each<[coding: string, format: Format]>([
  ['gzip', 'gzip'],
  [' GZIP', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
  ['deflate', 'deflate-raw'],
])(
  'a body in %s, compressed as %s, is decoded under v1 and v2 [1.1.25]',
  async (coding, format) => {
    const body = await compressed(JSON.stringify(askFor(license)), format);
    const v1 = await validate(streamOf(body), withCoding(coding));
    expect(v1.status, v1.text).toBe(200);
    const v2 = await call('POST', '/api/v2/validate', {
      ...withCoding(coding),
      body: streamOf(body),
    });
    expect(v2.status, v2.text).toBe(200);
    const notes = crypto.randomUUID();
    const put = await call('PUT', `/api/v2/licenses/${license.id}`, {
      ...withCoding(coding),
      body: streamOf(await compressed(JSON.stringify({ notes }), format)),
    });
    expect(put.status, put.text).toBe(200);
    expect((await get.license(license.id)).notes).toBe(notes);
  },
);

it.each(['identity', ''])(
  'a body with the Content-Encoding %j is read as it is',
  async (coding) => {
    expect((await validate(askFor(license), withCoding(coding))).status).toBe(200);
  },
);

it.each(['br', 'zstd', 'gzip, gzip', 'compress'])(
  'a body in %s is 400 under v1 and 415 under v2, naming the header, and is recorded [1.1.26]',
  async (coding) => {
    const message = `Content-Encoding must be gzip or deflate, not "${coding}": send the body uncompressed`;
    const { ip } = newcomer();
    const sent = { headers: { 'Content-Encoding': coding, 'CF-Connecting-IP': ip }, body: 'x' };
    const v1 = await validate('x', sent);
    expect([v1.status, v1.json]).toEqual([400, { valid: false, message }]);
    const v2 = await call('POST', '/api/v2/validate', sent);
    expect([v2.status, v2.json]).toEqual([415, { valid: false, message }]);
    expectError(await call('PUT', `/api/v2/licenses/${license.id}`, sent), 415, message);
    expect(await historyOf({ ip }, 2)).toMatchObject([
      { responseType: 'INVALID_REQUEST', requestType: 'V2_VALIDATE', remarks: message },
      { responseType: 'INVALID_REQUEST', requestType: 'V1_VALIDATE', remarks: message },
    ]);
  },
);

it.each(['gzip', 'x-gzip', 'deflate'])(
  'a body that a proxy has decoded is read as it is, whatever header is left: %s [1.1.25]',
  async (coding) => {
    const v1 = await validate(askFor(license), withCoding(coding));
    expect(v1.status, v1.text).toBe(200);
    const v2 = await call('POST', '/api/v2/validate', {
      ...withCoding(coding),
      body: askFor(license),
    });
    expect(v2.status, v2.text).toBe(200);
    const path = `/api/v2/licenses/${license.id}`;
    const notes = crypto.randomUUID();
    const put = await call('PUT', path, { ...withCoding(coding), body: { notes } });
    expect(put.status, put.text).toBe(200);
    expect((await get.license(license.id)).notes).toBe(notes);
    // Without a frame, the limit is that of a plain body.
    for (const [length, status] of [
      [16_384, 200],
      [16_385, 413],
    ] as const) {
      const padded = JSON.stringify(askFor(license)).padEnd(length);
      expect((await validate(padded, withCoding(coding))).status).toBe(status);
    }
  },
);

const GZIP_FAULT = 'Body must be gzip, as its Content-Encoding says';

it.each<[what: string, bodyOf: () => Promise<Uint8Array>]>([
  ['text behind its first bytes', async () => Uint8Array.of(0x1f, 0x8b, ...new Array(40).fill(65))],
  [
    'two members, which the runtime does not decode',
    async () => {
      const member = await compressed(JSON.stringify(askFor(license)), 'gzip');
      return Uint8Array.of(...member, ...(await compressed(' ', 'gzip')));
    },
  ],
])('a body of gzip that has %s is 400, naming the header [1.1.25]', async (_, bodyOf) => {
  const body = await bodyOf();
  const v1 = await validate(streamOf(body), withCoding('gzip'));
  expect([v1.status, v1.json]).toEqual([400, { valid: false, message: GZIP_FAULT }]);
  const path = `/api/v2/licenses/${license.id}`;
  const put = await call('PUT', path, { ...withCoding('gzip'), body: streamOf(body) });
  expectError(put, 400, GZIP_FAULT);
});

it('an empty body is 400 under the Content-Encoding gzip, too [1.1.25]', async () => {
  const empty = () => streamOf(new Uint8Array());
  const [plain, v1] = [await validate(empty(), {}), await validate(empty(), withCoding('gzip'))];
  expect([v1.status, v1.json]).toEqual([400, plain.json]);
  const path = `/api/v2/licenses/${license.id}`;
  const put = await call('PUT', path, { ...withCoding('gzip'), body: empty() });
  expectError(put, 400, /./);
});

it('a body whose gzip breaks off is 400 [1.1.25]', async () => {
  const whole = await compressed(JSON.stringify(askFor(license)), 'gzip');
  const v1 = await validate(streamOf(whole.subarray(0, whole.length - 9)), withCoding('gzip'));
  expect([v1.status, v1.json]).toEqual([400, { valid: false, message: GZIP_FAULT }]);
});

it('the limit of a body counts its decoded size, and a bomb is not decoded [1.1.25]', async () => {
  // 16 KB that cannot be compressed are larger in gzip.
  const noise = crypto.getRandomValues(new Uint8Array(8_000));
  const hex = [...noise].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  const padded = JSON.stringify(askFor(license, { javaVersion: hex }));
  expect((await validate(padded.padEnd(16_384), {})).status).toBe(200);
  for (const [length, status] of [
    [16_384, 200],
    [16_385, 413],
  ] as const) {
    const body = await compressed(padded.padEnd(length), 'gzip');
    expect((await validate(streamOf(body), withCoding('gzip'))).status).toBe(status);
  }
  const bomb = await compressed(new Uint8Array(16 * 1024 * 1024), 'gzip');
  expect(bomb.length).toBeLessThan(16_384 + 1_024);
  expect((await validate(streamOf(bomb), withCoding('gzip'))).status).toBe(413);
  const path = `/api/v2/licenses/${license.id}`;
  const large = await call('PUT', path, { ...withCoding('gzip'), body: streamOf(bomb) });
  expectError(large, 413, 'Body must be at most 1048576 bytes');
});
