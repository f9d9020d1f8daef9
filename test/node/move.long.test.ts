import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { request as httpRequest, type RequestListener } from 'node:http';
import { join } from 'node:path';
import { readRootToken } from '@licet/cli/root-token';
import { type License, Licet } from '@licet/client';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { deployVariables, LINKED, linkProject, TLS } from '../cli/deploy-folder.ts';
import { type FakeCloudflare, startFakeCloudflare } from '../cli/fake-cloudflare.ts';
import { listen, ownFolder } from './own.ts';
import { argsOfScript, type RunningService, startService, type Watched, watch } from './service.ts';

/**
 * The way up, from one machine to Cloudflare: npm run export, npm run deploy, npm run import. A second service
 * on this machine responds at the address that the deployment has at the fake Cloudflare.
 */

const root = ownFolder();
const at = (name: string): string => join(root, name);
const home = at('deployed');
const shop = at('shop.jsonl');

let machine: RunningService;
let deployed: RunningService;
let cloudflare: FakeCloudflare;

/** The edge: takes TLS off, and passes requests on. */
const passOn: RequestListener = (request, response) => {
  const { method, url, headers } = request;
  const passed = httpRequest(`${deployed.address}${url}`, { method, headers }, (passed) => {
    response.writeHead(passed.statusCode ?? 502, passed.headers);
    passed.pipe(response);
  });
  passed.on('error', () => response.destroy());
  request.pipe(passed);
};

let address: string;
beforeAll(async () => {
  [machine, deployed, cloudflare] = await Promise.all([
    startService(at('machine')),
    startService(at('cloudflare')),
    startFakeCloudflare(),
  ]);
  address = await listen(passOn, TLS);

  mkdirSync(home);
  cpSync('drizzle', join(home, 'drizzle'), { recursive: true });
  linkProject(home);
  const route = `routes = [{ pattern = "${address.replace('https://', '')}/*", zone_id = "zone" }]`;
  const queue = '\n[[queues.producers]]\nbinding = "RECORDS"\nqueue = "licet-records"\n';
  writeFileSync(
    join(home, 'wrangler.toml'),
    `${route}\n${readFileSync('wrangler.toml', 'utf8')}${queue}`,
  );
  // The second service has the root token of this folder: the deployment gets the same.
  writeFileSync(join(home, '.root-token.licet'), `ROOT_TOKEN=${readRootToken()}\n`, {
    mode: 0o600,
  });
});
afterAll(async () => {
  await Promise.all([machine.stop(), deployed.stop()]);
});

/** Runs a command of the project in the folder from which it is deployed. */
function run(script: string, args: string[], env: NodeJS.ProcessEnv = {}): Watched['ended'] {
  const child = spawn(process.execPath, [...argsOfScript(script), ...args], {
    cwd: home,
    stdio: 'pipe',
    env: {
      ...deployVariables(home),
      CLOUDFLARE_API_BASE_URL: cloudflare.url,
      NO_COLOR: '1',
      LICET_URL: undefined,
      ...env,
    },
  });
  return watch(child).ended;
}

const licetAt = ({ address: url }: RunningService): Licet =>
  new Licet({ url, token: readRootToken() });

/** A shop as it is after a while: with owners, bindings, requests, and licenses in every state. */
async function sell(): Promise<License> {
  const licet = licetAt(machine);
  // Ids that do not begin with 1, and have gaps.
  const { id: gone } = await licet.products.create({ name: 'Gone', productType: 'OTHER' });
  await licet.products.delete(gone);
  const { id: productId } = await licet.products.create({ name: 'Sold', productType: 'OTHER' });
  const licenses: License[] = [];
  for (const owner of ['1', '2', '3', '4']) {
    licenses.push(
      await licet.licenses.create({
        productId,
        licenseType: 'PERMANENT',
        maxIPs: 2,
        ownerChatId: `9007199254740993${owner}`,
      }),
    );
  }
  for (const { licenseKey } of licenses) {
    for (const host of [1, 2, 3]) {
      await licet.validate({ licenseKey, productId, ip: `192.0.2.${host}`, hwid: 'disk 1' });
    }
  }
  const [, , third, fourth] = licenses;
  if (!third || !fourth) throw new Error('no licenses');
  await licet.licenses.update(third.id, { licenseStatus: 'DEACTIVATED' });
  await licet.licenses.delete(fourth.id);
  await licet.blacklists.create({
    licenseDataType: 'IP',
    data: '203.0.113.0/24',
    isForAllProducts: true,
  });
  // Records are stored within two seconds.
  const [license] = await vi.waitFor(
    async () => {
      const ids = licenses.map(({ id }) => id);
      const stored = await Promise.all(ids.map((id) => licet.licenses.get(id)));
      expect(stored.map(({ totalRequests }) => totalRequests)).toEqual([3, 3, 3, 3]);
      return stored;
    },
    { timeout: 10_000 },
  );
  if (!license) throw new Error('no license');
  return license;
}

/** The npm scripts that docs/one-machine.md names for it, with their arguments. */
const commandsFor = (url: string): { script: string; args: string[] }[] =>
  [
    ...readFileSync('docs/one-machine.md', 'utf8').matchAll(
      /^npm run (export|deploy|import)(?: -- (.+))?$/gm,
    ),
  ].map(([, script = '', args = '']) => ({
    script,
    args: args
      .replace('shop.jsonl', shop)
      .replace('https://license.example.com', url)
      .split(' ')
      .filter(Boolean),
  }));

/** A file, or the files in a folder and below it. */
const filesIn = (path: string): string[] =>
  statSync(path).isFile() ? [path] : readdirSync(path).flatMap((name) => filesIn(join(path, name)));

describe('a shop that moves from one machine to Cloudflare', () => {
  let license: License;
  let exported: string;
  let deployOutput: string;

  it('three commands export, deploy and import a shop', { timeout: 150_000 }, async () => {
    license = await sell();
    const [exporting, deploying, importing, ...others] = commandsFor(address);
    if (!exporting || !deploying || !importing) throw new Error('The document lacks a command');
    expect(others).toEqual([]);
    const one = await run(exporting.script, [...exporting.args, '--url', machine.address], {
      LICET_TOKEN: readRootToken(),
    });
    expect(one.code, one.output).toBe(0);
    exported = readFileSync(shop, 'utf8');

    const two = await run(deploying.script, deploying.args);
    expect(two.output).toContain(`Licet runs on ${address}`);
    expect(two.output).toContain('All is well.');
    expect(two.code).toBe(0);
    deployOutput = two.output;

    const three = await run(importing.script, importing.args, {
      LICET_TOKEN: readRootToken(join(home, '.root-token.licet')),
    });
    expect(three.output).toContain(`✓ All items are now in ${address}.\n`);
    expect(three.code).toBe(0);
  });

  it('a shop on Cloudflare has the resources, the migrations and the root token that npm run deploy set up', () => {
    const { databases, namespaces, changes, worker } = cloudflare;
    const database = databases.get('licet');
    // The fake executes the SQL: the tables and their first rows exist.
    const counters = database?.sqlite.prepare('select name from counters').all();
    expect(counters).not.toEqual([]);
    const applied = database?.sqlite.prepare('select name from d1_migrations order by id').all();
    const migrations = readdirSync('drizzle').filter((name) => name.endsWith('.sql'));
    expect(applied?.map(({ name }) => name)).toEqual(migrations);
    expect(changes.findLastIndex((change) => change.endsWith('/query'))).toBeLessThan(
      changes.indexOf('PUT /workers/scripts/licet'),
    );
    // That of an earlier version is in wrangler.toml.
    expect(worker?.bindings.filter(({ type }) => type === 'queue')).toEqual([]);
    const token = readRootToken();
    const bound = [
      { type: 'd1', name: 'DB', id: database?.id },
      { type: 'kv_namespace', name: 'SNAPSHOTS', namespace_id: namespaces.get('licet-snapshots') },
      { type: 'plain_text', name: 'REQUEST_RETENTION_DAYS', text: '90' },
      { type: 'secret_text', name: 'ROOT_TOKEN', text: token },
    ].map((binding) => expect.objectContaining(binding));
    expect(worker?.bindings).toEqual(expect.arrayContaining(bound));
    expect(worker?.bindings.filter(({ type }) => type === 'secret_text')).toHaveLength(3);
    // The token is in its file alone: not in the output, nor in a log of wrangler.
    if (token === undefined) throw new Error('no token');
    expect(deployOutput).not.toContain(token);
    const own = readdirSync(home).filter((name) => !LINKED.includes(name));
    const written = own.map((name) => join(home, name)).flatMap(filesIn);
    expect(written.filter((file) => readFileSync(file, 'utf8').includes(token))).toEqual([
      join(home, '.root-token.licet'),
    ]);
  });

  it('a shop has the same ids, keys, bindings, owners, dates, states and totals after its move', async () => {
    const again = await run('export', [at('again.jsonl'), '--url', deployed.address], {
      LICET_TOKEN: readRootToken(),
    });
    expect(again.code, again.output).toBe(0);
    expect(exported.match(/"license":/g)).toHaveLength(4);
    expect(readFileSync(at('again.jsonl'), 'utf8')).toBe(exported);
    expect(await licetAt(deployed).licenses.get(license.id)).toEqual(license);
  });

  it('a shop goes on after its move where it was: bound addresses get in, and no others', async () => {
    const { licenseKey, productId } = license;
    const validate = (ip: string) =>
      licetAt(deployed).validate({ licenseKey, productId, ip, hwid: 'disk 1' });
    expect(await validate('192.0.2.2')).toMatchObject({ valid: true, totalRequests: 4 });
    expect(await validate('192.0.2.3')).toEqual({ valid: false, message: 'Max IPs reached' });
    expect(await validate('203.0.113.9')).toEqual({
      valid: false,
      message: 'IP address is blacklisted',
    });
  });
});
