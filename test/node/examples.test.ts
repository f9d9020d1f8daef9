import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { readRootToken } from '../../scripts/root-token.ts';
import { freePort, newFolder, type RunningService, startService } from './service.ts';

/** The examples for programs that are sold: built and run as their README says, all held to the same. */

const HOUR_SECONDS = 60 * 60;
const GRACE_SECONDS = 72 * HOUR_SECONDS;

const isInstalled = (tool: string): boolean =>
  spawnSync('sh', ['-c', `command -v ${tool}`]).status === 0;

interface Program {
  file: string;
  build: string[];
  start: string;
  missing: string[];
}

/** The commands of the README's table: the last one runs the program, the one before builds it. */
const programs: Program[] = [
  ...readFileSync('examples/README.md', 'utf8').matchAll(/^\| \[(.+?)\].*\| `(.+)` \|$/gm),
].map(([, file = '', commands = '']) => {
  const steps = commands.split(' && ');
  const tools = steps.map((step) => step.split(' ', 1)[0] ?? '');
  return {
    file,
    build: steps.slice(0, -1),
    start: steps.at(-1) ?? '',
    missing: tools.filter((tool) => !tool.startsWith('./') && !isInstalled(tool)),
  };
});
const runnable = programs.filter(({ missing }) => missing.length === 0);

/** What a service, or something in its place, answers to the nth question of one program. */
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
const PAGE = `<html><p title='${JSON.stringify(VALID)}'>Log in</p></html>`;

const scenarios: Record<string, Scenario> = {
  'a page, then a redirect': (answer, nth) =>
    nth === 1 ? answer.end(PAGE) : answer.writeHead(302, { Location: '/elsewhere' }).end(),
  'the page of a proxy, then of its guard': (answer, nth) =>
    nth === 1 ? answer.writeHead(400).end('<html>"valid":false</html>') : say(answer, 403, VALID),
  'nonsense, then a failure': (answer, nth) => say(answer, nth === 1 ? 200 : 503, NOT_VALID),
  elsewhere: (answer) => say(answer, 200, VALID),
  silence: (answer, nth) => {
    if (nth === 1) return;
    answer.writeHead(200);
    const drip = setInterval(() => answer.write(' '), 50);
    answer.on('close', () => clearInterval(drip));
  },
  'wait a second, then a refusal': (answer, nth) =>
    nth === 1
      ? say(answer, 429, BUSY, { 'Retry-After': '1' })
      : say(answer, 413, { valid: false, message: 'Too "large"' }),
  'wait a minute': (answer) => say(answer, 429, BUSY, { 'Retry-After': '60' }),
};

interface Asked {
  headers: IncomingHttpHeaders;
  body: string;
  atMs: number;
}
const asked = new Map<string, Asked[]>();
const askedOf = (scenario: string, file: string): Asked[] => asked.get(`${scenario} ${file}`) ?? [];

const fake = createServer((request, answer) => {
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

const folder = newFolder();
let service: RunningService;
let fakeAddress: string;
let closedAddress: string;
let productId: number;

interface License {
  id: number;
  licenseKey: string;
}

interface Ending {
  code: number | null;
  output: string;
}

/** Each program has a folder of its own, in which it is built and run. */
function runIn(file: string, command: string, variables: NodeJS.ProcessEnv): Promise<Ending> {
  const child = spawn('sh', ['-c', `exec ${command}`], {
    cwd: join(folder, file),
    env: {
      ...process.env,
      // Java starts faster, and Go looks for nothing in the network.
      JAVA_TOOL_OPTIONS: '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC',
      GOPROXY: 'off',
      NO_PROXY: '127.0.0.1,localhost',
      ...variables,
    },
  });
  let output = '';
  child.stdout.on('data', (chunk) => (output += chunk));
  child.stderr.on('data', (chunk) => (output += chunk));
  return new Promise((resolve) =>
    child.on('close', (code) =>
      resolve({ code, output: output.replace(/^Picked up JAVA_TOOL_OPTIONS.*\n/gm, '').trim() }),
    ),
  );
}

interface Question {
  url?: string;
  licenseKey?: string;
  /** What is in the mark file before. */
  mark?: string | undefined;
  timeoutSeconds?: number;
}

let questions = 0;

/** Runs a program once, with a mark file of its own; `mark` is what is in it afterwards. */
async function ask({ file, start }: Program, question: Question) {
  const { url, licenseKey = 'KEY', mark, timeoutSeconds = 10 } = question;
  const markFile = join(folder, `mark-${++questions}`);
  if (mark !== undefined) writeFileSync(markFile, mark);
  const ending = await runIn(file, start, {
    LICET_URL: url,
    LICET_PRODUCT_ID: String(productId),
    LICET_KEY: licenseKey,
    LICET_MARK: markFile,
    LICET_TIMEOUT_SECONDS: String(timeoutSeconds),
    LICET_RETRY_SECONDS: '0',
  });
  return { ...ending, mark: existsSync(markFile) ? readFileSync(markFile, 'utf8') : undefined };
}

const askFake = (program: Program, scenario: string, question: Omit<Question, 'url'> = {}) =>
  ask(program, {
    url: `${fakeAddress}/${encodeURIComponent(scenario)}/${program.file}`,
    ...question,
  });

async function api<Result>(method: string, path: string, body?: object): Promise<Result> {
  const answer = await fetch(`${service.address}/api/v2${path}`, {
    method,
    headers: { TOKEN: readRootToken() ?? '' },
    ...(body && { body: JSON.stringify(body) }),
  });
  expect(answer.ok, `${method} ${path}`).toBe(true);
  const result: Result = JSON.parse(await answer.text());
  return result;
}

/** What is recorded of the nth request for a license. */
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

/** What a program said to its first question, and as what machine it asked. */
interface First {
  ending: Awaited<ReturnType<typeof ask>>;
  license: License;
  hwid: string;
}
const firsts = new Map<string, First>();

function firstOf({ file }: Program): First {
  const first = firsts.get(file);
  if (!first) throw new Error(`${file} was not run`);
  return first;
}

async function build(program: Program): Promise<void> {
  cpSync('examples', join(folder, program.file), { recursive: true });
  for (const command of program.build) {
    const { code, output } = await runIn(program.file, command, {});
    expect(code, `${command}\n${output}`).toBe(0);
  }
}

async function askFirst(program: Program): Promise<void> {
  const body = { productId, licenseType: 'PERMANENT' };
  const license = await api<License>('POST', '/licenses', body);
  const { licenseKey } = license;
  const ending = await ask(program, { url: service.address, licenseKey });
  const { hwid, productVersion } = await recordOf(license, 1);
  expect(productVersion).toBe('1.0.0');
  expect(hwid).toMatch(/^[0-9a-f]{64}$/);
  firsts.set(program.file, { ending, license, hwid });
}

beforeAll(async () => {
  [service, closedAddress] = await Promise.all([
    startService(join(folder, 'service')),
    freePort().then((port) => `http://127.0.0.1:${port}`),
    new Promise<void>((resolve) => fake.listen(0, '127.0.0.1', resolve)),
    ...runnable.map(build),
  ]);
  const address = fake.address();
  if (typeof address === 'object') fakeAddress = `http://127.0.0.1:${address?.port}`;
  const product = { name: 'Example', description: '', productType: 'OTHER' };
  ({ id: productId } = await api<{ id: number }>('POST', '/products', product));
  await Promise.all(runnable.map(askFirst));
});
afterAll(async () => {
  fake.close();
  fake.closeAllConnections();
  await service.stop();
  rmSync(folder, { recursive: true });
});

const nowSeconds = () => Math.floor(Date.now() / 1000);

/** The mark as the README describes it; of `time`, in seconds since 1970. */
function markOf(program: Program, time: number, licenseKey = 'KEY'): string {
  const lines = [time, licenseKey, productId, firstOf(program).hwid];
  return `${time} ${createHash('sha256').update(lines.join('\n')).digest('hex')}`;
}

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

    it('tells the user why a license is refused, and forgets the last good answer', async () => {
      const { license, hwid } = firstOf(program);
      await api('PUT', `/licenses/${license.id}`, { licenseStatus: 'DEACTIVATED' });
      const mark = markOf(program, nowSeconds(), license.licenseKey);
      expect(await ask(program, { url: service.address, ...license, mark })).toEqual({
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

    it.each<[string, (program: Program) => string]>([
      ['of long ago', (it) => markOf(it, nowSeconds() - GRACE_SECONDS - 60)],
      ['of another license', (it) => markOf(it, nowSeconds(), 'OTHER')],
    ])('stops where nothing answers and the mark is %s', async (_, before) => {
      const ending = await ask(program, { url: closedAddress, mark: before(program) });
      expect(ending.output).toMatch(CANNOT_REACH);
      expect(ending.code).toBe(2);
    });

    it.each([
      ['a page, then a redirect', 'HTTP 302'],
      ['the page of a proxy, then of its guard', 'HTTP 403'],
      ['nonsense, then a failure', 'HTTP 503'],
    ])('takes for no answer: %s', async (scenario, why) => {
      const { code, output } = await askFake(program, scenario);
      expect(output).toMatch(CANNOT_REACH);
      expect(output).toContain(`(${why})`);
      expect(code).toBe(2);
      expect(askedOf(scenario, program.file)).toHaveLength(2);
      expect(askedOf('elsewhere', '')).toEqual([]);
    });

    it('waits no longer than its time-out for an answer, or for the end of one', async () => {
      const startedAt = Date.now();
      const { code, output } = await askFake(program, 'silence', { timeoutSeconds: 1 });
      expect(output).toMatch(CANNOT_REACH);
      expect(code).toBe(2);
      expect(Date.now() - startedAt).toBeLessThan(15_000);
    });

    it('asks again when the service wants it to, with whatever key the user wrote', async () => {
      const scenario = 'wait a second, then a refusal';
      const licenseKey = 'a "key" \\ é';
      const ending = await askFake(program, scenario, { licenseKey });
      expect(ending).toMatchObject({ code: 1, output: 'License refused: Too "large"' });
      const [first, second, ...more] = askedOf(scenario, program.file);
      expect(more).toEqual([]);
      expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(990);
      expect(JSON.parse(second?.body ?? '')).toMatchObject({ licenseKey, productId });
      expect(second?.headers).toMatchObject({ 'user-agent': 'licet-client/1' });
    });

    it('does not wait a minute', async () => {
      const { code, output } = await askFake(program, 'wait a minute');
      expect(output).toContain('(HTTP 429)');
      expect(code).toBe(2);
      expect(askedOf('wait a minute', program.file)).toHaveLength(1);
    });

    it('says what it needs', async () => {
      expect(await ask(program, {})).toMatchObject({
        code: 3,
        output: 'Set LICET_URL, LICET_PRODUCT_ID and LICET_KEY.',
      });
    });
  });
}
