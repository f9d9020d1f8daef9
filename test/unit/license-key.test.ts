import { readKey } from '@licet/contract/license-key';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { keysMeantBy, normalizeLicenseKey } from '../../src/resources/licenses/rules.ts';
import { KEY, SPOILT } from '../support/spoilt-keys.ts';

/** Keys with the characters that a normalization changes: blanks, NUL, lone surrogates, and letters of two in upper case. */
const key = fc
  .array(
    fc.oneof(
      fc.constantFrom(' ', '\n', '\ufeff', '\0', '\ud800', '\udc00', 'ß', 'ŉ', 'a'),
      fc.string({ unit: 'binary', maxLength: 3 }),
    ),
    { maxLength: 8 },
  )
  .map((parts) => parts.join(''));

it('normalizing a license key twice changes nothing', () => {
  fc.assert(
    fc.property(key, (text) => {
      const once = normalizeLicenseKey(text);
      expect(normalizeLicenseKey(once)).toBe(once);
    }),
  );
});

it('a text whose reading is longer than any key has none: NFKC makes 18 characters of one', () => {
  expect(readKey('\ufdfa'.repeat(70))).toEqual([]);
  expect(readKey('\ufdfa'.repeat(2))).toHaveLength(1);
});

it.each(Object.entries(SPOILT))('a key is read as a person reads it: %s [1.2.20]', (_, sent) => {
  expect(keysMeantBy(sent)).toContain(KEY);
});
