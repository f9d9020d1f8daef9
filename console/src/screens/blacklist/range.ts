import { LicetError } from '@licet/client';
import { MIN_PREFIX_BITS } from '@licet/contract/limits';
import { queryOptions } from '@tanstack/react-query';
import { hasStatus, licet, queries } from '../../api.ts';
import { confirm } from '../../components/confirm.tsx';
import { screenTexts } from '../../screen-texts.ts';
import { sharedBy } from '../../shared-hwids.ts';

/** Addresses and ranges to block: their bounds, their effect, and the question before a large one. */

const words = screenTexts.blacklist.range;

/** A wider range is asked for first. */
const ASKED_PREFIX_BITS = { ipv4: 16, ipv6: 48 } as const;

/** An entry that refuses more licenses is asked about first. */
const MAX_UNASKED_HITS = 10;

const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;
const IPV4_MAPPED = 0xffffn;

interface Address {
  length: 32 | 128;
  value: bigint;
}

/** The canonical form of an IPv6 address, which the browser knows: the library for it is too large for this page. */
const canonical = (text: string): string => new URL(`http://[${text}]`).hostname.slice(1, -1);

/** The number of an address; undefined for other text. */
function parse(text: string): Address | undefined {
  if (IPV4.test(text)) {
    return {
      length: 32,
      value: text.split('.').reduce((sum, part) => sum * 256n + BigInt(part), 0n),
    };
  }
  if (!/^[\da-f:.]+$/i.test(text) || !URL.canParse(`http://[${text}]`)) return undefined;
  const [head = [], tail = []] = canonical(text)
    .split('::')
    .map((half) => half.split(':').filter(Boolean));
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0');
  const groups = [...head, ...zeros, ...tail];
  return {
    length: 128,
    value: groups.reduce((sum, group) => sum * 65_536n + BigInt(`0x${group}`), 0n),
  };
}

/** The groups of bits of an address. */
const groupsOf = (value: bigint, bits: number, count: number): bigint[] =>
  Array.from({ length: count }, (_, index) =>
    BigInt.asUintN(bits, value >> BigInt(bits * (count - 1 - index))),
  );

const format = ({ length, value }: Address): string =>
  length === 32
    ? groupsOf(value, 8, 4).join('.')
    : canonical(
        groupsOf(value, 16, 8)
          .map((group) => group.toString(16))
          .join(':'),
      );

/** The address and the prefix of a range. A range of IPv4 may be written with an IPv6 prefix. */
function parseRange(text: string): (Address & { bits: number }) | undefined {
  const [, address = '', prefix] = /^([^/]*)\/(\d{1,3})$/.exec(text.trim()) ?? [];
  const found = parse(address);
  const bits = Number(prefix);
  if (!found || bits >= found.length) return undefined;
  const isMapped = found.length === 128 && found.value >> 32n === IPV4_MAPPED && bits >= 96;
  return isMapped
    ? { length: 32, value: BigInt.asUintN(32, found.value), bits: bits - 96 }
    : { ...found, bits };
}

/** A range of addresses in a text; undefined for an address, and for other text. */
export function rangeIn(text: string) {
  const range = parseRange(text);
  if (!range) return undefined;
  const { length, value, bits } = range;
  const others = (1n << BigInt(length - bits)) - 1n;
  const first = format({ length, value: value - (value & others) });
  const last = format({ length, value: value | others });
  const family = length === 32 ? 'ipv4' : 'ipv6';
  const count = family === 'ipv4' ? Number(others) + 1 : undefined;
  const network = `${first}/${bits}`;
  const bounds = words.bounds(first, last, count);
  const minBits = MIN_PREFIX_BITS[family];
  /** The reason why the service would reject it. */
  const tooWide = bits < minBits ? words.tooWide(minBits) : undefined;
  return {
    network,
    bounds,
    tooWide,
    isWide: bits < ASKED_PREFIX_BITS[family],
  };
}

/** The address or the range in a text, as a filter takes it; undefined for other text, and for a range too wide. */
export function networkIn(text: string): string | undefined {
  const range = rangeIn(text);
  if (range) return range.tooWide === undefined ? range.network : undefined;
  return parse(text.trim()) && text.trim();
}

/** The licenses whose programs asked from an address or a range, to which an entry would apply. */
export const hitsQuery = (ip: string | undefined, productId: number | null) =>
  queryOptions({
    queryKey: ['licenses', 'hits', ip, productId],
    queryFn: async ({ signal }): Promise<number> => {
      const product = productId === null ? {} : { productId };
      try {
        const page = await licet.licenses.page({ ip, limit: 1, ...product }, { signal });
        return page.total ?? 0;
      } catch (error) {
        // Too many installations for a count.
        if (hasStatus(error, 400)) return Number.POSITIVE_INFINITY;
        throw error;
      }
    },
  });

/** The effect of an entry in words. */
export const describeHits = (hits: number): string =>
  Number.isFinite(hits) ? words.hits(hits) : words.manyHits;

/**
 * Asks before an address or a range is blocked that is wide, or from which programs with many licenses asked.
 *
 * @throws LicetError for a range that the service would reject
 */
export async function confirmBlock(
  text: string,
  productId: number | null,
  mayCount: boolean,
): Promise<boolean> {
  const range = rangeIn(text);
  if (range?.tooWide !== undefined) throw new LicetError(400, `data ${range.tooWide}`);
  const network = networkIn(text);
  if (network === undefined) return true;
  // An unknown effect keeps nobody from blocking.
  const counted = mayCount ? queries.fetchQuery(hitsQuery(network, productId)) : undefined;
  const hits = await counted?.catch(() => undefined);
  if (!range?.isWide && (hits ?? 0) <= MAX_UNASKED_HITS) return true;
  return confirm({
    title: words.title(network),
    lead: [range?.bounds, hits !== undefined && describeHits(hits)].filter(Boolean).join(' '),
    action: screenTexts.blacklist.new,
  });
}

/** Asks before a hardware ID is blocked that thousands of servers share. */
export async function confirmHwid(hwid: string): Promise<boolean> {
  const user = sharedBy(hwid);
  if (user === undefined) return true;
  const { blockTitle, block } = screenTexts.sharedHwid;
  return confirm({ title: blockTitle, lead: block(user), action: screenTexts.blacklist.new });
}
