import { env } from 'cloudflare:workers';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { isSignedBy } from '../../src/channels/discord/signature.ts';
import { settled } from '../support/app.ts';
import { call, create, get, type License, updateLicense } from '../support/client.ts';
import { captureConsole } from '../support/console.ts';
import { spyOnDatabase, sumRows } from '../support/d1-spy.ts';
import { ADA, ADMIN_ROLE, EVE, FakeDiscord, GUILD } from '../support/fake-discord.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, setNow } from '../support/history.ts';
import {
  ask,
  codeIn,
  cookieIn,
  licensesOf,
  redeem as openPage,
  sessionOf,
} from '../support/my-page.ts';

/** Commands at Discord [decision 10]. */

const BUYER_ROLE = '3300000000000000001';
const CUSTOMER_ROLE = '3300000000000000002';
const TOKEN = 'bot-token-for-tests-0123456789';
const ADMIN = { roles: [ADMIN_ROLE] };

let discord: FakeDiscord;
let productId: number;
let productName: string;
let license: License;

afterEach(settled);

beforeEach(async () => {
  setNow(Date.now());
  const emptied = [
    'discord_claims',
    'discord_roles',
    'discord_interactions',
    'discord_link_codes',
    'page_links',
    'page_sessions',
    'settings',
    'events',
  ];
  await env.DB.batch([
    ...emptied.map((table) => env.DB.prepare(`delete from ${table}`)),
    // The accounts of the test before own nothing.
    env.DB.prepare("update licenses set owner_chat_id = '', customer_id = null"),
    env.DB.prepare('update customers set chat_id = null'),
  ]);
  discord = new FakeDiscord();
  await discord.setUp();
  productName = `Guard ${crypto.randomUUID().slice(0, 6)}`;
  ({ id: productId } = await create.product({
    name: productName,
    selfResets: 3,
    roleId: CUSTOMER_ROLE,
    purchaseRoleId: BUYER_ROLE,
  }));
  license = await create.license({ productId });
});

const redeem = (key = license.licenseKey, user = ADA) =>
  discord.send({ name: 'redeem', options: { key }, member: { user } });

it('the vector of the documents is verified [10.3.1]', async () => {
  const body = '{"type":1,"id":"1","application_id":"2","token":"t","version":1}';
  const key = '8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c';
  const signature =
    'b9dd53c00fc1aa01a0a1028d0b7de1b6c9d2fd8a98cd0bf6f2b7b2ace9e68a33af98da578545582a11458f659857ddf2d4fe7e0ee5205d0292ca0e04745dc609';
  const bytes = new TextEncoder().encode(body);
  expect(await isSignedBy(key, signature, '1790000000', bytes)).toBe(true);
  expect(await isSignedBy(key, signature, '1790000001', bytes)).toBe(false);
});

it('a ping is answered [10.3.1]', async () => {
  const { status, json, headers } = await discord.post(discord.body({ type: 1 }));
  expect([status, json]).toEqual([200, { type: 1 }]);
  expect(headers.get('Content-Type')).toMatch(/^application\/json/);
});

it.each([
  ['no signature', { 'X-Signature-Ed25519': '' }],
  ['a short signature', { 'X-Signature-Ed25519': 'ab' }],
  ['another signature', { 'X-Signature-Ed25519': '0'.repeat(128) }],
  ['no timestamp', { 'X-Signature-Timestamp': '' }],
  ['an old timestamp', { 'X-Signature-Timestamp': String(Math.floor(Date.now() / 1000) - 400) }],
  ['a timestamp that is text', { 'X-Signature-Timestamp': 'now' }],
])('a request with %s is 401 [10.3.1]', async (_, headers) => {
  expect((await discord.post(discord.body({ type: 1 }), headers)).status).toBe(401);
});

it('a request without settings, or signed by another application, is 401 [10.3.1]', async () => {
  const other = new FakeDiscord();
  expect((await other.post(other.body({ type: 1 }))).status).toBe(401);
  await env.DB.prepare('delete from settings').run();
  const unknown = new FakeDiscord();
  expect((await unknown.post(unknown.body({ type: 1 }))).status).toBe(401);
});

it('without an application, which switches Discord off, a signed request is 401 [10.3.1]', async () => {
  await discord.setUp({ applicationId: null });
  expect((await discord.post(discord.body({ type: 1 }))).status).toBe(401);
});

it('1,000 made-up interactions cost no statement, and a real one still passes [10.3.1]', {
  tags: 'long',
}, async () => {
  const { spy: DB, roundTrips } = spyOnDatabase(env.DB);
  const watched = new FakeDiscord({ DB });
  await watched.setUp();
  await watched.post(watched.body({ type: 1 }));
  const before = roundTrips.length;
  for (let index = 0; index < 1_000; index++) {
    const headers = { 'X-Signature-Ed25519': index.toString(16).padStart(128, '0') };
    expect((await watched.post(watched.body({ type: 2, name: 'licenses' }), headers)).status).toBe(
      401,
    );
  }
  expect(roundTrips.length).toBe(before);
  expect((await watched.post(watched.body({ type: 1 }))).status).toBe(200);
});

it.each([
  ['another server', { guild: '9900000000000000001' }],
  ['a direct message', { guild: null }],
  ['another application', { application: '9900000000000000002' }],
])('a command of %s gives nothing away [10.3.2]', async (_, where) => {
  await redeem();
  const { content } = await discord.send({ name: 'licenses', ...where });
  expect(content).toBe(
    'This command works in the server of the shop only. Write it in a channel there.',
  );
  const suggested = await discord.send({
    type: 4,
    name: 'reset',
    options: { license: '' },
    focused: 'license',
    ...where,
  });
  expect(suggested.json.data?.choices).toEqual([]);
});

it.each([
  ['member', { member: { user: ADA } }],
  ['member', { member: 'ada' }],
  ['user of a member', { member: { user: { id: 1 }, roles: [], permissions: '0' } }],
])(
  'a command with an unreadable %s gets a message with the next step [10.3.2]',
  async (_, member) => {
    const body = { ...JSON.parse(discord.body({ name: 'licenses' })), ...member };
    const { status, json } = await discord.post(JSON.stringify(body));
    expect([status, Object(json).data?.content]).toEqual([
      200,
      'Discord has sent this command without your account. Write it again, or tell the shop.',
    ]);
    const suggested = await discord.post(JSON.stringify({ ...body, type: 4 }));
    expect(suggested.json).toEqual({ type: 8, data: { choices: [] } });
  },
);

it('a command with unreadable data gets a message with the next step [10.3.2]', async () => {
  const body = { ...JSON.parse(discord.body({ name: 'licenses' })), data: { options: 1 } };
  const { json } = await discord.post(JSON.stringify(body));
  expect(Object(json).data.content).toContain('This command is gone. Ask the shop to run');
});

it('all messages are for their reader alone, and mention nobody [10.3.2]', async () => {
  const { json } = await redeem('@everyone');
  expect(json).toMatchObject({ type: 4, data: { flags: 64, allowed_mentions: { parse: [] } } });
});

it('the name of a product is shown without formatting, a link or a mention [10.3.2]', async () => {
  const { id } = await create.product({ name: '- *A* [B](https://c.test) <@1> #D `E`' });
  const named = await create.license({ productId: id });
  const { content } = await redeem(named.licenseKey);
  expect(content).toContain(
    '**\\- \\*A\\* \\[B\\]\\(https\\://c.test\\) \\<\\@1\\> \\#D \\`E\\`**',
  );
});

it('a key links its license alone, and leaves the event license.redeemed of the service [8.5.3, 10.3.5]', async () => {
  const { content } = await redeem(` ${license.licenseKey.toLowerCase()} `);
  expect(content).toContain(`**${productName}** is linked to your account`);
  expect(await get.license(license.id)).toMatchObject({
    ownerChatId: ADA.id,
    ownerChatUsername: 'ada',
    customer: null,
  });
  expect((await redeem()).content).toContain('linked to your account already');
  const { json } = await call('GET', '/api/v2/events?type=license.redeemed&actor=service');
  expect(json).toMatchObject([
    {
      resourceId: license.id,
      actor: { tokenName: 'service', customerId: null },
      changes: {
        ownerChatId: { before: '', after: ADA.id },
        ownerChatUsername: { before: '', after: 'ada' },
      },
    },
  ]);
});

it('a webhook can ask for license.redeemed [8.1.2]', async () => {
  const body = { url: 'https://hooks.shop.example/', types: ['license.redeemed'] };
  const { json } = await call('POST', '/api/v2/webhooks', { body });
  expect(json).toMatchObject({ types: ['license.redeemed'] });
  await redeem();
  const { id }: { id: number } = Object(json);
  const deliveries = await call('GET', `/api/v2/webhooks/${id}/deliveries`);
  await call('DELETE', `/api/v2/webhooks/${id}`);
  expect(deliveries.json).toMatchObject([{ type: 'license.redeemed' }]);
});

it('a license of a customer keeps its customer when its key is redeemed, and the customer gets no account [10.3.5]', async () => {
  const { email, license: bought } = await buy();
  await redeem(bought.licenseKey);
  expect(await get.license(bought.id)).toMatchObject({
    ownerChatId: ADA.id,
    customer: { email, chatId: null },
  });
});

it('a license without a customer belongs to the customer who has the account that redeems it [10.3.5]', async () => {
  const own = await create.license({ productId, ownerChatId: ADA.id });
  await redeem();
  expect((await get.license(license.id)).customer).toEqual(own.customer);
});

/** The licenses that an account sees: those of /licenses, those of its button, and those of its page. */
async function seenBy(user: typeof ADA): Promise<string[]> {
  const member = { user };
  const shown = (await discord.send({ name: 'licenses', member })).content;
  const whole = (await discord.send({ type: 3, customId: 'keys', member })).content;
  const cookie = await pageOf(user);
  const page = cookie === undefined ? [] : (await licensesOf(cookie)).licenses;
  const keys = [...whole.matchAll(/`([\w-]{24})`/g)].map(([, key = '']) => key);
  expect(page.map(({ keyEnd }) => keyEnd).toSorted()).toEqual(
    keys.map((key) => key.slice(-4)).toSorted(),
  );
  for (const key of keys) expect(shown).toContain(key.slice(-4));
  return keys;
}

/** The cookie of a session that /portal opens; undefined if it gives no link. */
async function pageOf(user: typeof ADA): Promise<string | undefined> {
  const { json } = await discord.send({ name: 'portal', member: { user } });
  const url = json.data?.components?.[0]?.components[0]?.url;
  if (url === undefined) return undefined;
  const opened = await openPage(codeIn(url));
  expect(opened.status).toBe(204);
  return cookieIn(opened);
}

async function buy(email = `${crypto.randomUUID()}@shop.example`) {
  const bought = await create.license({ productId, customerEmail: email });
  return { email, license: bought, customerId: bought.customer?.id ?? 0 };
}

it('one leaked key shows a stranger neither the other licenses of its owner nor later ones [10.3.5, 10.3.8]', async () => {
  const { email, license: leaked } = await buy();
  await redeem(leaked.licenseKey, EVE);
  const { license: dear, customerId } = await buy(email);
  expect(dear.customer).toMatchObject({ email, chatId: null });
  expect(await seenBy(EVE)).toEqual([leaked.licenseKey]);
  // Also not when the seller changes a field of the license, with all that GET returned.
  await updateLicense(leaked.id, {
    ...(await get.license(leaked.id)),
    licensePlatform: 'MARKET_A',
    ownerPlatformId: String(customerId),
  });
  await updateLicense(dear.id, {
    licensePlatform: 'MARKET_A',
    ownerPlatformId: String(customerId),
  });
  expect(await seenBy(EVE)).toEqual([leaked.licenseKey]);
});

it('a PUT that leaves or clears the account of a redeemed license links no customer by it [10.3.8]', async () => {
  await redeem(license.licenseKey, EVE);
  for (const ownerChatId of [EVE.id, '']) {
    const shown = await get.license(license.id);
    expect(shown).toMatchObject({ ownerChatId: EVE.id, customer: null });
    await updateLicense(license.id, { ...shown, ownerChatId, notes: `Changed ${ownerChatId}` });
  }
  expect(await get.license(license.id)).toMatchObject({ ownerChatId: '', customer: null });
  const { json } = await call('GET', `/api/v2/customers?q=${EVE.id}`);
  expect(json).toEqual([]);
});

it('a stranger who buys with the e-mail of somebody else, before or after them, sees no license of theirs [10.3.5]', async () => {
  const { email, license: cheap } = await buy();
  await redeem(cheap.licenseKey, EVE);
  const { license: own } = await buy(email);
  const { license: second } = await buy(email);
  await redeem(second.licenseKey, EVE);
  expect(await seenBy(EVE)).toEqual([cheap.licenseKey, second.licenseKey]);
  const reset = { name: 'reset', options: { license: `#${own.id}` }, member: { user: EVE } };
  expect((await discord.send(reset)).content).toContain('That is not one of your licenses');
});

const linkCode = async (cookie: string): Promise<string> => {
  const { status, json, text } = await ask('POST', '/discord-code', { cookie, body: {} });
  expect(status, text).toBe(200);
  const { code }: { code: string } = Object(json);
  return code;
};
const link = (code: string, user = ADA, isolate = discord.isolate) =>
  discord.send({ name: 'link', options: { code }, member: { user } }, isolate);

it('a code of the own page makes the account that of the customer, with later licenses, once [10.3.6]', async () => {
  const { email, customerId, license: first } = await buy();
  const cookie = await sessionOf(customerId);
  expect((await licensesOf(cookie)).canLinkDiscord).toBe(true);
  const code = await linkCode(cookie);
  expect(code).toMatch(/^[0-9A-Z]{4}(-[0-9A-Z]{4}){2}$/);
  // As somebody types it.
  const typed = ` ${code.toLowerCase().replaceAll('-', ' ').replaceAll('0', 'o')}`;
  expect((await link(typed)).content).toContain('Your page is linked to your account');
  expect(await get.customer(customerId)).toMatchObject({ chatId: ADA.id, chatUsername: 'ada' });
  const { license: later } = await buy(email);
  expect(await seenBy(ADA)).toEqual([first.licenseKey, later.licenseKey]);
  const { json } = await call('GET', `/api/v2/events?type=customer.updated&actor=customer`);
  expect(json).toMatchObject([
    {
      resourceId: customerId,
      actor: { customerId },
      changes: { chatId: { before: null, after: ADA.id } },
    },
  ]);
  expect((await licensesOf(cookie)).canLinkDiscord).toBe(false);
  expect((await ask('POST', '/discord-code', { cookie, body: {} })).status).toBe(409);
  expect((await link(code, EVE)).content).toContain('This code is wrong, used, or older than');
});

it('one of two accounts that use one code at the same time is linked [10.3.6]', async () => {
  const { customerId } = await buy();
  const code = await linkCode(await sessionOf(customerId));
  const answers = await Promise.all([link(code), link(code, EVE, discord.newIsolate())]);
  const linked = answers.filter(({ content }) => content.includes('is linked to your account'));
  expect(linked).toHaveLength(1);
  const { chatId } = await get.customer(customerId);
  expect(chatId).toBe(linked[0] === answers[0] ? ADA.id : EVE.id);
});

it('a code works for 15 minutes and until the next one, and its hash alone is stored [10.2.6, 10.3.6]', async () => {
  const { customerId } = await buy();
  const cookie = await sessionOf(customerId);
  const [replaced, code] = [await linkCode(cookie), await linkCode(cookie)];
  const { results } = await env.DB.prepare('select * from discord_link_codes').all();
  expect(results).toHaveLength(1);
  expect(JSON.stringify(results)).not.toContain(code.replaceAll('-', '').slice(0, 8));
  const refused = 'choose "Link Discord", and use the code that it shows';
  expect((await link(replaced)).content).toContain(refused);
  setNow(Date.now() + 15 * MINUTE_MS);
  expect((await link(code)).content).toContain(refused);
  await discord.isolate.runScheduled();
  expect((await env.DB.prepare('select * from discord_link_codes').all()).results).toEqual([]);
});

it('an account tries at most ten codes a minute [10.3.6, 10.3.7]', async () => {
  const code = await linkCode(await sessionOf((await buy()).customerId));
  for (let times = 0; times < 10; times++) await link('AAAA-AAAA-AAAA');
  expect((await link(code)).content).toContain('Too many attempts');
  setNow(Date.now() + MINUTE_MS);
  expect((await link(code)).content).toContain('is linked to your account');
});

it('the account of another customer is refused with the next step, and both customers stay as they are [10.3.6]', async () => {
  await create.license({ productId, ownerChatId: ADA.id });
  const { customerId } = await buy();
  const { content } = await link(await linkCode(await sessionOf(customerId)));
  expect(content).toContain('is linked to another customer of the shop. Ask the shop');
  expect((await get.customer(customerId)).chatId).toBeNull();
});

it('a customer whose account the seller has set meanwhile keeps it [10.3.6]', async () => {
  const { customerId } = await buy();
  const code = await linkCode(await sessionOf(customerId));
  await call('PUT', `/api/v2/customers/${customerId}`, { body: { chatId: EVE.id } });
  expect((await link(code)).content).toContain('already linked to a Discord account');
  expect((await get.customer(customerId)).chatId).toBe(EVE.id);
});

it('a page that an account has opened gives no code, and no page does so without Discord [10.2.6, 10.3.6]', async () => {
  await redeem();
  const ofAccount = (await pageOf(ADA)) ?? '';
  expect((await licensesOf(ofAccount)).canLinkDiscord).toBe(false);
  expect((await ask('POST', '/discord-code', { cookie: ofAccount, body: {} })).status).toBe(409);
  await discord.setUp({ guildId: null });
  const ofCustomer = await sessionOf((await buy()).customerId);
  expect((await licensesOf(ofCustomer)).canLinkDiscord).toBe(false);
  expect((await ask('POST', '/discord-code', { cookie: ofCustomer, body: {} })).status).toBe(409);
});

it('an account sees on its page what /licenses shows it, whatever customers its licenses belong to [10.2.4, 10.2.5, 10.3.6]', async () => {
  const email = `${crypto.randomUUID()}@shop.example`;
  const own = await create.license({ productId, ownerChatId: ADA.id });
  await call('PUT', `/api/v2/customers/${own.customer?.id}`, { body: { email } });
  const { license: named } = await buy(email);
  const { license: redeemedByEve } = await buy(email);
  await call('PUT', `/api/v2/licenses/${redeemedByEve.id}`, {
    body: { ownerChatId: EVE.id, customerId: own.customer?.id },
  });
  const { license: other } = await buy();
  await redeem(other.licenseKey);
  await redeem();
  const keys = [license, own, named, other].map(({ licenseKey }) => licenseKey);
  expect((await seenBy(ADA)).toSorted()).toEqual(keys.toSorted());
  expect(await seenBy(EVE)).toEqual([redeemedByEve.licenseKey]);
});

it.each([
  ['without a customer', () => license],
  ['of a customer', async () => (await buy()).license],
])(
  'an account frees slots of a license %s, on its page and at Discord, within one budget [10.3.6]',
  async (_, sold) => {
    const { id, licenseKey, customer } = await sold();
    await redeem(licenseKey);
    await updateLicense(id, { ips: ['192.0.2.1'], hwids: ['h'] });
    const cookie = (await pageOf(ADA)) ?? '';
    const machines = await ask('GET', `/licenses/${id}/machines`, { cookie });
    const [machine]: { id: string }[] = Object(machines.json);
    const freed = await ask('POST', `/licenses/${id}/resets`, {
      cookie,
      body: { machine: machine?.id },
    });
    expect(freed.json).toMatchObject({ outcome: 'freed', resets: { left: 2 } });
    const { content } = await discord.send({ name: 'reset', options: { license: `#${id}` } });
    expect(content).toContain('Resets left: 1 of 3');
    const { json } = await call('GET', `/api/v2/events?type=license.slots_freed&actor=customer`);
    const actor = { tokenName: 'customer', customerId: customer?.id ?? null };
    expect(json).toMatchObject([
      { resourceId: id, actor },
      { resourceId: id, actor },
    ]);
  },
);

it.each([
  ['the account of the license', () => updateLicense(license.id, { ownerChatId: '' })],
  ['the license', () => call('DELETE', `/api/v2/licenses/${license.id}`)],
])(
  'a session of an account shows a license no more as soon as the seller removes %s [10.2.4, 10.3.6]',
  async (_, remove) => {
    await redeem();
    const cookie = (await pageOf(ADA)) ?? '';
    expect((await licensesOf(cookie)).licenses).toHaveLength(1);
    await remove();
    expect((await licensesOf(cookie)).licenses).toEqual([]);
    const path = `/licenses/${license.id}/key`;
    expect((await ask('POST', path, { cookie, body: {} })).status).toBe(404);
    expect((await discord.send({ name: 'portal' })).content).toContain('No license is linked');
  },
);

it('a seller who takes the account from a customer ends what its session shows, and the license keeps its customer [10.3.5]', async () => {
  const { customerId, license: bought } = await buy();
  await link(await linkCode(await sessionOf(customerId)));
  const cookie = (await pageOf(ADA)) ?? '';
  await call('PUT', `/api/v2/customers/${customerId}`, { body: { chatId: null } });
  expect((await licensesOf(cookie)).licenses).toEqual([]);
  await redeem(bought.licenseKey, EVE);
  await updateLicense(bought.id, { ownerChatId: '', ownerChatUsername: '' });
  expect((await get.license(bought.id)).customer?.id).toBe(customerId);
});

it('the licenses of an account are found without reading those of others [10.2.5, 10.3.6]', async () => {
  await redeem();
  const keys = JSON.stringify(Array.from({ length: 2_000 }, () => crypto.randomUUID()));
  await env.DB.prepare(
    `insert into licenses (license_key, license_key_normalized, product_id, license_type, max_ips,
      max_hwids, created_at, updated_at, revision)
      select value, upper(value), ?, 'PERMANENT', 5, 5, 0, 0, 1 from json_each(?)`,
  )
    .bind(productId, keys)
    .run();
  const { spy: DB, roundTrips } = spyOnDatabase(env.DB);
  const watched = new FakeDiscord({ DB });
  await watched.setUp({ botToken: TOKEN });
  expect((await watched.send({ name: 'licenses' })).content).toContain(productName);
  const reads = roundTrips.flat().filter(({ sql }) => sql.startsWith('select'));
  expect((await sumRows(reads)).read).toBeLessThan(100);
  await env.DB.prepare('delete from licenses where revision = 1').run();
});

it('an id of a role that leads elsewhere is not sent', async () => {
  await discord.setUp({ botToken: TOKEN });
  const odd = await create.product({ roleId: '../../../bans/1' });
  await redeem((await create.license({ productId: odd.id })).licenseKey);
  expect(discord.requests).toEqual([]);
});

it('a number is the id of a license with # alone, because a key can be a number [10.3.10]', async () => {
  const { content } = await discord.send({
    name: 'license',
    subcommand: 'deactivate',
    options: { license: String(license.id) },
    member: ADMIN,
  });
  expect(content).toContain('There is no such license');
  expect((await get.license(license.id)).licenseStatus).toBe('ACTIVE');
});

it('a flood while the database fails asks it once a second', async () => {
  let reads = 0;
  const DB = new Proxy(env.DB, {
    get(target, name) {
      if (name === 'prepare') reads++;
      if (name === 'prepare') throw new Error('D1 is gone');
      return Reflect.get(target, name);
    },
  });
  const failing = new FakeDiscord({ DB });
  for (let count = 0; count < 50; count++) await failing.post(failing.body({ type: 1 }));
  expect(reads).toBeLessThan(5);
});

it('a license of another account is refused without a name, and an unknown, replaced or deleted key in the same words [10.3.5]', async () => {
  await redeem();
  const { content } = await redeem(license.licenseKey, EVE);
  expect(content).toContain('linked to another Discord account');
  expect(content).not.toContain('ada');
  const unknown = await redeem('nothing', EVE);
  await call('POST', `/api/v2/licenses/${license.id}/rotate`, { body: {} });
  expect((await redeem(license.licenseKey, EVE)).content).toBe(unknown.content);
  const deleted = await create.license({ productId });
  await call('DELETE', `/api/v2/licenses/${deleted.id}`);
  expect((await redeem(deleted.licenseKey, EVE)).content).toBe(unknown.content);
});

it('the slower one of two accounts that redeem one key at once reads that the other was faster [10.3.5]', async () => {
  let meanwhile = true;
  const batch = async (statements: D1PreparedStatement[]) => {
    if (meanwhile) {
      meanwhile = false;
      await redeem(license.licenseKey, EVE);
    }
    return env.DB.batch(statements);
  };
  const DB = new Proxy(env.DB, {
    get: (target, name) => (name === 'batch' ? batch : Reflect.get(target, name).bind(target)),
  });
  const sent = { name: 'redeem', options: { key: license.licenseKey } };
  const slower = await discord.send(sent, new FakeDiscord({ DB }).isolate);
  expect(slower.content).toBe(
    'Another account was faster: this license is linked to it now. Ask the shop to move it to yours.',
  );
  expect(await get.license(license.id)).toMatchObject({ ownerChatId: EVE.id });
});

/** The messages of a customer about one license. */
async function messagesAbout(sold: License): Promise<string[]> {
  const options = { license: `#${sold.id}` };
  const member = { roles: [BUYER_ROLE] };
  const product = { product: String(sold.productId) };
  const sent = [
    { name: 'redeem', options: { key: sold.licenseKey } },
    { name: 'redeem', options: { key: sold.licenseKey } },
    { name: 'licenses' },
    { type: 3, customId: 'keys' },
    { name: 'reset', options },
    { name: 'get-license', options: product, member },
  ];
  const contents: string[] = [];
  for (const one of sent) contents.push((await discord.send(one)).content);
  return contents;
}

it('each message about a DEACTIVATED license says so, and whom to ask [10.3.2]', async () => {
  await updateLicense(license.id, { licenseStatus: 'DEACTIVATED', ips: ['192.0.2.1'] });
  const contents = await messagesAbout(license);
  expect(contents).toHaveLength(6);
  for (const text of contents) {
    expect(text).toMatch(/(deactivated by the shop|The shop has deactivated)/);
    expect(text).toMatch(/Ask the shop/);
    expect(text).not.toContain('does not expire');
  }
});

it('each message about an expired license says when it expired, once, and whom to ask [10.3.2]', async () => {
  const sold = await create.license({
    productId,
    licenseType: 'TEMPORARY',
    expiryDate: new Date(Date.now() - DAY_MS).toISOString(),
  });
  const contents = await messagesAbout(sold);
  expect(contents).toHaveLength(6);
  for (const text of contents) {
    expect(text.match(/expired/g)).toHaveLength(1);
    expect(text).toMatch(/expired on <t:\d+:D>.*Ask the shop to renew it\./);
  }
});

it('each message about an expired license names the page of its product, where it is renewed [10.3.2]', async () => {
  const { id } = await create.product({
    url: 'https://shop.example/a_b?x=>y',
    purchaseRoleId: BUYER_ROLE,
  });
  const sold = await create.license({
    productId: id,
    licenseType: 'TEMPORARY',
    expiryDate: new Date(Date.now() - DAY_MS).toISOString(),
  });
  for (const text of await messagesAbout(sold)) {
    expect(text).toContain('. Renew it at <https://shop.example/a_b?x=%3Ey>, or ask the shop.');
  }
});

it('/licenses says of a full license that /reset frees a place, where its product allows it [10.3.2]', async () => {
  const [{ id }, { id: without }] = await Promise.all([
    create.product({ selfResets: 2 }),
    create.product({ selfResets: 0 }),
  ]);
  const full = { ownerChatId: ADA.id, maxIPs: 1, ips: ['192.0.2.1'] };
  const [first, { licenseKey }] = await Promise.all([
    create.license({ ...full, productId: id }),
    create.license({ ...full, productId: id, maxIPs: 2 }),
    create.license({ ...full, productId: id, licenseStatus: 'DEACTIVATED' }),
    create.license({ ...full, productId: without }),
  ]);
  const { content } = await discord.send({ name: 'licenses' });
  expect(content.match(/`…\w+`(?=[^\n]*All places are taken: \/reset frees one\.)/g)).toEqual([
    `\`…${first.licenseKey.slice(-4)}\``,
  ]);
  expect(content).toContain(licenseKey.slice(-4));
});

it('an account with more than 100 licenses reads the number of all that have no line [10.3.4]', async () => {
  const batch = { productId, licenseType: 'PERMANENT', ownerChatId: ADA.id, count: 104 };
  expect((await call('POST', '/api/v2/licenses/batch', { body: batch })).status).toBe(201);
  for (const sent of [{ name: 'licenses' }, { type: 3, customId: 'keys' }]) {
    const { content } = await discord.send(sent);
    const shown = content.split('\n').filter((line) => line.startsWith('- ')).length;
    expect(content).toContain(`… and ${104 - shown} more: use /portal`);
  }
});

it('an account sees and finds all of 60 licenses, and gets none that it has [10.3.4, 10.3.9]', async () => {
  const [made, ...others] = await Promise.all(
    Array.from({ length: 60 }, () => create.license({ productId, ownerChatId: ADA.id })),
  );
  const { id, name } = await create.product({ name: 'Last', purchaseRoleId: BUYER_ROLE });
  const last = await create.license({ productId: id, ownerChatId: ADA.id });
  expect([made?.id, others.length]).toEqual([expect.any(Number), 59]);
  const { content } = await discord.send({ name: 'licenses' });
  const shown = content.split('\n').filter((line) => line.startsWith('- ')).length;
  expect(content).toContain(`… and ${61 - shown} more: use /portal`);
  const suggested = await discord.send({
    type: 4,
    name: 'reset',
    options: { license: name },
    focused: 'license',
  });
  expect(suggested.json.data?.choices).toMatchObject([{ value: `#${last.id}` }]);
  const all = await discord.send({
    type: 4,
    name: 'reset',
    options: { license: '' },
    focused: 'license',
  });
  expect(all.json.data?.choices).toHaveLength(25);
  const got = await discord.send({
    name: 'get-license',
    options: { product: String(id) },
    member: { roles: [BUYER_ROLE] },
  });
  expect(got.content).toContain(last.licenseKey);
});

it('an account tries at most ten keys a minute [10.3.5, 10.3.7]', async () => {
  for (let times = 0; times < 10; times++) await redeem('nothing', EVE);
  expect((await redeem(license.licenseKey, EVE)).content).toContain('Too many attempts');
  setNow(Date.now() + MINUTE_MS);
  expect((await redeem(license.licenseKey, EVE)).content).toContain('is linked');
});

it('licenses are shown with masked keys, and whole ones behind a button, to their owner alone [10.3.4]', async () => {
  await redeem();
  const shown = await discord.send({ name: 'licenses' });
  expect(shown.content).toContain(
    `**${productName}** \`…${license.licenseKey.slice(-4)}\`, active, does not expire`,
  );
  expect(shown.content).not.toContain(license.licenseKey);
  const button = shown.json.data?.components?.[0]?.components[0];
  const keys = await discord.send({ type: 3, customId: button?.custom_id ?? '' });
  expect(keys.content).toContain(license.licenseKey);
  const stranger = await discord.send({
    type: 3,
    customId: button?.custom_id ?? '',
    member: { user: EVE },
  });
  expect(stranger.content).toContain('No license is linked');
});

const reset = (fields: object = {}, user = ADA, isolate = discord.isolate) =>
  discord.send(
    { name: 'reset', options: { license: String(license.id), ...fields }, member: { user } },
    isolate,
  );

it('a reset frees the slots within the budget, and an empty one is free [10.3.4]', async () => {
  await redeem();
  expect((await reset()).content).toContain('did not count as a reset');
  const bind = (values: object) => call('PUT', `/api/v2/licenses/${license.id}`, { body: values });
  await bind({ ips: ['192.0.2.1'], hwids: ['h'] });
  expect((await reset({ what: 'IP' })).content).toContain(
    'Freed slots: 1. Start your server again',
  );
  expect(await get.license(license.id)).toMatchObject({ ips: [], hwids: ['h'] });
  await reset();
  await bind({ hwids: ['h'] });
  await reset();
  await bind({ hwids: ['h'] });
  expect((await reset()).content).toContain(
    'You have used all 3 resets of 30 days. The next one returns on <t:',
  );
  expect((await get.license(license.id)).hwids).toEqual(['h']);
});

/** Suggests values for an option of `/reset`. */
const suggestReset = async (options: Record<string, string>, user = ADA) => {
  const member = { user };
  const sent = { type: 4, name: 'reset', options, focused: 'what', member };
  return (await discord.send(sent)).json.data?.choices ?? [];
};

it('/reset lists the machines of the license with their last use, and frees the chosen one as one reset [10.3.15]', async () => {
  const { licenseKey } = license;
  const begin = Date.now();
  for (const [index, number] of ['1', '2'].entries()) {
    setNow(begin + index * 2 * HOUR_MS);
    const asked = { licenseKey, productId, ip: `203.0.113.${number}`, hwid: `server-${number}` };
    expect((await discord.isolate.validate(asked)).json).toMatchObject({ valid: true });
  }
  await settled();
  await redeem();
  const options = { license: `#${license.id}`, what: '' };
  const choices = await suggestReset(options);
  expect(choices.map(({ name }) => name)).toEqual([
    'All servers and computers',
    'address 203.0.…2, hardware ID server…2, last used just now',
    'address 203.0.…1, hardware ID server…1, last used 2 hours ago',
  ]);
  expect(await suggestReset({ ...options, what: 'server…2' })).toEqual([choices[1]]);
  expect(await suggestReset(options, EVE)).toEqual([]);
  const { content } = await reset({ what: choices[2]?.value });
  expect(content).toContain('Freed slots: 2.');
  expect(content).toContain('Resets left: 2 of 3');
  expect(await get.license(license.id)).toMatchObject({
    ips: ['203.0.113.2'],
    hwids: ['server-2'],
  });
  for (const what of [choices[2]?.value, 'something typed']) {
    expect((await reset({ what })).content).toContain('Choose one of the list');
  }
  expect((await get.license(license.id)).ips).toHaveLength(1);
});

it('Discord says where a leaked key is replaced, and a redeemed key of a customer replaces none [10.1.6, 10.3.15]', async () => {
  const show = async () => (await discord.send({ name: 'keys' })).content;
  const ON_PAGE = 'Has a key leaked? Replace it on your page: use /portal.';
  const BY_SHOP = 'Has a key leaked? Ask the shop for a new one.';
  const purchaseRoleId = BUYER_ROLE;
  const own = await create.product({ purchaseRoleId });
  const bought = {
    name: 'get-license',
    options: { product: String(own.id) },
    member: { roles: [BUYER_ROLE] },
  };
  await call('PUT', `/api/v2/licenses/${license.id}`, {
    body: { customerEmail: `${crypto.randomUUID()}@shop.example` },
  });
  await redeem();
  expect(await show()).toContain(BY_SHOP);
  await call('PUT', `/api/v2/products/${productId}`, { body: { selfRotate: true } });
  expect(await show()).toContain(BY_SHOP);
  const { json } = await discord.send({ name: 'portal' });
  const code = codeIn(json.data?.components?.[0]?.components[0]?.url ?? '');
  const cookie = cookieIn(await openPage(code));
  const { id, licenseKey } = license;
  expect((await licensesOf(cookie)).licenses[0]?.rotation.isAllowed).toBe(false);
  const rotated = await ask('POST', `/licenses/${id}/rotations`, { cookie, body: {} });
  expect(rotated.json).toEqual({ outcome: 'not allowed' });
  expect((await get.license(id)).licenseKey).toBe(licenseKey);

  expect((await discord.send(bought)).content).toContain(BY_SHOP);
  await call('PUT', `/api/v2/products/${own.id}`, { body: { selfRotate: true } });
  expect((await discord.send(bought)).content).toContain(ON_PAGE);
  expect(await show()).toContain(ON_PAGE);
});

it('an option finds each of 101 licenses by its product, the end of its key or its id [10.3.4]', async () => {
  const { id } = await create.product({ name: 'Über' });
  const oldest = await create.license({ productId: id, ownerChatId: ADA.id });
  const batch = { productId, licenseType: 'PERMANENT', count: 100, ownerChatId: ADA.id };
  expect((await call('POST', '/api/v2/licenses/batch', { body: batch })).status).toBe(201);
  const end = oldest.licenseKey.slice(-4);
  for (const typed of ['Über', `ber …${end.toLowerCase()}`, `(#${oldest.id})`]) {
    const sent = { type: 4, name: 'reset', options: { license: typed }, focused: 'license' };
    const choices = (await discord.send(sent)).json.data?.choices;
    expect(choices, typed).toEqual([
      { name: `Über …${end} (#${oldest.id})`, value: `#${oldest.id}` },
    ]);
  }
});

it('50 resets at once count exactly as often as the product allows [10.1.2]', async () => {
  await redeem();
  const ips = ['192.0.2.1', '192.0.2.2'];
  const isolates = [discord.isolate, discord.newIsolate(), discord.newIsolate()];
  const contents: string[] = [];
  for (let round = 0; round < 5; round++) {
    await call('PUT', `/api/v2/licenses/${license.id}`, { body: { ips } });
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => reset({}, ADA, isolates[index % 3])),
    );
    contents.push(...answers.map(({ content }) => content));
  }
  expect(contents.filter((text) => text.startsWith('Freed'))).toHaveLength(3);
  const { results } = await env.DB.prepare('select * from self_resets where license_id = ?')
    .bind(license.id)
    .all();
  expect(results).toHaveLength(3);
});

it('the license of another account is neither suggested nor reset [10.3.4]', async () => {
  await redeem();
  await call('PUT', `/api/v2/licenses/${license.id}`, { body: { ips: ['192.0.2.1'] } });
  expect((await reset({}, EVE)).content).toContain('That is not one of your licenses');
  expect((await get.license(license.id)).ips).toHaveLength(1);
  const suggest = async (user: typeof ADA) =>
    (
      await discord.send({
        type: 4,
        name: 'reset',
        options: { license: '' },
        focused: 'license',
        member: { user },
      })
    ).json.data?.choices;
  expect(await suggest(EVE)).toEqual([]);
  expect(await suggest(ADA)).toEqual([
    {
      name: `${productName} …${license.licenseKey.slice(-4)} (#${license.id})`,
      value: `#${license.id}`,
    },
  ]);
});

it('an interaction that comes twice runs once [10.3.3]', async () => {
  await redeem();
  await call('PUT', `/api/v2/licenses/${license.id}`, { body: { ips: ['192.0.2.1'] } });
  const sent = { name: 'reset', options: { license: String(license.id) }, id: 'same' };
  const answers = await Promise.all([discord.send(sent), discord.send(sent, discord.newIsolate())]);
  expect(answers.map(({ content }) => content.slice(0, 12)).toSorted()).toEqual([
    'Freed slots:',
    'This command',
  ]);
});

it('a link opens the own page, for 15 minutes [10.2.1, 10.2.2, 10.3.4]', async () => {
  expect((await discord.send({ name: 'portal' })).content).toContain('No license is linked');
  await redeem();
  const { json } = await discord.send({ name: 'portal' });
  const url = json.data?.components?.[0]?.components[0]?.url ?? '';
  expect(url).toMatch(/^https:\/\/licet\.test\/my#code=[\w-]{43}$/);
  setNow(Date.now() + 15 * MINUTE_MS - 1);
  expect((await openPage(codeIn(url))).status).toBe(204);
  const late = await discord.send({ name: 'portal' });
  setNow(Date.now() + 15 * MINUTE_MS);
  const lateUrl = late.json.data?.components?.[0]?.components[0]?.url ?? '';
  expect((await openPage(codeIn(lateUrl))).json).toEqual({ fault: 'expired' });
});

it('a buyer gets one license by the role of the shop, also of 20 commands at once [10.3.9]', async () => {
  const ask = (roles: string[], isolate = discord.isolate) =>
    discord.send(
      { name: 'get-license', options: { product: String(productId) }, member: { roles } },
      isolate,
    );
  expect((await ask([])).content).toContain('You have no role that shows this purchase');
  const isolates = [discord.isolate, discord.newIsolate()];
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) => ask([BUYER_ROLE], isolates[index % 2])),
  );
  const { json } = await call('GET', `/api/v2/licenses/by-chat-id/${ADA.id}`);
  const [made, ...others] = Array.isArray(json) ? json : [];
  expect(others).toEqual([]);
  expect(made).toMatchObject({ productId, licenseType: 'PERMANENT', maxIPs: 5 });
  expect(new Set(answers.map(({ content }) => content))).toEqual(
    new Set([
      `Your license of **${productName}**: \`${made.licenseKey}\`, does not expire.\nHas a key leaked? Ask the shop for a new one.`,
    ]),
  );
  await call('POST', `/api/v2/licenses/${made.id}/transfer`, {
    body: { customerEmail: `${crypto.randomUUID()}@shop.example` },
  });
  expect((await ask([BUYER_ROLE])).content).toContain(
    'You had your license of this product before',
  );
  const suggested = await discord.send({
    type: 4,
    name: 'get-license',
    options: { product: productName },
    focused: 'product',
    member: { roles: [BUYER_ROLE] },
  });
  expect(suggested.json.data?.choices).toEqual([{ name: productName, value: String(productId) }]);
});

it.each([
  [{ name: 'license', subcommand: 'find', options: { query: 'x' } }],
  [{ name: 'license', subcommand: 'create', options: { product: '1' } }],
  [{ name: 'license', subcommand: 'extend', options: { license: '1', days: 1 } }],
  [{ name: 'license', subcommand: 'deactivate', options: { license: '1' } }],
  [{ name: 'blacklist', subcommand: 'add', options: { type: 'IP', value: '192.0.2.1' } }],
])('%j of a member without rights is refused [10.3.10]', async (sent) => {
  expect((await discord.send(sent)).content).toContain('Only administrators may use this command');
  const focused = Object.keys(sent.options)[0] ?? '';
  const suggested = await discord.send({ ...sent, type: 4, focused });
  expect(suggested.json.data?.choices).toEqual([]);
});

it('administrators create, find, extend and deactivate licenses, each as an event with their account [10.3.10]', async () => {
  const admin = (subcommand: string, options: Record<string, string | number>) =>
    discord.send({ name: 'license', subcommand, options, member: ADMIN });
  const made = await admin('create', { product: String(productId), user: EVE.id, days: 30 });
  const [, id = '', key = ''] = /#(\d+) .*`(.+)`/.exec(made.content) ?? [];
  expect(await get.license(Number(id))).toMatchObject({
    licenseKey: key,
    ownerChatId: EVE.id,
    expiresAfterDays: 30,
  });
  expect((await admin('find', { query: key })).content).toContain(`#${id} **${productName}**`);
  expect((await admin('extend', { license: `#${id}`, days: 10 })).content).toContain(
    '40 days from the first use',
  );
  expect((await admin('extend', { license: `#${license.id}`, days: 10 })).content).toContain(
    'does not expire',
  );
  expect((await admin('deactivate', { license: `#${id}` })).content).toContain('is deactivated');
  expect((await get.license(Number(id))).licenseStatus).toBe('DEACTIVATED');
  const { json } = await call('GET', `/api/v2/events?resourceType=license&resourceId=${id}`);
  expect(json).toMatchObject(
    Array.from({ length: 3 }, () => ({ actor: { tokenName: `discord:${ADA.id}` } })),
  );
  const byServer = await discord.send({
    name: 'license',
    subcommand: 'find',
    options: { query: key },
    member: { permissions: '32' },
  });
  expect(byServer.content).toContain(id);
  const suggested = await discord.send({
    type: 4,
    name: 'license',
    subcommand: 'extend',
    options: { license: key.slice(0, 9) },
    focused: 'license',
    member: ADMIN,
  });
  expect(suggested.json.data?.choices).toMatchObject([{ value: `#${id}` }]);
});

it('administrators see the number of slots of a license that they find by a text, also of long values [10.3.10]', async () => {
  const hwids = Array.from({ length: 20 }, (_, index) => `${index} ${'h'.repeat(300)}`);
  await create.license({ productId, maxHWIDs: 60, hwids, notes: 'with long values' });
  const options = { query: 'long values' };
  const found = await discord.send({ name: 'license', subcommand: 'find', options, member: ADMIN });
  expect(found.content).toContain('hardware IDs 20 of 60');
});

it('administrators find a license by a replaced key, and change none by it [7.3.4]', async () => {
  const admin = (subcommand: string, options: Record<string, string | number>) =>
    discord.send({ name: 'license', subcommand, options, member: ADMIN });
  const { licenseKey } = license;
  await call('POST', `/api/v2/licenses/${license.id}/rotate`, { body: {} });
  expect((await admin('find', { query: licenseKey })).content).toContain(`#${license.id} `);
  for (const subcommand of ['extend', 'deactivate']) {
    expect((await admin(subcommand, { license: licenseKey, days: 7 })).content, subcommand).toBe(
      'There is no such license. Choose one of the list, or use /license find.',
    );
  }
  expect((await get.license(license.id)).licenseStatus).toBe('ACTIVE');
});

it('administrators block an address or a hardware ID, and a fault is named [10.3.10]', async () => {
  const block = (options: Record<string, string>) =>
    discord.send({ name: 'blacklist', subcommand: 'add', options, member: ADMIN });
  expect(
    (await block({ type: 'IP', value: '203.0.113.0/24', product: String(productId) })).content,
  ).toContain('is blocked for');
  expect((await block({ type: 'HWID', value: 'cheat', reason: 'resold' })).content).toContain(
    'for all products',
  );
  expect((await block({ type: 'IP', value: 'nonsense' })).content).toContain(
    'value must be an IP address or a CIDR range',
  );
});

it('a refusal of a command of administrators names the option and the next step [10.3.2, 10.3.10]', async () => {
  const content = async (
    name: string,
    subcommand: string,
    options: Record<string, string | number>,
  ) => (await discord.send({ name, subcommand, options, member: ADMIN })).content;
  const range = await content('blacklist', 'add', { type: 'IP', value: '0.0.0.0/1' });
  expect(range).toMatch(/^value must be a range of .*Correct it, and write the command again\.$/);
  const entry = { type: 'HWID', value: crypto.randomUUID() };
  await content('blacklist', 'add', entry);
  expect(await content('blacklist', 'add', entry)).toBe(
    `\`${entry.value}\` is blocked for all products already. To change the entry, use the console.`,
  );
  for (const days of [0, -1, 3651, 1.5]) {
    const made = await content('license', 'create', { product: String(productId), days });
    expect(made, String(days)).toBe('Give a number of days from 1 to 3650.');
  }
  const options = { license: `#${license.id}`, days: 7 };
  expect(await content('license', 'extend', options)).toContain(
    'To give it an end, use the console',
  );
  const expiryDate = new Date(Date.now() + DAY_MS).toISOString();
  const state = { licenseType: 'TEMPORARY', expiryDate, licenseStatus: 'DEACTIVATED' };
  await updateLicense(license.id, state);
  const stays = 'To activate it, use the console.';
  expect(await content('license', 'extend', options)).toContain(`It stays deactivated. ${stays}`);
  expect(await content('license', 'deactivate', options)).toContain(
    'is deactivated already. To activate it again, use the console.',
  );
});

it('administrators are asked before they block a hardware ID that many machines share [3.80]', async () => {
  const options = { type: 'HWID', value: 'To be filled by O.E.M.' };
  const block = (force?: boolean) =>
    discord.send({
      name: 'blacklist',
      subcommand: 'add',
      options: { ...options, ...(force && { force: 'true' }) },
      member: ADMIN,
    });
  const asked = await block();
  expect(asked.content).toContain('it is a placeholder of the firmware');
  expect(asked.content).toContain('write the command again with `force`');
  expect((await call('GET', '/api/v2/blacklists?q=O.E.M')).json).toEqual([]);
  expect((await block(true)).content).toContain('for all products');
});

it('a reset is one claim, two reads and one change of the database', async () => {
  const { spy: DB, roundTrips } = spyOnDatabase(env.DB);
  discord = new FakeDiscord({ DB });
  await discord.setUp();
  await redeem();
  await updateLicense(license.id, { ips: ['192.0.2.1'], hwids: ['h'] });
  await discord.send({ name: 'licenses' });
  await settled();
  roundTrips.length = 0;
  const { content } = await discord.send({
    name: 'reset',
    options: { license: `#${license.id}` },
  });
  expect(content).toContain('Resets left: 2 of 3');
  // The later round trips publish the change, and are not awaited.
  const holding = (begin: string) =>
    roundTrips.flatMap((sent, index) =>
      sent.some(({ sql }) => sql.startsWith(begin)) ? index : [],
    );
  expect(holding('insert into "self_resets"')).toEqual([3]);
  expect(holding('select "licenses"."id"')).toEqual([1]);
});

it('a command that was removed says what to run [10.3.2]', async () => {
  expect((await discord.send({ name: 'old' })).content).toContain('npm run licet -- discord setup');
  expect((await discord.send({ name: 'constructor' })).content).toContain(
    'npm run licet -- discord setup',
  );
});

it('a role is given with a license, and taken when the last one that gives it ends [10.3.11]', async () => {
  await discord.setUp({ botToken: TOKEN });
  await redeem();
  expect(discord.roles.get(ADA.id)).toEqual(new Set([CUSTOMER_ROLE]));
  expect(discord.requests[0]).toMatchObject({ method: 'PUT', authorization: `Bot ${TOKEN}` });
  expect(discord.requests[0]?.url).toContain(
    `/guilds/${GUILD}/members/${ADA.id}/roles/${CUSTOMER_ROLE}`,
  );
  const second = await create.license({
    productId,
    licenseType: 'TEMPORARY',
    expiryDate: new Date(Date.now() + 3 * DAY_MS).toISOString(),
  });
  await redeem(second.licenseKey);
  await call('PUT', `/api/v2/licenses/${license.id}`, { body: { licenseStatus: 'DEACTIVATED' } });
  await discord.isolate.runScheduled();
  expect(discord.roles.get(ADA.id)).toEqual(new Set([CUSTOMER_ROLE]));
  setNow(Date.now() + 3 * DAY_MS + MINUTE_MS);
  // The first run of a day may leave no requests for roles.
  await discord.isolate.runScheduled();
  await discord.isolate.runScheduled();
  expect(discord.roles.get(ADA.id)).toEqual(new Set());
  const before = discord.requests.length;
  await discord.isolate.runScheduled();
  expect(discord.requests).toHaveLength(before);
});

it('forgetting a customer ends the sessions, links and codes of the account, takes its role, and forgets it [10.3.11, 10.3.12]', async () => {
  await discord.setUp({ botToken: TOKEN });
  const { license: bought, customerId } = await buy();
  await linkCode(await sessionOf(customerId));
  // By the key alone: the customer has no account.
  await redeem(bought.licenseKey);
  const cookie = (await pageOf(ADA)) ?? '';
  await discord.send({ name: 'portal' });
  await call('DELETE', `/api/v2/customers/${customerId}`);
  expect((await ask('GET', '/licenses', { cookie })).status).toBe(401);
  expect((await get.license(bought.id)).ownerChatId).toBe('');
  await discord.isolate.runScheduled();
  expect(discord.roles.get(ADA.id)).toEqual(new Set());
  const tables = ['discord_roles', 'discord_link_codes', 'page_sessions', 'page_links'];
  for (const table of tables) {
    const { results } = await env.DB.prepare(`select * from ${table}`).all();
    expect(results, table).toEqual([]);
  }
});

it('an account that has only redeemed a key is forgotten with a customer that is created for it [10.3.11, 10.3.12]', async () => {
  await redeem();
  const made = await call('POST', '/api/v2/customers', { body: { chatId: ADA.id } });
  const { id }: { id: number } = Object(made.json);
  expect((await call('DELETE', `/api/v2/customers/${id}`)).status).toBe(204);
  expect(await get.license(license.id)).toMatchObject({ ownerChatId: '', ownerChatUsername: '' });
  expect((await call('GET', '/api/v2/events')).text).not.toContain(ADA.id);
});

it('an account with seven roles gets all of them by two commands', async () => {
  await discord.setUp({ botToken: TOKEN });
  for (let index = 0; index < 7; index++) {
    const { id } = await create.product({ roleId: `330000000000000010${index}` });
    await create.license({ productId: id, ownerChatId: ADA.id });
  }
  for (let times = 0; times < 2; times++) await discord.send({ name: 'licenses' });
  expect(discord.roles.get(ADA.id)?.size).toBe(7);
});

it('a role that Discord refuses has its remedy in the settings, and is not tried again at once [10.3.11]', async () => {
  await discord.setUp({ botToken: TOKEN });
  discord.fault = () => Response.json({ code: 50013 }, { status: 403 });
  expect((await redeem()).content).toContain(
    'Your role could not be given. Tell the shop: its settings say why.',
  );
  await discord.newIsolate().call('GET', '/api/v2/healthy');
  const settings = await call('GET', '/api/v2/settings/discord');
  expect(settings.json).toMatchObject({
    hasBotToken: true,
    rolesFault: expect.stringContaining('move its role above'),
  });
  expect(settings.text).not.toContain(TOKEN);
  const fresh = discord.newIsolate();
  await discord.send({ name: 'licenses' }, fresh);
  expect(discord.requests).toHaveLength(1);
  // After an hour it is tried once more, and the pause begins again.
  setNow(Date.now() + 61 * MINUTE_MS);
  for (let times = 0; times < 3; times++)
    await discord.send({ name: 'licenses' }, discord.newIsolate());
  expect(discord.requests).toHaveLength(2);
  discord.fault = undefined;
  await discord.setUp({ botToken: TOKEN });
  await discord.send({ name: 'licenses' }, discord.newIsolate());
  expect(discord.roles.get(ADA.id)).toEqual(new Set([CUSTOMER_ROLE]));
});

it('a PUT leaves the fault of roles, unless it changes the application or the server, or sends the token [10.3.11]', async () => {
  await discord.setUp({ botToken: TOKEN });
  discord.fault = () => Response.json({ code: 50013 }, { status: 403 });
  const path = '/api/v2/settings/discord';
  const faultAfter = async (body: object) =>
    Object((await call('PUT', path, { body })).json).rolesFault;
  await redeem();
  const { json: before } = await call('GET', path);
  const { rolesFault } = Object(before);
  expect(rolesFault).toContain('move its role above');
  const ofService = {
    hasBotToken: false,
    rolesFault: null,
    interactionsUrl: 'https://evil.example',
  };
  for (const body of [{}, Object(before), ofService, { guildId: GUILD }]) {
    expect(await faultAfter(body)).toBe(rolesFault);
  }
  expect((await call('GET', path)).json).toEqual(before);
  expect(await faultAfter({ adminRoleId: null })).toBe(rolesFault);
  expect(await faultAfter({ botToken: TOKEN })).toBeNull();
  await discord.send({ name: 'licenses' }, discord.newIsolate());
  expect(await faultAfter({})).toBe(rolesFault);
  expect(await faultAfter({ guildId: '1100000000000000099' })).toBeNull();
});

const rolesFault = async (): Promise<string | null> =>
  Object((await call('GET', '/api/v2/settings/discord')).json).rolesFault;
/** Discord refuses one role, as one above that of the bot. */
const refuse = (roleId: string) => {
  discord.fault = () =>
    discord.requests.at(-1)?.url.endsWith(`/${roleId}`)
      ? Response.json({ code: 50013 }, { status: 403 })
      : new Response(null, { status: 204 });
};
/** A product with a role that no other product gives, and a license of it. */
async function buyWithRole(roleId: string, ownerChatId = ADA.id) {
  const { id, name } = await create.product({ name: `Role ${crypto.randomUUID()}`, roleId });
  await create.license({ productId: id, ownerChatId });
  return { id, name };
}

it('after one refusal no command of any member, and no scheduled run, tries a role for an hour [10.3.11]', async () => {
  await discord.setUp({ botToken: TOKEN });
  await redeem(license.licenseKey, EVE);
  expect(discord.roles.get(EVE.id)).toEqual(new Set([CUSTOMER_ROLE]));
  await create.license({ productId, ownerChatId: ADA.id });
  discord.fault = () => Response.json({ code: 50001 }, { status: 403 });
  const before = discord.requests.length;
  // In the isolate that has just read the settings, and in one that read them before.
  const other = discord.newIsolate();
  await discord.send({ name: 'licenses', member: { user: EVE } }, other);
  for (let times = 0; times < 5; times++) {
    await discord.send({ name: 'licenses' });
    await discord.send({ name: 'licenses' }, other);
  }
  await updateLicense(license.id, { licenseStatus: 'DEACTIVATED' });
  await discord.isolate.runScheduled();
  expect(discord.requests).toHaveLength(before + 1);
  discord.fault = undefined;
  setNow(Date.now() + 61 * MINUTE_MS);
  await discord.isolate.runScheduled();
  expect(discord.roles.get(EVE.id)).toEqual(new Set());
  expect(discord.roles.get(ADA.id)).toEqual(new Set([CUSTOMER_ROLE]));
});

it.each([
  [90, 91],
  [99_999_999_999, 3_601],
])(
  'a limit of %i seconds at Discord pauses the roles of the whole server, for an hour at most [10.3.11]',
  async (seconds, laterSeconds) => {
    await discord.setUp({ botToken: TOKEN });
    await create.license({ productId, ownerChatId: EVE.id });
    discord.fault = () => Response.json({ retry_after: seconds }, { status: 429 });
    expect((await redeem()).content).toContain('Your role follows');
    const member = { user: EVE };
    expect((await discord.send({ name: 'licenses', member })).content).toContain(
      'Your role follows',
    );
    expect(discord.requests).toHaveLength(1);
    discord.fault = undefined;
    setNow(Date.now() + laterSeconds * 1000);
    await discord.isolate.runScheduled();
    expect(discord.roles.get(ADA.id)).toEqual(new Set([CUSTOMER_ROLE]));
    expect(discord.roles.get(EVE.id)).toEqual(new Set([CUSTOMER_ROLE]));
  },
);

it('a role that waits is given in the next minute after a PUT has ended the pause [10.3.11]', async () => {
  await discord.setUp({ botToken: TOKEN });
  discord.fault = () => Response.json({ code: 50013 }, { status: 403 });
  await redeem();
  discord.fault = undefined;
  await call('PUT', '/api/v2/settings/discord', { body: { botToken: TOKEN } });
  await discord.isolate.runScheduled();
  expect(discord.roles.get(ADA.id)).toEqual(new Set([CUSTOMER_ROLE]));
});

it('a refused role stands in the settings with its product, also while others are given, until it is given [10.3.11]', async () => {
  await discord.setUp({ botToken: TOKEN });
  const high = '3300000000000000077';
  const { name } = await buyWithRole(high);
  refuse(high);
  await discord.send({ name: 'licenses' });
  const fault = `Role ${high} of the product "${name}": The bot may not give it. Give the bot`;
  expect(await rolesFault()).toContain(fault);
  // After the pause, the role that is not refused comes first.
  setNow(Date.now() + 61 * MINUTE_MS);
  expect((await redeem()).content).toContain('could not be given');
  expect(discord.requests.slice(1).map(({ url }) => url.slice(-19))).toEqual([CUSTOMER_ROLE, high]);
  expect(await rolesFault()).toContain(fault);
  discord.fault = undefined;
  setNow(Date.now() + 61 * MINUTE_MS);
  await discord.isolate.runScheduled();
  expect(discord.roles.get(ADA.id)).toContain(high);
  expect(await rolesFault()).toBeNull();
});

it('after the pause, the scheduled handler gives the other roles before the refused one [10.3.11]', async () => {
  await discord.setUp({ botToken: TOKEN });
  const high = '3300000000000000066';
  await buyWithRole(high);
  await create.license({ productId, ownerChatId: EVE.id });
  refuse(high);
  await discord.send({ name: 'licenses' });
  const { content } = await discord.send({ name: 'licenses', member: { user: EVE } });
  expect(content).toContain('Your role follows');
  setNow(Date.now() + 61 * MINUTE_MS);
  await discord.isolate.runScheduled();
  expect(discord.requests.slice(1).map(({ url }) => url.slice(-19))).toEqual([CUSTOMER_ROLE, high]);
});

it('roles with the same remedy share a line, in the settings and in a test [10.3.11, 10.3.14]', async () => {
  await discord.setUp({ botToken: TOKEN });
  await env.DB.exec(`update products set role_id = null where id <> ${productId}`);
  const other = await buyWithRole('3300000000000000055');
  discord.fault = () => Response.json({ code: 0 }, { status: 401 });
  const { json } = await discord.isolate.call('POST', '/api/v2/settings/discord/test');
  const line = await rolesFault();
  expect(Object(json)).toEqual({ roles: 2, faults: [line] });
  expect(line).toContain(
    `Role ${CUSTOMER_ROLE} of the product "${productName}", role 3300000000000000055 of the product "${other.name}": Discord does not accept the token`,
  );
});

it('a role that always fails at Discord holds up no other role, in a command or a scheduled run [10.3.11]', async () => {
  await discord.setUp({ botToken: TOKEN });
  const failing = Array.from({ length: 5 }, (_, index) => `330000000000000020${index}`);
  for (const roleId of failing) await buyWithRole(roleId);
  const fail = (status: number) => () =>
    failing.some((roleId) => discord.requests.at(-1)?.url.endsWith(`/${roleId}`))
      ? Response.json({ code: 30005 }, { status })
      : new Response(null, { status: 204 });
  const asked = () => discord.requests.splice(0).map(({ url }) => url.slice(-19));
  for (const status of [400, 500]) {
    discord.fault = fail(status);
    const { content } = await discord.send({ name: 'licenses' });
    expect(content).toContain('Your role follows');
    expect(asked().toSorted()).toEqual(failing);
  }
  // Ten minutes later they fail again, each for itself.
  setNow(Date.now() + 11 * MINUTE_MS);
  await discord.isolate.runScheduled();
  expect(asked().toSorted()).toEqual(failing);
  await create.license({ productId, ownerChatId: ADA.id });
  expect((await discord.send({ name: 'licenses' })).content).toContain('Your role follows');
  expect(asked()).toContain(CUSTOMER_ROLE);
  expect(await rolesFault()).toBeNull();
});

it('five roles that Discord does not know hold up no sixth [10.3.11]', async () => {
  await discord.setUp({ botToken: TOKEN });
  const gone = Array.from({ length: 5 }, (_, index) => `330000000000000040${index}`);
  for (const roleId of gone) await buyWithRole(roleId);
  const right = '3300000000000000499';
  await buyWithRole(right);
  discord.fault = () =>
    gone.some((roleId) => discord.requests.at(-1)?.url.endsWith(`/${roleId}`))
      ? Response.json({ code: 10011 }, { status: 404 })
      : new Response(null, { status: 204 });
  const asked = () => discord.requests.splice(0).map(({ url }) => url.slice(-19));
  await discord.send({ name: 'licenses' });
  expect(asked()).toEqual(gone);
  expect((await discord.send({ name: 'licenses' })).content).toContain('could not be given');
  expect(asked()).toContain(right);
});

it('a Discord that cannot be reached is asked once in a command, and once in a scheduled run', async () => {
  await discord.setUp({ botToken: TOKEN });
  for (const index of [0, 1]) await buyWithRole(`330000000000000030${index}`);
  discord.fault = () => Promise.reject(new Error('no route'));
  expect((await discord.send({ name: 'licenses' })).content).toContain('Your role follows');
  expect(discord.requests).toHaveLength(1);
  setNow(Date.now() + 11 * MINUTE_MS);
  await discord.isolate.runScheduled();
  expect(discord.requests).toHaveLength(2);
  discord.fault = undefined;
  setNow(Date.now() + 11 * MINUTE_MS);
  await discord.isolate.runScheduled();
  expect(discord.requests).toHaveLength(4);
});

it('each refused role is named, and one that no product gives any more is not [10.3.11]', async () => {
  await discord.setUp({ botToken: TOKEN });
  const gone = await buyWithRole('3300000000000000088');
  const odd = await buyWithRole('Customer');
  discord.fault = () => Response.json({ code: 10011 }, { status: 404 });
  await discord.send({ name: 'licenses' });
  const [first, second] = (await rolesFault())?.split('\n') ?? [];
  expect(first).toBe(
    `Role 3300000000000000088 of the product "${gone.name}": It is deleted at Discord. Choose another one at the product, or none.`,
  );
  expect(second).toBe(
    `Role Customer of the product "${odd.name}": It is no id of a role. Enter the id of a role at the product, or none.`,
  );
  for (const { id } of [gone, odd]) {
    await call('PUT', `/api/v2/products/${id}`, { body: { roleId: null } });
  }
  expect(await rolesFault()).toBeNull();
});

it('a test asks Discord for the roles, notes what it finds, and ends the pause when all is right [10.3.14]', async () => {
  await discord.setUp({ botToken: TOKEN });
  await env.DB.prepare('update products set role_id = null where id <> ?').bind(productId).run();
  const test = async () =>
    (await discord.isolate.call('POST', '/api/v2/settings/discord/test')).json;
  const serverRoles = (position: number) => [
    { id: GUILD, name: '@everyone', position: 0, permissions: '0' },
    { id: CUSTOMER_ROLE, name: 'Customer', position: 5, permissions: '0' },
    { id: '3300000000000000099', name: 'Bot', position, permissions: String(1 << 28) },
  ];
  let position = 9;
  const right = () => {
    const { method = '', url = '' } = discord.requests.at(-1) ?? {};
    if (url.endsWith('/users/@me')) return Response.json({ id: '42' });
    if (url.endsWith('/members/42')) return Response.json({ roles: ['3300000000000000099'] });
    if (url.endsWith('/roles')) return Response.json(serverRoles(position));
    return new Response(null, { status: method === 'PUT' ? 204 : 404 });
  };
  discord.fault = () => Response.json({ code: 50013 }, { status: 403 });
  await redeem();
  expect(await rolesFault()).toContain('move its role above this role');
  // Without a response nothing is known.
  discord.fault = () => new Response('', { status: 500 });
  expect(await test()).toMatchObject({
    roles: 1,
    faults: [expect.stringContaining('Discord returned 500. Roles could not be checked')],
  });
  expect(await rolesFault()).toContain('move its role above this role');
  for (const [status, code, words] of [
    [401, 0, 'Discord does not accept the token of the bot'],
    [403, 50001, 'The bot is not in the server'],
    [404, 10004, 'The bot does not see the server'],
  ] as const) {
    discord.fault = () => Response.json({ code }, { status });
    expect(await test()).toMatchObject({ roles: 1, faults: [expect.stringContaining(words)] });
    expect(await rolesFault()).toContain(
      `Role ${CUSTOMER_ROLE} of the product "${productName}": ${words}`,
    );
  }
  discord.fault = right;
  position = 4;
  expect(await test()).toEqual({
    roles: 1,
    faults: [
      `Role "Customer" of the product "${productName}": The role of the bot stands below it. Move the role of the bot above.`,
    ],
  });
  // The settings have the same words.
  expect(await rolesFault()).toBe(
    `Role ${CUSTOMER_ROLE} of the product "${productName}": The role of the bot stands below it. Move the role of the bot above.`,
  );
  await discord.send({ name: 'licenses' });
  expect(discord.requests.at(-1)?.method).toBe('GET');
  position = 9;
  expect(await test()).toEqual({ roles: 1, faults: [] });
  expect(await rolesFault()).toBeNull();
  // The role that was refused does not wait for the end of the hour.
  await discord.isolate.runScheduled();
  expect(discord.requests.at(-1)?.method).toBe('PUT');
  expect((await discord.send({ name: 'licenses' })).content).not.toContain('role');
  expect(discord.requests.at(-1)?.method).toBe('PUT');
});

it.each([
  ['a token that Discord does not accept', 401, 0, 'does not accept the token of the bot'],
  ['a bot that is not in the server', 403, 50001, 'The bot is not in the server'],
  ['a server that the bot does not see', 404, 10004, 'The bot does not see the server'],
  ['an unknown refusal', 403, 0, 'Discord refuses it (code 403)'],
])(
  'the settings of Discord name %s with its remedy, until any role is given [10.3.11]',
  async (_, status, code, words) => {
    await discord.setUp({ botToken: TOKEN });
    discord.fault = () => Response.json({ code }, { status });
    await redeem();
    expect(await rolesFault()).toContain(words);
    expect(await rolesFault()).toContain('npm run licet -- discord setup');
    discord.fault = undefined;
    setNow(Date.now() + 61 * MINUTE_MS);
    await create.license({ productId, ownerChatId: EVE.id });
    await discord.send({ name: 'licenses', member: { user: EVE } });
    expect(await rolesFault()).toBeNull();
  },
);

it('a role that was deleted at Discord is named, and keeps no other role from being given', async () => {
  await discord.setUp({ botToken: TOKEN });
  const other = await create.product({ roleId: '3300000000000000009' });
  const second = await create.license({ productId: other.id });
  await redeem();
  await redeem(second.licenseKey);
  discord.fault = () => Response.json({ code: 10011 }, { status: 404 });
  const before = discord.requests.length;
  expect((await discord.send({ name: 'licenses' })).content).toContain('could not be given');
  expect(discord.requests).toHaveLength(before + 2);
  discord.fault = undefined;
  expect((await discord.send({ name: 'licenses' })).content).not.toContain('could not be given');
  const { json } = await call('GET', '/api/v2/settings/discord');
  expect(json).toMatchObject({ rolesFault: null });
});

it.each([
  ['429', () => Response.json({ retry_after: 0.5 }, { status: 429 })],
  ['500', () => new Response('', { status: 500 })],
  ['no connection', () => Promise.reject(new Error('Gone'))],
])('a role that meets %s follows, by the next command or by itself [10.3.11]', async (_, fault) => {
  await discord.setUp({ botToken: TOKEN });
  await create.license({ productId, ownerChatId: EVE.id });
  discord.fault = fault;
  expect((await redeem()).content).toContain('Your role follows');
  await discord.send({ name: 'licenses', member: { user: EVE } });
  discord.fault = undefined;
  await discord.send({ name: 'licenses' });
  expect(discord.roles.get(ADA.id)).toEqual(new Set([CUSTOMER_ROLE]));
  setNow(Date.now() + 11 * MINUTE_MS);
  await discord.isolate.runScheduled();
  expect(discord.roles.get(EVE.id)).toEqual(new Set([CUSTOMER_ROLE]));
  // It is taken as every other one.
  await call('PUT', `/api/v2/licenses/${license.id}`, { body: { licenseStatus: 'DEACTIVATED' } });
  await discord.isolate.runScheduled();
  expect(discord.roles.get(ADA.id)).toEqual(new Set());
});

it.each([
  ['a member who has left the server', 10007],
  ['an account that was deleted', 10013],
])('a role is not tried again for %s [10.3.11]', async (_, code) => {
  await discord.setUp({ botToken: TOKEN });
  discord.fault = () => new Response('', { status: 500 });
  await redeem();
  discord.fault = () => Response.json({ code }, { status: 404 });
  expect((await discord.send({ name: 'licenses' })).content).toContain(
    'Join it, then use /licenses',
  );
  for (let runs = 0; runs < 3; runs++) {
    setNow(Date.now() + 11 * MINUTE_MS);
    await discord.isolate.runScheduled();
  }
  expect(discord.requests).toHaveLength(3);
  expect(await rolesFault()).toBeNull();
});

it.each([
  ['https://fake.example', ['https://fake.example/api/v10/guilds/'], []],
  ['discord', [], ['Nothing is sent to Discord: DISCORD_URL must be an address such as https']],
  ['http://127.0.0.1:9000', [], ['Nothing is sent to Discord: DISCORD_URL must begin with https']],
])('roles with DISCORD_URL %s go to %j [8.4.5]', async (DISCORD_URL, urls, log) => {
  const lines = captureConsole();
  const other = new FakeDiscord({ DISCORD_URL });
  await other.setUp({ botToken: TOKEN });
  const { content } = await other.send({ name: 'redeem', options: { key: license.licenseKey } });
  expect(content.includes('Your role follows')).toBe(urls.length === 0);
  expect(other.requests.map(({ url }) => url)).toEqual(
    urls.map((url) => expect.stringContaining(url)),
  );
  expect(lines).toEqual(log.map((line) => expect.stringContaining(line)));
});

it('a slow command is deferred, and its message is edited later [10.3.2]', async () => {
  await discord.setUp({ botToken: TOKEN });
  const slow = Promise.withResolvers<Response>();
  discord.fault = () =>
    discord.requests.length === 1 ? slow.promise : new Response(null, { status: 204 });
  const answer = redeem();
  setTimeout(() => slow.resolve(new Response(null, { status: 204 })), 2_500);
  const { first, content } = await answer;
  expect(first).toEqual({ type: 5, data: { flags: 64 } });
  expect(content).toContain('is linked to your account');
});

it('settings with a wrong field are rejected, and no response or event shows the token of the bot [10.3.13]', async () => {
  const put = (body: object) => call('PUT', '/api/v2/settings/discord', { body });
  expect((await put({ publicKey: 'abc' })).json).toMatchObject({
    message: expect.stringContaining('publicKey must be the public key'),
  });
  expect((await put({ guildId: 'abc' })).json).toMatchObject({
    message: expect.stringContaining('guildId must be an id of Discord'),
  });
  const { text, json } = await put({ botToken: TOKEN });
  expect(json).toMatchObject({
    hasBotToken: true,
    interactionsUrl: 'https://licet.test/discord/interactions',
  });
  const events = await call('GET', '/api/v2/events?resourceType=settings');
  expect(text + events.text).not.toContain(TOKEN);
  expect(events.text).toContain('botToken');
});
