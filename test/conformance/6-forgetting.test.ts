import { env } from 'cloudflare:workers';
import { event } from '@licet/contract/events';
import { beforeAll, expect, it, vi } from 'vitest';
import { newIsolate } from '../support/app.ts';
import {
  call,
  create,
  expectError,
  get,
  historyOf,
  type License,
  updateLicense,
  validate,
} from '../support/client.ts';
import { takeClock } from '../support/clock.ts';
import { captureConsole } from '../support/console.ts';
import { spyOnDatabase } from '../support/d1-spy.ts';
import { withFaults } from '../support/faults.ts';
import { customers, read } from '../support/resources.ts';

/** DELETE of a customer forgets a person (6). */

const pathOf = (id: number | undefined) => `${customers.path}/${id}`;
const forget = async (id: number | undefined) => {
  const response = await call('DELETE', pathOf(id));
  expect([response.status, response.text]).toEqual([204, '']);
};

/** All tables that describe the person, as text. */
async function readDatabase(): Promise<string> {
  const tables = ['customers', 'licenses', 'installations', 'requests', 'events'];
  const selects = tables.map((table) => env.DB.prepare(`select * from ${table}`));
  return JSON.stringify((await env.DB.batch(selects)).map(({ results }) => results));
}

const PERSON = {
  chatId: 'chat-of-ada',
  platformId: 'account-of-ada',
  ip: '203.0.113.77',
  hwid: 'HW-OF-ADA',
  macAddress: '00:00:5E:00:53:77',
};

/** Values that only events have. */
const FORMER = ['former-of-ada', '203.0.113.90'];

let license: License;
let other: License;
const ask = (fields: object = {}) => ({
  licenseKey: license.licenseKey,
  productId: license.productId,
  ip: PERSON.ip,
  hwid: PERSON.hwid,
  macAddress: PERSON.macAddress,
  productVersion: '1.2.3',
  ...fields,
});

beforeAll(async () => {
  const { id: productId } = await create.product();
  license = await create.license({
    productId,
    licensePlatform: 'OTHER',
    licensePlatformOther: 'Forum',
    ownerPlatformId: PERSON.platformId,
    ownerChatId: PERSON.chatId,
    ownerChatUsername: 'ada_chat',
    maxIPs: 2,
    maxHWIDs: 2,
  });
  const identity = { ...customers.changes(), chatId: PERSON.chatId };
  const former = { ...identity, email: 'former-of-ada@example.com', firstName: 'Former Ada' };
  for (const body of [former, identity]) {
    expect((await call('PUT', pathOf(license.customer?.id), { body })).status).toBe(200);
  }
  // Events of a license that is given to another customer, and of one that named the account of the person.
  const given = await create.license({
    productId,
    customerId: license.customer?.id,
    ips: ['203.0.113.90'],
    notes: 'Given by Ada',
  });
  await updateLicense(given.id, { customerEmail: 'heir@example.com', ips: [], notes: '' });
  const naming = await create.license({
    productId,
    customerEmail: 'heir@example.com',
    licensePlatform: 'OTHER',
    licensePlatformOther: 'Forum',
    ownerPlatformId: PERSON.platformId,
    ownerChatUsername: 'ada_elsewhere',
  });
  await updateLicense(naming.id, { ownerPlatformId: '', ownerChatUsername: '' });
  const batch = { productId, licenseType: 'PERMANENT', customerId: license.customer?.id, count: 2 };
  expect((await call('POST', '/api/v2/licenses/batch', { body: batch })).status).toBe(201);
  other = await create.license({ productId, ownerChatId: 'chat-of-eve' });
  const { licenseKey, productId: otherProductId } = other;
  await validate({ licenseKey, productId: otherProductId, ip: '203.0.113.5', hwid: 'HW-OF-EVE' });
  expect((await validate(ask())).status).toBe(200);
  expect((await validate(ask({ ip: '203.0.113.78' }))).status).toBe(200);
  await historyOf({ licenseKey: license.licenseKey }, 2);
  await historyOf({ licenseKey: other.licenseKey }, 1);
  // Asked before the license was there: a record of no license.
  await env.DB.prepare(
    `insert into requests select bucket, 0, 0, id, nonce, type, outcome,
       json_object('licenseKey', ?1, 'ip', ?2, 'hwid', ?3, 'productVersion', '0.9')
     from requests limit 1`,
  )
    .bind(license.licenseKey, PERSON.ip, PERSON.hwid)
    .run();
});

it('a forgotten customer is erased everywhere, while licenses, states, bindings and counts stay [5.18, 6.18, 6.19]', async () => {
  const id = license.customer?.id;
  const before = await get.license(license.id);
  expect(before.totalRequests).toBe(2);
  const outcomes = (await historyOf({ productId: String(license.productId) }, 3)).map((record) => [
    record.id,
    record.licenseId,
    record.responseType,
    record.productVersion,
  ]);
  await forget(id);

  const customer = await read(pathOf(id));
  const { id: _, createdAt, metadata, ...fields } = customer;
  expect(createdAt).toBe(license.customer?.createdAt);
  expect(metadata).toEqual({});
  expect(Object.values(fields).every((value) => value === null)).toBe(true);
  expect(await get.license(license.id)).toEqual({
    ...before,
    ownerPlatformId: '',
    ownerChatId: '',
    ownerChatUsername: '',
    updatedDate: expect.any(String),
    customer,
  });
  expect(before.ips).toEqual(['203.0.113.77', '203.0.113.78']);

  const records = await historyOf({ productId: String(license.productId) }, 3);
  expect(
    records.map((one) => [one.id, one.licenseId, one.responseType, one.productVersion]),
  ).toEqual(outcomes);
  const ofPerson = { licenseKey: null, ip: null, hwid: null, macAddress: null };
  for (const record of records.filter(({ licenseId }) => licenseId === license.id)) {
    expect(record).toMatchObject(ofPerson);
  }
  await historyOf({ licenseKey: license.licenseKey }, 0);
  await historyOf({ ip: PERSON.ip }, 0);
  await historyOf({ hwid: PERSON.hwid }, 0);
  await historyOf({ licenseKey: other.licenseKey }, 1);

  const stored = (await readDatabase())
    // The license itself keeps its key.
    .replaceAll(new RegExp(`"license_key(_normalized)?":"${license.licenseKey}"`, 'g'), '')
    // The name of the column has the name of the person.
    .replaceAll('"metadata":', '');
  for (const text of [...Object.values(PERSON), ...FORMER, 'ada', license.licenseKey]) {
    expect(stored.toLowerCase()).not.toContain(text.toLowerCase());
  }
  expect(stored).toContain('HW-OF-EVE');
});

it('a customer is forgotten again with 204, which changes no count [6.20]', async () => {
  const before = await get.license(license.id);
  await forget(license.customer?.id);
  await forget(license.customer?.id);
  expect(await get.license(license.id)).toEqual(before);
});

it('licenses of a forgotten customer stay valid where they were bound, and are recorded again [6.18, 6.19]', async () => {
  const before = await get.license(license.id);
  const isolate = newIsolate();
  for (let requests = 1; requests <= 2; requests++) {
    const response = await isolate.validate(ask());
    expect(response.status).toBe(200);
    await response.recorded;
  }
  expect((await get.license(license.id)).totalRequests).toBe(before.totalRequests + 2);
  await historyOf({ licenseKey: license.licenseKey }, 2);
  await forget(license.customer?.id);
  await historyOf({ licenseKey: license.licenseKey }, 0);
  // An isolate that knows the erased installation.
  const response = await isolate.validate(ask());
  await response.recorded;
  await historyOf({ licenseKey: license.licenseKey }, 1);
  expect((await get.license(license.id)).totalRequests).toBe(before.totalRequests + 3);
});

it('a forgotten customer does not come back with a PUT that read the license before [6.18]', async () => {
  const one = await create.license({ ownerChatId: 'chat-of-grace' });
  const path = `/api/v2/licenses/${one.id}`;
  const etag = (await call('GET', path)).headers.get('ETag') ?? '';
  await forget(one.customer?.id);
  const response = await call('PUT', path, { body: one, headers: { 'If-Match': etag } });
  expect(response.status).toBe(412);
});

it('a forgotten customer is also erased from a license of another customer that names the account [6.18]', async () => {
  const { id: productId } = await create.product();
  const one = await create.license({ productId, ownerChatId: 'chat-of-ida' });
  const given = await create.license({
    productId,
    ownerChatId: 'chat-of-ida',
    customerEmail: 'given@example.com',
  });
  await forget(one.customer?.id);
  expect(await get.license(given.id)).toMatchObject({
    ownerChatId: '',
    customer: { email: 'given@example.com' },
  });
});

it("events of a forgotten customer's licenses stay, without the values of the person [5.18, 5.19]", async () => {
  const one = await create.license({
    ownerChatId: 'chat-of-joan',
    ips: ['203.0.113.91'],
    maxIPs: 3,
  });
  await updateLicense(one.id, { maxIPs: 4, ownerChatUsername: 'joan' });
  const changesOf = async () => {
    const response = await call('GET', `/api/v2/events?resourceType=license&resourceId=${one.id}`);
    return event
      .array()
      .parse(response.json)
      .map(({ type, changes }) => ({ type, changes }));
  };
  const [updated, created] = await changesOf();
  expect(created?.changes).toHaveProperty('ownerChatId');
  expect(Object.keys(updated?.changes ?? {})).toEqual(['maxIPs', 'ownerChatUsername']);
  await forget(one.customer?.id);
  const [updatedAfter, createdAfter] = await changesOf();
  expect(updatedAfter).toEqual({
    type: 'license.updated',
    changes: { maxIPs: { before: 3, after: 4 } },
  });
  expect(createdAfter?.changes).not.toHaveProperty('ips');
  expect(createdAfter?.changes).not.toHaveProperty('ownerChatId');
  // The bindings of the license stay until they are freed here.
  await updateLicense(one.id, { ips: [] });
  const [freed] = await changesOf();
  expect(freed).toEqual({
    type: 'license.slots_freed',
    changes: { ips: { before: null, after: null } },
  });
});

it('the accounts and the e-mail of a forgotten customer are free for new customers', async () => {
  const { id: productId } = await create.product();
  const email = 'again@example.com';
  const one = await create.license({ productId, customerEmail: email });
  await forget(one.customer?.id);
  const next = await create.license({ productId, customerEmail: email });
  expect(next.customer?.id).toBeGreaterThan(one.customer?.id ?? 0);
  const moved = await updateLicense(one.id, { customerId: next.customer?.id });
  expect(moved.customer).toEqual(next.customer);
});

it('forgetting a customer that does not exist returns 404', async () => {
  expectError(await call('DELETE', pathOf(999_999)), 404, 'Customer not found');
});

it('a customer is forgotten while validations go on', { tags: 'long' }, async () => {
  const { customer, ...subject } = await create.license({ ownerChatId: 'busy' });
  const others = await create.license();
  const isolate = newIsolate({ VALIDATION_LIMITER: 1e9 });
  const { licenseKey, productId } = subject;
  await isolate.validate({ licenseKey, productId, hwid: 'HW-OF-BUSY' });
  let isForgotten = false;
  const forgetting = isolate.call('DELETE', pathOf(customer?.id)).then(({ status }) => {
    isForgotten = true;
    return status;
  });
  const { licenseKey: otherKey, productId: otherProduct } = others;
  for (let sent = 0; sent < 3_000 && !isForgotten; sent++) {
    await isolate.validate({ licenseKey: otherKey, productId: otherProduct });
  }
  expect(isForgotten).toBe(true);
  expect(await forgetting).toBe(204);
  expect(await readDatabase()).not.toContain('HW-OF-BUSY');
});

const erasuresOf = async (id: number | undefined): Promise<number> => {
  const { json } = await call('GET', `/api/v2/events?resourceType=customer&resourceId=${id}`);
  const types = event
    .array()
    .parse(json)
    .map(({ type }) => type);
  return types.filter((type) => type === 'customer.deleted').length;
};

it('a customer who came back and was emptied is forgotten again, with an event [6.20]', async () => {
  const { customer } = await create.license({ ownerChatId: 'emptied' });
  const id = customer?.id;
  await forget(id);
  for (const email of ['emptied@example.com', null]) {
    expect((await call('PUT', pathOf(id), { body: { email } })).status).toBe(200);
  }
  await forget(id);
  await forget(id);
  expect(await erasuresOf(id)).toBe(2);
});

it('a customer who came back by an isolate with a slow clock is forgotten again, with an event [6.20]', async () => {
  const { customer } = await create.license({ ownerChatId: 'twice' });
  const id = customer?.id;
  await forget(id);
  const clock = takeClock();
  try {
    clock.stepBack(60_000);
    const put = await call('PUT', pathOf(id), { body: { email: 'twice@example.com' } });
    expect(put.status).toBe(200);
  } finally {
    vi.unstubAllGlobals();
    vi.restoreAllMocks();
  }
  await forget(id);
  expect(await erasuresOf(id)).toBe(2);
});

it('forgetting returns 503 after five seconds without the database for records, and 204 once it is back [6.22]', async () => {
  const { customer, licenseKey, productId } = await create.license({ ownerChatId: 'outage' });
  let isDown = true;
  const DB = withFaults(env.DB, (sql) =>
    isDown && sql.includes('insert into "requests"') ? 'fails' : null,
  );
  const isolate = newIsolate({ DB });
  captureConsole();
  const clock = takeClock();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  /** Lets time pass until work is done, ten seconds at most. */
  async function resultOf<Result>(work: Promise<Result>): Promise<Result | undefined> {
    let result: Result | undefined;
    const done = work.then((value) => (result = value));
    for (let passedMs = 0; result === undefined && passedMs < 10_000; passedMs += 100) {
      clock.elapse(100);
      await vi.advanceTimersByTimeAsync(100);
      await Promise.race([done, scheduler.wait(2)]);
    }
    return result;
  }
  const forgetOnce = () => resultOf(isolate.send('DELETE', pathOf(customer?.id)));
  try {
    const body = { licenseKey, productId, hwid: 'HW-OF-OUTAGE' };
    const validated = await resultOf(isolate.validate(body));
    expect(validated?.status).toBe(200);
    const rejected = await forgetOnce();
    isDown = false;
    expectError(rejected ?? expect.fail(), 503, /^The last records could not be stored/);
    const accepted = await forgetOnce();
    expect(accepted?.status).toBe(204);
    await resultOf(Promise.all([validated?.recorded, rejected?.finished, accepted?.finished]));
  } finally {
    vi.useRealTimers();
    vi.unstubAllGlobals();
    vi.restoreAllMocks();
  }
  expect(await readDatabase()).not.toContain('HW-OF-OUTAGE');
});

it('the addresses and the values of a program that took a license over are erased [1.8.42, 5.18, 6.18]', async () => {
  const { id: productId } = await create.product({ selfResets: 1 });
  const { licenseKey, customer } = await create.license({
    ...{ productId, ownerChatId: 'chat-of-moving', maxHWIDs: 1, hwids: ['HW-LEFT-BEHIND'] },
  });
  const moved = await validate(
    { licenseKey, productId, hwid: 'HW-OF-MOVING', takeOver: true },
    { connectingAddress: '203.0.113.91' },
  );
  expect(moved.status).toBe(200);
  await historyOf({ licenseKey }, 1);
  const values = ['203.0.113.91', 'HW-LEFT-BEHIND', 'HW-OF-MOVING'];
  const before = await readDatabase();
  for (const value of values) expect(before).toContain(value);
  await forget(customer?.id);
  const after = await readDatabase();
  for (const value of values) expect(after).not.toContain(value);
});

it('a history of 5,000 installations is erased by two requests, and its count stays [6.21]', async () => {
  const { id, licenseKey, customer, productId } = await create.license({ ownerChatId: 'many' });
  await env.DB.prepare(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)
     insert into installations (license_key_normalized, fingerprint, license_id, license_key, product_id, ip,
       first_seen_at, last_seen_at, requests, aggregated_bucket)
     select ?1, 'f' || i, ?2, ?1, ?3, '198.51.100.1', 0, 0, 2, 0 from n`,
  )
    .bind(licenseKey, id, productId)
    .run();
  expect((await get.license(id)).totalRequests).toBe(10_000);
  const { spy, roundTrips } = spyOnDatabase(env.DB);
  const first = await newIsolate({ DB: spy }).call('DELETE', pathOf(customer?.id));
  // The limit of queries for a request on the Free plan.
  expect(roundTrips.flat().length).toBeLessThan(50);
  expectError(first, 409, /^The history of customer \d+ is too long for one request/);
  await forget(customer?.id);
  expect((await get.license(id)).totalRequests).toBe(10_000);
  const left = env.DB.prepare(
    'select count(*) n from installations where license_id = ? and ip is not null',
  );
  expect(await left.bind(id).first('n')).toBe(0);
});
