import { exports } from 'cloudflare:workers';
import { beforeAll, expect, it } from 'vitest';
import {
  call,
  create,
  expectError,
  get,
  historyOf,
  type License,
  type ReadResponse,
  readResponse,
  send,
  validate,
} from '../support/client.ts';
import { ROOT_TOKEN } from '../support/root-token.ts';

/** Section 8: the largest requests that the service accepts. Rate limits are in `../api/rate-limits.test.ts`. */

let license: License;
let asked: { licenseKey: string; productId: number };

beforeAll(async () => {
  const product = await create.product();
  license = await create.license({ productId: product.id, maxIPs: -1, maxHWIDs: -1 });
  asked = { licenseKey: license.licenseKey, productId: product.id };
});

/** A JSON object of exactly so many bytes. */
function bodyOf(bytes: number, fields: object): string {
  const empty = JSON.stringify({ ...fields, filler: '' });
  return JSON.stringify({ ...fields, filler: 'x'.repeat(bytes - empty.length) });
}

/** A POST that does not say how long its body is, and how much of it was read. */
async function postInChunks(
  path: string,
  body: string,
  token: string | null = ROOT_TOKEN,
): Promise<ReadResponse & { bytesRead: number }> {
  const bytes = new TextEncoder().encode(body);
  let bytesRead = 0;
  const stream = new ReadableStream({
    type: 'bytes',
    pull(controller) {
      if (bytesRead >= bytes.length) return controller.close();
      const chunk = bytes.slice(bytesRead, bytesRead + 4_096);
      bytesRead += chunk.length;
      controller.enqueue(chunk);
    },
  });
  const request = new Request(`http://licet.test${path}`, {
    method: 'POST',
    headers: token === null ? {} : { TOKEN: token },
    body: stream,
  });
  return { ...(await send(request)), bytesRead };
}

const postAtOnce = (path: string, body: string) => call('POST', path, { body });

const KIB = 1024;
const TOO_LARGE = { valid: false, message: 'Body must be at most 16384 bytes' };

it.each(['v1', 'v2'])(
  'the body of a %s validation may have 16 KiB, and with more returns 413 in two fields, also of unknown length [1.1.4, interface 8]',
  async (version) => {
    const path = `/api/${version}/validate`;
    for (const post of [postAtOnce, postInChunks]) {
      expect((await post(path, bodyOf(16 * KIB, asked))).status).toBe(200);
      const tooLarge = await post(path, bodyOf(16 * KIB + 1, asked));
      expect(tooLarge.status).toBe(413);
      expect(tooLarge.json).toStrictEqual(TOO_LARGE);
    }
  },
);

/** A POST whose body sends a byte now and then and never ends, or breaks off. */
async function postForEver(
  path: string,
  token: string | null,
  breaksOff = false,
): Promise<ReadResponse> {
  let timer: ReturnType<typeof setInterval> | undefined;
  const body = new ReadableStream({
    type: 'bytes',
    start(controller) {
      const beginning = new TextEncoder().encode('{"licenseKey":');
      controller.enqueue(breaksOff ? beginning : new Uint8Array(32 * KIB));
      if (breaksOff) controller.error(new Error('The client is gone'));
      else timer = setInterval(() => controller.enqueue(new Uint8Array(1)), 50);
    },
    cancel: () => clearInterval(timer),
  });
  const headers = { 'CF-Connecting-IP': '192.0.2.115', ...(token !== null && { TOKEN: token }) };
  const request = new Request(`http://licet.test${path}`, { method: 'POST', headers, body });
  return readResponse(request, await exports.default.fetch(request));
}

it.each([
  { path: '/api/v2/products', token: null, status: 401 },
  { path: '/api/v2/nothing', token: ROOT_TOKEN, status: 404 },
  { path: '/api/v1/validate', token: null, status: 413 },
])('an endless body gets $status from $path, and soon', async ({ path, token, status }) => {
  const start = performance.now();
  const response = await postForEver(path, token);
  expect(response.status).toBe(status);
  expect(performance.now() - start).toBeLessThan(4_000);
});

it('a client that breaks off gets 400 and is recorded as a body that cannot be read', async () => {
  const response = await postForEver('/api/v1/validate', null, true);
  expect(response.status).toBe(400);
  expect(response.json).toEqual({ valid: false, message: 'Body must be a JSON object' });
  const [record] = await historyOf({ ip: '192.0.2.115', limit: '1' }, 1);
  expect(record).toMatchObject({ responseType: 'INVALID_REQUEST', successful: true });
});

it('a validation that is too large is recorded with the connecting address, and binds and counts nothing [1.6.1]', async () => {
  const { totalRequests } = await get.license(license.id);
  const connectingAddress = '192.0.2.113';
  const response = await validate(bodyOf(17 * KIB, asked), { connectingAddress });
  expect(response.status).toBe(413);
  const [record] = await historyOf({ ip: connectingAddress }, 1);
  expect(record).toMatchObject({
    licenseId: null,
    licenseKey: null,
    responseType: 'INVALID_REQUEST',
    valid: false,
    successful: true,
  });
  expect((await get.license(license.id)).totalRequests).toBe(totalRequests);
});

it('a body that is no validation may have 1 MiB, and with more gets 413 in the error structure, also of unknown length [3.1.3, interface 7, interface 8]', async () => {
  const productBody = { name: 'Large', productType: 'OTHER' };
  const [fits, tooLarge] = [KIB * KIB, KIB * KIB + 1].map((bytes) => bodyOf(bytes, productBody));
  for (const post of [postAtOnce, postInChunks]) {
    expectError(await post('/api/v2/products', fits ?? ''), 400, /filler/);
    expectError(await post('/api/v2/products', tooLarge ?? ''), 413, /1048576 bytes/);
  }
});

const PATHS = ['/api/v2/products', '/api/v2/licenses', '/api/v2/validate'];
const TOO_LARGE_FOR_ALL = 'x'.repeat(KIB * KIB + 1);

it.each(PATHS)(
  'a body of any size to %s gets 403 if the token may not send it [3.1.6]',
  async (path) => {
    const { token } = await create.token(['CUSTOMERS_READ']);
    for (const body of ['{}', TOO_LARGE_FOR_ALL]) {
      for (const response of [
        await call('POST', path, { body, token }),
        await postInChunks(path, body, token),
      ]) {
        expectError(response, 403, 'Token lacks a required intent');
      }
    }
  },
);

it.each([
  ['that is too large', '/api/v1/validate', ROOT_TOKEN],
  ['that is too large', '/api/v2/validate', ROOT_TOKEN],
  ['that is too large', '/api/v2/products', ROOT_TOKEN],
  ['without a token', '/api/v2/products', null],
  ['for an unknown path', '/api/v2/nowhere', ROOT_TOKEN],
])(
  'a body %s to %s is read to its end, so that the response is seen [interface 8]',
  async (_, path, token) => {
    const response = await postInChunks(path, TOO_LARGE_FOR_ALL, token);
    expect([401, 404, 413]).toContain(response.status);
    expect(response.bytesRead).toBe(TOO_LARGE_FOR_ALL.length);
  },
);

it('a hwid of more than 512 bytes is rejected [1.2.7, 1.4.4]', async () => {
  expect((await validate({ ...asked, hwid: 'h'.repeat(512) })).status).toBe(200);
  for (const hwid of ['h'.repeat(513), 'é'.repeat(257), '\u0001'.repeat(100)]) {
    const response = await validate({ ...asked, hwid });
    expect(response.status).toBe(400);
    expect(response.json).toStrictEqual({
      valid: false,
      message: 'hwid must be at most 512 bytes',
    });
    const [record] = await historyOf({ hwid: hwid.slice(0, 64), valid: 'false' }, 1);
    expect(record?.responseType).toBe('INVALID_REQUEST');
  }
});
