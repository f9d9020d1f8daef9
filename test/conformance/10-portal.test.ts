import { env } from 'cloudflare:workers';
import type { PortalMachine, ResetOutcome, RotationOutcome } from '@licet/contract/portal-page';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { newIsolate, settled } from '../support/app.ts';
import { call, create, get, type License } from '../support/client.ts';
import { spyOnDatabase } from '../support/d1-spy.ts';
import { DAY_MS, MINUTE_MS, setNow } from '../support/history.ts';
import {
  ask,
  codeFor,
  cookieIn,
  licensesOf,
  OWN_PAGE,
  redeem,
  sessionOf,
} from '../support/my-page.ts';

/** The customer's own page [decision 10]. */

const LINKS = '/api/v2/portal-links';

afterEach(settled);

interface Bought {
  license: License;
  customerId: number;
  cookie: string;
}

/** A customer with a license, some slots of it, and a session. */
async function buy(fields: object = {}, values: object = {}): Promise<Bought> {
  const { id: productId } = await create.product({ selfResets: 3, ...fields });
  const email = `${crypto.randomUUID()}@shop.example`;
  const made = await call('POST', '/api/v2/customers', { body: { email } });
  const { id: customerId }: { id: number } = Object(made.json);
  const license = await create.license({ productId, customerId, maxIPs: 60, maxHWIDs: 60 });
  const body = { ips: ['192.0.2.1', '2001:db8::1'], hwids: ['hardware-id-1'], ...values };
  expect((await call('PUT', `/api/v2/licenses/${license.id}`, { body })).status).toBe(200);
  return { license, customerId, cookie: await sessionOf(customerId) };
}

const machinesIn = async ({ license, cookie }: Bought): Promise<PortalMachine[]> => {
  const { status, json, text } = await ask('GET', `/licenses/${license.id}/machines`, { cookie });
  expect(status, text).toBe(200);
  return Array.isArray(json) ? json : [];
};

async function reset(
  { license, cookie }: Bought,
  machine: string | null = null,
  isolate?: ReturnType<typeof newIsolate>,
) {
  const path = `/licenses/${license.id}/resets`;
  const { status, json, text } = await ask('POST', path, { cookie, body: { machine } }, isolate);
  expect(status, text).toBe(200);
  const outcome: ResetOutcome = Object(json);
  return outcome;
}

let bought: Bought;
beforeEach(async () => {
  setNow(Date.now());
  bought = await buy();
});

it('a link opens the page once, by a POST of the page: a GET of it redeems nothing [10.2.1, 10.2.2]', async () => {
  const code = await codeFor({ licenseId: bought.license.id });
  for (const path of [`/my?code=${code}`, `/my/session?code=${code}`]) {
    await call('GET', path, { token: null });
  }
  const opened = await redeem(code);
  expect(opened.status).toBe(204);
  expect(opened.headers.get('Set-Cookie')).toMatch(
    /^__Host-licet-my=[\w-]{43}; Max-Age=86400; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
  );
  const again = await redeem(code);
  expect([again.status, again.json]).toEqual([403, { fault: 'used' }]);
  const parallel = await codeFor({ customerId: bought.customerId });
  const opens = await Promise.all(Array.from({ length: 20 }, () => redeem(parallel)));
  expect(opens.filter(({ status }) => status === 204)).toHaveLength(1);
});

it.each([
  [{}, 24 * 60],
  [{ validMinutes: 1 }, 1],
  [{ validMinutes: 10_080 }, 10_080],
])(
  'a link with %j works for %i minutes, and not longer [10.2.1, 10.2.2]',
  async (fields, minutes) => {
    const body = { customerId: bought.customerId, ...fields };
    const begin = Date.now();
    setNow(begin);
    const codes = [await codeFor(body), await codeFor(body)];
    const { json } = await call('POST', LINKS, { body });
    expect(json).toMatchObject({ customerId: bought.customerId });
    const { expiresAt }: { expiresAt: string } = Object(json);
    expect(Date.parse(expiresAt) - Date.now()).toBe(minutes * MINUTE_MS);
    setNow(begin + minutes * MINUTE_MS - 1);
    expect((await redeem(codes[0] ?? '')).status).toBe(204);
    setNow(begin + minutes * MINUTE_MS);
    expect((await redeem(codes[1] ?? '')).json).toEqual({ fault: 'expired' });
  },
);

it('an unknown link is named [10.2.1, 10.2.2, 10.2.7]', async () => {
  expect((await redeem('x'.repeat(43))).json).toEqual({ fault: 'unknown' });
  expect((await redeem('x'.repeat(2_000))).status).toBe(413);
});

it('only hashes of links and sessions are stored [10.2.2, 10.2.3]', async () => {
  const code = await codeFor({ customerId: bought.customerId });
  const tables = ['page_links', 'page_sessions', 'events'];
  const rows = await env.DB.batch(tables.map((name) => env.DB.prepare(`select * from ${name}`)));
  const stored = JSON.stringify(rows.map(({ results }) => results));
  expect(stored).toContain('code_hash');
  expect(stored).not.toContain(code);
  expect(stored).not.toContain(bought.cookie.split('=')[1]);
});

it('a session lasts a day, ends by hand, and ends when its customer is forgotten [10.2.3]', async () => {
  const { customerId, cookie } = bought;
  setNow(Date.now() + DAY_MS - MINUTE_MS);
  expect((await ask('GET', '/licenses', { cookie })).status).toBe(200);
  setNow(Date.now() + MINUTE_MS);
  expect((await ask('GET', '/licenses', { cookie })).status).toBe(401);
  const ended = await sessionOf(customerId);
  expect((await ask('DELETE', '/session', { cookie: ended })).status).toBe(204);
  expect((await ask('GET', '/licenses', { cookie: ended })).status).toBe(401);
  const forgotten = await sessionOf(customerId);
  await call('DELETE', `/api/v2/customers/${customerId}`);
  expect((await ask('GET', '/licenses', { cookie: forgotten })).status).toBe(401);
});

it('the scheduled handler removes old links and sessions, also those of the version before [10.2.3]', async () => {
  await env.DB.batch(
    ['portal_codes (code_hash', 'portal_sessions (session_hash'].map((columns) =>
      env.DB.prepare(`insert into ${columns}, customer_id, created_at) values ('hash', 1, ?)`).bind(
        Date.now(),
      ),
    ),
  );
  setNow(Date.now() + 9 * DAY_MS);
  await newIsolate().runScheduled();
  for (const table of ['page_links', 'page_sessions', 'portal_codes', 'portal_sessions']) {
    expect((await env.DB.prepare(`select * from ${table}`).all()).results).toEqual([]);
  }
});

it.each([
  ['a page of another site', { 'Sec-Fetch-Site': 'cross-site' }],
  ['a form', { 'Content-Type': 'text/plain' }],
])('a request of %s is rejected [10.2.3]', async (_, headers) => {
  const code = await codeFor({ customerId: bought.customerId });
  expect((await redeem(code, headers)).status).toBe(403);
  const { cookie, license } = bought;
  const path = `/licenses/${license.id}/resets`;
  const sent = await ask('POST', path, { cookie, headers, body: { machine: null } });
  expect([401, 403]).toContain(sent.status);
  expect((await get.license(license.id)).ips).toHaveLength(2);
});

it('sessions of the page and of the console do not open each other [10.2.3]', async () => {
  const { cookie } = bought;
  const secret = cookie.split('=')[1];
  const asConsole = { ...OWN_PAGE, Cookie: `__Host-licet=${secret}` };
  expect((await call('GET', '/api/v2/licenses', { token: null, headers: asConsole })).status).toBe(
    401,
  );
  expect(
    (
      await call('GET', '/api/v2/licenses', {
        token: null,
        headers: { ...OWN_PAGE, Cookie: cookie },
      })
    ).status,
  ).toBe(401);
  const opened = await call('POST', '/console/session', { headers: OWN_PAGE });
  const consoleSecret = cookieIn(opened).split('=')[1];
  expect(
    (await ask('GET', '/licenses', { cookie: `__Host-licet-my=${consoleSecret}` })).status,
  ).toBe(401);
  expect((await call('GET', '/my/licenses', { headers: OWN_PAGE })).status).toBe(401);
});

it('the page shows the own licenses with masked keys and shortened values, and never the notes of the seller [10.2.8]', async () => {
  const { license, cookie } = bought;
  await call('PUT', `/api/v2/licenses/${license.id}`, { body: { notes: 'difficult' } });
  const sent = await ask('GET', '/licenses', { cookie });
  expect(sent.headers.get('Cache-Control')).toBe('no-store');
  expect(sent.text).not.toContain(license.licenseKey);
  expect(sent.text).not.toContain('difficult');
  expect(sent.json).toMatchObject({
    isCut: false,
    licenses: [
      {
        id: license.id,
        status: 'ACTIVE',
        keyEnd: license.licenseKey.slice(-4),
        isUsed: false,
        slots: { IP: { taken: 2, limit: 60 }, HWID: { taken: 1, limit: 60 } },
        resets: { allowed: 3, left: 3, returnsAt: null },
        rotation: { isAllowed: false, returnsAt: null },
      },
    ],
  });
  expect((await machinesIn(bought)).map(({ ip, hwid }) => ip ?? hwid)).toEqual([
    '192.0.…1',
    '2001:db8:…1',
    'hardwa…1',
  ]);
  const key = await ask('POST', `/licenses/${license.id}/key`, { cookie, body: {} });
  expect(key.json).toEqual({ licenseKey: license.licenseKey });
});

it('the page shows values of one beginning apart, and no more of them than that takes', async () => {
  const { license } = bought;
  const body = {
    ips: ['203.0.113.21', '203.0.113.22', '203.0.115.22', '2001:db8:1::1', '2001:db8:2::1'],
    hwids: ['HWID-71AAAA-1111', 'HWID-71AAAA-1121', 'A', 'B'],
  };
  await call('PUT', `/api/v2/licenses/${license.id}`, { body });
  const machines = await machinesIn(bought);
  expect(machines.flatMap(({ ip }) => ip ?? [])).toEqual([
    '203.0.…21',
    '203.0.113.22',
    '203.0.115.22',
    '2001:db8:1::1',
    '2001:db8:2::1',
  ]);
  expect(machines.flatMap(({ hwid }) => hwid ?? [])).toEqual(['HWID-7…11', 'HWID-7…21', 'A', 'B']);
});

it('the slot of the address of this browser is marked, of IPv6 by its /64 [10.2.19]', async () => {
  const { license, cookie } = bought;
  await call('PUT', `/api/v2/licenses/${license.id}`, {
    body: { ips: ['2a01:5:5:5::1', '2a01:5:5:6::1', '198.51.100.20'] },
  });
  const own = async (address: string): Promise<unknown> => {
    const { json } = await ask('GET', `/licenses/${license.id}/machines`, {
      cookie,
      headers: { 'CF-Connecting-IP': address },
    });
    return Array.isArray(json) && json.filter(({ isThisBrowser }) => isThisBrowser);
  };
  expect(await own('2a01:5:5:5:a:b:c:d')).toMatchObject([{ ip: '2a01:5:5:5::1' }]);
  expect(await own('198.51.100.20')).toMatchObject([{ ip: '198.51.…20' }]);
  expect(await own('2a01:5:5:7::1')).toEqual([]);
});

it('the slots of addresses in a private network are shown as such, counted where there are no others, and freed [10.2.20]', async () => {
  const { license, cookie } = bought;
  const bind = (ip: string) =>
    env.DB.prepare(
      "insert into bindings (license_id, type, value, position, used_at) values (?, 'IP', ?, 1, 0)",
    )
      .bind(license.id, ip)
      .run();
  const taken = async () => (await licensesOf(cookie)).licenses[0]?.slots.IP.taken;
  await call('PUT', `/api/v2/licenses/${license.id}`, { body: { ips: [], hwids: [] } });
  await bind('172.18.0.5');
  await bind('fd00::7');
  expect(await taken()).toBe(2);
  const machines = await machinesIn(bought);
  expect(machines).toMatchObject([
    { ip: '172.18.…5', isPrivate: true },
    { ip: 'fd00::7', isPrivate: true },
  ]);
  const freed = await reset(bought, machines[0]?.id);
  expect(freed).toMatchObject({ outcome: 'freed', freed: 1, resets: { left: 2 } });
  expect((await get.license(license.id)).ips).toEqual(['fd00::7']);
  await bind('192.0.2.1');
  expect(await taken()).toBe(1);
  expect((await machinesIn(bought)).map(({ isPrivate }) => isPrivate).sort()).toEqual([
    false,
    true,
  ]);
  expect(await reset(bought)).toMatchObject({ outcome: 'freed', freed: 2, resets: { left: 1 } });
  expect((await get.license(license.id)).ips).toEqual([]);
});

it.each([
  ['GET', '/machines'],
  ['POST', '/key'],
  ['POST', '/resets'],
  ['POST', '/rotations'],
])('%s %s of a license of another customer, or of none, is 404 [10.2.8]', async (method, path) => {
  const { cookie } = bought;
  const other = await buy();
  await call('DELETE', `/api/v2/licenses/${bought.license.id}`);
  for (const id of [other.license.id, bought.license.id, 999_999, 'x']) {
    const body = method === 'POST' ? { machine: null } : undefined;
    const sent = await ask(method, `/licenses/${id}${path}`, { cookie, body });
    expect(sent.status).toBe(404);
    expect((await ask(method, `/licenses/${id}${path}`, { body })).status).toBe(401);
  }
  expect((await get.license(other.license.id)).ips).toHaveLength(2);
});

it('a reset frees one machine, or all, with the customer as the sender of the event [10.1.4]', async () => {
  const { license, customerId, cookie } = bought;
  const [first] = await machinesIn(bought);
  const one = await reset(bought, first?.id);
  expect(one).toMatchObject({ outcome: 'freed', freed: 1, kept: 0, resets: { left: 2 } });
  expect(await get.license(license.id)).toMatchObject({
    ips: ['2001:db8::1'],
    hwids: ['hardware-id-1'],
  });
  expect(await reset(bought)).toMatchObject({ outcome: 'freed', freed: 2, resets: { left: 1 } });
  expect(await get.license(license.id)).toMatchObject({ ips: [], hwids: [] });
  const query = `?resourceType=license&resourceId=${license.id}&actor=customer`;
  const { json } = await call('GET', `/api/v2/events${query}`);
  expect(json).toMatchObject([
    { type: 'license.slots_freed', actor: { tokenName: 'customer', tokenId: null, customerId } },
    { changes: { ips: { before: ['192.0.2.1', '2001:db8::1'], after: ['2001:db8::1'] } } },
  ]);
  expect((await licensesOf(cookie)).licenses[0]?.resets.left).toBe(1);
});

/** A license of up to three machines, which have asked one after the other. */
async function used(asked: readonly (readonly [ip: string, hwid: string])[]): Promise<Bought> {
  const one = await buy({}, { ips: [], hwids: [], maxIPs: 3, maxHWIDs: 3 });
  const { licenseKey, productId } = one.license;
  const isolate = newIsolate();
  const begin = Date.now();
  for (const [index, [ip, hwid]] of asked.entries()) {
    setNow(begin + index * MINUTE_MS);
    const { json } = await isolate.validate({ licenseKey, productId, ip, hwid });
    expect(json).toMatchObject({ valid: true });
  }
  await settled();
  return one;
}

const boundIn = async ({ license }: Bought) => {
  const { ips, hwids } = await get.license(license.id);
  return { ips, hwids };
};

it('an address and a hardware ID that came together are one machine, and free as one reset [10.1.5, 10.2.8]', async () => {
  const one = await used([
    ['203.0.113.7', 'old-server'],
    ['198.51.100.8', 'new-server'],
  ]);
  const machines = await machinesIn(one);
  expect(machines).toMatchObject([
    { ip: '198.51.…8', hwid: 'new-se…r', shared: [] },
    { ip: '203.0.…7', hwid: 'old-se…r', shared: [] },
  ]);
  expect(await reset(one, machines[1]?.id)).toMatchObject({
    outcome: 'freed',
    freed: 2,
    shared: 0,
    resets: { left: 2 },
  });
  expect(await boundIn(one)).toEqual({ ips: ['198.51.100.8'], hwids: ['new-server'] });
});

it('a value that another machine has stays while that machine does [10.1.5]', async () => {
  const home = await used([
    ['203.0.113.7', 'computer-1'],
    ['203.0.113.7', 'computer-2'],
  ]);
  const machines = await machinesIn(home);
  expect(machines).toMatchObject([
    { hwid: 'comput…2', shared: ['IP'] },
    { hwid: 'comput…1', shared: ['IP'] },
  ]);
  expect(await reset(home, machines[1]?.id)).toMatchObject({
    outcome: 'freed',
    freed: 1,
    shared: 1,
  });
  expect(await boundIn(home)).toEqual({ ips: ['203.0.113.7'], hwids: ['computer-2'] });
  expect(await reset(home, machines[1]?.id)).toMatchObject({
    outcome: 'gone',
    resets: { left: 2 },
  });
  const [last] = await machinesIn(home);
  expect(await reset(home, last?.id)).toMatchObject({ freed: 2, shared: 0, resets: { left: 1 } });
  expect(await boundIn(home)).toEqual({ ips: [], hwids: [] });
});

it.each([
  [
    'the latest count',
    [
      ['203.0.113.7', 'server-1'],
      ['203.0.113.7', 'server-2'],
      ['198.51.100.8', 'server-2'],
      ['203.0.113.7', 'server-1'],
    ],
  ],
  [
    'a pair without a value of its own is none',
    [
      ['203.0.113.7', 'server-1'],
      ['203.0.113.7', 'server-2'],
      ['198.51.100.8', 'server-2'],
    ],
  ],
] as const)(
  'each machine has a slot of its own, where values came together in several ways: %s [10.1.5]',
  async (_, asked) => {
    const moved = await used(asked);
    const machines = await machinesIn(moved);
    expect(machines.map(({ ip, hwid, shared }) => [ip, hwid, shared].join(' ')).toSorted()).toEqual(
      ['198.51.…8 server…2 ', '203.0.…7 server…1 '],
    );
    const first = machines.find(({ ip }) => ip?.startsWith('203.'));
    expect(await reset(moved, first?.id)).toMatchObject({ freed: 2 });
    expect(await boundIn(moved)).toEqual({ ips: ['198.51.100.8'], hwids: ['server-2'] });
  },
);

it('values that were not bound together, or not seen together, are machines of their own [10.1.5]', async () => {
  const one = await used([['203.0.113.7', 'server-1']]);
  const { licenseKey, productId, id } = one.license;
  setNow(Date.now() + MINUTE_MS);
  const bound = { ips: ['203.0.113.7', '198.51.100.8'], hwids: ['server-1'], maxIPs: 2 };
  await call('PUT', `/api/v2/licenses/${id}`, { body: bound });
  // Refused, so that its address is bound nowhere.
  const refused = { licenseKey, productId, ip: '192.0.2.9', hwid: 'server-1' };
  expect((await newIsolate().validate(refused)).json).toMatchObject({ valid: false });
  await settled();
  expect((await machinesIn(one)).map(({ ip, hwid }) => [ip, hwid])).toEqual([
    ['198.51.…8', null],
    ['203.0.…7', 'server…1'],
  ]);
});

it('50 resets of machines at once in four isolates each free a whole machine or nothing, within the budget [10.1.2, 10.1.5]', {
  tags: 'long',
}, async () => {
  const one = await used([
    ['203.0.113.1', 'server-1'],
    ['203.0.113.2', 'server-2'],
    ['203.0.113.3', 'server-3'],
  ]);
  await call('PUT', `/api/v2/products/${one.license.productId}`, { body: { selfResets: 2 } });
  const ids = (await machinesIn(one)).map(({ id }) => id);
  const isolates = Array.from({ length: 4 }, () => newIsolate());
  const outcomes = await Promise.all(
    Array.from({ length: 50 }, (_, index) => reset(one, ids[index % 3], isolates[index % 4])),
  );
  expect(outcomes.filter(({ outcome }) => outcome === 'freed')).toHaveLength(2);
  const { ips, hwids } = await boundIn(one);
  expect([ips.length, hwids.length]).toEqual([1, 1]);
  expect(ips[0]?.at(-1)).toBe(hwids[0]?.at(-1));
});

const rotate = async ({ license, cookie }: Bought, isolate?: ReturnType<typeof newIsolate>) => {
  const path = `/licenses/${license.id}/rotations`;
  const { status, json, text } = await ask('POST', path, { cookie, body: {} }, isolate);
  expect(status, text).toBe(200);
  const outcome: RotationOutcome = Object(json);
  return outcome;
};

it('a customer replaces a leaked key where the product allows it, once a day, as an event [10.1.6]', async () => {
  const one = await buy({ selfRotate: true });
  const { id, licenseKey, productId } = one.license;
  const rotation = async () => (await licensesOf(one.cookie)).licenses[0]?.rotation;
  expect(await rotation()).toEqual({ isAllowed: true, returnsAt: null });
  const isolates = Array.from({ length: 4 }, () => newIsolate());
  const begin = Date.now();
  const outcomes = await Promise.all(isolates.map((isolate) => rotate(one, isolate)));
  const [replaced, ...more] = outcomes.filter(({ outcome }) => outcome === 'replaced');
  expect(more).toEqual([]);
  const current = (await get.license(id)).licenseKey;
  expect(replaced).toEqual({ outcome: 'replaced', licenseKey: current });
  expect(current).not.toBe(licenseKey);
  const validated = (key: string) => newIsolate().validate({ licenseKey: key, productId });
  expect((await validated(licenseKey)).json).toMatchObject({ valid: false });
  expect((await validated(current)).json).toMatchObject({ valid: true });
  const { json } = await call('GET', `/api/v2/events?type=license.rotated&resourceId=${id}`);
  expect(json).toMatchObject([
    { actor: { tokenName: 'customer', tokenId: null, customerId: one.customerId } },
  ]);
  const again = await rotate(one);
  expect(again).toMatchObject({ outcome: 'too soon' });
  const { returnsAt } = (await rotation()) ?? {};
  expect(again).toMatchObject({ returnsAt });
  expect(Date.parse(returnsAt ?? '')).toBeGreaterThanOrEqual(begin + DAY_MS);
  setNow(Date.parse(returnsAt ?? ''));
  const cookie = await sessionOf(one.customerId);
  expect(await rotate({ ...one, cookie })).toMatchObject({ outcome: 'replaced' });
});

it.each([
  ['not allowed', {}, {}],
  ['deactivated', { selfRotate: true }, { licenseStatus: 'DEACTIVATED' }],
])('a key whose replacement is %s stays [10.1.6]', async (outcome, fields, values) => {
  const one = await buy(fields, values);
  expect(await rotate(one)).toEqual({ outcome });
  expect((await get.license(one.license.id)).licenseKey).toBe(one.license.licenseKey);
});

it('active licenses come first, then those before their first use, expired and deactivated ones [10.2.21]', async () => {
  const { license, customerId, cookie } = bought;
  const { productId } = license;
  const sell = (values: object) => create.license({ productId, customerId, ...values });
  const temporary = { licenseType: 'TEMPORARY' };
  const past = await sell({ ...temporary, expiryDate: '2020-01-01T00:00:00.000Z' });
  const stopped = await sell({ licenseStatus: 'DEACTIVATED' });
  const waiting = await sell({ ...temporary, expiresAfterDays: 30 });
  const newest = await sell({});
  const { licenses } = await licensesOf(cookie);
  expect(licenses.map(({ id }) => id)).toEqual(
    [newest, license, waiting, past, stopped].map(({ id }) => id),
  );
});

it('a freed slot takes another address at once [10.2.8]', async () => {
  const full = await buy({ selfResets: 1 }, { maxIPs: 2 });
  const { productId, licenseKey } = full.license;
  const ask = () => newIsolate().validate({ licenseKey, productId, ip: '203.0.113.9' });
  expect((await ask()).json).toMatchObject({ message: 'Max IPs reached' });
  await reset(full);
  expect((await ask()).json).toMatchObject({ valid: true });
});

it('a license with nothing bound is freed without using up a reset [10.1.2]', async () => {
  const empty = await buy({ selfResets: 1 }, { ips: [], hwids: [] });
  for (let times = 0; times < 3; times++) expect((await reset(empty)).outcome).toBe('empty');
  expect((await licensesOf(empty.cookie)).licenses[0]?.resets.left).toBe(1);
});

it('a reset returns 30 days after it was used [10.1.2]', async () => {
  const one = await buy({ selfResets: 1 });
  const [machine, other] = await machinesIn(one);
  await reset(one, machine?.id);
  const usedUp = await reset(one, other?.id);
  expect(usedUp).toMatchObject({ outcome: 'used up', resets: { left: 0 } });
  const returnsAt = Date.parse(usedUp.resets.returnsAt ?? '');
  expect(Math.abs(returnsAt - Date.now() - 30 * DAY_MS)).toBeLessThan(1_000);
  setNow(returnsAt);
  const cookie = await sessionOf(one.customerId);
  expect(await reset({ ...one, cookie }, other?.id)).toMatchObject({ outcome: 'freed' });
});

it.each([
  ['not allowed', { selfResets: 0 }, {}],
  ['deactivated', {}, { licenseStatus: 'DEACTIVATED' }],
])('a reset that is %s frees nothing [10.1.3]', async (outcome, fields, values) => {
  const one = await buy(fields, values);
  expect((await reset(one)).outcome).toBe(outcome);
  expect((await get.license(one.license.id)).ips).toHaveLength(2);
});

it('a value on the blacklist is never freed, also by its range [10.1.3]', async () => {
  const one = await buy({}, { ips: ['192.0.2.1', '198.51.100.7', '203.0.113.1'] });
  const { productId } = one.license;
  const entry = { isForAllProducts: false, productId, reason: '' };
  await create.blacklist({ ...entry, licenseDataType: 'IP', data: '198.51.100.0/24' });
  await create.blacklist({ ...entry, licenseDataType: 'IP', data: '203.0.113.1' });
  await create.blacklist({ ...entry, licenseDataType: 'HWID', data: 'hardware-id-1' });
  const blocked = (await machinesIn(one)).find(({ ip }) => ip?.startsWith('198.51.'));
  expect((await reset(one, blocked?.id)).outcome).toBe('blocked');
  expect(await reset(one)).toMatchObject({ outcome: 'freed', freed: 1, kept: 3 });
  expect(await get.license(one.license.id)).toMatchObject({
    ips: ['198.51.100.7', '203.0.113.1'],
    hwids: ['hardware-id-1'],
  });
});

it('50 resets at once in four isolates free exactly as many slots as the product allows [10.1.2]', async () => {
  const ips = Array.from({ length: 50 }, (_, index) => `192.0.2.${index + 1}`);
  const full = await buy({ selfResets: 20 }, { ips, hwids: [] });
  const machines = await machinesIn(full);
  const isolates = Array.from({ length: 4 }, () => newIsolate());
  const outcomes = await Promise.all(
    machines.map(({ id }, index) => reset(full, id, isolates[index % 4])),
  );
  expect(outcomes.filter(({ outcome }) => outcome === 'freed')).toHaveLength(20);
  expect(outcomes.filter(({ outcome }) => outcome === 'used up')).toHaveLength(30);
  expect((await get.license(full.license.id)).ips).toHaveLength(30);
});

it('a flood of wrong sessions costs no query beyond the limit of failed tokens [10.2.7]', {
  tags: 'long',
}, async () => {
  const { spy: DB, roundTrips } = spyOnDatabase(env.DB);
  const isolate = newIsolate({ DB, FAILED_TOKEN_LIMITER: 60 });
  const headers = { 'CF-Connecting-IP': '192.0.2.200' };
  const statuses: number[] = [];
  for (let index = 0; index < 200; index++) {
    const cookie = `__Host-licet-my=${'x'.repeat(40)}${index}`;
    statuses.push((await ask('GET', '/licenses', { cookie, headers }, isolate)).status);
  }
  expect(new Set(statuses)).toEqual(new Set([401, 429]));
  expect(roundTrips.length).toBeLessThanOrEqual(62);
});

const TOO_LARGE = `data:image/png;base64,${'x'.repeat(50_000)}`;

it('the settings of the page are shown to everybody who opens it [10.2.10]', async () => {
  const logo = `data:image/png;base64,${btoa('not really a picture')}`;
  const body = { name: 'Ada Games', colour: '#AA3300', contact: 'mailto:help@shop.example', logo };
  expect((await call('PUT', '/api/v2/settings/portal', { body })).status).toBe(200);
  expect((await ask('GET', '/seller', {}, newIsolate())).json).toEqual({
    ...body,
    hasDiscord: false,
    hasMail: false,
  });
  const events = await call('GET', '/api/v2/events?resourceType=settings');
  expect(events.text).not.toContain('base64');
  const { json } = await call('PUT', '/api/v2/settings/portal', { body: { contact: null } });
  expect(json).toEqual({ ...body, contact: null });
});

it('the settings of the page are held by a browser for half a minute, and not sent again unchanged [10.2.10]', async () => {
  const isolate = newIsolate();
  const first = await ask('GET', '/seller', {}, isolate);
  const tag = first.headers.get('ETag') ?? expect.fail('There is no ETag');
  expect(first.headers.get('Cache-Control')).toBe('public, max-age=30');
  const again = await ask('GET', '/seller', { headers: { 'If-None-Match': tag } }, isolate);
  expect([again.status, again.text]).toEqual([304, '']);
  const body = { name: `Shop ${crypto.randomUUID()}` };
  expect((await call('PUT', '/api/v2/settings/portal', { body })).status).toBe(200);
  setNow(Date.now() + MINUTE_MS);
  const changed = await ask('GET', '/seller', { headers: { 'If-None-Match': tag } }, newIsolate());
  expect([changed.status, changed.json]).toEqual([200, expect.objectContaining(body)]);
  const { headers } = await ask('GET', '/licenses', { cookie: bought.cookie });
  expect(headers.get('Cache-Control')).toBe('no-store');
});

it.each([
  [{ colour: 'red' }, 'colour must be a colour such as #2f4fbf'],
  [{ contact: 'javascript:alert(1)' }, 'contact must begin with https:// or mailto:'],
  [{ logo: 'https://shop.example/logo.png' }, 'logo must be a PNG, JPEG or WebP as a data: URL'],
  [{ logo: TOO_LARGE }, 'logo must be a picture of at most 32 KB'],
  [{ title: 'x' }, /title/],
])('settings with a wrong field are rejected: %# [10.2.10]', async (body, message) => {
  const { status, json } = await call('PUT', '/api/v2/settings/portal', { body });
  expect(status).toBe(400);
  expect(json).toMatchObject({ message: expect.stringMatching(message) });
});

it.each([
  [{}, /customerId is required, or licenseId/],
  [{ customerId: 1, licenseId: 1 }, /customerId is required, or licenseId/],
  [{ customerId: 1, validMinutes: 0 }, /^validMinutes must be at least 1/],
  [{ customerId: 1, validMinutes: 10_081 }, /^validMinutes must be at most 10080/],
  [{ customerId: 1, validMinutes: 1.5 }, /^validMinutes must be an integer/],
  [{ customerId: 999_999 }, /customerId 999999 does not exist/],
  [{ licenseId: 999_999 }, /licenseId 999999 does not exist/],
])('a link for %j is rejected [10.2.1]', async (body, message) => {
  const { status, json } = await call('POST', LINKS, { body });
  expect(status).toBe(400);
  expect(json).toMatchObject({ message: expect.stringMatching(message) });
});

it('a link for a license without a customer says what to do [10.2.1]', async () => {
  const { id } = await create.license({ productId: bought.license.productId });
  const { status, json } = await call('POST', LINKS, { body: { licenseId: id } });
  expect(status).toBe(400);
  expect(json).toMatchObject({
    message: `licenseId ${id} has no customer: give it one by customerEmail or customerId`,
  });
});
