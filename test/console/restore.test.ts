import type { Event } from '@licet/client';
import { describe, expect, it } from 'vitest';
import {
  isKept,
  isRestorable,
  putBack,
  rightTo,
} from '../../console/src/screens/events/restore.ts';
import { failure, json, type Sent, serve } from './service.ts';

/** An event that changed the limit of addresses of product 5 from 5 to 7. */
const event = (values: Partial<Event> = {}): Event => ({
  id: 1,
  time: '2030-01-01T00:00:00.000+00:00',
  type: 'product.updated',
  actor: { tokenId: null, tokenName: 'root', customerId: null, isConsole: true, isMcp: false },
  ip: null,
  resourceType: 'product',
  resourceId: 5,
  changes: { defaultMaxIPs: { before: 5, after: 7 } },
  ...values,
});
const changed = (before: unknown, after: unknown): Event =>
  event({ changes: { description: { before, after } } });

describe('whether an event can be restored', () => {
  it.each<[string, Event]>([
    ['a change of a product', event()],
    ['a change from nothing', changed(null, 'new')],
    ['a change to nothing', changed('old', null)],
    ['a text of 500 characters', changed('x'.repeat(500), '')],
    ['a list of 100 values', changed(Array.from({ length: 100 }, String), [])],
    ['a cut text after the event', changed('old', `${'x'.repeat(500)}…`)],
    ['a freed slot', event({ type: 'license.slots_freed', resourceType: 'license' })],
    ['a redeemed license', event({ type: 'license.redeemed', resourceType: 'license' })],
    ['a deleted license', event({ type: 'license.deleted', resourceType: 'license' })],
    ['a removed block', event({ type: 'blacklist.deleted', resourceType: 'blacklist' })],
    ['a new block', event({ type: 'blacklist.created', resourceType: 'blacklist' })],
  ])('%s can be restored', (_, one) => {
    expect(isRestorable(one)).toBe(true);
  });

  it.each<[string, Event]>([
    ['a new product', event({ type: 'product.created' })],
    ['a deleted product, whose id is used no more', event({ type: 'product.deleted' })],
    ['a new key', event({ type: 'license.rotated' })],
    ['a batch', event({ resourceId: null })],
    ['an event without changes', event({ changes: null })],
    ['a secret, of which neither value was kept', changed(null, null)],
    ['a text that the event has cut', changed(`${'x'.repeat(500)}…`, '')],
    ['a list that the event has cut', changed(Array.from({ length: 101 }, String), [])],
    ['a list with a text that is too long', changed(['x'.repeat(501)], [])],
    [
      'the address of a channel, which is masked',
      changed('https://discord.com/api/webhooks/1/***', ''),
    ],
  ])('%s cannot be restored', (_, one) => {
    expect(isRestorable(one)).toBe(false);
  });

  it.each<[Event['resourceType'], string]>([
    ['license', 'writeLicenses'],
    ['product', 'writeProducts'],
    ['blacklist', 'writeBlacklists'],
    ['purchase', 'writePurchases'],
    ['customer', 'everything'],
    ['token', 'everything'],
  ])('a restored %s needs the right %s', (resourceType, right) => {
    expect(rightTo(event({ resourceType }))).toBe(right);
  });

  it.each([
    ['ips', true],
    ['hwids', true],
    ['notes', false],
  ])('a restoration of %s keeps values that were added since: %s', (field, isTrue) => {
    expect(isKept(field)).toBe(isTrue);
  });
});

describe('the restoration of an event', () => {
  const PATH = '/products/5';

  /** A service with one object, whose version grows. */
  function serveObject(path: string, values: Record<string, unknown>, others = {}) {
    let version = 1;
    let item: object = { id: 5, ...values };
    const tag = () => ({ ETag: `"${version}"` });
    return serve({
      [`GET ${path}`]: () => json(item, tag()),
      [`PUT ${path}`]: ({ ifMatch, body }) => {
        if (ifMatch !== `"${version}"`) return failure(412);
        version++;
        item = { ...item, ...Object(body) };
        return json(item, tag());
      },
      ...others,
    });
  }
  const writes = (sent: readonly Sent[]) =>
    sent
      .filter(({ method }) => method !== 'GET')
      .map(({ method, path, body }) => [method, path, body]);

  it('addresses before an event come back, unless they identify no machine', async () => {
    const sent = serveObject('/licenses/5', { ips: ['192.0.2.2', '10.0.0.2'] });
    const before = ['172.18.0.5', '192.0.2.1', '10.0.0.2'];
    const changes = { ips: { before, after: ['10.0.0.2'] } };
    const one = event({ type: 'license.slots_freed', resourceType: 'license', changes });
    await putBack(one, { isForced: true });
    expect(writes(sent)).toEqual([
      ['PUT', '/licenses/5', { ips: ['192.0.2.1', '10.0.0.2', '192.0.2.2'] }],
    ]);
  });

  it('an event gives its fields the values before, and only these', async () => {
    const sent = serveObject(PATH, { defaultMaxIPs: 7, name: 'Shop' });
    const { overtaken, values } = await putBack(event());
    expect([overtaken, values]).toEqual([[], { defaultMaxIPs: 5 }]);
    expect(writes(sent)).toEqual([['PUT', PATH, { defaultMaxIPs: 5 }]]);
  });

  it('the undo of a restoration gives the fields the values after', async () => {
    const sent = serveObject(PATH, { defaultMaxIPs: 7 });
    await (await putBack(event())).undo();
    expect(writes(sent).at(-1)).toEqual(['PUT', PATH, { defaultMaxIPs: 7 }]);
  });

  it('the undo of a restoration changes nothing that somebody has changed since', async () => {
    serveObject(PATH, { defaultMaxIPs: 7 });
    const { undo } = await putBack(event());
    await putBack(event({ changes: { defaultMaxIPs: { before: 9, after: 5 } } }));
    await expect(undo()).rejects.toMatchObject({ status: 412 });
  });

  it('a field that somebody has changed since is named, and nothing is written', async () => {
    const sent = serveObject(PATH, { defaultMaxIPs: 9 });
    const { overtaken } = await putBack(event());
    expect(overtaken).toEqual([{ field: 'defaultMaxIPs', value: 9 }]);
    expect(writes(sent)).toEqual([]);
  });

  it('a person can restore over newer values', async () => {
    const sent = serveObject(PATH, { defaultMaxIPs: 9 });
    await putBack(event(), { isForced: true });
    expect(writes(sent)).toEqual([['PUT', PATH, { defaultMaxIPs: 5 }]]);
  });

  it.each([
    [
      'a text that the event has cut',
      { description: 'x'.repeat(700) },
      changed('old', `${'x'.repeat(500)}…`),
    ],
    [
      'a text that is cut within a character',
      { description: `${'x'.repeat(499)}😀` },
      changed('old', `${'x'.repeat(499)}\uFFFD…`),
    ],
    ['a missing field, which was cleared', {}, changed('old', null)],
    [
      'an expired license, which is an active one',
      { licenseStatus: 'EXPIRED' },
      event({ changes: { licenseStatus: { before: 'DEACTIVATED', after: 'ACTIVE' } } }),
    ],
    [
      'the owner, by the id of the customer',
      { customer: { id: 3 } },
      event({ changes: { customerId: { before: 2, after: 3 } } }),
    ],
    [
      'no owner',
      { customer: null },
      event({ changes: { customerId: { before: 2, after: null } } }),
    ],
  ])('an event is not overtaken by %s', async (_, stored, one) => {
    serveObject(PATH, stored);
    expect((await putBack(one)).overtaken).toEqual([]);
  });

  it('a restoration that another change overtakes reads again', async () => {
    let reads = 0;
    const sent = serve({
      'GET /products/5': () => json({ id: 5, defaultMaxIPs: 7 }, { ETag: `"${++reads}"` }),
      'PUT /products/5': ({ ifMatch }) => (ifMatch === '"3"' ? json({ id: 5 }) : failure(412)),
    });
    await putBack(event());
    expect(writes(sent)).toHaveLength(3);
  });

  it('a restoration that is overtaken five times fails', async () => {
    const sent = serve({
      'GET /products/5': () => json({ id: 5, defaultMaxIPs: 7 }),
      'PUT /products/5': () => failure(412),
    });
    await expect(putBack(event())).rejects.toMatchObject({ status: 412 });
    expect(writes(sent)).toHaveLength(5);
  });

  it('a restoration that the service rejects is not tried again', async () => {
    const sent = serveObject(PATH, { defaultMaxIPs: 7 }, { [`PUT ${PATH}`]: () => failure(400) });
    await expect(putBack(event())).rejects.toMatchObject({ status: 400 });
    expect(writes(sent)).toHaveLength(1);
  });

  it.each([
    ['freed', ['1.1.1.1', '2.2.2.2'], ['2.2.2.2'], ['2.2.2.2'], ['1.1.1.1', '2.2.2.2']],
    ['freed, while another was bound since', ['1.1.1.1'], [], ['3.3.3.3'], ['1.1.1.1', '3.3.3.3']],
    ['added', ['1.1.1.1'], ['1.1.1.1', '2.2.2.2'], ['1.1.1.1', '2.2.2.2'], ['1.1.1.1']],
  ])(
    'of slots that an event has %s, those bound since stay',
    async (_, before, after, now, expected) => {
      const sent = serveObject('/licenses/5', { ips: now });
      const changes = { ips: { before, after } };
      await putBack(event({ resourceType: 'license', changes }), { isForced: true });
      expect(writes(sent)).toEqual([['PUT', '/licenses/5', { ips: expected }]]);
    },
  );

  const VALUES = { data: '203.0.113.7', licenseDataType: 'IP', productId: null };
  const sides = (before: boolean) =>
    Object.fromEntries(
      Object.entries(VALUES).map(([field, value]) => [
        field,
        before ? { before: value, after: null } : { before: null, after: value },
      ]),
    );
  const block = (type: Event['type'], isBefore: boolean): Event =>
    event({ type, resourceType: 'blacklist', changes: sides(isBefore) });

  it('a removed block is created again, and its undo deletes it', async () => {
    const sent = serveObject(
      '/blacklists/8',
      {},
      {
        'POST /blacklists': () => json({ id: 8 }),
        'DELETE /blacklists/8': () => new Response(null, { status: 204 }),
      },
    );
    await (await putBack(block('blacklist.deleted', true))).undo();
    expect(writes(sent)).toEqual([
      ['POST', '/blacklists', { ...VALUES, isForAllProducts: true }],
      ['DELETE', '/blacklists/8', undefined],
    ]);
    expect(sent.at(-1)?.ifMatch).toBe('"1"');
  });

  it('a new block is deleted, and its undo creates it again', async () => {
    const sent = serveObject('/blacklists/5', VALUES, {
      'POST /blacklists': () => json({ id: 8 }),
      'GET /blacklists/8': () => json({ id: 8 }),
      'DELETE /blacklists/5': () => new Response(null, { status: 204 }),
    });
    await (await putBack(block('blacklist.created', false))).undo();
    expect(writes(sent).map(([method, path]) => `${method} ${path}`)).toEqual([
      'DELETE /blacklists/5',
      'POST /blacklists',
    ]);
  });

  it('a block for one product is created again for that product alone', async () => {
    const sent = serve({
      'POST /blacklists': () => json({ id: 8 }),
      'GET /blacklists/8': () => json({ id: 8 }),
    });
    const changes = { ...sides(true), productId: { before: 3, after: null } };
    await putBack(event({ type: 'blacklist.deleted', resourceType: 'blacklist', changes }));
    expect(writes(sent)).toEqual([
      ['POST', '/blacklists', { ...VALUES, productId: 3, isForAllProducts: false }],
    ]);
  });
});
