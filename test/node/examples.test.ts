import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { readRootToken } from '../../packages/cli/src/root-token.ts';
import { Licet } from '../../packages/client/src/index.ts';
import { build, isInstalled, type Program, programs, runIn } from './example-programs.ts';
import { listen, ownFolder } from './own.ts';
import { freePort } from './service.ts';
import { sharedService } from './shared-service.ts';

/** The examples for programs that are sold: built and run as their README says, all held to the same. */

const HOUR_SECONDS = 60 * 60;
const GRACE_SECONDS = 72 * HOUR_SECONDS;

const runnable = programs.filter(({ missing }) => missing.length === 0);

/** Responds to the nth request of one program, as the service or as something in its place. */
type Scenario = (answer: ServerResponse, nth: number) => void;

function say(
  answer: ServerResponse,
  status: number,
  body: object,
  headers: Record<string, string> = {},
): void {
  answer.writeHead(status, { 'Content-Type': 'application/json', ...headers });
  answer.end(JSON.stringify(body));
}

const VALID = { valid: true, message: 'License is valid' };
const NOT_VALID = { valid: false, message: 'Service temporarily unavailable' };
const BUSY = { valid: false, message: 'Too many requests' };
const ESCAPED = String.raw`Too \"gro\u00df\"\nC:\\new\/`;
const UNESCAPED = 'Too "groß"\nC:\\new/';
/** sed has no letter for a number. */
const UNESCAPED_BY_SHELL = 'Too "grou00df"nC:\\new/';
const PAGE = `<html><p title='${JSON.stringify(VALID)}'>Log in</p></html>`;

const scenarios: Record<string, Scenario> = {
  'a page, then a redirect': (answer, nth) =>
    nth === 1 ? answer.end(PAGE) : answer.writeHead(302, { Location: '/elsewhere' }).end(),
  'the page of a proxy, then of its guard': (answer, nth) =>
    nth === 1
      ? answer
          .writeHead(400, { 'Retry-After': new Date(Date.now() + 60_000).toUTCString() })
          .end('<html>"valid":false</html>')
      : say(answer, 403, VALID),
  'nonsense, then a failure': (answer, nth) =>
    say(answer, nth === 1 ? 200 : 503, NOT_VALID, { 'Retry-After': '-5' }),
  elsewhere: (answer) => say(answer, 200, VALID),
  silence: (answer, nth) => {
    if (nth === 1) return;
    answer.writeHead(200);
    const drip = setInterval(() => answer.write(' '), 50);
    answer.on('close', () => clearInterval(drip));
  },
  slowness: (answer) => setTimeout(() => say(answer, 200, VALID), 5500),
  'wait a second, then a refusal': (answer, nth) =>
    nth === 1
      ? say(answer, 429, BUSY, { 'Retry-After': '1' })
      : answer.writeHead(413).end(`{"valid":false,"message":"${ESCAPED}"}`),
  'wait a minute': (answer) => say(answer, 429, BUSY, { 'Retry-After': '60' }),
};

interface Asked {
  headers: IncomingHttpHeaders;
  body: string;
  atMs: number;
}
const asked = new Map<string, Asked[]>();
const askedOf = (scenario: string, file: string): Asked[] => asked.get(`${scenario} ${file}`) ?? [];

const startFake = () =>
  listen((request, answer) => {
    const [, scenario = '', file = ''] = (request.url ?? '').split('/').map(decodeURIComponent);
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      const before = askedOf(scenario, file);
      const now = { headers: request.headers, body, atMs: Date.now() };
      asked.set(`${scenario} ${file}`, [...before, now]);
      scenarios[scenario]?.(answer, before.length + 1);
    });
  });

const folder = ownFolder();
let address: string;
let fakeAddress: string;
let closedAddress: string;
let productId: number;

interface License {
  id: number;
  licenseKey: string;
}

interface Question {
  url?: string;
  licenseKey?: string;
  productId?: string;
  markFile?: string;
  /** The content of the mark file before the run. */
  mark?: string | undefined;
  timeoutSeconds?: number;
  publicKeys?: string | undefined;
}

let questions = 0;

/** Runs a program once, with a mark file of its own, and returns the content of the file as `mark`. */
async function ask({ file, start }: Program, question: Question) {
  const { url, licenseKey = 'KEY', mark, timeoutSeconds = 10, publicKeys = '' } = question;
  const { markFile = join(folder, `mark-${++questions}`) } = question;
  if (mark !== undefined) writeFileSync(markFile, mark);
  const ending = await runIn(folder, file, start, {
    LICET_URL: url,
    LICET_PRODUCT_ID: question.productId ?? String(productId),
    LICET_KEY: licenseKey,
    LICET_MARK: markFile,
    LICET_TIMEOUT_SECONDS: String(timeoutSeconds),
    LICET_RETRY_SECONDS: '0',
    LICET_PUBLIC_KEYS: publicKeys,
  });
  return { ...ending, mark: existsSync(markFile) ? readFileSync(markFile, 'utf8') : undefined };
}

const askFake = (program: Program, scenario: string, question: Omit<Question, 'url'> = {}) =>
  ask(program, {
    url: `${fakeAddress}/${encodeURIComponent(scenario)}/${program.file}`,
    ...question,
  });

async function api<Result>(method: string, path: string, body?: object): Promise<Result> {
  const answer = await fetch(`${address}/api/v2${path}`, {
    method,
    headers: { TOKEN: readRootToken() ?? '' },
    ...(body && { body: JSON.stringify(body) }),
  });
  expect(answer.ok, `${method} ${path}`).toBe(true);
  const result: Result = JSON.parse(await answer.text());
  return result;
}

/** The record of a license's nth request. */
const recordOf = (license: License, nth: number) =>
  vi.waitFor(
    async () => {
      const records = await api<{ hwid: string; productVersion: string }[]>(
        'GET',
        `/requests?licenseKey=${license.licenseKey}`,
      );
      const record = records.at(-nth);
      if (!record) throw new Error('Not recorded yet');
      return record;
    },
    { timeout: 10_000 },
  );

type Result = Awaited<ReturnType<typeof ask>>;

/** The end of a program's first run, and the machine on which it ran. */
interface First {
  ending: Result;
  license: License;
  hwid: string;
  /** These take seconds, in which the other requests are made. */
  silence: Promise<Result>;
  slowness: Promise<Result>;
}
const firsts = new Map<string, First>();

function firstOf({ file }: Program): First {
  const first = firsts.get(file);
  if (!first) throw new Error(`${file} was not run`);
  return first;
}

async function askFirst(program: Program): Promise<void> {
  const body = { productId, licenseType: 'PERMANENT' };
  const license = await api<License>('POST', '/licenses', body);
  const { licenseKey } = license;
  const ending = await ask(program, { url: address, licenseKey });
  const { hwid, productVersion } = await recordOf(license, 1);
  expect(productVersion).toBe('1.0.0');
  expect(hwid).toMatch(/^[0-9a-f]{64}$/);
  const silence = askFake(program, 'silence', { timeoutSeconds: 1 });
  const slowness = askFake(program, 'slowness', { markFile: join(folder, 'absent', 'mark') });
  firsts.set(program.file, { ending, license, hwid, silence, slowness });
}

beforeAll(async () => {
  [address, closedAddress, fakeAddress] = await Promise.all([
    sharedService(),
    freePort().then((port) => `http://127.0.0.1:${port}`),
    startFake(),
    ...runnable.map((program) => build(folder, program)),
  ]);
  const product = { name: 'Example', description: '', productType: 'OTHER', offlineDays: 2 };
  ({ id: productId } = await api<{ id: number }>('POST', '/products', product));
  await Promise.all(runnable.map(askFirst));
});

const readLine = (file: string): string =>
  existsSync(file) ? readFileSync(file, 'utf8').trim() : '';

const nowSeconds = () => Math.floor(Date.now() / 1000);

/** The mark as the README describes it; of `time`, in seconds since 1970. */
function markOf(program: Program, time: number, licenseKey = 'KEY'): string {
  const lines = [time, licenseKey, productId, firstOf(program).hwid];
  return `${time} ${createHash('sha256').update(lines.join('\n')).digest('hex')}`;
}

it('has the tools that LICET_TOOLS names: without them, CI would be green and prove little', () => {
  const names = process.env.LICET_TOOLS?.split(' ') ?? [];
  expect(names.filter((name) => !isInstalled(name))).toEqual([]);
});

it('the README has every example', () => {
  const files = readdirSync('examples').filter((file) => file !== 'README.md');
  expect(programs.map(({ file }) => file).sort()).toEqual(files.sort());
});

const CANNOT_REACH =
  /^The license service cannot be reached \(.+\)\. Check the network connection and try again\.$/;

for (const program of programs) {
  const { file, missing } = program;
  const isSkipped = missing.length > 0;
  if (isSkipped) {
    console.warn(`SKIPPED: examples/${file} is not run: ${missing.join(', ')} is not installed`);
  }
  describe.skipIf(isSkipped).concurrent(file, () => {
    it('runs with a valid license, and keeps the time', () => {
      const { ending, license } = firstOf(program);
      expect(ending).toMatchObject({ code: 0, output: 'License is valid' });
      const time = Number.parseInt(ending.mark ?? '', 10);
      expect(Math.abs(nowSeconds() - time)).toBeLessThan(60);
      expect(ending.mark?.trim()).toBe(markOf(program, time, license.licenseKey));
    });

    it('believes the signatures of the service, and runs on the lease where nothing answers', async () => {
      const { keys } = await new Licet({ url: address }).signingKeys();
      const alg = ['licet.ts', 'licet.go'].includes(file) ? 'ES256' : 'RS256';
      const [publicKeys] = keys
        .filter((key) => key.alg === alg)
        .map((key) => `${key.kid}:${key.kty === 'EC' ? `${key.x}.${key.y}` : key.n}`);
      const body = { productId, licenseType: 'PERMANENT' };
      const license = await api<License>('POST', '/licenses', body);
      const { licenseKey } = license;
      const { mark, ...ending } = await ask(program, { url: address, licenseKey, publicKeys });
      expect(ending).toEqual({ code: 0, output: 'License is valid' });
      const question = { licenseKey, mark, publicKeys };
      const offline = await ask(program, { ...question, url: closedAddress });
      expect(offline.output).toMatch(/The last good answer counts for 48 h more\.$/);
      await api('PUT', `/licenses/${license.id}`, { licenseStatus: 'DEACTIVATED' });
      expect(await ask(program, { ...question, url: address })).toEqual({
        code: 1,
        output: 'License refused: License is deactivated',
        mark: undefined,
      });
    });

    it('tells the user why a license is refused, and forgets the last good answer', async () => {
      const { license, hwid } = firstOf(program);
      await api('PUT', `/licenses/${license.id}`, { licenseStatus: 'DEACTIVATED' });
      const mark = markOf(program, nowSeconds(), license.licenseKey);
      expect(await ask(program, { url: address, ...license, mark })).toEqual({
        code: 1,
        output: 'License refused: License is deactivated',
        mark: undefined,
      });
      const { hwid: secondHwid } = await recordOf(license, 2);
      expect(secondHwid).toBe(hwid);
    });

    it('runs on for 72 hours where nothing answers', async () => {
      const mark = markOf(program, nowSeconds() - GRACE_SECONDS + HOUR_SECONDS / 2);
      const ending = await ask(program, { url: closedAddress, mark });
      expect(ending.output).toMatch(
        /^The license service cannot be reached \(.+\)\. The last good answer counts for 1 h more\.$/,
      );
      expect(ending).toMatchObject({ code: 0, mark });
    });

    it('makes its hardware ID of what does not change, and asks no DNS', () => {
      const names = [hostname(), readLine('/etc/hostname')];
      const ids = names.map((host) => {
        const lines = [readLine('/etc/machine-id'), host, userInfo().username];
        return createHash('sha256').update(lines.join('\n')).digest('hex');
      });
      expect(ids).toContain(firstOf(program).hwid);
    });

    it.each<[string, string, string, () => string]>([
      [
        'a page, then a redirect',
        'HTTP 302',
        'long ago',
        () => markOf(program, nowSeconds() - GRACE_SECONDS - 60),
      ],
      [
        'the page of a proxy, then of its guard',
        'HTTP 403',
        'another license',
        () => markOf(program, nowSeconds(), 'OTHER'),
      ],
      [
        'nonsense, then a failure',
        'HTTP 503',
        'the future',
        () => markOf(program, nowSeconds() + GRACE_SECONDS + 600),
      ],
    ])(
      'takes for no answer: %s (%s); and a mark of %s for none',
      async (scenario, why, _, mark) => {
        const { code, output } = await askFake(program, scenario, { mark: mark() });
        expect(output).toMatch(CANNOT_REACH);
        expect(output).toContain(`(${why})`);
        expect(code).toBe(2);
        expect(askedOf(scenario, program.file)).toHaveLength(2);
        expect(askedOf('elsewhere', '')).toEqual([]);
      },
    );

    it('waits no longer than its time-out for an answer, or for the end of one', async () => {
      const { code, output } = await firstOf(program).silence;
      expect(output).toMatch(CANNOT_REACH);
      expect(code).toBe(2);
      const [first, second] = askedOf('silence', file);
      expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeLessThan(5000);
    });

    it('waits for a slow answer, and runs where the time cannot be kept', async () => {
      const { code, output } = await firstOf(program).slowness;
      expect({ code, output }).toEqual({ code: 0, output: VALID.message });
      expect(askedOf('slowness', file)).toHaveLength(1);
    });

    it('asks again when the service wants it to, with whatever key the user wrote', async () => {
      const scenario = 'wait a second, then a refusal';
      const licenseKey = 'a "key" \\ é';
      const ending = await askFake(program, scenario, { licenseKey });
      const message = file === 'licet.sh' ? UNESCAPED_BY_SHELL : UNESCAPED;
      expect(ending).toMatchObject({ code: 1, output: `License refused: ${message}` });
      const [first, second, ...more] = askedOf(scenario, program.file);
      expect(more).toEqual([]);
      expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(990);
      expect(JSON.parse(second?.body ?? '')).toMatchObject({ licenseKey, productId });
      expect(second?.headers).toMatchObject({ 'user-agent': 'licet-client/1' });
      if (file === 'licet.go') expect(second?.headers.connection).toBe('close');
    });

    it('does not wait a minute', async () => {
      const { code, output } = await askFake(program, 'wait a minute');
      expect(output).toContain('(HTTP 429)');
      expect(code).toBe(2);
      expect(askedOf('wait a minute', program.file)).toHaveLength(1);
    });

    it.each<[string, Question]>([
      ['nothing', {}],
      ['a product id that is no number', { url: 'http://127.0.0.1:9', productId: 'abc' }],
    ])('says what it needs, given %s', async (_, question) => {
      expect(await ask(program, question)).toMatchObject({
        code: 3,
        output: 'Set LICET_URL, LICET_PRODUCT_ID (a number) and LICET_KEY.',
      });
    });
  });
}

const curlPrograms = runnable.filter(({ file }) => /\.(lua|sh)$/.test(file));
it.concurrent.each(curlPrograms)('$file takes for no answer what is not HTTP', async (program) => {
  const place = join(folder, program.file, 'api', 'v1');
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, 'validate'), JSON.stringify(VALID));
  const { code, output } = await ask(program, { url: `file://${join(folder, program.file)}` });
  expect(output).toMatch(CANNOT_REACH);
  expect(output).toContain('(no HTTP answer)');
  expect(code).toBe(2);
});

const lua = runnable.find(({ file }) => file === 'licet.lua');
it.skipIf(!lua)('licet.lua tries nothing out when a program loads it', async () => {
  const program = `print(type(dofile('licet.lua').check), type(require('licet').check))`;
  const ending = await runIn(folder, 'licet.lua', `lua5.4 -e "${program}"`);
  expect(ending).toEqual({ code: 0, output: 'function\tfunction' });
});

/** As much of a game server as the plugin in the README sees of it. */
const GAME_SERVER = `
abstract class ServerPlugin {
    interface Config { String getString(String path); }
    interface Scheduler { void runTask(ServerPlugin plugin, Runnable task); }
    interface PluginManager { void disablePlugin(ServerPlugin plugin); }
    interface Server { Scheduler getScheduler(); PluginManager getPluginManager(); }
    abstract java.io.File getDataFolder();
    abstract Config getConfig();
    abstract Server getServer();
    abstract java.util.logging.Logger getLogger();
    public abstract void onEnable();
}`;

it.skipIf(!isInstalled('javac'))('the plugin of the README compiles for Java 8', () => {
  const [, plugin = ''] =
    /\n```java\n(.+?)```/s.exec(readFileSync('examples/README.md', 'utf8')) ?? [];
  expect(plugin).toContain('onEnable');
  const place = join(folder, 'plugin');
  mkdirSync(place);
  cpSync('examples/Licet.java', join(place, 'Licet.java'));
  const source = `import java.nio.file.Path;${GAME_SERVER}
abstract class Plugin extends ServerPlugin {
${plugin}}`;
  writeFileSync(join(place, 'Plugin.java'), source);
  const args = ['--release', '8', '-nowarn', '-Xlint:-options', 'Plugin.java', 'Licet.java'];
  const { status, stderr } = spawnSync('javac', args, { cwd: place, encoding: 'utf8' });
  expect(stderr).toBe('');
  expect(status).toBe(0);
});
