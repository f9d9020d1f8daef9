import { dynamicSettings } from '@licet/contract/dynamic-market';
import { DYNAMIC_PRESETS } from '@licet/contract/dynamic-presets';
import { expect, it } from 'vitest';
import { dynamic } from '../../src/channels/markets/adapters/dynamic.ts';
import { accepted, hmac, incoming, NOW, readBy, SECRET, settingsOf } from './samples.ts';

/** Shops that ask for a key and wait, from the samples of their documents. */

const T = String(NOW / 1000);
const sellauth = {
  event: 'INVOICE.ITEM.DELIVER-DYNAMIC',
  id: 10042,
  unique_id: '8e32-0000000010042',
  email: 'a@b.c',
  shop_id: 1,
  shop_customer_id: 501,
  item: { id: 77, quantity: 2, product: { id: 5 }, variant: { id: 9 }, custom_fields: {} },
};
const shoppex = {
  deliveryId: 'del_1',
  idempotencyKey: 'del_1',
  invoiceId: 'inv_1',
  productId: 'p',
  productTitle: 'P',
  customerEmail: 'a@b.c',
  quantity: 1,
};

async function read(
  preset: keyof typeof DYNAMIC_PRESETS,
  body: object,
  headersOf: (text: string) => Promise<Record<string, string>>,
) {
  const text = JSON.stringify(body);
  const settings = dynamicSettings.parse(DYNAMIC_PRESETS[preset].settings);
  return readBy(dynamic, incoming(text, await headersOf(text)), {
    ...settingsOf('dynamic'),
    settings,
  });
}
const asSellAuth = (body: object) =>
  read('sellauth', body, async (text) => ({ 'X-Signature': await hmac(text) }));
const asShoppex = (body: object) =>
  read('shoppex', body, async (text) => ({
    'X-Shoppex-Delivery-Id': 'del_1',
    'X-Shoppex-Timestamp': T,
    'X-Shoppex-Signature-V2': `v1,t=${T},h=${await hmac(`del_1.${T}.${text}`)}`,
  }));

it('SellAuth asks once for each item, and gets its keys as lines [9.2.1]', async () => {
  const { notices, needsKey, respond } = accepted(await asSellAuth(sellauth));
  expect(notices).toEqual([
    {
      do: 'grant',
      item: '5',
      reference: '77',
      order: '8e32-0000000010042',
      buyer: { id: '501', name: null, email: 'a@b.c' },
      quantity: 2,
      isTest: false,
      facts: {},
      about: [],
    },
  ]);
  expect(needsKey).toBe(true);
  expect(respond?.(['A', 'B'])).toEqual({
    body: 'A\nB',
    contentType: 'text/plain; charset=utf-8',
  });
});

it('SellAuth can write the product in another place', async () => {
  const item = { id: 77, quantity: 1, product_id: 5 };
  expect(accepted(await asSellAuth({ ...sellauth, item })).notices).toMatchObject([{ item: '5' }]);
});

it('another event of SellAuth is accepted, and gets no key [9.2.8]', async () => {
  const body = { event: 'NOTIFICATION.SHOP_INVOICE_CREATED', data: { invoice_id: 1 } };
  expect(accepted(await asSellAuth(body))).toMatchObject({
    notices: [],
    ignored: 'This event asks for no key',
  });
});

it('Shoppex gets its keys in JSON', async () => {
  const { notices, respond } = accepted(await asShoppex(shoppex));
  expect(notices).toMatchObject([
    { item: 'p', reference: 'del_1', order: 'inv_1', buyer: { email: 'a@b.c' } },
  ]);
  expect(JSON.parse(respond?.(['A"$&', 'B']).body ?? '')).toEqual({
    data: {
      service_text: 'A"$&\nB',
      dynamic_response: { key: 'A"$&\nB' },
      deliveryType: 'DYNAMIC',
      count: 2,
    },
  });
});

it('Sell.app has the buyer, the order and the e-mail in its invoice', async () => {
  const body = {
    invoice: { id: 77, customer_information: { id: 501, email: 'a@b.c' } },
    listing: { id: 5 },
    variant: { id: 9 },
    status: 'COMPLETED',
  };
  const sent = await read('sellapp', body, async (text) => ({ Signature: await hmac(text) }));
  expect(accepted(sent).notices).toMatchObject([
    {
      item: '5',
      reference: '["77","9"]',
      order: '77',
      buyer: { id: '501', email: 'a@b.c' },
    },
  ]);
});

it('a template of a response that is no JSON is rejected', () => {
  const settings = (response: string) =>
    dynamicSettings.safeParse({ ...DYNAMIC_PRESETS.sellauth.settings, response }).success;
  expect([settings('not json {keys}'), settings('{"key":"{keys}"}')]).toEqual([false, true]);
});

it('the test button of Sell.app is not signed, and is rejected', async () => {
  const result = await read('sellapp', { order_id: 1, product_id: 2 }, async () => ({}));
  expect(result).toEqual({ status: 401, why: 'The header Signature is missing' });
});

it.each([
  [{ kind: 'secret', field: 'auth.key' }, {}, { auth: { key: SECRET } }],
  [{ kind: 'secret', header: 'X-Key' }, { 'X-Key': SECRET }, {}],
] as const)('a shop sends its secret itself: %j', async (signature, headers, fields) => {
  const settings = dynamicSettings.parse({ signature, item: 'product', line: 'order' });
  const reading = (sent: Record<string, string>, body: object) =>
    readBy(dynamic, incoming(JSON.stringify(body), sent), { ...settingsOf('dynamic'), settings });
  const body = { product: 1, order: 2, ...fields };
  expect(accepted(await reading(headers, body)).notices).toMatchObject([{ item: '1' }]);
  expect(await reading({}, { product: 1, order: 2 })).toMatchObject({ status: 401 });
  const wrong = JSON.parse(JSON.stringify({ headers, body }).replaceAll(SECRET, `${SECRET}x`));
  expect(await reading(wrong.headers, wrong.body)).toMatchObject({ status: 401 });
});

it.each(['item', 'line'] as const)('a body without its %s is rejected', async (field) => {
  const { item: _, ...rest } = sellauth;
  const sent =
    field === 'item' ? { ...rest, item: { id: 77 } } : { ...rest, item: { product: { id: 5 } } };
  expect(await asSellAuth(sent)).toMatchObject({ status: 400 });
});

it('a market without settings takes nothing', async () => {
  const headers = { 'X-Signature': await hmac('{}') };
  expect(await readBy(dynamic, incoming('{}', headers), settingsOf('dynamic'))).toMatchObject({
    status: 400,
  });
});
