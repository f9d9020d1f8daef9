import { describe, expect, it } from 'vitest';
import { validateWith } from '../support/app';
import {
  type Answer,
  call,
  createLicense,
  createProduct,
  createToken,
  expectError,
  getLicense,
  historyOf,
  validate,
} from '../support/client';

/** The rate limits of decisions 1.7, by the real local limiter. */

/**
 * Asks until it is refused with 429. A minute may end in between, when the count starts anew: so a
 * limit is a band, from itself to twice itself.
 */
async function askUntilLimited(
  limit: number,
  ask: (attempt: number) => Promise<Answer>,
): Promise<{ allowed: Answer[]; limited: Answer }> {
  const allowed: Answer[] = [];
  for (let attempt = 0; attempt <= 2 * limit; attempt++) {
    const answer = await ask(attempt);
    if (answer.status === 429) {
      expect(allowed.length).toBeGreaterThanOrEqual(limit);
      return { allowed, limited: answer };
    }
    allowed.push(answer);
  }
  throw new Error(`${allowed.length} requests met no limit`);
}

const newLicense = async () => {
  const { id: productId } = await createProduct();
  const license = await createLicense({ productId, maxIPs: -1, maxHWIDs: -1 });
  return { id: license.id, asked: { licenseKey: license.licenseKey, productId } };
};

const TOO_MANY = { valid: false, message: 'Too many requests' };

describe('validations of one key from one address', () => {
  it('are limited to 60 a minute, of which the first refusals are recorded and none is counted', async () => {
    const { id, asked } = await newLicense();
    const connectingAddress = '192.0.2.201';
    const ask = () => validate(asked, { connectingAddress });
    const { allowed, limited } = await askUntilLimited(60, ask);
    expect(allowed.every(({ status }) => status === 200)).toBe(true);
    expect(limited.json).toStrictEqual(TOO_MANY);
    expect(limited.headers.get('Retry-After')).toBe('60');

    const more = await Promise.all(Array.from({ length: 20 }, ask));
    const refused = 1 + more.filter(({ status }) => status === 429).length;
    const valid = allowed.length + more.length + 1 - refused;
    await historyOf({ licenseKey: asked.licenseKey, valid: 'true' }, valid);
    const records = await call(
      'GET',
      `/api/v2/requests?licenseKey=${asked.licenseKey}&valid=false`,
    );
    const first = { responseType: 'RATE_LIMITED', rateLimited: true, spam: false, licenseId: id };
    expect(records.json).toEqual(expect.arrayContaining([expect.objectContaining(first)]));
    // One a minute; the test may see two minutes.
    expect(records.json).toSatisfy((list: unknown[]) => list.length <= 2 && list.length < refused);
    expect((await getLicense(id)).totalRequests).toBe(valid);
  });

  it('leave other addresses and other keys alone', async () => {
    const { asked } = await newLicense();
    const connectingAddress = '192.0.2.202';
    await askUntilLimited(60, () => validate(asked, { connectingAddress }));
    expect((await validate(asked, { connectingAddress: '192.0.2.203' })).status).toBe(200);
    const other = await newLicense();
    expect((await validate(other.asked, { connectingAddress })).status).toBe(200);
  });
});

it('forty servers behind one address that restart together with forty keys all get through', async () => {
  const { id: productId } = await createProduct();
  const licenses = await Promise.all(
    Array.from({ length: 40 }, () => createLicense({ productId, maxIPs: -1, maxHWIDs: -1 })),
  );
  const answers = await Promise.all(
    licenses.map(({ licenseKey }) =>
      validate({ licenseKey, productId }, { connectingAddress: '192.0.2.204' }),
    ),
  );
  expect(answers.every(({ status }) => status === 200)).toBe(true);
});

it('failed look-ups are limited to 100 a minute for one address, as spam, and good keys are not', async () => {
  const { asked } = await newLicense();
  const connectingAddress = '192.0.2.205';
  const { allowed, limited } = await askUntilLimited(100, (attempt) =>
    validate({ ...asked, licenseKey: `guess-${attempt}` }, { connectingAddress }),
  );
  expect(allowed.every(({ status }) => status === 400)).toBe(true);
  expect(limited.json).toStrictEqual(TOO_MANY);
  const records = await historyOf({ ip: connectingAddress, limit: '1' }, 1);
  expect(records).toMatchObject([{ responseType: 'RATE_LIMITED', rateLimited: true, spam: true }]);
  expect((await validate(asked, { connectingAddress })).status).toBe(200);
});

it('failed tokens are limited to 60 a minute for one address, and good ones are not', async () => {
  const headers = { 'CF-Connecting-IP': '192.0.2.206' };
  const { allowed, limited } = await askUntilLimited(60, (attempt) =>
    call('GET', '/api/v2/ping', { token: attempt % 2 === 0 ? null : 'guess', headers }),
  );
  expect(allowed.every(({ status }) => status === 401)).toBe(true);
  expectError(limited, 429, 'Too many requests without a live token');
  expect(limited.headers.get('Retry-After')).toBe('60');
  const { token } = await createToken(['LICENSE_VALIDATE']);
  expect((await call('GET', '/api/v2/ping', { token, headers })).status).toBe(200);
});

it('a limiter that fails lets the request through', async () => {
  const { asked } = await newLicense();
  const broken = { limit: () => Promise.reject(new Error('The limiter is down')) };
  const bindings = { VALIDATION_LIMITER: broken, FAILED_LOOKUP_LIMITER: broken };
  const headers = { 'CF-Connecting-IP': '192.0.2.207' };
  expect((await validateWith(bindings, asked, { headers })).status).toBe(200);
  const unknown = { ...asked, licenseKey: 'unknown' };
  expect((await validateWith(bindings, unknown, { headers })).status).toBe(400);
});
