import { env } from 'cloudflare:workers';
import { isObject } from '@licet/contract/json';
import { customerExport } from '@licet/contract/personal-data';
import { beforeAll, expect, it } from 'vitest';
import * as z from 'zod';
import { PERSONAL_DATA } from '../../src/requests/person.ts';
import { call, create, expectError, historyOf, type License, validate } from '../support/client.ts';
import { customers, post } from '../support/resources.ts';

/** The export of a person (6): it shows what forgetting erases. */

/** Marks each text about the person. */
const MARK = 'mrk-';
/** The addresses of the person cannot have the mark. */
const IPS = ['203.0.113.141', '203.0.113.142', '203.0.113.143'];

/** Requests of markets about the person: the market, and the order, payment, subscription or account. */
const DELIVERIES = [
  [1, 'o-1'],
  [1, 'payment-1'],
  [1, 'subscription-1'],
  [1, 'o-2'],
  [2, `${MARK}account`],
] as const;

const isAboutPerson = (text: string): boolean => text.includes(MARK) || IPS.includes(text);

/** The texts in a value that are about the person, also those in JSON. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') {
    const inner = /^[[{]/.test(value) ? z.json().safeParse(JSON.parse(value)).data : undefined;
    return inner === undefined ? [value].filter(isAboutPerson) : textsIn(inner);
  }
  if (Array.isArray(value)) return value.flatMap(textsIn);
  return isObject(value) ? Object.values(value).flatMap(textsIn) : [];
}

/** The texts about the person in each table. */
async function textsInDatabase(): Promise<Map<string, Set<string>>> {
  const { results } = await env.DB.prepare(
    "select name from sqlite_master where type = 'table' and name not like '\\_%' escape '\\' and name not like 'sqlite%' and name not like 'd1%'",
  ).all<{ name: string }>();
  const texts = new Map<string, Set<string>>();
  for (const { name } of results) {
    const rows = await env.DB.prepare(`select * from "${name}"`).all();
    const found = textsIn(rows.results);
    if (found.length > 0) texts.set(name, new Set(found));
  }
  return texts;
}

const exportOf = async (id: number) => {
  const response = await call('GET', `${customers.path}/${id}/export`);
  expect(response.status, response.text).toBe(200);
  return customerExport.parse(response.json);
};

let customerId: number;
let license: License;
let replacedKey: string;

beforeAll(async () => {
  const { id: productId } = await create.product();
  const account = { chatId: `${MARK}chat`, username: `${MARK}user` };
  ({ id: customerId } = await post(customers.path, {
    ...account,
    email: `${MARK}former@example.com`,
    metadata: { crm: `${MARK}crm` },
  }));
  const identity = { email: `${MARK}ada@example.com`, firstName: `${MARK}Ada` };
  await call('PUT', `${customers.path}/${customerId}`, { body: identity });
  license = await create.license({
    productId,
    customerId,
    ownerChatId: `${MARK}chat`,
    ownerChatUsername: `${MARK}name`,
    maxIPs: 5,
    maxHWIDs: 5,
    notes: `${MARK}notes`,
    metadata: { order: `${MARK}order` },
  });
  const ask = async (licenseKey: string, ip: string | undefined, hwid: string) => {
    const asked = { licenseKey, productId, ip, hwid, macAddress: `${MARK}mac` };
    expect((await validate(asked)).status).toBe(200);
    await historyOf({ hwid }, 1);
  };
  replacedKey = license.licenseKey;
  await ask(replacedKey, IPS[0], `${MARK}hwid-1`);
  const rotated = await call('POST', `/api/v2/licenses/${license.id}/rotate`);
  license = { ...license, ...(isObject(rotated.json) ? rotated.json : {}) };
  await ask(license.licenseKey, IPS[1], `${MARK}hwid-2`);
  expect((await call('POST', '/api/v2/portal-links', { body: { customerId } })).status).toBe(201);
  // Rows of markets, receivers, Discord and the customer.
  await env.DB.batch(
    [
      `update events set actor = 'customer', ip = '${IPS[2]}', customer_id = ${customerId}
         where type = 'license.rotated' and resource_id = ${license.id}`,
      `insert into webhooks (id, url, format, types, is_enabled, secret, created_at, updated_at)
         values (1, 'https://shop.example', 'standard', '[]', 0, 'secret', 0, 0)`,
      `insert into deliveries (webhook_id, id, type, attempts, step, response)
         select 1, id, type, 1, 0, '${MARK}response' from events where type = 'license.rotated'`,
      `insert into page_sessions values ('hash', null, '${MARK}chat', 0)`,
      `insert into discord_link_codes values (${customerId}, 'hash', 0)`,
      `insert into mails (kind, cause, customer_id, state, attempts, step, losses, error, created_at)
        values ('key', 'key:1:1', ${customerId}, 'FAILED', 1, 0, 0, '${MARK}mail', 0)`,
      `insert into discord_roles (chat_id, role_id, due_at) values ('${MARK}chat', '901', 1)`,
      `insert into purchases (market_id, item, reference, unit, order_id, buyer_id, buyer_name, email, quantity, is_test,
         state, facts, license_id, created_at, updated_at)
         values (1, '7', '${MARK}reference', 0, 'o-1', '${MARK}buyer', '${MARK}buyer name', '${MARK}ada@example.com', 1, 0,
         'GRANTED', '{}', ${license.id}, 0, 0)`,
      `insert into purchases (market_id, item, reference, unit, quantity, is_test, state, facts, license_id, created_at,
         updated_at)
         values (2, '7', 'test:${MARK}account', 0, 1, 1, 'GRANTED', '{}', ${license.id}, 0, 0)`,
      `insert into market_orders (market_id, order_id, facts)
         values (1, 'o-1', '{"email":"${MARK}paid@example.com"}')`,
      // A payment of the order, and a renewal of the same subscription.
      `insert into market_orders (market_id, order_id, facts, parent)
         values (1, 'payment-1', '{}', 'o-1'), (1, 'o-2', '{}', 'subscription-1')`,
      `update market_orders set parent = 'subscription-1' where order_id = 'o-1'`,
      ...DELIVERIES.map(
        ([marketId, order], index) =>
          `insert into market_deliveries (market_id, id, is_accepted, status, result, body, order_id)
             values (${marketId}, ${index + 1}, 1, 200, 'OK', '{"user_id":"${MARK}user ${index}"}', '${order}')`,
      ),
      `insert into market_deliveries (market_id, id, is_accepted, status, result, body, order_id)
         values (2, 99, 1, 200, 'OK', '{"user_id":"of another buyer"}', 'other-account')`,
    ].map((statement) => env.DB.prepare(statement)),
  );
});

it('the export of a person shows each part of what is stored, and all that forgetting erases [6.24, 6.25]', async () => {
  const before = await textsInDatabase();
  const exported = await exportOf(customerId);
  const shown: ReadonlyMap<string, unknown> = new Map(Object.entries(exported));
  // Each part holds something of this person, or the rest would prove nothing.
  for (const name of Object.keys(PERSONAL_DATA))
    expect([name, shown.get(name)]).not.toEqual([name, []]);
  expect(exported.cut).toEqual([]);
  expect(exported.replacedKeys).toMatchObject([{ licenseKey: replacedKey }]);
  expect(exported.licenses).toMatchObject([
    { licenseKey: license.licenseKey, ips: IPS.slice(0, 2), notes: `${MARK}notes` },
  ]);
  expect(exported.requests).toHaveLength(2);
  expect(exported.marketDeliveries.map(({ marketId, order }) => [marketId, order]).sort()).toEqual(
    [...DELIVERIES].sort(),
  );
  const texts = new Set(textsIn(exported));

  expect((await call('DELETE', `${customers.path}/${customerId}`)).status).toBe(204);
  const after = await textsInDatabase();
  const erased = [...before].flatMap(([table, values]) =>
    [...values].filter((value) => !after.get(table)?.has(value)).map((value) => [table, value]),
  );
  expect(erased.filter(([, value = '']) => !texts.has(value))).toEqual([]);
  expect(new Set(erased.map(([table]) => table))).toEqual(
    new Set([...before.keys()].filter((table) => !['bindings', 'discord_roles'].includes(table))),
  );
  // Licenses stay, with their bindings, notes and metadata; the scheduled handler takes the roles.
  expect([...after].map(([table, values]) => [table, [...values].sort()]).sort()).toEqual([
    ['bindings', [...IPS.slice(0, 2), `${MARK}hwid-1`, `${MARK}hwid-2`]],
    ['discord_roles', [`${MARK}chat`]],
    ['licenses', [`${MARK}notes`, `${MARK}order`]],
  ]);

  const { licenses: kept, events, requests, ...empty } = await exportOf(customerId);
  expect(kept).toHaveLength(1);
  expect(textsIn([events, requests, empty])).toEqual([]);
});

it('the export of a person has nothing about the owner of a license that names its account [6.24]', async () => {
  const { id } = await post(customers.path, { email: 'named@example.com', chatId: 'named-chat' });
  const { id: otherId } = await post(customers.path, { email: 'other-owner@example.com' });
  const own = await create.license({ customerId: id });
  const other = await create.license({ customerId: otherId, ownerChatId: 'named-chat' });
  const { licenses } = await exportOf(id);
  expect(licenses.map((one) => [one.id, one.customer?.id ?? null])).toEqual([
    [own.id, id],
    [other.id, null],
  ]);
});

it('the export of a person has no secret [6.24]', async () => {
  const { id } = await post(customers.path, { email: 'secrets@example.com' });
  const { json } = await call('POST', '/api/v2/portal-links', { body: { customerId: id } });
  const { url } = z.object({ url: z.string() }).loose().parse(json);
  const { results } = await env.DB.prepare('select code_hash from page_links').all();
  const { text } = await call('GET', `${customers.path}/${id}/export`);
  expect(text).toContain('"links":[{"chatId":null');
  expect(text).not.toContain(url.split('=').at(-1));
  for (const { code_hash } of results) expect(text).not.toContain(code_hash);
});

it('a list of an export that is too long is named in cut [6.26]', async () => {
  const { id } = await post(customers.path, { email: 'long@example.com' });
  await env.DB.prepare(
    `insert into page_links (code_hash, customer_id, expires_at)
       select 'long-' || key, ${id}, 0 from json_each(?)`,
  )
    .bind(JSON.stringify(Array.from({ length: 1_001 }, () => 0)))
    .run();
  const { links, cut } = await exportOf(id);
  expect([links.length, cut]).toEqual([1_000, ['links']]);
});

it('the export of a customer that does not exist returns 404 [6.24]', async () => {
  expectError(await call('GET', `${customers.path}/999999/export`), 404, 'Customer not found');
});

it.each(['CUSTOMERS_READ', 'LICENSES_READ_WRITE', 'REQUESTS_READ'] as const)(
  'a token with %s alone gets no export [6.24]',
  async (intent) => {
    const { token } = await create.token([intent]);
    const response = await call('GET', `${customers.path}/${customerId}/export`, { token });
    expectError(response, 403, 'Token lacks a required intent');
  },
);
