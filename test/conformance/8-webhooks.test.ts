import { env } from 'cloudflare:workers';
import { event } from '@licet/contract/events';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { signatureHeaders } from '../../src/channels/webhooks/formats/standard.ts';
import { settled } from '../support/app.ts';
import { type CallOptions, call, create, expectError } from '../support/client.ts';
import { interceptDatabase } from '../support/d1-intercept.ts';
import { spyOnDatabase, sumRows } from '../support/d1-spy.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, setNow } from '../support/history.ts';
import {
  type Delivery,
  NO_CONTENT,
  type Received,
  Sender,
  validSignatures,
} from '../support/receiver.ts';
import { webhooks } from '../support/resources.ts';

/** Webhooks and their deliveries (8). */

const ORIGIN = 'https://shop.example';
const SHOP = `${ORIGIN}/licet`;
const PANEL = 'https://panel.example/licet';
const DISCORD = 'https://discord.com/api/webhooks/1234567890/aB-c_d9';
const SHOWN_DISCORD = 'https://discord.com/api/webhooks/1234567890/***';
const ON_PRODUCTS = { url: SHOP, types: ['product.*' as const] };

let sender: Sender;
beforeEach(async () => {
  await settled();
  await env.DB.batch(
    ['webhooks', 'deliveries', 'events'].map((table) => env.DB.prepare(`delete from ${table}`)),
  );
  sender = new Sender();
});

const status = (code: number, headers: Record<string, string> = {}, body: string | null = null) => {
  const respond = () => new Response(body, { status: code, headers });
  return respond;
};

/** Lets time pass, and the scheduled handler run. */
async function passTime(milliseconds: number): Promise<void> {
  setNow(Date.now() + milliseconds);
  await sender.isolate.runScheduled();
}

/** The events of the service, newest first. */
async function serviceEvents() {
  const { json } = await sender.isolate.call('GET', '/api/v2/events?actor=service');
  return event.array().parse(json);
}

describe('the resource', () => {
  it('a webhook has the fields of a standard one, and all events, unless they are set [8.1.1]', async () => {
    const { secret, ...created } = await sender.create({ url: SHOP });
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(created).toEqual({
      id: expect.any(Number),
      url: SHOP,
      format: 'standard',
      types: [],
      enabled: true,
      description: '',
      createdAt: expect.any(String),
      updatedAt: created.createdAt,
      lastSuccessAt: null,
      failingSince: null,
      disabledReason: null,
    });
  });

  it.each([
    DISCORD,
    DISCORD.replace('discord.com', 'ptb.discord.com'),
    DISCORD.replace('discord.com', 'canary.discord.com'),
    DISCORD.replace('discord.com', 'discordapp.com'),
    DISCORD.replace('/api/', '/api/v10/'),
  ])('%s is recognized, and its token is never shown [8.1.3, 8.1.4]', async (url) => {
    const { id, secret, ...created } = await sender.create({ url, enabled: false });
    expect(created).toMatchObject({ format: 'discord', url: url.replace('aB-c_d9', '***') });
    await sender.update(id, { description: 'Alerts' });
    const shown = await Promise.all([
      sender.isolate.call('GET', `${webhooks.path}/${id}`),
      sender.isolate.call('GET', webhooks.path),
      sender.isolate.call('GET', '/api/v2/events'),
      sender.isolate.call('GET', `${webhooks.path}/${id}/deliveries`),
    ]);
    for (const { text } of shown) {
      expect(text).not.toContain('aB-c_d9');
      expect(text).not.toContain(secret);
    }
  });

  it('events show the scheme and the host of an address, and of another one only that it changed [8.1.4]', async () => {
    const { id } = await sender.create({
      url: 'https://chat.example/services/T0/sEcReT?token=hIdDeN',
    });
    await sender.update(id, { url: 'https://chat.example/services/T0/oThEr' });
    await sender.isolate.call('DELETE', `${webhooks.path}/${id}`);
    const { json, text } = await sender.isolate.call('GET', '/api/v2/events');
    const shown = { before: null, after: 'https://chat.example' };
    expect(
      event
        .array()
        .parse(json)
        .map(({ changes }) => changes?.url),
    ).toEqual([{ before: shown.after, after: null }, { before: null, after: null }, shown]);
    expect(text).not.toMatch(/sEcReT|hIdDeN|oThEr/);
  });

  it('a PUT of what GET returned keeps the address of Discord, and a test still reaches it [8.1.4]', async () => {
    const { id } = await sender.create({ url: DISCORD, types: ['session.*'] });
    const updated = await sender.update(id, await sender.get(id));
    expect(updated.url).toBe(SHOWN_DISCORD);
    await sender.isolate.call('POST', `${webhooks.path}/${id}/test`);
    expect(sender.receivers.received.map(({ url }) => url)).toEqual([`${DISCORD}?wait=true`]);
  });

  it('a PUT of another address sets the format that belongs to it, unless it sends one [8.1.3, 8.1.4]', async () => {
    const { id } = await sender.create({ url: SHOP, enabled: false });
    expect(await sender.update(id, { url: DISCORD })).toMatchObject({
      format: 'discord',
      url: SHOWN_DISCORD,
    });
    expect(await sender.update(id, { url: PANEL })).toMatchObject({
      format: 'standard',
      url: PANEL,
    });
    const own = { url: SHOP, format: 'discord' };
    expect(await sender.update(id, own)).toMatchObject(own);
  });

  it.each([
    ['http://shop.example/', 'url must begin with https://'],
    ['https://127.0.0.1/', 'url must have a name, not an IP address'],
    ['https://2130706433/', 'url must have a name, not an IP address'],
    ['https://router.local/', 'url must be a public name, such as shop.example'],
    ['https://licet.test/api', 'url must be an address of another service, not of this one'],
    ['https://LICET.test./api', 'url must be an address of another service, not of this one'],
  ])('%s is rejected on create and on update: %s [8.4.1]', async (url, message) => {
    expectError(await call('POST', webhooks.path, { body: { url } }), 400, message);
    const { id } = await sender.create({ url: SHOP, enabled: false });
    expectError(await call('PUT', `${webhooks.path}/${id}`, { body: { url } }), 400, message);
    expect((await sender.get(id)).url).toBe(SHOP);
  });

  it.each([
    'https://discord.com/api//webhooks/1234567890/aB-c_d9',
    'https://discord.com/./api/webhooks/1234567890/aB-c_d9',
    'https://discord.com\\\\api\\\\webhooks\\1234567890\\aB-c_d9',
    'https://discord.com/api/web\thooks/1234567890/aB-c_d9',
    'HTTPS://DISCORD.COM/api/webhooks/1234567890/aB-c_d9',
  ])('%s hides its token [8.1.4]', async (url) => {
    const { id, secret, ...created } = await sender.create({ url, enabled: false });
    expect(created).toMatchObject({
      format: 'discord',
      url: new URL(url).href.replace('aB-c_d9', '***'),
    });
  });

  it('an address of Discord without its token is rejected, and changes nothing [8.1.4]', async () => {
    const { id } = await sender.create({ url: DISCORD, enabled: false });
    const shown = `${SHOWN_DISCORD}?thread_id=5`;
    const message = 'url must have the token of the Discord webhook in the place of ***';
    expectError(await call('POST', webhooks.path, { body: { url: shown } }), 400, message);
    const path = `${webhooks.path}/${id}`;
    expectError(await call('PUT', path, { body: { url: shown } }), 400, message);
    expect(await sender.get(id)).toMatchObject({ url: SHOWN_DISCORD, format: 'discord' });
  });

  it('ten of 20 webhooks that are created at once are stored [8.1.5]', async () => {
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        sender.newIsolate().call('POST', webhooks.path, {
          body: { url: `${SHOP}/${index}`, enabled: false },
        }),
      ),
    );
    expect(responses.filter((one) => one.status === 201)).toHaveLength(10);
    for (const response of responses.filter((one) => one.status !== 201)) {
      expectError(response, 409, 'There are at most 10 webhooks: delete one first');
    }
    expect(await env.DB.prepare('select count(*) n from webhooks').first('n')).toBe(10);
    const left = await sender.isolate.call('GET', '/api/v2/events?type=webhook.created');
    expect(left.json).toHaveLength(10);
  });

  it('events about a webhook name it, and show no secret [8.1.6]', async () => {
    const { id, secret } = await sender.create({ url: SHOP, types: ['session.*'] });
    const rotated = await sender.isolate.call('POST', `${webhooks.path}/${id}/rotate-secret`);
    await sender.isolate.call('DELETE', `${webhooks.path}/${id}`);
    const { json, text } = await sender.isolate.call('GET', '/api/v2/events');
    expect(event.array().parse(json)).toMatchObject([
      {
        type: 'webhook.deleted',
        resourceId: id,
        changes: { url: { before: ORIGIN, after: null } },
      },
      {
        type: 'webhook.updated',
        resourceId: id,
        changes: { secret: { before: null, after: null } },
      },
      {
        type: 'webhook.created',
        resourceId: id,
        changes: { url: { before: null, after: ORIGIN } },
      },
    ]);
    expect(text).not.toContain(secret);
    expect(text).not.toContain(Object(rotated.json).secret);
  });
});

describe('messages', () => {
  it('the signature is that of Standard Webhooks [8.2.1]', async () => {
    // The vectors of its specification.
    for (const [secret, id, seconds, body, signature] of [
      [
        'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
        'msg_p5jXN8AQM9LWM0D4loKWxJek',
        1_614_265_330,
        '{"test": 2432232314}',
        'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
      ],
      [
        'whsec_dGVzdHNlY3JldHRlc3RzZWNyZXR0ZXN0',
        'msg_1',
        1_790_000_000,
        '{"id":"evt_1","url":"https:\\/\\/example.com\\/p","n":1}',
        'v1,CYxhRBNQLslsoLd/G13uFE0H8mpoFA+bwcE4O//DqRc=',
      ],
    ] as const) {
      expect(await signatureHeaders({ id, body }, [secret], seconds * 1000 + 999)).toEqual({
        'webhook-id': id,
        'webhook-timestamp': String(seconds),
        'webhook-signature': signature,
      });
    }
  });

  it('a change is sent to the webhooks that ask for its type, signed, as its event shows it [8.1.2, 8.2.1]', async () => {
    const { secret } = await sender.create(ON_PRODUCTS);
    await sender.create({ url: PANEL, types: ['product.updated', 'license.*'] });
    await sender.create({ url: `${PANEL}/all` });
    sender.receivers.received.length = 0;
    const id = await sender.change();
    expect(sender.receivers.received.map(({ url }) => url).toSorted()).toEqual([
      `${PANEL}/all`,
      SHOP,
    ]);
    const [sent = expect.fail()] = sender.receivers.of(SHOP);
    const { json } = await sender.isolate.call('GET', '/api/v2/events?type=product.created');
    const [stored = expect.fail()] = event.array().parse(json);
    expect(stored.resourceId).toBe(id);
    expect(JSON.parse(sent.body)).toEqual({
      type: 'product.created',
      timestamp: stored.time.replace('+00:00', 'Z'),
      data: stored,
    });
    expect(sent.headers.get('Content-Type')).toBe('application/json');
    expect(sent.headers.get('webhook-id')).toBe(`msg_${stored.id}`);
    expect(Number(sent.headers.get('webhook-timestamp'))).toBe(Math.floor(sent.at / 1000));
    expect(await validSignatures(sent, secret)).toBe(1);
    expect(
      await validSignatures(
        sent,
        secret.replace(/^whsec_./, (start) => (start.endsWith('A') ? 'whsec_B' : 'whsec_A')),
      ),
    ).toBe(0);
  });

  it('after a rotation both secrets sign for 24 hours, and then the new one [8.1.6]', async () => {
    const { id, secret } = await sender.create(ON_PRODUCTS);
    const response = await sender.isolate.call('POST', `${webhooks.path}/${id}/rotate-secret`);
    const { secret: fresh } = Object(response.json);
    expect(fresh).not.toBe(secret);
    const count = async () => {
      sender.receivers.received.length = 0;
      await sender.change();
      const [sent = expect.fail()] = sender.receivers.received;
      return [await validSignatures(sent, fresh), await validSignatures(sent, secret)];
    };
    expect(await count()).toEqual([1, 1]);
    setNow(Date.now() + DAY_MS - MINUTE_MS);
    expect(await count()).toEqual([1, 1]);
    setNow(Date.now() + 2 * MINUTE_MS);
    expect(await count()).toEqual([1, 0]);
  });

  it('two rotations within a day leave the first secret valid for a day after the last [8.1.6]', async () => {
    const { id, secret } = await sender.create(ON_PRODUCTS);
    const path = `${webhooks.path}/${id}/rotate-secret`;
    for (let time = 0; time < 2; time++) {
      expect((await sender.isolate.call('POST', path)).status).toBe(200);
      setNow(Date.now() + 12 * HOUR_MS);
    }
    await sender.change();
    setNow(Date.now() + 13 * HOUR_MS);
    await sender.change();
    const valid = await Promise.all(
      sender.receivers.received.map((received) => validSignatures(received, secret)),
    );
    expect(valid).toEqual([1, 0]);
  });

  it('a message for Discord is one embed, and takes no text for formatting, a link or a mention [8.2.2]', async () => {
    await sender.create({ url: DISCORD, types: ['license.created'] });
    const product = await create.product({ name: '**Guard** [x](https://evil.example)' });
    const hostile = '@everyone <@123> `rm` https://evil.example';
    const { status: code, json } = await sender.isolate.call('POST', '/api/v2/customers', {
      body: { firstName: hostile, email: 'ada@shop.example' },
    });
    expect(code).toBe(201);
    const body = {
      productId: product.id,
      licenseType: 'PERMANENT',
      customerId: Object(json).id,
      ips: ['203.0.113.9'],
      hwids: ['0e8a5d1c'],
      notes: 'Paid in cash',
      maxIPs: 3,
    };
    const created = await sender.isolate.call('POST', '/api/v2/licenses', {
      body,
    });
    const { id: licenseId, licenseKey } = Object(created.json);
    const [sent = expect.fail()] = sender.receivers.received;
    expect(sent.url).toBe(`${DISCORD}?wait=true`);
    expect(sent.headers.get('User-Agent')).toMatch(/^DiscordBot \(https:\/\/\S+, \S+\)$/);
    expect(sent.headers.get('webhook-signature')).toBeNull();
    expect(JSON.parse(sent.body)).toEqual({
      allowed_mentions: { parse: [] },
      embeds: [
        {
          title: 'License created',
          url: `https://licet.test/console/licenses/${licenseId}`,
          color: expect.any(Number),
          timestamp: expect.any(String),
          description: expect.stringContaining('maxIPs: 3'),
          fields: [
            { name: 'License', value: `…${licenseKey.slice(-4)}`, inline: true },
            {
              name: 'Product',
              value: '\\*\\*Guard\\*\\* \\[x\\]\\(https\\://evil.example\\)',
              inline: true,
            },
            {
              name: 'Customer',
              value: '\\@everyone \\<\\@123\\> \\`rm\\` https\\://evil.example',
              inline: true,
            },
            { name: 'By', value: 'root', inline: true },
          ],
        },
      ],
    });
    for (const secret of [licenseKey, '203.0.113.9', '0e8a5d1c', 'cash', 'ada@shop']) {
      expect(sent.body).not.toContain(secret);
    }
  });

  it.each(['localhost:8787', 'licet-8787-0a1b2c.localhost:8787', '127.0.0.1:8787', '[::1]:8787'])(
    'a message for Discord has no link to %s, which nobody else can open [8.2.2]',
    async (host) => {
      const body = { url: DISCORD, types: ['product.*'] };
      const made = await sender.isolate.call('POST', webhooks.path, { body, host });
      expect(made.status, made.text).toBe(201);
      await sender.change();
      const [sent = expect.fail()] = sender.receivers.received;
      expect(JSON.parse(sent.body).embeds[0]).not.toHaveProperty('url');
    },
  );
});

describe('test and resend', () => {
  it('a test sends a ping once, also to a webhook that is off, and responds with its outcome [8.1.8]', async () => {
    const { id, secret } = await sender.create({ url: SHOP, enabled: false });
    const good = await sender.isolate.call('POST', `${webhooks.path}/${id}/test`);
    const [sent = expect.fail()] = sender.receivers.received;
    expect(await validSignatures(sent, secret)).toBe(1);
    expect(JSON.parse(sent.body)).toMatchObject({ type: 'ping', data: { webhookId: id } });
    expect(good.json).toMatchObject({
      type: 'ping',
      state: 'DELIVERED',
      attempts: 1,
      status: 204,
      error: null,
      request: sent.body,
    });
    sender.receivers.at(SHOP, status(500, {}, 'Down'));
    const bad = await sender.isolate.call('POST', `${webhooks.path}/${id}/test`);
    expect(bad.json).toMatchObject({
      state: 'FAILED',
      status: 500,
      error: 'The receiver returned 500',
      response: 'Down',
      nextAttemptAt: null,
    });
    await passTime(DAY_MS);
    expect(sender.receivers.received).toHaveLength(2);
  });

  it('a test that is sent again has one attempt, too, also under a limit of Discord [8.1.8]', async () => {
    const { id } = await sender.create({ url: DISCORD, enabled: false });
    const path = `${webhooks.path}/${id}`;
    sender.receivers.at(DISCORD, status(429, { 'Retry-After': '2' }));
    const { json } = await sender.isolate.call('POST', `${path}/test`);
    expect(json).toMatchObject({ state: 'FAILED', status: 429, nextAttemptAt: null });
    await sender.update(id, { enabled: true });
    setNow(Date.now() + MINUTE_MS);
    sender.receivers.at(DISCORD, status(500));
    const again = sender.newIsolate();
    const resent = await again.call('POST', `${path}/deliveries/${Object(json).id}/resend`);
    expect(resent.json).toMatchObject({ state: 'FAILED', status: 500, nextAttemptAt: null });
  });

  it('a delivery whose event is no longer kept is not sent again, and stays delivered [8.1.8]', async () => {
    const { id } = await sender.create(ON_PRODUCTS);
    await sender.change();
    await env.DB.prepare('delete from events').run();
    const { id: deliveryId } = await sender.delivery(id);
    const path = `${webhooks.path}/${id}/deliveries/${deliveryId}/resend`;
    expectError(await sender.isolate.call('POST', path), 409, 'The event is no longer kept');
    expect(await sender.delivery(id)).toMatchObject({ state: 'DELIVERED', attempts: 1 });
  });

  it('a delivery is sent again with the same id and body, and a new timestamp [8.1.8]', async () => {
    const { id } = await sender.create(ON_PRODUCTS);
    await sender.change();
    const { id: deliveryId } = await sender.delivery(id);
    setNow(Date.now() + HOUR_MS);
    const path = `${webhooks.path}/${id}/deliveries/${deliveryId}/resend`;
    const response = await sender.isolate.call('POST', path);
    expect(response.json).toMatchObject({ id: deliveryId, state: 'DELIVERED', attempts: 2 });
    const [first, second] = sender.receivers.received;
    expect(second?.body).toBe(first?.body);
    expect(second?.headers.get('webhook-id')).toBe(first?.headers.get('webhook-id'));
    expect(second?.headers.get('webhook-timestamp')).not.toBe(
      first?.headers.get('webhook-timestamp'),
    );
  });

  it.each(['the change', 'the scheduled handler'])(
    'a delivery that %s attempts just now is not sent again [8.1.8]',
    async (sent) => {
      const { id } = await sender.create(ON_PRODUCTS);
      const isLater = sent === 'the scheduled handler';
      if (isLater) {
        sender.receivers.at(SHOP, status(500));
        await sender.change();
        sender.receivers.received.length = 0;
      }
      const asked = Promise.withResolvers<void>();
      const released = Promise.withResolvers<void>();
      sender.receivers.at(SHOP, async () => {
        asked.resolve();
        await released.promise;
        return new Response();
      });
      const attempt = isLater ? passTime(2 * MINUTE_MS) : sender.change();
      await asked.promise;
      const { id: deliveryId, state } = await sender.delivery(id);
      expect(state).toBe('PENDING');
      const path = `${webhooks.path}/${id}/deliveries/${deliveryId}/resend`;
      const response = await sender.newIsolate().call('POST', path);
      expectError(response, 409, 'An attempt is under way: see its outcome in a minute');
      released.resolve();
      await attempt;
      expect(sender.receivers.received).toHaveLength(1);
    },
  );

  it.each(['test', 'deliveries/7/resend', 'rotate-secret'])(
    'POST %s of a webhook that does not exist is 404',
    async (action) => {
      const response = await call('POST', `${webhooks.path}/999999/${action}`);
      expectError(response, 404, 'Webhook not found');
    },
  );

  it('a delivery that does not exist is not sent again', async () => {
    const { id } = await sender.create({ url: SHOP, enabled: false });
    const response = await call('POST', `${webhooks.path}/${id}/deliveries/7/resend`);
    expectError(response, 404, 'Delivery not found');
  });
});

describe('the list of deliveries', () => {
  it('the list of deliveries is newest first, in pages, and by state [8.1.9]', async () => {
    const { id } = await sender.create(ON_PRODUCTS);
    const names = ['A', 'B', 'C', 'D', 'E'];
    for (const name of names) {
      sender.receivers.at(SHOP, name === 'B' ? status(400) : NO_CONTENT);
      await sender.change(name);
      // One that failed is tried again at once, and the next changes are sent at once.
      if (name === 'B') await passTime(2 * MINUTE_MS);
      sender.receivers.at(SHOP, NO_CONTENT);
      if (name === 'B') await passTime(6 * MINUTE_MS);
    }
    const nameIn = ({ request }: Delivery) => JSON.parse(request ?? '').data.changes.name.after;
    expect((await sender.deliveries(id)).map(nameIn)).toEqual(names.toReversed());
    const path = `${webhooks.path}/${id}/deliveries`;
    const first = await sender.isolate.call('GET', `${path}?limit=2`);
    const [, next = ''] =
      /^<https:\/\/licet\.test(.*)>; rel="next"$/.exec(first.headers.get('Link') ?? '') ?? [];
    const second = await sender.isolate.call('GET', next);
    expect([first, second].flatMap(({ json }) => Object(json).map(nameIn))).toEqual([
      'E',
      'D',
      'C',
      'B',
    ]);
    expect((await sender.deliveries(id, '?state=DELIVERED')).map(nameIn)).toHaveLength(5);
    expect(await sender.deliveries(id, '?state=PENDING')).toEqual([]);
    sender.receivers.at(SHOP, status(500));
    await sender.change('F');
    expect((await sender.deliveries(id, '?state=PENDING')).map(nameIn)).toEqual(['F']);
    await sender.update(id, { enabled: false });
    expect((await sender.deliveries(id, '?state=FAILED')).map(nameIn)).toEqual(['F']);
  });

  it.each([
    [200, 256],
    [500, 1_000],
  ])(
    'of the response of a receiver with status %d, %d bytes are kept [8.1.9]',
    async (code, bytes) => {
      const { id } = await sender.create(ON_PRODUCTS);
      sender.receivers.at(SHOP, status(code, {}, 'é'.repeat(500)));
      await sender.change();
      const { response } = await sender.delivery(id);
      expect(new TextEncoder().encode(response ?? '')).toHaveLength(bytes);
      expect(response).toMatch(/^é+$/);
    },
  );

  it('the list of deliveries shows the response of the receiver to tokens with ALL_READ_WRITE alone [8.1.9]', async () => {
    const { id } = await sender.create(ON_PRODUCTS);
    sender.receivers.at(SHOP, status(200, {}, 'internal host 10.0.0.7'));
    await sender.change();
    const path = `${webhooks.path}/${id}/deliveries`;
    const responseFor = async (options: CallOptions) => {
      const { json } = await sender.isolate.call('GET', path, options);
      return Object(json)[0].response;
    };
    expect(await responseFor({})).toBe('internal host 10.0.0.7');
    const reader = await create.token(['ALL_READ']);
    expect(await responseFor({ token: reader.token })).toBeNull();
  });

  it.each([
    ['limit', '101', 'limit must be an integer from 1 to 100'],
    ['state', 'LOST', /^state must be one of PENDING, DELIVERED, FAILED/],
    ['after', '0', 'after must be a positive integer'],
  ])('rejects %s=%s', async (name, value, message) => {
    const { id } = await sender.create({ url: SHOP, enabled: false });
    const path = `${webhooks.path}/${id}/deliveries?${name}=${value}`;
    expectError(await call('GET', path), 400, message);
  });
});

/** The delays after the attempts until now, in minutes. */
const DELAYS = [1, 5, 30, 2 * 60, 6 * 60, 12 * 60, 24 * 60];

describe('retries', () => {
  it('a failed delivery is attempted again after 1, 5, 30 minutes, 2, 6, 12 and 24 hours, each a fifth more or less [8.3.4]', async () => {
    // The clock stands still: the last millisecond before an attempt counts.
    setNow(Date.now());
    const { id } = await sender.create(ON_PRODUCTS);
    sender.receivers.at(SHOP, status(500));
    await sender.change();
    for (const [index, minutes] of DELAYS.entries()) {
      const { attempts, state, attemptedAt, nextAttemptAt } = await sender.delivery(id);
      expect({ attempts, state }).toEqual({ attempts: index + 1, state: 'PENDING' });
      const delayMs = Date.parse(nextAttemptAt ?? '') - Date.parse(attemptedAt ?? '');
      expect(delayMs / MINUTE_MS / minutes).toBeGreaterThan(0.79);
      expect(delayMs / MINUTE_MS / minutes).toBeLessThan(1.21);
      const waitMs = Date.parse(nextAttemptAt ?? '') - Date.now();
      await passTime(waitMs - 1);
      expect(sender.receivers.received).toHaveLength(index + 1);
      await passTime(1);
      expect(sender.receivers.received).toHaveLength(index + 2);
    }
    expect(await sender.delivery(id)).toMatchObject({
      state: 'FAILED',
      attempts: 8,
      status: 500,
      error: 'The receiver returned 500',
      nextAttemptAt: null,
    });
    const ids = sender.receivers.received.map(({ headers }) => headers.get('webhook-id'));
    expect(new Set(ids).size).toBe(1);
    const signatures = sender.receivers.received.map(({ headers }) =>
      headers.get('webhook-signature'),
    );
    expect(new Set(signatures).size).toBe(8);
    await passTime(3 * DAY_MS);
    expect(sender.receivers.received).toHaveLength(8);
  });

  it.each([
    ['3600', HOUR_MS],
    [String(10 * 24 * 3600), DAY_MS],
    ['date', 2 * HOUR_MS],
  ])(
    'Retry-After of %s is kept, for at most a day, and nothing else is sent until then [8.3.5]',
    async (sent, pauseMs) => {
      const { id } = await sender.create(ON_PRODUCTS);
      const now = Math.floor(Date.now() / 1000) * 1000;
      setNow(now);
      const value = sent === 'date' ? new Date(now + pauseMs).toUTCString() : sent;
      sender.receivers.at(SHOP, status(503, { 'Retry-After': value }));
      await sender.change('A');
      await sender.change('B');
      await passTime(pauseMs - 1000);
      expect(sender.receivers.received).toHaveLength(1);
      sender.receivers.at(SHOP, NO_CONTENT);
      await passTime(2000);
      expect(sender.receivers.received).toHaveLength(3);
      expect((await sender.deliveries(id)).map(({ state }) => state)).toEqual([
        'DELIVERED',
        'DELIVERED',
      ]);
    },
  );

  it.each([300, 301, 302, 304, 307, 400, 401, 404, 429, 500, 502, 504])(
    'a status of %d is a failure, and attempted again [8.3.5]',
    async (code) => {
      const { id } = await sender.create(ON_PRODUCTS);
      sender.receivers.at(SHOP, status(code, code < 400 ? { Location: PANEL } : {}));
      await sender.change();
      expect(await sender.delivery(id)).toMatchObject({ state: 'PENDING', status: code });
      expect((await sender.get(id)).failingSince).not.toBeNull();
      sender.receivers.at(SHOP, NO_CONTENT);
      await passTime(2 * MINUTE_MS);
      expect(await sender.delivery(id)).toMatchObject({ state: 'DELIVERED', error: null });
      expect(await sender.get(id)).toMatchObject({
        failingSince: null,
        lastSuccessAt: expect.any(String),
      });
      expect(sender.receivers.of(PANEL)).toEqual([]);
    },
  );

  it.each([200, 201, 202, 204, 299])('a status of %d is a success [8.3.5]', async (code) => {
    const { id } = await sender.create(ON_PRODUCTS);
    sender.receivers.at(SHOP, status(code));
    await sender.change();
    expect(await sender.delivery(id)).toMatchObject({ state: 'DELIVERED', status: code });
  });

  it('a delivery that was cut off is repeated after a minute, with the same id [8.3.2]', async () => {
    const { id } = await sender.create(ON_PRODUCTS);
    const asked = Promise.withResolvers<Received>();
    const cut = Promise.withResolvers<Response>();
    sender.receivers.at(SHOP, (received) => {
      asked.resolve(received);
      return cut.promise;
    });
    const response = await sender.isolate.send('POST', '/api/v2/products', {
      body: { name: 'A', productType: 'OTHER' },
    });
    expect(response.status).toBe(201);
    const { headers } = await asked.promise;
    sender.receivers.at(SHOP, NO_CONTENT);
    const other = sender.newIsolate();
    setNow(Date.now() + MINUTE_MS - 2_000);
    await other.runScheduled();
    expect(sender.receivers.received).toHaveLength(1);
    setNow(Date.now() + 4_000);
    await other.runScheduled();
    const [, repeated] = sender.receivers.received;
    expect(repeated?.headers.get('webhook-id')).toBe(headers.get('webhook-id'));
    const stored = { state: 'DELIVERED', attempts: 2, status: 204 };
    expect(await sender.delivery(id)).toMatchObject(stored);
    // The outcome of the first attempt comes too late to count.
    cut.resolve(new Response(null, { status: 500 }));
    await response.finished;
    expect(await sender.delivery(id)).toMatchObject(stored);
  });

  it('a delivery that waits for 15 seconds of its lease is not attempted any more, and is due again [8.3.2]', async () => {
    const { id } = await sender.create(ON_PRODUCTS);
    const slow = interceptDatabase(env.DB, (statements, send) => {
      // The messages are read after the change.
      if (/^select .* from "webhooks"/.test(statements[0]?.sql ?? '')) setNow(Date.now() + 15_000);
      return send();
    });
    await sender.newIsolate({ DB: slow }).call('POST', '/api/v2/products', {
      body: { name: 'A', productType: 'OTHER' },
    });
    expect(sender.receivers.received).toEqual([]);
    expect(await sender.delivery(id)).toMatchObject({ state: 'PENDING', attempts: 0 });
    await passTime(0);
    expect(await sender.delivery(id)).toMatchObject({ state: 'DELIVERED', attempts: 1 });
  });

  it('eight scheduled runs at once deliver nothing twice [8.3.2]', { tags: 'long' }, async () => {
    const { id } = await sender.create(ON_PRODUCTS);
    sender.receivers.at(SHOP, status(500));
    for (const name of ['A', 'B', 'C', 'D', 'E']) await sender.change(name);
    sender.receivers.received.length = 0;
    sender.receivers.at(SHOP, NO_CONTENT);
    setNow(Date.now() + 2 * MINUTE_MS);
    const isolates = Array.from({ length: 8 }, () => sender.newIsolate());
    await Promise.all(isolates.map((isolate) => isolate.runScheduled()));
    const ids = sender.receivers.received.map(({ headers }) => headers.get('webhook-id'));
    expect(ids).toHaveLength(5);
    expect(new Set(ids).size).toBe(5);
    expect((await sender.deliveries(id)).every(({ state }) => state === 'DELIVERED')).toBe(true);
  });

  it('the events after a failure wait for the scheduled handler [8.3.4]', async () => {
    const { id } = await sender.create(ON_PRODUCTS);
    sender.receivers.at(SHOP, status(500));
    await sender.change('A');
    sender.receivers.at(SHOP, NO_CONTENT);
    await sender.change('B');
    expect(sender.receivers.received).toHaveLength(1);
    expect((await sender.deliveries(id)).map(({ state }) => state)).toEqual(['PENDING', 'PENDING']);
    await passTime(1);
    expect(sender.receivers.received).toHaveLength(2);
    // It works again.
    await sender.change('C');
    expect(sender.receivers.received).toHaveLength(3);
  });

  /** Makes deliveries due, as of long ago. */
  const owe = async (webhookId: number, count: number) => {
    const first = (Date.now() - DAY_MS - Date.UTC(2025, 0, 1)) * 4096;
    await env.DB.batch([
      env.DB.prepare(
        `with recursive n(i) as (select 1 union all select i + 1 from n where i < ?)
         insert into events select ? + i, 'product.created', null, 0, null, 'product', i, '{}', null, null, 0 from n`,
      ).bind(count, first),
      env.DB.prepare(
        `with recursive n(i) as (select 1 union all select i + 1 from n where i < ?)
         insert into deliveries (webhook_id, id, type, attempts, step, next_at)
         select ?, ? + i, 'product.created', 1, 1, ? from n`,
      ).bind(count, webhookId, first, Date.now() - DAY_MS),
    ]);
  };

  it('the many deliveries of one webhook do not delay those of another [8.3.9]', async () => {
    const { id } = await sender.create(ON_PRODUCTS);
    sender.receivers.at(SHOP, status(500));
    for (const name of ['A', 'B', 'C']) await sender.change(name);
    const many = await sender.create({ url: PANEL, types: ['session.*'] });
    await owe(many.id, 1_000);
    sender.receivers.at(SHOP, NO_CONTENT);
    await passTime(2 * MINUTE_MS);
    expect((await sender.deliveries(id)).map(({ state }) => state)).toEqual(
      Array(3).fill('DELIVERED'),
    );
    // At Cloudflare, where one run has 50 requests and queries.
    const { length } = sender.receivers.of(PANEL);
    expect(length).toBeGreaterThanOrEqual(10);
    expect(length).toBeLessThanOrEqual(20);
  });

  it('receivers that do not respond hold up no other: one run delivers 1,000 beside two of them [8.3.9, 8.3.10]', {
    tags: 'long',
  }, async () => {
    sender = new Sender({ ONE_MACHINE: 'true' });
    const fast = await sender.create({ url: SHOP, types: ['session.*'] });
    const released = Promise.withResolvers<Response>();
    for (const url of [PANEL, `${PANEL}/2`]) {
      const { id } = await sender.create({ url, types: ['session.*'] });
      sender.receivers.at(url, () => released.promise.then((response) => response.clone()));
      await owe(id, 50);
    }
    await owe(fast.id, 1_000);
    const run = sender.isolate.runScheduled();
    await vi.waitFor(() => expect(sender.receivers.of(SHOP)).toHaveLength(1_000), {
      timeout: 18_000,
    });
    // They get no more than they can take at once.
    expect(sender.receivers.of(PANEL)).toHaveLength(16);
    released.resolve(new Response());
    await run;
    const ids = sender.receivers.received.map(
      ({ url, headers }) => `${url} ${headers.get('webhook-id')}`,
    );
    expect(new Set(ids).size).toBe(ids.length);
    expect(await sender.deliveries(fast.id, '?state=PENDING')).toEqual([]);
  });

  it('a failing webhook gets few attempts in a run, until it works [8.3.9]', async () => {
    const { id } = await sender.create({ url: PANEL, types: ['product.*'] });
    sender.receivers.at(PANEL, status(500));
    await sender.change();
    await owe(id, 1_000);
    sender.receivers.received.length = 0;
    await passTime(1);
    expect(sender.receivers.received).toHaveLength(4);
    sender.receivers.at(PANEL, NO_CONTENT);
    await passTime(1);
    // At Cloudflare, as many more as the queries of a run allow.
    expect(sender.receivers.received.length).toBeGreaterThanOrEqual(4 + 4 + 10);
  });

  it('the last of many changes while a receiver does not respond wait for the scheduled handler, without a lease [8.3.9]', {
    tags: 'long',
  }, async () => {
    const { id } = await sender.create({ url: PANEL, types: ['product.*'] });
    const released = Promise.withResolvers<Response>();
    sender.receivers.at(PANEL, () => released.promise.then((response) => response.clone()));
    const finished: Promise<void>[] = [];
    const change = async (name: string): Promise<void> => {
      const body = { name, productType: 'OTHER' };
      const response = await sender.isolate.send('POST', '/api/v2/products', { body });
      finished.push(response.finished);
    };
    for (let count = 1; count <= 8; count++) await change(`Early ${count}`);
    await vi.waitFor(
      async () => {
        await change('Late');
        const [newest] = await sender.deliveries(id);
        expect(newest).toMatchObject({ state: 'PENDING', attempts: 0 });
      },
      { timeout: 10_000 },
    );
    expect(sender.receivers.of(PANEL)).toHaveLength(8);
    sender.receivers.at(PANEL, NO_CONTENT);
    await sender.newIsolate().runScheduled();
    expect((await sender.deliveries(id))[0]).toMatchObject({ state: 'DELIVERED', attempts: 1 });
    released.resolve(new Response());
    await Promise.all(finished);
    const states = (await sender.deliveries(id)).map(({ state }) => state);
    expect(new Set(states)).toEqual(new Set(['DELIVERED']));
    const ids = sender.receivers.received.map(({ headers }) => headers.get('webhook-id'));
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe('a webhook that is switched off', () => {
  it('410 switches a webhook off, which is an event for the others, and ends its deliveries [8.3.6]', async () => {
    const { id } = await sender.create(ON_PRODUCTS);
    const all = await sender.create({ url: PANEL, types: ['webhook.disabled'] });
    sender.receivers.at(SHOP, status(500));
    await sender.change('A');
    sender.receivers.at(SHOP, status(410));
    await passTime(2 * MINUTE_MS);
    const reason = 'The receiver returned 410: it wants no more events';
    expect(await sender.get(id)).toMatchObject({ enabled: false, disabledReason: reason });
    expect(await sender.delivery(id)).toMatchObject({ state: 'FAILED', status: 410 });
    expect(await serviceEvents()).toMatchObject([
      {
        type: 'webhook.disabled',
        resourceId: id,
        actor: { tokenId: null, tokenName: 'service', isConsole: false },
        ip: null,
        changes: { reason: { before: null, after: reason } },
      },
    ]);
    await passTime(MINUTE_MS);
    expect(sender.receivers.of(PANEL)).toHaveLength(1);
    expect(await sender.delivery(all.id)).toMatchObject({ state: 'DELIVERED' });
    sender.receivers.received.length = 0;
    await sender.change('B');
    await passTime(DAY_MS);
    expect(sender.receivers.of(SHOP)).toEqual([]);
  });

  it('a webhook is switched off once, by the first of several isolates [8.3.7]', async () => {
    const { id } = await sender.create(ON_PRODUCTS);
    const arrived = Promise.withResolvers<void>();
    sender.receivers.at(SHOP, async () => {
      if (sender.receivers.received.length === 2) arrived.resolve();
      await arrived.promise;
      return new Response(null, { status: 410 });
    });
    const body = { name: 'A', productType: 'OTHER' };
    await Promise.all(
      [1, 2].map(() => sender.newIsolate().call('POST', '/api/v2/products', { body })),
    );
    expect((await sender.get(id)).enabled).toBe(false);
    expect(await serviceEvents()).toHaveLength(1);
  });

  it('a webhook without a success for five days is switched off by the next failure [8.3.7]', async () => {
    const { id } = await sender.create(ON_PRODUCTS);
    sender.receivers.at(SHOP, status(500));
    await sender.change('A');
    for (let day = 0; day < 4; day++) {
      await passTime(DAY_MS);
      await sender.change(`Day ${day}`);
      await passTime(MINUTE_MS);
      expect(await sender.get(id)).toMatchObject({ enabled: true, disabledReason: null });
    }
    await passTime(DAY_MS);
    expect(await sender.get(id)).toMatchObject({
      enabled: false,
      disabledReason: 'No delivery has succeeded for five days',
    });
    for (const { state, error } of await sender.deliveries(id)) {
      expect(state).toBe('FAILED');
      expect(error).toMatch(/The (webhook was switched off|receiver returned 500)$/);
    }
    expect((await serviceEvents()).map(({ type }) => type)).toEqual(['webhook.disabled']);
  });

  it.each([{ url: PANEL }, { enabled: false }])(
    'an attempt at an address of before switches nothing off: %j [8.3.7]',
    async (changes) => {
      const { id } = await sender.create(ON_PRODUCTS);
      const asked = Promise.withResolvers<void>();
      const released = Promise.withResolvers<void>();
      sender.receivers.at(SHOP, async () => {
        asked.resolve();
        await released.promise;
        return new Response(null, { status: 410 });
      });
      const change = sender.change();
      await asked.promise;
      await sender.newIsolate().call('PUT', `${webhooks.path}/${id}`, { body: changes });
      released.resolve();
      await change;
      expect(await sender.get(id)).toMatchObject({ ...changes, disabledReason: null });
      expect(await serviceEvents()).toEqual([]);
    },
  );

  it('a webhook gets no events of the time in which it was off, and gets those after it is on again [8.3.8]', async () => {
    const { id } = await sender.create(ON_PRODUCTS);
    sender.receivers.at(SHOP, status(500));
    await sender.change('Before');
    await sender.update(id, { enabled: false });
    sender.receivers.at(SHOP, NO_CONTENT);
    sender.receivers.received.length = 0;
    await sender.change('While');
    expect(await sender.update(id, { enabled: true })).toMatchObject({ failingSince: null });
    await sender.change('After');
    await passTime(DAY_MS);
    expect(
      sender.receivers.received.map(({ body }) => JSON.parse(body).data.changes.name.after),
    ).toEqual(['After']);
    const [, before] = await sender.deliveries(id);
    expect(before).toMatchObject({
      state: 'FAILED',
      error: 'The receiver returned 500. The webhook was switched off',
    });
  });

  it('a webhook that is switched off gets no retry by the outcome of an attempt under way [8.3.8]', async () => {
    const { id } = await sender.create(ON_PRODUCTS);
    const asked = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    sender.receivers.at(SHOP, async () => {
      asked.resolve();
      await released.promise;
      return new Response(null, { status: 500 });
    });
    const change = sender.change();
    await asked.promise;
    await sender.newIsolate().call('PUT', `${webhooks.path}/${id}`, { body: { enabled: false } });
    released.resolve();
    await change;
    expect(await sender.delivery(id)).toMatchObject({ state: 'FAILED', nextAttemptAt: null });
    await sender.update(id, { enabled: true });
    await passTime(DAY_MS);
    expect(sender.receivers.received).toHaveLength(1);
  });

  it('a deleted webhook gets nothing more, and its deliveries are removed [8.3.8]', async () => {
    const { id } = await sender.create(ON_PRODUCTS);
    const other = await sender.create({ url: PANEL, types: ['product.*'] });
    sender.receivers.at(SHOP, status(500));
    await sender.change();
    await sender.isolate.call('DELETE', `${webhooks.path}/${id}`);
    sender.receivers.received.length = 0;
    await passTime(2 * MINUTE_MS);
    expect(sender.receivers.received).toEqual([]);
    const kept = await env.DB.prepare('select webhook_id from deliveries').all();
    expect(kept.results).toEqual([{ webhook_id: other.id }]);
  });
});

it('deliveries are kept for 30 days [8.1.9]', async () => {
  const { id } = await sender.create(ON_PRODUCTS);
  await sender.change();
  await passTime(30 * DAY_MS - MINUTE_MS);
  expect(await sender.deliveries(id)).toHaveLength(1);
  await passTime(2 * MINUTE_MS);
  expect(await sender.deliveries(id)).toEqual([]);
});

it('an event that is still to be delivered is kept beyond its retention [8.2.4]', async () => {
  const { id } = await sender.create(ON_PRODUCTS);
  sender = Object.assign(new Sender({ EVENT_RETENTION_DAYS: '1' }), {});
  sender.receivers.at(SHOP, status(500));
  await sender.change();
  for (const hours of [1, 3, 10, 16]) await passTime(hours * HOUR_MS);
  sender.receivers.at(SHOP, NO_CONTENT);
  await passTime(2 * DAY_MS);
  expect(await sender.delivery(id)).toMatchObject({ state: 'DELIVERED' });
  await passTime(MINUTE_MS);
  expect(await sender.delivery(id)).toMatchObject({ state: 'DELIVERED', request: null });
});

describe('Discord', () => {
  const ON_DISCORD = { url: DISCORD, types: ['product.*' as const] };

  it.each([
    ['header', { 'Retry-After': '90' }, null],
    ['body', {}, '{"message":"You are being rate limited.","retry_after":90.5,"global":false}'],
  ])('a limit in the %s is no failed attempt, and is kept [8.3.6]', async (_, headers, body) => {
    const { id } = await sender.create(ON_DISCORD);
    sender.receivers.at(DISCORD, status(429, headers, body));
    await sender.change();
    expect(await sender.delivery(id)).toMatchObject({ state: 'PENDING', status: 429 });
    expect((await sender.get(id)).failingSince).toBeNull();
    for (let times = 0; times < 10; times++) await passTime(2 * MINUTE_MS);
    expect(sender.receivers.received.length).toBeGreaterThan(8);
    sender.receivers.at(DISCORD, NO_CONTENT);
    await passTime(2 * MINUTE_MS);
    expect(await sender.delivery(id)).toMatchObject({ state: 'DELIVERED' });
  });

  it('nothing is sent before the limit that Discord announces is over [8.3.6]', async () => {
    const { id } = await sender.create(ON_DISCORD);
    sender.receivers.at(
      DISCORD,
      status(200, { 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset-After': '0.3' }),
    );
    const startedAt = performance.now();
    await Promise.all(['A', 'B', 'C'].map((name) => sender.change(name)));
    expect(performance.now() - startedAt).toBeGreaterThan(590);
    expect((await sender.deliveries(id)).map(({ state }) => state)).toEqual(
      Array(3).fill('DELIVERED'),
    );
  });

  it.each([
    [404, {}],
    [429, { 'Retry-After': '3600' }],
  ])('no further delivery of a run is sent after a %d [8.3.6]', async (code, headers) => {
    const { id } = await sender.create({ url: DISCORD, types: ['product.*'], enabled: false });
    await sender.update(id, { enabled: true });
    sender.receivers.at(DISCORD, status(429, { 'Retry-After': '1' }));
    await sender.change('First');
    for (let count = 0; count < 10; count++) await sender.change(`P${count}`);
    sender.receivers.received.length = 0;
    sender.receivers.at(DISCORD, status(code, headers));
    setNow(Date.now() + MINUTE_MS);
    await sender.newIsolate().runScheduled();
    expect(sender.receivers.received).toHaveLength(1);
  });

  it('a failure without Retry-After does not end the pause for which another attempt was asked [8.3.6]', async () => {
    const { id } = await sender.create(ON_DISCORD);
    sender.receivers.at(DISCORD, (received) =>
      received.body.includes('Second')
        ? new Response(null, { status: 500 })
        : new Response(null, { status: 429, headers: { 'Retry-After': '3600' } }),
    );
    await Promise.all([
      sender.newIsolate().call('POST', '/api/v2/products', {
        body: { name: 'First', productType: 'OTHER' },
      }),
      sender.newIsolate().call('POST', '/api/v2/products', {
        body: { name: 'Second', productType: 'OTHER' },
      }),
    ]);
    sender.receivers.at(DISCORD, NO_CONTENT);
    const sent = sender.receivers.received.length;
    await passTime(30 * MINUTE_MS);
    expect(sender.receivers.received).toHaveLength(sent);
    await passTime(31 * MINUTE_MS);
    expect((await sender.deliveries(id)).map(({ state }) => state)).toEqual([
      'DELIVERED',
      'DELIVERED',
    ]);
  });

  it('a customer with an e-mail alone is not named [8.2.2]', async () => {
    await sender.create({ url: DISCORD, types: ['customer.created'] });
    const body = { email: 'only.mail@shop.example' };
    await sender.isolate.call('POST', '/api/v2/customers', { body });
    const [sent = expect.fail()] = sender.receivers.received;
    expect(sent.body).not.toContain('only');
  });

  it.each([
    [404, 'The webhook was deleted at Discord: make a new one there'],
    [401, 'Discord denies access (401): make a new webhook there'],
    [403, 'Discord denies access (403): make a new webhook there'],
  ])('%d switches the webhook off at once [8.3.6]', async (code, reason) => {
    const { id } = await sender.create(ON_DISCORD);
    sender.receivers.at(DISCORD, status(code, {}, '{"code":10015}'));
    await sender.change();
    expect(await sender.get(id)).toMatchObject({ enabled: false, disabledReason: reason });
    await passTime(DAY_MS);
    expect(sender.receivers.received).toHaveLength(1);
  });

  it('400 ends the delivery, because Discord would reject the message again [8.3.6]', async () => {
    const { id } = await sender.create(ON_DISCORD);
    sender.receivers.at(DISCORD, status(400, {}, '{"embeds":["0"]}'));
    await sender.change();
    expect(await sender.delivery(id)).toMatchObject({ state: 'FAILED', status: 400, attempts: 1 });
    expect((await sender.get(id)).enabled).toBe(true);
  });
});

it('a change with two webhooks writes four rows more, in the one round trip of the change [8.3.1]', async () => {
  const measure = async () => {
    const { spy: DB, roundTrips } = spyOnDatabase(env.DB);
    const isolate = sender.newIsolate({ DB });
    const response = await isolate.send('POST', '/api/v2/products', {
      body: { name: 'A', productType: 'OTHER' },
    });
    await response.finished;
    const [change = [], ...others] = roundTrips;
    const { written: outcomes } = await sumRows(others.flat());
    return { ...(await sumRows(change)), outcomes };
  };
  const without = await measure();
  await sender.create(ON_PRODUCTS);
  await sender.create({ url: PANEL, types: ['product.*'] });
  await sender.change();
  const beside = await measure();
  expect(beside.written - without.written).toBe(4);
  expect(beside.outcomes - without.outcomes).toBe(2);
  expect(beside.read - without.read).toBeLessThan(20);
});

it('forgetting a person erases them from what is sent later [8.2.3]', async () => {
  const { id } = await sender.create({ url: SHOP, types: ['customer.created'] });
  sender.receivers.at(SHOP, status(500, {}, 'Welcome, Ada'));
  const { json } = await sender.isolate.call('POST', '/api/v2/customers', {
    body: { firstName: 'Ada', email: 'ada.forgotten@shop.example' },
  });
  expect(sender.receivers.received[0]?.body).toContain('Ada');
  expect((await sender.delivery(id)).response).toBe('Welcome, Ada');
  await sender.isolate.call('DELETE', `/api/v2/customers/${Object(json).id}`);
  expect((await sender.delivery(id)).response).toBeNull();
  sender.receivers.at(SHOP, NO_CONTENT);
  await passTime(2 * MINUTE_MS);
  expect(await sender.delivery(id)).toMatchObject({ state: 'DELIVERED' });
  expect(sender.receivers.received[1]?.body).not.toMatch(/Ada|ada/);
});

it('a fault of the database after an attempt repeats the delivery, with the same id [8.3.2]', async () => {
  const { id } = await sender.create(ON_PRODUCTS);
  const logged = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  const failing = new Proxy(env.DB, {
    get(db, name) {
      const value = Reflect.get(db, name);
      if (name !== 'batch') return typeof value === 'function' ? value.bind(db) : value;
      return async (statements: D1PreparedStatement[]) => {
        // The outcomes come after the requests.
        if (sender.receivers.received.length > 0) throw new Error('D1_ERROR: lost');
        return db.batch(statements);
      };
    },
  });
  await sender.newIsolate({ DB: failing }).call('POST', '/api/v2/products', {
    body: { name: 'A', productType: 'OTHER' },
  });
  expect(logged).toHaveBeenCalledWith(expect.stringContaining('Deliveries were cut off'));
  expect(await sender.delivery(id)).toMatchObject({ state: 'PENDING', attempts: 1 });
  await passTime(MINUTE_MS + 1);
  expect(await sender.delivery(id)).toMatchObject({ state: 'DELIVERED', attempts: 2 });
  const ids = sender.receivers.received.map(({ headers }) => headers.get('webhook-id'));
  expect(ids).toEqual([ids[0], ids[0]]);
});
