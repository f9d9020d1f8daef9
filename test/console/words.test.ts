import { csvFile } from '@licet/cli/csv';
import { LicetError } from '@licet/client';
import { lacksSlot } from '@licet/contract/refusals';
import { describe, expect, it } from 'vitest';
import { fieldErrors, describe as inWords } from '../../console/src/api.ts';
import { cellOf } from '../../console/src/csv.ts';
import {
  formatAgo,
  formatShort,
  formatSlots,
  productName,
  shortenKey,
} from '../../console/src/format.ts';
import { customerText, ownerOfText } from '../../console/src/screens/customers/owner.ts';
import { ownerOf } from '../../console/src/screens/licenses/owner.ts';
import { amountText } from '../../console/src/screens/markets/names.ts';
import { countGiven, parseValue } from '../../console/src/search.ts';

/** Values as the console writes and reads them. */

const NOW = Date.parse('2030-06-15T12:00:00Z');

it.each([
  ['2030-06-15T11:59:30Z', 'just now'],
  ['2030-06-15T11:58:59Z', '1 minute ago'],
  ['2030-06-15T13:59:59Z', 'in 1 hour'],
  ['2030-06-14T12:00:00Z', 'yesterday'],
  ['2030-06-18T12:00:00Z', 'in 3 days'],
  ['2030-04-10T12:00:00Z', '2 months ago'],
  ['2033-06-15T12:00:00Z', 'in 3 years'],
])('the time %s is %s', (time, text) => {
  expect(formatAgo(time, NOW)).toBe(text);
});

it('a short time has no year in the present one, and no hour in another', () => {
  const now = new Date(2030, 5, 15);
  expect(formatShort(new Date(2030, 0, 2, 9, 5).toISOString(), now)).toBe('2 Jan, 09:05');
  expect(formatShort(new Date(2029, 11, 31, 9, 5).toISOString(), now)).toBe('31 Dec 2029');
});

it.each([
  ['10.0.0.3', ['10.0.0.1', 'fd00::2'], true],
  ['10.0.0.3', ['10.0.0.1', '192.0.2.1'], false],
  ['192.0.2.3', ['10.0.0.1', 'fd00::2'], false],
  ['192.0.2.3', ['192.0.2.1', '192.0.2.2', 'fd00::2'], true],
])('%s beside %j lacks a slot: %s, because each kind of address has its own', (ip, ips, lacks) => {
  expect(lacksSlot({ ips, maxIPs: 2, hwids: [], maxHWIDs: 0 }, 'ips', ip)).toBe(lacks);
});

it.each([
  ['9.99', 'EUR', '9.99 EUR'],
  ['1249.99', 'EUR', '1,249.99 EUR'],
  ['2500000', 'JPY', '2,500,000 JPY'],
  ['1234.567', 'KWD', '1,234.567 KWD'],
  ['100.00', null, '100.00'],
  [null, null, ''],
])('the amount %s %s is shown as %j', (amount, currency, text) => {
  expect(amountText({ amount, currency })).toBe(text);
});

it('slots have their limit, and ∞ for none', () => {
  expect([formatSlots(2, 5), formatSlots(1000, -1), formatSlots(0, 0)]).toEqual([
    '2 / 5',
    '1,000 / ∞',
    '0 / 0',
  ]);
});

it.each([
  ['PFHS-0Z2K-9QXA-77BC-T3MW', 'PFHS…T3MW'],
  ['A-B', 'A-B'],
  ['imported', 'imported'],
  ['a-very-longgroup99', 'a-very-longgroup99'],
])('the key %s is shortened to %s', (key, text) => {
  expect(shortenKey(key)).toBe(text);
});

it('a product that the token may not read has its id as its name', () => {
  expect(productName(new Map([[5, 'Shop']]), 5)).toBe('Shop');
  expect(productName(new Map(), 5)).toContain('5');
});

describe('the parameters of an address', () => {
  it.each([
    ['17', 17],
    ['"17"', '17'],
    ['true', true],
    ['{"a":1}', { a: 1 }],
  ])('%s is read as %j', (text, value) => {
    expect(parseValue(text)).toEqual(value);
  });

  it.each([['123456789012345678'], ['017'], ['1.0'], ['1e3'], ['order']])(
    '%s stays text, because no number or value is exactly that',
    (text) => {
      expect(() => parseValue(text)).toThrow();
    },
  );

  it('only parameters with a value are given', () => {
    expect(countGiven({ q: 'a', productId: undefined, open: 0 })).toBe(2);
  });
});

describe('the owner of a license', () => {
  const customer = {
    id: 3,
    email: 'ada@shop.example',
    firstName: 'Ada',
    lastName: 'L',
    username: 'al',
  };
  const nobody = { customer: null, ownerChatUsername: '', ownerChatId: '', ownerPlatformId: '' };

  it.each([
    ['both names', { customer }, 'Ada L'],
    ['one name', { customer: { ...customer, lastName: null } }, 'Ada'],
    [
      'the e-mail',
      { customer: { ...customer, firstName: null, lastName: null } },
      'ada@shop.example',
    ],
    ['the user name', { customer: { id: 3, username: 'al' } }, 'al'],
    ['the name of the account', { ownerChatUsername: 'ada#1', ownerChatId: '42' }, 'ada#1'],
    ['the account', { ownerChatId: '42' }, '42'],
    ['the account at a market', { ownerPlatformId: '17' }, '17'],
    ['nobody', {}, ''],
  ])('the best name is %s', (_, owner, name) => {
    expect(Reflect.apply(ownerOf, undefined, [{ ...nobody, ...owner }])).toBe(name);
  });

  it.each([
    ['ada@shop.example', { customerEmail: 'ada@shop.example' }],
    ['Customer 17', { customerId: 17 }],
    ['customer 17', { customerId: 17 }],
    ['', { customerEmail: null }],
    ['Customer 17a', { customerEmail: 'Customer 17a' }],
  ])('the text %j of the field names %j', (text, owner) => {
    expect(ownerOfText(text)).toEqual(owner);
  });

  it('a customer without an e-mail is named by the id, which the field reads back', () => {
    const text = Reflect.apply(customerText, undefined, [{ id: 17, email: null }]);
    expect(ownerOfText(text)).toEqual({ customerId: 17 });
    expect(customerText(null)).toBe('');
  });
});

describe('a CSV file', () => {
  it('rows end as spreadsheets expect, and values are quoted where they must be', () => {
    expect(
      csvFile([
        ['a', 1],
        ['b,c', 'd"e'],
      ]),
    ).toBe('\ufeffa,1\r\n"b,c","d""e"\r\n');
  });

  it.each([
    ['a number', { maxIPs: -1 }, 'maxIPs', -1],
    ['a value inside another', { customer: { email: 'a@b.c' } }, 'customer.email', 'a@b.c'],
    ['nothing inside nothing', { customer: null }, 'customer.email', ''],
    ['null', { notes: null }, 'notes', ''],
    ['a missing field', {}, 'notes', ''],
    ['a truth', { isForAllProducts: true }, 'isForAllProducts', 'true'],
  ])('a cell holds %s', (_, item, heading, cell) => {
    expect(cellOf(item, heading)).toBe(cell);
  });
});

describe('an error in words', () => {
  it('each field has its own message, and the rest is one', () => {
    const error = new LicetError(400, 'maxIPs must be an integer; name is required; it is wrong');
    const { byField, rest } = fieldErrors(error, ['maxIPs', 'name']);
    expect(Object.keys(byField)).toEqual(['maxIPs', 'name']);
    expect(rest).toBe('it is wrong.');
  });

  it('an error about no field is shown as a whole', () => {
    expect(fieldErrors(new LicetError(409, 'It is there'), ['name'])).toEqual({
      byField: {},
      rest: 'It is there.',
    });
  });

  it('a message ends with one full stop', () => {
    expect(inWords(new LicetError(404, 'Not found'))).toBe('Not found.');
    expect(inWords(new LicetError(404, 'Not found.'))).toBe('Not found.');
  });
});
