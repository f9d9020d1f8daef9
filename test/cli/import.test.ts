import { spawn, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  closeSync,
  constants,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { FIELDS } from '../../packages/cli/src/import/fields.ts';
import { fileSource } from '../../packages/cli/src/import/files.ts';
import { Import } from '../../packages/cli/src/import/importer.ts';
import { KINDS, type Kind, type Source } from '../../packages/cli/src/import/kinds.ts';
import { Report } from '../../packages/cli/src/import/report.ts';
import { Service } from '../../packages/cli/src/import/service.ts';
import { readRootToken } from '../../packages/cli/src/root-token.ts';
import { argsOfScript, newFolder, type RunningService, startService } from '../node/service.ts';
import { sharedService } from '../node/shared-service.ts';
import { type Ending, type Environment, endingOf, runHere, startCommand } from './run-command.ts';

/** npm run import and npm run export, from a file and a service to a service and a file. */

/** `TRANSFER_LICENSES=100000` is a whole shop; that takes minutes. */
const LICENSES = Number(process.env.TRANSFER_LICENSES ?? 1_000);
const IS_FULL = LICENSES > 1_000;
const LONG_MS = 60_000 + LICENSES * 10;

/** All that is held of what is under way; the whole shop would not fit. */
const HEAP_MEGABYTES = 24;
const MAX_RSS_MEGABYTES = 160;

const folder = newFolder();
const at = (name: string): string => join(folder, name);
let service: RunningService;
beforeAll(async () => {
  service = await startService(at('service'));
});
afterAll(async () => {
  await service.stop();
  rmSync(folder, { recursive: true });
});

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** Something in the place of a service. */
async function listen(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<string> {
  const server = createServer(answer);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const bound = server.address();
  return `http://127.0.0.1:${typeof bound === 'object' ? bound?.port : ''}`;
}

interface RunOptions {
  env?: Environment;
  /** Gets the function that stops the command. */
  onStart?: (stop: (signal?: NodeJS.Signals) => void) => void;
}

/** Makes a process print its largest memory when it ends. */
const MEMORY_HOOK = `data:text/javascript,process.on("exit",()=>console.error("\\nmaxRSS "+process.resourceUsage().maxRSS))`;

type Tool = 'import' | 'export';

const run = (tool: Tool, args: readonly string[], env: Environment = {}): Promise<Ending> =>
  runHere(tool, args, env);

/** Runs a command as a process of its own, which has little memory. */
async function runProcess(
  tool: Tool,
  args: readonly string[],
  { env = {}, onStart }: RunOptions = {},
) {
  const child = startCommand(tool, args, env, [
    `--max-old-space-size=${HEAP_MEGABYTES}`,
    // V8 takes as much as it likes for young objects. With this limit, the process has what it holds.
    '--max-semi-space-size=2',
    '--import',
    MEMORY_HOOK,
  ]);
  onStart?.((signal = 'SIGINT') => child.kill(signal));
  const ending = await endingOf(child);
  const rssMegabytes = Number(/maxRSS (\d+)/.exec(ending.stderr)?.[1]) / 1024;
  return { ...ending, rssMegabytes };
}

const imports = (args: readonly string[], env?: Environment) =>
  run('import', ['--to', service.address, ...args], env);
const exports = (file: string, env?: Environment) =>
  run('export', [at(file), '--from', service.address], env);

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

type Fields = Record<string, unknown>;

async function licenseWith(key: string): Promise<Fields> {
  const answer = await api(`/v2/licenses/by-license-key/${encodeURIComponent(key)}`);
  const license: Fields = JSON.parse(await answer.text());
  return license;
}

async function totals(): Promise<Record<string, string | null>> {
  const kinds = ['products', 'customers', 'licenses', 'blacklists'];
  const answers = await Promise.all(kinds.map((kind) => api(`/v2/${kind}?limit=1`)));
  return Object.fromEntries(
    kinds.map((kind, index) => [kind, answers[index]?.headers.get('X-Total-Count') ?? null]),
  );
}

const write = (name: string, text: string): string => {
  writeFileSync(at(name), text);
  return at(name);
};

const lines = (items: readonly object[]): string =>
  items.map((item) => `${JSON.stringify(item)}\n`).join('');

const productOf = (id: number, fields: Fields = {}): Fields => ({
  id,
  name: `Product ${id}`,
  productType: 'OTHER',
  createdDate: '2019-05-06T07:08:09.010+00:00',
  ...fields,
});

const PRODUCT_ID = 600;
const NOTES = 'Bought in the summer sale. '.repeat(IS_FULL ? 2 : 360);

const licenseOf = (id: number, fields: Fields = {}): Fields => ({
  id,
  licenseKey: `Key-${id}`,
  productId: PRODUCT_ID,
  licenseType: 'PERMANENT',
  licenseStatus: id % 7 === 5 ? 'DELETED' : 'ACTIVE',
  hwids: [`hw ${id}`],
  ips: [`10.${id >> 16}.${(id >> 8) & 255}.${id & 255}`],
  notes: NOTES,
  customer: { email: `ada.${Math.ceil(id / 3)}@shop.example` },
  ...fields,
});

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

/** Writes the file of a whole shop, a part at a time. */
function writeShop(file: string): void {
  writeFileSync(file, lines([{ product: productOf(PRODUCT_ID) }]));
  for (let first = 1; first <= LICENSES; first += 1_000) {
    const part = numbers(Math.min(1_000, LICENSES - first + 1)).map((n) => first + n - 1);
    appendFileSync(file, lines(part.map((id) => ({ license: licenseOf(id) }))));
  }
  appendFileSync(file, lines([{ end: { products: 1, licenses: LICENSES } }]));
}

/** The service behind something that may keep a request or its answer from it. */
const disturbed = (
  disturb: (request: IncomingMessage, nth: number) => 'none' | 'busy' | 'lost',
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
    const answer = await fetch(`${service.address}${request.url}`, {
      method: request.method ?? 'GET',
      headers: { TOKEN: String(request.headers.token) },
      ...(request.method === 'POST' && { body: Buffer.concat(body) }),
    });
    const text = await answer.text();
    if (fault === 'lost') {
      request.socket.destroy();
      return;
    }
    response.writeHead(answer.status).end(text);
  });
};

// test/node/move.test.ts compares each field after an import and an export.
describe('a whole shop', () => {
  it(
    'is imported and exported with little memory, also after an interruption',
    async () => {
      const shop = at('shop.jsonl');
      writeShop(shop);

      let stop = () => undefined as unknown;
      const half = Math.ceil(LICENSES / 200);
      const behind = await disturbed((request, nth) => {
        if (request.method === 'POST' && nth > half) stop();
        return 'none';
      });
      const cut = await runProcess('import', [shop, '--to', behind], {
        onStart: (kill) => {
          stop = kill;
        },
      });
      expect(cut.output).toContain('Run the same command again to import the rest.');
      expect(cut.code).toBe(130);
      const interruptedAt = Number((await totals()).licenses);
      expect(interruptedAt).toBeGreaterThan(0);
      expect(interruptedAt).toBeLessThan(LICENSES * 0.8);

      const startedAt = performance.now();
      const first = await runProcess('import', [shop, '--to', service.address]);
      const importedAt = performance.now();
      expect(first.output).toContain(`✓ All items are now in ${service.address}.`);
      expect(first.code).toBe(0);
      const [created = 0, unchanged = 0, ...others] = countsIn(first.output, 'licenses');
      expect([created + unchanged, ...others]).toEqual([LICENSES, 0, 0]);

      const second = await runProcess('export', [at('again.jsonl'), '--from', service.address]);
      const exportedAt = performance.now();
      expect(second.code, second.output).toBe(0);
      expect(second.output).toContain(`${LICENSES.toLocaleString('en')} licenses`);
      expect(statSync(at('again.jsonl')).mode & 0o077).toBe(0);

      for (const { rssMegabytes } of [first, second]) {
        expect(rssMegabytes).toBeLessThan(MAX_RSS_MEGABYTES);
      }
      if (IS_FULL) {
        const seconds = (ms: number) => `${(ms / 1000).toFixed(0)} s`;
        console.log(
          `${LICENSES} licenses, ${(statSync(shop).size / 1e6).toFixed(0)} MB:`,
          `import ${seconds(importedAt - startedAt)}, ${first.rssMegabytes.toFixed(0)} MB;`,
          `export ${seconds(exportedAt - importedAt)}, ${second.rssMegabytes.toFixed(0)} MB`,
        );
      }
    },
    LONG_MS,
  );
});

describe('a faulty network', () => {
  const product = productOf(9_000);
  const licenses = numbers(450).map((n) => ({
    license: licenseOf(n, { id: null, licenseKey: `net ${n}`, productId: 9_000 }),
  }));

  it('delays an import, which stores each item once', async () => {
    const file = write(
      'net.jsonl',
      lines([{ product }, ...licenses, { end: { products: 1, licenses: 450 } }]),
    );
    const faults = ['none', 'none', 'busy', 'lost', 'none', 'none', 'busy', 'lost'] as const;
    const behind = await disturbed((_, nth) => faults[nth] ?? 'none');
    const { code, output } = await run('import', [file, '--to', behind]);
    expect(code, output).toBe(0);
    const [created = 0, unchanged = 0, ...others] = countsIn(output, 'licenses');
    expect([created + unchanged, ...others]).toEqual([450, 0, 0]);
    expect(unchanged).toBeGreaterThan(0);
    const stored = await Promise.all(
      ['', '?licenseStatus=DELETED'].map((query) => api(`/v2/licenses/by-product-id/9000${query}`)),
    );
    const lists = await Promise.all(stored.map((list) => list.text()));
    expect(lists.map((list) => list.match(/"licenseKey"/g)?.length ?? 0)).toEqual([450 - 64, 64]);
  });

  it('is reported by an import while it waits', async () => {
    const file = write(
      'told.jsonl',
      lines([{ product: productOf(9_001) }, { end: { products: 1 } }]),
    );
    // The first is the ping.
    const behind = await disturbed(
      (_, nth) => (['none', 'busy', 'lost'] as const)[nth - 1] ?? 'none',
    );
    const { code, output } = await run('import', [file, '--to', behind]);
    expect(code, output).toBe(0);
    const url = `${behind}/api/v2/import`;
    expect(output).toContain(`${url}: status 503; trying again in 0.5 s (try 2 of 8)\n`);
    expect(output).toContain(`${url}: no response; trying again in 1 s (try 3 of 8)\n`);
  });

  it('delays an export, which reads on where a list broke off', async () => {
    const list = numbers(300).map((id) => licenseOf(id));
    const isDeleted = ({ licenseStatus }: Fields) => licenseStatus === 'DELETED';
    const cut = new Set<string>();
    const from = await listen(({ url = '' }, response) => {
      const { pathname, searchParams } = new URL(url, 'http://licet.test');
      const wantsDeleted = searchParams.has('licenseStatus');
      const after = Number(searchParams.get('after') ?? 0);
      const found = pathname.endsWith('/licenses')
        ? list.filter(
            (license) => isDeleted(license) === wantsDeleted && Number(license.id) > after,
          )
        : [];
      const text = pathname.endsWith('/ping') ? 'pong' : JSON.stringify(found);
      const isCut = found.length > 0 && after === 0 && !searchParams.has('limit') && !cut.has(url);
      if (!isCut) {
        response.end(text);
        return;
      }
      cut.add(url);
      response.writeHead(200, { 'Content-Length': text.length });
      response.write(text.slice(0, text.length * 0.6), () => response.destroy());
    });
    const { code, output } = await run('export', [at('cut.jsonl'), '--from', from], {
      LICET_TOKEN: 'a-token',
    });
    expect(code, output).toBe(0);
    expect(cut.size).toBe(2);
    expect(output).toContain('GET /licenses broke off; trying again in 0.5 s (try 2 of 8)\n');
    const exported = [false, true].flatMap((deleted) =>
      list.filter((license) => isDeleted(license) === deleted).map((license) => ({ license })),
    );
    const end = { products: 0, customers: 0, licenses: list.length, blacklists: 0 };
    expect(readFileSync(at('cut.jsonl'), 'utf8')).toBe(lines([...exported, { end }]));
  });

  it('ends an export that cannot continue, which keeps the existing file', async () => {
    write('kept.jsonl', 'yesterday');
    const behind = await listen(({ url = '' }, response) => {
      if (url.endsWith('/ping')) response.end('pong');
      else if (url.includes('limit=1')) response.end('[]');
      else if (url.includes('after=')) response.end('[{"id":1},{"id":2}]');
      else response.writeHead(200, { 'Content-Length': 100 }).write('[{"id":1},');
      setTimeout(() => response.destroy(), 50);
    });
    const { code, output } = await run('export', [at('kept.jsonl'), '--from', behind]);
    expect(output).toContain('broke off, and the service cannot continue after an id');
    expect(code).toBe(1);
    expect(readFileSync(at('kept.jsonl'), 'utf8')).toBe('yesterday');
    expect(readdirSync(folder).filter((name) => name.endsWith('.part'))).toEqual([]);
  });
});

it.each(['{}', ' {"licenses":[]}', 'null', '<p>Welcome</p>'])(
  'an export rejects a response that is no list: %s',
  async (text) => {
    const from = await listen(({ url = '' }, response) => {
      response.end(url.endsWith('/ping') ? 'pong' : text);
    });
    const { code, output } = await run('export', [at('nothing.jsonl'), '--from', from], {
      LICET_TOKEN: 'a-token',
    });
    expect(output).toContain('✗ GET /products returned no list.\n');
    expect(code).toBe(1);
    expect(existsSync(at('nothing.jsonl'))).toBe(false);
  },
);

it.each([
  ['SIGHUP', 129],
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s removes the file of an unfinished export', async (signal, status) => {
  let stop: (signal: NodeJS.Signals) => void = () => undefined;
  const from = await listen(({ url = '' }, response) => {
    if (url.endsWith('/ping')) response.end('pong');
    else if (url.includes('limit=1')) response.end('[]');
    else {
      response.write('[{"id":1},');
      const begun = setInterval(() => {
        if (!readdirSync(folder).some((name) => name.endsWith('.part'))) return;
        clearInterval(begun);
        stop(signal);
      }, 5);
    }
  });
  const { code, output } = await runProcess('export', [at('stopped.jsonl'), '--from', from], {
    env: { LICET_TOKEN: 'a-token' },
    onStart: (kill) => {
      stop = kill;
    },
  });
  expect(output).toContain('✗ Stopped: nothing was exported.\n');
  expect(code).toBe(status);
  expect(readdirSync(folder).filter((name) => name.startsWith('stopped.jsonl'))).toEqual([]);
});

describe('pages of a list without progress', () => {
  it.each(['[{"id":1},{"id":2}]', '[{"name":"A"}]', '[]'])('end an export: %s', async (page) => {
    const from = await listen(({ url = '' }, response) => {
      const [path] = url.split('?');
      const isPage = !url.endsWith('/ping') && !url.includes('limit=1');
      if (isPage) response.setHeader('Link', `<${path}?after=2>; rel="next"`);
      response.end(url.endsWith('/ping') ? 'pong' : page);
    });
    const { code, output } = await run('export', [at('endless.jsonl'), '--from', from], {
      LICET_TOKEN: 'a-token',
    });
    expect(output).toContain(
      '✗ GET /products: the next page does not continue after the last item.\n',
    );
    expect(code).toBe(1);
    expect(existsSync(at('endless.jsonl'))).toBe(false);
  });
});

describe('another service of the interface', () => {
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
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const [, kind = ''] = /\/api\/v2\/(\w+)/.exec(request.url ?? '') ?? [];
    if (request.headers.token !== 'the-old-token') response.writeHead(401).end();
    else response.end(kind === 'ping' ? 'pong' : JSON.stringify(lists[kind]));
  };
  const env = { LICET_FROM_TOKEN: 'the-old-token' };

  it('is imported, and its ignored fields are reported', async () => {
    const from = await listen(answer);
    const { code, output } = await imports(
      ['--from', `${from}/`, '--report', at('other.report')],
      env,
    );
    expect(code, output).toBe(0);
    expect(countsIn(output, 'products')).toEqual([1, 0, 0, 0]);
    expect(countsIn(output, 'licenses')).toEqual([2, 0, 0, 0]);
    expect(countsIn(output, 'blacklists')).toEqual([1, 0, 0, 0]);
    expect(output).toContain(
      'Ignored fields: products internalId, customers passwordHash, customers coins, licenses seats',
    );
    expect(output).toContain('Created with other values than sent: licenses ips (1)');
    expect(await licenseWith('ABC-old-1')).toMatchObject({
      ...{ id: 900_101, licenseKey: 'abc-OLD-1', productId: 9_100, maxIPs: 2, maxHWIDs: 5 },
      ...{ ips: ['192.0.2.1'], ownerChatId: '4711', totalRequests: 0 },
      createdDate: '2018-01-02T03:04:05.000+00:00',
      customer: { id: 900_100, email: 'eve@shop.example' },
    });
    expect(await licenseWith('abc-OLD-2')).toMatchObject({ licenseStatus: 'DELETED' });
    const report = readFileSync(at('other.report'), 'utf8').trim().split('\n');
    expect(report.map((line): unknown => JSON.parse(line))).toContainEqual({
      ...{ kind: 'licenses', where: 'id 900101', id: 900_101, licenseKey: 'abc-OLD-1' },
      ...{ outcome: 'created', reason: null, differences: ['ips'], storedId: 900_101 },
    });
    expect(statSync(at('other.report')).mode & 0o077).toBe(0);
  });

  it('rejects a wrong token, which the import does not print', async () => {
    const from = await listen(answer);
    for (const token of ['wrong-token', 'wrong token']) {
      const { code, output } = await imports(['--from', from, '--token', token]);
      expect(code).not.toBe(0);
      expect(output).toMatch(/rejected the token|invalid characters/);
      expect(output).not.toContain(token);
    }
  });
});

describe('a CSV file', () => {
  it('imports licenses with their owners, and changes nothing the next time', async () => {
    await api('/v2/import', { kind: 'products', items: [productOf(9_200)] });
    const file = write(
      'licenses.csv',
      [
        '\uFEFFlicenseKey,productId,licenseType,expiryDate,maxIPs,ips,hwids,notes, customer.email ,customer.firstName,seats',
        'CSV-1,9200,TEMPORARY,2031-01-31,2,192.0.2.1; 2001:db8::1,disk 7;disk 8,"Two\nlines, ""quoted""",Bob@shop.example,Bob,',
        'CSV-2,9200,PERMANENT,,,,,,,,3',
        '',
      ].join('\r\n'),
    );
    for (const expected of [
      [2, 0, 0, 0],
      [0, 2, 0, 0],
    ]) {
      const { code, output } = await imports([file, '--kind', 'licenses']);
      expect(code, output).toBe(0);
      expect(countsIn(output, 'licenses')).toEqual(expected);
      expect(output).toContain('licenses seats');
    }
    expect(await licenseWith('csv-1')).toMatchObject({
      expiryDate: '2031-01-31T00:00:00.000+00:00',
      maxIPs: 2,
      maxHWIDs: 5,
      ips: ['192.0.2.1', '2001:db8::1'],
      hwids: ['disk 7', 'disk 8'],
      notes: 'Two\nlines, "quoted"',
      customer: { firstName: 'Bob', email: 'Bob@shop.example' },
    });
  });
});

describe('ignored fields', () => {
  const columns =
    'licenseKey,productId,licenseType,Notes,max_ips,Owner Chat-ID,Customer.E-Mail,seats';
  const row = '9250,PERMANENT,A note,3,4711,ada@shop.example,5';

  it('are reported with the fields that they resemble', async () => {
    await api('/v2/import', { kind: 'products', items: [productOf(9_250)] });
    const file = write('misspelt.csv', `${columns}\nmeant-1,${row}\nmeant-2,${row}\n`);
    const { code, output } = await imports([file, '--kind', 'licenses']);
    expect(code, output).toBe(0);
    const asked = {
      Notes: 'did you mean notes?',
      max_ips: 'did you mean maxIPs?',
      'Owner Chat-ID': 'did you mean ownerChatId?',
      'Customer.E-Mail': 'did you mean customer.email?',
    };
    const shown = Object.entries(asked).map(([field, reason]) => `licenses ${field} (${reason})`);
    expect(output).toContain(`Ignored fields: ${shown.join(', ')}, licenses seats\n`);
    expect(output).toContain('Use --report FILE');

    const report = at('misspelt.report');
    const again = await imports([file, '--kind', 'licenses', '--report', report]);
    expect(again.code).toBe(0);
    expect(again.output).toContain(`✓ The report is in ${report}.`);
    const told = readFileSync(report, 'utf8').trim().split('\n');
    expect(told.map((line): unknown => JSON.parse(line))).toEqual(
      Object.entries({ ...asked, seats: 'unknown, or a secret' }).map(([field, reason]) => ({
        ...{ kind: 'licenses', field, outcome: 'ignored', reason },
      })),
    );
  });

  it('are not reported where there are none: the report is empty', async () => {
    const file = write('taken.csv', 'licenseKey,productId,licenseType\nmeant-3,9250,PERMANENT\n');
    const report = at('taken.report');
    const { code, output } = await imports([file, '--kind', 'licenses', '--report', report]);
    expect(code, output).toBe(0);
    expect(output).toContain(`✓ Nothing to report: ${report} is empty.`);
    expect(readFileSync(report, 'utf8')).toBe('');
  });

  it('are those that docs/import.md does not name', () => {
    const document = readFileSync('docs/import.md', 'utf8');
    for (const kind of KINDS) {
      const [, cells = ''] = new RegExp(`^\\| ${kind} \\| (.*) \\|$`, 'm').exec(document) ?? [];
      const named = [...cells.matchAll(/`(\w+)`/g)].map(([, name]) => name);
      const known = FIELDS[kind].filter((name) => !name.startsWith('customer'));
      expect(known.toSorted()).toEqual(named.toSorted());
    }
  });
});

describe('a JSON file', () => {
  it('imports all kinds, in any order', async () => {
    const file = write(
      'shop.json',
      JSON.stringify({
        about: { nested: [1] },
        blacklists: [{ licenseDataType: 'HWID', data: 'json', isForAllProducts: true }],
        licenses: [{ licenseKey: 'json-1', productId: 9_300, licenseType: 'PERMANENT' }],
        products: [productOf(9_300)],
      }),
    );
    const { code, output } = await imports([file]);
    expect(code, output).toBe(0);
    expect(countsIn(output, 'licenses')).toEqual([1, 0, 0, 0]);
    const list = write(
      'list.json',
      '[{"licenseKey":"json-2","productId":9300,"licenseType":"PERMANENT"}]',
    );
    expect((await imports([list, '--kind', 'licenses'])).code).toBe(0);
    expect(await licenseWith('json-2')).toMatchObject({ productId: 9_300 });
  });
});

describe('a rejected item', () => {
  it('is reported with its line and the reason, and the others are imported', async () => {
    const key = 'SECRET-KEY-1';
    await api('/v2/import', { kind: 'products', items: [productOf(9_400), productOf(9_401)] });
    const bad = numbers(30).map((n) => ({
      license: { licenseKey: `SECRET-${n}`, productId: 9_401, licenseType: 'FOREVER' },
    }));
    const items = [
      { product: productOf(9_400, { name: 'Mine', createdDate: '2020-01-01' }) },
      { license: { licenseKey: key, productId: 9_400, licenseType: 'PERMANENT' } },
      { blacklist: { licenseDataType: 'HWID', data: 'x', productId: '9400' } },
      { license: { licenseKey: 'fine', productId: 9_401, licenseType: 'PERMANENT' } },
      { license: { licenseKey: 'long', productId: 9_401, notes: 'x'.repeat(1_000_000) } },
      ...bad,
    ];
    const file = write(
      'bad.jsonl',
      lines([...items, { end: { products: 1, licenses: 33, blacklists: 1 } }]),
    );
    const report = at('bad.report');
    const { code, output } = await imports([file, '--report', report]);
    expect(code).toBe(1);
    expect(output).toContain('✗ products, line 1: id is that of another product, "Product 9400"');
    expect(output).toContain('✗ licenses, line 2, license SEC…Y-1: product 9400 was rejected');
    expect(output).toContain('✗ licenses, line 5, license l…g: larger than 1 MB');
    expect(output).toContain('licenseType must be one of TEMPORARY, PERMANENT');
    expect(output).toContain(`✗ ${service.address} rejected 34 items; see the reasons above.`);
    expect(output.match(/^✗ .*line \d+/gm)).toHaveLength(20);
    expect(output).not.toContain('SECRET');
    expect(countsIn(output, 'licenses')).toEqual([1, 0, 0, 32]);

    const reported = readFileSync(report, 'utf8').trim().split('\n');
    expect(reported).toHaveLength(34);
    expect(reported.map((line): unknown => JSON.parse(line))).toContainEqual({
      ...{ kind: 'licenses', where: 'line 2', licenseKey: key, outcome: 'refused' },
      ...{ reason: 'product 9400 was rejected', differences: [], storedId: null },
    });
    expect(await licenseWith(key)).toMatchObject({ message: 'License not found' });
    expect(await licenseWith('fine')).toMatchObject({ productId: 9_401 });
  });
});

describe('a duplicate key in an import', () => {
  const license = (licenseKey: string, productId: number, notes = '') => ({
    ...{ licenseKey, productId, licenseType: 'PERMANENT', notes },
  });
  const products = [productOf(9_450), productOf(9_451), productOf(9_450, { name: 'Another' })];

  it('belongs to its first license, which the rejection names, also across batches', async () => {
    const twice = 'BK00-FIRST-OF-TWO-7KXQ';
    const near = 'BK00-FIRST-OF-TWO-NEAR';
    const licenses = [
      ...[license(twice, 9_450), license(near, 9_450), license(near.toLowerCase(), 9_451)],
      ...numbers(97).map((n) => license(`twice ${n}`, 9_450)),
      ...[license(twice, 9_451), license('twice 1', 9_450, 'Other'), license('twice 2', 9_450)],
    ];
    // Without the wait for duplicates, the next batch would overtake the first one.
    const behind = await disturbed((_, nth) => (nth === 3 ? 'busy' : 'none'));
    const file = write('twice.json', JSON.stringify({ products, licenses }));
    const report = at('twice.report');
    const { code, output } = await run('import', [file, '--to', behind, '--report', report]);
    expect(code).toBe(1);
    const product = 'is that of a license of product 9450';
    expect(output).toContain(
      `licenses[2], license bk00…near: licenseKey ${product} (licenses[1] has the same key)\n`,
    );
    expect(output).toContain(
      `licenses[100], license BK00…7KXQ: licenseKey ${product} (licenses[0] has the same key)\n`,
    );
    expect(output).not.toContain(twice);
    expect(await licenseWith(twice)).toMatchObject({ productId: 9_450 });
    expect(await licenseWith('twice 1')).toMatchObject({ notes: '' });
    const reported = readFileSync(report, 'utf8').trim().split('\n');
    expect(reported.map((line): unknown => JSON.parse(line))).toMatchObject([
      { where: 'products[2]', outcome: 'kept', reason: 'products[0] has the same id' },
      { where: 'licenses[2]', outcome: 'refused' },
      { where: 'licenses[100]', outcome: 'refused' },
      { where: 'licenses[101]', outcome: 'kept', reason: 'licenses[3] has the same key' },
    ]);
    expect(countsIn(output, 'licenses')).toEqual([99, 1, 1, 2]);
  });
});

describe('an import that cannot be done', () => {
  const good = lines([{ product: productOf(9_500) }]);
  const product = JSON.stringify(productOf(9_500));
  const files: Record<string, string> = {
    'cut.jsonl': good,
    'count.jsonl': `${good}{"end":{"products":2}}\n`,
    'behind.jsonl': `{"end":{}}\n${good}`,
    'half.jsonl': `${good}{"licen`,
    'middle.jsonl': `${good}{"licen\n${good}{"end":{"products":2}}\n`,
    'last.jsonl': `${good}{"licen\n`,
    'misnamed.jsonl': `${good}{"licence":{}}`,
    'other.jsonl': `${product}\n{"end":{}}\n`,
    'long.jsonl': `{"product":"${'x'.repeat(2_000_000)}"}`,
    'cut.json': `{"products":[${product}`,
    'broken.json': `{"products":[\n${product},\noops,${product}]}`,
    'none.json': '{"shop":[]}',
    'misspelt.json': `{"products":[${product}],"licences":[{}]}`,
    'twice.csv': 'licenseKey,licenseKey,productId\na,b,1\n',
    'semicolon.csv': 'licenseKey;productId\na;1\n',
    'list.json': `[${product}]`,
    'object.json': `{"products":${product}}`,
    'bad.csv': 'licenseKey,productId\na,1\nb\n',
    'quote.csv': 'licenseKey,productId\n"a,1\n',
    'shop.xml': '<shop/>',
    'fine.jsonl': `${good}{"end":{"products":1}}\n`,
  };

  const cases: [file: string, kind: Kind | undefined, isPartial: boolean, problem: string][] = [
    ['cut.jsonl', undefined, false, 'cut.jsonl has no last line with counts'],
    ['count.jsonl', undefined, false, 'has 1 products, but its last line says 2'],
    ['behind.jsonl', undefined, false, 'lines follow its last line'],
    ['half.jsonl', undefined, false, 'line 2 is not like {"license":{…}}'],
    ['middle.jsonl', undefined, true, 'line 2 is not like'],
    ['last.jsonl', undefined, true, 'line 2 is not like {"license":{…}}. Nothing was imported.'],
    [
      'misnamed.jsonl',
      undefined,
      true,
      'line 2 is not like {"license":{…}}. Nothing was imported.',
    ],
    ['other.jsonl', undefined, false, 'line 1 is not like'],
    ['long.jsonl', undefined, false, 'a line is larger than 1 MiB'],
    [
      'half.jsonl',
      undefined,
      false,
      'Nothing was imported. Add --partial to import the complete items.',
    ],
    ['cut.json', undefined, false, 'the file is incomplete. Nothing was imported. Add --partial'],
    ['broken.json', undefined, false, 'line 3 is not valid JSON. Nothing was imported.'],
    ['broken.json', undefined, true, 'line 3 is not valid JSON. Nothing was imported.'],
    ['none.json', undefined, false, 'none.json has nothing to import'],
    ['misspelt.json', undefined, false, 'licences is not one of products, customers, licenses'],
    ['twice.csv', 'licenses', false, 'the column licenseKey is there twice'],
    ['semicolon.csv', 'licenses', false, 'its columns are not separated by commas'],
    ['list.json', undefined, false, 'does not name the kind of its items. Add --kind'],
    ['object.json', undefined, false, 'products is not a list'],
    ['object.json', 'products', false, 'it is not a list'],
    ['bad.csv', 'licenses', false, 'Invalid Record Length'],
    ['quote.csv', 'licenses', false, 'Quote Not Closed'],
    ['bad.csv', undefined, false, 'does not name the kind of its items. Add --kind'],
    ['cut.jsonl', 'products', false, '--kind is not for'],
    ['bad.csv', 'licenses', true, '--partial is not for'],
    [
      'shop.xml',
      undefined,
      false,
      'shop.xml has an unknown ending. Use one of .jsonl, .ndjson, .json, .csv',
    ],
    ['nowhere.jsonl', undefined, false, 'nowhere.jsonl does not exist'],
  ];
  it.each([
    ['more.json', `{"products":[${product},${product}]}`, 'has changed since it was checked'],
    ['less.json', `{"products":[${product}`, 'The file has changed since it was checked'],
  ])('ends at a file that changed during the import: %s', async (name, changed, problem) => {
    const file = write(name, `{"products":[${product}]}`);
    const source = await fileSource({ file, kind: undefined, isPartial: false });
    write(name, changed);
    await expect(Array.fromAsync(source.read('products'))).rejects.toThrow(problem);
  });

  it.each(cases)('rejects %s (kind %s, partial %s) before it changes anything', async (...args) => {
    const [name, kind, isPartial, problem] = args;
    if (files[name] !== undefined) write(name, files[name]);
    await expect(fileSource({ file: at(name), kind, isPartial })).rejects.toThrow(problem);
  });

  const bytes = (text: string) => Buffer.from(text, 'latin1');
  const long = 'x'.repeat(70_000);
  it.each([
    ['latin.csv', bytes('licenseKey,productId\nL1-M\xfc,1\n'), 2],
    ['end.csv', bytes('licenseKey,productId\na,1\nL1-M\xe9'), 3],
    ['later.csv', bytes(`licenseKey,productId\n${long},1\nL1-M\xe9\n`), 3],
    ['utf-16.csv', Buffer.from('\ufefflicenseKey,productId\na,1\n', 'utf16le'), 1],
    ['unmarked.csv', Buffer.from('licenseKey,productId\na,1\n', 'utf16le'), 1],
    ['latin.jsonl', bytes(`${good}{"license":{"notes":"M\xfcller"}}\n{"end":{}}\n`), 2],
    ['latin.json', bytes(`{"products":[${product},\n{"name":"M\xfc"}]}`), 2],
  ])('rejects %s, which is not UTF-8, before it changes anything', async (name, data, line) => {
    writeFileSync(at(name), data);
    const kind = name.endsWith('.csv') ? 'licenses' : undefined;
    const isPartial = kind === undefined;
    await expect(fileSource({ file: at(name), kind, isPartial })).rejects.toThrow(
      `${name}: line ${line} is not UTF-8. Save it as UTF-8, in Excel as "CSV UTF-8". Nothing was`,
    );
  });

  it('accepts a byte order mark, and with --partial a file that is cut off within a character', async () => {
    const name = 'M\u00fcller';
    const marked = write('marked.csv', `\ufeffid,name\n1,${name}\n`);
    const source = await fileSource({ file: marked, kind: 'products', isPartial: false });
    const items = await Array.fromAsync(source.read('products'), ({ item }) => item);
    expect(items).toEqual([{ id: '1', name }]);
    for (const start of [good, `{"products":[${product}`]) {
      const file = at(start === good ? 'cut-character.jsonl' : 'cut-character.json');
      writeFileSync(file, bytes(`${start}${start === good ? '' : ','}{"x":"M\xc3`));
      const { counts } = await fileSource({ file, kind: undefined, isPartial: true });
      expect(counts).toEqual({ products: 1 });
    }
  });

  it.each([
    [['half.jsonl'], 1, 'half.jsonl: line 2 is not like {"license":{…}}. Nothing was imported.'],
    [['cut.jsonl', '--kind', 'keys'], 2, 'Allowed choices are products, customers'],
    [['cut.jsonl', 'half.jsonl'], 2, 'Give one FILE, or --from URL'],
    [['fine.jsonl', '--report', 'fine.jsonl'], 2, '--report names the FILE that is imported'],
    [['cut.jsonl', '--dryrun'], 2, 'Unknown option --dryrun. Did you mean --dry-run?'],
    [['cut.jsonl', '--token', 'x'], 2, '--token is for --from'],
    [
      ['--from', 'localhost:8787', '--token', 'x'],
      2,
      '--from is "localhost:8787". Give an address such as',
    ],
    [['--from', 'http://localhost:1'], 2, 'No token. Set it in LICET_FROM_TOKEN'],
    [['--from', 'http://localhost:1', '--token', 'x'], 1, 'No response from http://localhost:1'],
    [['fine.jsonl', '--to', 'https://license.example'], 2, 'No token. Set it in LICET_T'],
    [['fine.jsonl', '--to', 'http://localhost:1'], 1, 'No response from http://localhost:1.'],
  ] as [string[], number, string][])('%j ends with %i', async (args, code, message) => {
    const named = args.map((arg) => {
      if (files[arg] !== undefined) write(arg, files[arg]);
      return arg.endsWith('.jsonl') ? at(arg) : arg;
    });
    const before = await totals();
    const ending = await imports(named);
    expect(ending.output).toContain(message);
    expect(ending.code).toBe(code);
    expect(ending.output.trim().split('\n').length).toBeLessThanOrEqual(code === 2 ? 2 : 3);
    expect(await totals()).toEqual(before);
  });

  it.each([
    ['wild.csv', '\u001b[2Jname,\u001b[2Jname\na,b\n', 'the column \ufffd[2Jname is there twice.'],
    [
      'wild.json',
      '{"\\u001b]0;owned\\u0007\\u202e":[{}]}',
      ': \ufffd]0;owned\ufffd\ufffd is not one of',
    ],
  ])('prints no control characters of a file: %s', async (name, text, shown) => {
    const kind = name === 'wild.csv' ? ['--kind', 'products'] : [];
    const { code, output } = await imports([write(name, text), ...kind]);
    expect(output).toContain(shown);
    expect(output).not.toMatch(/[^\P{C}\n]/u);
    expect(code).toBe(1);
  });

  it('ends at a failure while it waits for its source', async () => {
    let batches = 0;
    const { promise: failed, resolve: fail } = Promise.withResolvers<void>();
    const to = await listen((request, response) => {
      request.resume();
      if (++batches === 1) {
        response.writeHead(403).end('{"message":"Why not"}', fail);
        return;
      }
      const results = Array(100).fill({ outcome: 'created', id: 1, differences: [], reason: null });
      response.end(JSON.stringify({ results, ignoredFields: [] }));
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

  it('ends with the error of a service that rejects it', async () => {
    const file = write('fine.jsonl', files['fine.jsonl'] ?? '');
    for (const status of [401, 403, 302]) {
      const to = await listen(({ url = '' }, response) => {
        if (url.endsWith('/ping') && status !== 401) response.end('pong');
        else response.writeHead(status, { Location: '/elsewhere' }).end('{"message":"Why not"}');
      });
      const { code, output } = await run('import', [file, '--to', to], { LICET_TOKEN: 'a-token' });
      expect(output).toMatch(
        status === 401
          ? /rejected the token/
          : new RegExp(`${status}: Why not\\. The items imported before the failure stay\\.`),
      );
      expect(output).not.toContain('a-token');
      expect(output).not.toContain('Run the same command again');
      expect(code).toBe(1);
    }
  });

  it.each([
    '{"hello":1}',
    '<html>Welcome</html>',
    '{"results":[{"outcome":"created"}],"ignoredFields":[]}',
    '{"results":[],"ignoredFields":[1]}',
  ])('ends at a server that responds %s', async (text) => {
    const file = write('fine.jsonl', files['fine.jsonl'] ?? '');
    const to = await listen(({ url = '' }, response) => {
      response.end(url.endsWith('/ping') ? 'pong' : text);
    });
    const { code, output } = await run('import', [file, '--to', to], { LICET_TOKEN: 'a-token' });
    expect(output.trim().split('\n').slice(1)).toEqual([
      `✗ ${to} returned no import result. Check the address. The items imported before the failure stay.`,
    ]);
    expect(code).toBe(1);
  });

  it('names the intents that its token lacks', async () => {
    const file = write('fine.jsonl', files['fine.jsonl'] ?? '');
    const answer = await api('/v2/tokens', { name: 'reader', intents: ['PRODUCTS_READ'] });
    const { token = '' }: { token?: string } = JSON.parse(await answer.text());
    const env = { LICET_TOKEN: token };
    const imported = await imports([file], env);
    expect(imported.output).toMatch(
      /\/import: status 403: .*\. The token needs ALL_READ_WRITE\. The items imported before the failure stay\.\n/,
    );
    const exported = await exports('forbidden.jsonl', env);
    expect(exported.output).toContain(
      'The token needs one of CUSTOMERS_READ, ALL_READ, ALL_READ_WRITE.',
    );
    expect([imported.code, exported.code]).toEqual([1, 1]);
  });

  it('warns of a CSV file whose last row may be cut off', async () => {
    const csv = 'licenseKey,productId\nAAAA-11';
    const imported = async (text: string) => {
      const file = write('rows.csv', text);
      return (await imports([file, '--kind', 'licenses', '--dry-run'])).output;
    };
    const note =
      'rows.csv does not end with a line feed. If it was cut off, its last row is incomplete.';
    expect(await imported(`${csv},1`)).toContain(note);
    expect(await imported(`${csv},1\n`)).not.toContain(note);
  });

  it('imports the complete items of a file that is cut off with --partial', async () => {
    const before = await totals();
    write('half.jsonl', files['half.jsonl'] ?? '');
    const tried = await imports([at('half.jsonl'), '--partial', '--dry-run']);
    expect(tried.code).toBe(0);
    expect(tried.output).toContain(
      'half.jsonl has no last line with counts: it is cut off, or is no export. Its complete items are imported.\n',
    );
    expect(await totals()).toEqual(before);
    expect((await imports([at('half.jsonl'), '--partial'])).code).toBe(0);
    expect(Number((await totals()).products)).toBe(Number(before.products) + 1);
    write('cut.json', files['cut.json'] ?? '');
    const { output } = await imports([at('cut.json'), '--partial']);
    expect(output).toContain(`✓ All complete items are now in ${service.address}.\n`);
    expect(countsIn(output, 'products')).toEqual([0, 1, 0, 0]);
  });

  it.each([
    [['a', 'b'], 2, 'Give one FILE'],
    [['/nowhere/a.jsonl'], 2, '✗ The folder /nowhere does not exist.\n'],
    [[folder], 2, `✗ ${folder} is a folder. Give the name of a file.\n`],
    [['a.jsonl', '--all'], 2, 'Unknown option --all. Add --help'],
  ] as [string[], number, string][])(
    'an export of %j ends with %i',
    async (args, code, message) => {
      const ending = await run('export', [...args, '--from', service.address]);
      expect(ending.output).toContain(message);
      expect(ending.code).toBe(code);
      expect(existsSync('a.jsonl')).toBe(false);
    },
  );
});

describe('the file of an export or a report', () => {
  /** A service with few items. */
  let small: string;
  beforeAll(async () => {
    small = await sharedService();
  });

  const pipe = (name: string): string => {
    spawnSync('mkfifo', ['-m', '644', at(name)]);
    return at(name);
  };

  it('is the target of a link, which stays', async () => {
    write('there.jsonl', 'yesterday');
    for (const target of ['there.jsonl', 'not-there-yet.jsonl']) {
      const link = at(`link-to-${target}`);
      symlinkSync(target, link);
      const { code, output } = await run('export', [link, '--from', small]);
      expect(code, output).toBe(0);
      expect(readlinkSync(link)).toBe(target);
      expect(readFileSync(at(target), 'utf8')).toMatch(/\{"end":.*\}\n$/);
      expect(statSync(at(target)).mode & 0o777).toBe(0o600);
    }
  });

  it('is appended to by a report, which the next import does not repeat', async () => {
    const license = { licenseKey: 'left-out', productId: 9_700, licenseType: 'PERMANENT' };
    const ips = ['192.0.2.1', 'Unknown'];
    const items = { products: [productOf(9_700)], licenses: [{ ...license, ips }] };
    const args = [write('left-out.json', JSON.stringify(items)), '--report', at('left-out.report')];
    expect((await imports(args)).code).toBe(0);
    const first = readFileSync(at('left-out.report'), 'utf8');
    expect(first).toContain('"differences":["ips"]');
    const { output } = await imports(args);
    expect(output).toContain(`Nothing to report: ${at('left-out.report')} is unchanged.`);
    expect(readFileSync(at('left-out.report'), 'utf8')).toBe(first);
    write('left-out.json', '{"products":[{}]}');
    expect((await imports([...args, '--dry-run'])).output).toContain('The report is appended to ');
    const last = readFileSync(at('left-out.report'), 'utf8');
    expect(last.startsWith(first)).toBe(true);
    expect(last.slice(first.length)).toMatch(/^\{.*"outcome":"refused".*"dryRun":true\}\n$/);
  });

  it('must not be the file that is imported', async () => {
    const file = write('own.json', '{"products":[{}]}');
    symlinkSync('own.json', at('link-to-own.report'));
    const { code, output } = await imports([file, '--report', at('link-to-own.report')]);
    expect(output).toContain('--report names the FILE that is imported');
    expect(code).toBe(2);
    expect(readFileSync(file, 'utf8')).toBe('{"products":[{}]}');
  });

  it('may be a pipe, which stays unchanged', async () => {
    const file = pipe('pipe.jsonl');
    const report = pipe('pipe.report');
    const reading = [file, report].map((name) => readFile(name, 'utf8'));
    const exported = await run('export', [file, '--from', small]);
    expect(exported.code, exported.output).toBe(0);
    expect(await reading[0]).toMatch(/\{"end":.*\}\n$/);
    const source = write('misfit.json', '{"products":[{}]}');
    expect((await imports([source, '--report', report])).output).toContain('rejected 1 items');
    expect(await reading[1]).toContain('"outcome":"refused"');
    for (const name of [file, report]) {
      expect(statSync(name).isFIFO()).toBe(true);
      expect(statSync(name).mode & 0o777).toBe(0o644);
    }
  });

  it('may be a closed standard output, which is an error', async () => {
    const output = pipe('closed.jsonl');
    const reader = openSync(output, constants.O_RDONLY | constants.O_NONBLOCK);
    const writer = openSync(output, constants.O_WRONLY);
    closeSync(reader);
    const args = [...argsOfScript('export'), '-', '--from', service.address];
    const { status, stderr } = spawnSync(process.execPath, args, {
      stdio: ['ignore', writer, 'pipe'],
      encoding: 'utf8',
      env: { ...process.env, NO_COLOR: '1' },
    });
    closeSync(writer);
    expect(stderr).toContain('✗ The standard output cannot be written: broken pipe.\n');
    expect(status).toBe(1);
  });

  it('may be a closed pipe, which is an error', async () => {
    const report = pipe('closed.report');
    const reader = openSync(report, constants.O_RDONLY | constants.O_NONBLOCK);
    const to = await listen(({ url = '' }, response) => {
      if (url.endsWith('/ping')) {
        response.end('pong');
        return;
      }
      closeSync(reader);
      const result = { outcome: 'refused', id: null, differences: [], reason: 'no' };
      response.end(JSON.stringify({ results: [result], ignoredFields: [] }));
    });
    const source = write('misfit.json', '{"products":[{}]}');
    const { code, output } = await run('import', [source, '--to', to, '--report', report], {
      LICET_TOKEN: 'a-token',
    });
    expect(output).toContain(`✗ ${report} cannot be written: broken pipe.`);
    expect(output).not.toMatch(/^ +at /m);
    expect(code).toBe(1);
  });
});

describe('the service of an import or an export', () => {
  it('is LICET_URL, unless an option names another one', async () => {
    const file = write(
      'meant.jsonl',
      lines([{ product: productOf(9_600) }, { end: { products: 1 } }]),
    );
    const nobody = 'http://127.0.0.1:1';
    const small = await sharedService();
    const cases: ['import' | 'export', string[], string][] = [
      ['import', [file], service.address],
      ['import', [file, '--to', service.address], nobody],
      ['export', [at('meant.out.jsonl')], small],
      ['export', [at('meant.out.jsonl'), '--from', small], nobody],
    ];
    for (const [tool, args, url] of cases) {
      const meant = tool === 'import' ? service.address : small;
      const { code, output } = await run(tool, args, { LICET_URL: url });
      expect(code, output).toBe(0);
      const [first, ...others] = output.trim().split('\n');
      expect(first).toBe(
        tool === 'import'
          ? `Importing from ${file} into ${meant}`
          : `Exporting from ${meant} to ${at('meant.out.jsonl')}`,
      );
      expect(others.at(-1)).toContain(meant);
    }
  });

  it('must be an address', async () => {
    const { code, output } = await run('export', [at('none.jsonl')], { LICET_URL: 'licet' });
    expect(output).toContain('--from, or LICET_URL, is "licet". Give an address such as');
    expect(code).toBe(2);
  });

  it('is named by a dry run, too', async () => {
    const file = write(
      'dry.jsonl',
      lines([{ product: productOf(9_601) }, { end: { products: 1 } }]),
    );
    const { output } = await imports([file, '--dry-run']);
    expect(output).toMatch(`Checking an import from ${file} into ${service.address}\n`);
    expect(output).toContain(
      `✓ All items can be imported into ${service.address}. This was a dry run: nothing was changed.`,
    );
  });
});

describe('docs/import.md', () => {
  const document = readFileSync('docs/import.md', 'utf8');
  const blocks = (kind: string): string[] =>
    [...document.matchAll(new RegExp(`^ *\`\`\`${kind}\\n(.*?)\`\`\``, 'gms'))].map(
      ([, text = '']) => text,
    );

  it('has commands that work', async () => {
    await api('/v2/import', { kind: 'products', items: [productOf(602)] });
    const old = await listen((request, response) => {
      const isKnown = request.headers.token === 'the-token-of-the-old-service';
      if (!isKnown) response.writeHead(401).end();
      else response.end(request.url?.endsWith('/ping') ? 'pong' : '[]');
    });
    const [csv = ''] = blocks('csv');
    write('licenses.csv', csv);
    const commands = blocks('sh').join('\n');
    expect(commands.match(/npm run/g)).toHaveLength(5);
    const script = commands
      .replaceAll('https://old.example', old)
      .replaceAll('npm run import --', `npm run import -- --to ${service.address}`)
      .replaceAll('npm run', `npm --prefix ${process.cwd()} run`);
    const child = spawn('bash', ['-e', '-c', script], { cwd: folder, stdio: 'pipe' });
    let output = '';
    child.stdout.on('data', (chunk) => (output += chunk));
    child.stderr.on('data', (chunk) => (output += chunk));
    const code = await new Promise((resolve) => child.on('close', resolve));
    expect(code, output).toBe(0);
    expect(existsSync(at('import-report.jsonl'))).toBe(true);
    expect(await licenseWith('aaaa-1111')).toMatchObject({
      ips: ['192.0.2.1', '192.0.2.2'],
      hwids: ['disk 7', 'disk 8'],
      customer: { email: 'ada@shop.example' },
    });
  });
});

it('import and export show their help', async () => {
  for (const tool of ['import', 'export'] as const) {
    const { code, output } = await run(tool, ['--help']);
    expect(code).toBe(0);
    expect(output).toContain(`npm run ${tool} -- FILE [options]`);
    expect(output).toMatch(/\(default:\s+"http:\/\/localhost:8787",\s+env:\s+LICET_URL\)/);
  }
});
