import { describe, expect, it } from 'vitest';
import { networkIn, rangeIn } from '../../console/src/screens/blacklist/range.ts';

describe('a range in the form of the blacklist', () => {
  it.each([
    ['198.51.100.7/24', '198.51.100.0/24', '198.51.100.0 to 198.51.100.255, 256 addresses'],
    ['198.51.100.7/31', '198.51.100.6/31', '198.51.100.6 to 198.51.100.7, 2 addresses'],
    ['198.51.100.7/9', '198.0.0.0/9', '198.0.0.0 to 198.127.255.255, 8,388,608 addresses'],
    [' 10.1.2.3/16 ', '10.1.0.0/16', '10.1.0.0 to 10.1.255.255, 65,536 addresses'],
    ['2001:db8::/32', '2001:db8::/32', '2001:db8:: to 2001:db8:ffff:ffff:ffff:ffff:ffff:ffff'],
    ['2001:DB8::5/127', '2001:db8::4/127', '2001:db8::4 to 2001:db8::5'],
    ['2001:db8:1:2:3:4:5:6/64', '2001:db8:1:2::/64', '2001:db8:1:2:: to 2001:db8:1:2:ffff:ffff'],
    ['::1/64', '::/64', ':: to ::ffff:ffff:ffff:ffff'],
    ['::ffff:198.51.100.7/119', '198.51.100.0/23', '198.51.100.0 to 198.51.101.255, 512 addresses'],
    ['::ffff:c633:6407/120', '198.51.100.0/24', '198.51.100.0 to 198.51.100.255, 256 addresses'],
  ])('the range %s is %s, and its bounds are told', (text, network, bounds) => {
    expect(rangeIn(text)).toMatchObject({ network, tooWide: undefined });
    expect(rangeIn(text)?.bounds).toContain(bounds);
  });

  it.each([
    ['198.51.100.7', 'an address'],
    ['198.51.100.7/32', 'the range of one address'],
    ['2001:db8::/128', 'the range of one IPv6 address'],
    ['198.51.100.7/33', 'a prefix that IPv4 does not have'],
    ['2001:db8::/129', 'a prefix that IPv6 does not have'],
    ['198.51.100/24', 'an address that lacks an octet'],
    ['198.51.100.256/24', 'an octet above 255'],
    ['198.51.100.07/24', 'an octet that begins with 0'],
    ['2001:db8:::/32', 'an address with three colons'],
    ['2001:db8::1::/32', 'an address with two gaps'],
    ['12345::/32', 'a group with five digits'],
    ['198.51.100.7/', 'no prefix'],
    ['/24', 'no address'],
    ['198.51.100.7/2a', 'a prefix that is no number'],
    ['198.51.100.7/24/8', 'two prefixes'],
    ['a text', 'no address at all'],
    ['', 'nothing'],
  ])('%j is no range, because it is %s', (text) => {
    expect(rangeIn(text)).toBeUndefined();
  });

  it.each([
    ['10.0.0.0/8', false, true],
    ['10.0.0.0/7', true, true],
    ['0.0.0.0/0', true, true],
    ['10.0.0.0/15', false, true],
    ['10.0.0.0/16', false, false],
    ['2001::/19', false, true],
    ['2001::/18', true, true],
    ['2001:db8::/47', false, true],
    ['2001:db8::/48', false, false],
  ])(
    'of %s it is %s that the service rejects it, and %s that it is asked about',
    (text, isTooWide, isWide) => {
      const range = rangeIn(text);
      expect(range?.tooWide !== undefined).toBe(isTooWide);
      expect(range?.isWide).toBe(isWide);
    },
  );

  it.each([
    ['198.51.100.7/24', '198.51.100.0/24'],
    [' 198.51.100.7 ', '198.51.100.7'],
    ['2001:db8::1', '2001:db8::1'],
    ['0.0.0.0/0', undefined],
    ['Unknown', undefined],
    ['[::1]', undefined],
    ['fe80::1%eth0', undefined],
  ])('a filter takes %j as %s', (text, network) => {
    expect(networkIn(text)).toBe(network);
  });
});
