import { MAX_HWID_BYTES } from '@licet/contract/limits';
import { type Kind, keyOf, recognize } from '@licet/contract/recognize';
import { expect, it } from 'vitest';

const KEY = 'PFHS-0Z2K-9QXA-77BC-T3MW';

it.each<[pasted: string, kind: Kind]>([
  [KEY, 'key'],
  [KEY.toLowerCase(), 'key'],
  [KEY.replaceAll('-', ''), 'key'],
  [KEY.replaceAll('-', ' '), 'key'],
  [KEY.replaceAll('-', '–'), 'key'],
  [KEY.replaceAll('-', '−'), 'key'],
  [`PFHS-0Z2K-9QXA-\n77BC-T3MW`, 'key'],
  ['ABCD-EFGH-IJKL-MNOP-QRST', 'key'],
  ['1234-5678-9012-3456-7890', 'key'],
  ['203.0.113.7', 'address'],
  ['0.0.0.0', 'address'],
  ['255.255.255.255', 'address'],
  ['203.0.113.0/24', 'address'],
  ['2001:db8::1', 'address'],
  ['::', 'address'],
  ['::1', 'address'],
  ['::ffff:203.0.113.7', 'address'],
  ['2001:db8::/48', 'address'],
  ['2001:0db8:0000:0000:0000:0000:0000:0001', 'address'],
  ['2001:DB8::A', 'address'],
  ['ada@shop.example', 'email'],
  ['a.b+c@sub.shop.example', 'email'],
  ['123456789012345', 'account'],
  ['12345678901234567890', 'account'],
  ['7', 'number'],
  ['0', 'number'],
  ['12345678901234', 'number'],
  ['00:1A:2b:3C:4d:5E', 'hardware'],
  ['0f8fad5b-d9cb-469f-a165-70867728950e', 'hardware'],
  ['{0F8FAD5B-D9CB-469F-A165-70867728950E}', 'hardware'],
  ['22a5a71ebb6bfc6cb2df491f975be0f0', 'hardware'],
  ['aGVsbG8gd29ybGQ9MQ==', 'hardware'],
  ['123456789012345678901', 'hardware'],
  ['Ada', 'text'],
  ['Ada Lovelace', 'text'],
  ['server-1', 'text'],
  ['256.0.113.7', 'text'],
  ['203.0.113', 'text'],
  ['1.2.3.04', 'text'],
  ['ada@shop', 'text'],
  ['ada @shop.example', 'text'],
  ['ada@@shop.example', 'text'],
  ['a long text without a digit', 'text'],
  ['withoutanydigit', 'text'],
  ['', 'text'],
])('a pasted %j is recognized as %s', (pasted, kind) => {
  expect(recognize(pasted)).toBe(kind);
});

it('a hardware ID has at most the bytes that the service takes', () => {
  const longest = `1${'x'.repeat(MAX_HWID_BYTES - 1)}`;
  expect(recognize(longest)).toBe('hardware');
  expect(recognize(`${longest}x`)).toBe('text');
});

it.each([
  ['in lower case', KEY.toLowerCase()],
  ['without hyphens', KEY.replaceAll('-', '')],
  ['with blanks', KEY.replaceAll('-', ' ')],
  ['with the dashes of a word processor', KEY.replaceAll('-', '—')],
  ['over two lines', `${KEY.slice(0, 14)}\n${KEY.slice(14)}`],
  ['in quotes', `“${KEY}”.`],
  ['without hyphens, and with O for 0', KEY.replaceAll('-', '').replace('0', 'O')],
  ['with Arabic digits', KEY.replace('9', '٩')],
  ['with a character that nobody sees', `${KEY}\u200b`],
])('a key %s is written in groups and capitals', (_, pasted) => {
  expect(keyOf(pasted)).toBe(KEY);
});

it.each([
  ['a group too few', 'PFHS-0Z2K-9QXA-77BC'],
  ['a group too many', `${KEY}-ABCD`],
  ['twenty letters without a digit', 'ABCDEFGHJKMNPQRSTVWX'],
  ['twenty digits, which are an account', '12345678901234567890'],
  ['letters that no bare key has', 'ILOU0Z2K9QXA77BCT3MW'],
])('no key has %s', (_, pasted) => {
  expect(keyOf(pasted)).toBeUndefined();
});
