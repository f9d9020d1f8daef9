import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ALL_PRODUCTS } from '../../src/db/codes.ts';
import {
  type Blacklist,
  type BlacklistEntry,
  blacklistOf,
} from '../../src/resources/blacklists/blacklist.ts';
import { decodePolicy, encodePolicy } from '../../src/resources/policy.ts';
import { networksHolding } from '../support/networks.ts';

/** The blacklist against a search that looks at every entry. */

/** Neighbours, so that ranges of every length hold one and not the other. */
const ADDRESSES = [
  '10.0.0.1',
  '10.0.0.2',
  '10.0.1.1',
  '10.128.0.1',
  '192.0.2.1',
  '0.0.0.0',
  '255.255.255.255',
  '2001:db8::1',
  '2001:db8::2',
  '2001:db8:8000::1',
  'a00:1::',
  '::',
];
const PRODUCTS = [602, 603];
const HWIDS = ['hw-1', 'hw-2', '10.0.0.1', '10.0.0.0/8'];

const address = fc.constantFrom(...ADDRESSES);
const hwid = fc.constantFrom(...HWIDS);
const productId = fc.constantFrom(...PRODUCTS);

const entryOf = (
  licenseDataType: BlacklistEntry['licenseDataType'],
  data: fc.Arbitrary<string>,
): fc.Arbitrary<BlacklistEntry> =>
  fc.record({
    licenseDataType: fc.constant(licenseDataType),
    data,
    productId: fc.option(productId),
    // Few, so that entries share one.
    reason: fc.oneof(fc.constantFrom('', 'Charged back'), fc.string()),
  });
const range = address.chain((ip) => fc.constantFrom(...networksHolding(ip)));
// An address alone is one of 33 or 129 ranges: more often, so that it is met beside them.
const ipEntry = entryOf('IP', fc.oneof(range, address));
const hwidEntry = entryOf('HWID', hwid);
const entries = fc.array(fc.oneof(ipEntry, hwidEntry), { maxLength: 12 });

const isFor = (entry: BlacklistEntry, productId: number): boolean =>
  entry.productId === null || entry.productId === productId;

/** The blacklist as it is made from D1, and as it comes back from KV. */
const fromBothPlaces = (listed: readonly BlacklistEntry[]): Blacklist[] => {
  const made = blacklistOf(listed);
  const decoded = decodePolicy(encodePolicy({ id: 0, revision: 1, blacklist: made, products: {} }));
  if (!decoded) throw new Error('The policy was not decoded');
  return [made, decoded.blacklist];
};

it('the blacklist finds an address if and only if an entry for the product holds it, by the narrowest one [1.3]', () => {
  let found = 0;
  fc.assert(
    fc.property(entries, address, productId, (listed, asked, product) => {
      const networks = networksHolding(asked);
      const holding = listed
        .filter(({ licenseDataType }) => licenseDataType === 'IP')
        .filter((listing) => isFor(listing, product) && networks.includes(listing.data))
        .sort((one, other) => networks.indexOf(one.data) - networks.indexOf(other.data));
      const narrowest = holding.filter(({ data }) => data === holding[0]?.data);
      for (const blacklist of fromBothPlaces(listed)) {
        const reason = blacklist.findAddress(asked, product);
        if (narrowest.length === 0) expect(reason).toBeUndefined();
        else expect(narrowest.map((listing) => listing.reason)).toContain(reason);
      }
      if (narrowest.length > 0) found++;
    }),
    { numRuns: 500 },
  );
  expect(found, 'both were met').toBeGreaterThan(10);
});

it('the blacklist finds a hardware ID if and only if an entry for the product names it, letter for letter', () => {
  fc.assert(
    fc.property(entries, hwid, productId, (listed, asked, product) => {
      const naming = listed.filter(
        (listing) =>
          listing.licenseDataType === 'HWID' && listing.data === asked && isFor(listing, product),
      );
      for (const blacklist of fromBothPlaces(listed)) {
        const reason = blacklist.findHwid(asked, product);
        if (naming.length === 0) expect(reason).toBeUndefined();
        else expect(naming.map((listing) => listing.reason)).toContain(reason);
        const inUpperCase = blacklist.findHwid(asked.toUpperCase(), product);
        expect(inUpperCase).toBe(asked === asked.toUpperCase() ? reason : undefined);
      }
    }),
    { numRuns: 500 },
  );
});

it('the blacklist finds nothing in an empty list, nor for text that is no address', () => {
  expect(blacklistOf([]).findAddress('10.0.0.1', 602)).toBeUndefined();
  expect(blacklistOf([]).findHwid('hw-1', 602)).toBeUndefined();
  const everything = ['0.0.0.0/0', '::/0'].map(
    (data): BlacklistEntry => ({ licenseDataType: 'IP', data, productId: null, reason: data }),
  );
  const blacklist = blacklistOf(everything);
  expect(blacklist.findAddress('10.0.0.1', 602)).toBe('0.0.0.0/0');
  expect(blacklist.findAddress('::1', 602)).toBe('::/0');
  expect(blacklist.findAddress('localhost', 602)).toBeUndefined();
});

const blacklist = {
  reasons: ['Charged back'],
  hwids: { keys: ['hw-1'], productIds: [ALL_PRODUCTS], reasons: [0] },
  addresses: { keys: [], productIds: [], reasons: [] },
  networks: { keys: [], productIds: [], reasons: [] },
};
const settings = { offlineDays: 7, checkAfterHours: 24, entitlements: { edition: 'gold' } };
const good = { format: 3, revision: 1, blacklist, products: { 602: settings } };

const withSettings = (changed: object): object => ({
  ...good,
  products: { 602: { ...settings, ...changed } },
});

it('a policy in KV is read as it was written', () => {
  const policy = decodePolicy(JSON.stringify(good));
  expect(policy).toMatchObject({ revision: 1, products: { 602: settings } });
  expect(policy && JSON.parse(encodePolicy(policy))).toEqual(good);
});

it.each([
  ['of another format', { ...good, format: 2 }],
  ['without a revision', { ...good, revision: undefined }],
  ['without a blacklist', { ...good, blacklist: undefined }],
  ['without products', { ...good, products: undefined }],
  ['with a product without offline days', withSettings({ offlineDays: undefined })],
  ['with text for offline days', withSettings({ offlineDays: '7' })],
  ['with text for hours', withSettings({ checkAfterHours: '24' })],
  ['with text for entitlements', withSettings({ entitlements: 'edition=gold' })],
  ['that is null', null],
  ['that is a list', []],
])('no policy is read from a value %s', (_, value) => {
  expect(decodePolicy(JSON.stringify(value))).toBeNull();
});

it.each([
  ['without reasons', { reasons: undefined }],
  ['without a table', { networks: undefined }],
  ['with a short column', { hwids: { ...blacklist.hwids, productIds: [] } }],
  [
    'with keys that are not sorted',
    {
      hwids: {
        keys: ['hw-2', 'hw-1'],
        productIds: [ALL_PRODUCTS, ALL_PRODUCTS],
        reasons: [0, 0],
      },
    },
  ],
  ['with text for a number', { hwids: { ...blacklist.hwids, reasons: ['0'] } }],
  ['with a number for text', { hwids: { ...blacklist.hwids, keys: [1] } }],
])('no policy is read from a value with a blacklist %s', (_, broken) => {
  const value = { ...good, blacklist: { ...blacklist, ...broken } };
  expect(decodePolicy(JSON.stringify(value))).toBeNull();
});
