import {
  canonicalAddress,
  canonicalNetwork,
  firstOfSlots,
  globalAddress,
  isGlobal,
  slotOf,
} from '@licet/contract/addresses';
import fc from 'fast-check';
import { expect, it } from 'vitest';

/** Arithmetic of our own, on whole numbers: what the module does with bytes and a library. */
interface Ip {
  bits: 32 | 128;
  value: bigint;
}

const MAPPED_PREFIX = 0xffffn << 32n;

const v4 = fc.bigInt({ min: 0n, max: (1n << 32n) - 1n }).map((value): Ip => ({ bits: 32, value }));

/** Hextets of which many are zero or small, as in addresses that people write. */
const hextet = fc.oneof(fc.constant(0), fc.nat(0xf), fc.nat(0xffff));
const v6 = fc
  .array(hextet, { minLength: 8, maxLength: 8 })
  .map((parts) => parts.reduce((value, part) => (value << 16n) | BigInt(part), 0n))
  .filter((value) => value >> 32n !== 0xffffn)
  .map((value): Ip => ({ bits: 128, value }));

const ip = fc.oneof(v4, v6);

const splitBits = (value: bigint, count: number, width: bigint): bigint[] =>
  Array.from(
    { length: count },
    (_, index) => (value >> (BigInt(count - 1 - index) * width)) & ((1n << width) - 1n),
  );

const writeV4 = (value: bigint): string => splitBits(value, 4, 8n).join('.');

const hextetsOf = (value: bigint): string[] =>
  splitBits(value, 8, 16n).map((part) => part.toString(16));

/** RFC 5952: the first longest run of two or more zeros becomes `::`. */
function writeV6(value: bigint): string {
  const parts = hextetsOf(value);
  const runs = parts.map((_, start) => {
    const end = parts.findIndex((part, index) => index >= start && part !== '0');
    return { start, length: (end === -1 ? parts.length : end) - start };
  });
  const longest = runs.reduce((best, run) => (run.length > best.length ? run : best));
  if (longest.length < 2) return parts.join(':');
  const head = parts.slice(0, longest.start).join(':');
  const tail = parts.slice(longest.start + longest.length).join(':');
  return `${head}::${tail}`;
}

const write = ({ bits, value }: Ip): string => (bits === 32 ? writeV4(value) : writeV6(value));

/** The ways in which one IPv6 address can be written. */
const spellings = (value: bigint): string[] => {
  const parts = hextetsOf(value);
  const tail = writeV4(value & 0xffffffffn);
  return [
    parts.join(':'),
    parts.map((part) => part.padStart(4, '0')).join(':'),
    writeV6(value).toUpperCase(),
    ` ${writeV6(value)}\n`,
    `${parts.slice(0, 6).join(':')}:${tail}`,
  ];
};

const networkAt = (address: Ip, prefix: number): bigint =>
  address.value >> BigInt(address.bits - prefix);

it('canonicalAddress writes IPv6 as RFC 5952 says, however it was spelled [1.2.14]', () => {
  fc.assert(
    fc.property(v6, ({ value }) => {
      for (const spelling of spellings(value)) {
        expect(canonicalAddress(spelling), spelling).toBe(writeV6(value));
      }
    }),
  );
});

it('canonicalAddress takes an IPv4-mapped IPv6 address for the IPv4 address [1.2.14]', () => {
  fc.assert(
    fc.property(v4, ({ value }) => {
      for (const spelling of [...spellings(MAPPED_PREFIX | value), `::ffff:${writeV4(value)}`]) {
        expect(canonicalAddress(spelling), spelling).toBe(writeV4(value));
      }
    }),
  );
});

it.each([
  '',
  'Unknown',
  'localhost',
  '0x7f.0.0.1',
  '010.1.2.3',
  '1.2.3',
  '1.2.3.256',
  '1.2.3.4/32',
  '١.٢.٣.٤',
  '1::2::3',
  '1:2:3:4:5:6:7',
  '1:2:3:4:5:6:7:8:9',
  'fe80::1%eth0',
  '::ffff:1.2.3.256',
  '::ffff:010.1.2.3',
  '::/0',
])('canonicalAddress takes "%s" for no address [1.2.11]', (text) => {
  expect(canonicalAddress(text)).toBeNull();
});

it('canonicalAddress throws for no text, and what it returns is canonical', () => {
  const odd = fc.string({ unit: fc.constantFrom(...'0123456789abfxX.:%/ -[]'), maxLength: 24 });
  fc.assert(
    fc.property(fc.oneof(odd, fc.string({ unit: 'grapheme' })), (text) => {
      const canonical = canonicalAddress(text);
      if (canonical !== null) expect(canonicalAddress(canonical)).toBe(canonical);
    }),
    { numRuns: 300 },
  );
});

it('canonicalNetwork clears the bits behind the prefix; a range of one address is that address', () => {
  fc.assert(
    fc.property(ip, fc.nat(128), (address, anyPrefix) => {
      const prefix = anyPrefix % (address.bits + 1);
      const first = networkAt(address, prefix) << BigInt(address.bits - prefix);
      const network = write({ ...address, value: first });
      expect(canonicalNetwork(`${write(address)}/${prefix}`)).toBe(
        prefix === address.bits ? network : `${network}/${prefix}`,
      );
    }),
  );
});

it.each([
  ['10.1.2.3', '10.1.2.3'],
  ['10.1.2.3/8', '10.0.0.0/8'],
  ['10.1.2.3/32', '10.1.2.3'],
  ['10.1.2.3/0', '0.0.0.0/0'],
  [' 2001:DB8::1/32 ', '2001:db8::/32'],
  ['::1/0', '::/0'],
  ['::ffff:10.1.2.3/104', '10.0.0.0/8'],
  ['::ffff:10.1.2.3/96', '0.0.0.0/0'],
  ['::ffff:10.1.2.3', '10.1.2.3'],
])('canonicalNetwork writes %s as %s', (text, canonical) => {
  expect(canonicalNetwork(text)).toBe(canonical);
});

it.each([
  '',
  '/',
  '10.0.0.0/',
  '10.0.0.0/33',
  '10.0.0.0/-1',
  '10.0.0.0/+8',
  '10.0.0.0/1e1',
  '10.0.0.0/8/8',
  '::/129',
  'fe80::1%eth0/64',
])('canonicalNetwork takes "%s" for no network', (text) => {
  expect(canonicalNetwork(text)).toBeNull();
});

/** The registries of special addresses of IANA (RFC 6890), as ranges. Documentation is not among them. */
const LOCAL_NETWORKS = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12'],
  ...['192.0.0.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '224.0.0.0/3'],
  ...['::/3', '2001::/23', '4000::/2', '8000::/1'],
];

const partsOf = (network: string): { bits: number; value: bigint; prefix: number } => {
  const [address = '', prefix] = network.split('/');
  if (!address.includes(':')) {
    const value = address.split('.').reduce((sum, part) => (sum << 8n) | BigInt(part), 0n);
    return { bits: 32, value, prefix: Number(prefix) };
  }
  const [begin = '', end = ''] = address.split('::');
  const [before, after] = [begin.split(':'), end.split(':')].map((part) => part.filter(Boolean));
  const zeros = Array.from({ length: 8 - (before?.length ?? 0) - (after?.length ?? 0) }, () => '0');
  const value = [...(before ?? []), ...zeros, ...(after ?? [])].reduce(
    (sum, part) => (sum << 16n) | BigInt(`0x${part}`),
    0n,
  );
  return { bits: 128, value, prefix: Number(prefix) };
};

const isLocal = ({ bits, value }: Ip): boolean =>
  LOCAL_NETWORKS.map(partsOf).some(
    (network) =>
      network.bits === bits &&
      networkAt({ bits, value }, network.prefix) === network.value >> BigInt(bits - network.prefix),
  );

/** Addresses at the edges of the ranges, and others. */
const atEdge = fc
  .record({
    network: fc.constantFrom(...LOCAL_NETWORKS.map(partsOf)),
    isEnd: fc.boolean(),
    by: fc.bigInt({ min: -2n, max: 2n }),
  })
  .map(({ network: { bits, value, prefix }, isEnd, by }): Ip => {
    const end = value + (isEnd ? 1n << BigInt(bits - prefix) : 0n) + by;
    return bits === 32
      ? { bits, value: BigInt.asUintN(32, end) }
      : { bits: 128, value: BigInt.asUintN(128, end) };
  })
  .filter(({ bits, value }) => bits === 32 || value >> 32n !== 0xffffn);

it('an address is global unless it lies in a range that says nothing of the place of a machine [1.2.12]', () => {
  fc.assert(
    fc.property(fc.oneof(atEdge, ip), (address) => {
      expect(isGlobal(write(address)), write(address)).toBe(!isLocal(address));
    }),
    { numRuns: 3_000 },
  );
});

it.each([
  ['192.0.2.1', '192.0.2.1'],
  ['2001:DB8::1', '2001:db8::1'],
  ['3fff::1', '3fff::1'],
  ['::ffff:198.51.100.7', '198.51.100.7'],
  ['::ffff:172.18.0.5', null],
  ['2002:c633:6407::1', '198.51.100.7'],
  ['2002:ac12:5::1', null],
  ['64:ff9b::198.51.100.7', '198.51.100.7'],
  ['64:ff9b::172.18.0.5', null],
  ['64:ff9b:1::c633:6407', null],
  ['64:ff9b::1:c633:6407', null],
  ['Unknown', null],
])('globalAddress reads %j as %j: IPv4 inside IPv6 counts as itself [1.2.21]', (text, read) => {
  expect(globalAddress(text)).toBe(read);
});

it('global IPv6 addresses share a slot if they begin with the same bits, and others share none [1.4.15]', () => {
  const prefix = fc.integer({ min: 48, max: 128 });
  const near = fc
    .tuple(v6, fc.integer({ min: 0, max: 127 }))
    .map(([{ value }, bit]): [Ip, Ip] => [
      { bits: 128, value },
      { bits: 128, value: value ^ (1n << BigInt(bit)) },
    ])
    .filter(([, { value }]) => value >> 32n !== 0xffffn);
  fc.assert(
    fc.property(fc.oneof(near, fc.tuple(ip, ip)), prefix, ([one, other], bits) => {
      const isShared = slotOf(write(one), bits) === slotOf(write(other), bits);
      const isSame = write(one) === write(other);
      const isNear =
        one.bits === 128 &&
        other.bits === 128 &&
        !isLocal(one) &&
        !isLocal(other) &&
        networkAt(one, bits) === networkAt(other, bits);
      expect(isShared, `${write(one)} ${write(other)} ${bits}`).toBe(isSame || isNear);
    }),
    { numRuns: 1_000 },
  );
});

it('firstOfSlots keeps the first address of each slot, in their order [1.4.17]', () => {
  const ips = [
    '2a01:1:1:1::1',
    '192.0.2.1',
    '2a01:1:1:1::2',
    'fd00::1',
    'fd00::2',
    '2a01:1:1:2::1',
  ];
  expect(firstOfSlots(ips, 64)).toEqual(ips.filter((address) => address !== '2a01:1:1:1::2'));
  expect(firstOfSlots(ips, 56)).toEqual(['2a01:1:1:1::1', '192.0.2.1', 'fd00::1', 'fd00::2']);
  expect(firstOfSlots(ips, 128)).toEqual(ips);
});
