import { globalAddress } from '@licet/contract/addresses';
import { LICENSE_STATUSES } from '@licet/contract/enums';
import { licenseFields } from '@licet/contract/licenses';
import {
  ENTITLEMENT_NAME,
  ENTITLEMENT_TEXT,
  MAX_METADATA_NAMES,
  METADATA_NAME,
  RESERVED_ENTITLEMENTS,
} from '@licet/contract/limits';
import { settable } from '@licet/contract/resource';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { call, create, updateLicense } from '../support/client.ts';
import { importOne } from '../support/import.ts';
import { read } from '../support/resources.ts';

/**
 * PUT accepts the body that GET returned, whatever a license holds [4.8]. The licenses are random, but always the
 * same ones, so that a test never fails by chance.
 */

/** A license as GET shows it, but for the time of its last update. */
async function get(path: string): Promise<object> {
  const { updatedDate, ...others } = await read(path);
  return others;
}

/** Sends back what GET gave, and expects the same object again. */
async function expectRoundTrip(path: string): Promise<void> {
  const before = await get(path);
  const put = await call('PUT', path, { body: before });
  expect(put.status, put.text).toBe(200);
  expect(put.json).toMatchObject(before);
  expect(await get(path)).toEqual(before);
}

/** Imports a license as GET shows it under another key, and expects the same license, once. */
async function expectImported(path: string, licenseKey: string): Promise<void> {
  const json = await get(path);
  const item = { ...json, id: null, licenseKey };
  const { outcome, id, differences } = await importOne('licenses', item);
  expect({ outcome, differences }).toEqual({ outcome: 'created', differences: [] });
  expect(await get(`/api/v2/licenses/${id}`)).toEqual({ ...json, id, licenseKey });
  expect(await importOne('licenses', item)).toMatchObject({ outcome: 'unchanged', id });
}

/** Any text that can be stored: no NUL, no unpaired surrogates. */
const text = (maxLength: number) =>
  fc
    .string({ unit: 'grapheme', maxLength })
    .filter((value) => value.length <= maxLength && !value.includes('\0'));
const isTrimmed = (value: string) => value !== '' && value.trim() === value;
/** Too big for a JSON number, as the ids of chat services are. */
const accountId = fc.oneof(
  fc.constant(''),
  fc.bigInt({ min: 2n ** 53n, max: 2n ** 64n }).map(String),
  text(50).filter(isTrimmed),
);

const time = fc
  .date({
    min: new Date('1970-01-01T00:00:00Z'),
    max: new Date('9999-12-31T23:59:59Z'),
    noInvalidDate: true,
  })
  .map((date) => date.toISOString().replace('Z', '+00:00'));
const metadata = fc.dictionary(
  fc.stringMatching(/^[\w.-]{1,40}$/).filter((name) => METADATA_NAME.test(name)),
  text(200).filter((value) => value !== ''),
  { maxKeys: MAX_METADATA_NAMES, noNullPrototype: true },
);
const entitlementName = fc
  .stringMatching(ENTITLEMENT_NAME)
  .filter((name) => !RESERVED_ENTITLEMENTS.includes(name));
const entitlement = fc.oneof(
  fc.constantFrom(true, null),
  fc.maxSafeInteger(),
  fc.stringMatching(ENTITLEMENT_TEXT),
);
const byEntitlement = <Value>(value: fc.Arbitrary<Value>) =>
  fc.dictionary(entitlementName, value, { maxKeys: 20, noNullPrototype: true });

/** The fields that are objects. */
const OBJECTS = new Map<string, fc.Arbitrary<object>>([
  ['metadata', metadata],
  ['entitlements', byEntitlement(entitlement)],
  ['entitlementsExpire', byEntitlement(time)],
]);

/** Values of a field as a response shows them. */
function anyValueOf(wire: z.core.$ZodType): fc.Arbitrary<unknown> {
  if (wire instanceof z.ZodNullable) return fc.option(anyValueOf(wire.unwrap()));
  if (wire instanceof z.ZodEnum) return fc.constantFrom(...wire.options);
  if (wire instanceof z.ZodNumber) return fc.integer({ min: -1, max: 1_000 });
  if (wire instanceof z.ZodString) return text(200);
  throw new Error('Give this field values of its own');
}

/** Fields whose values depend on one another. */
const DEPENDENT = [
  'productId',
  'licenseType',
  'expiryDate',
  'expiresAfterDays',
  'licenseStatus',
  'ips',
  'hwids',
];
const independent = Object.entries(settable(licenseFields)).flatMap(([name, { wire }]) => {
  if (DEPENDENT.includes(name)) return [];
  const own = /^owner.*Id$/.test(name) ? accountId : OBJECTS.get(name);
  return [[name, own ?? anyValueOf(wire)] as const];
});

const ip = fc
  .oneof(
    fc.ipV4(),
    fc.ipV6().filter((value) => !value.includes('.')),
  )
  .filter((value) => globalAddress(value) !== null);

const license = fc.record({
  fields: fc.record(Object.fromEntries(independent), { requiredKeys: [] }),
  expiry: fc.oneof(
    fc.constant({ licenseType: 'PERMANENT' }),
    fc
      .integer({ min: 1, max: 3_650 })
      .map((expiresAfterDays) => ({ licenseType: 'TEMPORARY', expiresAfterDays })),
    fc
      .oneof(time, fc.constant('2001-02-03T04:05:06.789+00:00'))
      .map((expiryDate) => ({ licenseType: 'TEMPORARY', expiryDate })),
  ),
  licenseStatus: fc.constantFrom(...LICENSE_STATUSES),
  ips: fc.array(ip, { maxLength: 5 }),
  hwids: fc.array(text(100).filter(isTrimmed), { maxLength: 5 }),
  lowered: fc.boolean(),
  key: text(40),
});

it('PUT of what GET returned changes nothing of licenses in every state, of every owner, with what is bound to them, and an import under any key shows the same [1.2.9]', {
  tags: 'long',
  timeout: 30_000,
}, async () => {
  const entitlements = { pro: true, edition: 'silver', max_players: 100 };
  const { id: productId } = await create.product({ entitlements });
  const seen = new Set<string>();
  let serial = 0;
  await fc.assert(
    fc.asyncProperty(license, async ({ fields, expiry, licenseStatus, ...random }) => {
      const { ips, hwids, lowered, key } = random;
      const created = await create.license({ productId, ...fields, ...expiry });
      expect(created).toMatchObject({ ...fields, ...expiry });
      // Bound while there is no limit; a limit that is lowered then unbinds nothing.
      const { maxIPs, maxHWIDs } = lowered ? { maxIPs: 1, maxHWIDs: 0 } : created;
      await updateLicense(created.id, { maxIPs: -1, maxHWIDs: -1, ips, hwids });
      const limited = await updateLicense(created.id, { maxIPs, maxHWIDs, licenseStatus });
      expect(limited).toMatchObject({ maxIPs, maxHWIDs, hwids: [...new Set(hwids)] });
      seen.add(limited.licenseStatus);
      const path = `/api/v2/licenses/${created.id}`;
      await expectRoundTrip(path);
      await expectImported(path, `Key ${++serial} ${key}`.trim());
    }),
    { numRuns: 20, seed: 602 },
  );
  expect([...seen].sort()).toEqual([...LICENSE_STATUSES].sort());
});
