import { env } from 'cloudflare:workers';
import { event } from '@licet/contract/events';
import { license as licenseWire } from '@licet/contract/licenses';
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { newIsolate, settled } from '../support/app.ts';
import {
  type CallOptions,
  call,
  create,
  expectError,
  get,
  historyOf,
  type License,
  type ReadResponse,
  updateLicense,
  validate,
} from '../support/client.ts';
import { spyOnDatabase } from '../support/d1-spy.ts';
import { DAY_MS, runToTheEnd, setNow } from '../support/history.ts';
import { importOne } from '../support/import.ts';
import { contentsOfKv, isAllPublished, kvKeyOf } from '../support/published.ts';
import { customers, idsOf, licenses, products } from '../support/resources.ts';

/** New keys, new owners, and sentences in the place of a key (7). */

afterAll(settled);

const KEY = /^([0-9A-HJKMNP-TV-Z]{4}-){4}[0-9A-HJKMNP-TV-Z]{4}$/;
const TODAY = new Date().toISOString().slice(0, 10);

const rotate = (id: number, options: CallOptions = {}) =>
  call('POST', `${licenses.path}/${id}/rotate`, options);

const transfer = (id: number, body: object, options: CallOptions = {}) =>
  call('POST', `${licenses.path}/${id}/transfer`, { body, ...options });

/** The license in a response that made one. */
function licenseIn(response: ReadResponse): License {
  expect(response.status, response.text).toBe(200);
  return licenseWire.parse(response.json);
}

const rotated = async ({ id }: { id: number }): Promise<License> => licenseIn(await rotate(id));

const ask = ({ licenseKey, productId }: License, fields: object = {}) => ({
  licenseKey,
  productId,
  ...fields,
});

const listed = (query: string) => idsOf(`${licenses.path}?${query}`);

const eventsOf = async (id: number) =>
  event
    .array()
    .parse((await call('GET', `/api/v2/events?resourceType=license&resourceId=${id}`)).json);

const replacedKeysOf = (id: number) =>
  env.DB.prepare('select count(*) n from replaced_keys where license_id = ?').bind(id).first('n');

describe('a new key', () => {
  it('a rotation returns the license with a new key, and leaves everything else as it was [7.3.1]', async () => {
    const before = await create.license({
      ips: ['203.0.113.1'],
      hwids: ['HW 1'],
      notes: 'Kept',
      ownerChatId: 'chat-of-rotation',
    });
    await validate(ask(before, { ip: '203.0.113.1', hwid: 'HW 1' }));
    await historyOf({ licenseKey: before.licenseKey }, 1);
    const response = await rotate(before.id);
    const after = licenseIn(response);
    expect(after.licenseKey).toMatch(KEY);
    expect(after.licenseKey).not.toBe(before.licenseKey);
    expect(after).toEqual({
      ...before,
      licenseKey: after.licenseKey,
      totalRequests: 1,
      updatedDate: after.updatedDate,
    });
    expect(await get.license(before.id)).toEqual(after);
    const stored = await call('GET', `${licenses.path}/${before.id}`);
    expect(response.headers.get('ETag')).toBe(stored.headers.get('ETag'));
  });

  it('a rotation takes no body and {}, and no field [7.3.1]', async () => {
    const one = await create.license();
    expect((await rotate(one.id, { body: {} })).status).toBe(200);
    expect((await rotate(one.id, { body: ' ' })).status).toBe(200);
    const response = await rotate(one.id, { body: { licenseKey: 'MINE' } });
    expectError(response, 400, 'licenseKey is not a known field');
  });

  it('the replaced key is unknown at once in the isolate that rotated, and the new one is valid [7.3.3]', async () => {
    const before = await create.license();
    expect((await validate(ask(before))).status).toBe(200);
    const after = await rotated(before);
    const refused = await validate(ask(before));
    expect([refused.status, refused.json]).toEqual([
      400,
      { valid: false, message: 'License not found or invalid' },
    ]);
    expect((await validate(ask(after))).status).toBe(200);
  });

  it('the replaced key leaves KV, and the new one is there [7.3.3]', async () => {
    const before = await create.license();
    await isAllPublished();
    expect([...(await contentsOfKv()).keys()]).toContain(await kvKeyOf(before));
    const after = await rotated(before);
    await isAllPublished();
    const keys = [...(await contentsOfKv()).keys()];
    expect(keys).not.toContain(await kvKeyOf(before));
    expect(keys).toContain(await kvKeyOf(after));
  });

  it('an isolate that still has a snapshot under the replaced key binds nothing more with it [7.3.3]', async () => {
    const before = await create.license({ maxIPs: 3, maxHWIDs: -1 });
    const isolate = newIsolate();
    const first = await isolate.validate(ask(before, { ip: '203.0.113.1' }));
    await first.recorded;
    const after = await rotated(before);
    // Values that the snapshot has may stay valid for 30 seconds.
    const second = await isolate.validate(ask(before, { ip: '203.0.113.2' }));
    await second.recorded;
    expect([first.status, second.status]).toEqual([200, 400]);
    // Then not even that.
    expect((await isolate.validate(ask(before, { ip: '203.0.113.1' }))).status).toBe(400);
    expect((await get.license(after.id)).ips).toEqual(['203.0.113.1']);
  });

  it('a request with a replaced key is recorded as LICENSE_NOT_FOUND, with the day on which the key was replaced [7.3.6]', async () => {
    const before = await create.license();
    await rotated(before);
    await validate(ask(before, { licenseKey: before.licenseKey.toLowerCase() }));
    await validate(ask(before, { licenseKey: `${before.licenseKey}-X` }));
    expect(await historyOf({ licenseKey: before.licenseKey }, 1)).toMatchObject([
      {
        responseType: 'LICENSE_NOT_FOUND',
        licenseId: null,
        licenseKey: before.licenseKey.toLowerCase(),
        remarks: `This key was replaced on ${TODAY}`,
      },
    ]);
    const [unknown] = await historyOf({ licenseKey: `${before.licenseKey}-X` }, 1);
    expect(unknown).toMatchObject({ responseType: 'LICENSE_NOT_FOUND', remarks: null });
  });

  it('a request with a replaced key takes the round trips of one with an unknown key [7.3.6]', async () => {
    const before = await create.license();
    await rotated(before);
    await isAllPublished();
    const tripsOf = async (licenseKey: string) => {
      const { spy, roundTrips } = spyOnDatabase(env.DB);
      const body = { licenseKey, productId: before.productId };
      await (await newIsolate({ DB: spy }).validate(body)).recorded;
      return roundTrips.map((statements) => statements.map(({ sql }) => sql));
    };
    const trips = await tripsOf(before.licenseKey);
    const other = await tripsOf('NEVER-SEEN');
    expect(trips.length).toBeGreaterThan(1);
    expect(trips).toEqual(other);
  });

  it('the history of a license has its requests under replaced keys [7.3.7, 7.3.8]', async () => {
    const first = await create.license();
    await validate(ask(first));
    await historyOf({ licenseKey: first.licenseKey }, 1);
    const second = await rotated(first);
    await validate(ask(second));
    const third = await rotated(second);
    await validate(ask(third));
    await validate(ask(first));
    const records = await historyOf({ licenseKey: third.licenseKey }, 4);
    expect(records.map(({ licenseKey, licenseId }) => [licenseKey, licenseId])).toEqual([
      [first.licenseKey, null],
      [third.licenseKey, third.id],
      [second.licenseKey, third.id],
      [first.licenseKey, third.id],
    ]);
    const own = await historyOf({ licenseKey: second.licenseKey }, 1);
    expect(own[0]?.licenseKey).toBe(second.licenseKey);
  });

  it('by-license-key returns 404 for a replaced key, because it is no proof of who owns the license [7.3.4]', async () => {
    const first = await create.license();
    const second = await rotated(first);
    const third = licenseIn(await transfer(second.id, { customerEmail: 'heir@example.com' }));
    for (const { licenseKey } of [first, second]) {
      const path = `${licenses.path}/by-license-key/${licenseKey}`;
      expectError(await call('GET', path), 404, 'License not found');
    }
    const path = `${licenses.path}/by-license-key/${third.licenseKey}`;
    expect(licenseIn(await call('GET', path))).toEqual(await get.license(first.id));
  });

  it('a replaced key leads to its license in lists by q, in any case [7.3.5]', async () => {
    const first = await create.license();
    const second = await rotated(first);
    const third = await rotated(second);
    for (const { licenseKey } of [first, second, third]) {
      expect(await listed(`q=${licenseKey.toLowerCase()}`)).toEqual([first.id]);
      // A part of the key.
      expect(await listed(`q=${licenseKey.slice(5, 19)}`)).toEqual([first.id]);
    }
  });

  it('the event of a rotation has the last groups of both keys, and no whole key [7.3.13]', async () => {
    const before = await create.license();
    const after = await rotated(before);
    const [newest] = await eventsOf(before.id);
    expect(newest).toMatchObject({
      type: 'license.rotated',
      changes: {
        licenseKey: { before: before.licenseKey.slice(-4), after: after.licenseKey.slice(-4) },
      },
    });
    expect(Object.keys(newest?.changes ?? {})).toEqual(['licenseKey']);
  });

  it('a repetition with the same Idempotency-Key gets the same key, also by ten requests at once [7.3.12]', async () => {
    const one = await create.license({ hwids: ['HW 1'] });
    const { id } = one;
    await validate(ask(one));
    await historyOf({ licenseKey: one.licenseKey }, 1);
    const etag = (await call('GET', `${licenses.path}/${id}`)).headers.get('ETag') ?? '';
    const headers = { 'Idempotency-Key': `rotation of ${id}`, 'If-Match': etag };
    const responses = await Promise.all(
      Array.from({ length: 10 }, () =>
        newIsolate().call('POST', `${licenses.path}/${id}/rotate`, { headers }),
      ),
    );
    const texts = new Set(responses.map(({ status, text }) => `${status} ${text}`));
    expect([...texts]).toEqual([`200 ${responses[0]?.text}`]);
    expect(await get.license(id)).toEqual(responses[0]?.json);
    expect(responses[0]?.json).toMatchObject({ totalRequests: 1 });
    expect(await replacedKeysOf(id)).toBe(1);
    const again = await rotate(id, { headers });
    expect([again.status, again.text]).toEqual([200, responses[0]?.text]);
    expect(again.headers.get('ETag')).toBe(responses[0]?.headers.get('ETag'));
  });

  it('a repetition with an If-Match that matched the first time gets the same key [7.3.12]', async () => {
    const { id } = await create.license();
    const etag = (await call('GET', `${licenses.path}/${id}`)).headers.get('ETag') ?? '';
    const headers = { 'Idempotency-Key': `matched rotation of ${id}`, 'If-Match': etag };
    const first = await rotate(id, { headers });
    expect(first.status).toBe(200);
    expect((await rotate(id, { headers })).text).toBe(first.text);
    const late = await rotate(id, { headers: { 'If-Match': etag } });
    expectError(late, 412, 'The object has changed since it was read');
    expect(await replacedKeysOf(id)).toBe(1);
  });

  it('a rotation of a DELETED license returns 409, and one of an unknown license 404 [7.3.2]', async () => {
    const { id, licenseKey } = await create.license({ licenseStatus: 'DELETED' });
    expectError(
      await rotate(id),
      409,
      'License is DELETED and gets no new key: restore it first, by a PUT with another licenseStatus',
    );
    expect((await get.license(id)).licenseKey).toBe(licenseKey);
    expectError(await rotate(999_999_999), 404, 'License not found');
  });

  it('an import of a replaced key is refused and says whose it was [7.3.9]', async () => {
    const before = await create.license();
    const after = await rotated(before);
    const spoilt = { ...before, licenseKey: `“${before.licenseKey.replaceAll('-', '–')}”` };
    for (const item of [before, { ...ask(before), licenseType: 'PERMANENT' }, spoilt]) {
      expect(await importOne('licenses', item)).toMatchObject({
        outcome: 'refused',
        reason: `licenseKey is a replaced key of license ${before.id}: import its new key, or leave it out`,
      });
    }
    expect(await importOne('licenses', after)).toMatchObject({ outcome: 'unchanged' });
  });

  it('the replaced keys of a license go with its product [7.3.10]', async () => {
    const before = await create.license();
    const after = await rotated(before);
    expect((await call('DELETE', `${licenses.path}/${after.id}`)).status).toBe(204);
    const { productId } = before;
    expect((await call('DELETE', `${products.path}/${productId}`)).status).toBe(204);
    expect(await replacedKeysOf(before.id)).toBe(0);
    const path = `${licenses.path}/by-license-key/${before.licenseKey}`;
    expectError(await call('GET', path), 404, 'License not found');
  });

  it('forgetting a customer erases the replaced keys of the licenses, and the records with them [7.3.10]', async () => {
    const before = await create.license({ customerEmail: 'rotated@example.com' });
    await validate(ask(before, { ip: '203.0.113.200', hwid: 'HW FORMER' }));
    await historyOf({ licenseKey: before.licenseKey }, 1);
    const after = await rotated(before);
    await validate(ask(before, { ip: '203.0.113.201' }));
    await historyOf({ licenseKey: after.licenseKey }, 2);
    expect((await call('DELETE', `${customers.path}/${before.customer?.id}`)).status).toBe(204);
    expect(await replacedKeysOf(before.id)).toBe(0);
    const tables = ['installations', 'requests', 'replaced_keys', 'idempotency_keys', 'events'];
    const selects = tables.map((table) => env.DB.prepare(`select * from ${table}`));
    const stored = JSON.stringify((await env.DB.batch(selects)).map(({ results }) => results));
    for (const text of [before.licenseKey, '203.0.113.200', '203.0.113.201', 'HW FORMER']) {
      expect(stored).not.toContain(text);
    }
    expect((await get.license(before.id)).totalRequests).toBe(1);
  });
});

describe('a new owner', () => {
  it('a transfer changes the owner, frees all slots and gives a new key, in one event [7.4.1]', async () => {
    const before = await create.license({
      customerEmail: 'seller-of-license@example.com',
      ips: ['203.0.113.1'],
      hwids: ['HW 1'],
      notes: 'Kept',
    });
    const after = licenseIn(await transfer(before.id, { customerEmail: 'Buyer@example.com' }));
    expect(after).toEqual({
      ...before,
      licenseKey: expect.stringMatching(KEY),
      ips: [],
      hwids: [],
      customer: expect.objectContaining({ email: 'Buyer@example.com' }),
      updatedDate: after.updatedDate,
    });
    expect(after.licenseKey).not.toBe(before.licenseKey);
    expect(await get.license(before.id)).toEqual(after);
    expect((await validate(ask(before))).status).toBe(400);
    expect((await validate(ask(after))).status).toBe(200);
    const [newest, ...older] = await eventsOf(before.id);
    expect(newest).toMatchObject({
      type: 'license.transferred',
      changes: {
        licenseKey: { before: before.licenseKey.slice(-4), after: after.licenseKey.slice(-4) },
        customerId: { before: before.customer?.id, after: after.customer?.id },
        ips: { before: ['203.0.113.1'], after: [] },
        hwids: { before: ['HW 1'], after: [] },
      },
    });
    expect(older.map(({ type }) => type)).toEqual(['license.created']);
  });

  it('a transfer names an existing customer by the id [7.4.1]', async () => {
    const buyer = await create.license({ customerEmail: 'known-buyer@example.com' });
    const { id } = await create.license();
    const after = licenseIn(await transfer(id, { customerId: buyer.customer?.id }));
    expect(after.customer).toEqual(buyer.customer);
  });

  it('a transfer to the present owner is carried out like any other [7.4.4]', async () => {
    const before = await create.license({
      customerEmail: 'present-owner@example.com',
      ips: ['203.0.113.1'],
    });
    const after = licenseIn(await transfer(before.id, { customerId: before.customer?.id }));
    expect(after).toMatchObject({ customer: before.customer, ips: [] });
    expect(after.licenseKey).not.toBe(before.licenseKey);
  });

  it('forgetting the previous owner leaves the history of a transferred license [7.4.5]', async () => {
    const before = await create.license({ customerEmail: 'former-owner@example.com' });
    await validate(ask(before, { ip: '203.0.113.210' }));
    await historyOf({ licenseKey: before.licenseKey }, 1);
    await transfer(before.id, { customerEmail: 'next-owner@example.com' });
    const { status } = await call('DELETE', `${customers.path}/${before.customer?.id}`);
    expect(status).toBe(204);
    const [record] = await historyOf({ licenseKey: before.licenseKey }, 1);
    expect(record?.ip).toBe('203.0.113.210');
  });

  it('the accounts of the previous owner lead no longer to a transferred license [7.4.3]', async () => {
    const before = await create.license({
      licensePlatform: 'MARKET_A',
      ownerPlatformId: 'account-before',
      ownerChatId: 'chat-before',
      ownerChatUsername: 'before',
    });
    const after = licenseIn(await transfer(before.id, { customerEmail: 'after@example.com' }));
    expect(after).toMatchObject({
      licensePlatform: 'MARKET_A',
      ownerPlatformId: '',
      ownerChatId: '',
      ownerChatUsername: '',
    });
    expect(await idsOf(`${licenses.path}/by-chat-id/chat-before`)).toEqual([]);
    expect(await idsOf(`${licenses.path}/by-platform/MARKET_A/account-before`)).toEqual([]);
    // The fields decide about the owner where they change.
    const changed = await updateLicense(before.id, { licensePlatform: 'MARKET_B' });
    expect(changed.customer?.id).not.toBe(before.customer?.id);
  });

  it.each([
    ['no field', {}, 'customerId or customerEmail is required', 'customerId'],
    [
      'both fields',
      { customerId: 1, customerEmail: 'a@example.com' },
      'customerEmail must not be sent beside customerId',
      'customerEmail',
    ],
    ['null', { customerId: null }, 'customerId must be an integer', 'customerId'],
    [
      'an unknown customer',
      { customerId: 999_999 },
      'customerId 999999 does not exist',
      'customerId',
    ],
    [
      'another field',
      { customerEmail: 'a@example.com', notes: '' },
      /^notes is not a known/,
      'notes',
    ],
  ])(
    'a transfer with %s returns 400 and names the field [7.4.1]',
    async (_, body, message, field) => {
      const before = await create.license({ ips: ['203.0.113.1'] });
      const response = await transfer(before.id, body);
      expectError(response, 400, message);
      expect(response.headers.get('Error-Field')).toBe(field);
      expect(await get.license(before.id)).toEqual(before);
    },
  );

  it('a token that may not read customers names by the id only a customer with a license [7.4.2]', async () => {
    const { token } = await create.token(['LICENSES_READ_WRITE']);
    const { id } = await create.license();
    const hidden = await call('POST', customers.path, { body: { email: 'hidden@example.com' } });
    const [, customerId] = /(\d+)$/.exec(hidden.headers.get('Location') ?? '') ?? [];
    const body = { customerId: Number(customerId) };
    expectError(await transfer(id, body, { token }), 403, /^customerId must be a customer with a/);
    expect(await replacedKeysOf(id)).toBe(0);
    const known = { customerEmail: 'hidden@example.com' };
    expect(licenseIn(await transfer(id, known, { token })).customer?.id).toBe(Number(customerId));
    expect((await transfer((await create.license()).id, body, { token })).status).toBe(200);
  });

  it('a transfer of a DELETED license returns 409 and creates no customer [7.4.1]', async () => {
    const { id } = await create.license({ licenseStatus: 'DELETED' });
    const before = await idsOf(customers.path);
    expectError(
      await transfer(id, { customerEmail: 'no@example.com' }),
      409,
      /^License is DELETED/,
    );
    expect(await idsOf(customers.path)).toEqual(before);
  });

  it('a repeated transfer with the same Idempotency-Key gets the license as it is now [7.3.12]', async () => {
    const { id } = await create.license();
    const headers = { 'Idempotency-Key': `transfer of ${id}` };
    const body = { customerEmail: 'repeated@example.com' };
    const first = await transfer(id, body, { headers });
    expect(first.status).toBe(200);
    expect((await transfer(id, body, { headers })).text).toBe(first.text);
    const later = await rotated(await get.license(id));
    expect((await transfer(id, body, { headers })).json).toEqual(later);
    const other = await transfer(id, { customerEmail: 'other@example.com' }, { headers });
    expectError(other, 422, /^Idempotency-Key was sent with another request/);
    expect(await replacedKeysOf(id)).toBe(2);
  });
});

describe('sentences in the place of a key', () => {
  const SENTENCE =
    'Unable to acquire a license key automatically, please contact the creator directly.';
  const NOT_REPLACED =
    'The market did not replace the placeholder in this file: the customer must download the file again';
  const NO_KEY = 'The market got no key for this file: the customer must download the file again';
  const OF_DOCTOR = 'npm run doctor sent this request to try the service: there is nothing to do';

  it.each([
    ['%%__LICENSE__%%', NOT_REPLACED],
    ['%%LICENSE%%', NOT_REPLACED],
    [' %%__MyProduct_License__%% ', NOT_REPLACED],
    [SENTENCE, NO_KEY],
    [`${SENTENCE.slice(0, -1)}!`, NO_KEY],
    ['LICET-DOCTOR', OF_DOCTOR],
    ['%%LICENSE', null],
    ['%%%%', null],
    ['50%%', null],
  ])(
    'the key %j is an unknown key, with the remark %j [7.5.1, 7.5.2, 7.5.4]',
    async (licenseKey, remarks) => {
      const { id: productId } = await create.product();
      const response = await validate({ licenseKey, productId });
      expect([response.status, response.json]).toEqual([
        400,
        { valid: false, message: 'License not found or invalid' },
      ]);
      expect(await historyOf({ productId: String(productId) }, 1)).toMatchObject([
        { responseType: 'LICENSE_NOT_FOUND', licenseKey: licenseKey.trim(), remarks },
      ]);
    },
  );

  it('an import of a license with a placeholder as its key is refused [7.5.3]', async () => {
    const { id: productId } = await create.product();
    for (const licenseKey of ['%%__License__%%', '"%%__License__%%"', 'licet-doctor']) {
      const item = { licenseKey, productId, licenseType: 'PERMANENT' };
      expect(await importOne('licenses', item)).toMatchObject({
        outcome: 'refused',
        reason: 'licenseKey is a text that a market or npm run doctor sends without a key',
      });
    }
  });
});

// Last, because it moves the counters of the history into the future.
it('requests under replaced keys stay counted, also after the aggregation and the retention [7.3.1]', async () => {
  const first = await create.license();
  await validate(ask(first, { productVersion: '1.0' }));
  await historyOf({ licenseKey: first.licenseKey }, 1);
  const license = await rotated(first);
  await validate(ask(license, { productVersion: '1.0' }));
  await historyOf({ licenseKey: license.licenseKey }, 2);
  const total = async () => (await get.license(license.id)).totalRequests;
  const ofProduct = `productId=${license.productId}`;
  const installations = `${licenses.path}/${license.id}/installations`;
  expect(await total()).toBe(2);
  expect((await call('GET', installations)).json).toMatchObject([{ requests: 1 }, { requests: 1 }]);
  expect(await listed(`${ofProduct}&unused=true`)).toEqual([]);
  const now = Date.now();
  onTestFinished(() => void vi.useRealTimers());
  setNow(now + 2 * DAY_MS);
  await runToTheEnd(now + 2 * DAY_MS);
  expect(await total()).toBe(2);
  expect(await listed(`${ofProduct}&dormantDays=1`)).toEqual([license.id]);
  expect(await listed(`${ofProduct}&dormantDays=4`)).toEqual([]);
  setNow(now + 100 * DAY_MS);
  await runToTheEnd(now + 100 * DAY_MS);
  expect((await call('GET', installations)).json).toEqual([]);
  expect(await total()).toBe(2);
  expect(await listed(`${ofProduct}&unused=false`)).toEqual([license.id]);
});
