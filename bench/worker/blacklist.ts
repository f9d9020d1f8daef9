import { type BlacklistEntry, blacklistOf } from '../../src/resources/blacklists/blacklist.ts';
import { decodePolicy, encodePolicy } from '../../src/resources/policy.ts';

/** Encodes a policy with a blacklist, and decodes it as a cold isolate decodes the value of KV. */

const hex = (number: number): string => number.toString(16).padStart(8, '0');

/** A kind of entry, by the last digit of its number: mostly hardware IDs and addresses, and some ranges. */
function entryOf(number: number): Pick<BlacklistEntry, 'licenseDataType' | 'data'> {
  const digit = number % 10;
  const address = `203.${number >> 8}.${number & 255}`;
  if (digit < 5)
    return { licenseDataType: 'HWID', data: `${hex(number)}-0bad-4bad-8bad-000000000000` };
  if (digit < 9) return { licenseDataType: 'IP', data: `${address}.1` };
  return { licenseDataType: 'IP', data: `${address}.0/24` };
}

const newEntries = (count: number): BlacklistEntry[] =>
  Array.from({ length: count }, (_, number) => ({
    ...entryOf(number),
    productId: number % 2 === 0 ? null : 1,
    reason: 'Leaked keys',
  }));

export default {
  async fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === '/encode') {
      const blacklist = blacklistOf(newEntries(Number(searchParams.get('entries'))));
      return new Response(encodePolicy({ id: 0, revision: 1, blacklist, products: {} }));
    }
    const text = await request.text();
    // Costs what a request costs beside the decoding.
    if (pathname === '/nothing') return new Response(String(text.length));
    const blacklist = decodePolicy(text)?.blacklist;
    const isFound = blacklist?.findHwid(`${hex(0)}-0bad-4bad-8bad-000000000000`, 1) !== undefined;
    return new Response(isFound ? 'decoded' : 'rejected');
  },
} satisfies ExportedHandler;
