import { spawn, spawnSync } from 'node:child_process';
import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { Import } from '@licet/cli/import/importer';
import { KINDS, type Kind, type Source } from '@licet/cli/import/kinds';
import { Report } from '@licet/cli/import/report';
import { rejection } from '@licet/cli/import/results';
import { Service } from '@licet/cli/import/service';
import { readRootToken } from '@licet/cli/root-token';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listen, listenWith, ownFolder } from '../node/own.ts';
import { argsOfScript, type RunningService, startService } from '../node/service.ts';
import { sharedService } from '../node/shared-service.ts';
import { isLong } from '../support/long.ts';
import {
  type Fields,
  licenseOf,
  lines,
  numbers,
  parseLines,
  productOf,
  writeShop,
} from './items.ts';
import { type Ending, type Environment, endingOf, runHere, startCommand } from './run-command.ts';

/** npm run import. test/cli/import-files.test.ts has the files, test/cli/export.test.ts the export. */

/** A whole shop takes minutes. */
const LICENSES = isLong ? 100_000 : 1_000;
const LONG_MS = 180_000 + LICENSES * 10;
const NOTES = 'Bought in the summer sale. '.repeat(LICENSES > 1_000 ? 2 : 360);

/** All that is held of what is under way; the whole shop would not fit. */
const HEAP_MEGABYTES = 24;
const MAX_RSS_MEGABYTES = 160;

const folder = ownFolder();
const at = (name: string): string => join(folder, name);
let service: RunningService;
beforeAll(async () => {
  service = await startService(at('service'));
});
afterAll(() => service.stop());

/** Makes a process print its largest memory when it ends. */
const MEMORY_HOOK = `data:text/javascript,process.on("exit",()=>console.error("\\nmaxRSS "+process.resourceUsage().maxRSS))`;

/** Starts a command as a process of its own, which has little memory. */
const startWithLittleMemory = (tool: 'import' | 'export', args: readonly string[]) =>
  startCommand(tool, args, {}, [
    `--max-old-space-size=${HEAP_MEGABYTES}`,
    // V8 takes as much as it likes for young objects. With this limit, the process has what it holds.
    '--max-semi-space-size=2',
    '--import',
    MEMORY_HOOK,
  ]);

const imports = (args: readonly string[], env?: Environment): Promise<Ending> =>
  runHere('import', ['--url', service.address, ...args], env);

/** Imports into something in the place of a service. */
const importsInto = (to: string, ...args: readonly string[]): Promise<Ending> =>
  runHere('import', ['--url', to, ...args], { LICET_TOKEN: 'a-token' });

/** Imports what must be accepted. @returns the output */
async function imported(args: readonly string[], env?: Environment): Promise<string> {
  const { code, output } = await imports(args, env);
  expect(code, output).toBe(0);
  return output;
}

/** The counts of a kind in the final table: created, unchanged, kept, refused. */
const countsIn = (output: string, kind: string): number[] =>
  (new RegExp(`^${kind} +(.*)$`, 'm').exec(output)?.[1] ?? '')
    .split(/ +/)
    .map((count) => Number(count.replaceAll(',', '')));

async function api(path: string, body?: object): Promise<Response> {
  return fetch(`${service.address}/api${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { TOKEN: readRootToken() ?? '' },
    ...(body && { body: JSON.stringify(body) }),
  });
}

const createProducts = (...ids: number[]) =>
  api('/v2/import', { kind: 'products', items: ids.map((id) => productOf(id)) });

async function licenseWith(key: string): Promise<Fields> {
  const response = await api(`/v2/licenses/by-license-key/${encodeURIComponent(key)}`);
  const license: Fields = JSON.parse(await response.text());
  return license;
}

async function totals(): Promise<Record<string, string | null>> {
  const entries = KINDS.map(async (kind): Promise<[string, string | null]> => {
    const { headers } = await api(`/v2/${kind}?limit=1`);
    return [kind, headers.get('X-Total-Count')];
  });
  return Object.fromEntries(await Promise.all(entries));
}

const write = (name: string, text: string): string => {
  writeFileSync(at(name), text);
  return at(name);
};

/** Writes a file with one new product. */
const writeProduct = (id: number): string =>
  write(`${id}.jsonl`, lines([{ product: productOf(id) }, { end: { products: 1 } }]));

const reportedIn = (name: string): unknown[] => parseLines(readFileSync(at(name), 'utf8'));

/** The service behind something that may keep a request or its response from it. */
const disturbed = (
  disturb: (request: IncomingMessage, nth: number) => 'none' | 'busy' | 'lost' | undefined,
): Promise<string> => {
  let requests = 0;
  return listen(async (request, response) => {
    const fault = disturb(request, ++requests);
    const body: Buffer[] = [];
    for await (const chunk of request) body.push(chunk);
    if (fault === 'busy') {
      response.writeHead(503).end('<html>Busy</html>');
      return;
    }
    const passed = await fetch(`${service.address}${request.url}`, {
      method: request.method ?? 'GET',
      headers: { TOKEN: String(request.headers.token) },
      ...(request.method === 'POST' && { body: Buffer.concat(body) }),
    });
    const text = await passed.text();
    if (fault === 'lost') request.socket.destroy();
    else response.writeHead(passed.status).end(text);
  });
};

it('a whole shop is imported and exported with little memory, also after an interruption', {
  tags: 'long',
  timeout: LONG_MS,
}, async () => {
  const shop = at('shop.jsonl');
  writeShop(shop, LICENSES, NOTES);

  let stop = (): unknown => undefined;
  const half = Math.ceil(LICENSES / 200);
  const behind = await disturbed((request, nth) => {
    if (request.method === 'POST' && nth > half) stop();
    return 'none';
  });
  const child = startWithLittleMemory('import', [shop, '--url', behind]);
  stop = () => child.kill('SIGINT');
  const interrupted = await endingOf(child);
  expect(interrupted.output).toContain('Run the same command again');
  expect(interrupted.code).toBe(130);
  const interruptedAt = Number((await totals()).licenses);
  expect(interruptedAt).toBeGreaterThan(0);
  expect(interruptedAt).toBeLessThan(LICENSES * 0.8);

  const importing = startWithLittleMemory('import', [shop, '--url', service.address]);
  const first = await endingOf(importing);
  expect(first.code, first.output).toBe(0);
  const [created = 0, unchanged = 0, ...others] = countsIn(first.output, 'licenses');
  expect([created + unchanged, ...others]).toEqual([LICENSES, 0, 0]);

  const again = [at('again.jsonl'), '--url', service.address];
  const second = await endingOf(startWithLittleMemory('export', again));
  expect(second.code, second.output).toBe(0);
  expect(second.output).toContain(`${LICENSES.toLocaleString('en')} licenses`);
  expect(statSync(at('again.jsonl')).mode & 0o077).toBe(0);

  for (const { output } of [first, second]) {
    const rssMegabytes = Number(/maxRSS (\d+)/.exec(output)?.[1]) / 1024;
    expect(rssMegabytes).toBeLessThan(MAX_RSS_MEGABYTES);
  }
});

it('the summary of an import counts the customers that it creates as owners of licenses', {
  tags: 'long',
}, async () => {
  const licenses = numbers(250).map((n) => ({
    ...{ licenseKey: `owned ${n}`, productId: 9_050, licenseType: 'PERMANENT' },
    customer: { email: `owner${n % 120}@shop.example` },
  }));
  const shop = { products: [productOf(9_050)], customers: [], licenses, blacklists: [] };
  const file = write('owned.json', JSON.stringify(shop));
  const dry = await imports([file, '--dry-run']);
  expect(dry.output).toMatch(/^Customers created: at most \d+ as owners of licenses\.$/m);
  const { code, output } = await imports([file]);
  expect(code, output).toBe(0);
  expect(countsIn(output, 'customers')).toEqual([120, 0, 0, 0]);
  expect(output).toContain('Customers created: 120 as owners of licenses.');
  const again = await imports([file]);
  expect(countsIn(again.output, 'customers')).toEqual([0, 0, 0, 0]);
  expect(again.output).not.toContain('Customers created');
});

it('a faulty network delays an import, which reports it and stores each item once', {
  tags: 'long',
}, async () => {
  const licenses = numbers(450).map((n) => ({
    license: licenseOf(n, { id: null, licenseKey: `net ${n}`, productId: 9_000 }),
  }));
  const end = { products: 1, licenses: 450 };
  const file = write('net.jsonl', lines([{ product: productOf(9_000) }, ...licenses, { end }]));
  const faults = ['none', 'none', 'busy', 'lost', 'none', 'none', 'busy', 'lost'] as const;
  const behind = await disturbed((_, nth) => faults[nth]);
  const { code, output } = await runHere('import', [file, '--url', behind]);
  expect(code, output).toBe(0);
  for (const fault of ['status 503', 'no response']) {
    expect(output).toMatch(new RegExp(`${behind}/api/v2/import: ${fault}; .*\\(try \\d of 8\\)`));
  }
  const [created = 0, unchanged = 0, ...others] = countsIn(output, 'licenses');
  expect([created + unchanged, ...others]).toEqual([450, 0, 0]);
  expect(unchanged).toBeGreaterThan(0);
  const stored = await Promise.all(
    ['', '?licenseStatus=DELETED'].map((query) => api(`/v2/licenses/by-product-id/9000${query}`)),
  );
  const lists = await Promise.all(stored.map((list) => list.text()));
  expect(lists.map((list) => list.match(/"licenseKey"/g)?.length ?? 0)).toEqual([450 - 64, 64]);
});

describe('an import from another service of the interface', () => {
  /** It knows no pages and no filters, shows DELETED licenses, and has fields of its own. */
  const lists: Record<string, object[]> = {
    products: [{ ...productOf(9_100), defaultMaxIPs: '3', internalId: 'p-1', roleId: null }],
    customers: [
      { id: 900_100, email: 'eve@shop.example', passwordHash: '$2b$10$secret', coins: 5 },
    ],
    licenses: [
      {
        ...{ id: 900_101, licenseKey: 'abc-OLD-1', productId: '9100', licenseType: 'PERMANENT' },
        ...{ maxIPs: '2', maxHWIDs: null, licenseStatus: 'ACTIVE', totalRequests: null },
        ...{ ips: ['192.0.2.1', 'Unknown'], hwids: null, notes: null, ownerChatId: 4711 },
        ...{ createdDate: '2018-01-02T03:04:05Z', updatedDate: null, expiryDate: null },
        customer: { id: 900_100, email: 'eve@shop.example' },
      },
      {
        ...{ id: 900_102, licenseKey: 'abc-OLD-2', productId: 9_100, licenseType: 'TEMPORARY' },
        ...{ expiryDate: '2020-01-01T00:00:00', licenseStatus: 'DELETED', seats: 5 },
      },
    ],
    blacklists: [{ id: 1, licenseDataType: 'IP', data: '203.0.113.7', isForAllProducts: true }],
  };
  let from: string;
  beforeAll(async () => {
    from = await listen((request, response) => {
      const [, kind = ''] = /\/api\/v2\/(\w+)/.exec(request.url ?? '') ?? [];
      if (request.headers.token !== 'the-old-token') response.writeHead(401).end();
      else response.end(kind === 'ping' ? 'pong' : JSON.stringify(lists[kind]));
    });
  });

  it('an import from another service stores what it knows, and reports the ignored fields and changed values', async () => {
    const args = ['--from', `${from}/`, '--report', at('other.report')];
    const output = await imported(args, { LICET_FROM_TOKEN: 'the-old-token' });
    expect(countsIn(output, 'products')).toEqual([1, 0, 0, 0]);
    expect(countsIn(output, 'licenses')).toEqual([2, 0, 0, 0]);
    expect(countsIn(output, 'blacklists')).toEqual([1, 0, 0, 0]);
    const ignored = ['products internalId', 'customers passwordHash', 'customers coins'];
    for (const field of [...ignored, 'licenses seats', 'licenses ips (1)']) {
      expect(output).toContain(field);
    }
    expect(await licenseWith('ABC-old-1')).toMatchObject({
      ...{ id: 900_101, licenseKey: 'abc-OLD-1', productId: 9_100, maxIPs: 2, maxHWIDs: 5 },
      ...{ ips: ['192.0.2.1'], ownerChatId: '4711', totalRequests: 0 },
      createdDate: '2018-01-02T03:04:05.000+00:00',
      customer: { id: 900_100, email: 'eve@shop.example' },
    });
    expect(await licenseWith('abc-OLD-2')).toMatchObject({ licenseStatus: 'DELETED' });
    expect(reportedIn('other.report')).toContainEqual({
      ...{ kind: 'licenses', where: 'id 900101', id: 900_101, licenseKey: 'abc-OLD-1' },
      ...{ outcome: 'created', differences: ['ips'], storedId: 900_101 },
      reason: 'ips[1] "Unknown" must be an IP address',
    });
    expect(output).toContain(
      '! licenses, id 900101, license ab…-1: ips[1] "Unknown" must be an IP address\n',
    );
    expect(statSync(at('other.report')).mode & 0o077).toBe(0);
  });

  it.each(['wrong-token', 'wrong token'])(
    'an import from another service does not print its rejected token: %s',
    async (token) => {
      const { code, output } = await imports(['--from', from], { LICET_FROM_TOKEN: token });
      expect(code).not.toBe(0);
      expect(output).toMatch(/rejected the token|invalid characters/);
      expect(output).not.toContain(token);
    },
  );
});

it('an import of a CSV file stores licenses with their owners, and changes nothing the next time', async () => {
  await createProducts(9_200);
  const rows = [
    '\uFEFFlicenseKey,productId,licenseType,expiryDate,maxIPs,ips,hwids,notes, customer.email ,customer.firstName',
    'CSV-1,9200,TEMPORARY,2031-01-31,2,192.0.2.1; 2001:db8::1,disk 7;disk 8,"Two\nlines, ""quoted""",Bob@shop.example,Bob',
    'CSV-2,9200,PERMANENT,,,"192.0.2.3, 192.0.2.4,192.0.2.5","CPU 1,2;disk 9",,,',
    '',
  ];
  const args = [write('licenses.csv', rows.join('\r\n')), '--kind', 'licenses'];
  expect(countsIn(await imported(args), 'licenses')).toEqual([2, 0, 0, 0]);
  expect(countsIn(await imported(args), 'licenses')).toEqual([0, 2, 0, 0]);
  expect(await licenseWith('csv-1')).toMatchObject({
    expiryDate: '2031-01-31T23:59:59.000+00:00',
    maxIPs: 2,
    maxHWIDs: 5,
    ips: ['192.0.2.1', '2001:db8::1'],
    hwids: ['disk 7', 'disk 8'],
    notes: 'Two\nlines, "quoted"',
    customer: { firstName: 'Bob', email: 'Bob@shop.example' },
  });
  expect(await licenseWith('csv-2')).toMatchObject({
    ips: ['192.0.2.3', '192.0.2.4', '192.0.2.5'],
    hwids: ['CPU 1,2', 'disk 9'],
  });
});

it('a CSV row with too many or too few columns is rejected with its line, the others are imported', async () => {
  await createProducts(9_210);
  const rows = [
    'licenseKey;productId;licenseType;notes',
    'RAGGED-1;9210;PERMANENT;Fine',
    'RAGGED-SECRET-2;9210',
    'RAGGED-SECRET-3;9210;PERMANENT;Paid; late',
    'RAGGED-4;9210;PERMANENT;',
  ];
  const file = write('ragged.csv', rows.join('\n'));
  const args = [file, '--kind', 'licenses', '--report', at('ragged.log')];
  const { code, output } = await imports(args);
  expect(code).toBe(1);
  expect(output).toContain('✗ licenses, line 3: 2 columns instead of 4\n');
  expect(output).toContain(
    '✗ licenses, line 4: 5 columns instead of 4. Put a cell with ";" between',
  );
  expect(output).toContain('rejected 2 items');
  expect(output).not.toContain('SECRET');
  expect(countsIn(output, 'licenses')).toEqual([2, 0, 0, 2]);
  expect(reportedIn('ragged.log')).toMatchObject([{ where: 'line 3' }, { where: 'line 4' }]);
  expect(await licenseWith('RAGGED-4')).toMatchObject({ productId: 9_210 });
});

it('an import of a JSON file stores all kinds, in any order, or a list of one kind', async () => {
  const license = { licenseKey: 'json-1', productId: 9_300, licenseType: 'PERMANENT' };
  const shop = {
    about: { nested: [1] },
    blacklists: [{ licenseDataType: 'HWID', data: 'json', isForAllProducts: true }],
    licenses: [license],
    products: [productOf(9_300)],
  };
  const output = await imported([write('shop.json', JSON.stringify(shop))]);
  expect(countsIn(output, 'licenses')).toEqual([1, 0, 0, 0]);
  const list = write('list.json', JSON.stringify([{ ...license, licenseKey: 'json-2' }]));
  await imported([list, '--kind', 'licenses']);
  expect(await licenseWith('json-2')).toMatchObject({ productId: 9_300 });
});

describe('ignored fields of an import', () => {
  it('ignored fields of an import are reported, each once', async () => {
    await createProducts(9_250);
    const license = {
      ...{ licenseKey: 'meant-1', productId: 9_250, licenseType: 'PERMANENT', Notes: 'A note' },
      ...{ max_ips: 3, 'Owner Chat-ID': '47110815', rating: 5 },
      customer: { 'E-Mail': 'a@b.example', coins: 7 },
    };
    const file = write('misspelt.json', JSON.stringify([license]));
    const args = [file, '--kind', 'licenses'];
    const output = await imported(args);
    expect(output).toMatch(/licenses rating, licenses customer\.coins\n(.*\n)*.*--report FILE/);
    await imported([...args, '--report', at('misspelt.report')]);
    expect(reportedIn('misspelt.report')).toEqual(
      ['rating', 'customer.coins'].map((field) => ({
        ...{ kind: 'licenses', field, outcome: 'ignored', reason: 'unknown, or a secret' },
      })),
    );
    expect(await licenseWith('meant-1')).toMatchObject({
      ...{
        notes: 'A note',
        maxIPs: 3,
        ownerChatId: '47110815',
        customer: { email: 'a@b.example' },
      },
    });
  });

  it('the report is empty where an import ignores no fields', async () => {
    const file = write('taken.csv', 'licenseKey,productId,licenseType\nmeant-3,9250,PERMANENT\n');
    const report = at('taken.report');
    const output = await imported([file, '--kind', 'licenses', '--report', report]);
    expect(output).toContain('Nothing to report');
    expect(readFileSync(report, 'utf8')).toBe('');
  });
});

it('a rejected item is reported with its line and the reason, and the others are imported', {
  tags: 'long',
}, async () => {
  await createProducts(9_400, 9_401);
  const license = { productId: 9_401, licenseType: 'PERMANENT' };
  const bad = numbers(30).map((n) => ({
    license: { ...license, licenseKey: `SECRET-${n}`, licenseType: 'FOREVER' },
  }));
  const items = [
    { product: productOf(9_400, { name: 'Mine', createdDate: '2020-01-01' }) },
    { license: { ...license, licenseKey: 'SECRET-KEY-1', productId: 9_400 } },
    { blacklist: { licenseDataType: 'HWID', data: 'x', productId: '9400' } },
    { license: { ...license, licenseKey: 'fine' } },
    { license: { ...license, licenseKey: 'long', notes: 'x'.repeat(1_000_000) } },
    ...bad,
    { end: { products: 1, licenses: 33, blacklists: 1 } },
  ];
  const file = write('bad.jsonl', lines(items));
  const { code, output } = await imports([file, '--report', at('bad.report')]);
  expect(code).toBe(1);
  expect(output).toContain(
    '✗ products, line 1: id 9400 belongs to another product, "Product 9400"',
  );
  expect(output).toContain('✗ licenses, line 2, license SEC…Y-1: product 9400 was rejected');
  expect(output).toContain('✗ licenses, line 5, license l…g: larger than 1 MB');
  const unreported = await imports([file]);
  expect(unreported.output).toContain('Use --report FILE to get each of them with the whole key');
  expect(output).toContain('licenseType "FOREVER" must be one of TEMPORARY, PERMANENT');
  expect(output).toContain('rejected 34 items');
  expect(output.match(/^✗ .*line \d+/gm)).toHaveLength(20);
  expect(output).not.toContain('SECRET');
  expect(countsIn(output, 'licenses')).toEqual([1, 0, 0, 32]);

  const reported = reportedIn('bad.report');
  expect(reported).toHaveLength(34);
  expect(reported).toContainEqual({
    ...{ kind: 'licenses', where: 'line 2', licenseKey: 'SECRET-KEY-1', outcome: 'refused' },
    ...{ reason: 'product 9400 was rejected', differences: [], storedId: null },
  });
  expect(await licenseWith('SECRET-KEY-1')).toMatchObject({ message: 'License not found' });
  expect(await licenseWith('fine')).toMatchObject({ productId: 9_401 });
});

it('a rejected product without an id rejects nothing that names no product', async () => {
  const email = `${crypto.randomUUID()}@shop.example`;
  const entry = { licenseDataType: 'HWID', data: crypto.randomUUID(), isForAllProducts: true };
  const items = {
    products: [{ name: 'Missing' }, { id: null, name: 'Empty' }],
    customers: [{ email }],
    blacklists: [entry, { ...entry, data: crypto.randomUUID(), productId: null }],
  };
  const { output } = await imports([write('without-id.json', JSON.stringify(items))]);
  expect(countsIn(output, 'products')).toEqual([0, 0, 0, 2]);
  expect(countsIn(output, 'customers')).toEqual([1, 0, 0, 0]);
  expect(countsIn(output, 'blacklists')).toEqual([2, 0, 0, 0]);
});

it('the rejected items of an import are in the order of its file, whichever response comes first', async () => {
  await createProducts(9_420);
  const rows = numbers(350).map((n) =>
    n % 30 === 0 ? `order ${n},9420` : `order ${n},9420,${n % 20 === 0 ? 'FOREVER' : 'PERMANENT'}`,
  );
  // The first batch is sent a second time, when the others have been imported.
  const behind = await disturbed((_, nth) => (nth === 2 ? 'busy' : 'none'));
  const file = write('order.csv', `licenseKey,productId,licenseType\n${rows.join('\n')}\n`);
  const args = [file, '--kind', 'licenses', '--url', behind, '--report', at('order.report')];
  const { output } = await runHere('import', args);
  const rejected = rows.flatMap((row, index) => (/PERM/.test(row) ? [] : `line ${index + 2}`));
  const shown = [...output.matchAll(/^✗ licenses, (line \d+)/gm)].map(([, where]) => where);
  expect(shown).toEqual(rejected.slice(0, 20));
  expect(reportedIn('order.report')).toMatchObject(rejected.map((where) => ({ where })));
});

it('a stopped import reports what has arrived, in the order of its file', async () => {
  const items = numbers(300).map((n) => ({ item: { id: n }, where: `line ${n}` }));
  const source: Source = {
    counts: {},
    async *read(kind) {
      if (kind === 'products') yield* items;
    },
  };
  const answered = Promise.withResolvers<void>();
  let batches = 0;
  const target = {
    async import({ items }: { items: unknown[] }) {
      const nth = ++batches;
      // The second batch has no response when the import stops.
      if (nth === 2) await new Promise(() => undefined);
      if (nth === 3) setTimeout(answered.resolve);
      const results = items.map(() => rejection('no'));
      return { results, createdOwners: 0 };
    },
    async *products() {},
    timeZone: async () => 'UTC',
  };
  const reported: string[] = [];
  const report = {
    add: (_: Kind, { where }: { where: string }) => reported.push(where),
    ignore() {},
    addOwners() {},
  };
  const stopped = new Import(source, target, report, false);
  void stopped.run();
  await answered.promise;
  expect(reported).toEqual(items.slice(0, 100).map(({ where }) => where));
  stopped.recordArrived();
  const arrived = [...items.slice(0, 100), ...items.slice(200)];
  expect(reported).toEqual(arrived.map(({ where }) => where));
});

it('a duplicate key in an import belongs to its first license, also across batches', async () => {
  const license = (licenseKey: string, productId = 9_450, notes = '') => ({
    ...{ licenseKey, productId, licenseType: 'PERMANENT', notes },
  });
  const products = [productOf(9_450), productOf(9_451), productOf(9_450, { name: 'Another' })];
  const twice = 'BK00-FIRST-OF-TWO-7KXQ';
  const near = 'BK00-FIRST-OF-TWO-NEAR';
  const licenses = [
    ...[license(twice), license(near), license(near.toLowerCase(), 9_451)],
    ...numbers(97).map((n) => license(`twice ${n}`)),
    ...[license(twice, 9_451), license('twice 1', 9_450, 'Other'), license('twice 2')],
  ];
  // Without the wait for duplicates, the next batch would overtake the first one.
  const behind = await disturbed((_, nth) => (nth === 3 ? 'busy' : 'none'));
  const file = write('twice.json', JSON.stringify({ products, licenses }));
  const args = [file, '--url', behind, '--report', at('twice.report')];
  const { code, output } = await runHere('import', args);
  expect(code).toBe(1);
  expect(output).toMatch(/licenses\[2\], license bk00…near: licenseKey .*licenses\[1\]/);
  expect(output).toMatch(/licenses\[100\], license BK00…7KXQ: licenseKey .*licenses\[0\]/);
  expect(output).not.toContain(twice);
  expect(await licenseWith(twice)).toMatchObject({ productId: 9_450 });
  expect(await licenseWith('twice 1')).toMatchObject({ notes: '' });
  expect(reportedIn('twice.report')).toMatchObject([
    { where: 'products[2]', outcome: 'kept', reason: 'products[0] has the same id' },
    { where: 'licenses[2]', outcome: 'refused' },
    { where: 'licenses[100]', outcome: 'refused' },
    { where: 'licenses[101]', outcome: 'kept', reason: 'licenses[3] has the same key' },
  ]);
  expect(countsIn(output, 'licenses')).toEqual([99, 1, 1, 2]);
});

describe('an import that cannot be done', () => {
  let fine: string;
  let cut: string;
  beforeAll(() => {
    fine = writeProduct(9_500);
    cut = write('cut.jsonl', `${lines([{ product: productOf(9_501) }])}{"licen`);
  });

  it.each<[args: string[], code: number, message: string]>([
    [['cut.jsonl'], 1, 'cut.jsonl: line 2 is not like'],
    [['cut.jsonl', '--kind', 'keys'], 2, 'Allowed choices are products, customers'],
    [['cut.jsonl', '9500.jsonl'], 2, 'Give one FILE, or --from URL'],
    [['cut.jsonl', '--dryrun'], 2, 'Unknown option --dryrun. Did you mean --dry-run?'],
    [['cut.jsonl', '--token', 'x'], 2, 'Unknown option --token'],
    [['--from', 'licet.example'], 2, '--from is "licet.example"'],
    [['--from', 'http://licet.example'], 2, 'Use https, or add --insecure'],
    [['--from', 'localhost:1'], 2, 'Set it in LICET_FROM_TOKEN'],
    [['9500.jsonl', '--url', 'https://license.example'], 2, 'Set it in LICET_TOKEN'],
    [['9500.jsonl', '--url', 'http://localhost:1'], 1, 'No response from http://localhost:1'],
  ])('an import that cannot be done changes nothing: %j', async (args, code, message) => {
    const before = await totals();
    const named = args.map((arg) => (arg.endsWith('.jsonl') ? at(arg) : arg));
    const ending = await imports(named);
    expect(ending.output).toContain(message);
    expect(ending.code).toBe(code);
    expect(await totals()).toEqual(before);
  });

  it.each([
    ['wild.csv', '\u001b[2Jname,\u001b[2Jname\na,b\n', '\ufffd[2Jname'],
    ['wild.json', '{"\\u001b]0;owned\\u0007\\u202e":[{}]}', '\ufffd]0;owned\ufffd\ufffd'],
  ])('an import prints no control characters of a file: %s', async (name, text, shown) => {
    const kind = name === 'wild.csv' ? ['--kind', 'products'] : [];
    const { code, output } = await imports([write(name, text), ...kind]);
    expect(output).toContain(shown);
    expect(output).not.toMatch(/[^\P{C}\n]/u);
    expect(code).toBe(1);
  });

  it('an import ends at a failure while it waits for its source', async () => {
    let batches = 0;
    const { promise: failed, resolve: fail } = Promise.withResolvers<void>();
    const to = await listen((request, response) => {
      request.resume();
      if (++batches === 1) {
        response.writeHead(403).end('{"message":"Why not"}', fail);
        return;
      }
      const results = Array(100).fill({ outcome: 'created', id: 1, differences: [], reason: null });
      response.end(JSON.stringify({ results }));
    });
    const source: Source = {
      counts: {},
      async *read(kind) {
        if (kind !== 'products') return;
        for (let n = 1; n <= 201; n++) {
          // The failure comes while the import waits only for this item.
          if (n === 102) await failed.then(() => expect.poll(() => batches).toBe(1));
          yield { item: productOf(n), where: `line ${n}` };
        }
      },
    };
    const target = new Service(new URL(to), 'a-token');
    const failing = new Import(source, target, new Report(undefined), false).run();
    await expect(failing).rejects.toThrow('403: Why not');
  });

  it.each([
    [401, /rejected the token/],
    [403, /403: Why not.* The items imported before the failure stay/],
    [302, /302: Why not.* The items imported before the failure stay/],
  ])('an import ends with the error of a service that responds %i', async (status, message) => {
    const to = await listen(({ url = '' }, response) => {
      if (url.endsWith('/ping') && status !== 401) response.end('pong');
      else response.writeHead(status, { Location: '/elsewhere' }).end('{"message":"Why not"}');
    });
    const { code, output } = await importsInto(to, fine);
    expect(output).toMatch(message);
    expect(output).not.toMatch(/a-token|Run the same command again/);
    expect(code).toBe(1);
  });

  it.each([
    '{"hello":1}',
    '<html>Welcome</html>',
    '{"results":[{"outcome":"created"}]}',
    '{"results":[],"createdOwners":"1"}',
  ])('an import ends at a server that responds %s', async (text) => {
    const to = await listenWith(text);
    const { code, output } = await importsInto(to, fine);
    expect(output).toContain(`✗ ${to} returned no import result. Check the address.`);
    expect(code).toBe(1);
  });

  it('an import names the intents that its token lacks, as an export does', async () => {
    const response = await api('/v2/tokens', { name: 'reader', intents: ['PRODUCTS_READ'] });
    const { token = '' }: { token?: string } = JSON.parse(await response.text());
    const env = { LICET_TOKEN: token };
    const importing = await imports([fine], env);
    expect(importing.output).toMatch(/\/import: status 403: .* needs ALL_READ_WRITE\./);
    const exporting = await runHere('export', ['-', '--url', service.address], env);
    expect(exporting.output).toContain('CUSTOMERS_READ, ALL_READ, ALL_READ_WRITE.');
    expect([importing.code, exporting.code]).toEqual([1, 1]);
  });

  it('an import warns of a CSV file whose last row may be cut off', async () => {
    const rows = 'licenseKey,productId\nAAAA-11,1';
    const output = async (text: string) =>
      (await imports([write('rows.csv', text), '--kind', 'licenses', '--dry-run'])).output;
    const note = 'rows.csv does not end with a line feed';
    expect(await output(rows)).toContain(note);
    expect(await output(`${rows}\n`)).not.toContain(note);
  });

  it('an import with --partial imports the complete items of a file that is cut off', async () => {
    const before = await totals();
    expect(await imported([cut, '--partial', '--dry-run'])).toContain('cut.jsonl has no last line');
    expect(await totals()).toEqual(before);
    await imported([cut, '--partial']);
    expect(Number((await totals()).products)).toBe(Number(before.products) + 1);
    const json = write('cut.json', `{"products":[${JSON.stringify(productOf(9_501))}`);
    expect(countsIn(await imported([json, '--partial']), 'products')).toEqual([0, 1, 0, 0]);
  });
});

describe('the report of an import', () => {
  it('the report of an import is appended to an existing file, and repeats nothing', async () => {
    const license = { licenseKey: 'left-out', productId: 9_700, licenseType: 'PERMANENT' };
    const ips = ['192.0.2.1', 'Unknown'];
    const items = { products: [productOf(9_700)], licenses: [{ ...license, ips }] };
    const args = [write('left-out.json', JSON.stringify(items)), '--report', at('left-out.report')];
    await imported(args);
    const first = readFileSync(at('left-out.report'), 'utf8');
    expect(first).toContain('"differences":["ips"]');
    expect(await imported(args)).toContain('Nothing to report');
    expect(readFileSync(at('left-out.report'), 'utf8')).toBe(first);
    write('left-out.json', '{"products":[{}]}');
    await imports([...args, '--dry-run']);
    const last = readFileSync(at('left-out.report'), 'utf8');
    expect(last.startsWith(first)).toBe(true);
    expect(last.slice(first.length)).toMatch(/^\{.*"outcome":"refused".*"dryRun":true\}\n$/);
  });

  it('the report of an import must not be the file that is imported', async () => {
    const file = write('own.json', '{"products":[{}]}');
    symlinkSync('own.json', at('link-to-own.report'));
    for (const report of [file, at('link-to-own.report')]) {
      const { code, output } = await imports([file, '--report', report]);
      expect(output).toContain('--report names the FILE that is imported');
      expect(code).toBe(2);
    }
    expect(readFileSync(file, 'utf8')).toBe('{"products":[{}]}');
  });

  const pipe = (name: string): string => {
    spawnSync('mkfifo', ['-m', '644', at(name)]);
    return at(name);
  };

  it('the report of an import may be a pipe, which stays unchanged', async () => {
    const report = pipe('pipe.report');
    const reading = readFile(report, 'utf8');
    const source = write('misfit.json', '{"products":[{}]}');
    expect((await imports([source, '--report', report])).output).toContain('rejected 1 item;');
    expect(await reading).toContain('"outcome":"refused"');
    expect(statSync(report).isFIFO()).toBe(true);
    expect(statSync(report).mode & 0o777).toBe(0o644);
  });

  it('the report of an import is an error where it is a closed pipe', async () => {
    const report = pipe('closed.report');
    const reader = openSync(report, constants.O_RDONLY | constants.O_NONBLOCK);
    const to = await listen(({ url = '' }, response) => {
      if (url.endsWith('/ping')) {
        response.end('pong');
        return;
      }
      closeSync(reader);
      const result = { outcome: 'refused', id: null, differences: [], reason: 'no' };
      response.end(JSON.stringify({ results: [result] }));
    });
    const source = write('misfit.json', '{"products":[{}]}');
    const { code, output } = await importsInto(to, source, '--report', report);
    expect(output).toContain(`✗ ${report} cannot be written: broken pipe.`);
    expect(output).not.toMatch(/^ +at /m);
    expect(code).toBe(1);
  });
});

it('the service of an import or an export is LICET_URL, unless an option names another one', {
  tags: 'long',
}, async () => {
  const file = writeProduct(9_600);
  const nobody = 'http://127.0.0.1:1';
  const { address } = service;
  const small = await sharedService();
  const cases: ['import' | 'export', string[], url: string, meant: string][] = [
    ['import', [file, '--dry-run'], address, address],
    ['import', [file, '--url', address], nobody, address],
    ['export', [at('one.jsonl')], small, small],
    ['export', [at('two.jsonl'), '--url', small], nobody, small],
  ];
  for (const [tool, args, url, meant] of cases) {
    const { code, output } = await runHere(tool, args, { LICET_URL: url });
    expect(code, output).toBe(0);
    const [first, ...others] = output.trim().split('\n');
    expect(first).toContain(meant);
    expect(first).toContain(args[0]);
    expect(others.at(-1)).toContain(meant);
  }
});

it('the commands of docs/import.md work', { tags: 'long' }, async () => {
  await createProducts(602);
  const document = readFileSync('docs/import.md', 'utf8');
  const blocks = (kind: string): string[] =>
    [...document.matchAll(new RegExp(`^ *\`\`\`${kind}\\n(.*?)\`\`\``, 'gms'))].map(
      ([, text = '']) => text,
    );
  const old = await listen((request, response) => {
    const isKnown = request.headers.token === 'the-token-of-the-old-service';
    if (!isKnown) response.writeHead(401).end();
    else response.end(request.url?.endsWith('/ping') ? 'pong' : '[]');
  });
  // An export of another test has the same name.
  const own = at('documented');
  mkdirSync(own);
  writeFileSync(join(own, 'licenses.csv'), blocks('csv')[0] ?? '');
  const commands = blocks('sh').join('\n');
  expect(commands.match(/npm run/g)).toHaveLength(5);
  const script = commands
    .replaceAll('https://old.example', old)
    .replaceAll('npm run import --', `npm run import -- --url ${service.address}`)
    // npm takes longer than the command that it starts, in the folder of the project.
    .replaceAll(/npm run (\w+) --/g, (_, name) =>
      [process.execPath, ...argsOfScript(name)].join(' '),
    );
  const env = { ...process.env, INIT_CWD: own };
  const child = spawn('bash', ['-e', '-c', script], { env, stdio: 'pipe' });
  const { code, output } = await endingOf(child);
  expect(code, output).toBe(0);
  expect(existsSync(join(own, 'import-report.jsonl'))).toBe(true);
  expect(await licenseWith('aaaa-1111')).toMatchObject({
    ips: ['192.0.2.1', '192.0.2.2'],
    hwids: ['disk 7', 'disk 8'],
    customer: { email: 'ada@shop.example' },
  });
});
