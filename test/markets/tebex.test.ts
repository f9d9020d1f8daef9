import { expect, it } from 'vitest';
import { tebex } from '../../src/channels/markets/adapters/tebex.ts';
import { sha256Hex } from '../../src/lib/sha256.ts';
import { accepted, hmac, incoming, readBy, settingsOf } from './samples.ts';

/** Tebex: its notices, from the samples of its documents. */

const TRANSACTION = 'tbx-42621624a26579-8a531b';
const DATE = '2026-08-04T07:23:03+00:00';
const AT = Date.parse(DATE);
const payment = {
  transaction_id: TRANSACTION,
  status: { id: 1, description: 'Complete' },
  created_at: DATE,
  payment_method: { name: 'PayPal', refundable: true },
  customer: { email: 'a@b.c', username: { id: '2535', username: 'Steve' } },
  products: [
    {
      id: 127,
      name: 'P',
      quantity: 1,
      variables: [],
      expires_at: null,
      custom: null,
      username: null,
      servers: [],
    },
  ],
  recurring_payment_reference: null,
  custom: {},
};

async function read(type: string, subject: object) {
  const body = JSON.stringify({ id: '173c9b8f', type, date: DATE, subject });
  const signature = await hmac(await sha256Hex(body));
  return accepted(
    await readBy(tebex, incoming(body, { 'X-Signature': signature }), settingsOf('tebex')),
  );
}
const notices = async (type: string, subject: object) => (await read(type, subject)).notices;

const grant = {
  do: 'grant',
  item: '127',
  reference: `${TRANSACTION}:127`,
  order: TRANSACTION,
  onlyOf: 'item',
  buyer: { id: '2535', name: 'Steve', email: 'a@b.c' },
  quantity: 1,
  isTest: false,
  facts: { boughtAt: AT },
  about: [],
};

it('the address is confirmed with the same id', async () => {
  const { respond, eventId } = await read('validation.webhook', {});
  expect(eventId).toBe('173c9b8f');
  expect(respond?.([])).toEqual({ body: '{"id":"173c9b8f"}', contentType: 'application/json' });
});

it('two lines of one package are two purchases', async () => {
  const [product] = payment.products;
  const products = [product, product];
  expect(await notices('payment.completed', { ...payment, products })).toMatchObject([
    { reference: `${TRANSACTION}:127` },
    { reference: `${TRANSACTION}:127:1` },
  ]);
});

it('a payment grants each of its lines [9.2.1]', async () => {
  expect(await notices('payment.completed', payment)).toEqual([grant]);
  const [product] = payment.products;
  const products = [product, { ...product, id: 5, quantity: 3 }];
  expect(await notices('payment.completed', { ...payment, products })).toMatchObject([
    { item: '127', reference: `${TRANSACTION}:127` },
    { item: '5', reference: `${TRANSACTION}:5`, quantity: 3 },
  ]);
});

it.each([
  [{ username: 'Alex' }, { name: 'Alex', id: null }],
  [{ username: null }, { name: null, id: null }],
  [{ username: { id: '1', username: 'Alex' } }, { name: 'Alex', id: '1' }],
])('a buyer can be written in three ways: %j', async (customer, buyer) => {
  const sent = { ...payment, customer: { email: null, ...customer } };
  expect(await notices('payment.completed', sent)).toMatchObject([{ buyer }]);
});

it.each([
  [{ id: 0, custom: { licet: 'guard' } }, 'guard'],
  [{ id: 0, variables: [{ identifier: 'licet', option: 'guard' }] }, 'guard'],
  [{ id: 0 }, '0'],
])('a line without a package names its product in its own data: %j', async (fields, item) => {
  const products = [{ ...payment.products[0], ...fields }];
  expect(await notices('payment.completed', { ...payment, products })).toMatchObject([{ item }]);
});

it('a test payment is a test', async () => {
  const sent = { ...payment, payment_method: { name: 'Test Payments' } };
  expect(await notices('payment.completed', sent)).toMatchObject([{ isTest: true }]);
});

it.each([
  ['payment.refunded', { refunded: AT }],
  ['payment.dispute.opened', { disputes: { [TRANSACTION]: 'opened' } }],
  ['payment.dispute.lost', { disputes: { [TRANSACTION]: 'lost' } }],
  ['payment.dispute.won', { disputes: { [TRANSACTION]: 'won' } }],
  // It says of no loss.
  ['payment.dispute.closed', { disputes: { [TRANSACTION]: 'won' } }],
])('%s is about the whole payment', async (type, facts) => {
  expect(await notices(type, payment)).toEqual([
    { do: 'report', about: [{ id: TRANSACTION, facts }] },
  ]);
});

it('the payments of a subscription belong to it', async () => {
  const reference = 'tbx-r-1';
  const sent = { ...payment, recurring_payment_reference: reference, price: { amount: 5 } };
  const paid = { at: AT, until: null, amount: 5 };
  const about = [{ id: TRANSACTION, parent: reference, facts: { paid } }];
  expect(await notices('payment.completed', sent)).toMatchObject([
    { order: reference, reference: `${reference}:127`, about },
  ]);
  const until = Date.parse('2026-09-04T07:23:03Z');
  const subject = { reference, next_payment_at: '2026-09-04T07:23:03+00:00' };
  expect(await notices('recurring-payment.renewed', subject)).toEqual([
    { do: 'report', about: [{ id: reference, facts: { continued: AT, paidUntil: until } }] },
  ]);
  const named = { ...subject, initial_payment: sent };
  expect(await notices('recurring-payment.started', named)).toMatchObject([
    {
      do: 'grant',
      order: reference,
      about: [
        { id: TRANSACTION, parent: reference, facts: { paid: { ...paid, until } } },
        { id: reference, facts: { continued: AT } },
      ],
    },
  ]);
  for (const [step, facts] of [
    ['ended', { ended: AT }],
    ['cancellation.requested', { cancels: AT }],
    ['cancellation.aborted', { continued: AT }],
  ] as const) {
    expect(await notices(`recurring-payment.${step}`, subject)).toEqual([
      { do: 'report', about: [{ id: reference, facts }] },
    ]);
  }
});

it.each(['payment.declined', 'basket.abandoned'])('%s changes nothing', async (type) => {
  expect(await read(type, { ...payment, reference: 'tbx-r-1' })).toMatchObject({
    notices: [],
    ignored: 'This event changes no purchase',
  });
});
