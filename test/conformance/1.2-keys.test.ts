import { env } from 'cloudflare:workers';
import { afterEach, beforeAll, expect, it } from 'vitest';
import { settled } from '../support/app.ts';
import {
  call,
  create,
  expectError,
  get,
  historyOf,
  type ReadResponse,
  validate,
} from '../support/client.ts';
import { ADA, ADMIN_ROLE, FakeDiscord } from '../support/fake-discord.ts';
import { setNow } from '../support/history.ts';
import { importItems, importOne } from '../support/import.ts';
import { idsOf, licenses } from '../support/resources.ts';
import { sampleOf } from '../support/sample.ts';
import { KEY, SPOILT } from '../support/spoilt-keys.ts';

/** Keys as people read them (decision 1.2), at every door but the command line, which `test/cli/keys.test.ts` tries. */

afterEach(settled);

const FORMS = Object.entries(SPOILT);
const TRIED = sampleOf(FORMS, 6);
let productId: number;
let id: number;
let clients = 0;

/** A connecting address of its own for each request, because refused ones are limited. */
const newClient = (): string => {
  clients++;
  return `198.51.${100 + Math.floor(clients / 250)}.${1 + (clients % 250)}`;
};

const ask = (licenseKey: string, fields: object = {}): Promise<ReadResponse> =>
  validate({ licenseKey, productId, ...fields }, { connectingAddress: newClient() });

async function importKey(licenseKey: string, fields: object = {}): Promise<number> {
  const item = { licenseKey, productId, licenseType: 'PERMANENT', maxIPs: -1, ...fields };
  const { outcome, id, reason } = await importOne('licenses', item);
  expect(outcome, String(reason)).toBe('created');
  return Number(id);
}

const byKey = (key: string): Promise<ReadResponse> =>
  call('GET', `${licenses.path}/by-license-key/${encodeURIComponent(key)}`);

const found = (q: string): Promise<number[]> =>
  idsOf(`${licenses.path}?q=${encodeURIComponent(q)}`);

beforeAll(async () => {
  ({ id: productId } = await create.product());
  id = await importKey(KEY);
});

it('the table has many forms, and none of them twice', () => {
  expect(FORMS.length).toBeGreaterThan(60);
  expect(new Set(Object.values(SPOILT)).size).toBe(FORMS.length);
});

it.each(TRIED)(
  'a key is read as a person reads it, at every door: %s [1.2.20, 1.2.21, 1.2.22, 1.2.27, 1.2.32]',
  async (_, sent) => {
    expect((await ask(sent)).status).toBe(200);
    const v2 = await call('POST', '/api/v2/validate', { body: { licenseKey: sent, productId } });
    expect(v2.status).toBe(200);
    expect((await byKey(sent)).json).toMatchObject({ id });
    expect(await found(sent)).toEqual([id]);
  },
);

it('a record has the key as it was sent, and belongs to the license that was meant [1.2.23]', async () => {
  const key = '3333-0QX4-B1TD-WJ8R-5HVN';
  const licenseId = await importKey(key);
  const sent = `“${key.replaceAll('-', '–')}”\u200b`;
  await ask(sent, { productVersion: '1' });
  await ask(key);
  const records = await historyOf({ licenseKey: key }, 2);
  expect(records).toMatchObject([
    { licenseId, licenseKey: key, valid: true },
    { licenseId, licenseKey: sent, valid: true },
  ]);
  // The seller may paste the spoilt key, too.
  expect(await historyOf({ licenseKey: sent }, 2)).toEqual(records);
  expect((await get.license(licenseId)).totalRequests).toBe(2);
});

it('an installation is counted once, whichever form of the key its program sends [1.2.33]', async () => {
  const key = '6666-0QX4-B1TD-WJ8R-5HVN';
  const licenseId = await importKey(key);
  const program = { ip: '198.51.100.66', hwid: 'HW 66', productVersion: '6.6' };
  const forms = [`“${key}”`, `Your key is ${key}!`, key];
  for (const form of forms) expect((await ask(form, program)).status).toBe(200);
  const records = await historyOf({ licenseKey: key }, forms.length);
  expect(records.map(({ licenseKey }) => licenseKey)).toEqual(forms.toReversed());
  const { json } = await call('GET', `${licenses.path}/${licenseId}/installations`);
  expect(json).toMatchObject([{ ...program, requests: forms.length }]);
});

it('a record without a look-up belongs to the license that was meant [1.2.23]', async () => {
  const key = '4444-0QX4-B1TD-WJ8R-5HVN';
  const licenseId = await importKey(key);
  const sent = `‘${key}’`;
  expect((await validate({ licenseKey: sent })).status).toBe(400);
  expect(await historyOf({ licenseKey: key }, 1)).toMatchObject([
    { licenseId, licenseKey: sent, remarks: 'productId is required' },
  ]);
});

it('over the limit of refused validations, a key that memory knows is read, too [1.2.20]', async () => {
  const sent = `${KEY}.`;
  expect((await ask(sent)).status).toBe(200);
  // The whole test is in one minute.
  setNow(Date.now());
  const connectingAddress = newClient();
  for (let count = 0; count <= 101; count++) await validate('{', { connectingAddress });
  const other = await validate({ licenseKey: 'OTHER', productId }, { connectingAddress });
  expect(other.status).toBe(429);
  const { status } = await validate({ licenseKey: sent, productId }, { connectingAddress });
  expect(status).toBe(200);
});

it.each(TRIED)('/redeem takes a key as a person reads it: %s [1.2.27]', async (_, sent) => {
  const discord = new FakeDiscord();
  await discord.setUp();
  await env.DB.prepare("update licenses set owner_chat_id = '' where id = ?").bind(id).run();
  const { content } = await discord.send({
    name: 'redeem',
    options: { key: sent },
    member: { user: ADA },
  });
  expect(content).toContain('is linked to your account');
  expect((await get.license(id)).ownerChatId).toBe(ADA.id);
});

it('/license find takes a key as a person reads it [1.2.27]', async () => {
  const discord = new FakeDiscord();
  await discord.setUp();
  const { content } = await discord.send({
    name: 'license',
    subcommand: 'find',
    options: { query: `“${KEY.replaceAll('-', '–')}”` },
    member: { user: ADA, roles: [ADMIN_ROLE] },
  });
  expect(content).toContain(`#${id} `);
});

it.each([
  ['a wrong character', KEY.replace('7', '8')],
  ['a group too few', KEY.slice(5)],
  ['a group too many', `${KEY}-ABCD`],
  ['letters of another script', KEY.replace('B', 'В')],
  ['U for V', KEY.replace('V', 'U')],
  ['two keys', `${KEY} or ${KEY.replace('7', '8')}`],
  ['two keys without a blank', `${KEY}${KEY.replace('7', '8')}`],
  ['a group too many among words', `Your key is ${KEY}-ABCD`],
  ['a character too many among words', `Your key is ${KEY}A`],
  ['a word that continues it', `https://shop.example/key-${KEY}`],
  ['1,000 characters around it', `${KEY}${'"'.repeat(1_000)}`],
])('a text is no reading of a key: %s [1.2.20, 1.2.32]', async (_, sent) => {
  expect((await ask(sent)).status).toBe(400);
  expectError(await byKey(sent), 404, /./);
});

it.each([
  ['a sharp s', 'ß-1'],
  ['an emoji', '🔑-❤️-1'],
  ['quotes', '"QUOTED-1"'],
  ['blanks', 'TWO WORDS 1'],
  ['typographic dashes', 'DASH–1'],
  ['a zero width space', 'ZERO\u200b-1'],
  ['full width', 'ＦＵＬＬ－１'],
  ['a final dot', 'DOT-1.'],
  ['Arabic digits', 'ARABIC-٧'],
  ['a backslash', 'C:\\KEY-1'],
  ['twenty characters', 'AAAA0BBBB1CCCC2DDDD3'],
  ['letters that our alphabet lacks', 'OILU-OOOO-IIII-LLLL-0001'],
  ['mojibake', 'KEY-Ã¼-1'],
])('an imported key of any form counts as it was sent: %s [1.2.9, 1.2.20]', async (_, key) => {
  const own = await importKey(key);
  expect((await ask(` ${key.toLowerCase()} `)).status).toBe(200);
  expect((await byKey(key)).json).toMatchObject({ id: own });
  expect(await found(key)).toEqual([own]);
  expect(await historyOf({ licenseKey: key }, 1)).toMatchObject([{ licenseId: own }]);
});

it.each([
  ['letters that our alphabet lacks', 'OIL0-AAAA-BBBB-CCCC-DDDD', 'OIL0–AAAA–BBBB–CCCC–DDDD'],
  ['twenty characters', 'AAAA0BBBB1CCCC2DDDD4', 'AAAA0BBBB1CCCC2DDDD4\u200b'],
  ['another form', 'SHOP_77-ключ', '“Shop_77–Ключ”.'],
])('an imported key is read like one of our own: %s [1.2.21]', async (_, key, sent) => {
  const own = await importKey(key);
  expect((await ask(sent)).status).toBe(200);
  expect((await byKey(sent)).json).toMatchObject({ id: own });
  expect(await found(sent)).toEqual([own]);
});

it('if keys read alike, the one as it was sent counts, then the plain reading [1.2.24]', async () => {
  const keys = [
    'ALIKE-1',
    'ALIKE–1',
    '"ALIKE-1"',
    'AAAA-BBBB-CCCC-DDDD-0000',
    'AAAA-BBBB-CCCC-DDDD-OOOO',
  ];
  const ids = new Map<string, number>();
  for (const key of keys) ids.set(key, await importKey(key));
  const idsMeantBy = async (sent: string) => {
    const { status } = await ask(sent, { productVersion: sent });
    expect(status).toBe(200);
    const { json } = await byKey(sent);
    return Object(json).id;
  };
  for (const key of keys) expect(await idsMeantBy(key)).toBe(ids.get(key));
  expect(await idsMeantBy('ALIKE−1')).toBe(ids.get('ALIKE-1'));
  expect(await idsMeantBy('“ALIKE–1”')).toBe(ids.get('ALIKE-1'));
  expect(await idsMeantBy('AAAABBBBCCCCDDDDOOOO')).toBe(ids.get('AAAA-BBBB-CCCC-DDDD-0000'));
  expect(await idsMeantBy('AAAA–BBBB–CCCC–DDDD–OOOO')).toBe(ids.get('AAAA-BBBB-CCCC-DDDD-OOOO'));
  const records = await historyOf({ licenseKey: 'ALIKE–1' }, 1);
  expect(records).toMatchObject([{ licenseId: ids.get('ALIKE–1') }]);
});

it('a reading means no license whose stored key is not that reading [1.2.24]', async () => {
  await importKey('ODD\u200b-1');
  expect((await ask('ODD-1')).status).toBe(400);
  expect((await ask('“ODD\u200b-1”')).status).toBe(400);
});

it('a replaced key is known as replaced as a person reads it [1.2.25]', async () => {
  const { licenseKey, id: licenseId } = await create.license({ productId });
  const sent = `«${licenseKey.replaceAll('-', '—')}».`;
  await ask(sent);
  await call('POST', `${licenses.path}/${licenseId}/rotate`);
  expect((await ask(sent)).status).toBe(400);
  expectError(await byKey(sent), 404, /./);
  expect(await found(sent)).toEqual([licenseId]);
  const [record] = await historyOf({ licenseKey, valid: 'false' }, 1);
  expect(record).toMatchObject({
    licenseKey: sent,
    licenseId: null,
    remarks: expect.stringMatching(/^This key was replaced on /),
  });
});

it('a placeholder of a market is known as one in quotes, too [7.5.1]', async () => {
  const sent = '“%%__LICENSE__%%”';
  await ask(sent);
  const [record] = await historyOf({ licenseKey: sent }, 1);
  expect(record?.remarks).toMatch(/did not replace the placeholder/);
});

it('a forgotten customer leaves no key in the history, however it was sent [6.18]', async () => {
  const key = '5555-0QX4-B1TD-WJ8R-5HVN';
  const sent = `„${key}“`;
  await ask(sent, { hwid: 'HW 5' });
  await historyOf({ licenseKey: key }, 1);
  const { json } = await call('POST', '/api/v2/customers', {
    body: { email: 'spoilt@example.com' },
  });
  const customerId: number = Object(json).id;
  await importKey(key, { customer: { email: 'spoilt@example.com' } });
  await call('DELETE', `/api/v2/customers/${customerId}`);
  const records = await historyOf({ licenseKey: key }, 0);
  expect(records).toEqual([]);
});

it('a forgotten customer leaves no spoilt key in the records of the license [6.18, 1.2.33]', async () => {
  const key = '7777-0QX4-B1TD-WJ8R-5HVN';
  const { json } = await call('POST', '/api/v2/customers', {
    body: { email: 'spoilt7@example.com' },
  });
  await importKey(key, { customer: { email: 'spoilt7@example.com' } });
  await ask(`“${key}”`, { hwid: 'HW 7' });
  const [record] = await historyOf({ licenseKey: key }, 1);
  await call('DELETE', `/api/v2/customers/${Object(json).id}`);
  const after = await call('GET', `/api/v2/requests/${record?.id}`);
  expect(after.json).toMatchObject({ id: record?.id, licenseKey: null, hwid: null });
});

it('each form of the table counts as it was sent, once it is imported as the key of a license [1.2.9, 1.2.24]', {
  tags: 'long',
}, async () => {
  const keys = new Map(FORMS.map(([, text]) => [text.trim().toUpperCase(), text.trim()]));
  const items = [...keys.values()].map((licenseKey) => ({
    licenseKey,
    productId,
    licenseType: 'PERMANENT',
    maxIPs: -1,
  }));
  const { results } = await importItems('licenses', items);
  expect(new Set(results.map(({ outcome }) => outcome))).toEqual(new Set(['created']));
  for (const [index, { licenseKey }] of items.entries()) {
    expect((await byKey(licenseKey)).json).toMatchObject({ id: results[index]?.id });
    expect((await ask(licenseKey, { productVersion: String(index) })).status).toBe(200);
  }
  expect((await byKey(KEY)).json).toMatchObject({ id });
});
