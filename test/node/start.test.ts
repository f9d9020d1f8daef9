import { type ChildProcess, execFile, spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ensureRootToken, readRootToken, SECRETS_FILE } from '@licet/cli/root-token';
import { CliError } from '@licet/cli/terminal';
import { type License, Licet } from '@licet/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { databaseFile, findDatabase } from '../../scripts/local/database.ts';
import { writePast } from '../../scripts/local/past.ts';
import { lockState } from '../../scripts/state-lock.ts';
import { isLong } from '../support/long.ts';
import { logInAt } from './log-in.ts';
import { listenWith, ownFolder } from './own.ts';
import {
  argsOfScript,
  freePort,
  npmStart,
  type RunningService,
  spawnGroup,
  startArgs,
  type Watched,
  watch,
} from './service.ts';
import { canRun, hasTools, isInstalled } from './tools.ts';

/** The first commands of a newcomer: npm start and npm run demo. */

/** As documents name them; other tests start it without. */
const OPTIONS = ['--ip', '0.0.0.0'];

const folder = ownFolder();
const terminalFolder = ownFolder();
let service: RunningService;
beforeAll(async () => {
  service = await npmStart(folder, OPTIONS);
});
afterAll(() => service.stop());

type Ended = Watched['ended'];

/** Without npm, which takes as long as the script itself. */
const script = (...args: string[]): Ended =>
  watch(spawn(process.execPath, args, { stdio: 'pipe' })).ended;
const start = (...args: string[]): Ended => script(...startArgs(), ...args);
const demo = (...args: string[]): Ended => script(...argsOfScript('demo'), ...args);

async function api(path: string, address = service.address): Promise<unknown> {
  const response = await fetch(`${address}/api/v2${path}`, {
    headers: { TOKEN: readRootToken() ?? '' },
  });
  expect(response.status).toBe(200);
  return response.json();
}

/** The processes of the service: Node's, and the runtime that it started. */
function processes(): number[] {
  const runtime = Number(readFileSync(join(folder, 'workerd.pid'), 'utf8'));
  const [, parent] = /^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${runtime}/status`, 'utf8')) ?? [];
  return [Number(parent), runtime];
}

/** The rows of the kernel's table of sockets that belong to the service, each as its columns. */
function socketsOf(table: 'tcp' | 'tcp6' | 'unix', inodeColumn: number): string[][] {
  const own = new Set(
    processes().flatMap((pid) =>
      readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
        try {
          return readlinkSync(`/proc/${pid}/fd/${fd}`);
        } catch {
          // Closed meanwhile.
          return [];
        }
      }),
    ),
  );
  const rows = readFileSync(`/proc/net/${table}`, 'utf8').trim().split('\n').slice(1);
  return rows
    .map((row) => row.trim().split(/\s+/))
    .filter((columns) => own.has(`socket:[${columns[inodeColumn]}]`));
}

/** The ports on which the service listens. */
const listeningPorts = (): number[] =>
  (['tcp', 'tcp6'] as const)
    .flatMap((table) => socketsOf(table, 9))
    .filter(([, , , state]) => state === '0A')
    .map(([, address = '']) => Number.parseInt(address.split(':').at(-1) ?? '', 16));

/** The files of the sockets on which the service listens. Accepted connections have the file of their socket. */
const listeningFiles = (): string[] => {
  const files = socketsOf('unix', 6).map(([, , , , , , , file = '']) => file);
  return [...new Set(files.filter(Boolean))];
};

/** Sends text that need not be HTTP. Resolves with the beginning of the response, if there is one. */
const send = (text: string): Promise<string> =>
  new Promise((settle) => {
    const socket = connect(service.port, '127.0.0.1', () => socket.end(text));
    socket.once('data', (chunk) => {
      socket.destroy();
      settle(String(chunk));
    });
    socket.on('error', () => settle(''));
    socket.on('close', () => settle(''));
  });

const keysFile = join(folder, 'signing-keys.env');
const signingKeysOf = async (url: string) => (await new Licet({ url }).signingKeys()).keys;

const hasSockets = canRun(
  existsSync('/proc/net/tcp'),
  '/proc/net/tcp',
  'the ports on which npm start listens',
);

describe('npm start', () => {
  it('npm start prints its address, and where the root token is', () => {
    expect(service.output()).toContain(`Licet runs on ${service.address}`);
    expect(service.output()).toContain(SECRETS_FILE);
  });

  const hasCurl = hasTools('the first request that npm start prints', 'curl');
  it.skipIf(!hasCurl)('npm start prints a first request that works', async () => {
    const [, command] = /Try\s+(curl .*)/.exec(service.output()) ?? [];
    const response = await new Promise<string>((resolve) =>
      execFile('bash', ['-c', `${command} -s`], (_error, stdout) => resolve(stdout)),
    );
    expect(JSON.parse(response)).toEqual([]);
  });

  it('npm start prints the address of the API reference', async () => {
    const [, page = ''] = /API reference\s+(\S+)/.exec(service.output()) ?? [];
    const response = await fetch(page);
    expect(response.headers.get('Content-Type')).toContain('text/html');
    expect(await response.text()).toContain('<title>API reference · Licet</title>');
  });

  it('npm start prints no log-in link where its output is kept, but the command that prints one [4.16]', () => {
    expect(service.output()).not.toContain('#code=');
    const command = `npm run licet -- --url ${service.address} console prints a link`;
    expect(service.output()).toContain(command);
  });

  const hasScript = canRun(
    process.platform === 'linux' && isInstalled('script'),
    'script of Linux',
    'the log-in link that npm start prints on a terminal',
  );
  it.skipIf(!hasScript)(
    'npm start prints on a terminal a link that logs in to the console once [4.9, 4.16]',
    { tags: 'long' },
    async () => {
      const place = ['--port', String(await freePort()), '--persist-to', terminalFolder];
      const command = [process.execPath, ...startArgs(), ...place].join(' ');
      const child = spawnGroup('script', ['-qec', command, '/dev/null']);
      const { output, printed, ended } = watch(child);
      await printed('Stop  ');
      const link = new URL(/Log in\s+(\S+)/.exec(output())?.[1] ?? '');
      expect((await logInAt(link)).statusCode).toBe(204);
      expect((await logInAt(link)).statusCode).toBe(401);
      expect(output()).not.toContain(readRootToken());
      child.kill('SIGTERM');
      await ended;
    },
  );

  it('npm start never prints the root token', () => {
    expect(service.output()).not.toContain(readRootToken());
  });

  it('npm start lets others in with --ip 0.0.0.0', async () => {
    expect((await fetch(`http://127.0.0.2:${service.port}/api/v2/healthy`)).status).toBe(200);
  });

  it('npm start shows the event of each request, which holds no license key', async () => {
    const path = '/api/v2/licenses/by-license-key/KEY-IN-A-PATH';
    const response = await fetch(service.address + path, {
      headers: { TOKEN: readRootToken() ?? '', 'X-Request-Id': 'seen-in-the-log' },
    });
    expect(response.status).toBe(404);
    const event = () => /^\{.*"requestId":"seen-in-the-log".*$/m.exec(service.log())?.[0] ?? '{}';
    await expect
      .poll(() => JSON.parse(event()))
      .toMatchObject({
        time: expect.stringMatching(/^20.*Z$/),
        level: 'info',
        route: '/api/v2/licenses/by-license-key/:licenseKey',
        status: 404,
      });
    expect(service.output()).not.toContain('KEY-IN-A-PATH');
  });

  it.skipIf(!hasSockets)(
    'npm start listens on its own port alone, and on a file for its own user',
    async () => {
      expect(listeningPorts()).toEqual([service.port]);
      const files = listeningFiles();
      expect(files).toHaveLength(1);
      for (const file of files) {
        expect(statSync(file).mode & 0o077, file).toBe(0);
        expect(statSync(dirname(file)).mode & 0o077, dirname(file)).toBe(0);
      }
    },
  );

  it.skipIf(!hasSockets).each([
    ['POST', '/core/error', { 'Content-Type': 'application/json' }],
    ['POST', '/core/store-temp-file?extension=js&prefix=licet', {}],
    ['POST', '/browser/launch', {}],
    ['GET', '/cdn-cgi/local/scheduled?cron=stop', {}],
    ['GET', '/cdn-cgi/local/scheduled', { 'MF-Route-Override': 'licet' }],
    ['GET', '/cdn-cgi/handler/scheduled', {}],
    ['POST', '/cdn-cgi/platform-proxy', { 'MF-Op': 'GET', 'MF-Op-Target': '0' }],
  ])('no port of npm start has the paths of miniflare: %s %s %j', async (method, path, headers) => {
    const stack = `Error: read\n    at read (${resolve('package.json')}:2:3)`;
    const body = JSON.stringify({ name: 'Error', message: 'read', stack });
    const given = { method, headers, ...(method === 'POST' && { body }) };
    for (const port of listeningPorts()) {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, given);
      expect(await response.text(), String(port)).not.toContain('"name": "licet"');
      expect(response.status, String(port)).toBe(404);
    }
  });

  it('npm start logs no text of requests that are not HTTP, and few lines for many of them', async () => {
    const requests = [
      'GET http://CLIENT-TEXT/api/v2/licenses/by-license-key/CLIENT-TEXT HTTP/1.1\r\nHost: licet',
      'GET *CLIENT-TEXT HTTP/1.1\r\nHost: licet',
      'GET /api/v2/healthy HTTP/1.1\r\nHost: a_b%41CLIENT-TEXT',
      'POST /api/v1/validate HTTP/1.1\r\nHost: licet\r\nContent-Length: CLIENT-TEXT',
      'POST /api/v1/validate HTTP/1.1\r\nHost: licet\r\nTransfer-Encoding: CLIENT-TEXT',
      'POST /api/v1/validate HTTP/1.1\r\nHost: licet\r\nTransfer-Encoding: chunked\r\n\r\nCLIENT-TEXT',
      'CONNECT CLIENT-TEXT:443 HTTP/1.1\r\nHost: CLIENT-TEXT:443',
      'CLIENT-TEXT / HTTP/1.1\r\nHost: licet',
    ];
    const before = service.log().length;
    for (let round = 0; round < 10; round++) {
      await Promise.all(requests.map((request) => send(`${request}\r\n\r\n`)));
    }
    const headers = { 'X-Request-Id': 'after-all-of-them' };
    await fetch(`${service.address}/api/v2/healthy`, { headers });
    await expect.poll(service.log).toContain('"requestId":"after-all-of-them"');
    const log = service.log().slice(before);
    expect(service.output()).not.toContain('CLIENT-TEXT');
    const reports = log.split('\n').filter((line) => line.includes('The runtime reported'));
    expect(reports.length).toBeGreaterThan(0);
    expect(new Set(reports.map((line) => JSON.parse(line).message)).size).toBe(reports.length);
    for (const line of reports) expect(line.length).toBeLessThan(200);
  });

  it('npm start says what to do when the port is taken', { tags: 'long' }, async () => {
    const { code, output } = await start('--port', String(service.port));
    expect(code).toBe(1);
    expect(output).toContain(`Port ${service.port} is taken`);
    expect(output).toContain(`npm start -- --port ${service.port + 1}`);
  });

  it('npm start keeps a second service from the same data', { tags: 'long' }, async () => {
    const { code, output } = await start(
      '--persist-to',
      folder,
      '--port',
      String(await freePort()),
    );
    expect(code).toBe(1);
    expect(output).toContain(`The data in ${folder} is in use by another Licet`);
  });

  it.each([
    ['', 'file already exists'],
    ['/data', 'not a directory'],
  ])('npm start says why a folder cannot be used: a file%s', (below, reason) => {
    const file = join(folder, 'a-file');
    writeFileSync(file, '');
    const message =
      `The folder ${file}${below} cannot be used: ${reason}. ` +
      'Choose another with --persist-to DIR.';
    expect(() => lockState(file + below)).toThrow(CliError);
    expect(() => lockState(file + below)).toThrow(new CliError(message));
  });

  it.runIf(existsSync('/proc/self'))(
    'npm start and npm run dev end at once where no folder can be made',
    { tags: 'long' },
    async () => {
      for (const folderInProc of ['/proc/licet', '/proc/licet/data']) {
        for (const script of ['start', 'dev']) {
          const child = spawn(process.execPath, [
            ...argsOfScript(script),
            '--persist-to',
            folderInProc,
            '--port',
            String(await freePort()),
          ]);
          const { code, output } = await watch(child).ended;
          const message =
            `✗ The folder ${folderInProc} cannot be used: no such file or directory. ` +
            'Choose another with --persist-to DIR.\n';
          expect({ code, output }).toEqual({ code: 1, output: message });
        }
      }
    },
  );

  it('npm start does not take a damaged lock for another service', () => {
    const damaged = join(folder, 'damaged');
    mkdirSync(damaged);
    writeFileSync(join(damaged, 'licet.lock'), 'x'.repeat(1_000));
    expect(() => lockState(damaged)).toThrow('cannot be used: file is not a database.');
  });

  const unusable: [string, (file: string) => void, string][] = [
    [
      'a damaged database',
      (file: string) => writeFileSync(file, 'x'.repeat(1_000)),
      'file is not a database\n',
    ],
    [
      'a database of an earlier checkout',
      (file: string) => {
        const earlier = new DatabaseSync(file);
        earlier.exec('create table products (id integer primary key)');
        earlier.close();
      },
      '.sql: table `products` already exists\n',
    ],
  ];
  it.each(isLong ? unusable : unusable.slice(0, 1))(
    'npm start shows the error when migrations cannot be applied, and what to do: %s',
    { tags: 'long' },
    async (name, make, reason) => {
      const data = join(folder, name.replaceAll(' ', '-'));
      const file = databaseFile(data);
      mkdirSync(dirname(file), { recursive: true });
      make(file);
      const options = ['--persist-to', data, '--port', String(await freePort())];
      const { code, output } = await start(...options);
      expect(output).toContain(
        `✗ The migrations could not be applied to the database in ${data}; see the error below. ` +
          'If it is of an earlier checkout, run npm run export there, start with another folder, and run ' +
          'npm run import. If the database is damaged, restore a backup (docs/one-machine.md), or start ' +
          'with another folder: npm start -- --persist-to DIR\n\n',
      );
      expect(output).toContain(reason);
      expect(code).toBe(1);
    },
  );

  it('npm start makes signing keys for its owner alone [1.8.25]', async () => {
    expect(await signingKeysOf(service.address)).toHaveLength(2);
    expect(statSync(keysFile).mode & 0o077).toBe(0);
  });

  it('npm start keeps nothing but the database, for its owner alone, and lets nobody run SQL', async () => {
    expect(readdirSync(join(folder, 'v3')).sort()).toEqual(['cache', 'd1']);
    expect(statSync(join(folder, 'v3')).mode & 0o077).toBe(0);
    const explorer = `${service.address}/cdn-cgi/local/explorer/api/d1/database`;
    expect((await fetch(explorer)).status).toBe(404);
  });
});

describe('npm run demo', { tags: 'long' }, () => {
  it('npm run demo fills the shop, plays a game server, and adds only what is missing the next time', async () => {
    const first = await demo('--url', service.address, '--persist-to', folder);
    expect(first.output).toContain('Thirty days of history');
    expect(first.output).toMatch(/200 \{"valid":true.*400 \{"valid":false,"message":"Max IPs/s);
    expect(first.code).toBe(0);
    expect(await api('/products')).toHaveLength(3);
    for (const status of ['ACTIVE', 'EXPIRED', 'DEACTIVATED', 'DELETED']) {
      expect(await api(`/licenses?licenseStatus=${status}`), status).not.toHaveLength(0);
    }
    expect(await api('/customers')).toHaveLength(12);
    expect(await api('/blacklists')).toHaveLength(3);

    const second = await demo('--url', service.address);
    expect(second.output).toContain('48 licenses, 0 of them new');
    expect(second.code).toBe(0);
    expect(await api('/products')).toHaveLength(3);
  });

  it('npm run demo leaves thirty days of validations, refusals, licenses and events by two tokens', async () => {
    type Series = Record<string, unknown>[];
    const { series, licenses } = JSON.parse(JSON.stringify(await api('/statistics?step=day')));
    const days: Series = series;
    expect(days).toHaveLength(30);
    for (const day of days) expect(day).toMatchObject({ VALID: expect.any(Number) });
    for (const outcome of [
      'IP_BLACKLISTED',
      'HWID_BLACKLISTED',
      'LICENSE_NOT_FOUND',
      'PRODUCT_MISMATCH',
      'LICENSE_DELETED',
      'LICENSE_DEACTIVATED',
      'LICENSE_EXPIRED',
      'MAX_IPS_REACHED',
      'MAX_HWIDS_REACHED',
    ]) {
      expect(days.filter((day) => outcome in day).length, outcome).toBeGreaterThan(1);
    }
    expect(licenses.activeBefore).toBeGreaterThan(0);
    const now = Date.now();
    const inDays = (count: number) => new Date(now + count * 24 * 60 * 60 * 1000).toISOString();
    for (const question of [
      'unused=true',
      'dormantDays=90',
      'full=true',
      `expiresFrom=${inDays(0)}&expiresTo=${inDays(7)}`,
      `expiresFrom=${inDays(-30)}&expiresTo=${inDays(0)}`,
    ]) {
      expect(await api(`/licenses?${question}`), question).not.toHaveLength(0);
    }
    const events = JSON.stringify(await api('/events?limit=1000'));
    for (const actor of ['root', 'Web shop']) expect(events).toContain(`"tokenName":"${actor}"`);
  });

  it('the demo leaves a database alone that does not have its licenses', async () => {
    const file = findDatabase(folder) ?? '';
    const shop = { ageDays: new Map([[1, 9]]), dormantIds: [], startedAt: 0, unknownKey: '' };
    const before = await api('/statistics?step=day');
    expect(writePast(file, 'KEY-OF-ANOTHER-SHOP', shop)).toBe(false);
    expect(await api('/statistics?step=day')).toMatchObject({
      series: Reflect.get(Object(before), 'series'),
    });
  });

  it('npm run demo says what to do when nothing responds, or the token is rejected', async () => {
    const nothing = await demo('--url', 'http://localhost:1');
    expect(nothing.code).toBe(1);
    expect(nothing.output).toContain(
      '✗ No response from http://localhost:1. Start the service: npm start',
    );
    const env = { ...process.env, LICET_TOKEN: 'wrong' };
    const args = [...argsOfScript('demo'), '--url', service.address];
    const refused = await watch(spawn(process.execPath, args, { stdio: 'pipe', env })).ended;
    expect(refused.code).toBe(1);
    expect(refused.output).toContain('✗ The token of LICET_TOKEN is unknown, expired or revoked.');
  });

  it('npm run demo names a server that is not Licet', async () => {
    const address = await listenWith('{}');
    const { code, output } = await demo('--url', address);
    expect(output).toMatch(new RegExp(`^✗ .*${address}.*\\n$`, 'm'));
    expect(output).not.toMatch(/^ +at /m);
    expect(code).toBe(1);
  });

  const wrong: [string[], string][] = [
    [['--url', 'ftp://localhost'], '--url is "ftp://localhost"'],
    // The root token of this folder is for this machine alone.
    [['--url', 'http://licet.invalid'], 'Use https'],
    [['--url', 'https://licet.invalid'], 'Set LICET_TOKEN'],
    [['--token', 'x'], 'Unknown option --token. Add --help'],
    [['shop'], 'Add --help'],
  ];
  it.each(isLong ? wrong : wrong.slice(0, 3))('npm run demo rejects %j', async (args, named) => {
    const { code, output } = await demo(...args);
    expect(output).toMatch(/^✗ /m);
    expect(output).toContain(named);
    expect(output).not.toMatch(/^ +at /m);
    expect(code).toBe(2);
  });

  it('npm run demo says that the file with the root token cannot be read', async () => {
    const elsewhere = join(folder, 'elsewhere');
    mkdirSync(join(elsewhere, SECRETS_FILE), { recursive: true });
    const child = spawn(process.execPath, argsOfScript('demo'), { cwd: elsewhere });
    const { code, output } = await watch(child).ended;
    expect(output).toMatch(/^✗ \.dev\.vars cannot be read: .+\.\n$/);
    expect(code).toBe(1);
  });
});

describe('one service after the other, on the same data', () => {
  let license: License;
  let before: unknown;
  let keysBefore: [unknown, string];
  let address: string;
  let next: ChildProcess | undefined;
  let watched: Watched | undefined;
  afterAll(async () => {
    next?.kill('SIGTERM');
    await watched?.ended;
  });

  it('a service ends with the npm that started it', async () => {
    const licet = new Licet({ url: service.address, token: readRootToken() ?? '' });
    const { id: productId } = await licet.products.create({
      name: 'Machine',
      productType: 'OTHER',
    });
    license = await licet.licenses.create({ productId, licenseType: 'PERMANENT', maxHWIDs: 1 });
    before = await api('/licenses');
    keysBefore = [await signingKeysOf(service.address), readFileSync(keysFile, 'utf8')];
    const files = hasSockets ? listeningFiles() : [];
    await service.killNpm();
    await expect(fetch(service.address)).rejects.toThrow();
    expect(files.filter((file) => existsSync(dirname(file)))).toEqual([]);
  });

  it('a second service on the same data keeps the data and the signing keys [1.8.25]', async () => {
    const port = String(await freePort());
    const options = ['--persist-to', folder, '--port', port, '--ip', '127.0.0.2'];
    const variable = ['--var', 'REQUIRE_HWID:true'];
    next = spawn(process.execPath, [...startArgs(), ...options, ...variable], {
      stdio: 'pipe',
    });
    watched = watch(next);
    await watched.printed('Licet runs on');
    address = `http://127.0.0.2:${port}`;
    expect(await api('/licenses', address)).toEqual(before);
    expect([await signingKeysOf(address), readFileSync(keysFile, 'utf8')]).toEqual(keysBefore);
  });

  it('a second service on the same data takes a variable with --var', async () => {
    const { licenseKey, productId } = license;
    const response = await fetch(`${address}/api/v1/validate`, {
      method: 'POST',
      body: JSON.stringify({ licenseKey, productId, ip: '192.0.2.1' }),
    });
    expect(await response.json()).toEqual({ valid: false, message: 'hwid is required' });
  });

  it('a service watches the address on which it listens, and ends well when it is asked to', async () => {
    next?.kill('SIGTERM');
    expect(await watched?.ended).toMatchObject({
      code: 0,
      output: expect.stringContaining(`Licet runs on ${address}`),
    });
  });
});

it('npm start rejects a SIGNING_DEFAULT_KID that no signing key has, with status 2', {
  tags: 'long',
}, async () => {
  const options = ['--persist-to', ownFolder(), '--port', String(await freePort())];
  const { code, output } = await start(...options, '--var', 'SIGNING_DEFAULT_KID:es-old');
  expect(output).toMatch(
    /✗ SIGNING_DEFAULT_KID must be the kid of a signing key \(es-\w+, rs-\w+\), not "es-old"\.\n$/,
  );
  expect(code).toBe(2);
});

describe('the root token', () => {
  const file = join(folder, SECRETS_FILE);

  it('the root token is made where there is none, readable by its owner alone, and then kept', () => {
    expect(ensureRootToken(file)).toBe(true);
    const token = readRootToken(file);
    expect(token).toMatch(/^[0-9a-f]{64}$/);
    expect(statSync(file).mode & 0o077).toBe(0);
    expect(ensureRootToken(file)).toBe(false);
    expect(readRootToken(file)).toBe(token);
  });

  it('the root token is added behind what the file holds', () => {
    writeFileSync(file, 'OTHER=1');
    ensureRootToken(file);
    expect(readFileSync(file, 'utf8')).toMatch(/^OTHER=1\nROOT_TOKEN=[0-9a-f]{64}\n$/);
  });

  it('the root token fills a line without one', () => {
    writeFileSync(file, 'ROOT_TOKEN=\nOTHER=1\n');
    ensureRootToken(file);
    expect(readFileSync(file, 'utf8')).toMatch(/^ROOT_TOKEN=[0-9a-f]{64}\nOTHER=1\n$/);
  });

  it('the root token is rejected where the service would not take it', () => {
    writeFileSync(file, 'ROOT_TOKEN="short"\n');
    expect(() => ensureRootToken(file)).toThrow('fewer than 32 characters');
  });
});
