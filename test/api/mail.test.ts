import { env } from 'cloudflare:workers';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Mailer } from '../../src/channels/mail/mailer.ts';
import type { MailSender, OutgoingMail, SendOutcome } from '../../src/channels/mail/sender.ts';
import { openDatabase } from '../../src/db/client.ts';
import { SERVICE } from '../../src/db/events.ts';
import { licenses } from '../../src/resources/licenses/schema.ts';
import { senderOf, servicesOf } from '../../src/services.ts';
import { asPaynow, asStripe, asTebex } from '../markets/samples.ts';
import { interceptDatabase } from '../support/d1-intercept.ts';
import { spyOnDatabase } from '../support/d1-spy.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, setNow } from '../support/history.ts';
import { emptyMails, MailService, newEmail, onlyMail } from '../support/mails.ts';
import { ask } from '../support/my-page.ts';
import { products } from '../support/resources.ts';
import { MarketService } from '../support/shop-market.ts';

/** Mails under concurrency, failures and load (13). */

const NOON = Date.UTC(2027, 2, 10, 12);

let service: MailService;
beforeEach(async () => {
  setNow(NOON);
  await emptyMails();
  await env.DB.batch(
    [
      `counters where name in ('alerts_since', 'expiries_checked_at')`,
      ...[
        'bindings',
        'purchases',
        'market_orders',
        'market_deliveries',
        'markets',
        'alerts',
        'outbox',
        'licenses',
      ],
    ].map((table) => env.DB.prepare(`delete from ${table}`)),
  );
  service = new MailService();
});
afterEach(() => {
  vi.useRealTimers();
});

async function passTime(milliseconds: number, isolate = service.isolate): Promise<void> {
  setNow(Date.now() + milliseconds);
  await isolate.runScheduled();
}

const inDays = (days: number): string => new Date(NOON + days * DAY_MS).toISOString();

describe('causes', () => {
  it('50 causes of the same mail at once make one mail [13.5.6]', async () => {
    await service.switchOn('expiring');
    await service.isolate.runScheduled();
    await service.license({ licenseType: 'TEMPORARY', expiryDate: inDays(7.5) });
    setNow(NOON + 0.6 * DAY_MS);
    const isolates = Array.from({ length: 50 }, () => service.newIsolate());
    await Promise.all(isolates.map((isolate) => isolate.runScheduled()));
    expect(service.sent).toHaveLength(1);
    expect(await service.mails()).toHaveLength(1);
  });

  it('50 requests with one Idempotency-Key make one license and one mail [13.5.6]', async () => {
    await service.switchOn('key');
    const { id: productId } = await products.create();
    const options = {
      body: { productId, licenseType: 'PERMANENT', customerEmail: newEmail() },
      headers: { 'Idempotency-Key': crypto.randomUUID() },
    };
    const made = await Promise.all(
      Array.from({ length: 50 }, () => service.isolate.call('POST', '/api/v2/licenses', options)),
    );
    expect(new Set(made.map(({ status }) => status))).toEqual(new Set([201]));
    expect(service.sent).toHaveLength(1);
    expect(await service.mails()).toHaveLength(1);
  });

  it('a clock that jumps over both reminders makes one [13.3.1]', async () => {
    await service.switchOn('expiring');
    await service.isolate.runScheduled();
    await service.license({ licenseType: 'TEMPORARY', expiryDate: inDays(20) });
    await passTime(19.5 * DAY_MS);
    expect(service.sent).toHaveLength(1);
    expect((await service.mail()).cause).toMatch(/:1$/);
    await passTime(HOUR_MS);
    expect(service.sent).toHaveLength(1);
  });

  it('a change without new licenses, and a service without MAIL, cost no statement more', async () => {
    await service.switchOn('key');
    const countOf = async (roundTrips: unknown[][], act: () => Promise<unknown>) => {
      roundTrips.length = 0;
      await act();
      return roundTrips.flat().length;
    };
    const counted = (bindings: object) => {
      const { spy: DB, roundTrips } = spyOnDatabase(env.DB);
      const isolate = service.newIsolate({ DB, ...bindings });
      return { isolate, roundTrips: roundTrips as unknown[][] };
    };
    const [withMail, without] = [counted({}), counted({ MAIL: '' })];
    const license = await service.license({ customerEmail: null });
    const { productId } = license;
    const costs = async ({ isolate, roundTrips }: typeof withMail) => ({
      update: await countOf(roundTrips, () =>
        isolate.call('PUT', `/api/v2/licenses/${license.id}`, {
          body: { notes: crypto.randomUUID() },
        }),
      ),
      create: await countOf(roundTrips, () =>
        isolate.call('POST', '/api/v2/licenses', { body: { productId, licenseType: 'PERMANENT' } }),
      ),
    });
    const [mailing, plain] = [await costs(withMail), await costs(without)];
    expect(mailing).toEqual({ update: plain.update, create: plain.create + 1 });
  });
});

describe('an order of several products', () => {
  it('the keys of its licenses need no query above the limit of a request [13.5.1]', async () => {
    await service.switchOn('key');
    const { spy: DB, roundTrips } = spyOnDatabase(env.DB);
    const shop = new MarketService({ ...service.bindings, DB });
    const ids = await Promise.all(Array.from({ length: 3 }, () => products.create()));
    const market = await shop.create({
      kind: 'tebex',
      name: 'Tebex',
      products: ids.map(({ id: productId }) => ({
        item: String(productId),
        productId,
        licenseType: 'PERMANENT' as const,
      })),
    });
    const { body, headers } = await asTebex('payment.completed', {
      transaction_id: 'tbx-1',
      status: { id: 1, description: 'Complete' },
      created_at: new Date(NOON).toISOString(),
      customer: { email: newEmail(), username: { id: '2535', username: 'Steve' } },
      products: ids.map(({ id }) => ({ id, name: 'P', quantity: 1, custom: null })),
      recurring_payment_reference: null,
    });
    roundTrips.length = 0;
    const sent = await shop.send(market, body, { headers: { ...headers } });
    expect(sent.status, sent.text).toBe(200);
    expect(roundTrips.flat().length + service.sent.length).toBeLessThanOrEqual(50);
    await passTime(MINUTE_MS);
    expect(service.sent).toHaveLength(3);
  });
});

describe('markets', () => {
  const setUp = async (fields: object = {}) => {
    await service.switchOn('key', 'expiring');
    const shop = new MarketService(service.bindings);
    const { id: productId } = await products.create();
    const market = await shop.create({
      kind: 'stripe',
      name: 'Stripe',
      products: [{ item: 'guard', productId, licenseType: 'TEMPORARY', expiresAfterDays: 30 }],
      ...fields,
    });
    const send = async (type: string, object: object) => {
      const { body, headers } = await asStripe(type, object);
      const sent = await shop.send(market, body, { headers: { ...headers } });
      expect(sent.status, sent.text).toBe(200);
    };
    return { shop, market, send };
  };
  let buyer: string;
  beforeEach(() => {
    buyer = newEmail();
  });
  const session = (fields: object = {}) => ({
    id: 'cs_1',
    object: 'checkout.session',
    mode: 'payment',
    payment_status: 'paid',
    payment_intent: 'pi_1',
    customer: `cus_${buyer}`,
    customer_details: { email: buyer, name: 'Ada' },
    metadata: { licet_product: 'guard' },
    ...fields,
  });

  it('a sale with the e-mail of the buyer mails the key [13.2.4]', async () => {
    const { shop, market, send } = await setUp();
    expect(market.mailsKey).toBe(true);
    await send('checkout.session.completed', session());
    const { licenseId } = await shop.purchase();
    const { licenseKey } = await shop.license(licenseId);
    expect(onlyMail(service).to).toBe(buyer);
    expect(onlyMail(service).text).toContain(licenseKey);
    await send('checkout.session.completed', session());
    expect(service.sent).toHaveLength(1);
  });

  it('a market that is switched off for mails, or shows the key itself, mails none [13.2.4]', async () => {
    const { market, send, shop } = await setUp({ mailsKey: false });
    expect(market.mailsKey).toBe(false);
    await send('checkout.session.completed', session());
    expect((await shop.purchase()).state).toBe('GRANTED');
    expect(await service.mails()).toEqual([]);
    expect((await shop.create({ kind: 'builtbybit' })).mailsKey).toBe(false);
  });

  it('an e-mail in a later notice mails the key then, once [13.2.4]', async () => {
    const { send, shop } = await setUp();
    await send(
      'checkout.session.completed',
      session({ customer_details: { email: null, name: null } }),
    );
    expect((await shop.purchase()).state).toBe('GRANTED');
    expect(await service.mails()).toEqual([]);
    for (let count = 0; count < 2; count++) await send('checkout.session.completed', session());
    expect(service.counts()).toEqual({ [buyer]: 1 });
  });

  it('an e-mail that comes more than a week after the sale mails nothing [13.2.4]', async () => {
    const { send } = await setUp();
    await send(
      'checkout.session.completed',
      session({ customer_details: { email: null, name: null } }),
    );
    setNow(NOON + 8 * DAY_MS);
    await send('checkout.session.completed', session());
    expect(await service.mails()).toEqual([]);
  });

  it('a subscription that renews has no reminder, and one that is canceled for its end has it [13.3.1]', async () => {
    const { send, shop } = await setUp();
    await service.isolate.runScheduled();
    const end = NOON / 1000 + 12 * 86_400;
    await send(
      'checkout.session.completed',
      session({
        mode: 'subscription',
        subscription: 'sub_1',
        invoice: 'in_1',
        payment_intent: null,
      }),
    );
    await send('invoice.paid', {
      id: 'in_1',
      object: 'invoice',
      created: NOON / 1000,
      subscription: 'sub_1',
      billing_reason: 'subscription_create',
      total: 999,
      currency: 'eur',
      lines: { data: [{ period: { end }, quantity: 1, price: { product: 'prod_1' } }] },
    });
    const { licenseId } = await shop.purchase();
    expect((await shop.license(licenseId)).expiryDate).toBe(inDays(15).replace('Z', '+00:00'));
    await passTime(8.1 * DAY_MS);
    expect((await service.mails()).filter(({ kind }) => kind === 'expiring')).toEqual([]);
    await send('customer.subscription.updated', {
      id: 'sub_1',
      object: 'subscription',
      status: 'active',
      cancel_at_period_end: true,
    });
    await passTime(6 * DAY_MS);
    expect((await service.mails()).filter(({ kind }) => kind === 'expiring')).toHaveLength(1);
  });

  it.each(['tebex', 'paynow'] as const)(
    'a subscription that is canceled for its end has a reminder, at %s [13.3.1]',
    async (kind) => {
      const { shop, market } = await setUp({ kind, name: kind });
      await service.isolate.runScheduled();
      const send = async (type: string, about: object) => {
        const request = await (kind === 'tebex' ? asTebex(type, about) : asPaynow(type, about));
        expect((await shop.send(market, request.body, request)).status).toBe(200);
      };
      const end = inDays(12);
      const payment = {
        transaction_id: 'tbx-1',
        recurring_payment_reference: 'tbx-r-1',
        created_at: inDays(0),
        customer: { email: buyer, username: { id: '25', username: 'Steve' } },
        products: [{ id: 'guard', quantity: 1, expires_at: end }],
      };
      const item = {
        id: 'd1',
        product_id: 'guard',
        order_id: 'o1',
        subscription_id: 's1',
        customer: { id: 'c1', name: 'Ada' },
        added_at: inDays(0),
        expires_at: end,
      };
      if (kind === 'tebex') await send('payment.completed', payment);
      else {
        await send('ON_ORDER_COMPLETED', { id: 'o1', subscription_id: 's1', billing_email: buyer });
        await send('ON_DELIVERY_ITEM_ADDED', item);
      }
      await passTime(8.1 * DAY_MS);
      const reminders = async () =>
        (await service.mails()).filter(({ kind: sent }) => sent === 'expiring').length;
      expect(await reminders()).toBe(0);
      if (kind === 'tebex') {
        await send('recurring-payment.cancellation.requested', { reference: 'tbx-r-1' });
      } else await send('ON_SUBSCRIPTION_CANCELED', { id: 's1', current_period_end: end });
      await passTime(6 * DAY_MS);
      expect(await reminders()).toBe(1);
    },
  );

  it('a cancellation at Tebex that the buyer takes back leaves no reminder [13.3.1]', async () => {
    const { shop, market } = await setUp({ kind: 'tebex', name: 'Tebex' });
    await service.isolate.runScheduled();
    const send = async (type: string, about: object) => {
      const request = await asTebex(type, about);
      expect((await shop.send(market, request.body, request)).status).toBe(200);
    };
    await send('payment.completed', {
      transaction_id: 'tbx-1',
      recurring_payment_reference: 'tbx-r-1',
      created_at: inDays(0),
      customer: { email: buyer },
      products: [{ id: 'guard', quantity: 1, expires_at: inDays(12) }],
    });
    await passTime(DAY_MS);
    await send('recurring-payment.cancellation.requested', { reference: 'tbx-r-1' });
    await passTime(DAY_MS);
    await send('recurring-payment.cancellation.aborted', { reference: 'tbx-r-1' });
    await passTime(12 * DAY_MS);
    expect((await service.mails()).filter(({ kind }) => kind === 'expiring')).toEqual([]);
  });
});

/** A sender that does not compare identities, with the outcomes of its next attempts. */
class PlainSender implements MailSender {
  readonly adapter = 'smtp';
  readonly server = 'smtp.example';
  readonly from = 'keys@shop.example';
  readonly replyTo = null;
  readonly dailyLimit: number = 1_000;
  readonly isRepeatSafe: boolean;
  readonly arrived: OutgoingMail[] = [];
  next: (mail: OutgoingMail) => Promise<SendOutcome> = async () => ({
    state: 'sent',
    providerId: null,
  });

  constructor(isRepeatSafe = false) {
    this.isRepeatSafe = isRepeatSafe;
  }

  async send(mail: OutgoingMail): Promise<SendOutcome> {
    const outcome = await this.next(mail);
    if (outcome.state === 'sent' || outcome.state === 'lost') this.arrived.push(mail);
    return outcome;
  }
}

const LOST: SendOutcome = { state: 'lost', error: 'The connection was lost' };

describe('attempts without an outcome', () => {
  /** Sends what is due, with a made-up sender. */
  const newWorker = (sender: MailSender) => {
    const services = servicesOf({ ...service.bindings, DB: env.DB } as never);
    const mailer = new Mailer({ sender, fault: null }, { ROOT_TOKEN: 'root' }, true);
    const newSender = () => senderOf(services, SERVICE, () => undefined);
    return {
      run: () =>
        mailer.task.run({
          db: services.db,
          now: Date.now(),
          settings: {},
          outbound: services.outbound,
          newSender,
          left: () => Number.POSITIVE_INFINITY,
          spend: () => undefined,
          add: () => undefined,
        }),
    };
  };

  /** Stores a mail of each kind, and sends none. */
  async function storeEach(): Promise<void> {
    service = new MailService({ MAIL: 'wrong' });
    await service.switchOn('key', 'expiring');
    await service.isolate.runScheduled();
    await service.license({ licenseType: 'TEMPORARY', expiryDate: inDays(7.5) });
    setNow(NOON + 0.6 * DAY_MS);
    await service.isolate.runScheduled();
    expect((await service.mails()).map(({ kind, state }) => [kind, state])).toEqual([
      ['key', 'WAITING'],
      ['expiring', 'WAITING'],
    ]);
  }

  const states = async () => (await service.mails()).map(({ kind, state }) => [kind, state]);

  it('a connection that is lost after the message repeats a key once, and a reminder never [13.5.5]', async () => {
    await storeEach();
    const sender = new PlainSender();
    sender.next = async () => LOST;
    const worker = newWorker(sender);
    for (let count = 0; count < 5; count++) {
      setNow(Date.now() + 2 * MINUTE_MS);
      await worker.run();
    }
    expect(sender.arrived).toHaveLength(3);
    expect(await states()).toEqual([
      ['key', 'UNKNOWN'],
      ['expiring', 'UNKNOWN'],
    ]);
  });

  it('a process that ends after the message repeats a key once, and a reminder never [13.5.5]', async () => {
    await storeEach();
    const sender = new PlainSender();
    // The message is taken, and the process ends before it knows.
    sender.next = (mail) => {
      sender.arrived.push(mail);
      return new Promise(() => undefined);
    };
    for (let count = 0; count < 5; count++) {
      const reached = sender.arrived.length;
      void newWorker(sender).run();
      if (count < 2) await expect.poll(() => sender.arrived.length).toBeGreaterThan(reached);
      else await newWorker(sender).run();
      setNow(Date.now() + 4 * MINUTE_MS);
    }
    expect(sender.arrived.map(({ id }) => id)).toHaveLength(3);
    expect(await states()).toEqual([
      ['key', 'UNKNOWN'],
      ['expiring', 'UNKNOWN'],
    ]);
  });

  it('a sender that compares identities gets all of them again [13.5.5]', async () => {
    await storeEach();
    const sender = new PlainSender(true);
    sender.next = async () => LOST;
    const worker = newWorker(sender);
    await worker.run();
    sender.next = async () => ({ state: 'sent', providerId: null });
    setNow(Date.now() + 2 * MINUTE_MS);
    await worker.run();
    expect(new Set(sender.arrived.map(({ id }) => id)).size).toBe(2);
    expect(await states()).toEqual([
      ['key', 'SENT'],
      ['expiring', 'SENT'],
    ]);
  });

  it('no cause is sent twice or lost, whatever the sender responds [13.5.5, 13.5.6]', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('sent', 'retry', 'lost', 'refused'), { maxLength: 12 }),
        fc.boolean(),
        async (plan, isRepeatSafe) => {
          setNow(NOON);
          await emptyMails();
          await env.DB.batch(
            ['alerts', 'counters', 'bindings', 'outbox', 'licenses'].map((table) =>
              env.DB.prepare(`delete from ${table}`),
            ),
          );
          await storeEach();
          const sender = new PlainSender(isRepeatSafe);
          const outcomes = [...plan];
          const made = new Map<string, string[]>();
          sender.next = async ({ id }) => {
            const state = outcomes.shift() ?? 'sent';
            made.set(id, [...(made.get(id) ?? []), state]);
            if (state === 'sent') return { state, providerId: null };
            if (state === 'refused') return { state, error: 'No', isAddress: false };
            return state === 'lost' ? LOST : { state: 'retry', error: 'Later' };
          };
          const worker = newWorker(sender);
          for (let hour = 0; hour < 60; hour++) {
            setNow(Date.now() + HOUR_MS);
            await worker.run();
          }
          for (const { kind, state } of await service.mails()) {
            expect(['SENT', 'UNKNOWN', 'FAILED', 'SKIPPED']).toContain(state);
            if (kind === 'key' && !plan.includes('lost') && !plan.includes('refused')) {
              expect(state).toBe(plan.filter((one) => one === 'retry').length < 8 ? 'SENT' : state);
            }
          }
          for (const states of made.values()) {
            expect(states.filter((one) => one === 'sent').length).toBeLessThanOrEqual(1);
            expect(states.slice(0, -1)).not.toContain('sent');
            if (!isRepeatSafe) {
              expect(
                states.filter((one) => one === 'lost' || one === 'sent').length,
              ).toBeLessThanOrEqual(2);
            }
          }
        },
      ),
      { numRuns: env.IS_LONG ? 8 : 2 },
    );
  });
});

describe('a link by e-mail', () => {
  it('nothing is asked of the database before the response, for known and unknown e-mails [13.7.2]', async () => {
    await service.switchOn('link');
    const { email } = await service.customer();
    const { spy: DB, roundTrips } = spyOnDatabase(env.DB);
    for (const wanted of [email, newEmail()]) {
      roundTrips.length = 0;
      let release = (): void => undefined;
      const gate = new Promise<void>((resolve) => {
        release = resolve;
      });
      const held = interceptDatabase(DB, async (_, send) => {
        await gate;
        return send();
      });
      const waiting = service.newIsolate({ DB: held });
      const { status, finished } = await waiting.send('POST', '/my/link', {
        token: null,
        body: { email: wanted },
        headers: { 'Content-Type': 'application/json', 'Sec-Fetch-Site': 'same-origin' },
      });
      expect([status, roundTrips]).toEqual([202, []]);
      release();
      await finished;
      expect(roundTrips.length).toBeGreaterThan(0);
    }
    expect(service.counts()).toEqual({ [email ?? '']: 1 });
  });

  it('a link that waited for 60 minutes is not sent', async () => {
    await service.switchOn('link');
    const { email } = await service.customer();
    service.answer(() => new Response('', { status: 500 }));
    await ask('POST', '/link', { body: { email } }, service.isolate);
    service.answer();
    await passTime(61 * MINUTE_MS);
    expect(service.sent).toEqual([]);
    expect(await service.mail()).toMatchObject({ state: 'SKIPPED' });
  });
});

describe('a mail that a person sends again', () => {
  /** A mail whose first attempt has failed. */
  const storeWaiting = async (act: () => Promise<unknown>) => {
    service.answer(() => new Response('', { status: 500 }));
    await act();
    service.answer();
    return service.mail();
  };

  it('a link that has expired is not sent again, and another one is [13.5.4]', async () => {
    await service.switchOn('link');
    const { email } = await service.customer();
    const { id } = await storeWaiting(() =>
      ask('POST', '/link', { body: { email } }, service.isolate),
    );
    setNow(NOON + 61 * MINUTE_MS);
    expect(await service.post(`/mails/${id}/resend`)).toMatchObject({ id, state: 'SKIPPED' });
    expect(service.sent).toEqual([]);
    expect(await service.post(`/mails/${id}/resend`)).toMatchObject({ state: 'SENT' });
    expect(service.sent).toHaveLength(1);
  });

  it('a repetition with the same Idempotency-Key sends a mail that waited no second time [13.5.4]', async () => {
    await service.switchOn('key');
    const { id } = await storeWaiting(() => service.license());
    const headers = { 'Idempotency-Key': crypto.randomUUID() };
    for (let count = 0; count < 2; count++) {
      const again = await service.post(`/mails/${id}/resend`, {}, { headers });
      expect(again).toMatchObject({ id, state: 'SENT', attempts: 2 });
    }
    expect(service.sent).toHaveLength(1);
  });
});

describe('identities and limits', () => {
  it('a mail keeps its identity when the service is reached by another address [13.5.2]', async () => {
    service = new MailService({ PUBLIC_URL: '' });
    await service.switchOn('key');
    const keys: string[] = [];
    service.answer(({ key }) => {
      keys.push(key);
      return new Response('', { status: 500 });
    });
    await service.license();
    await service.isolate.call('PUT', '/api/v2/settings/mail', {
      body: { language: 'de' },
      host: 'other.example',
    });
    await passTime(2 * MINUTE_MS);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
  });

  it('a pause for which the sender asks ends while it still knows the mail [13.5.2]', async () => {
    await service.switchOn('key');
    service.answer(() => new Response('', { status: 429, headers: { 'Retry-After': '99999999' } }));
    await service.license();
    const { nextAttemptAt } = await service.mail();
    expect(Date.parse(nextAttemptAt ?? '')).toBeLessThanOrEqual(NOON + DAY_MS);
  });

  it('a mail without a public address has no link to the page [13.5.2]', async () => {
    service = new MailService({ PUBLIC_URL: '' });
    const sold = await service.license();
    expect(await service.post(`/licenses/${sold.id}/send-key`)).toMatchObject({ state: 'SENT' });
    const { text, html } = onlyMail(service);
    expect(`${text}${html}`).not.toMatch(/localhost/);
    expect(text).toContain(sold.licenseKey);
  });

  it('no mail is sent without ROOT_TOKEN, of which its secrets are made [13.1.2]', async () => {
    service = new MailService({ ROOT_TOKEN: 'short' });
    const { json } = await new MailService().isolate.call('POST', '/api/v2/tokens', {
      body: { name: 'mail', intents: ['ALL_READ'] },
    });
    const { status, text } = await service.isolate.call('GET', '/api/v2/settings/mail', {
      token: String(Object(json).token ?? Object(json).key),
    });
    expect(status, text).toBe(200);
    expect(text).toMatch(/"fault":"ROOT_TOKEN must/);
  });

  it('a burst is sent at once on one machine, with two connections to the mail server at most', async () => {
    service = new MailService({ ONE_MACHINE: 'true' });
    await service.switchOn('key');
    let [open, most] = [0, 0];
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    service.answer(async ({ id }) => {
      most = Math.max(most, ++open);
      await gate;
      open--;
      return Response.json({ id });
    });
    const { id: productId } = await products.create();
    const made = await Promise.all(
      Array.from({ length: 20 }, () =>
        service.isolate.send('POST', '/api/v2/licenses', {
          body: { productId, licenseType: 'PERMANENT', customerEmail: newEmail() },
        }),
      ),
    );
    await expect.poll(() => open).toBeGreaterThan(0);
    release();
    await Promise.all(made.map(({ finished }) => finished));
    expect(most).toBeLessThanOrEqual(2);
    expect(new Set((await service.mails()).map(({ state }) => state))).toEqual(new Set(['SENT']));
    expect(await service.mails()).toHaveLength(20);
  });

  it.each([
    ['at Cloudflare', {}],
    ['on one machine', { ONE_MACHINE: 'true' }],
  ])('mails after a response begin in time to store their outcomes %s', async (_, bindings) => {
    service = new MailService(bindings);
    await service.switchOn('key');
    const { productId } = await service.license({ customerEmail: null });
    const begun = performance.now();
    const clock = vi.spyOn(performance, 'now');
    // A server that takes five seconds for a mail: work after a response ends after 30.
    service.answer(() => {
      clock.mockReturnValue(begun + 5_000);
      return undefined;
    });
    await service.isolate.call('POST', '/api/v2/licenses/batch', {
      body: { productId, licenseType: 'PERMANENT', customerEmail: newEmail(), count: 5 },
    });
    clock.mockRestore();
    expect(service.sent.length).toBeLessThanOrEqual(2);
    await passTime(MINUTE_MS);
    expect(service.sent).toHaveLength(5);
  });
});

describe('10,000 licenses that expire on one day', () => {
  it('each of their customers is reminded once, with 50 requests a run [13.3.1, 13.6.1]', {
    tags: 'long',
  }, async () => {
    service = new MailService({ MAIL_DAILY_LIMIT: '20000' });
    await service.switchOn('expiring');
    await service.isolate.runScheduled();
    const { id: productId } = await products.create();
    const db = openDatabase(env.DB);
    const COUNT = 10_000;
    await env.DB.prepare(
      `insert into customers (email, email_normalized, created_at, revision)
        select 'c' || value || '@many.example', 'c' || value || '@many.example', ?1, 1 from json_each(?2)`,
    )
      .bind(NOON, JSON.stringify(Array.from({ length: COUNT }, (_, index) => index)))
      .run();
    await env.DB.prepare(
      `insert into licenses (license_key, license_key_normalized, product_id, license_type, expires_at,
          max_ips, max_hwids, customer_id, created_at, updated_at, revision)
        select 'MANY-' || id, 'MANY-' || id, ?1, 'TEMPORARY', ?2, 1, 1, id, ?3, ?3, 1
        from customers where email like '%@many.example'`,
    )
      .bind(productId, NOON + 7.5 * DAY_MS, NOON)
      .run();
    expect(await db.$count(licenses)).toBe(COUNT);
    const { spy: DB, roundTrips } = spyOnDatabase(env.DB);
    const isolate = service.newIsolate({ DB });
    setNow(NOON + 0.6 * DAY_MS);
    let most = 0;
    for (let run = 0; run < 30; run++) {
      const [before, sent] = [roundTrips.flat().length, service.receivers.received.length];
      await passTime(MINUTE_MS, isolate);
      const requests = service.receivers.received.length - sent;
      most = Math.max(most, roundTrips.flat().length - before + requests);
    }
    expect(most).toBeLessThanOrEqual(50);
    const rows = await env.DB.prepare(
      'select count(*) n, count(distinct customer_id) customers from mails',
    ).first();
    expect(rows).toEqual({ n: COUNT, customers: COUNT });
    expect(service.sent.length).toBeGreaterThanOrEqual(200);
    expect(Math.max(...Object.values(service.counts()))).toBe(1);
    await env.DB.batch([
      env.DB.prepare(`delete from licenses`),
      env.DB.prepare(`delete from mails`),
      env.DB.prepare(`delete from customers where email like '%@many.example'`),
    ]);
  });
});
