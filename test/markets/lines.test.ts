import { env } from 'cloudflare:workers';
import { beforeEach, expect, it } from 'vitest';
import { settled } from '../support/app.ts';
import { create } from '../support/client.ts';
import { type Market, MarketService, SECRET } from '../support/shop-market.ts';

/** Order lines that several fields of a shop's request identify (9.3). */

let service: MarketService;
let productId: number;
let market: Market;
beforeEach(async () => {
  await settled();
  await env.DB.batch(
    ['markets', 'purchases', 'market_deliveries'].map((table) =>
      env.DB.prepare(`delete from ${table}`),
    ),
  );
  service = new MarketService();
  ({ id: productId } = await create.product());
  market = await service.create({
    kind: 'dynamic',
    products: [{ item: '7', productId }],
    settings: {
      signature: { kind: 'secret', header: 'X-Key' },
      item: 'product',
      line: 'order+variant',
      event: 'event',
    },
  });
});

const JSON_TYPE = { 'Content-Type': 'application/json' };

/** The key of an order line. */
async function keyOf(line: { order: string; variant?: string }): Promise<string> {
  const body = JSON.stringify({ product: 7, ...line });
  const headers = { ...JSON_TYPE, 'X-Key': SECRET };
  const { status, text } = await service.send(market, body, { headers });
  expect(status, text).toBe(200);
  return text;
}

it('order lines are told apart, whatever characters a buyer writes into an id [9.3.1]', async () => {
  const lines = [
    { order: 'A:1', variant: '2' },
    { order: 'A', variant: '1:2' },
    { order: 'A:1:2' },
    { order: '["A:1","2"]' },
  ];
  const keys: string[] = [];
  for (const line of lines) keys.push(await keyOf(line));
  expect(new Set(keys).size).toBe(lines.length);
  const again: string[] = [];
  for (const line of lines) again.push(await keyOf(line));
  expect(again).toEqual(keys);
});

it.each(['A:1', 'A'])(
  'a purchase that an earlier version has stored as %s keeps its license, and gets no second one [9.3.1]',
  async (reference) => {
    const line = reference === 'A' ? { order: 'A' } : { order: 'A', variant: '1' };
    const key = await keyOf(line);
    await env.DB.prepare('update purchases set reference = ?').bind(reference).run();
    expect(await keyOf(line)).toBe(key);
    expect((await service.purchases()).map((one) => one.reference)).toEqual([reference]);
  },
);

it('a purchase that waited under an earlier reference is granted under it [9.3.1]', async () => {
  await service.update(market.id, { products: [] });
  const headers = { ...JSON_TYPE, 'X-Key': SECRET };
  const body = JSON.stringify({ product: 7, order: 'A', variant: '1' });
  expect((await service.send(market, body, { headers })).status).toBe(404);
  await env.DB.prepare("update purchases set reference = 'A:1'").run();
  await service.update(market.id, { products: [{ item: '7', productId }] });
  await keyOf({ order: 'A', variant: '1' });
  expect(await service.purchase()).toMatchObject({ reference: 'A:1', state: 'GRANTED' });
});

it('a secret in the type or the id of an event, or in the id of a product, is not shown [9.2.9]', async () => {
  const headers = { ...JSON_TYPE, 'X-Key': SECRET };
  const fields = { event: `e ${SECRET}`, product: SECRET, order: SECRET };
  await service.send(market, JSON.stringify(fields), { headers });
  const { text } = await service.isolate.call('GET', `/api/v2/markets/${market.id}/deliveries`);
  expect(text).toContain('e ***');
  expect(text).not.toContain(SECRET);
});
