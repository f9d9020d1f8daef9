import { DAY_MS } from '@licet/contract/durations';
import { beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import * as z from 'zod';
import { sha256 } from '../../src/lib/sha256.ts';
import { type Isolate, newIsolate, settled, type TestBindings } from '../support/app.ts';
import {
  call,
  create,
  get,
  historyOf,
  type License,
  type Product,
  updateLicense,
  validate,
} from '../support/client.ts';
import { importOne } from '../support/import.ts';
import { arrange, OUTCOME_ROWS } from '../support/outcomes.ts';
import { withoutChange } from '../support/resources.ts';
import vectors from '../support/signed-vectors.json';
import {
  CONNECTING,
  claimsOf,
  newNonce,
  newSigningKey,
  responded,
  signedBody,
  type TestKey,
} from '../support/signing.ts';
import { newWatchedIsolate } from '../support/watched-isolate.ts';

/** Decisions 1.8: signed responses and leases. */

const DAY_SECONDS = DAY_MS / 1000;

let es: TestKey;
let rs: TestKey;
let product: Product;
let isolate: Isolate;

beforeAll(async () => {
  [es, rs] = await Promise.all([newSigningKey('ES256', 'es-1'), newSigningKey('RS256', 'rs-1')]);
  product = await create.product({ offlineDays: 7 });
  isolate = newIsolate({ SIGNING_KEY_1: es.secret, SIGNING_KEY_2: rs.secret });
});

const newLicense = (fields: object = {}): Promise<License> =>
  create.license({ productId: product.id, ...fields });

async function ask(body: object, by = isolate, headers: Record<string, string> = {}) {
  const response = await by.validate(body, {
    headers: { 'CF-Connecting-IP': CONNECTING, ...headers },
  });
  return {
    status: response.status,
    json: responded.parse(response.json),
    recorded: response.recorded,
  };
}

const subjectOf = async (licenseKey: string): Promise<string> =>
  (await sha256(licenseKey)).toBase64({
    alphabet: 'base64url',
    omitPadding: true,
  });

it('a response without a nonce has the same bytes as that of a service without signing keys [1.8.4]', async () => {
  const license = await newLicense();
  const fields = { hwid: 'HW-1', kid: 'unheard-of', lease: true };
  const body = { licenseKey: license.licenseKey, productId: product.id, ...fields };
  const options = { headers: { 'CF-Connecting-IP': CONNECTING } };
  const paths = ['valid', 'refused'].map((name) =>
    name === 'valid' ? body : { ...body, hwid: 5 },
  );
  for (const asked of [...paths, { ...body, nonce: null }, { ...body, nonce: '' }]) {
    const unsigned = { token: null, body: asked, ...options };
    const here = await isolate.call('POST', '/api/v1/validate', unsigned);
    const there = await newIsolate().call('POST', '/api/v1/validate', unsigned);
    const text = there.text.replace(/("totalRequests":)\d+/, '$1N');
    expect(here.text.replace(/("totalRequests":)\d+/, '$1N')).toBe(text);
    expect(here.status).toBe(there.status);
  }
});

it('a service without signing keys ignores nonce, kid and lease of any form [1.8.3, 1.8.4]', async () => {
  const { licenseKey, productId } = await newLicense();
  const response = await validate({
    licenseKey,
    productId,
    hwid: 'HW',
    nonce: '!',
    kid: 5,
    lease: true,
  });
  expect(response.status).toBe(200);
  expect(Object.keys(responded.parse(response.json))).toHaveLength(8);
});

it('the key set of a service without signing keys is empty [1.8.26]', async () => {
  const response = await call('GET', '/.well-known/jwks.json', { token: null });
  expect(response.json).toEqual({ keys: [] });
});

it.each([
  'a'.repeat(15),
  'a'.repeat(129),
  `${'a'.repeat(21)}=`,
  `${'a'.repeat(21)}+`,
  ` ${'a'.repeat(22)}`,
  true,
  { a: 1 },
  ['a'.repeat(22)],
])('a nonce of another form, such as %j, returns 400 and is named [1.8.1]', async (nonce) => {
  const license = await newLicense();
  const { status, json } = await ask(signedBody(license, { nonce }));
  expect(status).toBe(400);
  expect(json).toEqual({
    valid: false,
    message: 'nonce must be 16 to 128 characters of base64url',
  });
  const [record] = await historyOf({ licenseKey: license.licenseKey }, 1);
  expect(record).toMatchObject({ responseType: 'INVALID_REQUEST', remarks: json.message });
});

it.each(['a'.repeat(16), `${'Az09-_'.repeat(21)}aa`])(
  'a nonce of %j is accepted [1.8.1]',
  async (nonce) => {
    const { json } = await ask(signedBody(await newLicense(), { nonce }));
    expect((await claimsOf(json.signed, es)).claims.nonce).toBe(nonce);
  },
);

it('an unknown kid returns 400 without a signature and binds nothing [1.8.2]', async () => {
  const license = await newLicense();
  for (const kid of ['es-2', {}, true]) {
    const { status, json } = await ask(signedBody(license, { kid }));
    expect(status).toBe(400);
    expect(json).toEqual({ valid: false, message: 'kid is unknown' });
  }
  expect((await get.license(license.id)).ips).toEqual([]);
});

it.each([
  ['the first key without a kid', null, 'es-1', 'ES256'],
  ['the key of the kid', 'es-1', 'es-1', 'ES256'],
  ['another key of another algorithm', 'rs-1', 'rs-1', 'RS256'],
])('a response is signed with %s [1.8.2, 1.8.6]', async (_, kid, used, alg) => {
  const { json } = await ask(signedBody(await newLicense(), { kid }));
  const { header } = await claimsOf(json.signed, used === 'es-1' ? es : rs);
  expect(header).toEqual({ alg, kid: used, typ: 'licet-validation+jwt' });
});

it('a response is signed with the key of the lowest number without SIGNING_DEFAULT_KID [1.8.24, 1.8.28]', async () => {
  const keys = { SIGNING_KEY_10: rs.secret, SIGNING_KEY_9: es.secret };
  const { json } = await ask(signedBody(await newLicense()), newIsolate(keys));
  expect((await claimsOf(json.signed, es)).header.kid).toBe('es-1');
});

it('a response is signed with the key of SIGNING_DEFAULT_KID, and names SIGNING_ISSUER [1.8.6, 1.8.7, 1.8.8, 1.8.28]', async () => {
  const keys = { SIGNING_KEY_1: es.secret, SIGNING_KEY_2: rs.secret };
  const others = { SIGNING_DEFAULT_KID: 'rs-1', SIGNING_ISSUER: 'Shop' };
  const { json } = await ask(signedBody(await newLicense()), newIsolate({ ...keys, ...others }));
  expect((await claimsOf(json.signed, rs)).claims.iss).toBe('Shop');
});

it('the claims cover the request, its time and the whole response [1.8.6, 1.8.7, 1.8.8, 1.8.9, 1.8.10, 1.8.11, 1.8.12, 1.8.13]', async () => {
  const expiryDate = '2099-12-31T23:59:59.700+00:00';
  const license = await newLicense({ licenseType: 'TEMPORARY', expiryDate });
  const body = signedBody(license, {
    licenseKey: ` ${license.licenseKey.toLowerCase()}\n`,
    hwid: ' HW-1 ',
    ip: '2001:DB8:0::1',
  });
  const before = Math.floor(Date.now() / 1000);
  const { status, json } = await ask(body);
  expect(status).toBe(200);
  const { claims } = await claimsOf(json.signed, es);
  const { iat = 0 } = claims;
  expect(iat).toBeGreaterThanOrEqual(before);
  expect(claims).toEqual({
    iss: 'licet',
    aud: String(product.id),
    sub: await subjectOf(body.licenseKey),
    nonce: body.nonce,
    iat,
    exp: iat + 300,
    valid: true,
    message: 'License is valid',
    hwid: ' HW-1 ',
    ip: '2001:db8::1',
    licenseExpires: Math.floor(Date.parse(expiryDate) / 1000),
    checkAfter: expect.any(Number),
  });
});

it('checkAfter is the hours of the product after the decision, up to a tenth earlier, each time another [1.8.34]', async () => {
  for (const hours of [undefined, 720, 1]) {
    const { id, checkAfterHours } = await create.product({
      checkAfterHours: hours,
      offlineDays: 30,
    });
    expect(checkAfterHours).toBe(hours ?? 24);
    const license = await create.license({ productId: id });
    const fresh = newIsolate({ SIGNING_KEY_1: es.secret });
    const spread = new Set<number>();
    for (let asked = 0; asked < 5; asked++) {
      const { json } = await ask(signedBody(license, lease), fresh);
      const signed = (await claimsOf(json.signed, es)).claims;
      const { iat = 0, checkAfter } = signed;
      const seconds = z.number().parse(checkAfter) - iat;
      expect(seconds).toBeGreaterThanOrEqual(checkAfterHours * 3_600 * 0.9);
      expect(seconds).toBeLessThanOrEqual(checkAfterHours * 3_600);
      expect((await claimsOf(json.lease, es, 'licet-lease+jwt')).claims).toMatchObject({
        checkAfter,
      });
      spread.add(seconds);
    }
    expect(spread.size).toBeGreaterThan(1);
  }
});

it('checkAfterHours other than 1 to 720 return 400 and name the field [1.8.34]', async () => {
  const path = `/api/v2/products/${product.id}`;
  for (const checkAfterHours of [0, 721, 1.5, '24', [24]]) {
    const response = await withoutChange(path, () =>
      call('PUT', path, { body: { checkAfterHours } }),
    );
    expect(response.status, response.text).toBe(400);
    expect(response.headers.get('Error-Field')).toBe('checkAfterHours');
  }
});

it.each(vectors)(
  'the key and the hardware ID are signed as they were sent: $name [1.8.10, 1.8.12]',
  async ({ licenseKey, sub, hwid }) => {
    const { id, outcome, reason } = await importOne('licenses', {
      licenseKey: licenseKey.trim(),
      productId: product.id,
      licenseType: 'PERMANENT',
    });
    expect(['created', 'unchanged', 'kept'], String(reason)).toContain(outcome);
    await updateLicense(Number(id), { hwids: [], ips: [] });
    const body = { licenseKey, productId: product.id, nonce: newNonce(), hwid, lease: true };
    // The second response has the hash of the first in memory, the third is of another spelling.
    for (const sent of [body, body, { ...body, licenseKey: `${licenseKey} ` }]) {
      const { status, json } = await ask(sent);
      expect(status).toBe(200);
      const expected = { sub: sent === body ? sub : await subjectOf(sent.licenseKey), hwid };
      expect((await claimsOf(json.signed, es)).claims).toMatchObject(expected);
      expect((await claimsOf(json.lease, es, 'licet-lease+jwt')).claims).toMatchObject(expected);
    }
  },
);

it('a refused key, and a number as a key, are signed as they were sent [1.8.10]', async () => {
  const unknown = { licenseKey: ' “No such key” ', productId: product.id, nonce: newNonce() };
  const refused = (await claimsOf((await ask(unknown)).json.signed, es)).claims;
  expect(refused).toMatchObject({ valid: false, sub: await subjectOf(unknown.licenseKey) });
  const number = { ...unknown, licenseKey: 1.5, hwid: 2 };
  const { claims } = await claimsOf((await ask(number)).json.signed, es);
  expect(claims).toMatchObject({ sub: await subjectOf('1.5'), hwid: '2' });
});

it('an example of version 0.2.0 gets the claims that it compares [1.8.33]', async () => {
  const license = await newLicense();
  const licenseKey = ` ${license.licenseKey.toLowerCase()}\n`;
  const body = { ...signedBody(license), licenseKey, hwid: ' HW-1 ', lease: true };
  const { json } = await ask(body, isolate, { 'User-Agent': 'licet-client/1' });
  const expected = { sub: await subjectOf(license.licenseKey), hwid: 'HW-1' };
  expect((await claimsOf(json.signed, es)).claims).toMatchObject(expected);
  expect((await claimsOf(json.lease, es, 'licet-lease+jwt')).claims).toMatchObject(expected);
});

it('claims are null for fields that were not sent, and for a license without an expiry [1.8.6, 1.8.7, 1.8.13]', async () => {
  const { json } = await ask(signedBody(await newLicense()));
  const { claims } = await claimsOf(json.signed, es);
  expect(claims).toMatchObject({ hwid: null, ip: CONNECTING, licenseExpires: null });
});

it('responses of v2 are signed too [1.8.1]', async () => {
  const license = await newLicense();
  const { token } = await create.token(['LICENSE_VALIDATE']);
  const options = { token, body: signedBody(license) };
  const response = await isolate.call('POST', '/api/v2/validate', options);
  await claimsOf(responded.parse(response.json).signed, es);
});

const SIGNED_ROWS = OUTCOME_ROWS.filter(({ responseType }) => responseType !== 'INVALID_REQUEST');

it.each(SIGNED_ROWS)(
  '$responseType: the claims equal the unsigned body and the record [1.8.5, 1.8.14]',
  async (row) => {
    const arranged = await arrange(row, product, await create.product());
    const body = { ...arranged.body, nonce: newNonce(), lease: true };
    // The blacklist is in KV.
    await settled();
    const { nonce, ...unsigned } = body;
    const plain = newIsolate({ SIGNING_KEY_1: es.secret });
    const { status, json } = await ask(body, plain);
    const { signed, lease, ...rest } = json;
    const again = await ask(unsigned, plain);
    expect(again.status).toBe(status);
    const total = status === 200 ? { totalRequests: 2 } : {};
    expect({ ...rest, ...total }).toEqual(again.json);
    const { claims } = await claimsOf(signed, es);
    const [, record] = await historyOf({ licenseKey: body.licenseKey }, 2);
    expect(record).toMatchObject({
      responseType: row.responseType,
      valid: claims.valid,
      productId: Number(claims.aud),
      ip: claims.ip,
      hwid: claims.hwid,
    });
    expect(claims).toMatchObject({ valid: rest.valid, message: rest.message, nonce });
    expect(claims.sub).toBe(await subjectOf(body.licenseKey));
    // The claims of a refusal hold nothing more exact than the message.
    expect(claims.licenseExpires).toBeNull();
    expect(lease === undefined).toBe(row.responseType !== 'VALID');
  },
);

it('a response to an invalid, limited, too large or failed request is not signed [1.8.5]', async () => {
  const license = await newLicense();
  const body = signedBody(license);
  const wrong = await ask({ ...body, productId: 'x' });
  expect(wrong.json).toEqual({ valid: false, message: 'productId must be an integer' });
  const limited = newIsolate({ SIGNING_KEY_1: es.secret, VALIDATION_LIMITER: 0 });
  expect((await ask(body, limited)).json).toEqual({ valid: false, message: 'Too many requests' });
  const large = await ask({ ...body, padding: 'x'.repeat(17 * 1024) });
  expect(large).toMatchObject({ status: 413, json: { valid: false } });
  expect(large.json.signed).toBeUndefined();
  const strict = newIsolate({ SIGNING_KEY_1: es.secret, REQUIRE_HWID: 'true' });
  expect((await ask(body, strict)).json).toEqual({ valid: false, message: 'hwid is required' });
});

const lease = { hwid: 'HW-1', lease: true };

it('a lease lasts the offline days of the product [1.8.15, 1.8.16]', async () => {
  const license = await newLicense();
  const { json } = await ask(signedBody(license, lease));
  const { claims, header } = await claimsOf(json.lease, es, 'licet-lease+jwt');
  const { iat = 0 } = claims;
  expect(header).toEqual({ alg: 'ES256', kid: 'es-1', typ: 'licet-lease+jwt' });
  expect(claims).toEqual({
    iss: 'licet',
    aud: String(product.id),
    sub: await subjectOf(license.licenseKey),
    iat,
    exp: iat + 7 * DAY_SECONDS,
    valid: true,
    message: 'License is valid',
    hwid: 'HW-1',
    ip: CONNECTING,
    licenseExpires: null,
    checkAfter: expect.any(Number),
  });
});

it('the response and the lease of a first use carry the expiry that it starts [7.1.2]', async () => {
  const license = await newLicense({ licenseType: 'TEMPORARY', expiresAfterDays: 2 });
  const { json } = await ask(signedBody(license, lease));
  const { expiryDate } = await get.license(license.id);
  const licenseExpires = Math.floor(Date.parse(String(expiryDate)) / 1000);
  const signed = await claimsOf(json.signed, es);
  expect(signed.claims).toMatchObject({ licenseExpires });
  const { claims } = await claimsOf(json.lease, es, 'licet-lease+jwt');
  expect(claims).toMatchObject({ exp: licenseExpires, licenseExpires });
});

it('a lease ends with the license [1.8.16]', async () => {
  const expiresAt = Math.floor(Date.now() / 1000) + 2 * DAY_SECONDS;
  const expiryDate = new Date(expiresAt * 1000).toISOString();
  const license = await newLicense({ licenseType: 'TEMPORARY', expiryDate });
  const { json } = await ask(signedBody(license, lease));
  const { claims } = await claimsOf(json.lease, es, 'licet-lease+jwt');
  expect(claims).toMatchObject({ exp: expiresAt, licenseExpires: expiresAt });
});

it.each([
  ['without a hwid', { lease: true }],
  ['without lease', { hwid: 'HW-1' }],
  ['with lease false', { hwid: 'HW-1', lease: false }],
  ['with lease as text', { hwid: 'HW-1', lease: 'true' }],
])('no lease is made %s [1.8.16]', async (_, fields) => {
  const { status, json } = await ask(signedBody(await newLicense(), fields));
  expect(status).toBe(200);
  expect(json.signed).toBeDefined();
  expect(json).not.toHaveProperty('lease');
});

it('a lease follows a change of the product, also by an import, in the next validation [1.8.17, 1.8.18]', async () => {
  const other = await create.product();
  const license = await create.license({ productId: other.id });
  const leaseNow = async () => (await ask(signedBody(license, lease))).json.lease;
  const hasLease = async () => (await leaseNow()) !== undefined;
  expect(await hasLease()).toBe(false);
  const change = (offlineDays: number) =>
    isolate.call('PUT', `/api/v2/products/${other.id}`, { body: { offlineDays } });
  await change(3);
  const issued = await leaseNow();
  await change(0);
  expect(await hasLease()).toBe(false);
  const { iat = 0, exp = 0 } = (await claimsOf(issued, es, 'licet-lease+jwt')).claims;
  expect(exp - iat).toBe(3 * DAY_SECONDS);
  const item = { id: other.id + 1_000, name: 'Imported', productType: 'OTHER', offlineDays: 9 };
  const body = { kind: 'products', items: [item] };
  expect((await isolate.call('POST', '/api/v2/import', { body })).status).toBe(200);
  const imported = await create.license({ productId: item.id });
  const { json } = await ask(signedBody(imported, lease));
  expect(json.lease).toBeDefined();
});

it.each([
  ['is no JSON', 'secret-text'],
  ['is a public half', (key: TestKey) => ({ ...key.jwk, d: undefined })],
  ['has no kid', (key: TestKey) => ({ ...key.jwk, kid: undefined })],
  ['has a point that is not on the curve', (key: TestKey) => ({ ...key.jwk, x: key.jwk.y })],
])(
  'a signing key that %s is logged without its value; only a nonce gets 503 [1.8.29, 1.8.30]',
  async (_, broken) => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    onTestFinished(() => log.mockRestore());
    const secret = typeof broken === 'string' ? broken : JSON.stringify(broken(es));
    const faulty = newIsolate({ SIGNING_KEY_1: secret, SIGNING_KEY_2: rs.secret });
    const license = await newLicense();
    const { licenseKey, productId } = license;
    expect((await ask({ licenseKey, productId })).status).toBe(200);
    expect(await ask({ licenseKey, productId }, faulty)).toMatchObject({ status: 200 });
    const failed = await ask(signedBody(license, { hwid: 'HW-1' }), faulty);
    expect(failed).toMatchObject({
      status: 503,
      json: { valid: false, message: 'Service temporarily unavailable' },
    });
    expect((await get.license(license.id)).hwids).toEqual([]);
    const signed = await ask(signedBody(license, { kid: 'rs-1' }), faulty);
    await claimsOf(signed.json.signed, rs);
    const logged = log.mock.calls.flat().join('\n');
    expect(logged).toContain('SIGNING_KEY_1 must be a private JWK with a kid');
    expect(logged).not.toContain('secret-text');
    expect(logged).not.toContain(String(es.jwk.d));
  },
);

it('an unknown kid returns 503 while it may belong to an unreadable key [1.8.29]', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  onTestFinished(() => log.mockRestore());
  const faulty = newIsolate({ SIGNING_KEY_1: '{}', SIGNING_KEY_2: rs.secret });
  const license = await newLicense();
  expect((await ask(signedBody(license, { kid: 'es-1' }), faulty)).status).toBe(503);
});

it('the key set has only the public halves, the default first, for tools on any page [1.8.26]', async () => {
  const response = await isolate.call('GET', '/.well-known/jwks.json', { token: null });
  expect(response.status).toBe(200);
  expect(response.headers.get('Cache-Control')).toBe('public, max-age=300');
  expect(response.headers.get('Access-Control-Allow-Origin')).toBe('*');
  const { kty, crv, x, y } = es.jwk;
  expect(response.json).toEqual({
    keys: [
      { kty, crv, x, y, kid: 'es-1', alg: 'ES256', use: 'sig' },
      { kty: 'RSA', n: rs.jwk.n, e: 'AQAB', kid: 'rs-1', alg: 'RS256', use: 'sig' },
    ],
  });
  const preflight = await isolate.call('OPTIONS', '/.well-known/jwks.json', { token: null });
  expect(preflight.status).toBe(204);
  const wrong = await isolate.call('POST', '/.well-known/jwks.json', { token: null, body: {} });
  expect(wrong.status).toBe(405);
});

const uses = z.array(z.object({ kid: z.string(), installations: z.int(), lastSeen: z.string() }));
const usesOf = async (kid: string) =>
  uses.parse((await call('GET', '/api/v2/signing-keys')).json).find((use) => use.kid === kid);

it('the service lists the keys that installations still ask for, with the time [1.8.31, 1.8.32]', async () => {
  const key = await newSigningKey('ES256', 'es-installations');
  const own = newIsolate({ SIGNING_KEY_1: key.secret });
  const license = await newLicense();
  const { nonce, ...unsigned } = signedBody(license, { hwid: 'HW-1' });
  await (await ask(unsigned, own)).recorded;
  expect(await usesOf('es-installations')).toBeUndefined();
  const before = Date.now();
  for (const hwid of ['HW-1', 'HW-1', 'HW-2']) {
    await (await ask({ ...unsigned, nonce, hwid }, own)).recorded;
  }
  const use = await usesOf('es-installations');
  expect(use).toMatchObject({ installations: 2 });
  expect(Date.parse(use?.lastSeen ?? '')).toBeGreaterThanOrEqual(before);
  // An installation without a kid keeps its identity.
  await (await ask(unsigned, own)).recorded;
  const installations = await call('GET', `/api/v2/licenses/${license.id}/installations`);
  const [latest, ...others] = Array.from(Object(installations.json));
  expect(latest).toMatchObject({ hwid: 'HW-1', requests: 2 });
  expect(Date.parse(Object(latest).firstSeen)).toBeLessThanOrEqual(before);
  expect(others).toMatchObject([
    { hwid: 'HW-2', requests: 1 },
    { hwid: 'HW-1', requests: 2 },
  ]);
});

it('a validation with a nonce and a lease costs the same in D1 and KV as one without', async () => {
  const cold = (secrets: TestBindings) => newWatchedIsolate(secrets);
  const keys = { SIGNING_KEY_1: es.secret };
  const costOf = async (fields: object) => {
    const license = await newLicense();
    await settled();
    const watched = cold(keys);
    const costs = [];
    for (const round of ['cold', 'hot']) {
      watched.reset();
      const body = { licenseKey: license.licenseKey, productId: product.id, ...fields };
      const asked = await ask({ ...body, hwid: 'HW-1' }, watched);
      expect(asked.status, round).toBe(200);
      expect(asked.json.lease !== undefined).toBe('nonce' in fields);
      await asked.recorded;
      costs.push({
        operations: watched.kvNames(),
        statements: watched.roundTrips.map((trip) => trip.length),
        written: watched.roundTrips
          .flat()
          .reduce((sum, { meta }) => sum + (meta?.rows_written ?? 0), 0),
      });
    }
    return costs;
  };
  expect(await costOf({ nonce: newNonce(), lease: true })).toEqual(await costOf({}));
});
