import { expect, it } from 'vitest';
import { call, create, expectError, validate } from '../support/client.ts';
import { idsOf, licenses, readList, withoutChange } from '../support/resources.ts';

const batch = (body: object) => call('POST', `${licenses.path}/batch`, { body });

it('a batch creates licenses that differ in their ids and keys alone, sorted by id [6.16]', async () => {
  const full = await licenses.fullBody();
  const body: typeof full = { ...full, ips: [], hwids: [] };
  const response = await batch({ ...body, count: 3 });
  expect(response.status, response.text).toBe(201);
  const created = await readList(`${licenses.path}/by-product-id/${body.productId}`);
  expect(response.json).toEqual(created);
  const [first] = created;
  expect(first).toMatchObject({ ...body, customer: { chatId: body.ownerChatId } });
  expect(created).toEqual(created.map(({ id, licenseKey }) => ({ ...first, id, licenseKey })));
  expect(new Set(created.map(({ licenseKey }) => licenseKey)).size).toBe(3);
});

it('every license of a batch is valid at once [6.16]', async () => {
  const { id: productId } = await create.product();
  const response = await batch({ productId, licenseType: 'PERMANENT', count: 2 });
  const created = await readList(`${licenses.path}/by-product-id/${productId}`);
  expect(response.status).toBe(201);
  for (const { licenseKey } of created) {
    expect((await validate({ licenseKey, productId })).status).toBe(200);
  }
});

it('a batch with a bad value returns 400 and creates nothing [6.16, 6.17]', async () => {
  const full = { ...(await licenses.fullBody()), ips: [], hwids: [], count: 2 };
  const bad: [field: string, value: unknown, message: string | RegExp][] = [
    ['count', undefined, 'count is required'],
    ['count', 0, 'count must be at least 1'],
    ['count', 501, 'count must be at most 500'],
    ['count', '5', 'count must be an integer'],
    ['productId', 999_999, 'productId 999999 does not exist'],
    ['licenseKey', 'A-KEY', /^licenseKey must not be sent/],
    ['ips', ['192.0.2.1'], 'ips and hwids must be empty for more than one license'],
    ['hwids', ['A-HWID'], 'ips and hwids must be empty for more than one license'],
  ];
  await withoutChange(licenses.path, async () => {
    for (const [field, value, message] of bad) {
      expectError(await batch({ ...full, [field]: value }), 400, message);
    }
  });
});

it('a batch with metadata and notes that are too long for its licenses returns 400, and one of fewer stays below 20 MB [6.17]', async () => {
  const { id: productId } = await create.product();
  // Control characters take the most room: six bytes each.
  const text = '\u0001'.repeat(500);
  const metadata = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`name-${n}`, text]));
  const notes = '\u0001'.repeat(10_000);
  const body = { productId, licenseType: 'PERMANENT', metadata, notes };
  await withoutChange(licenses.path, async () => {
    for (const [count, most, fields] of [
      [500, 34, {}],
      [35, 34, {}],
      [500, 69, { notes: '' }],
      [500, 69, { metadata: {} }],
    ] as const) {
      expectError(
        await batch({ ...body, ...fields, count }),
        400,
        `metadata and notes are too long for ${count} licenses: create at most ${most} at once`,
      );
    }
  });
  const response = await batch({ ...body, count: 34 });
  expect(response.status).toBe(201);
  expect(response.text.length).toBeLessThan(20_000_000);
});

it('a batch of 500 licenses is created within 2 seconds [6.16]', async () => {
  const { id: productId } = await create.product();
  const startedAt = performance.now();
  const response = await batch({ productId, licenseType: 'PERMANENT', count: 500 });
  expect(performance.now() - startedAt).toBeLessThan(2_000);
  expect(response.status, response.text).toBe(201);
  expect(await idsOf(`${licenses.path}/by-product-id/${productId}`)).toHaveLength(500);
});
