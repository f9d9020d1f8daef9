import { RESPONSE_TYPES } from '@licet/contract/outcomes';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type BlacklistEntry, blacklistOf } from '../../src/resources/blacklists/blacklist.ts';
import type { LicenseSnapshot } from '../../src/resources/licenses/snapshot.ts';
import { decide, type Facts } from '../../src/validation/decide.ts';
import type { ValidationRequest } from '../../src/validation/request.ts';
import { networksHolding } from '../support/networks.ts';
import type { DecidedOutcome } from '../support/outcomes.ts';

/** Few values of everything, so that they meet often. */
const ADDRESSES = [
  ...['10.0.0.1', '10.0.0.2', '10.0.0.3', '192.0.2.1', '192.0.2.2', '192.0.2.3'],
  ...['2001:db8::1', '2001:db8::2'],
];
const HWIDS = ['hw-1', 'hw-2', 'hw-3', 'hw-4'];
const PRODUCTS = [602, 603];
/** An imported license can have it as its key. */
const PLACEHOLDER = '%%__LICENSE__%%';

const address = fc.constantFrom(...ADDRESSES);
const hwid = fc.constantFrom(...HWIDS);
const productId = fc.constantFrom(...PRODUCTS);
const limit = fc.integer({ min: -1, max: 4 });
const moment = fc.nat(100);

const license: fc.Arbitrary<LicenseSnapshot> = fc.record({
  id: fc.constant(7),
  revision: fc.constant(1),
  productId,
  state: fc.constantFrom('ACTIVE', 'ACTIVE', 'ACTIVE', 'DEACTIVATED', 'DELETED'),
  expiresAt: fc.option(moment),
  expiresAfterDays: fc.option(fc.integer({ min: 1, max: 3_650 })),
  maxIPs: limit,
  maxHWIDs: limit,
  ips: fc.uniqueArray(address, { maxLength: 4 }),
  hwids: fc.uniqueArray(hwid, { maxLength: 4 }),
  totalRequests: fc.nat(),
  entitlements: fc.constant(null),
  entitlementsExpire: fc.constant(null),
});

const LOGGED = {
  productVersion: null,
  operatingSystem: null,
  operatingSystemVersion: null,
  operatingSystemArchitecture: null,
  javaVersion: null,
  macAddress: null,
};

const request: fc.Arbitrary<ValidationRequest> = fc.record({
  licenseKey: fc.constant('key'),
  key: fc.constantFrom('KEY', 'KEY', 'KEY', 'KEY', PLACEHOLDER),
  productId,
  ip: fc.option(address, { freq: 8 }),
  hwid: fc.option(hwid, { freq: 8 }),
  logged: fc.constant(LOGGED),
  takesOver: fc.boolean(),
});

const network = address.chain((ip) => fc.constantFrom(...networksHolding(ip)));
const entryProduct = fc.option(productId);

const entry: fc.Arbitrary<BlacklistEntry> = fc.oneof(
  fc.record({
    licenseDataType: fc.constant('IP' as const),
    data: network,
    productId: entryProduct,
    reason: fc.constant('r'),
  }),
  fc.record({
    licenseDataType: fc.constant('HWID' as const),
    data: hwid,
    productId: entryProduct,
    reason: fc.constant('r'),
  }),
);

/** The facts, of the blacklist its entries. */
interface Known extends Omit<Facts, 'blacklist'> {
  blacklist: readonly BlacklistEntry[];
}

const facts: fc.Arbitrary<Known> = fc.record({
  license: fc.option(license, { freq: 10 }),
  blacklist: fc.oneof(fc.constant([]), fc.array(entry, { maxLength: 2 })),
  connectingAddress: fc.option(address),
  requireHwid: fc.boolean(),
  ipv6SlotPrefix: fc.constant(64),
});

const factsOf = (known: Known): Facts => ({
  ...known,
  blacklist: blacklistOf(known.blacklist),
});

/** Whether an entry speaks of this request. */
const applies = (
  { licenseDataType, data, productId: product }: BlacklistEntry,
  asked: ValidationRequest,
  connectingAddress: string | null,
): boolean => {
  if (product !== null && product !== asked.productId) return false;
  if (licenseDataType === 'HWID') return data === asked.hwid;
  return [asked.ip, connectingAddress].some((ip) => ip && networksHolding(ip).includes(data));
};

const isFull = (value: string | null, bound: readonly string[], max: number): boolean =>
  value !== null && max !== -1 && !bound.includes(value) && bound.length >= max;

/** The slots of the addresses here: those of 2001:db8::/64 share one, and those of 10.0.0.0/8 count by themselves. */
const slotOf = (ip: string): string => (ip.includes(':') ? '2001:db8::/64' : ip);
const isLocal = (ip: string): boolean => ip.startsWith('10.');

const isFullOfAddresses = (ip: string | null, bound: readonly string[], max: number): boolean => {
  const alike = bound.filter((one) => ip !== null && isLocal(one) === isLocal(ip));
  return isFull(ip && slotOf(ip), [...new Set(alike.map(slotOf))], max);
};

/** The table of decisions 1.3, a row a line; what is false of a license is false without one. */
function firstRowThatApplies(
  { license, blacklist, connectingAddress, requireHwid }: Known,
  asked: ValidationRequest,
  now: number,
): string {
  const listed = blacklist.filter((listing) => applies(listing, asked, connectingAddress));
  const rows: Record<DecidedOutcome, boolean> = {
    IP_BLACKLISTED: listed.some(({ licenseDataType }) => licenseDataType === 'IP'),
    HWID_BLACKLISTED: listed.some(({ licenseDataType }) => licenseDataType === 'HWID'),
    LICENSE_NOT_FOUND: license === null || asked.key === PLACEHOLDER,
    PRODUCT_MISMATCH: license?.productId !== asked.productId,
    LICENSE_DELETED: license?.state === 'DELETED',
    LICENSE_DEACTIVATED: license?.state === 'DEACTIVATED',
    LICENSE_EXPIRED: license?.expiresAt != null && now >= license.expiresAt,
    INVALID_REQUEST: requireHwid && asked.hwid === null && license?.maxHWIDs !== -1,
    MAX_IPS_REACHED: license !== null && isFullOfAddresses(asked.ip, license.ips, license.maxIPs),
    MAX_HWIDS_REACHED: license !== null && isFull(asked.hwid, license.hwids, license.maxHWIDs),
    VALID: true,
  };
  return Object.entries(rows).find(([, isTrue]) => isTrue)?.[0] ?? '';
}

it('decide takes the first row of the table that applies, and changes nothing that it is given [1.3]', () => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(facts, request, moment, (known, asked, now) => {
      const before = structuredClone({ known, asked });
      const { responseType } = decide(factsOf(known), asked, now);
      expect(responseType).toBe(firstRowThatApplies(known, asked, now));
      expect({ known, asked }).toEqual(before);
      seen.add(responseType);
    }),
    { numRuns: 1_000, seed: 1 },
  );
  const decided = RESPONSE_TYPES.filter((type) => type !== 'RATE_LIMITED' && type !== 'ERROR');
  expect([...seen].sort()).toEqual(decided.sort());
});
