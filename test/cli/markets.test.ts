/** @module-tag long */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readRootToken } from '@licet/cli/root-token';
import type { Market } from '@licet/client';
import { MARKET_KINDS } from '@licet/contract/enums';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { listen, ownFolder } from '../node/own.ts';
import { type RunningService, startService } from '../node/service.ts';
import { type Ending, runHere } from './run-command.ts';

/** `licet markets` and `licet purchases`, beside a market that sends over HTTP. */

const folder = ownFolder();
let service: RunningService;
beforeAll(async () => {
  service = await startService(folder);
});
afterAll(() => service?.stop());

async function run(...args: string[]): Promise<Ending> {
  const ending = await runHere('licet', args, {
    LICET_URL: service.address,
    LICET_TOKEN: readRootToken(),
  });
  expect(ending.code, ending.stderr).toBe(0);
  return ending;
}

const SECRET = 'f3b9c2d1e0a45b6c7d8e9f00';

async function download(address: string, fields: Record<string, string>) {
  const form = { builtbybit: 'true', user_id: '540773', resource_id: '62494', secret: SECRET };
  const body = new URLSearchParams({ ...form, ...fields });
  const response = await fetch(address, { method: 'POST', body });
  return { status: response.status, text: await response.text() };
}

it('a market is created, mapped and tried, and its purchases are seen and granted, on the command line [9.3.14, 11.7]', async () => {
  const secrets = join(folder, 'secret.txt');
  writeFileSync(secrets, `${SECRET}\n`);
  const created = await run('markets', 'create', 'builtbybit', 'Bits', '--secrets', secrets);
  const address = created.stdout.trim();
  expect(address).toMatch(/^http:\/\/.*\/markets\/[\w-]{32}$/);
  const [, id = ''] = /Market (\d+) created/.exec(created.stderr) ?? [];
  const product = await run('products', 'create', 'Guard', '--type', 'OTHER', '--json');
  const productId = String(JSON.parse(product.stdout).id);

  expect((await download(address, {})).status).toBe(404);
  await run(
    'markets',
    'map',
    id,
    '62494',
    productId,
    '--ips',
    '2',
    '--entitlement',
    'edition=gold',
  );
  const { status, text } = await download(address, {});
  expect(status).toBe(200);
  expect((await download(address, {})).text).toBe(text);
  expect((await run('markets', 'list')).stdout).toMatch(
    new RegExp(`${id} +builtbybit +Bits +works +1 +1 +20`),
  );
  const gold = await run('licenses', 'list', '--entitlement', 'edition:gold', '--json');
  expect(JSON.parse(gold.stdout)).toMatchObject({ entitlements: { edition: 'gold' } });
  const arrived = await run('markets', 'deliveries', id);
  expect(arrived.stdout).toMatch(/placeholder +404 +needs you +No product is chosen for 62494/);
  expect(arrived.stdout).toMatch(/placeholder +200 +changed +Granted a license/);
  expect(arrived.stdout).not.toContain(SECRET);

  await download(address, { user_id: '7', resource_id: '99' });
  const waiting = await run('purchases', 'list', '--state', 'UNMATCHED', '--json');
  const purchase = JSON.parse(waiting.stdout);
  const granted = await run('purchases', 'grant', String(purchase.id), '--product', productId);
  expect(granted.stderr).toMatch(/has license \d+/);
  const license = await run('licenses', 'create', '--product', productId, '--json');
  const licenseId = String(JSON.parse(license.stdout).id);
  await run('purchases', 'add', id, '62494', '8', licenseId);
  expect((await run('purchases', 'list', '--find', '8')).stdout).toContain(licenseId);

  await download(address, { user_id: '7', resource_id: '98' });
  const unwanted = JSON.parse((await run('purchases', 'list', '--waiting', '--json')).stdout);
  await run('purchases', 'ignore', String(unwanted.id));
  expect((await run('purchases', 'list', '--waiting')).stdout).toBe('');
  expect((await run('purchases', 'list', '--ignored')).stdout).toMatch(/Bits +98 .* IGNORED /);
  const undone = await run('purchases', 'ignore', String(unwanted.id), '--undo');
  expect(undone.stderr).toContain('waits for a product again');
  const shown = await run('purchases', 'show', String(purchase.id));
  expect(shown.stdout).toMatch(/Market +Bits.*Item +99.*State +GRANTED.*Product +Guard/s);
  const sold = await runHere('licet', ['products', 'delete', productId], {
    LICET_URL: service.address,
    LICET_TOKEN: readRootToken(),
  });
  expect(sold.stderr).toContain('Product has licenses, cannot delete');

  const file = join(folder, 'purchases.jsonl');
  const line = {
    marketId: Number(id),
    item: '62494',
    reference: '9',
    licenseId: Number(licenseId),
  };
  const known = (await run('purchases', 'list', '--json')).stdout;
  writeFileSync(file, `${known}${JSON.stringify(line)}\n`);
  expect((await run('purchases', 'import', file)).stderr).toContain('1 entered, 3 known');
  expect((await run('purchases', 'import', file)).stderr).toContain('0 entered, 4 known');
  writeFileSync(file, JSON.stringify({ ...line, reference: '10', licenseId: 999_999 }));
  const environment = { LICET_URL: service.address, LICET_TOKEN: readRootToken() };
  const rejected = await runHere('licet', ['purchases', 'import', file], environment);
  expect(rejected.stderr).toContain('Line 1: licenseId 999999 does not exist');
  expect(rejected.code).toBe(1);
  writeFileSync(file, '{"marketId":1}');
  const unreadable = await runHere('licet', ['purchases', 'import', file], environment);
  expect(unreadable.stderr).toContain('Line 1: item');
  expect(unreadable.code).toBe(2);

  await run('markets', 'edit', id, '--off');
  expect((await download(address, {})).status).toBe(403);
  await run('markets', 'unmap', id, '62494');
  await run('markets', 'delete', id);
  expect((await download(address, {})).status).toBe(404);
});

it('purchases import takes its own list, lists and tables as they come [9.3.14]', async () => {
  const { stderr } = await run('markets', 'create', 'stripe', 'Stripe');
  const [, marketId = ''] = /Market (\d+) created/.exec(stderr) ?? [];
  const product = JSON.parse(
    (await run('products', 'create', 'Files', '--type', 'OTHER', '--json')).stdout,
  );
  const license = JSON.parse(
    (await run('licenses', 'create', '--product', String(product.id), '--json')).stdout,
  );
  const file = join(folder, 'purchases.txt');
  const importing = async (content: string | Buffer, ...args: string[]) => {
    writeFileSync(file, content);
    const environment = { LICET_URL: service.address, LICET_TOKEN: readRootToken() };
    return runHere('licet', ['purchases', 'import', file, ...args], environment);
  };
  const entered = { marketId: Number(marketId), item: 'gold', licenseId: license.id };
  const list = JSON.stringify([
    { ...entered, reference: 'list-1' },
    { ...entered, reference: 'list-2' },
  ]);
  expect((await importing(`\uFEFF${list}`)).stderr).toContain('2 entered, 0 known');
  const own = (await run('purchases', 'list', '--json', '--market', marketId)).stdout;
  expect((await importing(`\uFEFF${own.replaceAll('\n', '\r\n')}`)).stderr).toContain(
    'Purchases: 0 entered, 2 known, 0 refunded or without a license of their own, 0 rejected',
  );
  const ownTable = [Object.keys(JSON.parse(own.split('\n')[0] ?? '')).join()];
  for (const line of own.trim().split('\n')) ownTable.push(Object.values(JSON.parse(line)).join());
  expect((await importing(ownTable.join('\n'))).stderr).toContain('0 entered, 2 known');

  const table = `\uFEFFMARKET_ID;Item;Reference;licence key\r\n${marketId};gold;csv-1;${license.licenseKey.toLowerCase()}\r\n${marketId};gold;csv-2;\r\n`;
  const refused = await importing(table);
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringContaining('licence key (did you mean licenseKey?)'),
  ]);
  expect((await importing(table, '--map', 'licence key=licenseKey')).stderr).toContain(
    '1 entered, 0 known, 1 refunded or without a license',
  );

  const stripe =
    'id,Created date (UTC),Amount,Amount Refunded,Currency,Captured,Status,Description,Customer ID,Customer Email,PaymentIntent ID,license_key (metadata)\n' +
    `ch_1,2026-06-05 20:38:34,9.00,0.00,usd,true,Paid,,cus_1,ada@shop.example,pi_1,${license.licenseKey}\n` +
    `ch_2,2026-06-05 20:38:34,9.00,9.00,usd,true,Refunded,,cus_1,ada@shop.example,pi_2,${license.licenseKey}\n`;
  const args = ['--set', `marketId=${marketId}`, '--set', 'item=gold'];
  const paid = await importing(stripe, ...args);
  expect(paid.stderr).toContain('Line 3: state "Refunded": it is not entered');
  expect(paid.stderr).toContain('1 entered, 0 known, 1 refunded or without a license');
  const { stdout } = await run(
    'purchases',
    'list',
    '--find',
    'ch_1',
    '--json',
    '--market',
    marketId,
  );
  expect(JSON.parse(stdout)).toMatchObject({ order: 'pi_1', buyerId: 'cus_1', state: 'GRANTED' });

  const rounded = await importing(
    `marketId,item,reference,order,licenseId\n${marketId},gold,2.91529E+17,,${license.id}\n${marketId},gold,r-2,"#NUM!",${license.id}\n`,
  );
  expect(rounded.code).toBe(1);
  expect(rounded.stderr).toContain('Line 2: reference "2.91529E+17" was rounded by a spreadsheet');
  expect(rounded.stderr).toContain('Line 3: order "#NUM!" is an error of a spreadsheet');
  expect(rounded.stderr).toContain('2 purchases were rejected; see the reasons above');
  expect(rounded.stderr).not.toContain('✓');
  for (const id of [
    '2.91529×10^17',
    '2.91529 × 10¹⁷',
    "'2.91529E+17",
    '"2,91529E+17"',
    '=2.91529E17',
  ]) {
    const head = 'marketId,item,reference,buyerId,licenseId\n';
    const row = `${marketId},gold,${crypto.randomUUID()},${id},${license.id}\n`;
    const one = await importing(`${head}${row}`);
    expect([one.code, one.stderr]).toEqual([1, expect.stringContaining('1 purchase was rejected')]);
    expect(one.stderr).toContain('was rounded by a spreadsheet');
  }
  const partly = await importing(
    `marketId,item,reference,licenseId\n${marketId},gold,part-1,${license.id}\n${marketId},gold,part-2,999999\n`,
    '--json',
  );
  expect([partly.code, JSON.parse(partly.stdout)]).toEqual([
    1,
    { entered: 1, known: 0, left: 0, rejected: 1 },
  ]);
  for (const [content, message] of [
    [Buffer.from(`\uFEFF${table}`, 'utf16le'), 'not UTF-8'],
    ['[{"marketId":', 'not valid JSON'],
    ['marketId,item\n1,2,3\n', 'Line 2: 3 columns instead of 2'],
    [
      `marketId,item\n${marketId},gold\n`,
      'Line 2: reference is required, and each purchase has its own. Add --map HEADING=reference.',
    ],
  ] as const) {
    const wrong = await importing(content);
    expect(wrong.stderr).toContain(message);
    expect(wrong.code).not.toBe(0);
  }
  const none = await runHere('licet', ['purchases', 'import', `${file}.none`]);
  expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('.none does not exist.')]);
});

it('purchases import joins no two e-mails by one buyer [3.85]', { tags: 'short' }, async () => {
  const { stderr } = await run('markets', 'create', 'stripe', 'Two buyers');
  const [, marketId = ''] = /Market (\d+) created/.exec(stderr) ?? [];
  const product = await run('products', 'create', 'Two', '--type', 'OTHER', '--json');
  const { id: productId } = JSON.parse(product.stdout);
  const create = ['licenses', 'create', '--product', String(productId), '--json', '--email'];
  const emails = ['ada', 'bob'].map((name) => `${name}@${crypto.randomUUID()}.example`);
  const rows = ['marketId,item,reference,buyerId,licenseKey'];
  for (const [index, email] of emails.entries()) {
    const { licenseKey } = JSON.parse((await run(...create, email)).stdout);
    rows.push(`${marketId},gold,two-${index},cus_two,${licenseKey}`);
  }
  const file = join(folder, 'two.csv');
  writeFileSync(file, rows.join('\n'));
  expect((await run('purchases', 'import', file)).stderr).toContain('2 entered');
  for (const email of emails) {
    const found = await run('licenses', 'find', email, '--json');
    expect(JSON.parse(found.stdout)).toMatchObject({ ownerPlatformId: '', customer: { email } });
  }
});

it('a dynamic market takes the settings of a known shop', { tags: 'short' }, async () => {
  const { stderr } = await run('markets', 'create', 'dynamic', 'SellAuth', '--preset', 'sellauth');
  expect(stderr).toContain('created');
  expect((await run('markets', 'list')).stdout).toMatch(/dynamic +SellAuth +needs a secret/);
});

it('a shop without a preset takes its settings from a file', async () => {
  const file = join(folder, 'shop.json');
  writeFileSync(file, '{');
  const create = ['markets', 'create', 'dynamic', 'Shop', '--settings', file];
  const environment = { LICET_URL: service.address, LICET_TOKEN: readRootToken() };
  const wrong = await runHere('licet', create, environment);
  expect(wrong.stderr).toContain('shop.json is not JSON');
  const settings = { signature: { kind: 'secret', header: 'X-Key' }, item: 'product', line: 'id' };
  writeFileSync(file, JSON.stringify(settings));
  await run(...create);
  const find = async () => {
    const { stdout } = await run('markets', 'list', '--json');
    const markets = stdout
      .trim()
      .split('\n')
      .map((line): Market => JSON.parse(line));
    return markets.find(({ name }) => name === 'Shop');
  };
  expect(await find()).toMatchObject({ settings });
  writeFileSync(file, JSON.stringify({ ...settings, line: 'order+variant' }));
  await run('markets', 'edit', String((await find())?.id), '--settings', file);
  expect(await find()).toMatchObject({ settings: { line: 'order+variant' } });
});

it('the doctor sends samples of each market, which change nothing, and names what blocks them', async () => {
  const secrets = join(folder, 'doctor.txt');
  writeFileSync(secrets, 'the-secret-of-the-doctor');
  for (const kind of MARKET_KINDS) {
    const preset = kind === 'dynamic' ? ['--preset', 'sellauth'] : [];
    const created = await run('markets', 'create', kind, kind, '--secrets', secrets, ...preset);
    const address = created.stdout.trim();
    const ending = await runHere('doctor', ['--market', kind, address, '--secret', secrets]);
    expect(ending.stdout).toContain('✓ A request of the market, with the secret');
    expect(ending).toMatchObject({ code: 0 });
    expect(ending.stdout).toContain('All is well.');
    expect(ending.stdout).not.toContain(new URL(address).pathname);
    const wrong = await runHere('doctor', ['--market', kind, address.slice(0, -4)]);
    expect(wrong).toMatchObject({ code: 1 });
    expect(wrong.stdout).toContain('came    404');
  }
  const settings = join(folder, 'doctor.json');
  const other = { signature: { kind: 'hmac', header: 'X-Other' }, item: 'item', line: 'line' };
  writeFileSync(settings, JSON.stringify(other));
  for (const [given, shown] of [
    [['--preset', 'sellapp'], '✓ A request of the market, with the secret'],
    [['--preset', 'shoppex'], '✓ A request of the market, with the secret'],
    [['--settings', settings], 'the secret cannot be checked from here'],
  ] as const) {
    const create = ['markets', 'create', 'dynamic', 'Shop', '--secrets', secrets, ...given];
    const address = (await run(...create)).stdout.trim();
    const ending = await runHere('doctor', ['--market', 'dynamic', address, '--secret', secrets]);
    expect(ending.stdout).toContain(shown);
    expect(ending).toMatchObject({ code: 0 });
  }
  expect((await run('purchases', 'list', '--json')).stdout).not.toContain('doctor');
  const challenge = await listen((_, response) =>
    response.writeHead(403, { 'cf-mitigated': 'challenge' }).end('<html>'),
  );
  const blocked = await runHere('doctor', ['--market', 'stripe', `${challenge}/markets/abc`]);
  expect(blocked.stdout).toContain('"Bot Fight Mode": off');
  const usage = await runHere('doctor', ['--market', 'stripe', 'https://license.example.com']);
  expect(usage).toMatchObject({ code: 2 });
});

it.each([
  [
    'a redirect',
    302,
    { Location: 'https://login.example.com/' },
    '',
    '"Redirect Rules" and "Page Rules": leave out /markets/',
  ],
  [
    'an access gateway',
    200,
    { 'Content-Type': 'text/html' },
    '<html><title>Log in</title></html>',
    'log-in may respond on /markets/',
  ],
  ['a body limit', 413, {}, 'Request Entity Too Large', 'client_max_body_size of nginx'],
])(
  'the doctor names %s before a market, and what to change',
  async (_, status, headers, body, remedy) => {
    const url = await listen((_request, response) => response.writeHead(status, headers).end(body));
    const ending = await runHere('doctor', ['--market', 'tebex', `${url}/markets/abc`]);
    expect(ending.code).toBe(1);
    expect(ending.stdout).toContain(remedy);
  },
);
