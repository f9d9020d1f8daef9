import { customerFields } from '@licet/contract/customers';
import { API_INTENTS, LICENSE_STATUSES } from '@licet/contract/enums';
import { licenseFields } from '@licet/contract/licenses';
import { productFields } from '@licet/contract/products';
import { type Fields, settable } from '@licet/contract/resource';
import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import * as z from 'zod';
import {
  call,
  createBlacklist,
  createLicense,
  createProduct,
  createToken,
  updateLicense,
} from '../support/client.ts';
import { importOne } from '../support/import.ts';
import { isWebAddress } from '../support/resources.ts';

/**
 * PUT accepts the body that GET returned: it returns 200 and changes nothing but the update time [4.8].
 * With random objects of every resource; always the same ones, so that a test never fails by chance.
 */

vi.setConfig({ testTimeout: 30_000 });

const RUNS = { numRuns: 10, seed: 602 };

/** Numbers every object of a kind, where two must not be alike. */
let serial = 0;

/** Moves with every update; everything else must stay. */
const UPDATE_TIMES = ['updatedDate', 'updatedAt'];

function withoutUpdateTime(json: unknown): object {
  if (typeof json !== 'object' || json === null) throw new Error('Not an object');
  return Object.fromEntries(Object.entries(json).filter(([name]) => !UPDATE_TIMES.includes(name)));
}

async function get(path: string): Promise<{ json: object; text: string; etag: string }> {
  const { status, json, text, headers } = await call('GET', `/api/v2${path}`);
  expect(status, text).toBe(200);
  return { json: withoutUpdateTime(json), text, etag: headers.get('ETag') ?? '' };
}

/** Sends back what GET gave, as it came, and expects the same object again. */
async function expectRoundTrip(path: string, sent: object = {}): Promise<void> {
  const before = await get(path);
  expect(before.json).toMatchObject(sent);
  const put = await call('PUT', `/api/v2${path}`, {
    body: before.text,
    headers: { 'If-Match': before.etag },
  });
  expect(put.status, put.text).toBe(200);
  expect(withoutUpdateTime(put.json)).toEqual(before.json);

  const after = await get(path);
  expect(after.json).toEqual(before.json);
  expect(after.etag).not.toBe(before.etag);
  expect(after.etag).toBe(put.headers.get('ETag'));
}

/** Imports a license as GET shows it under another key, and expects the same license, once. */
async function expectImported(path: string, licenseKey: string): Promise<void> {
  const { json } = await get(path);
  const item = { ...json, id: null, licenseKey };
  const { outcome, id, differences } = await importOne('licenses', item);
  expect({ outcome, differences }).toEqual({ outcome: 'created', differences: [] });
  expect((await get(`/licenses/${id}`)).json).toEqual({ ...json, id, licenseKey });
  expect(await importOne('licenses', item)).toMatchObject({ outcome: 'unchanged', id });
}

/** Any text that can be stored: no NUL, no unpaired surrogates. */
const text = (maxLength: number) =>
  fc
    .string({ unit: 'grapheme', maxLength })
    .filter((value) => value.length <= maxLength && !value.includes('\0'));
/** Text that is kept as it is where the ends are trimmed. */
const name = text(100).filter((value) => value !== '' && value.trim() === value);
const orNull = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.option(arbitrary, { nil: null });
const limit = fc.oneof(fc.constantFrom(-1, 0), fc.integer({ min: 1, max: 1_000 }));
/** Too big for a JSON number, as the ids of chat services are. */
const accountId = fc.oneof(
  fc.bigInt({ min: 2n ** 53n, max: 2n ** 64n }).map(String),
  text(50).filter((value) => value !== '' && value.trim() === value),
);
const webAddress = orNull(fc.webUrl());
const time = fc
  .date({
    min: new Date('1970-01-01T00:00:00Z'),
    max: new Date('9999-12-31T23:59:59Z'),
    noInvalidDate: true,
  })
  .map((date) => date.toISOString().replace('Z', '+00:00'));

/** Values of a field as a response shows them. */
function anyValueOf(wire: z.core.$ZodType): fc.Arbitrary<unknown> {
  if (wire instanceof z.ZodNullable) return orNull(anyValueOf(wire.unwrap()));
  if (wire instanceof z.ZodEnum) return fc.constantFrom(...wire.options);
  if (wire instanceof z.ZodNumber) return limit;
  if (wire instanceof z.ZodString) return text(200);
  throw new Error('Give this field values of its own');
}

/**
 * Values for all fields that a client sets.
 *
 * @param special fields that do not accept every value of their type; `null` leaves one out
 */
const objectOf = (fields: Fields, special: Record<string, fc.Arbitrary<unknown> | null>) =>
  Object.fromEntries(
    Object.entries(settable(fields)).flatMap(([name, { wire }]) => {
      const value = special[name];
      if (value === null) return [];
      return [[name, value ?? (isWebAddress(name) ? webAddress : anyValueOf(wire))]];
    }),
  );

it('PUT of what GET returned changes nothing of products', async () => {
  const product = fc.record(
    objectOf(productFields, {
      name,
      roleId: orNull(accountId),
      purchaseRoleId: orNull(accountId),
      offlineDays: fc.integer({ min: 0, max: 90 }),
    }),
    { requiredKeys: ['name', 'productType'] },
  );
  await fc.assert(
    fc.asyncProperty(product, async (body) => {
      const { id } = await createProduct(body);
      await expectRoundTrip(`/products/${id}`, body);
    }),
    RUNS,
  );
});

it('PUT of what GET returned changes nothing of licenses in every state, of every owner, with what is bound to them, and an import under any key shows the same', async () => {
  const { id: productId } = await createProduct();
  const ip = fc.oneof(
    fc.ipV4(),
    fc.ipV6().filter((value) => !value.includes('.')),
  );
  // These depend on one another.
  const dependent = {
    ...{ productId: null, licenseType: null, expiryDate: null, licenseStatus: null },
    ...{ ips: null, hwids: null },
  };
  const license = fc.record({
    fields: fc.record(
      objectOf(licenseFields, {
        ...dependent,
        ownerPlatformId: fc.oneof(fc.constant(''), accountId),
        ownerChatId: fc.oneof(fc.constant(''), accountId),
      }),
      { requiredKeys: [] },
    ),
    expiry: fc.oneof(
      fc.constant({ licenseType: 'PERMANENT' }),
      fc
        .oneof(time, fc.constant('2001-02-03T04:05:06.789+00:00'))
        .map((expiryDate) => ({ licenseType: 'TEMPORARY', expiryDate })),
    ),
    licenseStatus: fc.constantFrom(...LICENSE_STATUSES),
    ips: fc.array(ip, { maxLength: 5 }),
    hwids: fc.array(name, { maxLength: 5 }),
    lowered: fc.boolean(),
    key: text(40),
  });
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(
      license,
      async ({ fields, expiry, licenseStatus, ips, hwids, lowered, key }) => {
        const created = await createLicense({ productId, ...fields, ...expiry });
        expect(created).toMatchObject({ ...fields, ...expiry });
        // Bound while there is no limit; a limit that is lowered then unbinds nothing.
        const { maxIPs, maxHWIDs } = lowered ? { maxIPs: 1, maxHWIDs: 0 } : created;
        await updateLicense(created.id, { maxIPs: -1, maxHWIDs: -1, ips, hwids });
        const { licenseStatus: status } = await updateLicense(created.id, {
          maxIPs,
          maxHWIDs,
          licenseStatus,
        });
        seen.add(status);
        await expectRoundTrip(`/licenses/${created.id}`, {
          maxIPs,
          maxHWIDs,
          hwids: [...new Set(hwids)],
        });
        await expectImported(`/licenses/${created.id}`, `Key ${++serial} ${key}`.trim());
      },
    ),
    { ...RUNS, numRuns: 20 },
  );
  expect([...seen].sort()).toEqual([...LICENSE_STATUSES].sort());
});

it('PUT of what GET returned changes nothing of blacklist entries for all products and for one', async () => {
  const { id: productId } = await createProduct();
  const cidr = fc.oneof(
    fc
      .tuple(fc.ipV4(), fc.integer({ min: 0, max: 32 }))
      .map(([address, bits]) => `${address}/${bits}`),
    fc
      .tuple(fc.ipV6(), fc.integer({ min: 96, max: 128 }))
      .map(([address, bits]) => `${address}/${bits}`),
  );
  const entry = fc.record({
    kind: fc.oneof(
      fc.record({
        licenseDataType: fc.constant('IP'),
        data: fc.oneof(fc.ipV4(), fc.ipV6(), cidr),
      }),
      fc.record({ licenseDataType: fc.constant('HWID'), data: name }),
    ),
    scope: fc.constantFrom(
      { isForAllProducts: true, productId: null },
      { isForAllProducts: false, productId },
    ),
    reason: text(1_000),
  });
  await fc.assert(
    fc.asyncProperty(entry, async ({ kind, scope, reason }) => {
      const body = { ...kind, ...scope, reason };
      const { id } = await createBlacklist(body);
      await expectRoundTrip(`/blacklists/${id}`, { ...scope, reason });
      // Different texts can be one network, which would be there already.
      expect((await call('DELETE', `/api/v2/blacklists/${id}`)).status).toBe(204);
    }),
    RUNS,
  );
});

it('PUT of what GET returned changes nothing of customers, as they are made and with every field set', async () => {
  const { id: productId } = await createProduct();
  // Each belongs to one customer.
  const accounts = ['platformAId', 'platformBId', 'platformCId', 'marketAId', 'marketBId'];
  const customer = fc.record(
    objectOf(customerFields, {
      ...Object.fromEntries(accounts.map((field) => [field, orNull(accountId)])),
      chatId: null,
      email: orNull(fc.emailAddress()),
    }),
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(customer, async (fields) => {
      serial += 1;
      const license = await createLicense({ productId, ownerChatId: `chat of ${serial}` });
      const path = `/customers/${license.customer?.id}`;
      await expectRoundTrip(path, { chatId: `chat of ${serial}` });

      const unique = new Map(Object.entries(fields));
      for (const field of accounts) {
        const account = unique.get(field);
        if (account) unique.set(field, `${account} ${serial}`);
      }
      const { email } = fields;
      if (email) unique.set('email', `${serial}${email}`);
      const body = Object.fromEntries(unique);
      const put = await call('PUT', `/api/v2${path}`, { body });
      expect(put.status, put.text).toBe(200);
      await expectRoundTrip(path, body);
    }),
    RUNS,
  );
});

it('PUT of what GET returned changes nothing of tokens', async () => {
  const intents = fc.subarray([...API_INTENTS], { minLength: 1 });
  await fc.assert(
    fc.asyncProperty(name, intents, orNull(time), async (tokenName, held, expiresAt) => {
      const { id } = await createToken(held, { name: tokenName, expiresAt });
      await expectRoundTrip(`/tokens/${id}`, { name: tokenName, intents: held, expiresAt });
    }),
    RUNS,
  );
});
