import type { ImportKind } from '@licet/contract/enums';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { settled } from '../support/app.ts';
import { call, get, type License } from '../support/client.ts';
import { importForeign, importOne } from '../support/import.ts';
import { type Fields, readList } from '../support/resources.ts';

/** Items as other services and spreadsheets write them, imported by the package of the command line and the console. */

const CREATED = '2019-05-06T07:08:09.123+00:00';

const product: Fields = {
  ...{ id: 602, name: 'Chunk Guard', productType: 'GAME_JAVA_PLUGIN', createdDate: CREATED },
  ...{ defaultMaxIPs: 2, defaultMaxHWIDs: -1 },
};

const license: Fields = {
  ...{ licenseKey: 'Old-Key-1', productId: 602, licenseType: 'TEMPORARY' },
  ...{ expiryDate: '2099-12-31T23:59:59.000+00:00', maxIPs: 2, ips: ['192.0.2.10'] },
};

const entry: Fields = {
  ...{ licenseDataType: 'IP', data: '192.0.2.0/24', productId: 602 },
  ...{ isForAllProducts: false, reason: 'Leaked keys' },
};

const EXAMPLES: Record<Exclude<ImportKind, 'customers'>, Fields> = {
  products: product,
  licenses: license,
  blacklists: entry,
};

beforeEach(async () => {
  expect(await importOne('products', product)).toMatchObject({ reason: null });
});
afterEach(settled);

const importOneOf = async (kind: ImportKind, item: unknown) => {
  const { results } = await importForeign(kind, [item]);
  return results[0] ?? expect.fail();
};

describe('a license', () => {
  /** Stores a license under a key of its own. */
  const store = async (fields: Fields): Promise<License> => {
    const item = { ...license, licenseKey: crypto.randomUUID(), ...fields };
    const { id, outcome, reason } = await importOneOf('licenses', item);
    expect(outcome, reason ?? '').toBe('created');
    return get.license(id ?? 0);
  };

  it('an import of a file names ten values that it leaves out, and counts the rest [3.73]', async () => {
    const ips = Array.from({ length: 900 }, (_, index) => `Unknown ${index}${'!'.repeat(900)}`);
    const { differences, reason } = await importOneOf('licenses', { ...license, ips });
    expect(differences).toEqual(['ips']);
    expect(reason).toMatch(/^ips\[0\] "Unknown 0!.*; ips\[9\] "Unknown 9!.*; and 890 more$/);
    expect(reason?.length).toBeLessThan(1_000);
  });

  it.each([
    ['2030-12-31 23:59:59', '2030-12-31T23:59:59.000+00:00'],
    ['2030-12-31 23:59', '2030-12-31T23:59:00.000+00:00'],
    [' 2030-12-31  23:59:59.5+02 ', '2030-12-31T21:59:59.500+00:00'],
    ['31.12.2030', '2030-12-31T23:59:59.000+00:00'],
    ['1.2.2030 23:59', '2030-02-01T23:59:00.000+00:00'],
    ['31.12.2030 23:59:59', '2030-12-31T23:59:59.000+00:00'],
    ['1924991999', '2030-12-31T23:59:59.000+00:00'],
    [1924991999, '2030-12-31T23:59:59.000+00:00'],
    ['1924991999123', '2030-12-31T23:59:59.123+00:00'],
  ])('an import of a file takes the date %s, and no request does', async (expiryDate, stored) => {
    const { id } = await store({ expiryDate });
    expect(await get.license(id)).toMatchObject({ expiryDate: stored });
    const body = { expiryDate };
    expect((await call('PUT', `/api/v2/licenses/${id}`, { body })).status).toBe(400);
    const raw = await importOne('licenses', { ...license, licenseKey: 'raw', expiryDate });
    expect(raw.reason).toMatch(/^expiryDate .* must be an ISO 8601 timestamp/);
  });

  it.each(['12/31/2030', '01/02/2030', '12.31.2030', '31.2.30', '32.12.2030', 47848])(
    'an import of a file guesses no date: %s',
    async (expiryDate) => {
      const { outcome, reason } = await importOneOf('licenses', { ...license, expiryDate });
      expect([outcome, reason]).toEqual([
        'refused',
        expect.stringMatching(/^expiryDate .* must be (an ISO 8601 timestamp|a day that exists)/),
      ]);
    },
  );

  it('an imported license is read as other services and tables write it', async () => {
    const written = {
      ...{ id: '12', licenseKey: 'text', productId: '602.0', licenseType: 'TEMPORARY' },
      ...{ maxIPs: '3', maxHWIDs: '-1', totalRequests: '17', licensePlatform: '', notes: null },
      ...{ expiryDate: '2031-05-06', createdDate: '2019-05-06T09:08:09+02:00', updatedDate: '' },
      ...{ ownerChatId: 77, ownerPlatformId: null, ips: null, hwids: '', licenseStatus: '' },
      customer: { id: '900', email: '', createdAt: '6.5.2019', username: 'ada', chatId: 77 },
    };
    const { id } = await importOneOf('licenses', written);
    expect(id).toBe(12);
    expect(await get.license(12)).toMatchObject({
      maxIPs: 3,
      maxHWIDs: -1,
      totalRequests: 17,
      licensePlatform: null,
      licenseStatus: 'ACTIVE',
      expiryDate: '2031-05-06T23:59:59.000+00:00',
      createdDate: '2019-05-06T07:08:09.000+00:00',
      updatedDate: '2019-05-06T07:08:09.000+00:00',
      ownerChatId: '77',
      customer: { id: 900, chatId: '77', createdAt: '2019-05-06T00:00:00.000+00:00' },
    });
    expect(await importOneOf('licenses', written)).toMatchObject({ outcome: 'unchanged' });
  });

  it('an import of a file names the ignored fields that hold something, each once', async () => {
    const item = {
      ...{ ...license, licenseKey: 'more', productIdString: '602', internalId: 1, empty: null },
      customer: { chatId: '5', passwordHash: 'secret', chatAccessToken: null, coins: 5 },
    };
    const { results, ignored } = await importForeign('licenses', [item, item]);
    expect(results.map(({ outcome }) => outcome)).toEqual(['created', 'unchanged']);
    expect(ignored).toEqual(['internalId', 'customer.passwordHash', 'customer.coins']);
  });

  it('an import of a file compares a license with the values that it would store', async () => {
    const { id, licenseKey } = await store({ notes: 'Paid' });
    const other = { ...license, licenseKey, licenseType: 'PERMANENT', ips: ['Unknown'], notes: '' };
    expect(await importOneOf('licenses', other)).toEqual({
      ...{ outcome: 'kept', id, reason: null },
      differences: ['licenseType', 'expiryDate', 'ips', 'notes'],
    });
  });
});

it('an import says which addresses share a slot, or are one address in two spellings [1.4.3, 3.94]', async () => {
  const ips = ['2001:db8:1:2::10', '198.51.100.7', '2001:DB8:1:2::11', '::ffff:198.51.100.7'];
  const kept = ['2001:db8:1:2::10', '198.51.100.7'];
  const shares = 'ips[2] "2001:DB8:1:2::11" shares the slot of ips[0]';
  const item = { ...license, licenseKey: crypto.randomUUID(), ips };
  const result = await importOne('licenses', item);
  expect(result).toMatchObject({
    ...{ outcome: 'created', differences: ['ips'] },
    reason: `${shares}; ips[3] "::ffff:198.51.100.7" shares the slot of ips[1]`,
  });
  const list = await readList('/api/v2/licenses');
  expect(list.find(({ id }) => id === result.id)).toMatchObject({ ips: kept });
  expect(await importOne('licenses', item)).toMatchObject({ outcome: 'unchanged' });
  const foreign = await importOneOf('licenses', { ...item, licenseKey: crypto.randomUUID() });
  expect(foreign).toMatchObject({ outcome: 'created', differences: ['ips'] });
  expect(foreign.reason).toBe(
    'ips[2] "2001:db8:1:2::11" shares the slot of ips[0]; ips[3] "::ffff:198.51.100.7" is the same as ips[1]',
  );
});

it.each([
  ['TRUE', '', true],
  [' false', '602', false],
  ['', '', true],
  [null, '602', false],
  ['wahr', '', true],
  ['Y', '', true],
  ['on', '', true],
  [1, '', true],
  ['1', '', true],
  ['no', '602', false],
  ['0', '602', false],
  ['FALSCH', '602', false],
  ['off', '602', false],
])(
  'an import of a file takes %j, as people and spreadsheets write it, for an entry with product %j [3.90]',
  async (isForAllProducts, productId, stored) => {
    const { id } = await importOneOf('blacklists', { ...entry, isForAllProducts, productId });
    const list = await readList('/api/v2/blacklists');
    expect(list.find((one) => one.id === id)).toMatchObject({ isForAllProducts: stored });
  },
);

it.each<
  [
    what: string,
    kind: keyof typeof EXAMPLES,
    fields: Fields,
    differences: string[],
    reasons: string[],
    shown: Fields,
  ]
>([
  [
    'addresses are canonical, and what no validation can send is left out',
    'licenses',
    {
      ips: [
        '::ffff:192.0.2.1',
        'Unknown',
        '64:ff9b::192.0.2.1',
        '2001:DB8:0::1',
        'localhost',
        '172.18.0.5',
      ],
      hwids: [' a ', '', 'x'.repeat(513), 'a', '\0'],
    },
    ['ips', 'hwids'],
    [
      'ips[1] "Unknown" must be an IP address',
      'ips[2] "64:ff9b::192.0.2.1" is the same as ips[0]',
      'ips[4] "localhost" must be an IP address',
      'ips[5] "172.18.0.5" is a private or reserved address and identifies no machine',
      'hwids[1] "" must not be empty',
      `hwids[2] "${'x'.repeat(40)}…" must be at most 512 bytes`,
      'hwids[4] "\\u0000" must not contain NUL or unpaired surrogates',
    ],
    { ips: ['192.0.2.1', '2001:db8::1'], hwids: ['a'] },
  ],
  [
    'more values than a license can have are left out',
    'licenses',
    { hwids: Array.from({ length: 1_002 }, (_, index) => `HW ${index}`) },
    ['hwids'],
    ['hwids must be at most 1000 in number'],
    { hwids: Array.from({ length: 1_000 }, (_, index) => `HW ${index}`) },
  ],
  [
    'limits above 1,000 are unlimited',
    'licenses',
    { maxIPs: 999_999, maxHWIDs: '1001' },
    ['maxIPs', 'maxHWIDs'],
    [
      'maxIPs 999999 is above 1000, and becomes -1',
      'maxHWIDs "1001" is above 1000, and becomes -1',
    ],
    { maxIPs: -1, maxHWIDs: -1 },
  ],
  [
    'defaults above 1,000 are unlimited',
    'products',
    { id: 77, defaultMaxIPs: 1e6 },
    ['defaultMaxIPs'],
    ['defaultMaxIPs 1000000 is above 1000, and becomes -1'],
    { defaultMaxIPs: -1 },
  ],
  [
    'a PERMANENT license has no expiryDate',
    'licenses',
    { licenseType: 'PERMANENT', expiresAfterDays: '30' },
    ['expiryDate', 'expiresAfterDays'],
    [
      'expiryDate "2099-12-31T23:59:59.000+00:00" does not apply to a PERMANENT license',
      'expiresAfterDays "30" does not apply to a PERMANENT license',
    ],
    { expiryDate: null, expiresAfterDays: null },
  ],
  [
    'an entry for all products has no product',
    'blacklists',
    { isForAllProducts: true, data: '203.0.113.1' },
    ['productId'],
    ['productId 602 does not apply to an entry for all products'],
    { isForAllProducts: true, productId: null },
  ],
])(
  'an import of a file changes what cannot be stored as it is, and names it: %s [1.4.3, 3.73]',
  async (...row) => {
    const [, kind, fields, differences, reasons, shown] = row;
    const own = kind === 'licenses' ? { licenseKey: crypto.randomUUID() } : {};
    const item = { ...EXAMPLES[kind], ...own, ...fields };
    const result = await importOneOf(kind, item);
    expect(result).toMatchObject({ outcome: 'created', differences, reason: reasons.join('; ') });
    const list = await readList(`/api/v2/${kind}`);
    expect(list.find(({ id }) => id === result.id)).toMatchObject(shown);
    expect(await importOneOf(kind, item)).toMatchObject({ outcome: 'unchanged', reason: null });
  },
);

it('an import of a file reads values of any type without a failure', async () => {
  const nasty = fc.oneof(
    fc.constantFrom('\0', '\uD800', '', ' ', '1e3', '-0', '9'.repeat(20), '٣', '9'.repeat(13)),
    fc.constantFrom(0, -1, 0.5, 1e308, 2 ** 53, true, null, [], {}, [null], [[]], ['\0'], [1]),
    fc.jsonValue({ maxDepth: 2 }),
  );
  for (const kind of ['products', 'licenses', 'blacklists'] as const) {
    const names = [...Object.keys(EXAMPLES[kind]), 'customer', 'hwids', '__proto__', 'constructor'];
    const member = fc.tuple(fc.constantFrom(...names), nasty);
    const items = fc.sample(fc.array(member, { minLength: 1, maxLength: 3 }), 60);
    const { results } = await importForeign(kind, [
      ...items.map((fields) => ({ ...EXAMPLES[kind], ...Object.fromEntries(fields) })),
      EXAMPLES[kind],
      'nonsense',
    ]);
    expect(results).toHaveLength(62);
    expect(results.at(-1)?.reason).toBe('must be an object');
  }
});
