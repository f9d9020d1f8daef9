import { DAY_MS, HOUR_MS } from '@licet/contract/durations';
import { beforeAll, expect, it, vi } from 'vitest';
import { newIsolate } from '../support/app.ts';
import { call, create, expectError } from '../support/client.ts';
import { importOne } from '../support/import.ts';
import { idsOf, licenses, products, read, withoutChange } from '../support/resources.ts';
import { askSigned, claimsOf, newSigningKey, type TestKey } from '../support/signing.ts';

/** Decisions 11: entitlements. */

const NAME_RULE =
  'must have a name of 1 to 40 lower-case letters, digits and signs "_", "." and "-" that begins with a letter';
const VALUE_RULE =
  'must be true, an integer, or a text of 1 to 40 letters, digits and signs "_", ".", ":", "+" and "-"';

const DEFAULTS = { edition: 'silver', max_players: 100, pro: true };

let key: TestKey;
beforeAll(async () => {
  key = await newSigningKey('ES256', 'es-11');
});

const claims = async (jws: unknown, typ?: 'licet-lease+jwt') =>
  (await claimsOf(jws, key, typ)).claims;

const setOf = async (path: string, body: object): Promise<void> => {
  const response = await call('PUT', path, { body });
  expect(response.status, response.text).toBe(200);
};

it.each([products, licenses])(
  'entitlements of a $name that cannot be stored return 400 and name the field [11.1]',
  async (resource) => {
    const { id } = await resource.create();
    const path = `${resource.path}/${id}`;
    const many = Array.from({ length: 51 }, (_, index) => [`n${index}`, true]);
    const large = Array.from({ length: 50 }, (_, index) => [
      `n${index}`.padEnd(10, 'x'),
      'v'.repeat(40),
    ]);
    const value =
      resource === products ? VALUE_RULE : `${VALUE_RULE}; null takes the one of the product away`;
    for (const [entitlements, message] of [
      [Object.fromEntries(many), 'entitlements must have at most 50 names'],
      [Object.fromEntries(large), 'entitlements must be at most 2048 bytes of JSON'],
      [{ Pro: true }, `entitlements.Pro ${NAME_RULE}`],
      [{ '1st': true }, `entitlements.1st ${NAME_RULE}`],
      [{ 'a b': true }, `entitlements.a b ${NAME_RULE}`],
      [{ ['n'.repeat(41)]: true }, `entitlements.${'n'.repeat(41)} ${NAME_RULE}`],
      [JSON.parse('{"__proto__":true}'), `entitlements.__proto__ ${NAME_RULE}`],
      [{ signed: true }, 'entitlements.signed must not be named valid, message, signed, lease'],
      [{ pro: false }, `entitlements.pro ${value}`],
      [{ pro: 1.5 }, `entitlements.pro ${value}`],
      [{ pro: '' }, `entitlements.pro ${value}`],
      [{ pro: 'a b' }, `entitlements.pro ${value}`],
      [{ pro: 'v'.repeat(41) }, `entitlements.pro ${value}`],
      [{ pro: ['a'] }, `entitlements.pro ${value}`],
      [['pro'], 'entitlements must be an object'],
      ['pro', 'entitlements must be an object'],
    ] as const) {
      const response = await withoutChange(path, () =>
        call('PUT', path, { body: { entitlements } }),
      );
      expectError(response, 400, message);
      expect(response.headers.get('Error-Field')).toBe('entitlements');
    }
  },
);

it('null takes an entitlement away at a license alone [11.1]', async () => {
  const product = await create.product({ entitlements: DEFAULTS });
  const path = `/api/v2/products/${product.id}`;
  const response = await withoutChange(path, () =>
    call('PUT', path, { body: { entitlements: { pro: null } } }),
  );
  expectError(response, 400, `entitlements.pro ${VALUE_RULE}`);
  const { id } = await create.license({ productId: product.id, entitlements: { pro: null } });
  const license = await read(`/api/v2/licenses/${id}`);
  expect(license.entitlements).toEqual({ pro: null });
  expect(license.effectiveEntitlements).toEqual({ edition: 'silver', max_players: 100 });
});

it('the entitlements of a license lie over those of its product, until their ends [11.2]', async () => {
  const product = await create.product({ entitlements: DEFAULTS });
  const soon = Date.now() + HOUR_MS;
  const license = await create.license({
    productId: product.id,
    entitlements: { edition: 'gold', 'module.economy': true },
    entitlementsExpire: { edition: new Date(soon).toISOString(), pro: '2001-02-03' },
  });
  const path = `/api/v2/licenses/${license.id}`;
  const shown = await read(path);
  expect(shown).toMatchObject({
    entitlements: { edition: 'gold', 'module.economy': true },
    entitlementsExpire: {
      edition: new Date(soon).toISOString().replace('Z', '+00:00'),
      pro: '2001-02-03T00:00:00.000+00:00',
    },
  });
  expect(shown.effectiveEntitlements).toEqual({
    edition: 'gold',
    max_players: 100,
    'module.economy': true,
  });
  // A PUT takes the body of the GET, and changes nothing.
  await setOf(path, { ...shown, effectiveEntitlements: { mine: true } });
  expect((await read(path)).effectiveEntitlements).toEqual(shown.effectiveEntitlements);
  vi.useFakeTimers({ now: soon, toFake: ['Date'] });
  try {
    expect((await read(path)).effectiveEntitlements).toEqual({
      max_players: 100,
      'module.economy': true,
    });
  } finally {
    vi.useRealTimers();
  }
});

it.each([
  [
    { pro: '2035-13-01' },
    'entitlementsExpire.pro must be an ISO 8601 timestamp, for example 2035-12-31 or 2035-12-31T23:59:59Z',
  ],
  [
    { pro: 1 },
    'entitlementsExpire.pro must be an ISO 8601 timestamp, for example 2035-12-31 or 2035-12-31T23:59:59Z',
  ],
  [{ Pro: '2035-12-31' }, `entitlementsExpire.Pro ${NAME_RULE}`],
])('the ends %j return 400 [11.2]', async (entitlementsExpire, message) => {
  const { id } = await licenses.create();
  const path = `${licenses.path}/${id}`;
  const response = await withoutChange(path, () =>
    call('PUT', path, { body: { entitlementsExpire } }),
  );
  expectError(response, 400, message);
});

it('a program gets what counts in one claim of signed and lease, sorted, and in no unsigned body [11.3]', async () => {
  const isolate = newIsolate({ SIGNING_KEY_1: key.secret });
  const product = await create.product({ offlineDays: 7, entitlements: DEFAULTS });
  // Within a second, as the end of a day is: a program that asks then no longer gets it.
  const end = Math.floor((Date.now() + 30 * DAY_MS) / 1000) * 1000 + 999;
  const license = await create.license({
    productId: product.id,
    entitlements: { 'module.economy': true, pro: null, a: -1 },
    entitlementsExpire: {
      edition: new Date(end + HOUR_MS).toISOString(),
      'module.economy': new Date(end).toISOString(),
      pro: new Date(Date.now() + HOUR_MS).toISOString(),
    },
  });
  const json = await askSigned(isolate, license, { hwid: 'HW-1', lease: true });
  expect(Object.keys(json).toSorted()).toEqual(
    [
      'expiryDate',
      'hardwareLocked',
      'iPLocked',
      'lease',
      'maxHWIDs',
      'maxIPs',
      'message',
      'signed',
      'totalRequests',
      'valid',
    ].toSorted(),
  );
  for (const [jws, typ] of [[json.signed], [json.lease, 'licet-lease+jwt']] as const) {
    const claimed = await claims(jws, typ);
    expect(claimed.entitlements).toBe('a=-1 edition=silver max_players=100 module.economy');
    expect(claimed.entitlementsUntil).toBe((end + 1) / 1000);
    expect(
      Object.values(claimed).filter((claim) => claim !== null && typeof claim === 'object'),
    ).toEqual([]);
  }
});

it('a license without entitlements has no claim about them, and a refusal has none [11.3, 11.4]', async () => {
  const isolate = newIsolate({ SIGNING_KEY_1: key.secret });
  const plain = await create.license({ productId: (await create.product()).id });
  const claimed = await claims((await askSigned(isolate, plain, { hwid: 'HW-1' })).signed);
  expect(claimed).not.toHaveProperty('entitlements');
  expect(claimed).not.toHaveProperty('entitlementsUntil');
  const { id: productId } = await create.product({ entitlements: DEFAULTS });
  const refused = await create.license({ productId, licenseStatus: 'DEACTIVATED' });
  const json = await askSigned(isolate, refused, { hwid: 'HW-1' });
  expect(json.valid).toBe(false);
  expect(await claims(json.signed)).not.toHaveProperty('entitlements');
});

it('a change of a product or a license reaches the next signed response [11.5]', async () => {
  const isolate = newIsolate({ SIGNING_KEY_1: key.secret });
  const product = await create.product();
  const license = await create.license({ productId: product.id });
  const claim = async () => (await claims((await askSigned(isolate, license)).signed)).entitlements;
  const put = async (path: string, body: object) =>
    expect((await isolate.call('PUT', path, { body })).status).toBe(200);
  expect(await claim()).toBeUndefined();
  await put(`/api/v2/products/${product.id}`, { entitlements: { pro: true } });
  expect(await claim()).toBe('pro');
  await put(`/api/v2/licenses/${license.id}`, { entitlements: { pro: 5 } });
  expect(await claim()).toBe('pro=5');
  await put(`/api/v2/licenses/${license.id}`, { entitlements: null });
  await put(`/api/v2/products/${product.id}`, { entitlements: null });
  expect(await claim()).toBeUndefined();
});

it('the list finds the licenses for which an entitlement counts [11.6]', async () => {
  const product = await create.product({ entitlements: { edition: 'silver', max: 5 } });
  const ofProduct = { productId: product.id };
  const past = { entitlementsExpire: { edition: '2001-02-03' } };
  const made: number[] = [];
  for (const fields of [
    {},
    { entitlements: { edition: 'gold', flag: true } },
    { entitlements: { edition: null } },
    past,
    { entitlements: { max: '5', edition: 7 } },
  ]) {
    made.push((await create.license({ ...ofProduct, ...fields })).id);
  }
  const [plain, gold, without, ended, other] = made;
  const found = (wanted: string) =>
    idsOf(`/api/v2/licenses?productId=${product.id}&entitlement=${encodeURIComponent(wanted)}`);
  expect(await found('edition')).toEqual([plain, gold, other]);
  expect(await found('edition:gold')).toEqual([gold]);
  expect(await found('edition:silver')).toEqual([plain]);
  expect(await found('edition:7')).toEqual([other]);
  expect(await found('max:5')).toEqual([plain, gold, without, ended, other]);
  expect(await found('flag:true')).toEqual([gold]);
  expect(await found('unknown')).toEqual([]);
  for (const wrong of ['', 'Edition', 'edition:', ':gold', 'edition:a b']) {
    const response = await call('GET', `/api/v2/licenses?entitlement=${encodeURIComponent(wrong)}`);
    expectError(
      response,
      400,
      'entitlement must be a name, or a name and a value, such as pro or edition:gold',
    );
  }
});

it('batches and imports store entitlements, and an event shows their change [11.6]', async () => {
  const { id: productId } = await create.product();
  const fields = {
    productId,
    licenseType: 'PERMANENT',
    entitlements: { pro: true },
    entitlementsExpire: { pro: '2099-12-31T00:00:00.000+00:00' },
  };
  const batch = await call('POST', '/api/v2/licenses/batch', { body: { ...fields, count: 2 } });
  expect(batch.json).toMatchObject([fields, fields]);
  const licenseKey = `ENT-${crypto.randomUUID()}`;
  const { id } = await importOne('licenses', { ...fields, licenseKey });
  const path = `/api/v2/licenses/${id}`;
  expect(await read(path)).toMatchObject(fields);
  expect(await importOne('licenses', { ...(await read(path)) })).toMatchObject({
    id,
    outcome: 'unchanged',
  });
  await setOf(path, { entitlements: { pro: null } });
  const { json } = await call(
    'GET',
    `/api/v2/events?resourceType=license&resourceId=${id}&limit=1`,
  );
  expect(json).toMatchObject([
    { changes: { entitlements: { before: { pro: true }, after: { pro: null } } } },
  ]);
});
