import { expect, it } from 'vitest';
import { paynow } from '../../src/channels/markets/adapters/paynow.ts';
import { accepted, hmac, incoming, NOW, readBy, settingsOf } from './samples.ts';

/** PayNow: its notices, from the samples of its specification. */

async function read(type: string, body: object) {
  const text = JSON.stringify({ event_type: type, event_id: '411486491630370816', body });
  const signature = await hmac(`${NOW}.${text}`, undefined, 'base64');
  const headers = { 'PayNow-Timestamp': String(NOW), 'PayNow-Signature': `AA==,${signature}` };
  return accepted(await readBy(paynow, incoming(text, headers), settingsOf('paynow')));
}
const notices = async (type: string, body: object) => (await read(type, body)).notices;

const ADDED = '2026-09-20T10:00:00Z';
const item = {
  id: '7001',
  order_id: '9001',
  product_id: '3001',
  product: { name: 'Guard', slug: 'guard', metadata: {} },
  customer: { id: '5', name: null, minecraft: { id: 'u', name: 'Steve' } },
  added_at: ADDED,
  expires_at: null,
};
const purchase = { item: '3001', reference: '7001', isLine: true, order: '9001' };

it.each(['ADDED', 'ACTIVATED', 'USED'])(
  'a delivery item that is %s is granted [9.2.1]',
  async (state) => {
    expect(await notices(`ON_DELIVERY_ITEM_${state}`, item)).toEqual([
      {
        do: 'grant',
        ...purchase,
        buyer: { id: '5', name: 'Steve', email: null },
        quantity: 1,
        isTest: false,
        facts: { boughtAt: Date.parse(ADDED) },
        about: [],
      },
    ]);
  },
);

it('the metadata of the product names it', async () => {
  const product = { ...item.product, metadata: { licet_product: 'guard' } };
  expect(await notices('ON_DELIVERY_ITEM_ADDED', { ...item, product })).toMatchObject([
    { item: 'guard' },
  ]);
});

it('a renewal extends, an expiry ends, and a revocation removes', async () => {
  const [until, removed] = ['2026-10-20T10:00:00Z', '2026-09-21T00:00:00Z'];
  const about = (facts: object) => [{ do: 'report', about: [], purchase: { ...purchase, facts } }];
  const expiring = { ...item, expires_at: until };
  const end = Date.parse(until);
  expect(await notices('ON_DELIVERY_ITEM_RENEWED', expiring)).toEqual(
    about({ continued: end, paidUntil: end }),
  );
  expect(await notices('ON_DELIVERY_ITEM_EXPIRED', expiring)).toEqual(about({ ended: end }));
  expect(await notices('ON_DELIVERY_ITEM_REVOKED', { ...item, revoked_at: removed })).toEqual(
    about({ removed: Date.parse(removed) }),
  );
});

it('the items of a subscription are one purchase, and their orders are its payments', async () => {
  const sent = { ...item, subscription_id: '8001', expires_at: '2026-10-20T10:00:00Z' };
  const until = Date.parse(sent.expires_at);
  expect(await notices('ON_DELIVERY_ITEM_ADDED', sent)).toMatchObject([
    {
      reference: '8001:3001',
      otherReferences: ['7001'],
      order: '8001',
      about: [{ id: '9001', parent: '8001', facts: { paid: { at: Date.parse(ADDED), until } } }],
    },
  ]);
});

it('an order has its amount, that of its lines, and the e-mail of the buyer', async () => {
  const lines = [
    { id: '1', total_amount: 5000 },
    { id: '2', total_amount: 2500 },
  ];
  const order = { id: '9001', total_amount: 7500, billing_email: 'a@b.c', lines };
  expect(await notices('ON_ORDER_COMPLETED', order)).toEqual([
    {
      do: 'report',
      about: [
        { id: '9001', facts: { total: 7500, email: 'a@b.c' } },
        { id: '1', parent: '9001', facts: { line: '1', total: 5000 } },
        { id: '2', parent: '9001', facts: { line: '2', total: 2500 } },
      ],
    },
  ]);
});

it('a refund is of the order, with its amount, or of a line', async () => {
  const refund = { id: '1', order_id: '9001', amount: 7500, store_refund_amount: 7500 };
  expect(await notices('ON_REFUND', refund)).toEqual([
    { do: 'report', about: [{ id: '9001', facts: { refunds: { 1: 7500 } } }] },
  ]);
  expect(await notices('ON_REFUND', { ...refund, order_line_id: '2' })).toMatchObject([
    {
      about: [
        { id: '2', parent: '9001', facts: { line: '2' } },
        { id: '9001', facts: { refunds: { 1: 7500 } } },
      ],
    },
  ]);
  expect(await notices('ON_REFUND', { ...refund, status: 'failed' })).toEqual([]);
});

it.each([
  ['ON_CHARGEBACK', 'open', 'opened'],
  ['ON_CHARGEBACK', 'pending', 'opened'],
  ['ON_CHARGEBACK_CLOSED', 'won', 'won'],
  ['ON_CHARGEBACK_CLOSED', 'none', 'won'],
  ['ON_CHARGEBACK_CLOSED', 'unknown', 'won'],
  ['ON_CHARGEBACK_CLOSED', 'LOST', 'lost'],
  ['ON_CHARGEBACK_CLOSED', 'pending', null],
])('%s with the status %s is %s', async (type, status, step) => {
  const body = { id: '1', order_id: '9001', chargeback_status: status };
  const about = [{ id: '9001', facts: { disputes: { 1: step } } }];
  expect(await notices(type, body)).toEqual(step === null ? [] : [{ do: 'report', about }]);
});
