import { env } from 'cloudflare:workers';
import { DYNAMIC_PRESETS } from '@licet/contract/dynamic-presets';
import { license } from '@licet/contract/licenses';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { redact } from '../../src/channels/markets/redact.ts';
import { Admission } from '../../src/lib/admission.ts';
import { settled } from '../support/app.ts';
import { create } from '../support/client.ts';
import { DAY_MS, setNow } from '../support/history.ts';
import { type Market, MarketService, SECRET } from '../support/shop-market.ts';
import { asPaynow, asStripe, hmac } from './samples.ts';

/** Notices over HTTP that came in an unlucky order, or of which a part was missing. */

let service: MarketService;
let productId: number;
beforeEach(async () => {
  await settled();
  await env.DB.batch(
    ['markets', 'purchases', 'market_orders', 'market_deliveries', 'events'].map((t) =>
      env.DB.prepare(`delete from ${t}`),
    ),
  );
  service = new MarketService();
  ({ id: productId } = await create.product({ defaultMaxIPs: 3 }));
});

const send = (m: Market, { body, headers }: { body: string; headers: Record<string, string> }) =>
  service.send(m, body, { headers });
const stripe = async (m: Market, type: string, object: object) =>
  send(m, await asStripe(type, object));
const paynow = async (m: Market, type: string, body: object) => send(m, await asPaynow(type, body));

const session = {
  id: 'cs_1',
  payment_status: 'paid',
  payment_intent: 'pi_1',
  metadata: { licet_product: 'g' },
};
const refund = { amount: 1, amount_refunded: 1, payment_intent: 'pi_1' };

async function only() {
  const [purchase, another] = await service.purchases();
  if (!purchase || another) throw new Error('not one purchase');
  return purchase;
}
const licenseOf = async (id: number | null) => service.license(id);

it('a purchase fills in the order and the buyer that a fact before it did not name', async () => {
  const market = await service.create({ kind: 'paynow', products: [{ item: 'p', productId }] });
  const item = { id: 'd1', product_id: 'p', order_id: 'o1' };
  await paynow(market, 'ON_DELIVERY_ITEM_RENEWED', { ...item, expires_at: '2030-01-01T00:00:00Z' });
  const customer = { id: 'c1', name: 'Ada' };
  const added = { ...item, customer, added_at: new Date().toISOString() };
  await paynow(market, 'ON_DELIVERY_ITEM_ADDED', added);
  expect(await only()).toMatchObject({ order: 'o1', buyerId: 'c1', buyerName: 'Ada' });
  await paynow(market, 'ON_CHARGEBACK', { id: 'x', order_id: 'o1' });
  expect((await only()).state).toBe('REVOKED');
});

it('the notice of a purchase fills in the name that the download did not have', async () => {
  const market = await service.create({ products: [{ item: '62494', productId }] });
  await service.download(market);
  await service.bought(market);
  expect((await only()).buyerName).not.toBeNull();
});

it('a purchase that was entered without its order is joined by the notice, and then refunded', async () => {
  const market = await service.create({ kind: 'stripe', products: [{ item: 'g', productId }] });
  const { id: licenseId } = await create.license({ productId });
  const body = { marketId: market.id, item: 'g', reference: 'cs_1', licenseId };
  await service.isolate.call('POST', '/api/v2/purchases', { body });
  await stripe(market, 'checkout.session.completed', session);
  await stripe(market, 'charge.refunded', refund);
  expect(await only()).toMatchObject({ state: 'REVOKED', order: 'pi_1' });
  expect((await licenseOf(licenseId)).licenseStatus).toBe('DEACTIVATED');
});

it('a purchase of an order that is refunded is not entered by hand', async () => {
  const market = await service.create({ kind: 'stripe', products: [{ item: 'g', productId }] });
  await stripe(market, 'charge.refunded', refund);
  const { id: licenseId } = await create.license({ productId });
  const body = { marketId: market.id, item: 'g', reference: 'cs_1', order: 'pi_1', licenseId };
  const { status, text } = await service.isolate.call('POST', '/api/v2/purchases', { body });
  expect(status).toBe(409);
  expect(text).toContain('refunded');
});

it('the key of a deleted license is not delivered', async () => {
  const market = await service.create({ products: [{ item: '62494', productId }] });
  const { text } = await service.download(market);
  await service.isolate.call('DELETE', `/api/v2/licenses/${(await only()).licenseId}`);
  const again = await service.download(market);
  expect(again.status).toBe(404);
  expect(again.text).not.toContain(text);
});

it('an end that means never is a date that the service can show', async () => {
  const product = { item: 'p', productId, licenseType: 'TEMPORARY' as const, expiresAfterDays: 30 };
  const market = await service.create({ kind: 'paynow', products: [product] });
  const item = { id: 'd1', product_id: 'p', added_at: new Date().toISOString() };
  const never = { ...item, expires_at: '+275760-09-13T00:00:00Z' };
  expect((await paynow(market, 'ON_DELIVERY_ITEM_ADDED', never)).status).toBe(200);
  expect((await licenseOf((await only()).licenseId)).expiryDate).toMatch(/^9999-/);
});

it('what arrived is shown without persons, secrets, and bodies that cannot be read', () => {
  const shown = [
    { subject: { products: [{ username: 'Steve' }] } },
    { customer_details: { address: { line1: '12 Main St', city: 'Ulm' } } },
    { customerName: 'Ada L', fullName: 'Ada L' },
    { auth: 'abc"def' },
    { note: 'a@b.c' },
    { receipt_url: 'https://p.example/bill' },
    { hosted_invoice_url: 'https://p.example/bill', invoice_pdf: 'https://p.example/bill' },
  ].map((body) => redact(JSON.stringify(body), ['abc"def']));
  expect(shown.join('')).not.toMatch(/Steve|Main|Ulm|Ada|abc|a@b|bill/);
  expect(redact('[{"name":"Ada"}]', [])).not.toContain('Ada');
  expect(redact('--b\r\nname="username"\r\n\r\nkas', [])).not.toContain('kas');
  expect(redact(JSON.stringify({ product: { name: 'Guard' } }), [])).toContain('Guard');
});

it('a long text of a buyer is searched for addresses at once', () => {
  const startedAt = performance.now();
  redact(JSON.stringify({ note: 'a@'.repeat(100_000) }), []);
  redact(JSON.stringify({ note: '@'.repeat(200_000) }), []);
  expect(performance.now() - startedAt).toBeLessThan(1_000);
});

it('a license whose notes were edited is restored by a won dispute [9.3.6]', async () => {
  const market = await service.create({ kind: 'stripe', products: [{ item: 'g', productId }] });
  const dispute = { id: 'dp_1', payment_intent: 'pi_1' };
  await stripe(market, 'checkout.session.completed', session);
  await stripe(market, 'charge.dispute.created', dispute);
  const { licenseId } = await only();
  const { json } = await service.isolate.call('GET', `/api/v2/licenses/${licenseId}`);
  const body = { ...license.parse(json), notes: 'Asked them' };
  await service.isolate.call('PUT', `/api/v2/licenses/${licenseId}`, { body });
  await stripe(market, 'charge.dispute.closed', { ...dispute, status: 'won' });
  expect(await licenseOf(licenseId)).toMatchObject({
    licenseStatus: 'ACTIVE',
    notes: expect.stringContaining('Asked them'),
  });
});

describe('a renewal at BuiltByBit', () => {
  const BOUGHT = Math.floor(Date.now() / 1000);
  const inDays = (days: number) => ({ purchase_date: String(BOUGHT + (days * DAY_MS) / 1000) });
  const daysLeft = async () => {
    const { expiryDate } = await licenseOf((await only()).licenseId);
    return Math.round((Date.parse(expiryDate ?? '') - Date.now()) / DAY_MS);
  };
  let market: Market;
  beforeEach(async () => {
    const product = { item: '62494', productId, licenseType: 'TEMPORARY' as const };
    market = await service.create({ products: [{ ...product, expiresAfterDays: 30 }] });
    await service.bought(market, inDays(0));
  });
  const use = async () => {
    const { licenseKey } = await licenseOf((await only()).licenseId);
    const { json, recorded } = await service.isolate.validate({ licenseKey, productId });
    expect(json).toMatchObject({ valid: true });
    await recorded;
  };

  it('a renewal at BuiltByBit extends the license once, from its end, or from now if it is over [9.3.8, 9.3.9]', async () => {
    await use();
    expect(await daysLeft()).toBe(30);
    setNow(Date.now() + 10 * DAY_MS);
    for (let times = 0; times < 2; times++) await service.bought(market, inDays(10));
    expect(await daysLeft()).toBe(50);
    setNow(Date.now() + 100 * DAY_MS);
    await service.bought(market, inDays(110));
    expect(await daysLeft()).toBe(30);
    await use();
  });

  it('a renewal of a license that was never used makes its time longer', async () => {
    await service.bought(market, inDays(1));
    const { licenseId } = await only();
    expect(await licenseOf(licenseId)).toMatchObject({ expiresAfterDays: 60, expiryDate: null });
  });

  it('a renewal after a refund begins today [9.3.9]', async () => {
    await use();
    service = new MarketService();
    await env.DB.prepare(
      `update purchases set facts = json_set(facts, '$.removed', ${Date.now()})`,
    ).run();
    setNow(Date.now() + 10 * DAY_MS);
    await env.DB.prepare("update purchases set state = 'REVOKED', reason = 'removed'").run();
    await service.bought(market, inDays(10));
    expect(await daysLeft()).toBe(30);
  });
});

it('two variants of a product in one order at Sell.app are two purchases', async () => {
  const { settings } = DYNAMIC_PRESETS.sellapp;
  const products = [{ item: '7', productId }];
  const market = await service.create({ kind: 'dynamic', settings, products });
  const buy = async (variant: number) => {
    const body = JSON.stringify({ order_id: 1, product_id: 7, variant: { id: variant } });
    return service.send(market, body, { headers: { Signature: await hmac(body, SECRET) } });
  };
  const [one, other, again] = [await buy(1), await buy(2), await buy(1)];
  expect(new Set([one.text, other.text]).size).toBe(2);
  expect(again.text).toBe(one.text);
});

it('an order of the account that is no purchase here is forgotten after 30 days [9.1.8]', async () => {
  const market = await service.create({ kind: 'stripe', products: [{ item: 'g', productId }] });
  await stripe(market, 'charge.refunded', { ...refund, payment_intent: 'pi_other' });
  await stripe(market, 'charge.refunded', refund);
  await stripe(market, 'checkout.session.completed', session);
  const orders = async () => (await env.DB.prepare('select * from market_orders').all()).results;
  expect(await orders()).toHaveLength(2);
  setNow(Date.now() + 31 * DAY_MS);
  await service.isolate.runScheduled();
  expect(await orders()).toMatchObject([{ order_id: 'pi_1', expires_at: null }]);
  await service.isolate.call('DELETE', `/api/v2/markets/${market.id}`);
  expect(await orders()).toEqual([]);
});

it('facts whose purchase has not arrived in 30 days are removed, and no purchase that waits [9.1.8]', async () => {
  const market = await service.create({ kind: 'paynow' });
  const item = (id: string) => ({ id, product_id: 'p', order_id: `order-${id}` });
  const at = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString();
  await paynow(market, 'ON_DELIVERY_ITEM_RENEWED', { ...item('d1'), expires_at: at(9) });
  await paynow(market, 'ON_DELIVERY_ITEM_REVOKED', { ...item('d2'), revoked_at: at(0) });
  await paynow(market, 'ON_CHARGEBACK', { id: 'pay', order_id: 'order-d2' });
  await paynow(market, 'ON_DELIVERY_ITEM_ADDED', { ...item('d3'), added_at: at(0) });
  const builtbybit = await service.create();
  await service.download(builtbybit);
  const waiting = async () => (await service.purchases()).map(({ reference }) => reference);
  expect(await waiting()).toEqual(['d1', 'd2', 'd3', '540773']);
  setNow(Date.now() + 31 * DAY_MS);
  await service.isolate.runScheduled();
  expect(await waiting()).toEqual(['d3', '540773']);
  expect((await env.DB.prepare('select order_id from market_orders').all()).results).toEqual([]);
});

it('a purchase that is no longer revoked before it has a license is an alert [9.3.11]', async () => {
  const market = await service.create({ kind: 'stripe' });
  const dispute = { id: 'dp_1', payment_intent: 'pi_1' };
  await stripe(market, 'charge.dispute.created', { ...dispute, status: 'needs_response' });
  await stripe(market, 'checkout.session.completed', session);
  expect((await only()).state).toBe('REVOKED');
  const alerts = async () => {
    const { json } = await service.isolate.call('GET', '/api/v2/events?type=purchase.unmatched');
    return Array.from(Object(json)).length;
  };
  expect(await alerts()).toBe(0);
  for (let times = 0; times < 2; times++) {
    await stripe(market, 'charge.dispute.closed', { ...dispute, status: 'won' });
  }
  expect(await only()).toMatchObject({
    state: 'UNMATCHED',
    reason: expect.stringContaining('No product is chosen for g'),
  });
  expect(await alerts()).toBe(1);
  expect((await service.arrived(market.id)).map(({ effect }) => effect)).toEqual([
    'NOTHING',
    'NEEDS_PERSON',
    'NOTHING',
    'NOTHING',
  ]);
});

it('a purchase that is no longer revoked gets its license once its product is chosen, without an alert', async () => {
  const market = await service.create({ kind: 'stripe' });
  const dispute = { id: 'dp_1', payment_intent: 'pi_1' };
  await stripe(market, 'charge.dispute.created', { ...dispute, status: 'needs_response' });
  await stripe(market, 'checkout.session.completed', session);
  await service.update(market.id, { products: [{ item: 'g', productId }] });
  await stripe(market, 'charge.dispute.closed', { ...dispute, status: 'won' });
  expect((await only()).state).toBe('GRANTED');
  const { json } = await service.isolate.call('GET', '/api/v2/events?type=purchase.unmatched');
  expect(json).toEqual([]);
});

it('a purchase that waits at a deleted market is not granted, and the response says what to do [9.1.7]', async () => {
  const market = await service.create();
  await service.bought(market);
  await service.isolate.call('DELETE', `/api/v2/markets/${market.id}`);
  const path = `/api/v2/purchases/${(await only()).id}/grant`;
  const { status, json } = await service.isolate.call('POST', path, { body: { productId } });
  expect(status).toBe(409);
  expect(json).toMatchObject({
    message: 'The market of the purchase is deleted, and delivers no key: create a license by hand',
  });
});

it('a server with too many requests tells the market when to repeat a notice [9.2.11]', async () => {
  const busy = service.newIsolate({ ONE_MACHINE: 'true', TRUSTED_PROXIES: '127.0.0.1' });
  // These take ten seconds. A proof with 2,000 that wait is in test/simulation/flood.test.ts.
  if (!env.IS_LONG) vi.spyOn(Admission.prototype, 'enter').mockReturnValue(false);
  const sent = await Promise.all(
    Array.from({ length: env.IS_LONG ? 2_200 : 1 }, () =>
      service.send(`/markets/${'A'.repeat(32)}`, '{}', { isolate: busy }),
    ),
  );
  const rejected = sent.filter(({ status }) => status === 429);
  expect(new Set(sent.map(({ status }) => status))).toEqual(
    new Set(env.IS_LONG ? [404, 429] : [429]),
  );
  expect(new Set(rejected.map(({ headers }) => headers.get('Retry-After')))).toEqual(
    new Set(['2']),
  );
});
