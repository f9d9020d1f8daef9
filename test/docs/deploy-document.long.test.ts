import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { consoleUrl } from '@licet/cli/console-link';
import { readRootToken } from '@licet/cli/root-token';
import { type License, type LicenseRequest, Licet } from '@licet/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tablesOf } from '../../scripts/local/copy.ts';
import { findDatabase } from '../../scripts/local/database.ts';
import { logInAt } from '../node/log-in.ts';
import { newFolder, npmRunDev, type RunningService, startService } from '../node/service.ts';
import { recordsOf } from '../node/shop.ts';

/** The backup and the restore of docs/deploy.md, by the commands that are printed there. */

const folder = newFolder();
afterAll(() => rmSync(folder, { recursive: true }));

const document = readFileSync('docs/deploy.md', 'utf8');
const inline = [...document.matchAll(/`((?:npx|npm|openssl) [^`]+)`/g)].map(
  ([, text = '']) => text,
);
const blocks = [...document.matchAll(/```sh\n(.*?)```/gs)].map(([, text = '']) => text.trim());
const commands = [...blocks.flatMap((block) => block.split('\n')), ...inline].flatMap((line) =>
  line.split(' && '),
);

describe('backup and restore', () => {
  /** A folder with the settings, and the data of the service that runs where wrangler looks for them. */
  const home = join(folder, 'home');
  const source = join(folder, 'source');
  const restored = join(folder, 'restored');
  const local = inline.filter((command) => command.includes(' --local '));
  const [exportCommand = '', restoreCommand = ''] = local;

  const wrangler = (command: string): string =>
    execFileSync('bash', ['-c', command.replace('npx ', '').replace('DIR', restored)], {
      cwd: home,
      encoding: 'utf8',
      stdio: 'pipe',
    });

  /** The schema and all rows of a database, without the platform's own tables. */
  function contentOf(stateFolder: string) {
    const file = findDatabase(stateFolder);
    if (file === undefined) throw new Error(`No database in ${stateFolder}`);
    const database = new DatabaseSync(file, { readOnly: true });
    const schema =
      "select type, name, sql from sqlite_schema where name not like '_cf_%' order by name";
    const entries = database.prepare(schema).all();
    const tables = entries.filter(({ type }) => type === 'table');
    const rows = tables.map(({ name }) => database.prepare(`select * from ${name}`).all());
    database.close();
    return { entries, rows };
  }

  const token = readRootToken();
  const NOTES = "two\n);\nlines; it's -- no comment /*";
  const REFUSED = 'NO-SUCH-KEY; it\'s "quoted"';
  let license: License;
  let deleted: Awaited<ReturnType<typeof create>>;
  let history: LicenseRequest[];
  let secret: string;
  let exported: string;
  let service: RunningService | undefined;

  const validate = (client: Licet, licenseKey: string, ip: string) =>
    client.validate({ licenseKey, productId: license.productId, ip, hwid: 'server-1' });

  /** The records of the license, as soon as there are so many, and that of the unknown key. */
  async function historyOf(client: Licet, count: number): Promise<LicenseRequest[]> {
    const ofLicense = await recordsOf(client, license.licenseKey, count);
    return [...ofLicense, ...(await recordsOf(client, REFUSED, 1))];
  }

  /** Creates a product, with a license and a blacklist entry. */
  async function create(client: Licet) {
    const product = await client.products.create({ name: 'Restored', productType: 'OTHER' });
    const { id: productId } = product;
    const owned = await client.licenses.create({
      productId,
      licenseType: 'PERMANENT',
      maxIPs: 1,
      ownerChatId: '90071992547409931',
      notes: NOTES,
    });
    const entry = await client.blacklists.create({
      licenseDataType: 'IP',
      data: '203.0.113.7',
      isForAllProducts: false,
      productId,
    });
    return { product, license: owned, entry };
  }

  beforeAll(async () => {
    // It has a way to run the scheduled handler of another day.
    service = await npmRunDev(source);
    const url = service.address;
    const client = new Licet({ url, token });
    await client.webhooks.create({ url: 'https://receiver.example/licet' });
    const market = await client.markets.create({ kind: 'tebex', name: 'Tebex' });
    ({ license } = await create(client));
    await client.purchases.create({
      marketId: market.id,
      item: '1',
      reference: '2',
      licenseId: license.id,
    });
    // Its replaced key has a row, too.
    license = await client.licenses.rotate(license.id);
    deleted = await create(client);
    await client.blacklists.delete(deleted.entry.id);
    await client.licenses.delete(deleted.license.id);
    await client.products.delete(deleted.product.id);
    secret = (await client.tokens.create({ name: 'Restored', intents: ['LICENSES_READ'] })).token;
    await validate(client, license.licenseKey, '198.51.100.1');
    await validate(client, REFUSED, '198.51.100.1');
    history = await historyOf(client, 1);
    license = await client.licenses.get(license.id);
    // The tables of the scheduled handler are filled when a day is over.
    const inTwoDays = Date.now() + 2 * 24 * 60 * 60 * 1000;
    await fetch(`${url}/cdn-cgi/handler/scheduled?time=${inTwoDays}`);
    const page = await consoleUrl(new URL(url), token ?? '');
    expect((await logInAt(page, token)).statusCode).toBe(204);
    await service.stop();

    mkdirSync(join(home, '.wrangler'), { recursive: true });
    copyFileSync('wrangler.toml', join(home, 'wrangler.toml'));
    symlinkSync(resolve('drizzle'), join(home, 'drizzle'));
    symlinkSync(source, join(home, '.wrangler', 'state'));
    const remote = exportCommand.replace('--local', '--remote');
    const block = blocks.find((text) => text.includes(remote)) ?? '';
    wrangler(block.replace(remote, exportCommand));
    exported = readFileSync(join(home, 'backup.sql'), 'utf8');
    wrangler(restoreCommand);
  });
  afterAll(() => service?.stop());

  it('an export is made and restored on D1 by the commands that work on this machine', () => {
    expect(local).toHaveLength(2);
    expect(commands).toContain(exportCommand.replace('--local', '--remote'));
    expect(commands).toContain(
      restoreCommand.replace('licet --local --persist-to DIR', 'licet-restored --remote'),
    );
  });

  it('an export is readable by its owner alone', () => {
    expect(statSync(join(home, 'backup.sql')).mode & 0o777).toBe(0o600);
  });

  it('an export has every table, and rows of each table that is not empty', () => {
    const tables = tablesOf(globSync('*.sql', { cwd: 'drizzle' }).sort());
    expect(tables).toContain('requests');
    const unused = ['alerts', 'daily_counts', 'daily_rollups', 'gaps', 'idempotency_keys'];
    const ofMarkets = ['market_deliveries', 'market_orders'];
    const ofMails = ['mail_blocks', 'mails'];
    const ofDiscord = [
      'discord_claims',
      'discord_interactions',
      'discord_link_codes',
      'discord_roles',
    ];
    const ofThePage = [
      'page_links',
      'page_sessions',
      'portal_codes',
      'portal_sessions',
      'self_resets',
      'settings',
    ];
    const empty = [
      ...unused,
      ...ofMarkets,
      ...ofMails,
      ...ofDiscord,
      ...ofThePage,
      'grants',
      'outbox',
      'violations',
    ];
    for (const name of tables)
      expect(exported).toMatch(new RegExp(`CREATE TABLE (IF NOT EXISTS )?.?${name}\\b`));
    const rows = [...exported.matchAll(/^INSERT INTO "(\w+)"/gm)].map(([, name]) => name);
    expect(new Set([...rows, ...empty])).toEqual(
      new Set([...tables, 'd1_migrations', 'sqlite_sequence']),
    );
  });

  it('a restored database has the schema and all rows of the database that was exported', () => {
    expect(contentOf(restored)).toEqual(contentOf(source));
  });

  it('wrangler finds no migration to apply to a restored database', () => {
    const apply = 'wrangler d1 migrations apply licet --local --persist-to DIR';
    expect(wrangler(apply)).toContain('No migrations to apply');
  });

  it('a service on a restored database validates, lists the history and gives out no id again', async () => {
    service = await startService(restored);
    const licet = new Licet({ url: service.address, token });
    expect(await licet.licenses.get(license.id)).toEqual(license);
    expect(license).toMatchObject({ notes: NOTES, ips: ['198.51.100.1'], totalRequests: 1 });
    expect(await historyOf(licet, 1)).toEqual(history);
    const [found] = await new Licet({ url: service.address, token: secret }).licenses.list({
      q: license.licenseKey,
    });
    expect(found).toEqual(license);

    expect(await validate(licet, license.licenseKey, '198.51.100.1')).toMatchObject({
      valid: true,
      totalRequests: 2,
    });
    const refusal = { valid: false, message: 'Max IPs reached' };
    expect(await validate(licet, license.licenseKey, '198.51.100.2')).toEqual(refusal);
    expect(await historyOf(licet, 3)).toEqual(expect.arrayContaining(history));

    const created = await create(licet);
    expect(created.product.id).toBeGreaterThan(deleted.product.id);
    expect(created.license.id).toBeGreaterThan(deleted.license.id);
    expect(created.entry.id).toBeGreaterThan(deleted.entry.id);
  });
});
