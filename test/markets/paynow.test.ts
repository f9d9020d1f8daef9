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
const target = { item: '3001', reference: '7001' };
const order = { order: '9001' };

it.each(['ADDED', 'ACTIVATED', 'USED'])(
  'a delivery item that is %s is granted [9.2.1]',
  async (state) => {
    expect(await notices(`ON_DELIVERY_ITEM_${state}`, item)).toEqual([
      {
        do: 'grant',
        item: '3001',
        reference: '7001',
        order: '9001',
        buyer: { id: '5', name: 'Steve', email: null },
        quantity: 1,
        isTest: false,
        boughtAt: Date.parse(ADDED),
        paidUntil: null,
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
  const expiring = { ...item, expires_at: '2026-10-20T10:00:00Z' };
  expect(await notices('ON_DELIVERY_ITEM_RENEWED', expiring)).toMatchObject([
    { do: 'extend', target, until: Date.parse('2026-10-20T10:00:00Z') },
  ]);
  expect(await notices('ON_DELIVERY_ITEM_EXPIRED', expiring)).toMatchObject([
    { do: 'revoke', target, reason: 'ended' },
  ]);
  expect(
    await notices('ON_DELIVERY_ITEM_REVOKED', { ...item, revoked_at: '2026-09-21T00:00:00Z' }),
  ).toEqual([{ do: 'revoke', target, reason: 'removed', at: Date.parse('2026-09-21T00:00:00Z') }]);
});

it('a refund changes nothing: the items that it revokes come on their own', async () => {
  const refund = { id: '1', order_id: '9001', amount: 7500, store_refund_amount: 7500 };
  expect(await notices('ON_REFUND', refund)).toEqual([]);
});

it.each([
  ['ON_CHARGEBACK', 'open', [{ do: 'revoke', reason: 'disputed', target: order, id: '1' }]],
  ['ON_CHARGEBACK_CLOSED', 'won', [{ do: 'restore', target: order, id: '1' }]],
  [
    'ON_CHARGEBACK_CLOSED',
    'LOST',
    [{ do: 'revoke', reason: 'dispute lost', target: order, id: '1' }],
  ],
  ['ON_CHARGEBACK_CLOSED', 'unknown', []],
])('%s with the status %s', async (type, status, expected) => {
  const body = { id: '1', order_id: '9001', chargeback_status: status };
  expect(await notices(type, body)).toMatchObject(expected);
});

it('an order comes as delivery items', async () => {
  expect(await read('ON_ORDER_COMPLETED', { id: '9001', lines: [{}, {}] })).toMatchObject({
    notices: [],
    ignored: 'Its 2 lines come as delivery items',
  });
});
