import { entryFields } from '@licet/contract/blacklists';
import { customerFields } from '@licet/contract/customers';
import { licenseFields } from '@licet/contract/licenses';
import { productFields } from '@licet/contract/products';
import { type Fields, settable, webAddressOrNull } from '@licet/contract/resource';
import { tokenFields } from '@licet/contract/tokens';
import { expect, it } from 'vitest';
import { checkWebAddresses } from '../../src/resources/web-addresses.ts';
import { blacklists, customers, licenses, products, tokens } from '../support/resources.ts';

/** The tests create and change objects by examples: a field that an example lacks would not be tested. */

const namesOf = (example: object): string[] => Object.keys(example).sort();
const settableNames = (fields: Fields): string[] => namesOf(settable(fields));

it.each([
  [products, productFields],
  [licenses, licenseFields],
  [blacklists, entryFields],
  [tokens, tokenFields],
  [customers, customerFields],
])('the tests create a $name with every field that a client sets', async (resource, fields) => {
  expect(namesOf(await resource.fullBody())).toEqual(settableNames(fields));
});

// Fields of which a change depends on another field have tests of their own.
it.each([
  [products, productFields, []],
  [licenses, licenseFields, ['expiresAfterDays', 'licenseType', 'productId']],
  [blacklists, entryFields, ['isForAllProducts', 'productId']],
  [tokens, tokenFields, []],
  [customers, customerFields, []],
])(
  'the tests change every field of a $name that a client sets',
  async (resource, fields, apart) => {
    const names = namesOf({ ...resource.changes() })
      .concat(apart)
      .sort();
    expect(names).toEqual(settableNames(fields));
  },
);

it('a PUT checks each field that is made as a web address, whatever its name', () => {
  const fields = { home: webAddressOrNull('The page.'), name: productFields.name };
  const changes = { home: 'javascript:alert(1)', name: 'javascript:alert(1)' };
  expect(() => checkWebAddresses(fields, changes, { home: null })).toThrow(/^home must be an/);
  expect(() => checkWebAddresses(fields, { home: 'https://a.example' }, {})).not.toThrow();
});
