import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type BlacklistEntry, indexBlacklist } from '../../src/blacklists/blacklist';
import { networksHolding } from '../support/networks';

/** The index of the blacklist against a search that looks at every entry. */

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
    reason: fc.string(),
  });
const range = address.chain((ip) => fc.constantFrom(...networksHolding(ip)));
// An address alone is one of 33 or 129 ranges: more often, so that it is met beside them.
const ipEntry = entryOf('IP', fc.oneof(range, address));
const hwidEntry = entryOf('HWID', hwid);
const entries = fc.array(fc.oneof(ipEntry, hwidEntry), { maxLength: 12 });

const isFor = (entry: BlacklistEntry, productId: number): boolean =>
  entry.productId === null || entry.productId === productId;

describe('indexBlacklist', () => {
  it('finds an address if and only if an entry for the product holds it, by the narrowest one', () => {
    let found = 0;
    fc.assert(
      fc.property(entries, address, productId, (listed, asked, product) => {
        const networks = networksHolding(asked);
        const [narrowest] = listed
          .filter(({ licenseDataType }) => licenseDataType === 'IP')
          .filter((listing) => isFor(listing, product) && networks.includes(listing.data))
          .sort((one, other) => networks.indexOf(one.data) - networks.indexOf(other.data));
        const entry = indexBlacklist(1, listed).findAddress(asked, product);
        expect(entry?.data).toBe(narrowest?.data);
        if (!entry) return;
        expect(listed).toContain(entry);
        expect(isFor(entry, product)).toBe(true);
        expect(entry.licenseDataType).toBe('IP');
        found++;
      }),
      { numRuns: 500 },
    );
    expect(found, 'both were met').toBeGreaterThan(10);
  });

  it('finds a hardware ID if and only if an entry for the product names it, letter for letter', () => {
    fc.assert(
      fc.property(entries, hwid, productId, (listed, asked, product) => {
        const isListed = listed.some(
          (listing) =>
            listing.licenseDataType === 'HWID' && listing.data === asked && isFor(listing, product),
        );
        const entry = indexBlacklist(1, listed).findHwid(asked, product);
        expect(entry !== undefined).toBe(isListed);
        if (!entry) return;
        expect(listed).toContain(entry);
        expect(entry).toMatchObject({ licenseDataType: 'HWID', data: asked });
        expect(isFor(entry, product)).toBe(true);
        expect(indexBlacklist(1, listed).findHwid(asked.toUpperCase(), product)).toBe(
          asked === asked.toUpperCase() ? entry : undefined,
        );
      }),
      { numRuns: 500 },
    );
  });

  it('finds nothing in an empty list, nor for what is no address', () => {
    expect(indexBlacklist(1, []).findAddress('10.0.0.1', 602)).toBeUndefined();
    const everything = ['0.0.0.0/0', '::/0'].map(
      (data): BlacklistEntry => ({ licenseDataType: 'IP', data, productId: null, reason: '' }),
    );
    const blacklist = indexBlacklist(1, everything);
    expect(blacklist.findAddress('10.0.0.1', 602)).toBe(everything[0]);
    expect(blacklist.findAddress('::1', 602)).toBe(everything[1]);
    expect(blacklist.findAddress('localhost', 602)).toBeUndefined();
  });
});
