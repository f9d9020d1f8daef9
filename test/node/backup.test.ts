/** @module-tag long */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { readRootToken } from '@licet/cli/root-token';
import { type License, type LicenseRequest, Licet } from '@licet/client';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { isLong } from '../support/long.ts';
import { ownFolder } from './own.ts';
import {
  argsOfScript,
  type RunningService,
  spawnGroup,
  startService,
  type Watched,
  watch,
} from './service.ts';
import { recordsOf } from './shop.ts';
import { canRun } from './tools.ts';

/** npm run backup and npm run restore: of a service under load, and where they cannot work. */

const root = ownFolder();
const at = (name: string): string => join(root, name);
const services: RunningService[] = [];
afterAll(() => Promise.all(services.map((service) => service.stop())));

async function start(folder: string): Promise<{ service: RunningService; licet: Licet }> {
  const service = await startService(folder);
  services.push(service);
  return { service, licet: new Licet({ url: service.address, token: readRootToken() }) };
}

const npmRun = (script: string, ...args: string[]): Watched['ended'] =>
  watch(spawn('npm', ['run', '-s', script, '--', ...args])).ended;

/** Without npm, which takes a while and does not pass signals on. */
const launch = (script: string, ...args: string[]): ChildProcess =>
  spawn(process.execPath, [...argsOfScript(script), ...args], { stdio: 'pipe' });
const backUp = (file: string, folder: string): Watched['ended'] =>
  watch(launch('backup', file, '--persist-to', folder)).ended;
const restore = (file: string, folder: string): Watched['ended'] =>
  watch(launch('restore', file, '--persist-to', folder)).ended;

/** The output of a command that must succeed. */
async function done(running: Watched['ended']): Promise<string> {
  const { code, output } = await running;
  expect(code, output).toBe(0);
  return output;
}

/** The message of a command that must fail with status 1. */
async function failed(running: Watched['ended']): Promise<string> {
  const { code, output } = await running;
  expect(output).toMatch(/^✗ .+\n$/);
  expect(code).toBe(1);
  return output;
}

/** The database of a service on a folder. */
function databaseIn(folder: string): string {
  const files = globSync(join(folder, 'v3/d1/miniflare-D1DatabaseObject/*.sqlite'));
  const [file, ...others] = files.filter((name) => !name.endsWith('/metadata.sqlite'));
  if (file === undefined || others.length > 0) throw new Error(`Not one database: ${files}`);
  return file;
}

type Row = Record<string, unknown>;

/** The rows of a query, as plain objects. */
function rowsOf(file: string, sql: string): Row[] {
  const database = new DatabaseSync(file, { readOnly: true });
  const rows = database.prepare(sql).all();
  database.close();
  return rows.map((row) => ({ ...row }));
}

const changeDatabase = (file: string, sql: string): void => {
  const database = new DatabaseSync(file);
  database.exec(sql);
  database.close();
};

const namesOf = (file: string): unknown[] =>
  rowsOf(file, 'select name from products order by name').map(({ name }) => name);

const MAX_IPS = 2;
const MAX_REFUSED = 90;
const PARALLEL = 6;

/** Creations of licenses, and validations that bind each one to as many addresses as it takes. */
class Load {
  /** Licenses whose creation and whose bindings have got a response. */
  readonly bound: number[] = [];
  /** Licenses that were asked for. */
  sent = 0;
  readonly failures: unknown[] = [];
  readonly #licet: Licet;
  readonly #productId: number;
  readonly #workers: Promise<void>[];
  #hasEnded = false;

  constructor(licet: Licet, productId: number) {
    this.#licet = licet;
    this.#productId = productId;
    this.#workers = Array.from({ length: PARALLEL }, (_, worker) => this.#work(worker));
  }

  async end(): Promise<void> {
    this.#hasEnded = true;
    await Promise.all(this.#workers);
  }

  async #work(worker: number): Promise<void> {
    const productId = this.#productId;
    for (let turn = 0; !this.#hasEnded; turn++) {
      try {
        this.sent++;
        const { id, licenseKey } = await this.#licet.licenses.create({
          productId,
          licenseType: 'PERMANENT',
          maxIPs: MAX_IPS,
        });
        // One more than the license allows, until the limit of refused validations is near.
        const hosts = this.sent < MAX_REFUSED ? [1, 2, 3] : [1, 2];
        const addresses = hosts.map((host) => `11.${worker}.${turn % 250}.${host}`);
        const responses = await Promise.all(
          addresses.map((ip) =>
            this.#licet.validate({ licenseKey, productId, ip, hwid: `disk ${id}` }),
          ),
        );
        const valid = responses.filter((response) => response.valid);
        if (valid.length !== MAX_IPS) this.failures.push(responses);
        this.bound.push(id);
      } catch (error) {
        this.failures.push(error);
      }
    }
  }
}

const FILLER = { notes: 'x'.repeat(9_500), perRequest: 90, requests: 8 };

/** Makes the database larger than what is copied at a time. */
async function fill(address: string, productId: number): Promise<void> {
  for (let request = 0; request < FILLER.requests; request++) {
    const items = Array.from({ length: FILLER.perRequest }, (_, index) => ({
      licenseKey: `FILLER-${request}-${index}`,
      productId,
      licenseType: 'PERMANENT',
      notes: FILLER.notes,
    }));
    const response = await fetch(`${address}/api/v2/import`, {
      method: 'POST',
      headers: { TOKEN: readRootToken() ?? '' },
      body: JSON.stringify({ kind: 'licenses', items }),
    });
    expect(response.status).toBe(200);
  }
}

const file = at('backups/shop.sqlite');
const restored = at('restored');

describe('a backup of a service under load', () => {
  let ended: Awaited<Watched['ended']>;
  let load: Load;
  let boundBefore: number[];
  let sentAtEnd: number;
  let license: License;
  let rotated: License;
  let history: LicenseRequest[];
  let secret: string;

  beforeAll(async () => {
    mkdirSync(at('backups'));
    const { service, licet } = await start(at('loaded'));
    const { id: productId } = await licet.products.create({ name: 'Before', productType: 'OTHER' });
    await fill(service.address, productId);
    license = await licet.licenses.create({ productId, licenseType: 'PERMANENT', maxIPs: 1 });
    const { licenseKey } = license;
    await licet.validate({ licenseKey, productId, ip: '192.0.2.1', hwid: 'disk 1' });
    history = await recordsOf(licet, licenseKey, 1);
    license = await licet.licenses.get(license.id);
    rotated = await licet.licenses.create({ productId, licenseType: 'PERMANENT' });
    await licet.licenses.rotate(rotated.id);
    secret = (await licet.tokens.create({ name: 'Shop', intents: ['LICENSES_READ'] })).token;

    load = new Load(licet, productId);
    await vi.waitFor(() => expect(load.bound.length).toBeGreaterThan(2 * PARALLEL), 20_000);
    boundBefore = [...load.bound];
    ended = await backUp(file, at('loaded'));
    sentAtEnd = load.sent;
    await load.end();
    await service.stop();
  });

  it('a backup of a service under load ends well, and says what is not in it', () => {
    expect(ended.code, ended.output).toBe(0);
    expect(ended.output).toContain(file);
    expect(ended.output).toContain('The root token is not in it');
  });

  it('a backup of a service under load disturbs no request', () => {
    expect(load.failures).toEqual([]);
    // The load went on during the backup.
    expect(sentAtEnd).toBeGreaterThan(boundBefore.length + PARALLEL);
  });

  it('a backup is one file for its owner alone', () => {
    expect(readdirSync(at('backups'))).toEqual(['shop.sqlite']);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    // Reading it adds no file: it has no write-ahead log.
    expect(rowsOf(file, 'pragma journal_mode')).toEqual([{ journal_mode: 'delete' }]);
  });

  it('a backup under load is consistent: every binding has its license, and no license has too many', () => {
    expect(rowsOf(file, 'pragma integrity_check')).toEqual([{ integrity_check: 'ok' }]);
    expect(rowsOf(file, 'pragma foreign_key_check')).toEqual([]);
    const excess = `select license_id from bindings join licenses on id = license_id
      where type = 'IP' group by license_id having count(*) > max_ips`;
    expect(rowsOf(file, excess)).toEqual([]);
  });

  it('a backup has all that was acknowledged before it began, and nothing that was not sent when it ended', () => {
    const found = rowsOf(
      file,
      `select id, (select count(*) from bindings where license_id = id and type = 'IP') as ips
      from licenses where notes = '' and id <> ${license.id}`,
    );
    expect(found.length).toBeLessThanOrEqual(sentAtEnd);
    const bindings = new Map(found.map(({ id, ips }) => [id, ips]));
    expect(boundBefore.map((id) => bindings.get(id))).toEqual(boundBefore.map(() => MAX_IPS));
  });

  it('a backup that is restored into a new folder is served with its ids, keys, former keys, bindings, tokens and history [7.3.11]', async () => {
    const output = await done(npmRun('restore', file, '--persist-to', restored));
    expect(output).toContain(restored);
    expect(output).not.toContain('previous');
    expect(statSync(databaseIn(restored)).mode & 0o777).toBe(0o600);

    const { service, licet } = await start(restored);
    expect(await licet.licenses.get(license.id)).toEqual(license);
    const { licenseKey, productId } = license;
    expect(await licet.requests.list({ licenseKey })).toEqual(history);
    const { id, licenseKey: former } = rotated;
    expect(await licet.licenses.list({ q: former })).toMatchObject([{ id }]);
    const shop = new Licet({ url: service.address, token: secret });
    expect(await shop.licenses.findByKey(licenseKey)).toEqual(license);
    const program = { licenseKey, productId, hwid: 'disk 1' };
    expect(await licet.validate({ ...program, ip: '192.0.2.1' })).toMatchObject({ valid: true });
    expect(await licet.validate({ ...program, ip: '192.0.2.2' })).toEqual({
      valid: false,
      message: 'Max IPs reached',
    });

    await licet.products.create({ name: 'Later', productType: 'OTHER' });
    const message = await failed(restore(file, restored));
    expect(message).toContain(`A service runs on ${restored}. Stop it`);
    expect(message).toContain(`The data in ${restored} is unchanged`);
    expect(namesOf(databaseIn(restored))).toEqual(['Before', 'Later']);
  });

  it('a backup is restored again after the service was killed, whose runtime goes on by itself', async () => {
    const runtime = Number(readFileSync(join(restored, 'workerd.pid'), 'utf8'));
    // Started without npm.
    await services.at(-1)?.killNpm();
    const again = await vi.waitFor(() => done(restore(file, restored)), 20_000);
    expect(() => process.kill(runtime, 0)).toThrow('ESRCH');
    const [kept = ''] = keptIn(restored);
    expect(again).toContain(kept);
    expect(namesOf(kept)).toEqual(['Before', 'Later']);
    expect(namesOf(databaseIn(restored))).toEqual(['Before']);
  });
});

/** A folder with the data of the backup, on which no service has run. */
function newHome(name: string): string {
  const database = join(at(name), relative(restored, databaseIn(restored)));
  mkdirSync(dirname(database), { recursive: true });
  copyFileSync(file, database);
  return at(name);
}

/** The database that a restore has kept. */
const keptIn = (folder: string): string[] =>
  globSync(join(folder, 'before-restore-*')).filter((name) => name.endsWith('.sqlite'));

/** Adds a product, and dies as in a power cut: it is in the write-ahead log alone. */
function addAndDie(database: string): void {
  const program = `
    const { DatabaseSync } = require('node:sqlite');
    const database = new DatabaseSync(${JSON.stringify(database)});
    database.exec(\`pragma journal_mode = wal;
      insert into products (name, product_type, default_max_ips, default_max_hwids, created_at, updated_at)
      values ('In the log', 'OTHER', 1, 1, 0, 0)\`);
    process.kill(process.pid, 'SIGKILL');`;
  expect(spawnSync(process.execPath, ['-e', program]).signal).toBe('SIGKILL');
  expect(existsSync(`${database}-wal`)).toBe(true);
}

describe('npm run restore', () => {
  it('npm run restore keeps the previous database with all its changes, and removes what was cached of it', async () => {
    const folder = newHome('replaced');
    const database = databaseIn(folder);
    addAndDie(database);
    const cache = join(folder, 'v3/kv');
    mkdirSync(join(cache, 'SNAPSHOTS'), { recursive: true });

    const output = await done(restore(file, folder));
    const [kept = '', ...others] = keptIn(folder);
    expect(others).toEqual([]);
    expect(output).toContain(kept);
    expect(namesOf(kept)).toEqual(['Before', 'In the log']);
    expect(statSync(kept).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(database, '..'))).toEqual([database.split('/').at(-1)]);
    expect(namesOf(database)).toEqual(['Before']);
    expect(existsSync(cache)).toBe(false);

    // The database that was kept is a backup as well.
    await done(restore(kept, folder));
    expect(namesOf(database)).toEqual(['Before', 'In the log']);
  });

  it('npm run restore replaces a damaged database, and keeps that as it is', async () => {
    const folder = newHome('damaged');
    const database = databaseIn(folder);
    addAndDie(database);
    writeFileSync(database, 'x'.repeat(100));
    await done(restore(file, folder));
    const [kept = ''] = keptIn(folder);
    expect(readFileSync(kept, 'utf8')).toBe('x'.repeat(100));
    expect(existsSync(`${kept}-wal`)).toBe(true);
    expect(namesOf(database)).toEqual(['Before']);
  });

  it('npm run restore waits for nobody who reads the database, and says so', async () => {
    const folder = newHome('read');
    const reader = new DatabaseSync(databaseIn(folder));
    reader.exec('pragma journal_mode = wal; begin; select * from products');
    expect(await failed(restore(file, folder))).toContain('in use by another program');
    reader.close();
    expect(keptIn(folder)).toEqual([]);
  });

  const pageAt = (offset: number) => (path: string) => {
    const bytes = readFileSync(path);
    bytes.fill('x', offset, offset + 4_096);
    writeFileSync(path, bytes);
  };
  const sql = (statements: string) => (path: string) => changeDatabase(path, statements);
  const spoilt: [what: string, spoil: (path: string) => void, told: string][] = [
    ['a text', (path) => writeFileSync(path, 'licenseKey\n'.repeat(100)), 'it is not an SQLite'],
    ['a backup with a damaged page', pageAt(4_096 * 20), 'it is damaged'],
    [
      'the database of another program',
      (path) => {
        rmSync(path);
        changeDatabase(path, 'create table licenses (id integer)');
      },
      'it has no tables of Licet',
    ],
    ['a backup without a table', sql('drop table bindings'), 'its table bindings is missing'],
    [
      'a backup of a later version',
      sql("insert into d1_migrations (name) values ('9999_later.sql')"),
      'its migration 9999_later.sql is not one of this version',
    ],
    ['nothing', (path) => truncateSync(path), 'it has no tables of Licet'],
    ['half a backup', (path) => truncateSync(path, 40_960), 'it is damaged'],
  ];
  const shown = isLong ? spoilt : spoilt.slice(0, -2);
  it.each(shown)('npm run restore rejects %s, and changes nothing', async (_what, spoil, told) => {
    const folder = at('refused');
    newHome('refused');
    const database = databaseIn(folder);
    const before = readFileSync(database);
    const wrong = at('wrong.sqlite');
    copyFileSync(file, wrong);
    spoil(wrong);
    const message = await failed(restore(wrong, folder));
    rmSync(wrong);
    expect(message).toContain(told);
    expect(message).toContain(`The data in ${folder} is unchanged`);
    expect(readFileSync(database).equals(before)).toBe(true);
    expect(readdirSync(join(database, '..'))).toEqual([database.split('/').at(-1)]);
    expect(keptIn(folder)).toEqual([]);
  });

  it('npm run restore says that a file is not there, or which one it needs', async () => {
    const missing = await restore(at('missing.sqlite'), at('nowhere'));
    expect(missing).toEqual({ code: 2, output: expect.stringContaining(at('missing.sqlite')) });
    expect(existsSync(at('nowhere'))).toBe(false);
    const none = await watch(launch('restore')).ended;
    expect(none).toEqual({ code: 2, output: expect.stringContaining('Give one FILE') });
  });
});

describe('npm run backup', () => {
  mkdirSync(at('target'));
  let folder: string;
  beforeAll(() => {
    folder = newHome('stopped');
  });

  it('a backup has no erased data, and neither has a database that is restored from it', async () => {
    const erased = newHome('erased');
    const [database, copy] = [databaseIn(erased), at('target/erased.sqlite')];
    const text = 'The notes of a person who is forgotten. ';
    const insert = `insert into products
      (name, description, product_type, default_max_ips, default_max_hwids, created_at, updated_at)
      values ('Erased', '${text.repeat(200)}', 'OTHER', 1, 1, 0, 0)`;
    changeDatabase(database, `${insert}; delete from products where name = 'Erased'`);
    expect(readFileSync(database, 'latin1')).toContain(text);
    await done(backUp(copy, erased));
    expect(readFileSync(copy, 'latin1')).not.toContain(text);
    await done(restore(copy, erased));
    expect(readFileSync(databaseIn(erased), 'latin1')).not.toContain(text);
    rmSync(copy);
  });

  it.runIf(existsSync('/proc/self'))(
    'a backup and a restore end at once where no file and no folder can be made',
    async () => {
      const copy = at('target/unwritable.sqlite');
      await done(backUp(copy, folder));
      const reason = 'no such file or directory';
      expect(await failed(backUp('/proc/licet.sqlite', folder))).toContain(reason);
      expect(await failed(restore(copy, '/proc/licet'))).toContain(
        `✗ The folder /proc/licet cannot be used: ${reason}.`,
      );
      rmSync(copy);
    },
  );

  it('npm run backup prints how to restore the same folder', async () => {
    const copy = at('target/hint.sqlite');
    const { output } = await watch(launch('backup', copy, '--persist-to', folder)).ended;
    expect(output).toContain(`To restore it: npm run restore -- ${copy} --persist-to ${folder}\n`);
    rmSync(copy);
  });

  it('npm run backup leaves a file that exists as it is', async () => {
    const existing = at('target/existing.sqlite');
    writeFileSync(existing, 'precious');
    expect(await failed(backUp(existing, folder))).toContain(`${existing} exists`);
    expect(readFileSync(existing, 'utf8')).toBe('precious');
    rmSync(existing);
  });

  it.each<[args: string[], told: string]>([
    [[], 'Give one FILE, such as'],
    [['one', 'two'], 'Give one FILE, such as'],
    // test/cli/export.test.ts has others of these.
    [[at('target')], `${at('target')} is a folder`],
  ])('npm run backup rejects %j as its file', async (args, told) => {
    const ended = await watch(launch('backup', ...args, '--persist-to', folder)).ended;
    expect(ended).toEqual({ code: 2, output: expect.stringContaining(told) });
  });

  it('npm run backup says that a folder has no database', async () => {
    const message = await failed(backUp(at('target/none.sqlite'), at('empty')));
    expect(message).toContain(at('empty'));
    expect(message).toContain('--persist-to DIR');
    expect(existsSync(at('empty'))).toBe(false);
  });

  it('a backup has the changes that are in the write-ahead log alone, also where there are several databases', async () => {
    const several = newHome('several');
    const database = databaseIn(several);
    addAndDie(database);
    for (const name of ['0'.repeat(64), 'f'.repeat(64)]) {
      copyFileSync(file, join(dirname(database), `${name}.sqlite`));
    }
    await done(backUp(at('target/several.sqlite'), several));
    expect(namesOf(at('target/several.sqlite'))).toEqual(['Before', 'In the log']);
    rmSync(at('target/several.sqlite'));
  });

  it('npm run backup writes no backup of a damaged database', async () => {
    const damaged = newHome('to-damage');
    const bytes = readFileSync(databaseIn(damaged));
    bytes.fill('x', 4_096 * 20, 4_096 * 21);
    writeFileSync(databaseIn(damaged), bytes);
    const message = await failed(backUp(at('target/damaged.sqlite'), damaged));
    expect(message).toContain('damaged.sqlite: it is damaged');
    expect(readdirSync(at('target'))).toEqual([]);
  });

  const inSmallDisk = (...command: string[]) =>
    spawnSync(
      'unshare',
      [
        ...['--user', '--map-root-user', '--mount', 'sh', '-c'],
        'mount -t tmpfs -o size=1m none "$0" && { "$@"; status=$?; ls -A "$0"; exit $status; }',
        ...[at('target'), ...command],
      ],
      { encoding: 'utf8' },
    );
  const hasSmallDisk = canRun(
    inSmallDisk('true').status === 0,
    'unshare with the right to mount',
    'npm run backup on a disk that is full',
  );
  it.skipIf(!hasSmallDisk)('npm run backup leaves nothing on a disk that is full', () => {
    const backup = ['scripts/backup.ts', at('target/full.sqlite'), '--persist-to', folder];
    const { status, stdout, stderr } = inSmallDisk(process.execPath, ...backup);
    expect(stderr).toMatch(/^✗ .+: no space is left on the device\.\n$/);
    expect(stdout).toBe('');
    expect(status).toBe(1);
  });

  /** A folder whose database takes a while to copy, and little to check. */
  function largeHome(): string {
    const large = at('large');
    if (existsSync(large)) return large;
    newHome('large');
    const statements =
      'pragma journal_mode = wal; create table filler as select zeroblob(150000000); create table written (id)';
    changeDatabase(databaseIn(large), statements);
    return large;
  }

  it('npm run backup ends although another process writes without a pause', async () => {
    const database = databaseIn(largeHome());
    const program = `
      const { DatabaseSync } = require('node:sqlite');
      const database = new DatabaseSync(${JSON.stringify(database)}, { timeout: 1000 });
      const insert = database.prepare('insert into written values (1)');
      for (let count = 0; ; count++) {
        insert.run();
        if (count === 100) console.log('writes');
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
      }`;
    const writer = spawnGroup(process.execPath, ['-e', program]);
    const { printed, ended } = watch(writer);
    await printed('writes');
    await done(backUp(at('target/written.sqlite'), at('large')));
    writer.kill();
    // An error would have ended it with a status.
    expect(await ended).toEqual({ code: null, output: 'writes\n' });
    const count = (file: string) => Number(rowsOf(file, 'select count(*) as n from written')[0]?.n);
    expect(count(at('target/written.sqlite'))).toBeGreaterThan(100);
    expect(count(database)).toBeGreaterThan(count(at('target/written.sqlite')));
    rmSync(at('target/written.sqlite'));
  });

  // test/cli/export.test.ts has the other signals.
  it('a backup leaves nothing when it is stopped by a signal', async () => {
    const large = largeHome();
    const child = launch('backup', at('target/stopped.sqlite'), '--persist-to', large);
    const { ended } = watch(child);
    await vi.waitFor(() => expect(readdirSync(at('target'))).toHaveLength(1), {
      timeout: 20_000,
      interval: 1,
    });
    child.kill('SIGTERM');
    expect(await ended).toEqual({ code: 143, output: '✗ Stopped: no backup was written.\n' });
    expect(readdirSync(at('target'))).toEqual([]);
  });
});
