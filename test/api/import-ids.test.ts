import type { ImportKind } from '@licet/contract/enums';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { settled } from '../support/app.ts';
import { create, get } from '../support/client.ts';
import { importForeign, importItems, importOne } from '../support/import.ts';
import { type Fields, readList } from '../support/resources.ts';
import { sampleOf } from '../support/sample.ts';

/** Ids that a spreadsheet rewrote, and people whom an import would join. */

beforeEach(async () => {
  await importOne('products', { id: 602, name: 'Chunk Guard', productType: 'GAME_JAVA_PLUGIN' });
});
afterEach(settled);

const licenseOf = (fields: Fields) => ({
  ...{ licenseKey: crypto.randomUUID(), productId: 602, licenseType: 'PERMANENT' },
  ...fields,
});

/** Each field of an import that holds an id, a key or a hardware ID. */
const ID_FIELDS: [field: string, kind: ImportKind, item: (value: string) => Fields][] = [
  ['licenseKey', 'licenses', (licenseKey) => licenseOf({ licenseKey })],
  ['ownerChatId', 'licenses', (ownerChatId) => licenseOf({ ownerChatId })],
  [
    'ownerPlatformId',
    'licenses',
    (ownerPlatformId) => licenseOf({ licensePlatform: 'MARKET_A', ownerPlatformId }),
  ],
  ['hwids[0]', 'licenses', (hwid) => licenseOf({ hwids: [hwid] })],
  ['customer.chatId', 'licenses', (chatId) => licenseOf({ customer: { chatId } })],
  ['customer.marketBId', 'licenses', (marketBId) => licenseOf({ customer: { marketBId } })],
  ['chatId', 'customers', (chatId) => ({ chatId })],
  ['platformAId', 'customers', (platformAId) => ({ platformAId })],
  ['platformBId', 'customers', (platformBId) => ({ platformBId })],
  ['platformCId', 'customers', (platformCId) => ({ platformCId })],
  ['marketAId', 'customers', (marketAId) => ({ marketAId })],
  ['marketBId', 'customers', (marketBId) => ({ marketBId })],
  ['roleId', 'products', (roleId) => ({ id: 7, name: 'A', productType: 'OTHER', roleId })],
  [
    'purchaseRoleId',
    'products',
    (purchaseRoleId) => ({ id: 7, name: 'A', productType: 'OTHER', purchaseRoleId }),
  ],
  [
    'data',
    'blacklists',
    (data) => ({ licenseDataType: 'HWID', data, isForAllProducts: true, reason: '' }),
  ],
];

const ROUNDED = ['2.91529E+17', '2,91529E+17', '2.91529e+017', '1.1e18', '3E+17', '2e17', '2.9E17'];
const NUMBERS = [
  '48213.0',
  '291529000000000000,00',
  '291.529.000.000.000.000',
  '291 529 000 000 000',
];
const ERRORS = [
  '#NUM!',
  '#REF!',
  '#N/A',
  '#NAME?',
  '#DIV/0!',
  '#WERT!',
  '#¡VALOR!',
  'Err:502',
  '####',
];

describe.each(ID_FIELDS)(
  'an import refuses %s as a spreadsheet rewrote it',
  (field, kind, item) => {
    it.each([
      ...sampleOf(ROUNDED, 3).map((value) => [
        value,
        'was rounded by a spreadsheet: format the column as text',
      ]),
      ...sampleOf(NUMBERS, 3).map((value) => [value, 'was rewritten as a number by a spreadsheet']),
      ...sampleOf(ERRORS, 4).map((value) => [value, 'is an error of a spreadsheet']),
    ])('an import refuses the value %s, as an item and in a file [3.84]', async (value, reason) => {
      const shown = field === 'licenseKey' ? field : `${field} ${JSON.stringify(value)}`;
      const refusal = { outcome: 'refused', reason: expect.stringContaining(`${shown} ${reason}`) };
      const isFound = await importItems(kind, [item(value), item(` ${value}\n`)]);
      expect(isFound.results).toMatchObject([refusal, { outcome: 'refused' }]);
      expect((await importForeign(kind, [item(value)])).results).toMatchObject([refusal]);
    });
  },
);

const OTHER_FORMS = [
  ...['2.91529×10^17', '2.91529 × 10¹⁷', "'2.91529E+17", '2,91529E+17', '=2.91529E17'],
  ...['="2.91529E+17"', '2,91529·10^17', '2.91529*10**17', '2.91529×1017', '２.９E＋１７'],
];

it.each(OTHER_FORMS)('an import refuses the id %s at each of its doors [3.84]', async (value) => {
  const refusal = {
    outcome: 'refused',
    reason: expect.stringContaining('was rounded by a spreadsheet: format the column as text'),
  };
  for (const fields of [{ ownerChatId: value }, { licenseKey: value }, { hwids: [value] }]) {
    const item = licenseOf(fields);
    expect(await importOne('licenses', item)).toMatchObject(refusal);
    expect((await importForeign('licenses', [item])).results).toMatchObject([refusal]);
  }
  expect(await importOne('customers', { chatId: value })).toMatchObject(refusal);
});

it.each([
  ...['12E4', '4C4C4544-0042-3510', '1E10A', 'E+17', '192.168.100.200', '1.2.3', '48213', '#GOLD'],
  ...["'48213", '=GOLD', '2x10', '4x10123', 'a×10^17', '10^17', '12×34'],
  ...['1E-05', 'ada#1234', '280497242714931202', '5e9f1b7c507e123456789012', '2026.11', '12.5'],
])('an import takes the id %s, which no spreadsheet has made [3.84]', async (value) => {
  const item = licenseOf({ licenseKey: value, hwids: [value], ownerChatId: value });
  const { outcome, reason } = await importOne('licenses', item);
  expect([outcome, reason]).toEqual(['created', null]);
});

it.each([
  ['ownerChatId', { ownerChatId: '291529000000000000' }, 'ownerChatId "291529000000000000"'],
  ['hwids', { hwids: ['a', '1234567890123000'] }, 'hwids[1] "1234567890123000"'],
  ['licenseKey', { licenseKey: '1234567890123000' }, 'licenseKey'],
  ['customer', { customer: { chatId: '2804972427149310000' } }, 'customer.chatId "28049'],
])(
  'an import reports 16 and more digits that end in 000: %s [3.84]',
  async (name, fields, shown) => {
    const item = licenseOf(fields);
    const created = await importOne('licenses', item);
    expect(created).toMatchObject({ outcome: 'created', differences: [name] });
    expect(created.reason).toContain(shown);
    expect(created.reason).toContain('ends in 000: compare it, a spreadsheet may have rounded it');
    expect(await importOne('licenses', item)).toMatchObject({ outcome: 'unchanged' });
  },
);

it('an import trims keys, and reports invisible characters in them [3.93]', async () => {
  const key = crypto.randomUUID();
  const trimmed = await importOne('licenses', licenseOf({ licenseKey: `\uFEFF ${key}\u00a0\r\n` }));
  expect(trimmed).toMatchObject({ outcome: 'created', differences: [], reason: null });
  expect((await get.license(trimmed.id ?? 0)).licenseKey).toBe(key);
  for (const [character, name] of [
    ['\u200b', 'U+200B'],
    ['\u00ad', 'U+00AD'],
    ['\ufeff', 'U+FEFF'],
    ['\u00a0', 'U+00A0'],
    ['\n', 'U+000A'],
    ['\u{e0041}', 'U+E0041'],
  ]) {
    const item = licenseOf({ licenseKey: `A${character}-${crypto.randomUUID()}` });
    const { outcome, differences, reason } = await importOne('licenses', item);
    expect([outcome, differences]).toEqual(['created', ['licenseKey']]);
    expect(reason).toBe(
      `licenseKey contains the invisible character ${name}: a customer cannot type it`,
    );
  }
});

describe('two e-mails with one account', () => {
  const OTHER = 'belongs to a customer with another e-mail: correct it, or edit the customer';
  /** The e-mails of a shop, with their accounts. */
  const accountsAt = async (shop: string): Promise<Fields> => {
    const list = await readList('/api/v2/customers');
    const own = list.filter(({ email }) => String(email).endsWith(shop));
    return Object.fromEntries(
      own.map(({ email, chatId, marketAId }) => [email, { chatId, marketAId }]),
    );
  };

  it.each(['chatId', 'marketAId'])(
    'an import of customers joins no two e-mails by one %s, and says so each time [3.85]',
    async (account) => {
      const shop = `${account.toLowerCase()}.example`;
      const items = ['a', 'b'].map((name) => ({ email: `${name}@${shop}`, [account]: '77' }));
      const { results } = await importItems('customers', items);
      expect(results).toMatchObject([
        { outcome: 'created', differences: [], reason: null },
        { outcome: 'created', differences: [account], reason: `${account} "77" ${OTHER}` },
      ]);
      const nothing = { chatId: null, marketAId: null };
      expect(await accountsAt(shop)).toEqual({
        [`a@${shop}`]: { ...nothing, [account]: '77' },
        [`b@${shop}`]: nothing,
      });
      const again = await importItems('customers', items);
      expect(again.results).toMatchObject([
        { outcome: 'unchanged' },
        { outcome: 'kept', differences: [account], reason: `${account} "77" ${OTHER}` },
      ]);
    },
  );

  it('an import of licenses joins no two e-mails by one account, and says so [3.85]', async () => {
    const items = ['a', 'b', 'a'].map((name) =>
      licenseOf({ customer: { email: `${name}@keys.example`, chatId: '78' } }),
    );
    const { results } = await importItems('licenses', items);
    expect(results).toMatchObject([
      { outcome: 'created', differences: [] },
      { outcome: 'created', differences: ['customer'], reason: `customer.chatId "78" ${OTHER}` },
      { outcome: 'created', differences: [] },
    ]);
    expect(await accountsAt('keys.example')).toMatchObject({
      'a@keys.example': { chatId: '78' },
      'b@keys.example': { chatId: null },
    });
    const owners = await Promise.all(results.map(({ id }) => get.license(id ?? 0)));
    expect(owners.map(({ customer }) => customer?.email)).toEqual(
      ['a', 'b', 'a'].map((name) => `${name}@keys.example`),
    );
  });

  it('an import of licenses gives one chat account no keys of two e-mails, also later [3.85]', async () => {
    const item = (name: string) =>
      licenseOf({ ownerChatId: '79', customer: { email: `${name}@chat.example` } });
    const said = {
      ...{ outcome: 'created', differences: ['ownerChatId'] },
      reason: `ownerChatId "79" ${OTHER}`,
    };
    const [first, second] = [item('a'), item('b')];
    const { results } = await importItems('licenses', [first, second, item('A')]);
    expect(results).toMatchObject([{ differences: [] }, said, { differences: [] }]);
    expect(await importOne('licenses', item('b'))).toMatchObject(said);
    expect(await importOne('licenses', first)).toMatchObject({ outcome: 'unchanged' });
    expect(await importOne('licenses', second)).toMatchObject({ outcome: 'kept' });
    const shown = await readList('/api/v2/licenses/by-chat-id/79');
    expect(shown.map(({ customer }) => customer)).toMatchObject([
      { email: 'a@chat.example' },
      { email: 'a@chat.example' },
    ]);
  });

  /** The accounts in the fields of a license, by the field that is left out. */
  const ACCOUNTS: [where: string, field: 'ownerChatId' | 'ownerPlatformId', fields: Fields][] = [
    ['the chat service', 'ownerChatId', {}],
    ...['PLATFORM_A', 'PLATFORM_B', 'PLATFORM_C', 'MARKET_A', 'MARKET_B', 'CHAT'].map(
      (licensePlatform): [string, 'ownerPlatformId', Fields] => [
        licensePlatform,
        'ownerPlatformId',
        { licensePlatform },
      ],
    ),
    [
      'a platform that is named',
      'ownerPlatformId',
      { licensePlatform: 'OTHER', licensePlatformOther: 'Woo' },
    ],
  ];
  /** The customers in which an account is found by itself. */
  const CUSTOMERS: [account: string, platform: string][] = [
    ['platformAId', 'PLATFORM_A'],
    ['platformCId', 'PLATFORM_C'],
    ['marketBId', 'MARKET_B'],
    ['chatId', 'CHAT'],
  ];

  it.each(ACCOUNTS)(
    'an import of licenses joins no two e-mails by one account at %s, and says so [3.85]',
    async (_, field, fields) => {
      const id = crypto.randomUUID();
      const shop = `${id}.example`;
      const item = (name: string) =>
        licenseOf({ ...fields, [field]: id, customer: { email: `${name}@${shop}` } });
      const said = {
        ...{ outcome: 'created', differences: [field] },
        reason: `${field} "${id}" ${OTHER}`,
      };
      const [first, second] = [item('a'), item('b')];
      const { results } = await importItems('licenses', [first, second, item('A')]);
      expect(results).toMatchObject([{ differences: [] }, said, { differences: [] }]);
      // Another request, as of another file.
      expect(await importOne('licenses', item('c'))).toMatchObject(said);
      expect((await importForeign('licenses', [item('d')])).results).toMatchObject([said]);
      expect(await importOne('licenses', item('a'))).toMatchObject({ differences: [] });
      expect(await importOne('licenses', first)).toMatchObject({ outcome: 'unchanged' });
      expect(await importOne('licenses', second)).toMatchObject({
        ...{ outcome: 'kept', differences: [field] },
      });
      const stored = await Promise.all(results.map(({ id: own }) => get.license(own ?? 0)));
      expect(stored.map((license) => [license.customer?.email, license[field]])).toEqual([
        [`a@${shop}`, id],
        [`b@${shop}`, ''],
        [`a@${shop}`, id],
      ]);
    },
  );

  it('an import gives the account of a stored license to no customer of another e-mail [3.85]', async () => {
    const id = crypto.randomUUID();
    const account = {
      ...{ licensePlatform: 'OTHER', licensePlatformOther: 'Woo' },
      ownerPlatformId: id,
    } as const;
    const second = `b@${id}.example`;
    await create.license({ productId: 602, ...account, customerEmail: `a@${id}.example` });
    const item = licenseOf({ ...account, customer: { email: second } });
    expect(await importOne('licenses', item)).toMatchObject({ differences: ['ownerPlatformId'] });
    const later = await create.license({ productId: 602, ...account });
    expect(later.customer?.email).not.toBe(second);
  });

  it('an account on another platform with the same id is another account [3.85]', async () => {
    const item = (licensePlatform: string, name: string) =>
      licenseOf({
        ...{ licensePlatform, ownerPlatformId: '4711' },
        customer: { email: `${name}@platforms.example` },
      });
    const items = [item('PLATFORM_A', 'a'), item('MARKET_A', 'b'), item('OTHER', 'c')];
    for (const one of items) {
      expect(await importOne('licenses', one)).toMatchObject({ differences: [] });
    }
  });

  it.each(CUSTOMERS)(
    'an import of licenses gives the %s of a customer no keys of another e-mail [3.85]',
    async (account, licensePlatform) => {
      const id = crypto.randomUUID();
      await importOne('customers', { email: `a@${id}.example`, [account]: id });
      const item = (name: string) =>
        licenseOf({
          ...{ licensePlatform, ownerPlatformId: id },
          customer: { email: `${name}@${id}.example` },
        });
      expect(await importOne('licenses', item('b'))).toMatchObject({
        ...{ outcome: 'created', differences: ['ownerPlatformId'] },
        reason: `ownerPlatformId "${id}" ${OTHER}`,
      });
      expect(await importOne('licenses', item('a'))).toMatchObject({ differences: [] });
    },
  );

  it('concurrent imports join no two e-mails by one account, and say so [3.85]', async () => {
    for (const accountOf of [
      (id: string) => ({ ownerChatId: id }),
      (id: string) => ({ licensePlatform: 'MARKET_A', ownerPlatformId: id }),
    ]) {
      const id = crypto.randomUUID();
      const imports = ['a', 'b', 'c'].map((name) =>
        importOne(
          'licenses',
          licenseOf({ ...accountOf(id), customer: { email: `${name}@${id}.example` } }),
        ),
      );
      const results = await Promise.all(imports);
      expect(results.filter(({ differences }) => differences.length === 0)).toHaveLength(1);
    }
  });

  it('an import of licenses gives a customer’s chat account no keys of another e-mail [3.85]', async () => {
    await importOne('customers', { email: 'c@chat.example', chatId: '80' });
    const item = (name: string) =>
      licenseOf({ ownerChatId: '80', customer: { email: `${name}@chat.example` } });
    expect(await importOne('licenses', item('d'))).toMatchObject({ differences: ['ownerChatId'] });
    expect(await importOne('licenses', item('c'))).toMatchObject({ differences: [] });
  });
});

it('an import reports a blocked hardware ID that many machines share, and stores it [3.80]', async () => {
  const entry = { licenseDataType: 'HWID', isForAllProducts: true, reason: '' };
  const { results } = await importItems('blacklists', [
    { ...entry, data: 'None' },
    { ...entry, data: 'board-77' },
  ]);
  expect(results).toMatchObject([
    {
      outcome: 'created',
      reason:
        'data "None" is one that many machines share: programs send it when their look-up fails',
    },
    { outcome: 'created', reason: null },
  ]);
});
