import { env } from 'cloudflare:workers';
import type { MarketKind } from '@licet/contract/enums';
import { beforeEach, describe, expect, it } from 'vitest';
import { settled } from '../support/app.ts';
import { create } from '../support/client.ts';
import { captureConsole } from '../support/console.ts';
import { type Market, MarketService, OLD_PATH, SECRET } from '../support/shop-market.ts';
import { asStripe, hmac } from './samples.ts';

/** The secrets of markets and the e-mails of buyers are shown nowhere, and floods of wrong signatures cost little. */

const EMAIL = 'marker.buyer@shop.example';
const NAME = 'MarkerBuyer';
const API_TOKEN = 'api-token-marker-1';

interface Sample {
  body: string;
  headers: Record<string, string>;
}
const JSON_TYPE = { 'Content-Type': 'application/json' };

/** A purchase of each market, signed by a secret. */
const SAMPLES: Record<MarketKind, (secret: string) => Promise<Sample>> = {
  async builtbybit(secret) {
    const fields = { secret, user_id: '1', username: NAME, resource_id: '7', email: EMAIL };
    return { body: JSON.stringify({ ...fields, purchase_date: '1790000000' }), headers: JSON_TYPE };
  },
  async voxel(secret) {
    const payload = { product: { id: 7 }, user: { id: 1, username: NAME, email: EMAIL } };
    const time = Math.floor(Date.now() / 1000);
    const body = JSON.stringify({ event: 'product.user.purchase', time, nonce: 'n', payload });
    return { body, headers: { ...JSON_TYPE, 'X-Polymart-Signature': await hmac(body, secret) } };
  },
  async dynamic(secret) {
    const body = JSON.stringify({ product: '7', id: '1', email: EMAIL, name: NAME });
    return { body, headers: { ...JSON_TYPE, 'X-Key': secret } };
  },
  async tebex(secret) {
    const subject = {
      transaction_id: 'tbx-1',
      created_at: new Date().toISOString(),
      customer: { email: EMAIL, username: { id: '1', username: NAME } },
      products: [{ id: 7, quantity: 1 }],
    };
    const body = JSON.stringify({
      id: 'e1',
      type: 'payment.completed',
      date: subject.created_at,
      subject,
    });
    const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(body));
    const signature = await hmac(new Uint8Array(bytes).toHex(), secret);
    return { body, headers: { ...JSON_TYPE, 'X-Signature': signature } };
  },
  async stripe(secret) {
    const object = {
      id: 'cs_1',
      payment_status: 'paid',
      payment_intent: 'pi_1',
      metadata: { licet_product: '7' },
      customer_details: { email: EMAIL, name: NAME },
    };
    const t = Math.floor(Date.now() / 1000);
    const event = { id: 'evt1', type: 'checkout.session.completed', created: t, livemode: true };
    const body = JSON.stringify({ ...event, data: { object } });
    const signature = `t=${t},v1=${await hmac(`${t}.${body}`, secret)}`;
    return { body, headers: { ...JSON_TYPE, 'Stripe-Signature': signature } };
  },
  async paynow(secret) {
    const item = {
      id: 'd1',
      product_id: '7',
      order_id: 'o1',
      added_at: new Date().toISOString(),
      customer: { id: 'c1', name: NAME, email: EMAIL },
    };
    const t = Date.now();
    const body = JSON.stringify({
      event_type: 'ON_DELIVERY_ITEM_ADDED',
      event_id: 'e',
      body: item,
    });
    const signature = await hmac(`${t}.${body}`, secret, 'base64');
    return {
      body,
      headers: { ...JSON_TYPE, 'PayNow-Timestamp': String(t), 'PayNow-Signature': signature },
    };
  },
};
const KINDS = Object.entries(SAMPLES).map(([kind, sample]) => ({
  kind: kind as MarketKind,
  sample,
}));

let service: MarketService;
let productId: number;
beforeEach(async () => {
  await settled();
  await env.DB.batch(
    ['markets', 'purchases', 'market_orders', 'market_deliveries', 'events'].map((table) =>
      env.DB.prepare(`delete from ${table}`),
    ),
  );
  // The interface of Stripe, for the lines of a session.
  service = new MarketService({ OUTBOUND: { fetch: async () => Response.json({ data: [] }) } });
  ({ id: productId } = await create.product({}));
});

const marketOf = (kind: MarketKind): Promise<Market> =>
  service.create({
    kind,
    apiToken: API_TOKEN,
    products: [{ item: '7', productId }],
    ...(kind === 'dynamic' && {
      settings: {
        signature: { kind: 'secret', header: 'X-Key' },
        item: 'product',
        line: 'id',
        email: 'email',
        buyerName: 'name',
      },
    }),
  });

describe.each(KINDS)('$kind', ({ kind, sample }) => {
  it('secrets and e-mails are in no log, event, response or list', async () => {
    const market = await marketOf(kind);
    const logged = captureConsole();
    const good = await sample(SECRET);
    const wrong = await sample('another-secret-marker');
    const answers = [
      await service.send(market, good.body, { headers: good.headers }),
      await service.send(market, wrong.body, { headers: wrong.headers }),
      await service.send(market, `${good.body.slice(0, -9)}`, { headers: good.headers }),
      await service.send(market, `\u0000${EMAIL} ${SECRET}`, { headers: good.headers }),
    ];
    expect(answers.map(({ status }) => status).slice(0, 2)).toEqual([200, 401]);
    const lists = await Promise.all(
      ['markets', 'purchases', 'events', `markets/${market.id}/deliveries`].map((path) =>
        service.isolate.call('GET', `/api/v2/${path}`),
      ),
    );
    const [markets, purchases, events, arrived] = lists.map(({ text }) => text);
    const shown = [...answers, ...lists].map(({ text }) => text).join('\n');
    for (const secret of [SECRET, API_TOKEN, 'another-secret-marker']) {
      expect(shown + logged.join('\n')).not.toContain(secret);
    }
    expect(logged).toEqual([]);
    expect(answers.map(({ text }) => text).join() + markets + purchases + arrived).not.toContain(
      EMAIL,
    );
    // The event of the customer says what the shop has stored.
    expect(arrived + logged.join()).not.toContain(NAME);
    expect(events).toContain('purchase.granted');
  });

  it('200 wrong requests cost few statements, and the right one still passes', async () => {
    const market = await marketOf(kind);
    let statements = 0;
    const DB = new Proxy(env.DB, {
      get(target, name) {
        if (name === 'prepare') statements++;
        const value = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const isolate = service.newIsolate({ DB });
    const wrong = await sample('wrong');
    for (let count = 0; count < 200; count++) {
      const { status } = await service.send(market, wrong.body, {
        headers: wrong.headers,
        isolate,
      });
      expect(status).toBe(401);
    }
    // Each of ten is listed; the markets are read at first, and about once a second.
    expect(statements).toBeLessThan(10 + 1 + 10);
    const good = await sample(SECRET);
    expect((await service.send(market, good.body, { headers: good.headers, isolate })).status).toBe(
      200,
    );
    expect(await service.purchases()).toHaveLength(1);
  });
});

it('downloads at both addresses and the notice, all at once, make one license', async () => {
  const market = await service.create({ products: [{ item: '62494', productId }] });
  const isolates = [service.isolate, service.newIsolate(), service.newIsolate()];
  const sent = await Promise.all(
    isolates.flatMap((isolate) => [
      service.download(market, {}, isolate),
      service.download(`${OLD_PATH}/${productId}`, {}, isolate),
      service.bought(market, {}, isolate),
    ]),
  );
  expect(new Set(sent.map(({ status }) => status))).toEqual(new Set([200]));
  expect(new Set(sent.filter(({ text }) => text !== 'OK').map(({ text }) => text)).size).toBe(1);
  expect(await service.purchases()).toHaveLength(1);
});

describe('the name of a buyer stands in no list of what arrived, wherever the shop writes it [9.2.9]', () => {
  const settings = {
    signature: { kind: 'secret' as const, header: 'X-Key' },
    item: 'product',
    line: 'id',
    buyer: 'customer.ref',
    buyerName: 'customer.nick',
  };
  const JSON_FIELDS = { product: '7', id: '1', customer: { ref: 'c-1', nick: NAME } };

  it.each([
    ['in the field of the settings', JSON_FIELDS],
    ['in another field, too', { ...JSON_FIELDS, discord: NAME, note: `${NAME} bought it` }],
    ['in a list', { ...JSON_FIELDS, players: [NAME, { ign: NAME }] }],
    ['as the name of a field', { ...JSON_FIELDS, [NAME]: 1, [EMAIL]: 1, nested: { [EMAIL]: 2 } }],
    [
      'in JSON inside of JSON',
      { ...JSON_FIELDS, raw: JSON.stringify({ name: 'Other', to: NAME }) },
    ],
  ])('%s', async (_, body) => {
    const market = await service.create({
      kind: 'dynamic',
      products: [{ item: '7', productId }] as never,
      settings: settings as never,
    });
    const sent = await service.send(market, JSON.stringify(body), {
      headers: { ...JSON_TYPE, 'X-Key': SECRET },
    });
    expect(sent.status, sent.text).toBe(200);
    const { text } = await service.isolate.call('GET', `/api/v2/markets/${market.id}/deliveries`);
    expect(text).toContain('product');
    expect(text).not.toContain(NAME);
    expect(text).not.toContain(EMAIL);
  });

  it('cards, accounts at banks and tax numbers are hidden, too [9.2.9]', async () => {
    const market = await marketOf('stripe');
    const { body, headers } = await asStripe('charge.refunded', {
      id: 'ch_1',
      object: 'charge',
      amount: 1,
      amount_refunded: 1,
      payment_intent: 'pi_1',
      payment_method_details: {
        card: {
          brand: 'visa',
          last4: 'LAST-A',
          fingerprint: 'FINGER',
          exp_month: 4,
          exp_year: 'YEAR-D',
          iin: 'IIN-E',
        },
        sepa_debit: { last4: 'LAST-B', bank_code: 'BANK-C' },
      },
      customer_details: { tax_ids: [{ type: 'eu_vat', value: 'DE123456789' }] },
    });
    expect((await service.send(market, body, { headers })).status).toBe(200);
    const { text } = await service.isolate.call('GET', `/api/v2/markets/${market.id}/deliveries`);
    expect(text).toContain('charge.refunded');
    for (const hidden of [
      'LAST-A',
      'LAST-B',
      'FINGER',
      'BANK-C',
      'YEAR-D',
      'IIN-E',
      'DE123456789',
    ]) {
      expect(text).not.toContain(hidden);
    }
  });
});
