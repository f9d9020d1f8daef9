import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readRootToken } from '@licet/cli/root-token';
import { Licet } from '@licet/client';
import { beforeAll, describe, expect, it } from 'vitest';
import { ownFolder } from '../node/own.ts';
import { sharedService } from '../node/shared-service.ts';
import { type Ending, runHere } from './run-command.ts';

/** Files of other services and of people, by `npm run import`, as they come. */

const folder = ownFolder();
const name = `Chunk Guard ${crypto.randomUUID()}`;
let address: string;
let productId: number;
const client = () => new Licet({ url: address, token: readRootToken() });

beforeAll(async () => {
  address = await sharedService();
  ({ id: productId } = await client().products.create({ name, productType: 'OTHER' }));
});

async function importFile(file: string, content: string, ...args: string[]): Promise<Ending> {
  const path = join(folder, file);
  writeFileSync(path, content);
  return runHere('import', ['--url', address, path, ...args], { LICET_TOKEN: readRootToken() });
}

async function imported(file: string, content: string, ...args: string[]): Promise<string> {
  const { code, output } = await importFile(file, content, ...args);
  expect(code, output).toBe(0);
  return output;
}

const licenseWith = (key: string) => client().licenses.findByKey(key);
const newKey = () => `F-${crypto.randomUUID()}`;

describe('presets', () => {
  it('a heading and a status that each table inherits are unknown ones', async () => {
    const file = (status: string) =>
      `license_key,valid_for,order_id,status,constructor\n${newKey()},,7,${status},x\n`;
    const set = ['--kind', 'licenses', '--set', `productId=${name}`, '--dry-run'];
    const { code, output } = await importFile('inherited.csv', file('constructor'), ...set);
    expect(code).not.toBe(0);
    expect(output).toContain('constructor');
    expect(output).not.toContain('native code');
  });

  it('a file of License Manager for WooCommerce is imported in one round [3.88]', async () => {
    const [sold, off, stock] = [newKey(), newKey(), newKey()];
    const output = await imported(
      'woo.csv',
      'id,order_id,product_id,user_id,license_key,expires_at,valid_for,status,times_activated,times_activated_max,created_at,created_by,updated_at,updated_by\n' +
        `1,7,88,3,${sold},"2031-01-31 10:00:00",365,SOLD,1,2,"2025-01-31 10:00:00",1,,\n` +
        `2,8,88,3,${off},,,INACTIVE,,,"2025-01-31 10:00:00",1,,\n` +
        `3,,88,,${stock},,30,ACTIVE,,,"2025-01-31 10:00:00",1,,\n`,
      ...['--kind', 'licenses', '--set', `productId=${name}`],
    );
    expect(output).toContain('is read as a file of License Manager for WooCommerce');
    expect(output).toContain('left out: id, order_id,');
    expect(await licenseWith(sold)).toMatchObject({
      ...{ productId, licenseType: 'TEMPORARY', licenseStatus: 'ACTIVE', maxHWIDs: 2 },
      ...{ expiryDate: '2031-01-31T10:00:00.000+00:00', ownerPlatformId: '3' },
      ...{ licensePlatform: 'OTHER', licensePlatformOther: 'WooCommerce' },
      createdDate: '2025-01-31T10:00:00.000+00:00',
    });
    expect(await licenseWith(off)).toMatchObject({
      ...{ licenseType: 'PERMANENT', licenseStatus: 'DEACTIVATED', maxHWIDs: -1 },
    });
    expect(await licenseWith(stock)).toMatchObject({
      ...{ licenseType: 'TEMPORARY', expiresAfterDays: 30, expiryDate: null, customer: null },
    });
  });

  it('a list of LicenseGate is imported in one round [3.88]', async () => {
    const [good, off, bound] = [newKey(), newKey(), newKey()];
    const license = {
      ...{ id: 4, active: true, userId: 1, licenseKey: good, name: 'Ada', notes: 'Paid' },
      ...{ ipLimit: 3, licenseScope: name, expirationDate: null, validationPoints: null },
      ...{ validationLimit: null, replenishAmount: null, replenishInterval: null, ip: null },
      ...{ ipBoundEnabled: false, createdAt: '2024-05-01T00:00:00.000Z' },
    };
    await imported(
      'gate.json',
      JSON.stringify([
        license,
        { ...license, licenseKey: off, active: false, ipLimit: null },
        { ...license, licenseKey: bound, ip: '198.51.100.7', ipBoundEnabled: true },
      ]),
      ...['--kind', 'licenses'],
    );
    expect(await licenseWith(good)).toMatchObject({
      ...{ productId, licenseType: 'PERMANENT', licenseStatus: 'ACTIVE', maxIPs: 3 },
      ...{ notes: 'Ada\nPaid', createdDate: '2024-05-01T00:00:00.000+00:00' },
    });
    expect(await licenseWith(off)).toMatchObject({ licenseStatus: 'DEACTIVATED', maxIPs: -1 });
    expect(await licenseWith(bound)).toMatchObject({ maxIPs: 1, ips: ['198.51.100.7'] });
    const [yes, no] = [newKey(), newKey()];
    const head = 'licenseKey,licenseScope,validationLimit,ipBoundEnabled,ip,expirationDate\n';
    const rows = `${yes},${name},,Yes,198.51.100.8,\n${no},${name},,n,198.51.100.9,\n`;
    await imported('gate.csv', `${head}${rows}`, '--kind', 'licenses');
    expect((await licenseWith(yes)).maxIPs).toBe(1);
    expect((await licenseWith(no)).maxIPs).not.toBe(1);
  });

  it('the list of Keygen’s interface is imported in one round, without a kind [3.88]', async () => {
    const [idle, suspended, banned] = [newKey(), newKey(), newKey()];
    const licenseOf = (key: string, attributes: object) => ({
      id: crypto.randomUUID(),
      type: 'licenses',
      attributes: {
        ...{ name: 'Ada', key, expiry: '2031-02-03T04:05:06.000Z', status: 'ACTIVE', uses: 0 },
        ...{ suspended: false, scheme: null, strict: true, floating: false, protected: true },
        ...{ version: null, maxMachines: 2, maxProcesses: null, maxCores: null, maxUses: null },
        ...{ requireCheckIn: false, lastValidated: null, metadata: { order: 'A-1' } },
        ...{ created: '2024-01-01T00:00:00Z', updated: '2024-02-01T00:00:00Z' },
        ...attributes,
      },
      relationships: {
        policy: { data: { type: 'policies', id: 'policy-1' } },
        user: { data: { type: 'users', id: 'user-1' } },
        machines: { links: { related: '/v1/machines' }, meta: { count: 1 } },
      },
      links: { self: '/v1/licenses/1' },
    });
    const data = [
      licenseOf(idle, { status: 'INACTIVE', maxMachines: null, expiry: null }),
      licenseOf(suspended, { suspended: true }),
      licenseOf(banned, { status: 'BANNED' }),
    ];
    const document = { data, links: { self: '/v1/licenses' }, meta: { pages: 1 } };
    const args = ['--set', `productId=${productId}`, '--map', 'metadata.order=notes'];
    await imported('keygen.json', JSON.stringify(document), ...args);
    expect(await licenseWith(idle)).toMatchObject({
      ...{ licenseType: 'PERMANENT', licenseStatus: 'ACTIVE', maxHWIDs: -1, notes: 'Ada\nA-1' },
      ...{ ownerPlatformId: 'user-1', createdDate: '2024-01-01T00:00:00.000+00:00' },
    });
    expect(await licenseWith(suspended)).toMatchObject({
      ...{ licenseType: 'TEMPORARY', licenseStatus: 'DEACTIVATED', maxHWIDs: 2 },
      expiryDate: '2031-02-03T04:05:06.000+00:00',
    });
    expect(await licenseWith(banned)).toMatchObject({ licenseStatus: 'DEACTIVATED' });
  });

  it('the subscriptions and customers of Stripe are imported in one round [3.88]', async () => {
    const [good, ended] = [newKey(), newKey()];
    const shop = `${crypto.randomUUID()}.example`;
    const head =
      'id,Customer ID,Customer Description,Customer Email,Plan,Quantity,Interval,Amount,Status,Created (UTC),' +
      'Start (UTC),Current Period Start (UTC),Current Period End (UTC),Trial End (UTC),Canceled At (UTC),license_key (metadata)\n';
    await imported(
      'stripe.csv',
      `${head}sub_1,cus_1,,ada@${shop},price_1,1,month,9.00,active,2025-01-02 03:04,,,2031-01-02 03:04,,2025-02-02 03:04,${good}\n` +
        `sub_2,cus_2,,bob@${shop},price_1,1,month,9.00,unpaid,2025-01-02 03:04,,,2031-01-02 03:04,,,${ended}\n`,
      ...['--kind', 'licenses', '--set', `productId=${productId}`],
    );
    expect(await licenseWith(good)).toMatchObject({
      ...{ licenseType: 'TEMPORARY', licenseStatus: 'ACTIVE' },
      ...{ expiryDate: '2031-01-02T03:04:00.000+00:00', customer: { email: `ada@${shop}` } },
    });
    expect(await licenseWith(ended)).toMatchObject({ licenseStatus: 'DEACTIVATED' });
    await imported(
      'stripe-customers.csv',
      `id,Description,Email,Name,Created (UTC),Delinquent,Total Spend\ncus_3,,eve@${shop},Eve,2025-01-02 03:04,false,9\n`,
      ...['--kind', 'customers'],
    );
    const [eve] = await client().customers.list({ q: `eve@${shop}` });
    expect(eve).toMatchObject({ firstName: 'Eve', createdAt: '2025-01-02T03:04:00.000+00:00' });
  });
});

describe('names', () => {
  it('headings are read without regard to case, blanks and signs [3.86]', async () => {
    const key = newKey();
    const email = `${crypto.randomUUID()}@shop.example`;
    await imported(
      'headings.csv',
      `LICENSE_KEY;Product ID;license-type;Max IPs;max_hw_ids;Customer E-Mail;NOTES\n${key};${productId};permanent;unlimited;3;${email};Hi\n`,
      ...['--kind', 'licenses'],
    );
    expect(await licenseWith(key)).toMatchObject({
      ...{ productId, licenseType: 'PERMANENT', maxIPs: -1, maxHWIDs: 3, notes: 'Hi' },
      customer: { email },
    });
  });

  it('an unknown file says in one round how its columns are chosen, and takes the choice [3.86]', async () => {
    const key = newKey();
    const content = `Key,Discord,Expires,Product,Suspended,Sales rep\n${key},280497242714931202,2031/12/31,${name},no,Bob\n`;
    const { code, output } = await importFile('own.csv', content, '--kind', 'licenses');
    expect(code).toBe(1);
    const options =
      '--map "Key=licenseKey" --map "Discord=ownerChatId" --map "Expires=expiryDate" --map "Product=productId" ' +
      '--map "Suspended=licenseStatus" --map "Sales rep="';
    expect(output).toContain(options);
    expect(output).not.toContain('No column has');
    const args = [...options.matchAll(/--map|"(.*?)"/g)].map(([word, text]) => text ?? word);
    await imported('own.csv', content, '--kind', 'licenses', ...args);
    expect(await licenseWith(key)).toMatchObject({
      ...{ productId, licenseType: 'TEMPORARY', licenseStatus: 'ACTIVE' },
      ...{ ownerChatId: '280497242714931202', expiryDate: '2031-12-31T23:59:59.000+00:00' },
    });
  });

  it.each([
    ['--map', 'Kee=licenseKey', 'has no Kee. It has Key'],
    ['--map', 'Key=licenceKey', 'licenceKey is no field of licenses. Did you mean licenseKey?'],
    ['--set', 'product=1', 'product is no field of licenses. Did you mean productId?'],
    ['--set', 'productId', '--set is productId. Put = between'],
  ])('%s %s is rejected before the first row [3.86]', async (option, value, message) => {
    const content = `Key,productId,licenseType\n${newKey()},${productId},PERMANENT\n`;
    const args = ['--kind', 'licenses', option, value];
    const { code, output } = await importFile('wrong.csv', content, ...args);
    expect([code, output]).toEqual([2, expect.stringContaining(message)]);
  });

  it('two columns for one field, and a file without a required one, are rejected [3.86]', async () => {
    const twice = `licenseKey,License Key,productId\n${newKey()},${newKey()},1\n`;
    const { output } = await importFile('twice.csv', twice, '--kind', 'licenses');
    expect(output).toContain(
      'licenseKey and License Key are both licenseKey: add --map "License Key="',
    );
    const without = await importFile('none.csv', `licenseKey\n${newKey()}\n`, '--kind', 'licenses');
    expect(without.output).toContain('no column has productId: add --set productId=ID');
  });

  it('a product is known by its name, unless several have it [3.89]', async () => {
    const key = newKey();
    const double = `Double ${crypto.randomUUID()}`;
    const ids = [];
    for (let count = 0; count < 2; count++) {
      ids.push((await client().products.create({ name: double, productType: 'OTHER' })).id);
    }
    const row = (license: string, product: string) => `${license},${product},PERMANENT\n`;
    const { code, output } = await importFile(
      'names.csv',
      `licenseKey,productId,licenseType\n${row(key, ` ${name.toUpperCase()} `)}${row(newKey(), double)}${row(newKey(), 'Nothing')}`,
      ...['--kind', 'licenses'],
    );
    expect(code).toBe(1);
    expect(output).toContain(
      `productId "${double.slice(0, 40)}" is the name of products ${ids.join(' and ')}: use the id`,
    );
    expect(output).toContain('productId "Nothing" is the name of no product: create it, or use');
    expect(await licenseWith(key)).toMatchObject({ productId });
  });
});

describe('fields that decide', () => {
  it.each([
    ['active', false, 'licenseStatus'],
    ['status', 'off', 'licenseStatus'],
    ['licensestate', 'x', 'licenseStatus'],
    ['suspended', true, 'licenseStatus'],
    ['isRevoked', 1, 'licenseStatus'],
    ['banned', 'yes', 'licenseStatus'],
    ['revoked_at', '2025-01-01', 'licenseStatus'],
    ['locked', true, 'licenseStatus'],
    ['is_paused', true, 'licenseStatus'],
    ['terminatedAt', '2025-01-01', 'licenseStatus'],
    ['licenceStatus', 'DEACTIVATED', 'licenseStatus'],
    ['expirationDate', '2020-05-01T00:00:00Z', 'expiryDate'],
    ['expires', '2020-05-01', 'expiryDate'],
    ['valid_until', '2020-05-01', 'expiryDate'],
    ['expiryDat', '2020-05-01', 'expiryDate'],
    ['licenseExpiry', '2020-05-01', 'expiryDate'],
    ['subscription_end', '2020-05-01', 'expiryDate'],
    ['renewal_date', '2020-05-01', 'expiryDate'],
    ['maxMachines', 1, 'maxHWIDs'],
    ['seats', 1, 'maxHWIDs'],
    ['devices', 1, 'maxHWIDs'],
    ['usage_limit', 1, 'maxHWIDs'],
    ['ip_limit', 1, 'maxIPs'],
    ['discord_id', '280497242714931202', 'ownerChatId'],
    ['e-mail-address', 'ada@shop.example', 'customer.email'],
    ['user_id', 7, 'ownerPlatformId'],
    ['customer.mail', 'ada@shop.example', 'customer.email'],
  ])(
    'the name %s stops a file of either format before its first item [3.87]',
    async (field, value, meant) => {
      const key = newKey();
      const [outer, inner] = field.split('.');
      const license = { licenseKey: key, productId, licenseType: 'PERMANENT' };
      const item = { ...license, [outer ?? '']: inner === undefined ? value : { [inner]: value } };
      const list = await importFile('decides.json', JSON.stringify([item]), '--kind', 'licenses');
      const lines = `${JSON.stringify({ license: item })}\n{"end":{"licenses":1}}\n`;
      const exported = await importFile('decides.jsonl', lines);
      const table = `licenseKey,productId,licenseType,${field}\n${key},${productId},PERMANENT,${value}\n`;
      const csv = await importFile('decides.csv', table, '--kind', 'licenses');
      for (const { code, output } of [list, exported, csv]) {
        expect(code).toBe(1);
        expect(output).toContain(`${field} (did you mean ${meant}?)`);
        expect(output).toContain(`--map "${field}=${meant}"`);
        expect(output).toContain('Nothing was imported');
      }
      await expect(licenseWith(key)).rejects.toThrow();
    },
  );

  /** Names of WooCommerce's plugins, Keygen, Cryptlex, LicenseSpring, Lemon Squeezy, Gumroad and hand-made tables. */
  const DECIDING = {
    licenseStatus:
      'lic_status license_active is_enabled license__enabled disabled suspended revoked killed killed_at isBanned ' +
      'Refunded? Disputed? chargebacked deactivated_at subscription_cancelled_at key_status suspnded revokd disabeld ' +
      'canceld terminatd statsu License_Key_Enabled? Access_Revoked? is_expired blacklisted on_hold void',
    expiryDate:
      'expires_at expiresOn date_expiry expire_date exp_date expiration validity_period lifetime license_expires ' +
      'subscription_ended_at Subscription_End_Date expirey experation expiers exipres valid_untill expired_at ' +
      'expired_on license_expired_date expire_time end_time trial_ends_at next_payment_date',
    expiresAfterDays: 'validity daysLeft duration_days expires_in_days',
    maxHWIDs:
      'activation_limit activations_limit allowedActivations license__max_activations max_allowed_domains max_uses ' +
      'maxUses usage_limit maxDevices max_devises activation_limt seets hwid_locked',
    maxIPs: 'ip_limit ip_limts ip_locked',
    'customer.email':
      'client client_email user_email owner_email owner_mail Purchase_Email licensee costumer costumer_email emial',
    ownerPlatformId: 'userId client_id purchaser_id',
    ownerChatId: 'discord_id dicord_id',
  };
  const ORDINARY =
    'price quantity currency amount total subtotal tax vat_id fee discount coupon_code country city zip company order_id ' +
    'order_number order_item_id store_id seller_id sale_id product_name product_permalink variant_name sku user_name ' +
    'first_name phone language browser location user_agent card payment_method gateway key_short status_formatted ' +
    'instances_count test_mode times_activated activated_at activation_date last_used created_by source hash uses scheme ' +
    'strict version lastValidated policy metadata tags allowedDeactivations serverSyncInterval manual_reset_count txn_id ' +
    'customer_ip ip_country recurrence affiliate refunded_amount downloads exported_at feedback rating stats Purchase_ID ' +
    'Dispute_Won? description count';

  it('usual and near names that decide stop a file of any format, all at once [3.87]', async () => {
    const meant = Object.entries(DECIDING).flatMap(([field, names]) =>
      names.split(' ').map((own) => [own, field] as const),
    );
    expect(meant.length).toBeGreaterThan(60);
    const key = newKey();
    const license = { licenseKey: key, productId, licenseType: 'PERMANENT' };
    const item = { ...license, ...Object.fromEntries(meant.map(([own]) => [own, 'x'])) };
    const list = await importFile('all.json', JSON.stringify([item]), '--kind', 'licenses');
    const lines = `${JSON.stringify({ license: item })}\n{"end":{"licenses":1}}\n`;
    const exported = await importFile('all.jsonl', lines);
    const table = `${Object.keys(item).join()}\n${Object.values(item).join()}\n`;
    const csv = await importFile('all.csv', table, '--kind', 'licenses');
    for (const { code, output } of [list, exported, csv]) {
      expect([code, output]).toEqual([1, expect.stringContaining('Nothing was imported')]);
      const options = [...output.matchAll(/--map "([^"]*)=([^"=]*)"/g)];
      expect(options.map(([, own, field]) => [own, field])).toEqual(meant);
    }
    await expect(licenseWith(key)).rejects.toThrow();
  });

  it('ordinary names do not stop a list, and are reported [3.87]', { tags: 'long' }, async () => {
    const names = ORDINARY.split(' ');
    expect(names.length).toBeGreaterThan(60);
    // A report names at most 50 of a batch.
    for (const some of [names.slice(0, 40), names.slice(40)]) {
      const key = newKey();
      const item = {
        ...{ licenseKey: key, productId, licenseType: 'PERMANENT' },
        ...Object.fromEntries(some.map((own) => [own, 'x'])),
      };
      const report = join(folder, `${key}.jsonl`);
      const args = ['--kind', 'licenses', '--report', report];
      await imported('ordinary.json', JSON.stringify([item]), ...args);
      const reported = readFileSync(report, 'utf8').trim().split('\n');
      expect(reported.map((line) => JSON.parse(line).field)).toEqual(some);
      const lines = [JSON.stringify({ license: { ...item, licenseKey: newKey() } })];
      await imported('ordinary.jsonl', `${lines}\n{"end":{"licenses":1}}\n`);
    }
  });

  it.each(['json', 'csv'])(
    'usual names for notes and times are read without a question, from %s [3.87]',
    async (ending) => {
      const key = newKey();
      const item = {
        ...{ licenseKey: key, productId, licenseType: 'PERMANENT' },
        ...{ note: 'Paid', comment: 'by card', created: '2024-05-01T00:00:00Z' },
      };
      const table = `${Object.keys(item).join()}\n${Object.values(item).join()}\n`;
      const content = ending === 'json' ? JSON.stringify([item]) : table;
      await imported(`usual.${ending}`, content, '--kind', 'licenses');
      expect(await licenseWith(key)).toMatchObject({
        ...{ notes: 'Paid\nby card', createdDate: '2024-05-01T00:00:00.000+00:00' },
      });
    },
  );

  it('the lenient spelling of a field decides as the field itself [3.86]', async () => {
    const key = newKey();
    const item = {
      license_key: key,
      productid: productId,
      LicenseType: 'PERMANENT',
      licensestatus: 'Suspended',
    };
    await imported('spelling.json', JSON.stringify([item]), '--kind', 'licenses');
    expect(await licenseWith(key)).toMatchObject({ licenseStatus: 'DEACTIVATED' });
  });

  it.each([
    ['active', ['true', 'yes', '1', 'Y', 'wahr', 'on'], ['false', 'no', '0', 'n', 'FALSCH', 'off']],
    ['Suspended', ['false', 'no', '0', 'N', 'falsch', 'off'], ['true', 'yes', '1', 'y', 'WAHR']],
    ['license killed', ['no'], ['yes', '2025-01-01']],
    ['is locked', ['false', '0'], ['true', '2025-01-01']],
    [
      'status',
      ['Sold', 'delivered', 'past_due', 'Paid'],
      ['inactive', 'Refunded', 'banned', 'On hold'],
    ],
    ['revoked_at', ['NULL'], ['2025-01-01 10:00:00']],
  ])('the words of %s mean ACTIVE or DEACTIVATED [3.90]', async (heading, active, deactivated) => {
    const words = [...active, ...deactivated];
    const rows = words.map((word) => [newKey(), word] as const);
    const table = rows.map(([key, word]) => `${key},${productId},PERMANENT,${word}\n`).join('');
    const args = ['--kind', 'licenses', '--map', `${heading}=licenseStatus`];
    await imported('words.csv', `licenseKey,productId,licenseType,${heading}\n${table}`, ...args);
    const statuses = await Promise.all(
      rows.map(async ([key]) => (await licenseWith(key)).licenseStatus),
    );
    expect(statuses).toEqual([
      ...active.map(() => 'ACTIVE'),
      ...deactivated.map(() => 'DEACTIVATED'),
    ]);
  });

  it.each([
    ['', 'PERMANENT', null],
    ['never', 'PERMANENT', null],
    ['0000-00-00 00:00:00', 'PERMANENT', null],
    ['2031/2/3', 'TEMPORARY', '2031-02-03T23:59:59.000+00:00'],
    ['2031.02.03 04:05', 'TEMPORARY', '2031-02-03T04:05:00.000+00:00'],
    ['2031-02-03 04:05:06 UTC', 'TEMPORARY', '2031-02-03T04:05:06.000+00:00'],
    ['2031-02-03T04:05:06 GMT', 'TEMPORARY', '2031-02-03T04:05:06.000+00:00'],
    ['2031-02-03 04:05:06 +0200', 'TEMPORARY', '2031-02-03T02:05:06.000+00:00'],
    ['2031/02/03 04:05:06 -05:30', 'TEMPORARY', '2031-02-03T09:35:06.000+00:00'],
    ['3.2.2031 04:05 UTC', 'TEMPORARY', '2031-02-03T04:05:00.000+00:00'],
  ])('the type follows from the end %j of a file [3.91]', async (end, licenseType, expiryDate) => {
    const key = newKey();
    const table = `licenseKey,productId,expiryDate\n${key},${productId},${end}\n`;
    await imported('ends.csv', table, '--kind', 'licenses');
    expect(await licenseWith(key)).toMatchObject({ licenseType, expiryDate });
    const listed = newKey();
    const item = { licenseKey: listed, productId, expiryDate: end || null };
    await imported('ends.json', JSON.stringify([item]), '--kind', 'licenses');
    expect(await licenseWith(listed)).toMatchObject({ licenseType, expiryDate });
  });

  it('a file without an end says nothing of the type [3.91]', async () => {
    const table = `licenseKey,productId\n${newKey()},${productId}\n`;
    const { code, output } = await importFile('no-end.csv', table, '--kind', 'licenses');
    expect([code, output]).toEqual([1, expect.stringContaining('licenseType is required')]);
  });

  it.each(['NULL', '0', '-', 'undefined', 'N/A', 'guest'])(
    'two buyers whose account is %s stay two [3.92]',
    async (nobody) => {
      const rows = [newKey(), newKey()];
      const table = rows.map((key) => `${key},${productId},PERMANENT,${nobody}\n`).join('');
      const args = ['--kind', 'licenses'];
      await imported(
        'guests.csv',
        `licenseKey,productId,licenseType,ownerChatId\n${table}`,
        ...args,
      );
      for (const key of rows) {
        expect(await licenseWith(key)).toMatchObject({ ownerChatId: '', customer: null });
      }
    },
  );
});

it('ids that LibreOffice Calc has opened and saved are refused, each row with its reason [3.84]', async () => {
  const rows = [
    'licenseKey;productId;licenseType;ownerChatId;hwids;maxIPs;expiryDate;notes',
    `${newKey()};${productId};PERMANENT;2.91529123456789E+017;120000000000;2;;#DIV/0!`,
    `1.23456789012346E+020;${productId};PERMANENT;;100000;;;`,
    `#N/A;${productId};PERMANENT;;;;;`,
    `${newKey()};${productId};PERMANENT;;1.2E+010;;;`,
  ];
  const table = rows.join('\n');
  const { code, output } = await importFile('calc.csv', table, '--kind', 'licenses');
  expect(code).toBe(1);
  const rounded = 'was rounded by a spreadsheet: format the column as text';
  expect(output).toContain(`ownerChatId "2.91529123456789E+017" ${rounded}`);
  expect(output).toContain(`licenseKey ${rounded}`);
  expect(output).toContain('licenseKey is an error of a spreadsheet');
  expect(output).toContain(`hwids[0] "1.2E+010" ${rounded}`);
  expect(output).toMatch(/^licenses +0 +0 +0 +4$/m);
});

it.each(['2.91529×10^17', '2.91529 × 10¹⁷', "'2.91529E+17", '"2,91529E+17"', '=2.91529E17'])(
  'the id %s in a table is refused [3.84]',
  async (cell) => {
    const rows = ['licenseKey,productId,licenseType,ownerChatId'];
    rows.push(`${newKey()},${productId},PERMANENT,${cell}`);
    const { code, output } = await importFile('form.csv', rows.join('\n'), '--kind', 'licenses');
    expect(code).toBe(1);
    expect(output).toContain('was rounded by a spreadsheet: format the column as text');
  },
);

it('two e-mails with one account at a platform stay two customers, in one file and in two [3.85]', async () => {
  const [id, shop] = [crypto.randomUUID(), `${crypto.randomUUID()}.example`];
  const head = 'licenseKey,productId,licenseType,licensePlatform,ownerPlatformId,customer.email\n';
  const row = (buyer: string) =>
    `${newKey()},${productId},PERMANENT,MARKET_A,${id},${buyer}@${shop}\n`;
  const said = `ownerPlatformId "${id}" belongs to a customer with another e-mail`;
  const one = `${head}${row('ada')}${row('bob')}`;
  expect(await imported('buyers.csv', one, '--kind', 'licenses')).toContain(said);
  expect(await imported('more.csv', `${head}${row('eve')}`, '--kind', 'licenses')).toContain(said);
  const own = await client().licenses.byPlatform('MARKET_A', id).list();
  expect(own.map(({ customer }) => customer?.email)).toEqual([`ada@${shop}`]);
});

it('a CSV export of an earlier version, with the whole customer in a column, is read [3.86]', async () => {
  const key = newKey();
  const email = `${crypto.randomUUID()}@shop.example`;
  const table = `licenseKey,productId,licenseType,customer,customer.email\n${key},${productId},PERMANENT,[object Object],${email}\n`;
  await imported('earlier.csv', table, '--kind', 'licenses');
  expect(await licenseWith(key)).toMatchObject({ customer: { email } });
});

describe('metadata', () => {
  it('a table has a column for each name of metadata, and what cannot be stored is reported [3.98]', async () => {
    const [key, email] = [newKey(), `${crypto.randomUUID()}@shop.example`];
    const output = await imported(
      'metadata.csv',
      'licenseKey,productId,expiryDate,metadata.plan,metadata.a.b,metadata.my plan,metadata.empty,customer.email,customer.metadata.crm,Order No\n' +
        `${key},${productId},,"gold, 1",2,x,,${email},acct_7,4711\n`,
      ...['--kind', 'licenses', '--map', 'Order No=metadata.order', '--set', 'metadata.by=import'],
    );
    expect(await licenseWith(key)).toMatchObject({
      metadata: { 'a.b': '2', by: 'import', order: '4711', plan: 'gold, 1' },
      customer: { email, metadata: { crm: 'acct_7' } },
    });
    expect(output).toContain('metadata.my plan "x" must have a name of 1 to 40 letters');
    const again = await imported(
      'metadata.csv',
      `licenseKey,productId,metadata.plan,metadata.a.b,metadata.by,metadata.order\n${key},${productId},"gold, 1",2,import,4711\n`,
      ...['--kind', 'licenses', '--set', 'licenseType=PERMANENT'],
    );
    expect(again).toMatch(/^licenses +0 +1 +0 +0$/m);
  });

  it('metadata of a list becomes text, and what has none or is too long is left out [3.98]', async () => {
    const email = `${crypto.randomUUID()}@shop.example`;
    const many = Object.fromEntries(Array.from({ length: 18 }, (_, index) => [`n${index}`, index]));
    const metadata = {
      isVip: true,
      none: null,
      tags: ['a'],
      long: 'x'.repeat(501),
      ...many,
      z1: 'z',
    };
    const output = await imported(
      'metadata.json',
      JSON.stringify([{ email, metadata: { ...metadata, z2: 'z' } }]),
      ...['--kind', 'customers'],
    );
    const [customer] = await client().customers.list({ q: email });
    expect(customer?.metadata).toMatchObject({ isVip: 'true', n0: '0', z1: 'z' });
    expect(Object.keys(customer?.metadata ?? {})).toHaveLength(20);
    for (const part of [
      'metadata.tags must be a text',
      'metadata.long',
      'metadata.z2 "z" is beyond the first 20',
    ]) {
      expect(output).toContain(part);
    }
  });
});

describe('entitlements', () => {
  it('a table has entitlements and their ends in one cell each, and a second import finds them unchanged [11.6]', async () => {
    const key = newKey();
    const table = `licenseKey,productId,licenseType,entitlements,entitlementsExpire
${key},${name},PERMANENT,"pro; max_players = 100;!trial;build=""7"";tier=gold","tier=2099-01-31;pro=2098-01-01 12:00;trial=never"
`;
    await imported('entitlements.csv', table, '--kind', 'licenses');
    expect(await licenseWith(key)).toMatchObject({
      entitlements: { build: '7', max_players: 100, pro: true, tier: 'gold', trial: null },
      entitlementsExpire: {
        pro: '2098-01-01T12:00:00.000+00:00',
        tier: '2099-01-31T23:59:59.000+00:00',
      },
    });
    const again = await imported('entitlements.csv', table, '--kind', 'licenses');
    expect(again).toMatch(/^licenses +0 +1 +0 +0$/m);
  });

  it.each([
    ['Pro', 'entitlements.Pro true must have a name of 1 to 40 lower-case letters'],
    ['edition=dark gold', 'entitlements.edition "dark gold" must be true, an integer, or a text'],
    ['pro;pro=1', 'entitlements has a name twice'],
    ['=5', 'entitlements. 5 must have a name'],
  ])('a bad cell is rejected with its row and its field: %s', async (cell, message) => {
    const rows = `${newKey()},${productId},pro\n${newKey()},${productId},${cell}\n`;
    const file = `licenseKey,productId,entitlements\n${rows}`;
    const set = ['--kind', 'licenses', '--set', 'licenseType=PERMANENT'];
    const { code, output } = await importFile('bad-cell.csv', file, ...set);
    expect(code).toBe(1);
    expect(output).toMatch(/^licenses +1 +0 +0 +1$/m);
    expect(output).toContain('line 3');
    expect(output).toContain(message);
  });

  it('an end that is no time is rejected with its row and its name', async () => {
    const file = `licenseKey,productId,entitlementsExpire\n${newKey()},${productId},pro=soon\n`;
    const set = ['--kind', 'licenses', '--set', 'licenseType=PERMANENT'];
    const { code, output } = await importFile('bad-end.csv', file, ...set);
    expect(code).toBe(1);
    expect(output).toContain('entitlementsExpire.pro "soon"');
  });

  it('an export with entitlements is imported as it was', async () => {
    const product = { name: 'Entitled', productType: 'OTHER', checkAfterHours: 12 } as const;
    const defaults = { edition: 'silver', 'module.economy': true, max_players: -1 } as const;
    const { id } = await client().products.create({ ...product, entitlements: defaults });
    const made = await client().licenses.create({
      ...{ productId: id, licenseType: 'PERMANENT' },
      entitlements: { edition: null, tier: '7' },
      entitlementsExpire: { 'module.economy': '2099-12-31T00:00:00Z' },
    });
    const license = { ...made, licenseKey: newKey(), id: null };
    const lines = [{ license }, { end: { licenses: 1 } }].map((line) => JSON.stringify(line));
    await imported('entitled.jsonl', `${lines.join('\n')}\n`);
    const { entitlements, entitlementsExpire } = made;
    expect(await licenseWith(license.licenseKey)).toMatchObject({
      ...{ entitlements, entitlementsExpire },
      effectiveEntitlements: { max_players: -1, 'module.economy': true, tier: '7' },
    });
  });
});
