import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { addBlacklist } from '../../packages/cli/src/licet/blacklist.ts';
import { addHistory, Follower } from '../../packages/cli/src/licet/history.ts';
import { addLicenses } from '../../packages/cli/src/licet/licenses.ts';
import { Output, Table } from '../../packages/cli/src/licet/output.ts';
import { addProducts } from '../../packages/cli/src/licet/products.ts';
import { addTokens } from '../../packages/cli/src/licet/tokens.ts';
import { readRootToken } from '../../packages/cli/src/root-token.ts';
import { Licet } from '../../packages/client/src/index.ts';
import { timestamp } from '../../src/lib/time.ts';
import { argsOfScript, newFolder, type RunningService, startService } from '../node/service.ts';
import {
  type Ending,
  type Environment,
  endingOf,
  killCommands,
  runHere,
  startCommand,
} from './run-command.ts';

/** `licet` against the service as `npm start` runs it. */

const folder = newFolder();
let service: RunningService;
let licet: Licet;
let productId: number;
beforeAll(async () => {
  service = await startService(folder);
  licet = new Licet({ url: service.address, token: readRootToken() });
  productId = Number((await run('products', 'create', 'Guard', '--type', 'OTHER')).stdout);
});
afterAll(async () => {
  await service.stop();
  rmSync(folder, { recursive: true });
});

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

const createLicense = (notes = '') =>
  licet.licenses.create({ productId, licenseType: 'PERMANENT', maxIPs: 1, notes });

const validate = (licenseKey: string, ip: string, others = {}) =>
  licet.validate({ licenseKey, productId, ip, ...others });

describe('licet products', () => {
  it('creates and lists products', async () => {
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

describe('licet licenses', () => {
  it('create prints only the key to stdout', async () => {
    const options = [
      '--expires',
      '2030-01-31',
      '--max-ips',
      '2',
      '--chat-id',
      '280497242714931202',
    ];
    const platform = ['--platform', 'MARKET_A', '--platform-id', '48213', '--notes', 'Summer sale'];
    const product = ['--product', String(productId)];
    const created = await run('licenses', 'create', ...product, ...options, ...platform);
    const license = await licet.licenses.findByKey(created.stdout.trim());
    expect(created.stdout).toBe(`${license.licenseKey}\n`);
    expect(license).toMatchObject({
      licenseType: 'TEMPORARY',
      expiryDate: '2030-01-31T00:00:00.000+00:00',
      maxIPs: 2,
      maxHWIDs: 5,
      ownerChatId: '280497242714931202',
      licensePlatform: 'MARKET_A',
      ownerPlatformId: '48213',
      notes: 'Summer sale',
    });
    const permanent = await objects('licenses', 'create', ...product);
    expect(permanent).toMatchObject([{ licenseType: 'PERMANENT', expiryDate: null }]);
  });

  it('find finds licenses by key, e-mail, chat id and text, each once', async () => {
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
    expect(stdout.split('\n')[1]).toBe(
      `${String(id).padEnd(2)}  ${licenseKey}  ACTIVE  never    0/5  0/5    ada@shop.example  1        Found by ada@shop.example`,
    );
    await licet.licenses.delete(id);
    expect(await objects('licenses', 'find', licenseKey)).toMatchObject([{ id }]);
    const nothing = await run('licenses', 'find', 'nothing of the kind');
    expect(nothing).toMatchObject({ stdout: '', stderr: 'No license found.\n' });
  });

  it('find stops at its limit, and says so', async () => {
    for (const note of ['one', 'two', 'three']) await createLicense(`Limited ${note}`);
    const two = await run('licenses', 'find', 'Limited', '--limit', '2', '--json');
    expect(two.stdout.trim().split('\n')).toHaveLength(2);
    expect(two.stderr).toContain('More than 2 licenses match.');
    const three = await run('licenses', 'find', 'Limited', '--limit', '3', '--json');
    expect(three.stderr).toBe('');
  });

  it('show prints all fields of a license, found by key or id', async () => {
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

  it('free frees all slots of a license, or those of one kind', async () => {
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

  it('deactivate, activate and extend change a license', async () => {
    const { licenseKey, id } = await createLicense();
    expect(await objects('licenses', 'deactivate', licenseKey)).toMatchObject([
      { licenseStatus: 'DEACTIVATED' },
    ]);
    expect((await run('licenses', 'activate', licenseKey)).stderr).toContain('is ACTIVE');
    const permanent = await runWith({}, 'licenses', 'extend', licenseKey, '2030-01-31');
    expect(permanent).toMatchObject({
      code: 1,
      stderr: `✗ ${licenseKey} is PERMANENT and has no expiry date.\n`,
    });

    await licet.licenses.update(id, { licenseType: 'TEMPORARY', expiryDate: '2020-01-31' });
    const extended = await run('licenses', 'extend', licenseKey, '2099-01-31');
    expect(extended.stderr).toContain('is ACTIVE and expires 2099-01-31 00:00:00 (UTC).');
    const wrong = await runWith({}, 'licenses', 'extend', licenseKey, 'tomorrow');
    expect(wrong).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^✗ expiryDate must be/),
    });

    await licet.licenses.delete(id);
    const deleted = await runWith({}, 'licenses', 'deactivate', licenseKey);
    expect(deleted).toMatchObject({
      code: 1,
      stderr: `✗ ${licenseKey} is DELETED. Activate it first.\n`,
    });
    expect(await licet.licenses.get(id)).toMatchObject({ licenseStatus: 'DELETED' });
  });

  it('show names a license that does not exist', async () => {
    for (const text of ['NO-SUCH-KEY', '4711']) {
      const end = await runWith({}, 'licenses', 'show', text);
      expect(end).toMatchObject({ code: 1, stdout: '' });
      expect(end.stderr).toBe(`✗ No license has the key or the id ${text}.\n`);
    }
  });
});

describe('a number as an argument of licet', () => {
  it('is rejected where it is the key of one license and the id of another; id:… is the id', async () => {
    const other = await createLicense();
    // Keys of another service have any format.
    const id = other.id + 1;
    await licet.importItems({
      kind: 'licenses',
      items: [{ ...other, id, licenseKey: String(other.id) }],
    });
    const refused = await runWith({}, 'licenses', 'deactivate', String(other.id));
    expect(refused).toMatchObject({
      code: 1,
      stderr:
        `✗ ${other.id} is the key of license ${id} and the id of license ${other.id}. ` +
        `Give id:${id} or id:${other.id}.\n`,
    });
    await run('licenses', 'deactivate', `id:${other.id}`);
    expect(await licet.licenses.get(other.id)).toMatchObject({ licenseStatus: 'DEACTIVATED' });
    expect(await licet.licenses.get(id)).toMatchObject({ licenseStatus: 'ACTIVE' });
    const none = await runWith({}, 'licenses', 'show', 'id:4711');
    expect(none.stderr).toBe('✗ No license has the key or the id id:4711.\n');
  });

  it('is rejected where it is the value of one blacklist entry and the id of another', async () => {
    const { id } = await licet.blacklists.create({
      licenseDataType: 'HWID',
      data: 'board-6',
      isForAllProducts: true,
    });
    const numbered = await licet.blacklists.create({
      licenseDataType: 'HWID',
      data: String(id),
      isForAllProducts: true,
    });
    const refused = await runWith({}, 'blacklist', 'remove', String(id));
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(
        `${id} is the value of entry ${numbered.id} and the id of entry ${id}. Give`,
      ),
    });
    const removed = await run('blacklist', 'remove', `id:${id}`);
    expect(removed.stderr).toContain('board-6 is no longer blocked');
    await run('blacklist', 'remove', String(id));
    expect(await licet.blacklists.list()).toEqual([]);
  });
});

describe('--expires of licet', () => {
  it.each([new Date().toISOString().slice(0, 10), '2020-01-31T10:00:00+02:00'])(
    'must be in the future: %s',
    async (date) => {
      for (const create of [
        ['tokens', 'create', 'Late', 'PRODUCTS_READ'],
        ['licenses', 'create', '--product', String(productId)],
      ]) {
        const { code, stderr } = await runWith({}, ...create, '--expires', date);
        expect(stderr).toContain('Give a time in the future.');
        expect(code).toBe(2);
      }
    },
  );

  it.each(['2099-02-31', '2099-01-31 10:00'])('must be a date or a time: %s', async (date) => {
    const create = ['tokens', 'create', 'A', 'PRODUCTS_READ', '--expires', date];
    const { code, stderr } = await runWith({}, ...create);
    expect(stderr).toContain('--expires');
    expect(stderr).toContain('Give a date such as 2030-01-31, or a time such as');
    expect(code).toBe(2);
  });
});

describe('licet tokens', () => {
  it('list marks expired tokens', async () => {
    const expiresAt = new Date(Date.now() + 1_000).toISOString();
    const { id } = await licet.tokens.create({ name: 'Brief', intents: ['ALL_READ'], expiresAt });
    const line = new RegExp(`^${id} +Brief +ALL_READ .* \\(expired\\) +never$`, 'm');
    await expect.poll(async () => (await run('tokens', 'list')).stdout).toMatch(line);
    await licet.tokens.delete(id);
  });

  it('create prints only the secret to stdout; list and revoke manage the token', async () => {
    const create = ['tokens', 'create', 'Shop', 'PRODUCTS_READ', '--expires', '2099-01-31'];
    const { stdout, stderr } = await run(...create);
    const [, id = ''] = /^✓ Token (\d+) "Shop" created/.exec(stderr) ?? [];
    expect(stdout).toMatch(/^licet_[\w-]{43}\n$/);

    const env = { LICET_TOKEN: stdout.trim() };
    expect((await runWith(env, 'products', 'list')).code).toBe(0);
    expect(await runWith(env, 'licenses', 'find', 'x')).toMatchObject({
      code: 1,
      stdout: '',
      stderr:
        '✗ The token lacks an intent. Use one with LICENSES_READ, LICENSES_READ_WRITE, ALL_READ, ALL_READ_WRITE.\n',
    });
    // The file has precedence over the environment, and is relative to the folder where npm was called.
    writeFileSync(join(folder, 'token'), stdout);
    const fromFile = await runWith(
      { LICET_TOKEN: 'wrong', INIT_CWD: folder },
      ...['products', 'list', '--token-file', 'token'],
    );
    expect(fromFile.code).toBe(0);

    expect((await run('tokens', 'list')).stdout).toMatch(
      new RegExp(`^${id} +Shop +PRODUCTS_READ +2099-01-31 00:00:00 +20`, 'm'),
    );
    await run('tokens', 'revoke', id);
    expect((await run('tokens', 'list')).stdout).toBe('');
    expect(await runWith(env, 'products', 'list')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: '✗ The token of LICET_TOKEN is unknown, expired or revoked. Use another one.\n',
    });
    expect((await runWith({}, 'tokens', 'revoke', id)).code).toBe(1);
  });
});

describe('licet blacklist', () => {
  it('blocks and unblocks addresses, ranges and hardware IDs', async () => {
    const product = ['--product', String(productId)];
    await run('blacklist', 'add', '2001:DB8::7', '--reason', 'Leaked keys');
    await run('blacklist', 'add', '198.51.100.0/24', ...product);
    await run('blacklist', 'add', '--hwid', 'board-9');
    expect((await run('blacklist', 'list')).stdout).toMatch(
      /^ID .*\n\d+ +IP +2001:db8::7 +all +Leaked keys .*\n\d+ +IP +198\.51\.100\.0\/24 +1 .*\n\d+ +HWID +board-9 +all /,
    );
    expect(await objects('blacklist', 'list', 'leaked')).toMatchObject([{ data: '2001:db8::7' }]);
    const removed = await run('blacklist', 'remove', '2001:DB8::7');
    expect(removed.stderr).toContain('2001:db8::7 is no longer blocked for all products.');
    const [range] = await objects('blacklist', 'list', ...product);
    await run('blacklist', 'remove', String(range?.id));
    await run('blacklist', 'remove', 'board-9');
    expect(await run('blacklist', 'list')).toMatchObject({ stderr: 'The blacklist is empty.\n' });
  });

  it('remove rejects a value of several entries', async () => {
    await run('blacklist', 'add', '--hwid', 'board-8');
    await run('blacklist', 'add', '--hwid', 'board-8', '--product', String(productId));
    const both = await runWith({}, 'blacklist', 'remove', 'board-8');
    expect(both.code).toBe(1);
    expect(both.stderr).toMatch(/^✗ Several entries block board-8: id:\d+, id:\d+\. Add --product/);
    const part = await runWith({}, 'blacklist', 'remove', 'board');
    expect(part).toMatchObject({
      code: 1,
      stderr: '✗ No blacklist entry has the value or the id board.\n',
    });
    const one = await run('blacklist', 'remove', 'board-8', '--product', String(productId));
    expect(one.stderr).toContain(`for product ${productId}.`);
    await run('blacklist', 'remove', 'board-8');
    const address = await runWith({}, 'blacklist', 'add', '192.0.2.300');
    expect(address).toMatchObject({
      code: 1,
      stderr: '✗ data must be an IP address or a CIDR range\n',
    });
  });
});

/** Waits until the history has `count` records of a key. */
const recorded = (licenseKey: string, count: number) =>
  expect.poll(() => licet.requests.list({ licenseKey }), { timeout: 5_000 }).toHaveLength(count);

describe('licet history', () => {
  it('shows the validations of a filter, newest last', async () => {
    const { licenseKey } = await createLicense();
    const addresses = ['192.0.2.1', '192.0.2.2', '192.0.2.3'];
    for (const ip of addresses) await validate(licenseKey, ip);
    await recorded(licenseKey, 3);
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
      const records = await objects('history', '--key', licenseKey, ...args);
      expect(
        records.map(({ ip }) => ip),
        args.join(' '),
      ).toEqual(ips);
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

  it.each([['2026-02-31'], ['2026-01-31T25:00', '--follow']])(
    'rejects an invalid --since %s',
    async (...since) => {
      // No service is there: the error comes before any request.
      const env = { LICET_URL: 'http://localhost:1' };
      const { code, stdout, stderr } = await runWith(env, 'history', '--since', ...since);
      expect(stderr).toMatch(/--since.* Give a time ago such as 90s,/);
      expect(stdout).toBe('');
      expect(code).toBe(2);
    },
  );

  it('prints no control characters of validations', async () => {
    const hwid = 'red\u001b[31m\u009b1m\u202eback';
    await validate('HOSTILE-KEY', '192.0.2.1', { hwid });
    await recorded('HOSTILE-KEY', 1);
    const { stdout } = await run('history', '--key', 'HOSTILE-KEY');
    expect(stdout).toContain('red\ufffd[31m\ufffd1m\ufffdback');
    const json = await run('history', '--key', 'HOSTILE-KEY', '--json');
    expect(json.stdout.trim()).not.toMatch(/\p{C}/u);
    expect(JSON.parse(json.stdout)).toMatchObject({ hwid });
  });

  describe('--follow', () => {
    /** A proxy that can fail. */
    let between: Server;
    let address: string;
    let isFailing = false;
    beforeAll(async () => {
      between = createServer(async (request, answer) => {
        if (isFailing) {
          answer.destroy();
          return;
        }
        const headers = { TOKEN: readRootToken() ?? '' };
        const original = await fetch(service.address + request.url, { headers });
        answer.writeHead(original.status).end(await original.text());
      }).listen(0, '127.0.0.1');
      await once(between, 'listening');
      const bound = between.address();
      if (typeof bound === 'object') address = `http://127.0.0.1:${bound?.port}`;
    });
    afterAll(() => {
      between.closeAllConnections();
      between.close();
    });

    it('prints new validations once each, through a failure of the service, until Ctrl-C', async () => {
      const { licenseKey } = await createLicense();
      await validate(licenseKey, '192.0.2.1');
      await validate(licenseKey, '192.0.2.2');
      await recorded(licenseKey, 2);
      const options = ['--follow', '--refused', '--key', licenseKey, '--json'];
      const child = start(['history', ...options], { LICET_URL: address });
      let stdout = '';
      let stderr = '';
      child.stdout?.on('data', (chunk) => (stdout += chunk));
      child.stderr?.on('data', (chunk) => (stderr += chunk));
      const shown = () =>
        stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line).ip]));
      const untilShown = (...ips: string[]) =>
        expect.poll(shown, { timeout: 10_000, interval: 20 }).toEqual(ips);
      await untilShown('192.0.2.2');

      await validate(licenseKey, '192.0.2.3');
      await untilShown('192.0.2.2', '192.0.2.3');

      isFailing = true;
      await validate(licenseKey, '192.0.2.4');
      await vi.waitFor(() => expect(stderr).toContain('Trying again'), { timeout: 5_000 });
      isFailing = false;
      await untilShown('192.0.2.2', '192.0.2.3', '192.0.2.4');
      expect(stderr).toBe(`No answer from ${address}. Trying again.\n`);

      child.kill('SIGINT');
      expect(await once(child, 'close')).toEqual([0, null]);
      expect(shown()).toHaveLength(3);
    });

    it('ends quietly when its output is closed', async () => {
      const { licenseKey } = await createLicense();
      await validate(licenseKey, '192.0.2.1');
      await recorded(licenseKey, 1);
      const child = start(['history', '--follow', '--key', licenseKey, '--json']);
      let stderr = '';
      child.stderr?.on('data', (chunk) => (stderr += chunk));
      await once(child.stdout ?? child, 'data');
      child.stdout?.destroy();
      await validate(licenseKey, '192.0.2.2');
      expect(await once(child, 'exit')).toEqual([0, null]);
      expect(stderr).toBe('');
    });

    it('ends when its token is revoked', async () => {
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
    '--follow --since %s starts there in any time zone, and prints each record once',
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
      const looks = [await look(), await look(), await look()];
      vi.unstubAllEnvs();
      expect(looks).toEqual([[1, 2], [], []]);
    },
  );

  it('--follow prints records that are stored late, and none twice', async () => {
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

describe('an error of licet', () => {
  it.each<[string, Record<string, string>, string[], number, string]>([
    [
      'no service',
      { LICET_URL: 'http://localhost:1' },
      ['tokens', 'list'],
      1,
      '✗ No answer from http://localhost:1. Start the service: npm start',
    ],
    [
      'no service elsewhere',
      { LICET_URL: 'http://licet.invalid', LICET_TOKEN: 'a' },
      ['tokens', 'list'],
      1,
      '✗ No answer from http://licet.invalid. Check the address.',
    ],
    [
      'no token for another machine, which must not get the local root token',
      { LICET_URL: 'https://licet.invalid' },
      ['tokens', 'list'],
      2,
      '✗ No token. Set LICET_TOKEN, or name a file with --token-file.',
    ],
    [
      'an invalid token',
      { LICET_TOKEN: 'two words' },
      ['tokens', 'list'],
      2,
      '✗ token is empty, or has blanks',
    ],
    ['no file', {}, ['--token-file', 'none', 'tokens', 'list'], 2, '✗ The token file cannot be'],
    [
      'no URL',
      {},
      ['--url', 'shop', 'tokens', 'list'],
      2,
      '✗ "shop" is not a URL. Give one such as',
    ],
    ['a text that cannot be a key', {}, ['licenses', 'find', '..'], 0, 'No license found.'],
    ['half a command', {}, ['licenses'], 2, 'Usage: npm run licet -- licenses'],
    ['no command', {}, [], 2, 'Usage: npm run licet -- [options] [command]'],
  ])('names its reason: %s', async (_reason, env, args, code, message) => {
    const end = await runWith(env, ...args);
    expect(end).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(message) });
    expect(end.stderr).not.toMatch(/^ +at |two words|outputHelp/m);
  });

  it.each([
    [['licenses', 'show', '..'], 'Give a key or an id.'],
    [['license'], "Unknown command 'license'. Did you mean licenses?"],
    [['licenses', 'create'], 'Required option --product <id> not specified.'],
    [['tokens', 'revoke', 'x'], 'Give an integer of at least 1.'],
    [['tokens', 'create', 'A', 'READ'], 'Allowed choices are PRODUCTS_READ,'],
    [['history', '--since', 'yesterday'], "Option --since <when> argument 'yesterday' is invalid."],
    [['history', '--refuse'], 'Unknown option --refuse. Did you mean --refused?'],
    [['tokens', 'list', 'all'], 'Too many arguments'],
  ])('is a usage error with status 2: %j', async (args, message) => {
    const { code, stdout, stderr } = await runWith({}, ...args);
    expect(stderr).toContain(message);
    expect(stderr).toMatch(/^✗ [A-Z].*[.?] Add --help to see what it takes\.\n$/);
    expect(stdout).toBe('');
    expect(code).toBe(2);
  });
});

describe('a server that is not Licet', () => {
  let other: Server;
  let address: string;
  let status = 200;
  let text = '{"status":"ok"}';
  beforeAll(async () => {
    other = createServer((_request, answer) => answer.writeHead(status).end(text));
    await once(other.listen(0, '127.0.0.1'), 'listening');
    const bound = other.address();
    if (typeof bound === 'object') address = `http://127.0.0.1:${bound?.port}`;
  });
  afterAll(() => {
    other.close();
  });

  it.each([
    'products create A --type OTHER',
    'licenses deactivate A',
    'tokens list',
    'tokens revoke 3',
    'history',
  ])('makes licet fail: %s', async (command) => {
    expect(await runWith({ LICET_URL: address }, ...command.split(' '))).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `✗ ${address} answered 200, and not as Licet does\n`,
    });
  });

  it.each([
    [401, '<html>Log in</html>', ' answered 401, and not as Licet does'],
    [403, '{"message":"no","accepted_intents":"no"}', ' answered 403, and not as Licet does'],
    [403, '{"message":"Forbidden"}', '✗ Forbidden'],
  ])('makes licet fail with its status: %i %s', async (refusal, body, message) => {
    status = refusal;
    text = body;
    const { code, stderr } = await runWith({ LICET_URL: address }, 'tokens', 'list');
    expect(stderr).toContain(`${message}\n`);
    expect(code).toBe(1);
  });
});

describe('the help of licet', () => {
  const program = new Command('npm run licet --').exitOverride();
  let shown = '';
  program.configureOutput({ writeOut: (text) => (shown += text) });
  const never = () => {
    throw new Error('opened');
  };
  for (const add of [addProducts, addLicenses, addTokens, addBlacklist, addHistory]) {
    add(program, never);
  }
  const leavesOf = (command: CommandUnknownOpts): CommandUnknownOpts[] =>
    command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);

  it('has valid examples for each command', async () => {
    const leaves = leavesOf(program);
    expect(leaves.length).toBeGreaterThan(15);
    for (const leaf of leaves) {
      shown = '';
      leaf.outputHelp();
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

  it('is shown by npm run licet', async () => {
    const child = spawn('npm', ['run', 'licet', '--', '--help']);
    const { code, stdout } = await endingOf(child);
    expect(code).toBe(0);
    expect(stdout).toContain('Usage: npm run licet -- [options] [command]');
    expect(stdout).toContain('history --refused --follow');
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

  it('has its full width in a pipe, and fits a terminal', () => {
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

  it('has any number of rows, and is not made for JSON', () => {
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

  const hasScript = process.platform === 'linux' && spawnSync('script', ['--version']).status === 0;
  it.skipIf(!hasScript)('has colours on a terminal, except with NO_COLOR', async () => {
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
