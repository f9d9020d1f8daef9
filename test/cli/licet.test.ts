/** @module-tag long */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createPublicKey } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { newProgram } from '@licet/cli/licet';
import { Follower } from '@licet/cli/licet/history';
import { collect, Output, shortHwid, Table } from '@licet/cli/licet/output';
import { readRootToken } from '@licet/cli/root-token';
import { type LicenseCreate, Licet } from '@licet/client';
import { DAY_MS } from '@licet/contract/durations';
import { timestamp } from '@licet/contract/time';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { logInAt } from '../node/log-in.ts';
import { listen, listenWith, ownFolder } from '../node/own.ts';
import { argsOfScript, type RunningService, startService } from '../node/service.ts';
import { recordsOf } from '../node/shop.ts';
import { canRun, hasTools, isInstalled } from '../node/tools.ts';
import {
  type Ending,
  type Environment,
  endingOf,
  killCommands,
  runHere,
  startCommand,
} from './run-command.ts';

/** `licet` against the service as `npm start` runs it. */

const folder = ownFolder();
let service: RunningService;
let licet: Licet;
let productId: number;
beforeAll(async () => {
  const labels = 'PLATFORM_LABELS:MARKET_A=SpigotMC';
  const zone = 'TIME_ZONE:Asia/Tokyo';
  service = await startService(folder, ['--var', labels, '--var', zone]);
  licet = new Licet({ url: service.address, token: readRootToken() });
  productId = Number((await run('products', 'create', 'Guard', '--type', 'OTHER')).stdout);
});
afterAll(() => service.stop());
afterAll(killCommands);

const start = (args: readonly string[], env: Environment = {}): ChildProcess =>
  startCommand('licet', args, { LICET_URL: service.address, ...env });

const runWith = (env: Environment, ...args: string[]): Promise<Ending> =>
  runHere('licet', args, { LICET_URL: service.address, ...env });

/** Runs a command that must succeed. */
async function run(...args: string[]): Promise<Ending> {
  const end = await runWith({}, ...args);
  expect(end.code, end.stderr).toBe(0);
  return end;
}

/** The objects of a command's JSON lines. */
async function objects(...args: string[]): Promise<Record<string, unknown>[]> {
  const { stdout } = await run('--json', ...args);
  return stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
}

/** The values of one field of these objects. */
const valuesOf = async (field: string, ...args: string[]): Promise<unknown[]> =>
  (await objects(...args)).map((object) => object[field]);

/** Runs a command that must fail with status 1. @returns the message */
async function fail(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runWith({}, ...args);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^✗ .+\n$/);
  return stderr;
}

const createLicense = (notes = '') =>
  licet.licenses.create({ productId, licenseType: 'PERMANENT', maxIPs: 1, notes });

const validate = (licenseKey: string, ip: string, others = {}) =>
  licet.validate({ licenseKey, productId, ip, ...others });

describe('licet products', () => {
  it('licet products creates and lists products', async () => {
    const created = await run('products', 'create', 'Shop', '--type', 'OTHER', '--max-ips', '-1');
    expect(created.stdout).toMatch(/^\d+\n$/);
    expect(created.stderr).toContain('Product "Shop" created');
    expect(await objects('products', 'list', 'shop')).toMatchObject([
      { id: Number(created.stdout), defaultMaxIPs: -1, defaultMaxHWIDs: 5 },
    ]);
    const { stdout } = await run('products', 'list');
    expect(stdout).toMatch(/^ID +NAME +TYPE .*\n\d+ +Guard +OTHER +5 .*\n\d+ +Shop +OTHER +∞ /);
  });
});

describe('licet keys', () => {
  it('licet keys lists the keys that npm start made, with the installations of each [1.8.25]', async () => {
    const keys = await objects('keys', 'list');
    const shown = await run('keys', 'list');
    expect(shown.stderr).toContain('LAST ASKED is brought up to date once a day.');
    expect(keys).toMatchObject([
      { kid: expect.stringMatching(/^es-/), alg: 'ES256', isDefault: true },
      { kid: expect.stringMatching(/^rs-/), alg: 'RS256', isDefault: false, installations: 0 },
    ]);
    const kid = String(keys[1]?.kid);
    const { licenseKey } = await createLicense();
    const response = await validate(licenseKey, '192.0.2.8', { nonce: 'n'.repeat(22), kid });
    expect(response.signed).toBeDefined();
    await vi.waitFor(async () => {
      expect((await objects('keys', 'list'))[1]).toMatchObject({ kid, installations: 1 });
    });
    expect(await valuesOf('kid', 'keys', 'list', '--unused-for', '90')).not.toContain(kid);
  });

  it('licet keys shows a key as PEM, as JWK and as the constant of the examples', async () => {
    const { keys } = await licet.signingKeys();
    for (const key of keys) {
      const show = async (as: string) => (await run('keys', 'show', key.kid, '--as', as)).stdout;
      expect(JSON.parse(await show('jwk'))).toEqual(key);
      const pem = createPublicKey(await show('pem')).export({ format: 'jwk' });
      expect(key).toMatchObject(pem);
      const constant = key.kty === 'EC' ? `${key.kid}:${key.x}.${key.y}` : `${key.kid}:${key.n}`;
      expect(await show('constant')).toBe(`${constant}\n`);
    }
    expect(await fail('keys', 'show', 'none')).toContain('no key with the kid none. It has es-');
  });

  it('licet keys makes a key in a new file for its owner, which the service takes', async () => {
    const file = join(folder, 'new-key.json');
    const { stdout, stderr } = await run('keys', 'create', 'RS256', file);
    const jwk = JSON.parse(readFileSync(file, 'utf8'));
    expect(stdout).toBe(`${jwk.kid}:${jwk.n}\n`);
    expect(stderr).not.toContain(jwk.d);
    expect(stderr).toMatch(
      /Keep it offline\. If the first key is lost, .* SIGNING_KEY_3 < .* signing-keys\.env/,
    );
    expect(statSync(file).mode & 0o077).toBe(0);
    expect(jwk).toMatchObject({ kty: 'RSA', e: 'AQAB' });
    const again = await runWith({}, 'keys', 'create', 'ES256', file);
    expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('exists') });
  });
});

describe('licet licenses slots', () => {
  it('licet licenses slots lists bound values with their last use, and --idle-slots finds none that are new', async () => {
    const { id, licenseKey } = await createLicense();
    expect((await run('licenses', 'slots', licenseKey)).stderr).toContain('No value is bound.');
    await licet.licenses.update(id, { ips: ['192.0.2.31'], hwids: ['HW-31'] });
    expect(await objects('licenses', 'slots', `id:${id}`)).toMatchObject([
      { type: 'IP', value: '192.0.2.31', idleDate: null },
      { type: 'HWID', value: 'HW-31', idleDate: null },
    ]);
    const { stdout } = await run('licenses', 'slots', licenseKey);
    expect(stdout).toMatch(/192\.0\.2\.31 .* never/);
    expect(await objects('licenses', 'list', '--idle-slots')).toEqual([]);
  });
});

describe('licet products edit and delete', () => {
  it('licet products edit and delete change and delete a product, found by its id or its name in any case', async () => {
    const { id } = await licet.products.create({ name: 'Brief', productType: 'OTHER' });
    const options =
      '--name Short --description Text --max-ips 3 --offline-days 7 --expires-after-days 30 --ip-idle-days 7 --hwid-idle-days 9 --self-rotate yes';
    const edited = await run('products', 'edit', 'brief', ...options.split(' '));
    expect(edited.stderr).toContain(`Product ${id} "Short" is changed.`);
    expect(await licet.products.get(id)).toMatchObject({
      ...{ name: 'Short', description: 'Text', defaultMaxIPs: 3, defaultMaxHWIDs: 5 },
      ...{ offlineDays: 7, defaultExpiresAfterDays: 30, ipIdleDays: 7, hwidIdleDays: 9 },
      selfRotate: true,
    });
    await run('products', 'edit', 'Short', '--expires-after-days', 'never');
    await run('products', 'edit', 'Short', '--ip-idle-days', 'never', '--self-rotate', 'no');
    expect(await licet.products.get(id)).toMatchObject({
      ...{ defaultExpiresAfterDays: null, ipIdleDays: null, hwidIdleDays: 9, selfRotate: false },
    });
    expect(await fail('products', 'delete', 'Brief')).toContain('name or the id Brief');
    await createLicense();
    expect(await fail('products', 'delete', 'Guard')).toContain('Product has licenses');
    await run('products', 'delete', `id:${id}`);
    expect(await fail('products', 'delete', String(id))).toContain('not found');
  });

  it('licet products edit and delete reject a name of several products', async () => {
    const twins = [];
    for (const name of ['Twin', 'TWIN']) {
      twins.push(await licet.products.create({ name, productType: 'OTHER' }));
    }
    const ids = twins.map(({ id }) => `id:${id}`).join(', ');
    expect(await fail('products', 'edit', 'twin', '--max-ips', '1')).toContain(
      `Give one of ${ids}.`,
    );
  });
});

describe('licet licenses', () => {
  it('licet licenses list filters by product, status, expiry, use and free slots', {
    tags: 'long',
  }, async () => {
    const product = await licet.products.create({ name: 'Listed', productType: 'OTHER' });
    const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
    const temporary = (expiryDate: string) => ({ licenseType: 'TEMPORARY', expiryDate }) as const;
    const fields: Record<string, Partial<LicenseCreate>> = {
      plain: {},
      endless: { maxIPs: -1, maxHWIDs: -1 },
      full: { maxIPs: 1, ips: ['192.0.2.1'] },
      closed: { maxHWIDs: 0 },
      soon: temporary(inDays(6)),
      later: temporary(inDays(8)),
      expired: temporary(inDays(-1)),
      deactivated: { licenseStatus: 'DEACTIVATED' },
      deleted: { licenseStatus: 'DELETED' },
    };
    for (const [notes, each] of Object.entries(fields)) {
      const license = { productId: product.id, licenseType: 'PERMANENT', notes, ...each } as const;
      const { licenseKey } = await licet.licenses.create(license);
      if (notes === 'plain') {
        await licet.validate({ licenseKey, productId: product.id, ip: '203.0.113.9' });
        await recordsOf(licet, licenseKey, 1);
      }
    }
    const all = Object.keys(fields).filter((notes) => notes !== 'deleted');
    const expected = [
      { args: [], notes: all },
      { args: ['--status', 'DELETED'], notes: ['deleted'] },
      { args: ['--status', 'DEACTIVATED'], notes: ['deactivated'] },
      { args: ['--expiring', '7'], notes: ['soon'] },
      { args: ['--expiring', '9', '--never-used'], notes: ['soon', 'later'] },
      { args: ['--never-used'], notes: all.filter((notes) => notes !== 'plain') },
      { args: ['--at-limit'], notes: ['full', 'closed'] },
      { args: ['--dormant', '1'], notes: [] },
      { args: ['--ip', '203.0.113.9'], notes: ['plain'] },
      { args: ['--ip', '203.0.113.0/29'], notes: [] },
      { args: ['--ip', '203.0.113.0/28', '--status', 'ACTIVE'], notes: ['plain'] },
    ];
    const list = ['licenses', 'list', '--product', 'listed'];
    for (const { args, notes } of expected) {
      expect(await valuesOf('notes', ...list, ...args), `${args}`).toEqual(notes);
    }
    const { stdout } = await run('licenses', 'list', '--product', String(product.id));
    expect(stdout).toContain(` ${product.id} Listed `);
    expect(await fail('licenses', 'list', '--ip', '203.0.113')).toContain('ip must be an');
  });

  it('licet licenses edit changes the given fields, and delete marks a license DELETED', async () => {
    const { id, licenseKey } = await createLicense('Before');
    const product = await licet.products.create({ name: 'Other', productType: 'OTHER' });
    const expected = [
      { args: ['--notes', '', '--max-ips', '-1'], fields: { notes: '', maxIPs: -1 } },
      { args: ['--expires', '2099-01-31'], fields: { licenseType: 'TEMPORARY' } },
      {
        args: ['--expires-after-days', '30'],
        fields: { licenseType: 'TEMPORARY', expiryDate: null, expiresAfterDays: 30 },
      },
      { args: ['--expires', 'never'], fields: { licenseType: 'PERMANENT', expiryDate: null } },
      { args: ['--chat-id', '77', '--product', 'Other'], fields: { productId: product.id } },
    ];
    for (const { args, fields } of expected) {
      const edited = await run('licenses', 'edit', licenseKey, ...args);
      expect(edited.stderr).toContain(`License ${id} is changed: ${licenseKey}`);
      expect(await licet.licenses.get(id), args.join(' ')).toMatchObject(fields);
    }
    expect(await licet.licenses.get(id)).toMatchObject({ maxIPs: -1, ownerChatId: '77' });
    const deleted = await run('licenses', 'delete', licenseKey);
    expect(deleted.stderr).toContain(`licenses activate ${licenseKey}`);
    expect(await licet.licenses.get(id)).toMatchObject({ licenseStatus: 'DELETED' });
  });

  it('a day alone in a file of an import is its end in the time zone of the service [3.81]', async () => {
    const key = crypto.randomUUID();
    const file = join(folder, 'days.csv');
    writeFileSync(file, `licenseKey,productId,expiryDate\n${key},${productId},31.01.2035\n`);
    const args = ['--url', service.address, file, '--kind', 'licenses'];
    const { code, output } = await runHere('import', args, { LICET_TOKEN: readRootToken() });
    expect(code, output).toBe(0);
    const { expiryDate } = await licet.licenses.findByKey(key);
    expect(expiryDate).toBe('2035-01-31T14:59:59.000+00:00');
  });

  it('a day alone is its end in the time zone of the service, and a list shows the time of any other end [3.81]', {
    tags: 'long',
  }, async () => {
    const create = ['licenses', 'create', '--product', String(productId), '--expires'];
    const today = new Date().toLocaleDateString('sv-SE', { timeZone: 'Asia/Tokyo' });
    for (const [date, listed] of [
      ['2031-06-26', '2031-06-26'],
      ['2031-06-26T23:59:59+09:00', '2031-06-26'],
      ['2031-06-26T23:59:59Z', '2031-06-27 08:59'],
      [today, today],
    ] as const) {
      const key = (await run(...create, date)).stdout.trim();
      expect((await run('licenses', 'find', key)).stdout, date).toMatch(
        new RegExp(` ACTIVE +${listed} +`),
      );
      await run('licenses', 'delete', key);
    }
  });

  it('licet licenses create --count creates several licenses, and --csv prints them for spreadsheets', async () => {
    const notes = ['--notes', 'Shop "A", 1'];
    const create = ['licenses', 'create', '--product', 'guard', ...notes, '--count'];
    const two = await run(...create, '2');
    expect(two.stderr).toContain('2 licenses created. Their keys:');
    expect(two.stdout).toMatch(/^([0-9A-Z-]{24}\n){2}$/);
    const csv = await run(...create, '2', '--csv');
    const [titles, first, second] = csv.stdout.split('\r\n');
    expect(titles).toBe(
      '\uFEFFlicenseKey,id,productId,licenseType,expiryDate,expiresAfterDays,maxIPs,maxHWIDs,notes',
    );
    for (const line of [first, second]) {
      expect(line).toMatch(/^[0-9A-Z-]{24},\d+,\d+,PERMANENT,,,5,5,"Shop ""A"", 1"$/);
    }
    const formula = ['--notes', '=1;=2', '--max-ips', '-1', '--csv'];
    const guarded = await run('licenses', 'create', '--product', 'guard', ...formula);
    expect(guarded.stdout).toMatch(/,PERMANENT,,,-1,5,"'=1;'=2"\r\n$/);
  });

  it('licet licenses create prints only the key to stdout', async () => {
    const create = ['licenses', 'create', '--product', String(productId)];
    const options =
      '--expires 2030-01-31 --max-ips 2 --chat-id 280497242714931202 ' +
      '--platform MARKET_A --platform-id 48213 --notes Sale';
    const created = await run(...create, ...options.split(' '));
    const license = await licet.licenses.findByKey(created.stdout.trim());
    expect(created.stdout).toBe(`${license.licenseKey}\n`);
    expect(license).toMatchObject({
      ...{ licenseType: 'TEMPORARY', expiryDate: '2030-01-31T14:59:59.000+00:00' },
      ...{ maxIPs: 2, maxHWIDs: 5, ownerChatId: '280497242714931202', notes: 'Sale' },
      ...{ licensePlatform: 'MARKET_A', ownerPlatformId: '48213' },
    });
    expect(await objects(...create)).toMatchObject([
      { licenseType: 'PERMANENT', expiryDate: null },
    ]);
  });

  it('licet licenses shows the label of a platform, and takes it for --platform, for its name [3.60]', async () => {
    const create = ['licenses', 'create', '--product', String(productId), '--platform-id', '77001'];
    const { stdout: key } = await run(...create, '--platform', 'spigotmc');
    const { licensePlatform, customer } = await licet.licenses.findByKey(key.trim());
    expect(licensePlatform).toBe('MARKET_A');
    expect((await run('licenses', 'show', key.trim())).stdout).toMatch(
      /^Platform +SpigotMC 77001$/m,
    );
    const shown = await run('customers', 'show', String(customer?.id));
    expect(shown.stdout).toMatch(/^SpigotMC +77001$/m);
    expect(await objects('licenses', 'show', key.trim())).toMatchObject([
      { licensePlatform: 'MARKET_A' },
    ]);
    expect(await fail(...create, '--platform', 'Spigot')).toContain(
      'No platform has the name or the label Spigot. Give one of PLATFORM_A, PLATFORM_B, ' +
        'PLATFORM_C, MARKET_A, MARKET_B, CHAT, OTHER, SpigotMC.',
    );
  });

  it('licet licenses find finds licenses by key, e-mail, chat id and text, each once', async () => {
    const { licenseKey, id, customer } = await licet.licenses.create({
      productId,
      licenseType: 'PERMANENT',
      ownerChatId: '280497242714931999',
      notes: 'Found by ada@shop.example',
    });
    await licet.customers.update(customer?.id ?? 0, { email: 'ada@shop.example' });
    const parts = ['280497242714931999', 'ADA@shop.example', 'found BY'];
    const texts = [licenseKey.toLowerCase(), ...parts];
    for (const text of texts) {
      expect(await objects('licenses', 'find', text), text).toMatchObject([{ id }]);
    }
    const { stdout } = await run('licenses', 'find', licenseKey);
    expect(stdout).toMatch(/^ID +KEY +STATUS .*NOTES\n/);
    expect(stdout.split('\n')[1]?.split(/ {2,}/)).toEqual([
      ...[String(id), licenseKey, 'ACTIVE', 'never', '0/5', '0/5', 'ada@shop.example'],
      ...[`${productId} Guard`, 'Found by ada@shop.example'],
    ]);
    await licet.licenses.delete(id);
    expect(await objects('licenses', 'find', licenseKey)).toMatchObject([{ id }]);
    expect(await objects('licenses', 'find', 'nothing of the kind')).toEqual([]);
  });

  it('licet licenses find stops at its limit, and says so', async () => {
    for (const note of ['one', 'two', 'three']) await createLicense(`Limited ${note}`);
    const two = await run('licenses', 'find', 'Limited', '--limit', '2', '--json');
    expect(two.stdout.trim().split('\n')).toHaveLength(2);
    expect(two.stderr).toContain('More than 2 licenses match.');
    const three = await run('licenses', 'find', 'Limited', '--limit', '3', '--json');
    expect(three.stderr).toBe('');
  });

  it('licet licenses find lists the licenses of a product by its whole name, each once', async () => {
    const product = await licet.products.create({ name: 'Castle Walls', productType: 'OTHER' });
    const notes = ['plain', 'for Castle Walls', 'more'];
    for (const each of notes) {
      const license = { productId: product.id, licenseType: 'PERMANENT', notes: each } as const;
      await licet.licenses.create(license);
    }
    expect(await valuesOf('notes', 'licenses', 'find', 'castle walls')).toEqual([
      'for Castle Walls',
      'plain',
      'more',
    ]);
    expect(await valuesOf('notes', 'licenses', 'find', 'castle wall')).toEqual([
      'for Castle Walls',
    ]);
    const shop = await licet.tokens.create({ name: 'Shop', intents: ['LICENSES_READ'] });
    const found = await runWith({ LICET_TOKEN: shop.token }, 'licenses', 'find', 'castle walls');
    await licet.tokens.delete(shop.id);
    expect(found).toMatchObject({ code: 0, stderr: '' });
    expect(found.stdout).toContain('for Castle Walls');
    expect(found.stdout).not.toContain('plain');
  });

  it.each([
    ['licenses', 'licenses list'],
    ['products', 'products list'],
    ['entries', 'blacklist list'],
  ])(
    'a list of %s is as long as --limit, and says that there are more: licet %s',
    async (many, list) => {
      const block = (data: string) =>
        licet.blacklists.create({ licenseDataType: 'HWID', data, isForAllProducts: true });
      const entries = [await block('listed-1'), await block('listed-2')];
      await createLicense();
      await createLicense();
      await licet.products.create({ name: 'One more', productType: 'OTHER' });
      const all = await objects(...list.split(' '));
      expect(all.length).toBeGreaterThan(1);
      const one = await run('--json', ...list.split(' '), '--limit', '1');
      expect(JSON.parse(one.stdout)).toEqual(all[0]);
      expect(one.stderr).toContain(`There are more than 1 ${many}. Raise --limit`);
      const exact = await run('--json', ...list.split(' '), '--limit', String(all.length));
      expect(exact.stdout.trim().split('\n')).toHaveLength(all.length);
      expect(exact.stderr).toBe('');
      for (const { id } of entries) await licet.blacklists.delete(id);
    },
  );

  it('licet licenses show prints all fields of a license, found by key or id', async () => {
    const license = await createLicense('To be shown');
    await validate(license.licenseKey, '192.0.2.1', { hwid: 'board-1' });
    const { stdout } = await run('licenses', 'show', license.licenseKey);
    expect(stdout).toMatch(/^Addresses +1 of 1: 192\.0\.2\.1$/m);
    expect(stdout).toMatch(/^Hardware IDs +1 of 5: board-1$/m);
    expect(stdout).toMatch(/^Notes +To be shown$/m);
    expect(stdout).not.toContain('Owner');
    expect(await objects('licenses', 'show', String(license.id))).toMatchObject([
      { licenseKey: license.licenseKey, ips: ['192.0.2.1'] },
    ]);
  });

  it('licet licenses free frees all slots of a license, or those of one kind', async () => {
    const { licenseKey, id } = await createLicense();
    await validate(licenseKey, '192.0.2.1', { hwid: 'board-1' });
    const ips = await run('licenses', 'free', licenseKey, '--ips');
    expect(ips.stderr).toContain(`Freed 1 address of ${licenseKey}.`);
    expect(await licet.licenses.get(id)).toMatchObject({ ips: [], hwids: ['board-1'] });
    await validate(licenseKey, '192.0.2.2', { hwid: 'board-2' });
    const all = await run('licenses', 'free', String(id));
    expect(all.stderr).toContain(`Freed 1 address and 2 hardware IDs of ${licenseKey}.`);
    expect(await licet.licenses.get(id)).toMatchObject({ ips: [], hwids: [] });
  });

  it('licet licenses rotate gives a new key, once it is confirmed, and find alone leads from the replaced one to it [7.3.4]', async () => {
    const { licenseKey, id } = await createLicense();
    const { code, stderr } = await runWith({}, 'licenses', 'rotate', licenseKey);
    expect(code).toBe(2);
    expect(stderr).toContain(
      `programs with ${licenseKey} would be rejected. Confirm it with --yes.`,
    );
    expect((await licet.licenses.get(id)).licenseKey).toBe(licenseKey);
    const { stdout } = await run('licenses', 'rotate', licenseKey, '--yes');
    const { licenseKey: newKey } = await licet.licenses.get(id);
    expect(newKey).not.toBe(licenseKey);
    expect(stdout).toBe(`${newKey}\n`);
    expect(await valuesOf('licenseKey', 'licenses', 'find', licenseKey)).toEqual([newKey]);
    for (const command of [['show'], ['free'], ['extend', '2099-01-01'], ['rotate', '--yes']]) {
      const [name = '', ...options] = command;
      expect(await fail('licenses', name, licenseKey, ...options), name).toContain(
        `No license has the key or the id ${licenseKey}. Find the license with licenses find`,
      );
    }
    expect((await licet.licenses.get(id)).licenseKey).toBe(newKey);
  });

  it('licet licenses transfer gives a license another owner and a new key, once it is confirmed [7.4.1]', async () => {
    const { licenseKey, id } = await createLicense();
    await validate(licenseKey, '192.0.2.1');
    const to = ['--email', 'heir@shop.example'];
    const { code, stderr } = await runWith({}, 'licenses', 'transfer', licenseKey, ...to);
    expect(code).toBe(2);
    expect(stderr).toContain('would belong to heir@shop.example and no longer to nobody.');
    const { stdout } = await run('licenses', 'transfer', licenseKey, ...to, '--yes');
    const given = await licet.licenses.get(id);
    expect(given).toMatchObject({ ips: [], customer: { email: 'heir@shop.example' } });
    expect(given.licenseKey).not.toBe(licenseKey);
    expect(stdout).toBe(`${given.licenseKey}\n`);
    for (const owner of [[], [...to, '--customer', '7']]) {
      const wrong = await runWith({}, 'licenses', 'transfer', String(id), ...owner, '--yes');
      expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('not both') });
    }
  });

  it('licet licenses deactivate, activate and extend change a license [2.3]', async () => {
    const { licenseKey, id } = await createLicense();
    expect(await objects('licenses', 'deactivate', licenseKey)).toMatchObject([
      { licenseStatus: 'DEACTIVATED' },
    ]);
    expect((await run('licenses', 'activate', licenseKey)).stderr).toContain('is ACTIVE');
    const extend = ['licenses', 'extend', licenseKey];
    expect(await fail(...extend, '2030-01-31')).toContain(`${licenseKey} is PERMANENT`);

    await licet.licenses.update(id, { licenseType: 'TEMPORARY', expiryDate: '2020-01-31' });
    expect((await run(...extend, '2099-01-31')).stderr).toContain('ACTIVE and expires 2099-01-31');
    const past = await run(...extend, '2020-01-31');
    expect(past.stderr).toContain('EXPIRED and expired 2020-01-31 23:59:59 (Asia/Tokyo).');
    expect(past.stderr).toContain('The date is in the past: the license is EXPIRED at once.');
    expect((await run(...extend, '2099-01-31')).stderr).not.toContain('EXPIRED');
    expect(await fail(...extend, 'tomorrow')).toContain('expiryDate must be');
    expect(await fail(...extend, '2099-02-30')).toContain('expiryDate must be a day that exists');

    await licet.licenses.delete(id);
    expect(await fail('licenses', 'deactivate', licenseKey)).toContain(
      `${licenseKey} is DELETED. Activate it first`,
    );
    expect(await licet.licenses.get(id)).toMatchObject({ licenseStatus: 'DELETED' });
  });

  it.each(['NO-SUCH-KEY', '4711', 'id:4711'])(
    'licet licenses show names a license that does not exist: %s',
    async (text) => {
      expect(await fail('licenses', 'show', text)).toContain(text);
    },
  );
});

describe('a number as an argument of licet', () => {
  it('a number is rejected where it is the key of one license and the id of another; id:… is the id', async () => {
    const other = await createLicense();
    // Keys of another service have any format.
    const id = other.id + 1;
    await licet.importItems({
      kind: 'licenses',
      items: [{ ...other, id, licenseKey: String(other.id) }],
    });
    const message = await fail('licenses', 'deactivate', String(other.id));
    expect(message).toContain(`Give id:${id} or id:${other.id}.`);
    await run('licenses', 'deactivate', `id:${other.id}`);
    expect(await licet.licenses.get(other.id)).toMatchObject({ licenseStatus: 'DEACTIVATED' });
    expect(await licet.licenses.get(id)).toMatchObject({ licenseStatus: 'ACTIVE' });
  });

  it('a number is rejected where it is the value of one blacklist entry and the id of another', async () => {
    const block = (data: string) =>
      licet.blacklists.create({ licenseDataType: 'HWID', data, isForAllProducts: true });
    const { id } = await block('board-6');
    const numbered = await block(String(id));
    const message = await fail('blacklist', 'remove', String(id));
    expect(message).toContain(`entry ${numbered.id} and the id of entry ${id}. Give`);
    const removed = await run('blacklist', 'remove', `id:${id}`);
    expect(removed.stderr).toContain('board-6 is no longer blocked');
    await run('blacklist', 'remove', String(id));
    expect(await licet.blacklists.list()).toEqual([]);
  });
});

it.each([
  [
    // Over in all zones.
    new Date(Date.now() - 2 * DAY_MS).toISOString().slice(0, 10),
    'Give a time in the future: an earlier one is expired at once.',
  ],
  ['2020-01-31T10:00:00+02:00', 'Give a time in the future: an earlier one is expired at once.'],
  ['2099-02-31', 'Give a date such as'],
  ['2099-01-31 10:00', 'Give a date such as'],
])('--expires %s of licet is a usage error [2.3]', async (date, next) => {
  for (const create of ['tokens create Late ALL_READ', `licenses create --product ${productId}`]) {
    const { code, stderr } = await runWith({}, ...create.split(' '), '--expires', date);
    expect(stderr).toContain(next);
    expect(code).toBe(2);
  }
});

describe('licet tokens', () => {
  it('licet tokens list marks expired tokens', async () => {
    const expiresAt = new Date(Date.now() + 1_000).toISOString();
    const { id } = await licet.tokens.create({ name: 'Brief', intents: ['ALL_READ'], expiresAt });
    const line = new RegExp(`^${id} +Brief +ALL_READ .* \\(expired\\) +never$`, 'm');
    await expect.poll(async () => (await run('tokens', 'list')).stdout).toMatch(line);
    await licet.tokens.delete(id);
  });

  it('licet tokens list shows the host of an assistant that got its token by consent [12.7.7]', async () => {
    const post = async (path: string, body: object): Promise<string> => {
      const response = await fetch(service.address + path, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', TOKEN: readRootToken() },
        body: JSON.stringify(body),
      });
      expect(response.ok).toBe(true);
      return response.text();
    };
    const redirect_uri = 'https://assistant.example/callback';
    const client = { client_name: 'Ada', redirect_uris: [redirect_uri] };
    const registered = await post('/oauth/register', client);
    const [, client_id = ''] = /"client_id":"([^"]+)"/.exec(registered) ?? [];
    const query = new URLSearchParams({
      ...{ client_id, redirect_uri, response_type: 'code' },
      ...{ code_challenge: 'c'.repeat(43), code_challenge_method: 'S256' },
    });
    await post('/oauth/consent', { query: `?${query}`, intents: ['LICENSES_READ'] });
    const { stdout } = await run('tokens', 'list');
    const [, id = ''] = /^(\d+) +Ada +assistant\.example +LICENSES_READ /m.exec(stdout) ?? [];
    expect(id, stdout).not.toBe('');
    await run('tokens', 'revoke', id);
  });

  it('licet tokens create prints only the secret to stdout; list and revoke manage the token', async () => {
    const create = ['tokens', 'create', 'Shop', 'PRODUCTS_READ', '--expires', '2099-01-31'];
    const { stdout, stderr } = await run(...create);
    const [, id = ''] = /^✓ Token (\d+) "Shop" created/.exec(stderr) ?? [];
    expect(stdout).toMatch(/^licet_[\w-]{43}\n$/);

    const env = { LICET_TOKEN: stdout.trim() };
    expect((await runWith(env, 'products', 'list')).code).toBe(0);
    expect(await runWith(env, 'licenses', 'find', 'x')).toMatchObject({
      ...{ code: 1, stdout: '' },
      stderr: expect.stringContaining('LICENSES_READ, LICENSES_READ_WRITE, ALL_READ, ALL_'),
    });
    // The file has precedence over the environment, and is relative to the folder where npm was called.
    writeFileSync(join(folder, 'token'), stdout);
    const fromFile = await runWith(
      { LICET_TOKEN: 'wrong', INIT_CWD: folder },
      ...['products', 'list', '--token-file', 'token'],
    );
    expect(fromFile.code).toBe(0);

    expect((await run('tokens', 'list')).stdout).toMatch(
      new RegExp(`^${id} +Shop +PRODUCTS_READ +2099-01-31 +20`, 'm'),
    );
    await run('tokens', 'revoke', id);
    expect((await run('tokens', 'list')).stdout).toBe('');
    expect(await runWith(env, 'products', 'list')).toMatchObject({
      ...{ code: 1, stdout: '' },
      stderr: expect.stringContaining('The token of LICET_TOKEN'),
    });
    await fail('tokens', 'revoke', id);
  });

  it('licet tokens list --used-since shows only tokens used since then', async () => {
    const { id, token } = await licet.tokens.create({ name: 'Used', intents: ['PRODUCTS_READ'] });
    const unused = await licet.tokens.create({ name: 'Unused', intents: ['ALL_READ'] });
    await runWith({ LICET_TOKEN: token }, 'products', 'list');
    const idsSince = async (when: string) => valuesOf('id', 'tokens', 'list', '--used-since', when);
    await expect.poll(() => idsSince('1h')).toEqual([id]);
    const usedAtMs = Date.parse((await licet.tokens.get(id)).lastUsedAt ?? '');
    const minutesLater = (minutes: number) => new Date(usedAtMs + minutes * 60_000).toISOString();
    // The last use is stored to within 5 minutes.
    expect(await idsSince(minutesLater(4))).toEqual([id]);
    expect(await idsSince(minutesLater(6))).toEqual([]);
    for (const each of [id, unused.id]) await licet.tokens.delete(each);
  });

  it('licet tokens list --limit shows the first tokens, also of those used since a time', async () => {
    const ids: number[] = [];
    for (const name of ['Unused', 'First', 'Second']) {
      const { id, token } = await licet.tokens.create({ name, intents: ['PRODUCTS_READ'] });
      ids.push(id);
      if (name !== 'Unused') await runWith({ LICET_TOKEN: token }, 'products', 'list');
    }
    const [unused, first, second] = ids;
    const used = ['tokens', 'list', '--used-since', '1h'];
    await expect.poll(() => valuesOf('id', ...used)).toEqual([first, second]);
    const one = await run(...used, '--limit', '1', '--json');
    expect(JSON.parse(one.stdout)).toMatchObject({ id: first });
    expect(one.stderr).toContain('There are more than 1 tokens. Raise --limit');
    const both = await run(...used, '--limit', '2', '--json');
    expect(both.stdout.trim().split('\n')).toHaveLength(2);
    expect(both.stderr).toBe('');
    expect(await valuesOf('id', 'tokens', 'list', '--limit', '2')).toEqual([unused, first]);
    for (const id of ids) await licet.tokens.delete(id);
  });

  it('licet tokens revoke-all revokes all tokens but the root token', async () => {
    await licet.tokens.create({ name: 'Shop', intents: ['ALL_READ'] });
    const own = await licet.tokens.create({ name: 'Own', intents: ['ALL_READ_WRITE'] });
    const { id } = await licet.tokens.create({ name: 'Panel', intents: ['ALL_READ'] });
    // A token that revoked itself cannot revoke the others.
    const revoke = ['tokens', 'revoke-all', '--yes'];
    const { code, stderr } = await runWith({ LICET_TOKEN: own.token }, ...revoke);
    expect(stderr).toContain(
      '2 of 3 tokens are revoked. Run the command again with the root token.',
    );
    expect(code).toBe(1);

    expect((await runWith({}, 'tokens', 'revoke-all')).code).toBe(2);
    expect(await licet.tokens.list()).toMatchObject([{ id }]);
    expect((await run(...revoke)).stderr).toContain('1 token is revoked. The root token stays.');
    expect((await run('tokens', 'list')).stderr).toContain('No tokens but the root token.');
  });
});

describe('licet customers', () => {
  const create = ['customers', 'create', '--email', 'Grace@shop.example', '--first-name', 'Grace'];

  it('licet customers creates, finds, shows and changes a customer', async () => {
    const created = await run(...create, '--last-name', 'Hopper', '--phone', '555-0100');
    expect(created.stdout).toMatch(/^\d+\n$/);
    const id = created.stdout.trim();
    for (const text of ['grace@', 'race hop', '0100']) {
      expect(await objects('customers', 'find', text), text).toMatchObject([{ id: Number(id) }]);
    }
    const found = await run('customers', 'find', 'grace@');
    expect(found.stdout.split('\n')[1]).toMatch(
      new RegExp(`^${id} +Grace@shop\\.example +Grace Hopper +20\\d\\d-`),
    );
    expect(await fail(...create)).toContain('belongs to another customer');

    const ofGrace = ['--product', `${productId}`, '--email', 'grace@SHOP.example'];
    const key = (await run('licenses', 'create', ...ofGrace)).stdout.trim();
    const shown = await run('customers', 'show', 'grace@shop.example');
    expect(shown.stdout).toMatch(/^Name +Grace Hopper$/m);
    expect(shown.stdout).toMatch(new RegExp(`^\\d+ +${key} +ACTIVE `, 'm'));
    expect(await objects('customers', 'show', id)).toMatchObject([
      { id: Number(id), licenses: [{ licenseKey: key }] },
    ]);
    expect(await objects('licenses', 'find', 'race@')).toMatchObject([{ licenseKey: key }]);
    expect(await run('licenses', 'edit', key, '--email', '')).toBeDefined();
    expect(await licet.licenses.findByKey(key)).toMatchObject({ customer: null });
    await run('licenses', 'edit', key, '--customer', id);
    expect(await licet.licenses.findByKey(key)).toMatchObject({ customer: { id: Number(id) } });

    await run('customers', 'edit', `id:${id}`, '--phone', '', '--username', 'amazing');
    expect(await licet.customers.get(Number(id))).toMatchObject({
      ...{ phoneNumber: null, username: 'amazing', lastName: 'Hopper' },
    });
  });

  it('licet sets, finds, shows and removes metadata', async () => {
    const id = (
      await run('customers', 'create', '--metadata', 'crm=a=1', '--metadata', 'b=2')
    ).stdout.trim();
    expect((await licet.customers.get(Number(id))).metadata).toEqual({ crm: 'a=1', b: '2' });
    await run('customers', 'edit', `id:${id}`, '--metadata', 'b=', '--metadata', 'c=3');
    expect((await run('customers', 'show', `id:${id}`)).stdout).toMatch(
      /^Metadata +c: 3, crm: a=1$/m,
    );
    expect(await objects('customers', 'find', 'a=1', '--metadata', 'crm=a=1')).toMatchObject([
      { id: Number(id) },
    ]);

    const made = ['licenses', 'create', '--product', `${productId}`, '--csv', '--count', '2'];
    const csv = (await run(...made, '--metadata', 'plan=gold, 1')).stdout.split('\r\n');
    expect(csv[0]).toMatch(/,notes,metadata\.plan$/);
    expect(csv[2]).toMatch(/,"gold, 1"$/);
    const key = csv[1]?.split(',')[0] ?? '';
    await run('licenses', 'edit', key, '--notes', 'Changed', '--metadata', 'order=4711');
    expect(await objects('licenses', 'list', '--metadata', 'order=4711')).toMatchObject([
      { licenseKey: key, notes: 'Changed', metadata: { plan: 'gold, 1', order: '4711' } },
    ]);
    for (const wrong of ['plan', '=gold', 'my plan=gold']) {
      const refused = await runWith({}, 'licenses', 'edit', key, '--metadata', wrong);
      expect(refused.code).toBe(2);
      expect(refused.stderr).toContain('such as plan=gold');
    }
  });

  it('licet sets, finds, shows, ends and takes away entitlements, and an edit changes the named ones only [11.6]', async () => {
    const ofProduct = ['--entitlement', 'edition=silver', '--entitlement', 'pro'];
    const made = ['products', 'create', 'Entitled', '--type', 'OTHER', '--check-after', '12'];
    const id = (await run(...made, ...ofProduct)).stdout.trim();
    await run('products', 'edit', id, '--no-entitlement', 'pro', '--entitlement', 'max_players=20');
    await run('products', 'edit', id, '--check-after', '6', '--entitlement', 'trial');
    await run('products', 'edit', id, '--entitlement', 'trial=');
    const shown = (await run('products', 'show', 'Entitled')).stdout;
    expect(shown).toMatch(/^Programs ask again +after 6 h$/m);
    expect(shown).toMatch(/^Entitlements +edition=silver, max_players=20$/m);

    const own = ['--entitlement', 'edition=gold', '--entitlement', 'pro', '--entitlement-end'];
    const created = ['licenses', 'create', '--product', id, ...own, 'pro=2099-01-31', '--csv'];
    const [headings = '', row = ''] = (await run(...created)).stdout.split('\r\n');
    expect(headings).toMatch(/,notes,entitlements,entitlementsExpire$/);
    expect(row).toMatch(/,"edition=gold;pro",pro=2099-01-31T14:59:59\.000\+00:00$/);
    const [key = ''] = row.split(',');
    const edit = (...args: string[]) => run('licenses', 'edit', key, ...args);
    await edit('--no-entitlement', 'max_players', '--entitlement', 'build="7"');
    // The end of the day in Tokyo.
    const pro = '2099-01-31T14:59:59.000+00:00';
    expect(await licet.licenses.findByKey(key)).toMatchObject({
      entitlements: { build: '7', edition: 'gold', max_players: null, pro: true },
      entitlementsExpire: { pro },
      effectiveEntitlements: { build: '7', edition: 'gold', pro: true },
    });
    const rows = (await run('licenses', 'show', key)).stdout;
    expect(rows).toMatch(/^Entitlements +build="7", edition=gold, pro$/m);
    expect(rows).toMatch(/^Own entitlements +build="7", edition=gold, !max_players, pro$/m);
    expect(rows).toMatch(/^Entitlements end +pro 2099-01-31 23:59:59 \(Asia\/Tokyo\)$/m);

    const found = (...wanted: string[]) =>
      valuesOf('licenseKey', 'licenses', 'list', '--entitlement', ...wanted);
    expect(await found('edition:gold')).toEqual([key]);
    expect(await found('edition=gold')).toEqual([key]);
    expect(await found('pro')).toEqual([key]);
    expect(await found('edition:silver')).toEqual([]);

    await edit('--entitlement-end', 'pro=never', '--entitlement-end', 'edition=2099-01-31');
    await edit('--entitlement', 'edition=', '--notes', 'Changed');
    await edit('--entitlement-end', 'build=2099-01-31');
    await edit('--no-entitlement', 'build');
    expect(await licet.licenses.findByKey(key)).toMatchObject({
      notes: 'Changed',
      entitlements: { build: null, max_players: null, pro: true },
      entitlementsExpire: {},
      effectiveEntitlements: { edition: 'silver', pro: true },
    });
  });

  it.each([
    ['--entitlement', 'Pro', 'lower-case letters'],
    ['--entitlement', '=gold', 'such as edition=gold'],
    ['--no-entitlement', 'edition=gold', 'Give a name'],
    ['--entitlement-end', 'pro', 'Give a date such as 2030-01-31'],
    ['--entitlement-end', 'pro=2001-01-01', 'Give a time in the future'],
  ])('licet rejects the entitlement %s %s', async (option, value, message) => {
    const refused = await runWith({}, 'licenses', 'edit', '1', option, value);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain(message);
  });

  it('licet reports the entitlement that the service rejects by its name', async () => {
    const made = ['licenses', 'create', '--product', `${productId}`, '--entitlement'];
    expect(await fail(...made, 'edition=dark gold')).toContain('entitlements.edition must be true');
    expect(await fail(...made, 'valid')).toContain('must not be named valid');
    const refused = await runWith({}, 'licenses', 'list', '--entitlement', 'edition:dark gold');
    expect(refused.stderr).toContain('such as edition:gold');
  });

  it('licet customers export writes all about a person to a new file or the output', async () => {
    const { id } = await licet.customers.create({ email: 'exported@shop.example' });
    const file = join(folder, 'exported.json');
    const written = await run('customers', 'export', 'exported@shop.example', file);
    expect(written.stderr).toContain(`All data about customer ${id} is in ${file}.`);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const exported = JSON.parse(readFileSync(file, 'utf8'));
    expect(exported).toMatchObject({ customer: { email: 'exported@shop.example' }, cut: [] });
    expect(exported).toEqual(await licet.customers.export(id));
    expect(await fail('customers', 'export', `id:${id}`, file)).toContain(
      `${file} exists, and no export is overwritten. Give the name of a new file.`,
    );
    expect(JSON.parse((await run('customers', 'export', `id:${id}`)).stdout)).toEqual(exported);
  });

  it('licet customers find stops at its limit, and says so', async () => {
    for (const name of ['one', 'two']) await licet.customers.create({ username: `Cut ${name}` });
    const one = await run('customers', 'find', 'cut', '--limit', '1', '--json');
    expect(one.stdout.trim().split('\n')).toHaveLength(1);
    expect(one.stderr).toContain('More than 1 customers match.');
  });

  it('licet customers forget takes an id or a complete e-mail, and erases the person with --yes alone', async () => {
    const { id } = await licet.customers.create({ email: 'alan@shop.example', firstName: 'Alan' });
    expect(await fail('customers', 'forget', 'alan@')).toContain('complete e-mail alan@.');
    expect(await fail('customers', 'forget', '4711')).toContain('4711');
    const unconfirmed = await runWith({}, 'customers', 'forget', 'ALAN@shop.example');
    expect(unconfirmed.code).toBe(2);
    expect(unconfirmed.stderr).toContain(
      `Customer ${id}, alan@shop.example, would be erased for good. Confirm it with --yes.`,
    );
    expect(await licet.customers.get(id)).toMatchObject({ firstName: 'Alan' });
    const forgotten = await run('customers', 'forget', 'ALAN@shop.example', '--yes');
    expect(forgotten.stderr).toContain(`Customer ${id} is forgotten.`);
    expect(await licet.customers.get(id)).toMatchObject({ email: null, firstName: null });
  });

  it('licet customers forget goes on until a long history is erased', {
    tags: 'long',
  }, async () => {
    const body = { message: 'send it again', accepted_intents: [] };
    let requests = 0;
    const address = await listen(({ method }, response) => {
      if (method !== 'DELETE') response.end(JSON.stringify({ id: 7 }));
      else if (++requests === 3) response.writeHead(204).end();
      else response.writeHead(409).end(JSON.stringify(body));
    });
    const forgotten = await runWith({ LICET_URL: address }, 'customers', 'forget', '7', '--yes');
    expect(forgotten).toMatchObject({
      ...{ code: 0, stderr: expect.stringContaining('Customer 7 is forgotten.') },
    });
    expect(requests).toBe(3);
  });
});

it('a token that may read no products lists licenses with the ids of their products', async () => {
  const { licenseKey } = await createLicense('Nameless');
  const { token } = await licet.tokens.create({ name: 'Shop', intents: ['LICENSES_READ'] });
  const command = ['licenses', 'list', '--product', `${productId}`];
  const listed = await runWith({ LICET_TOKEN: token }, ...command);
  // A busy machine also shows the progress.
  expect(listed.code, listed.stderr).toBe(0);
  expect(listed.stdout).toMatch(new RegExp(`^\\d+ +${licenseKey} .* ${productId} +Nameless$`, 'm'));
});

describe('licet blacklist', () => {
  it('licet blacklist blocks and unblocks addresses, ranges and hardware IDs', async () => {
    const product = ['--product', String(productId)];
    await run('blacklist', 'add', '2001:DB8::7', '--reason', 'Leaked keys');
    await run('blacklist', 'add', '198.51.100.0/24', ...product);
    await run('blacklist', 'add', '--hwid', 'board-9');
    expect((await run('blacklist', 'list')).stdout).toMatch(
      /^ID .*\n\d+ +IP +2001:db8::7 +all +Leaked keys .*\n\d+ +IP +198\.51\.100\.0\/24 +1 Guard .*\n\d+ +HWID +board-9 +all /,
    );
    expect(await objects('blacklist', 'list', 'leaked')).toMatchObject([{ data: '2001:db8::7' }]);
    const removed = await run('blacklist', 'remove', '2001:DB8::7');
    expect(removed.stderr).toContain('2001:db8::7 is no longer blocked for all products.');
    const [range] = await objects('blacklist', 'list', ...product);
    await run('blacklist', 'remove', String(range?.id));
    await run('blacklist', 'remove', 'board-9');
    expect(await run('blacklist', 'list')).toMatchObject({ stderr: 'The blacklist is empty.\n' });
  });

  it('licet blacklist add asks for --force before it blocks a hardware ID that many machines share, and lists mark it [3.80]', async () => {
    const add = ['blacklist', 'add', '--hwid', 'Default string'];
    const refused = await fail(...add);
    expect(refused).toContain(
      'Many machines share this hardware ID: it is a placeholder of the firmware.',
    );
    expect(refused).toContain('add --force');
    expect(await licet.blacklists.list()).toEqual([]);
    await run(...add, '--force');
    expect((await run('blacklist', 'list')).stdout).toContain('Default string (shared)');
    await run('blacklist', 'remove', 'Default string');
    const { id } = await licet.licenses.create({
      productId,
      licenseType: 'PERMANENT',
      hwids: ['None'],
    });
    expect((await run('licenses', 'show', `id:${id}`)).stdout).toContain('1 of 5: None (shared)');
    expect((await run('licenses', 'slots', `id:${id}`)).stdout).toContain('None (shared)');
  });

  it('licet blacklist remove rejects a value of several entries', async () => {
    await run('blacklist', 'add', '--hwid', 'board-8');
    await run('blacklist', 'add', '--hwid', 'board-8', '--product', String(productId));
    expect(await fail('blacklist', 'remove', 'board-8')).toMatch(/id:\d+, id:\d+\. Add --product/);
    expect(await fail('blacklist', 'remove', 'board')).toContain('or the id board');
    const one = await run('blacklist', 'remove', 'board-8', '--product', String(productId));
    expect(one.stderr).toContain(`for product ${productId}.`);
    await run('blacklist', 'remove', 'board-8');
    expect(await fail('blacklist', 'add', '192.0.2.300')).toContain('data must be');
  });
});

const tail = spawnSync('tail', ['--version'], { encoding: 'utf8' });
const hasGnuTail = canRun(
  Boolean(tail.stdout?.includes('GNU')),
  'GNU tail',
  'licet history --follow for a reader that ends',
);

describe('licet history', () => {
  it('licet history shows the validations of a filter, newest last', async () => {
    const { licenseKey } = await createLicense();
    const addresses = ['192.0.2.1', '192.0.2.2', '192.0.2.3'];
    for (const ip of addresses) await validate(licenseKey, ip);
    await recordsOf(licet, licenseKey, 3);
    const expected = [
      { args: [], ips: addresses },
      { args: ['--limit', '2'], ips: ['192.0.2.2', '192.0.2.3'] },
      { args: ['--refused', '--since', '1h'], ips: ['192.0.2.2', '192.0.2.3'] },
      { args: ['--ip', '192.0.2.2', '--product', String(productId)], ips: ['192.0.2.2'] },
      { args: ['--since', '2025-01-31'], ips: addresses },
      { args: ['--since', '2025-01-31T02:00+02'], ips: addresses },
      { args: ['--since', '999999d'], ips: addresses },
      { args: ['--since', '2099-01-31T12:00'], ips: [] },
    ];
    for (const { args, ips } of expected) {
      expect(await valuesOf('ip', 'history', '--key', licenseKey, ...args), `${args}`).toEqual(ips);
    }
    const { stdout } = await run('history', '--key', licenseKey);
    expect(stdout.split('\n').map((line) => line.split(/ {2,}/).slice(1, 4))).toEqual([
      ['RESULT', 'KEY', 'IP'],
      ['VALID', licenseKey, '192.0.2.1'],
      ['MAX_IPS_REACHED', licenseKey, '192.0.2.2'],
      ['MAX_IPS_REACHED', licenseKey, '192.0.2.3'],
      [],
    ]);
    const cut = await run('history', '--key', licenseKey, '--since', '1h', '--limit', '1');
    expect(cut.stderr).toContain('More than 1 validations match.');
  });

  it('licet history prints no control characters of validations', async () => {
    const hwid = 'red\u001b[31m\u009b1m\u202eback';
    await validate('HOSTILE-KEY', '192.0.2.1', { hwid });
    await recordsOf(licet, 'HOSTILE-KEY', 1);
    const { stdout } = await run('history', '--key', 'HOSTILE-KEY');
    expect(stdout).toContain('red\ufffd[31m\ufffd1m\ufffdback');
    const json = await run('history', '--key', 'HOSTILE-KEY', '--json');
    expect(json.stdout.trim()).not.toMatch(/\p{C}/u);
    expect(JSON.parse(json.stdout)).toMatchObject({ hwid });
  });

  describe('--follow', { tags: 'long' }, () => {
    /** A proxy that can fail. */
    let address: string;
    let isFailing = false;
    beforeAll(async () => {
      address = await listen(async (request, response) => {
        if (isFailing) {
          response.destroy();
          return;
        }
        const headers = { TOKEN: readRootToken() ?? '' };
        const original = await fetch(service.address + request.url, { headers });
        response.writeHead(original.status).end(await original.text());
      });
    });

    it('licet history --follow prints new validations once each, through a failure of the service, until Ctrl-C', async () => {
      const { licenseKey } = await createLicense();
      await validate(licenseKey, '192.0.2.1');
      await validate(licenseKey, '192.0.2.2');
      await recordsOf(licet, licenseKey, 2);
      const options = ['--follow', '--refused', '--key', licenseKey, '--json'];
      const child = start(['history', ...options], { LICET_URL: address });
      let stdout = '';
      let stderr = '';
      child.stdout?.on('data', (chunk) => (stdout += chunk));
      child.stderr?.on('data', (chunk) => (stderr += chunk));
      const shown = () =>
        stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line).ip]));
      const untilShown = (...ips: string[]) =>
        expect.poll(shown, { timeout: 60_000, interval: 20 }).toEqual(ips);
      await untilShown('192.0.2.2');

      await validate(licenseKey, '192.0.2.3');
      await untilShown('192.0.2.2', '192.0.2.3');

      isFailing = true;
      await validate(licenseKey, '192.0.2.4');
      await vi.waitFor(() => expect(stderr).toContain('Trying again'), { timeout: 60_000 });
      isFailing = false;
      await untilShown('192.0.2.2', '192.0.2.3', '192.0.2.4');
      expect(stderr.trim().split('\n')).toEqual([expect.stringContaining(address)]);

      child.kill('SIGINT');
      expect(await once(child, 'close')).toEqual([0, null]);
      expect(shown()).toHaveLength(3);
    });

    it.each([
      // GNU's tail notices it.
      ...(hasGnuTail ? [{ event: 'the end of its reader', isWritten: false }] : []),
      { event: 'a write that nobody reads', isWritten: true },
    ])('licet history --follow ends quietly at $event', async ({ isWritten }) => {
      const { licenseKey } = await createLicense();
      await validate(licenseKey, '192.0.2.1');
      await recordsOf(licet, licenseKey, 1);
      const command = ['history', '--follow', '--key', licenseKey, '--json'];
      if (isWritten) {
        const child = start(command);
        const ended = once(child, 'exit');
        let stderr = '';
        child.stderr?.on('data', (chunk) => (stderr += chunk));
        await once(child.stdout ?? child, 'data');
        child.stdout?.destroy();
        await validate(licenseKey, '192.0.2.2');
        expect(await ended).toEqual([0, null]);
        expect(stderr).toBe('');
        return;
      }
      const args = [process.execPath, ...argsOfScript('licet'), ...command];
      const child = spawn('bash', ['-c', 'set -o pipefail; "$@" | head -n 1', 'bash', ...args], {
        env: { ...process.env, LICET_URL: service.address, LICET_TOKEN: readRootToken() },
      });
      expect(await endingOf(child)).toMatchObject({ code: 0, stderr: '' });
    });

    it('licet history --follow ends when its token is revoked', async () => {
      const { token, id } = await licet.tokens.create({ name: 'A', intents: ['REQUESTS_READ'] });
      const child = start(['history', '--follow'], { LICET_TOKEN: token });
      const ended = endingOf(child);
      await once(child.stdout ?? child, 'data');
      await licet.tokens.delete(id);
      expect(await ended).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('is unknown, expired or revoked'),
      });
    });
  });

  it.each(['2026-11-20T00:01:38', '2026-11-20T02:01:38+02'])(
    'licet history --follow --since %s starts there in any time zone, and prints each record once',
    { tags: 'long' },
    async (from) => {
      vi.stubEnv('TZ', 'America/New_York');
      // The distance is long enough to forget the first record.
      const records = [
        { id: 2, requestDate: '2026-11-20T00:10:00.000+00:00' },
        { id: 1, requestDate: '2026-11-20T00:01:40.000+00:00' },
      ];
      const stub = new Licet({
        url: 'http://licet.test',
        fetch: async ({ url }) => {
          const asked = timestamp.parse(new URL(url).searchParams.get('from'));
          return Response.json(
            records.filter(({ requestDate }) => Date.parse(requestDate) >= asked),
          );
        },
      });
      const follower = new Follower(stub, { from });
      const look = async () =>
        (await follower.poll(AbortSignal.timeout(1_000))).map(({ id }) => id);
      expect([await look(), await look(), await look()]).toEqual([[1, 2], [], []]);
    },
  );

  it('licet history --follow prints records that are stored late, and none twice', async () => {
    const at = (second: number) => new Date(Date.UTC(2026, 10, 20) + second * 1_000).toISOString();
    const written: { id: number; requestDate: string }[] = [];
    const write = (second: number) => written.push({ id: second, requestDate: at(second) });
    const asked: (string | null)[] = [];
    const stub = new Licet({
      url: 'http://licet.test',
      fetch: async ({ url }) => {
        const from = new URL(url).searchParams.get('from');
        asked.push(from);
        const found = written.filter(({ requestDate }) => from === null || requestDate >= from);
        return Response.json(found.toSorted((one, other) => other.id - one.id));
      },
    });
    const follower = new Follower(stub, {});
    const { signal } = new AbortController();
    const look = async () => (await follower.poll(signal)).map(({ id }) => id);
    expect(await look()).toEqual([]);
    write(100);
    write(101);
    expect(await look()).toEqual([100, 101]);
    write(98);
    expect(await look()).toEqual([98]);
    write(60);
    write(102);
    expect(await look()).toEqual([102]);
    const later: number[] = [];
    for (let times = 0; times < 10; times++) later.push(...(await look()));
    expect(later).toEqual([60]);
    // Few polls go back that far.
    expect(asked.filter((from) => from === at(42))).toHaveLength(1);
    expect(asked.filter((from) => from === at(97))).toHaveLength(9);
  });
});

describe('licet events', () => {
  it('licet events shows the changes of a filter, newest last', async () => {
    const { id } = await createLicense();
    const { id: tokenId, token } = await licet.tokens.create({
      name: 'Support',
      intents: ['LICENSES_READ_WRITE'],
    });
    const support = { LICET_TOKEN: token };
    const edited = await runWith(support, 'licenses', 'edit', `id:${id}`, '--notes', 'Paid');
    expect(edited.code).toBe(0);
    const ofLicense = ['events', '--resource', 'license', '--id', String(id)];
    const expected = [
      { args: [], types: ['license.created', 'license.updated'] },
      { args: ['--limit', '1'], types: ['license.updated'] },
      { args: ['--type', 'license.created'], types: ['license.created'] },
      { args: ['--token', String(tokenId)], types: ['license.updated'] },
      { args: ['--since', '2099-01-31'], types: [] },
    ];
    for (const { args, types } of expected) {
      expect(await valuesOf('type', ...ofLicense, ...args), `${args}`).toEqual(types);
    }
    const { stdout } = await run(...ofLicense, '--limit', '1');
    expect(stdout.split('\n').map((line) => line.split(/ {2,}/).slice(1))).toEqual([
      ['EVENT', 'ID', 'BY', 'FROM', 'CHANGES'],
      ['license.updated', String(id), `${tokenId} Support`, expect.any(String), 'notes: → Paid'],
      [],
    ]);
    const cut = await run(...ofLicense, '--since', '1h', '--limit', '1');
    expect(cut.stderr).toContain('More than 1 events match.');
    const none = await run('events', '--resource', 'session', '--id', '1');
    expect(none).toMatchObject({ stdout: '', stderr: 'No events found.\n' });
    await licet.tokens.delete(tokenId);
  });
});

describe('an error of licet', () => {
  it.each<[command: string, env: Environment, code: number, message: string]>([
    ['tokens list', { LICET_URL: 'http://localhost:1' }, 1, ':1. Start the service'],
    ['tokens list', { LICET_URL: 'https://licet.invalid', LICET_TOKEN: 'a' }, 1, 'Check the add'],
    // Another machine must not get the local root token.
    ['tokens list', { LICET_URL: 'https://licet.invalid' }, 2, 'Set LICET_TOKEN, or name a file'],
    ['tokens list', { LICET_TOKEN: 'two words' }, 2, 'token is empty, or has'],
    ['--token-file none tokens list', {}, 2, 'The token file cannot be'],
    ['--url shop tokens list', {}, 2, 'is "shop". Give an address'],
    ['licenses find ..', {}, 0, 'No license found'],
    ['licenses', {}, 2, 'npm run licet -- licenses'],
    ['', {}, 2, 'npm run licet -- [options]'],
  ])('an error names its reason: licet %s with %j', async (command, env, code, message) => {
    const end = await runWith(env, ...command.split(' ').filter(Boolean));
    expect(end).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(message) });
    expect(end.stderr).not.toMatch(/^ +at |two words|outputHelp/m);
  });

  it.each([
    ['licenses show ..', 'Give a key or an id.'],
    ['license', 'Did you mean licenses?'],
    ['licenses create', '--product <product>'],
    ['tokens revoke x', "✗ Id is 'x'. Give an integer of at least 1."],
    ['licenses edit 1 --status EXPIRED', 'EXPIRED follows from the expiry date: licenses extend.'],
    ['licenses create --product 1 --status ACTIVE', 'licenses activate, deactivate or delete.'],
    ['keys create RS512 file', "✗ Algorithm is 'RS512'. Allowed choices are ES256, RS256."],
    ['tokens create A READ', 'READ is no intent. Use some of PRODUCTS_READ,'],
    [
      'tokens create A READ ALL_READ WRITE',
      'READ, WRITE are no intents. Use some of PRODUCTS_READ,',
    ],
    ['tokens list --used-since yesterday', 'Give a time ago such as 90s'],
    ['tokens revoke-all', 'Confirm it with --yes.'],
    ['licenses find ', '✗ Give a text to find. Add'],
    ['customers find ', '✗ Give a text to find. Add'],
    ['history --since yesterday', "--since <when> argument 'yesterday'"],
    ['history --since 2026-02-31', 'Give a time ago such as 90s,'],
    ['history --follow --since 2026-01-31T25:00', 'Give a time ago such as 90s,'],
    ['history --refuse', 'Did you mean --refused?'],
    ['events --id 50', 'Give --resource with --id'],
    ['events --type license.burnt', 'Allowed choices are product.created,'],
    ['tokens list all', 'Too many arguments'],
    ['licenses create --product 1 --count 501', 'Give an integer from 1 to 500.'],
    ['licenses create --product 1 --json --csv', 'not both.'],
    ['licenses edit 1', 'Nothing to change.'],
    ['customers edit 1', 'Nothing to change.'],
    ['customers create', 'Give a field of the customer.'],
    ['products edit 1', 'Nothing to change.'],
  ])('a wrong command of licet is a usage error with status 2: %s', async (command, message) => {
    const { code, stdout, stderr } = await runWith({}, ...command.split(' '));
    expect(stderr).toContain(message);
    expect(stderr).toMatch(/^✗ [A-Z].*[.?] Add --help to see what it takes\.\n$/);
    expect(stdout).toBe('');
    expect(code).toBe(2);
  });

  // test/node/client.test.ts has more of them.
  it.each([
    'products create A --type OTHER',
    'licenses deactivate A',
    'tokens revoke 3',
    'history',
  ])('licet names a server that is not Licet: %s', async (command) => {
    const address = await listenWith('{"status":"ok"}');
    expect(await runWith({ LICET_URL: address }, ...command.split(' '))).toMatchObject({
      ...{ code: 1, stdout: '' },
      stderr: expect.stringMatching(`^✗ ${address} .*200.*\n$`),
    });
  });
});

describe('the help of licet', () => {
  let shown = '';
  const program = newProgram(() => {
    throw new Error('opened');
  });
  const leavesOf = (command: CommandUnknownOpts): CommandUnknownOpts[] =>
    command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);

  const needsService = (command: CommandUnknownOpts) =>
    !['completion', 'help'].includes(command.name());

  it('the help of licet has valid examples for each command', async () => {
    const leaves = leavesOf(program).filter(needsService);
    expect(leaves.length).toBeGreaterThan(15);
    for (const leaf of leaves) {
      shown = '';
      leaf.configureOutput({ writeOut: (text) => (shown += text) }).outputHelp();
      const [, text = ''] = shown.split('Examples:\n');
      const examples = text.split('\n').filter((line) => line.startsWith('  npm run licet -- '));
      expect(examples, leaf.name()).not.toHaveLength(0);
      for (const example of examples) {
        const words = example.replace('  npm run licet -- ', '').match(/"[^"]*"|\S+/g) ?? [];
        const args = words.map((word) => word.replaceAll('"', ''));
        expect(args.join(' '), example).toContain(leaf.name());
        // The arguments are valid if the action runs, which opens a session.
        await expect(program.parseAsync(args, { from: 'user' }), example).rejects.toThrow('opened');
      }
    }
  });
});

describe('licet', () => {
  it('licet shows the help of a command with its required options, and its version', async () => {
    const help = await run('help', 'licenses', 'create');
    expect(help.stdout).toMatch(/^Usage: npm run licet -- licenses create /);
    expect(help.stdout).toMatch(/--product <product> .*\(required\)$/m);
    expect(await runWith({}, 'help', 'licenses', 'none')).toMatchObject({
      ...{ code: 2, stdout: '' },
      stderr: expect.stringContaining('Unknown command "licenses none".'),
    });
    expect((await run('--version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  for (const shell of ['bash', 'zsh']) {
    it.skipIf(!hasTools(`licet completion ${shell}`, shell))(
      `licet completion completes commands, options and values in ${shell}`,
      async () => {
        const file = join(folder, `completion.${shell}`);
        writeFileSync(file, (await run('completion', shell)).stdout);
        /** zsh itself leaves out the words that do not fit. */
        const wordsFor = (...words: string[]): string[] => {
          const script = `. ${file}
          choose() {
            ${shell === 'zsh' ? 'emulate -L sh' : ''}
            COMP_WORDS=("$@")
            COMP_CWORD=$(($# - 1))
            _licet
            printf '%s\\n' "\${COMPREPLY[@]}"
          }
          choose licet "$@"`;
          const { stdout } = spawnSync(shell, ['-c', script, shell, ...words], {
            encoding: 'utf8',
          });
          const last = words.at(-1) ?? '';
          return stdout.split('\n').filter((word) => word !== '' && word.startsWith(last));
        };
        expect(wordsFor('li')).toEqual(['licenses']);
        expect(wordsFor('--json', 'licenses', 'de')).toEqual(['delete', 'deactivate']);
        expect(wordsFor('licenses', 'list', '--st')).toEqual(['--status']);
        expect(wordsFor('licenses', 'list', '--status', 'D')).toEqual(['DEACTIVATED', 'DELETED']);
        expect(wordsFor('tokens', 'create', 'Shop', 'REQ')).toEqual(['REQUESTS_READ']);
        expect(wordsFor('help', 'licenses', 'cr')).toEqual(['create']);
      },
    );
  }

  it('licet shows the progress of a list after a second', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const shown: unknown[] = [];
    vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
      shown.push(text);
      return true;
    });
    async function* pages() {
      yield* [1, 2];
      vi.advanceTimersByTime(1_000);
      yield 3;
    }
    expect(await collect('items', pages())).toEqual([1, 2, 3]);
    expect(shown.join('')).toMatch(/^ {2}Reading items {2}3 {2}3\/s\n$/);
  });
});

describe('licet stats', () => {
  it('licet stats counts validations by outcome, licenses and versions', async () => {
    const product = await licet.products.create({ name: 'Counted', productType: 'OTHER' });
    const license = { productId: product.id, licenseType: 'PERMANENT', maxIPs: 1 } as const;
    const { licenseKey } = await licet.licenses.create(license);
    const ask = { licenseKey, productId: product.id, productVersion: '1.4.2' };
    await licet.validate({ ...ask, ip: '192.0.2.1' });
    await licet.validate({ ...ask, ip: '192.0.2.2' });
    await recordsOf(licet, licenseKey, 2);
    const { stdout } = await run('stats', '--by', 'day', '--product', 'counted', '--since', '1d');
    expect(stdout).toMatch(/\d{4}-\d\d-\d\d +2 +1 +MAX_IPS_REACHED 1\n/);
    expect(stdout).toContain('Licenses: 1 active, 0 deactivated, 0 expired, 0 expire');
    expect(stdout).toMatch(new RegExp(`${product.id} Counted +1 +2\n`));
    expect(stdout).toMatch(new RegExp(`${product.id} +1\\.4\\.2 +2\n`));
    const [statistics] = await objects('stats', '--product', 'counted');
    expect(statistics).toMatchObject({
      step: 'hour',
      licenses: { active: 1 },
      versions: [{ productVersion: '1.4.2', installations: 2 }],
    });
    expect(statistics?.series).toHaveLength(24);
  });

  it('licet stats names requests that are missing in the history [1.6.9, 1.6.10]', async () => {
    const [statistics] = await objects('stats');
    const gaps = [{ time: '2026-11-20T12:00:00.000+00:00', requests: 250 }];
    const LICET_URL = await listenWith(JSON.stringify({ ...statistics, gaps }));
    const { stdout } = await runWith({ LICET_URL, LICET_TOKEN: 'token' }, 'stats');
    expect(stdout).toContain(
      'Missing in the history: 250 validations, the latest in the hour from 2026-11-20 12:00',
    );
  });
});

describe('a table of licet', () => {
  const { columns, isTTY } = process.stdout;
  const setTerminal = (width: number | undefined, isTerminal: boolean) =>
    Object.assign(process.stdout, { columns: width, isTTY: isTerminal });
  afterAll(() => {
    Object.assign(process.stdout, { columns, isTTY });
  });

  const items = [
    { key: 'AAAA-BBBB', name: 'ada@shop.example', notes: 'Summer sale' },
    { key: 'CCCC', name: '漢字かな', notes: 'a\nb' },
  ];
  const linesAt = (width: number | undefined) => {
    setTerminal(width, width !== undefined);
    const table = new Table<(typeof items)[number]>(
      [
        { title: 'KEY', text: ({ key }) => key },
        { title: 'NAME', text: ({ name }) => name, isFlexible: true },
        { title: 'NOTES', text: ({ notes }) => notes, isFlexible: true },
      ],
      items,
    );
    return items.map((item) => table.line(item));
  };

  it('a table of licet has its full width in a pipe, and fits a terminal', () => {
    expect(linesAt(undefined)).toEqual([
      'AAAA-BBBB  ada@shop.example  Summer sale',
      'CCCC       漢字かな          a b',
    ]);
    expect(linesAt(36)).toEqual([
      'AAAA-BBBB  ada@shop.ex…  Summer sale',
      'CCCC       漢字かな      a b',
    ]);
    expect(linesAt(29)).toEqual(['AAAA-BBBB  ada@sho…  Summer …', 'CCCC       漢字かな  a b']);
    expect(linesAt(20)).toEqual(['AAAA-BBBB  ada@shop…', 'CCCC       漢字かな']);
    expect(linesAt(8)).toEqual(['AAAA-BBBB', 'CCCC']);
  });

  it.each([
    ['board-1', 'board-1'],
    ['4c4c4544-0051-3510-8053-b4c04f4e3132', '4c4c4544-005…f4e3132'],
  ])('a table of licet shortens a long hardware ID: %s', (hwid, text) => {
    expect(shortHwid(hwid)).toBe(text);
  });

  it('a table of licet has any number of rows, and is not made for JSON', () => {
    setTerminal(undefined, false);
    const many = Array.from({ length: 200_000 }, () => ({ key: 'A' }));
    const table = new Table<{ key: string }>([{ title: 'KEY', text: ({ key }) => key }], many);
    expect(table.line({ key: 'AAAA' })).toBe('AAAA');

    const lines: string[] = [];
    const log = vi.spyOn(console, 'log').mockImplementation((line) => lines.push(line));
    const text = () => {
      throw new Error('no table is asked for');
    };
    new Output(true).list([{ key: 'A' }], [{ title: 'KEY', text }], 'Nothing.');
    log.mockRestore();
    expect(lines).toEqual(['{"key":"A"}']);
  });

  const hasScript = canRun(
    process.platform === 'linux' && isInstalled('script'),
    'script of Linux',
    'the colours of licet on a terminal',
  );
  it.skipIf(!hasScript)('a licet table has colours on a terminal, not with NO_COLOR', async () => {
    await createLicense('Coloured');
    const onTerminal = async (env: Environment) => {
      const command = `${process.execPath} ${argsOfScript('licet').join(' ')} licenses find Coloured`;
      const child = spawn('script', ['-qec', command, '/dev/null'], {
        env: {
          ...process.env,
          TERM: 'xterm',
          CI: undefined,
          FORCE_COLOR: undefined,
          NO_COLOR: undefined,
          LICET_URL: service.address,
          LICET_TOKEN: undefined,
          ...env,
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      return (await endingOf(child)).stdout;
    };
    expect(await onTerminal({})).toContain('\u001b[32mACTIVE');
    expect(await onTerminal({ NO_COLOR: '1' })).not.toContain('\u001b');
    expect((await run('licenses', 'find', 'Coloured')).stdout).not.toContain('\u001b');
  });
});

it('licet mcp prints the configuration of usual clients, without the token [12.5.1]', async () => {
  const { stdout, stderr } = await run('mcp');
  for (const client of ['Claude Code', 'Cursor', 'VS Code', 'Another client']) {
    expect(stderr).toContain(client);
  }
  const configurations = await objects('mcp');
  const [claude, cursor, code] = configurations.map(({ text }) => String(text));
  expect(stdout).toBe(configurations.map(({ text }) => `${text}\n\n`).join(''));
  const url = `${service.address}/mcp`;
  const header = (token: string) => ({ headers: { Authorization: `Bearer ${token}` } });
  expect(JSON.parse(claude ?? '')).toMatchObject({
    mcpServers: {
      licet: { type: 'http', url, ...header(['$', '{LICET_ASSISTANT_TOKEN}'].join('')) },
    },
  });
  expect(JSON.parse(cursor ?? '')).toMatchObject({
    mcpServers: { licet: { url, ...header(['$', '{env:LICET_ASSISTANT_TOKEN}'].join('')) } },
  });
  expect(JSON.parse(code ?? '')).toMatchObject({
    inputs: [{ id: 'licet-token', password: true }],
    servers: { licet: { type: 'http', url, ...header(['$', '{input:licet-token}'].join('')) } },
  });
  expect(`${stdout}${stderr}`).not.toContain(readRootToken());
});

describe('console', () => {
  const logIn = async (link: string) => (await logInAt(new URL(link))).statusCode;

  it('licet console prints a link that logs in once, without the root token [4.9]', async () => {
    const { stdout, stderr } = await run('console');
    const { port } = service;
    const host = `licet-${port}-[0-9a-f]{12}\\.localhost:${port}`;
    expect(stdout).toMatch(new RegExp(`^http://${host}/console#code=[0-9a-f.]+\n$`));
    expect(stdout + stderr).not.toContain(readRootToken());
    expect([await logIn(stdout), await logIn(stdout)]).toEqual([204, 401]);
    const [object] = await objects('console');
    expect(await logIn(String(object?.link))).toBe(204);
  });

  it('licet console needs the root token, and says where another one logs in', async () => {
    const { token } = await licet.tokens.create({ name: 'Support', intents: ['ALL_READ'] });
    const { code, stdout, stderr } = await runWith({ LICET_TOKEN: token }, 'console');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(
      'The token of LICET_TOKEN is "Support", and a link needs the root token. ' +
        'Log in with that token on the page that such a link opens.',
    );
    const unknown = await runWith({ LICET_TOKEN: 'licet_nobody' }, 'console');
    expect([unknown.code, unknown.stdout]).toEqual([1, '']);
  });
});
