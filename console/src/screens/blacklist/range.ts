import { MIN_PREFIX_BITS } from '@licet/contract/limits';
import { screenTexts } from '../../screen-texts.ts';

/** Addresses and ranges in a text, and their bounds. */

const words = screenTexts.blacklist.range;

/** A wider range is asked for first. */
const ASKED_PREFIX_BITS = { ipv4: 16, ipv6: 48 } as const;

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
