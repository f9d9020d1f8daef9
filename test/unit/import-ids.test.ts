import { doubtfulIds, rewrittenReason } from '@licet/contract/import-ids';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

/** Ids that a spreadsheet rewrote, in all the forms that spreadsheets write. */

/** The ids of accounts at Discord, and others of many digits. */
const ids = fc.bigInt({ min: 10n ** 15n, max: 10n ** 20n }).map(String);

/** A number with its exponent in another form, and a decimal comma. */
const power = (id: string, digits: number, write: (exponent: string) => string): string => {
  const [mantissa = '', exponent = ''] = Number(id).toExponential(digits).split('e+');
  return `${mantissa.replace('.', ',')}${write(exponent)}`;
};
const raised = (digits: string): string =>
  [...digits].map((digit) => '⁰¹²³⁴⁵⁶⁷⁸⁹'[Number(digit)]).join('');
const wide = (text: string): string =>
  text.replaceAll(/[!-~]/g, (letter) => String.fromCodePoint(0xfee0 + letter.charCodeAt(0)));

const FORMS: [form: string, write: (id: string, digits: number) => string][] = [
  ['Excel', (id, digits) => Number(id).toExponential(digits).replace('e', 'E')],
  [
    'Excel with a decimal comma',
    (id, digits) => Number(id).toExponential(digits).replace('.', ','),
  ],
  ['LibreOffice', (id, digits) => Number(id).toExponential(digits).replace('e+', 'E+0')],
  ['Java', (id, digits) => `${Number(id).toExponential(Math.max(1, digits)).replace('e+', 'E')}`],
  ['a cell that was made text again', (id, digits) => `'${Number(id).toExponential(digits)}`],
  ['a formula', (id, digits) => `=${Number(id).toExponential(digits).replace('e+', 'E')}`],
  ['a formula of text', (id, digits) => `="${Number(id).toExponential(digits)}"`],
  ['a document', (id, digits) => power(id, digits, (exponent) => `×10^${exponent}`)],
  [
    'a document with blanks',
    (id, digits) => power(id, digits, (exponent) => ` · 10^(${exponent})`),
  ],
  ['a document with raised digits', (id, digits) => power(id, digits, (n) => ` × 10${raised(n)}`)],
  ['a program', (id, digits) => power(id, digits, (exponent) => `*10**${exponent}`)],
  ['a page that lost its raised digits', (id, digits) => power(id, digits, (n) => `×10${n}`)],
  ['full width', (id, digits) => wide(Number(id).toExponential(digits))],
  ['pandas', (id) => `${id}.0`],
  ['a table with a decimal comma', (id) => `${id},00`],
  ['groups of three digits', (id) => id.replaceAll(/(?=(?:\d{3})+$)(?!^)/g, '.')],
  ['groups with blanks', (id) => ` ${id.replaceAll(/(?=(?:\d{3})+$)(?!^)/g, '\u00a0')}\r\n`],
];

describe.each(FORMS)('an id as %s writes it', (_, write) => {
  it('an id that was rewritten is found, whatever its digits [3.84]', () => {
    fc.assert(
      fc.property(ids, fc.integer({ min: 0, max: 14 }), (id, digits) => {
        expect(rewrittenReason(write(id, digits))).toMatch(/format the column as text$/);
      }),
    );
  });
});

it('an id as somebody gave it is never called rewritten [3.84]', () => {
  const uuids = fc.uuid();
  const keys = fc.stringMatching(/^[0-9A-HJKMNP-TV-Z]{4}(-[0-9A-HJKMNP-TV-Z]{4}){4}$/);
  const hashes = fc.stringMatching(/^[0-9a-f]{32}$/);
  fc.assert(
    fc.property(fc.oneof(ids, uuids, keys, hashes, fc.ipV4()), (id) => {
      expect(rewrittenReason(id)).toBeUndefined();
    }),
  );
});

it('an id of 16 and more digits is doubtful if and only if it ends in 000 [3.84]', () => {
  fc.assert(
    fc.property(ids, (id) => {
      const rounded = `${id.slice(0, -3)}000`;
      expect(doubtfulIds({ ownerChatId: rounded })).toHaveLength(1);
      expect(doubtfulIds({ ownerChatId: id })).toHaveLength(id.endsWith('000') ? 1 : 0);
    }),
  );
  expect(doubtfulIds({ ownerChatId: '123456789012000', notes: '1234567890123000' })).toEqual([]);
});
