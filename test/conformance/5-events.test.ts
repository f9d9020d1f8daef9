import { env } from 'cloudflare:workers';
import { event } from '@licet/contract/events';
import { newLoginCode } from '@licet/contract/login-code';
import { afterEach, expect, it, vi } from 'vitest';
import type * as z from 'zod';
import { newIsolate, settled } from '../support/app.ts';
import {
  type CallOptions,
  call,
  create,
  expectError,
  get,
  readPagesFrom,
  updateLicense,
  validate,
} from '../support/client.ts';
import { interceptDatabase } from '../support/d1-intercept.ts';
import { spyOnDatabase } from '../support/d1-spy.ts';
import { withoutTable } from '../support/faults.ts';
import { DAY_MS, runScheduled, setNow } from '../support/history.ts';
import { customers, licenses, products, read, tokens } from '../support/resources.ts';
import { ROOT_TOKEN } from '../support/root-token.ts';
import { expectEveryWritingRoute, WRITES } from '../support/writes.ts';

/** Each change leaves one event, in the transaction of the change (5). */

type Event = z.infer<typeof event>;
type Filter = Record<string, string | number>;

afterEach(settled);

const pathOf = (filter: Filter): string =>
  `/api/v2/events?${new URLSearchParams(Object.entries(filter).map(([name, value]) => [name, String(value)]))}`;

async function eventsOf(filter: Filter = {}): Promise<Event[]> {
  const response = await call('GET', pathOf(filter));
  expect(response.status, response.text).toBe(200);
  return event.array().parse(response.json);
}

/** The events that a request leaves, at most twenty. */
async function left(request: () => Promise<unknown>): Promise<Event[]> {
  const before = new Set((await eventsOf({ limit: 20 })).map(({ id }) => id));
  await request();
  return (await eventsOf({ limit: 20 })).filter(({ id }) => !before.has(id));
}

const onlyOne = (events: readonly Event[]): Event => {
  expect(events).toHaveLength(1);
  return event.parse(events[0]);
};

const TYPES: Readonly<Record<string, string>> = {
  'POST /api/v2/products': 'product.created',
  'PUT /api/v2/products/:id': 'product.updated',
  'DELETE /api/v2/products/:id': 'product.deleted',
  'POST /api/v2/licenses': 'license.created',
  'POST /api/v2/licenses/batch': 'license.created',
  // One address takes the place of two.
  'PUT /api/v2/licenses/:id': 'license.slots_freed',
  'DELETE /api/v2/licenses/:id': 'license.deleted',
  'POST /api/v2/licenses/:id/rotate': 'license.rotated',
  'POST /api/v2/licenses/:id/transfer': 'license.transferred',
  'POST /api/v2/blacklists': 'blacklist.created',
  'PUT /api/v2/blacklists/:id': 'blacklist.updated',
  'DELETE /api/v2/blacklists/:id': 'blacklist.deleted',
  'POST /api/v2/customers': 'customer.created',
  'PUT /api/v2/customers/:id': 'customer.updated',
  'DELETE /api/v2/customers/:id': 'customer.deleted',
  'POST /api/v2/tokens': 'token.created',
  'PUT /api/v2/tokens/:id': 'token.updated',
  'DELETE /api/v2/tokens/:id': 'token.deleted',
  'POST /api/v2/webhooks': 'webhook.created',
  'PUT /api/v2/webhooks/:id': 'webhook.updated',
  'DELETE /api/v2/webhooks/:id': 'webhook.deleted',
  'POST /api/v2/webhooks/:id/rotate-secret': 'webhook.updated',
  'POST /api/v2/markets': 'market.created',
  'PUT /api/v2/markets/:id': 'market.updated',
  'DELETE /api/v2/markets/:id': 'market.deleted',
  'POST /api/v2/portal-links': 'customer.link_created',
  'PUT /api/v2/settings/mail': 'settings.updated',
  'PUT /api/v2/settings/portal': 'settings.updated',
  'PUT /api/v2/settings/discord': 'settings.updated',
  'POST /api/v2/purchases': 'purchase.granted',
  'POST /api/v2/purchases/:id/grant': 'purchase.granted',
  'POST /api/v2/purchases/:id/ignore': 'purchase.updated',
  'POST /api/v2/import': 'product.created',
};

it('every route of management that writes is in the table of events [5.1, 5.4, 5.9]', () => {
  expectEveryWritingRoute(Object.keys(TYPES));
});

const ROUTES = Object.entries(WRITES).map(([route, prepare]) => ({ route, prepare }));

it.each(ROUTES)(
  '$route leaves one event of two written rows [5.1, 5.3, 5.5, 5.6, 5.7, 5.9, 5.15]',
  async ({ route, prepare }) => {
    const { path, body } = await prepare();
    const method = route.split(' ', 1).join();
    const { id: tokenId, name, token } = await create.token(['ALL_READ_WRITE']);
    const { spy: DB, roundTrips } = spyOnDatabase(env.DB);
    const isolate = newIsolate({ DB });
    const startedAt = Date.now();
    const headers = { 'CF-Connecting-IP': '203.0.113.44' };
    const events = await left(async () => {
      const response = await isolate.call(method, path, { body, token, headers });
      expect(response.status, response.text).toBeLessThan(300);
    });

    const [, pathId] = /\/(\d+)(?:\/[\w-]+)?$/.exec(path) ?? [];
    const created = onlyOne(events);
    expect(created).toMatchObject({
      type: TYPES[route],
      resourceType: TYPES[route]?.split('.')[0],
      actor: { tokenId, tokenName: name, isConsole: false },
      ip: '203.0.113.44',
    });
    if (pathId !== undefined) expect(created.resourceId).toBe(Number(pathId));
    expect(Date.parse(created.time)).toBeGreaterThanOrEqual(startedAt);
    expect(Date.parse(created.time)).toBeLessThanOrEqual(Date.now());

    const inserts = roundTrips.flat().filter(({ sql }) => sql.startsWith('insert into "events"'));
    expect(inserts.map(({ meta }) => meta?.rows_written)).toEqual([2]);
    // The conditions of the change write nothing.
    const checks = roundTrips
      .flat()
      .filter(({ sql }) => sql.startsWith('insert into "violations"'));
    expect(checks.map(({ meta }) => meta?.rows_written)).toEqual([0]);
  },
);

it('an event has the value before and after of each changed field, and no other [5.2, 5.8, 5.10]', async () => {
  const { id, productId } = await create.license({ notes: 'Old', maxIPs: 2 });
  const created = onlyOne(await eventsOf({ resourceType: 'license', resourceId: id }));
  expect(created).toMatchObject({
    type: 'license.created',
    actor: { tokenId: null, tokenName: 'root', isConsole: false },
    ip: null,
  });
  const { licenseKey } = await get.license(id);
  expect(created.changes).toEqual({
    licenseKey: { before: null, after: licenseKey.slice(-4) },
    productId: { before: null, after: productId },
    licenseType: { before: null, after: 'PERMANENT' },
    licenseStatus: { before: null, after: 'ACTIVE' },
    maxIPs: { before: null, after: 2 },
    maxHWIDs: { before: null, after: 5 },
    notes: { before: null, after: 'Old' },
  });
  const expiryDate = '2035-01-01T00:00:00.000+00:00';
  const events = await left(() =>
    updateLicense(id, { notes: 'New', licenseType: 'TEMPORARY', expiryDate, maxIPs: 2 }),
  );
  expect(onlyOne(events)).toMatchObject({ type: 'license.updated', resourceId: id });
  expect(onlyOne(events).changes).toEqual({
    licenseType: { before: 'PERMANENT', after: 'TEMPORARY' },
    expiryDate: { before: null, after: expiryDate },
    notes: { before: 'Old', after: 'New' },
  });
  const deleted = onlyOne(await left(() => call('DELETE', `${licenses.path}/${id}`)));
  expect(deleted.type).toBe('license.deleted');
  expect(deleted.changes).toEqual({ licenseStatus: { before: 'ACTIVE', after: 'DELETED' } });
});

it('an event has the customer of a license, also one that the license creates [5.8, 5.14]', async () => {
  const { id } = await create.license();
  const given = onlyOne(
    await left(() => updateLicense(id, { customerEmail: 'owner-of-events@example.com' })),
  );
  const customerId = (await get.license(id)).customer?.id;
  expect(given.changes).toEqual({ customerId: { before: null, after: customerId } });
  const taken = onlyOne(await left(() => updateLicense(id, { customerId: null })));
  expect(taken.changes).toEqual({ customerId: { before: customerId, after: null } });
});

it('a PUT that leaves fewer addresses or hardware IDs is the event license.slots_freed [5.12]', async () => {
  const { id: productId } = await create.product();
  const bound = { ips: ['192.0.2.1', '192.0.2.2'], hwids: ['HW-1'] };
  const { id } = await create.license({ productId, ...bound });
  const freed = onlyOne(await left(() => updateLicense(id, { ips: ['192.0.2.2'] })));
  expect(freed).toMatchObject({
    type: 'license.slots_freed',
    changes: { ips: { before: bound.ips, after: ['192.0.2.2'] } },
  });
  const added = onlyOne(await left(() => updateLicense(id, { hwids: ['HW-1', 'HW-2'] })));
  expect(added.type).toBe('license.updated');
  const both = onlyOne(await left(() => updateLicense(id, { ips: [], hwids: [] })));
  expect(both).toMatchObject({
    type: 'license.slots_freed',
    changes: {
      ips: { before: ['192.0.2.2'], after: [] },
      hwids: { before: ['HW-1', 'HW-2'], after: [] },
    },
  });
});

it('a batch is one event with the number of licenses, and nothing of a person [5.13]', async () => {
  const body = { ...(await licenses.fullBody()), ips: [], hwids: [], count: 3 };
  const events = await left(() => call('POST', `${licenses.path}/batch`, { body }));
  expect(onlyOne(events)).toMatchObject({
    type: 'license.created',
    resourceId: null,
    changes: {
      count: { before: 0, after: 3 },
      productId: { before: null },
      customerId: { before: null, after: expect.any(Number) },
    },
  });
  expect(JSON.stringify(events)).not.toContain('steve');
  expect(JSON.stringify(events)).not.toContain('Bought in the sale');
});

it('a request of an import is one event with the number of new objects [5.13]', async () => {
  const { id, createdDate, ...product } = await products.create();
  const items = [1, 2].map((step) => ({ ...product, id: id + 500_000 + step }));
  const body = { kind: 'products', items: [...items, { id, createdDate, ...product }] };
  const send = (more: object = {}) =>
    call('POST', '/api/v2/import', { body: { ...body, ...more } });
  expect(await left(() => send({ dryRun: true }))).toEqual([]);
  expect(onlyOne(await left(() => send()))).toMatchObject({
    type: 'product.created',
    resourceId: null,
    changes: { count: { before: 0, after: 2 } },
  });
  expect(await left(() => send())).toEqual([]);
});

it('no event has a secret or a whole license key [5.8]', async () => {
  const { token } = await create.token(['ALL_READ']);
  const { licenseKey } = await create.license();
  const stored = JSON.stringify((await env.DB.prepare('select * from events').all()).results);
  expect(stored).not.toContain(token);
  expect(stored).not.toContain(licenseKey);
  expect(stored).toContain(licenseKey.slice(-4));
});

it('an event shortens long values, and shows the one slot of a thousand that was freed [5.11]', async () => {
  const { id: productId } = await create.product();
  const hwids = Array.from({ length: 1_000 }, (_, index) => `${index} ${'"'.repeat(240)}`);
  const { id } = await create.license({
    productId,
    maxHWIDs: -1,
    hwids,
    notes: 'n'.repeat(9_999),
  });
  const created = onlyOne(await eventsOf({ resourceType: 'license', resourceId: id }));
  expect(created.changes?.notes?.after).toBe(`${'n'.repeat(500)}…`);
  expect(created.changes?.hwids?.after).toEqual([...hwids.slice(0, 100), '… and 900 more']);
  const freed = onlyOne(await left(() => updateLicense(id, { hwids: hwids.slice(0, -1) })));
  expect(freed.changes?.hwids).toEqual({ before: hwids.slice(-1), after: [] });
});

it('a log-in to the console and a change there leave events that say so [5.5]', async () => {
  const { id: tokenId, name, token } = await create.token(['ALL_READ_WRITE']);
  const { id } = await create.product();
  const logIn = (options: CallOptions) => call('POST', '/console/session', options);
  const code = await newLoginCode(ROOT_TOKEN, Date.now());
  const events = await left(async () => {
    for (const status of [204, 401]) {
      expect((await logIn({ token: null, body: { code } })).status).toBe(status);
    }
    expect((await logIn({ token: 'licet_nobody' })).status).toBe(401);
    const response = await logIn({ token });
    expect(response.status, response.text).toBe(204);
    const Cookie = response.headers.get('Set-Cookie')?.split(';')[0] ?? '';
    const headers = { Cookie, 'Sec-Fetch-Site': 'same-origin', 'Content-Type': 'application/json' };
    const body = { name: 'By console' };
    const path = `${products.path}/${id}`;
    expect((await call('PUT', path, { body, headers, token: null })).status).toBe(200);
  });
  const actor = { tokenId, tokenName: name, isConsole: true };
  expect(events).toMatchObject([
    { type: 'product.updated', actor },
    {
      type: 'session.created',
      actor: { tokenId, tokenName: name },
      resourceId: null,
      changes: null,
    },
    { type: 'session.created', actor: { tokenId: null, tokenName: 'root', isConsole: true } },
  ]);
});

it('a PUT that changes no field leaves no event [5.16, 5.17]', async () => {
  for (const { path, create } of [products, licenses, customers, tokens]) {
    const { id } = await create();
    const body = await read(`${path}/${id}`);
    const events = await left(() => call('PUT', `${path}/${id}`, { body }));
    expect(events, path).toEqual([]);
  }
});

it('a repetition with the same Idempotency-Key leaves no event [5.17]', async () => {
  const body = await licenses.fullBody();
  const send = () =>
    call('POST', licenses.path, { body, headers: { 'Idempotency-Key': crypto.randomUUID() } });
  const headers = { 'Idempotency-Key': 'one-event' };
  const repeated = () => call('POST', licenses.path, { body, headers });
  onlyOne(await left(repeated));
  expect(await left(repeated)).toEqual([]);
  onlyOne(await left(send));
  expect(await left(() => Promise.all([1, 2, 3].map(repeated)))).toEqual([]);
});

it.each([licenses, customers])(
  'another DELETE of the same $name leaves no event [5.17]',
  async ({ path, create }) => {
    const { id } = await create();
    onlyOne(await left(() => call('DELETE', `${path}/${id}`)));
    expect(await left(() => call('DELETE', `${path}/${id}`))).toEqual([]);
  },
);

it('an update that another one overtakes leaves one event [5.17]', async () => {
  const { id } = await create.license({ notes: 'first' });
  const path = `${licenses.path}/${id}`;
  let attempts = 0;
  const DB = interceptDatabase(env.DB, async (statements, send) => {
    if (statements.some(({ sql }) => sql.startsWith('insert into "events"')) && attempts++ === 0) {
      await updateLicense(id, { notes: 'second' });
    }
    return send();
  });
  const events = await left(async () => {
    const response = await newIsolate({ DB }).call('PUT', path, { body: { notes: 'third' } });
    expect(response.status).toBe(200);
  });
  expect(attempts).toBe(2);
  expect(events.map(({ changes }) => changes?.notes)).toEqual([
    { before: 'second', after: 'third' },
    { before: 'first', after: 'second' },
  ]);
});

it('a validation leaves no event [5.17, 8.5.1]', async () => {
  const { licenseKey, productId } = await create.license();
  const events = await left(async () => {
    expect((await validate({ licenseKey, productId, ip: '192.0.2.9' })).status).toBe(200);
    await settled();
  });
  expect(events).toEqual([]);
});

it('a change that a constraint refuses leaves no event [5.1]', async () => {
  const [one, other] = [await customers.create(), await customers.create()];
  await call('PUT', `${customers.path}/${one.id}`, { body: { email: 'taken@example.com' } });
  await create.blacklist({ data: '198.51.100.77' });
  const events = await left(async () => {
    const taken = { body: { email: 'taken@example.com' } };
    const entry = { licenseDataType: 'IP', isForAllProducts: true, data: '198.51.100.77' };
    expect((await call('PUT', `${customers.path}/${other.id}`, taken)).status).toBe(409);
    expect((await call('POST', customers.path, taken)).status).toBe(409);
    expect((await call('POST', '/api/v2/blacklists', { body: entry })).status).toBe(409);
  });
  expect(events).toEqual([]);
});

it('DELETE of a product with licenses leaves no event [5.1]', async () => {
  const { id } = await create.product();
  await create.license({ productId: id });
  const events = await left(async () => {
    expect((await call('DELETE', `${products.path}/${id}`)).status).toBe(409);
  });
  expect(events).toEqual([]);
});

it('a change whose event cannot be stored is not made [5.1]', async () => {
  const { id, name } = await create.product();
  await withoutTable('events', async () => {
    const response = await call('PUT', `${products.path}/${id}`, { body: { name: 'Renamed' } });
    expect(response.status).toBe(500);
  });
  expect(await read(`${products.path}/${id}`)).toMatchObject({ name });
});

it('GET events shows the newest first, and pages have each event once [5.20]', async () => {
  const { id } = await create.product();
  const filter = { resourceType: 'product', resourceId: id };
  for (const name of ['A', 'B', 'C', 'D']) {
    await call('PUT', `${products.path}/${id}`, { body: { name } });
  }
  const all = await eventsOf(filter);
  expect(all.map(({ changes }) => changes?.name?.after)).toEqual(['D', 'C', 'B', 'A', 'Plugin']);
  const pages = await readPagesFrom(pathOf({ ...filter, limit: 2 }));
  for (const { headers } of pages) expect(headers.has('X-Total-Count')).toBe(false);
  expect(pages).toHaveLength(3);
  expect(pages.flatMap(({ json }) => event.array().parse(json))).toEqual(all);
});

it('GET events filters by type, resource, token and time [5.20]', async () => {
  const { id: tokenId, token } = await create.token(['ALL_READ_WRITE']);
  const start = Date.now() + DAY_MS;
  setNow(start);
  const product = await create.product();
  const rename = (name: string) =>
    call('PUT', `${products.path}/${product.id}`, { body: { name }, token });
  setNow(start + 1_000);
  await rename('One');
  setNow(start + 2_000);
  await rename('Two');
  const namesOf = async (filter: Filter) =>
    (await eventsOf({ from: new Date(start).toISOString(), ...filter })).map(
      ({ changes }) => changes?.name?.after,
    );
  expect(await namesOf({})).toEqual(['Two', 'One', 'Plugin']);
  expect(await namesOf({ type: 'product.created' })).toEqual(['Plugin']);
  expect(await namesOf({ resourceType: 'product' })).toEqual(['Two', 'One', 'Plugin']);
  expect(await namesOf({ resourceType: 'license' })).toEqual([]);
  expect(await namesOf({ resourceId: product.id })).toEqual(['Two', 'One', 'Plugin']);
  expect(await namesOf({ tokenId })).toEqual(['Two', 'One']);
  const second = new Date(start + 1_000).toISOString();
  expect(await namesOf({ from: second })).toEqual(['Two', 'One']);
  expect(await namesOf({ to: second })).toEqual(['One', 'Plugin']);
  expect(await namesOf({ from: second, to: second, tokenId })).toEqual(['One']);
});

it('a token without an intent for events reads its own of the last 24 hours, and no others [5.22]', async () => {
  const { id, token } = await create.token(['PRODUCTS_READ_WRITE']);
  const product = await create.product();
  const rename = (name: string, sender = token) =>
    call('PUT', `${products.path}/${product.id}`, { body: { name }, token: sender });
  const start = Date.now() + 2 * DAY_MS;
  setNow(start);
  await rename('Earlier');
  setNow(start + 1_000);
  await rename('Own');
  await rename('Of another', ROOT_TOKEN);
  const filter = { tokenId: id, from: new Date(start - DAY_MS).toISOString() };
  const ownOf = async (others: Filter = {}) => {
    const response = await call('GET', pathOf({ ...filter, ...others }), { token });
    expect(response.status, response.text).toBe(200);
    return event
      .array()
      .parse(response.json)
      .map(({ changes }) => changes?.name);
  };
  const own = { before: 'Earlier', after: 'Own' };
  const earlier = { before: 'Plugin', after: 'Earlier' };
  expect(await ownOf()).toEqual([own, earlier]);
  expect(await ownOf({ limit: 1 })).toEqual([own]);
  setNow(start + DAY_MS + 1);
  expect(await ownOf()).toEqual([own]);
  const path = `/api/v2/events?tokenId=${id}`;
  expect((await call('GET', path, { token })).json).toHaveLength(1);
  expect((await call('GET', path)).json).toHaveLength(2);
  const accepted = ['ALL_READ', 'ALL_READ_WRITE'] as const;
  for (const query of ['', `?tokenId=${id - 1}`, `?tokenId=${id - 1}&tokenId=${id}`]) {
    const response = await call('GET', `/api/v2/events${query}`, { token });
    expectError(response, 403, 'Token lacks a required intent', accepted);
  }
  expectError(await call('GET', `${path}&tokenId=${id - 1}`, { token }), 400, /^tokenId must be /);
});

it.each([
  ['type', 'license.burnt', /^type must be one of product\.created, /],
  ['resourceType', 'licence', /^resourceType must be one of product, license, /],
  ['resourceId', '0', 'resourceId must be a positive integer'],
  ['tokenId', 'root', 'tokenId must be a positive integer'],
  ['from', 'yesterday', /^from must be an ISO 8601 timestamp/],
  ['actor', 'root', 'actor must be one of service, customer, program'],
  ['sender', '1', 'sender is not a known query parameter'],
])('GET events with a %s of %s returns 400 [5.20]', async (name, value, message) => {
  expectError(await call('GET', pathOf({ [name]: value })), 400, message);
});

it('a page of a filter without an index has all events that match, however many do not [5.20]', async () => {
  await env.DB.prepare(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)
     insert into events select i, 'token.updated', null, 0, null, 'token', i, '{}', null, null, 0 from n`,
  ).run();
  await env.DB.prepare(`update events set type = 'token.created' where id in (1, 2, 4000)`).run();
  const to = new Date(Date.UTC(2025, 0, 1) + 1_000).toISOString();
  const pages = await readPagesFrom(pathOf({ type: 'token.created', to, limit: 2 }));
  const ids = pages.map(({ json }) =>
    event
      .array()
      .parse(json)
      .map(({ id }) => id),
  );
  expect(ids).toEqual([[4000, 2], [1]]);
});

it('the retention removes events that are older than its days, a thousand at a time [5.24]', async () => {
  const now = Date.now();
  await env.DB.prepare('delete from events').run();
  const { id } = await create.product();
  setNow(now + 10 * DAY_MS);
  await call('PUT', `${products.path}/${id}`, { body: { name: 'Younger' } });
  const typesAt = async (days: number, EVENT_RETENTION_DAYS: string) => {
    await runScheduled(now + days * DAY_MS + 1, { EVENT_RETENTION_DAYS });
    return (await eventsOf()).map(({ type }) => type);
  };
  const both = ['product.updated', 'product.created'];
  expect(env.EVENT_RETENTION_DAYS).toBe('365');
  expect(await typesAt(1_000, '0')).toEqual(both);
  expect(await typesAt(364, '365')).toEqual(both);
  expect(await typesAt(366, '365')).toEqual(['product.updated']);
  await env.DB.prepare(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < 1500)
     insert into events select i, 'token.updated', null, 0, null, 'token', i, '{}', null, null, 0 from n`,
  ).run();
  expect(await typesAt(366, '365')).toHaveLength(501);
  expect(await typesAt(366, '365')).toEqual(['product.updated']);
});

it.each(['', 'often', '-1'])('a retention of %j days removes no event [5.24]', async (days) => {
  await create.product();
  const before = await eventsOf();
  const logged = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  await runScheduled(Date.now() + 1_000 * DAY_MS, { EVENT_RETENTION_DAYS: days });
  const lines = logged.mock.calls.map(([line]) => String(line));
  const named = `EVENT_RETENTION_DAYS must be a number of days, not \\"${days}\\"`;
  expect(lines.filter((line) => line.includes(named))).toHaveLength(days === '' ? 0 : 1);
  logged.mockRestore();
  expect(await eventsOf()).toEqual(before);
});
