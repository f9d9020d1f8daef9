import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { readRootToken } from '@licet/cli/root-token';
import { type License, Licet } from '@licet/client';
import { OUTCOMES } from '@licet/contract/outcomes';
import { transformSync } from 'esbuild';
import { beforeAll, describe, expect, it } from 'vitest';
import { LINES } from '../../console/src/screens/program/lines.ts';
import { isLong } from '../support/long.ts';
import {
  BUYER_MESSAGES,
  built,
  type Drive,
  messageFor,
  nowSeconds,
  type Program,
  programs,
  readIfThere,
  runIn,
  runnable,
  startDriver,
} from './example-programs.ts';
import { listen, ownFolder } from './own.ts';
import { freePort } from './service.ts';
import { sharedService } from './shared-service.ts';
import { recordsOf } from './shop.ts';
import { isInstalled } from './tools.ts';

/** The examples for programs that are sold: built and run as their README says, all held to the same. */

const HOUR_SECONDS = 60 * 60;
const GRACE_SECONDS = 72 * HOUR_SECONDS;

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

/** The messages of the service for the refusals of a license. */
const { INVALID_REQUEST: _, RATE_LIMITED: __, VALID: ___, ERROR: ____, ...REFUSED } = OUTCOMES;
const REFUSALS = [...new Set(Object.values(REFUSED).map(({ message }) => message))];

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
  machine: (answer) => say(answer, 200, VALID),
  'a key': (answer) => say(answer, 200, VALID),
  'no key': (answer) => say(answer, 200, VALID),
  silence: (answer, nth) => {
    if (nth === 1) return;
    answer.writeHead(200);
    const drip = setInterval(() => answer.write(' '), 50);
    answer.on('close', () => clearInterval(drip));
  },
  ...Object.fromEntries(
    REFUSALS.map((message): [string, Scenario] => [
      message,
      (answer) => say(answer, 400, { valid: false, message }),
    ]),
  ),
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
  listen(async (request, answer) => {
    const [, scenario = '', file = ''] = (request.url ?? '').split('/').map(decodeURIComponent);
    const body = await text(request);
    const before = askedOf(scenario, file);
    const now = { headers: request.headers, body, atMs: Date.now() };
    asked.set(`${scenario} ${file}`, [...before, now]);
    scenarios[scenario]?.(answer, before.length + 1);
  });

const folder = ownFolder();
let address: string;
let fakeAddress: string;
let closedAddress: string;
let licet: Licet;
let productId: number;

interface Question {
  url?: string;
  licenseKey?: string;
  productId?: string;
  markFile?: string;
  /** The content of the mark file before the check. */
  mark?: string | undefined;
  timeoutSeconds?: number;
  publicKeys?: string | undefined;
  hwid?: string;
  call?: 'move';
}

let questions = 0;

/** The mark file of a check: one of its own unless given. */
function markFileOf({ markFile = join(folder, `mark-${++questions}`), mark }: Question): string {
  if (mark !== undefined) writeFileSync(markFile, mark);
  return markFile;
}

/** Runs a program as the README says. Returns the content of its mark file as `mark`. */
async function run(program: Program, question: Question) {
  const { url, licenseKey = 'KEY', publicKeys = '' } = question;
  const markFile = markFileOf(question);
  const ending = await runIn(await built(program), program.start, {
    LICET_URL: url,
    LICET_PRODUCT_ID: question.productId ?? String(productId),
    LICET_KEY: licenseKey,
    LICET_MARK: markFile,
    LICET_TIMEOUT_SECONDS: '10',
    LICET_RETRY_SECONDS: '0',
    LICET_PUBLIC_KEYS: publicKeys,
  });
  return { ...ending, mark: readIfThere(markFile) };
}

/** Checks in a program's driver, which is one process for all checks. */
async function check(drive: Drive, question: Question & { url: string }) {
  const { url, licenseKey = 'KEY', publicKeys, timeoutSeconds, hwid, call } = question;
  const markFile = markFileOf(question);
  const asked = { url, licenseKey, publicKeys, timeoutSeconds, hwid, call };
  const ending = await drive({ ...asked, productId, markFile });
  return { ...ending, mark: readIfThere(markFile) };
}

const fakeUrl = (program: Program, scenario: string): string =>
  `${fakeAddress}/${encodeURIComponent(scenario)}/${program.file}`;

const createLicense = () => licet.licenses.create({ productId, licenseType: 'PERMANENT' });

/** The first run of a program, and its driver. */
interface First {
  ending: Awaited<ReturnType<typeof run>>;
  /** In seconds since 1970. */
  endedAt: number;
  license: License;
  /** The id of this installation, which all programs share. */
  hwid: string;
  drive: Drive;
  /** The checks of slow servers take seconds. Meanwhile the programs themselves run. */
  silence: ReturnType<typeof check>;
  slowness: ReturnType<typeof check>;
}
const firsts = new Map<string, First>();

function firstOf({ file }: Program): First {
  const first = firsts.get(file);
  if (!first) throw new Error(`${file} was not run`);
  return first;
}

async function runFirst(program: Program): Promise<void> {
  const drive = startDriver(await built(program), program);
  const license = await createLicense();
  const { licenseKey } = license;
  const ending = await run(program, { url: address, licenseKey });
  const endedAt = nowSeconds();
  const [record] = await recordsOf(licet, licenseKey, 1);
  const { hwid, productVersion } = record ?? {};
  expect(productVersion).toBe('1.0.0');
  expect(hwid).toMatch(/^[0-9a-f]{32}$/);
  const silence = check(drive, { url: fakeUrl(program, 'silence'), timeoutSeconds: 1 });
  // No file can have so long a name.
  const markFile = join(folder, 'mark'.repeat(100));
  const slowness = check(drive, { url: fakeUrl(program, 'slowness'), markFile });
  firsts.set(program.file, {
    ending,
    endedAt,
    license,
    hwid: hwid ?? '',
    drive,
    silence,
    slowness,
  });
}

beforeAll(async () => {
  [address, closedAddress, fakeAddress] = await Promise.all([
    sharedService(),
    freePort().then((port) => `http://127.0.0.1:${port}`),
    startFake(),
    ...runnable.map(built),
  ]);
  licet = new Licet({ url: address, token: readRootToken() });
  const product = { name: 'Example', productType: 'OTHER', offlineDays: 2 } as const;
  ({ id: productId } = await licet.products.create(product));
  await Promise.all(runnable.map(runFirst));
});

const readLine = (file: string): string => readIfThere(file)?.trim() ?? '';

/** The mark as the README describes it; of `time`, in seconds since 1970. */
function markOf(program: Program, time: number, licenseKey = 'KEY'): string {
  const lines = [time, licenseKey, productId, firstOf(program).hwid];
  return `${time} ${createHash('sha256').update(lines.join('\n')).digest('hex')}`;
}

it('the machine has the tools that LICET_TOOLS names: without them, CI would be green and prove little', () => {
  const names = process.env.LICET_TOOLS?.split(' ') ?? [];
  expect(names.filter((name) => !isInstalled(name))).toEqual([]);
});

const CANNOT_REACH =
  /^The license service cannot be reached \(.+\)\. Check the network connection and try again\.$/;

it('the README has every example', () => {
  const files = readdirSync('examples').filter((file) => file !== 'README.md');
  // The guard is a part of a plugin, and no program.
  expect([...programs.map(({ file }) => file), 'LicetGuard.java'].sort()).toEqual(files.sort());
  expect(readFileSync('examples/README.md', 'utf8')).toMatch(/^\| \[LicetGuard\.java\]/m);
});

it('the README has a message for the buyer for each refusal of a license', () => {
  const cases = [...BUYER_MESSAGES.keys()];
  expect(cases.filter((name) => /^[A-Z]/.test(name)).sort()).toEqual(REFUSALS.toSorted());
  expect(messageFor('nothing responds, or something else than the service')).toMatch(CANNOT_REACH);
});

it('licet.mjs is licet.ts without its types', () => {
  const codeOf = (file: string, loader: 'ts' | 'js') =>
    transformSync(readFileSync(`examples/${file}`, 'utf8'), { loader, target: 'node18' }).code;
  expect(codeOf('licet.mjs', 'js')).toBe(codeOf('licet.ts', 'ts'));
});

it.each(['licet.mjs', 'licet.ts'])('a CommonJS program can load %s', async (file) => {
  const program = `console.log(typeof require('./${file}').checkLicense)`;
  const ending = await runIn('examples', `node -e "${program}"`);
  expect(ending).toEqual({ code: 0, output: 'function' });
});

for (const program of programs) {
  const { file, driver } = program;
  describe.skipIf(!runnable.includes(program)).concurrent(file, () => {
    it('an example runs with a valid license, and keeps the time', () => {
      const { ending, endedAt, license } = firstOf(program);
      expect(ending).toMatchObject({ code: 0, output: 'License is valid' });
      const time = Number.parseInt(ending.mark ?? '', 10);
      expect(Math.abs(endedAt - time)).toBeLessThan(60);
      expect(ending.mark?.trim()).toBe(markOf(program, time, license.licenseKey));
    });

    it('an example believes the signatures of the service, and starts from the lease where nothing responds', async () => {
      const { drive } = firstOf(program);
      const { keys } = await licet.signingKeys();
      const [publicKeys] = keys
        .filter(({ alg }) => alg === driver.alg)
        .map((key) => `${key.kid}:${key.kty === 'EC' ? `${key.x}.${key.y}` : key.n}`);
      const { id, licenseKey } = await createLicense();
      await licet.licenses.update(id, { entitlements: { max_players: 100 } });
      const { mark, ...ending } = await check(drive, { url: address, licenseKey, publicKeys });
      expect(ending).toEqual({ state: 'valid', message: 'License is valid' });
      const question = { licenseKey, mark, publicKeys };
      const asked = { licenseKey, publicKeys, productId, markFile: markFileOf({ mark }) };
      const offline = await drive.read({ ...asked, url: closedAddress }, 'max_players');
      expect(offline).toMatchObject({ ...ending, value: '100' });
      expect(offline.checkAfter).toBeGreaterThan(nowSeconds() + 21 * HOUR_SECONDS);
      expect(offline.checkAfter).toBeLessThanOrEqual(nowSeconds() + 24 * HOUR_SECONDS);
      await licet.licenses.update(id, { licenseStatus: 'DEACTIVATED' });
      expect(await check(drive, { ...question, url: address, call: 'move' })).toEqual({
        state: 'refused',
        message: messageFor('License is deactivated'),
        mark: undefined,
      });
    });

    it('an example shows the user why a license is rejected, and forgets the last good response', async () => {
      const { license, hwid, drive } = firstOf(program);
      const { id, licenseKey } = license;
      await licet.licenses.update(id, { licenseStatus: 'DEACTIVATED' });
      const mark = markOf(program, nowSeconds(), licenseKey);
      expect(await check(drive, { url: address, licenseKey, mark })).toEqual({
        state: 'refused',
        message: messageFor('License is deactivated'),
        mark: undefined,
      });
      const records = await recordsOf(licet, licenseKey, 2);
      expect(records.map((record) => record.hwid)).toEqual([hwid, hwid]);
    });

    it('an example tells the buyer the next step after each refusal', async () => {
      for (const said of REFUSALS) {
        const ending = await check(firstOf(program).drive, { url: fakeUrl(program, said) });
        expect(ending).toMatchObject({ state: 'refused', message: messageFor(said) });
        expect(ending.message).toContain(`License refused: ${said}. `);
      }
    });

    it.each(['license.example.com', 'file:///dev/null', 'https://', ''])(
      'an example names the address "%s" at once, with no grace',
      async (url) => {
        const mark = markOf(program, nowSeconds());
        expect(await check(firstOf(program).drive, { url, mark })).toEqual({
          state: 'misuse',
          message: `'${url}' is no address of a service; url has the form https://license.example.com`,
          mark,
        });
      },
    );

    it.each(['null', '', ' \t'])(
      'an example asks nothing for the license key "%s", and refuses it',
      async (licenseKey) => {
        const url = fakeUrl(program, 'no key');
        expect(await check(firstOf(program).drive, { url, licenseKey })).toMatchObject({
          state: 'refused',
          message: messageFor('no license key'),
        });
        expect(askedOf('no key', file)).toEqual([]);
      },
    );

    // Another test has the status of a refusal, and the one above a blank key.
    it.runIf(isLong)(
      'an example ends with the status of a refusal for a blank license key',
      async () => {
        const url = fakeUrl(program, 'no key');
        const { code, output } = await run(program, { url, licenseKey: ' ' });
        expect(output).toBe(messageFor('no license key'));
        expect(code).toBe(1);
        expect(askedOf('no key', file)).toEqual([]);
      },
    );

    it('an example sends a number as a license key as its text', async () => {
      const url = fakeUrl(program, 'a key');
      const { state } = await check(firstOf(program).drive, { url, licenseKey: '12345' });
      expect(state).toBe('valid');
      const [{ body } = { body: '{}' }] = askedOf('a key', file);
      expect(JSON.parse(body)).toMatchObject({ licenseKey: '12345' });
    });

    it('an example runs on for 72 hours where nothing responds', async () => {
      const mark = markOf(program, nowSeconds() - GRACE_SECONDS + HOUR_SECONDS / 2);
      const ending = await run(program, { url: closedAddress, mark });
      expect(ending.output).toMatch(
        /^The license service cannot be reached \(.+\)\. The last good answer counts for 1 h more\.$/,
      );
      expect(ending).toMatchObject({ code: 0, mark });
    });

    it('an example makes the id of the machine of what does not change, and asks no DNS', async () => {
      const names = [hostname(), readLine('/etc/hostname')];
      const ids = names.map((host) => {
        const lines = [readLine('/etc/machine-id'), host, userInfo().username];
        return createHash('sha256').update(lines.join('\n')).digest('hex');
      });
      await check(firstOf(program).drive, { url: fakeUrl(program, 'machine'), hwid: 'machine' });
      const [{ body } = { body: '' }] = askedOf('machine', file);
      expect(ids).toContain(JSON.parse(body).hwid);
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
      'an example takes for no response: %s (%s); and a mark of %s for none',
      async (scenario, why, _, mark) => {
        const url = fakeUrl(program, scenario);
        const { state, message } = await check(firstOf(program).drive, { url, mark: mark() });
        expect(message).toMatch(CANNOT_REACH);
        expect(message).toContain(`(${why})`);
        expect(state).toBe('unreachable');
        expect(askedOf(scenario, program.file)).toHaveLength(2);
        expect(askedOf('elsewhere', '')).toEqual([]);
      },
    );

    it('an example waits no longer than its timeout for a response, or for the end of one', async () => {
      const { state, message } = await firstOf(program).silence;
      expect(message).toMatch(CANNOT_REACH);
      expect(state).toBe('unreachable');
      const [first, second] = askedOf('silence', file);
      expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeLessThan(5000);
    });

    it('an example waits for a slow response, and runs where the time cannot be kept', async () => {
      const { state, message } = await firstOf(program).slowness;
      expect({ state, message }).toEqual({ state: 'valid', message: VALID.message });
      expect(askedOf('slowness', file)).toHaveLength(1);
    });

    it('an example asks again when the service wants it to, with whatever key the user wrote', async () => {
      const scenario = 'wait a second, then a refusal';
      const licenseKey = 'a "key" \\ é';
      const ending = await run(program, { url: fakeUrl(program, scenario), licenseKey });
      const message = file === 'licet.sh' ? UNESCAPED_BY_SHELL : UNESCAPED;
      expect(ending).toMatchObject({ code: 1, output: `License refused: ${message}` });
      const [first, second, ...more] = askedOf(scenario, program.file);
      expect(more).toEqual([]);
      expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(990);
      expect(JSON.parse(second?.body ?? '')).toMatchObject({ licenseKey, productId });
      expect(second?.headers).toMatchObject({ 'user-agent': 'licet-client/2' });
      if (file === 'licet.go') expect(second?.headers.connection).toBe('close');
    });

    it('an example does not wait a minute', async () => {
      const { code, output } = await run(program, { url: fakeUrl(program, 'wait a minute') });
      expect(output).toContain('(HTTP 429)');
      expect(code).toBe(2);
      expect(askedOf('wait a minute', program.file)).toHaveLength(1);
    });

    const needed = 'Set LICET_URL, LICET_PRODUCT_ID (a number) and LICET_KEY.';
    const url = 'http://127.0.0.1:9';
    const lacking: [string, Question, string][] = [
      ['nothing', {}, needed],
      ['a product id that is no number', { url, productId: 'abc' }, needed],
      // The drivers prove these two messages as well, without a process for each.
      [
        'a public key of another form',
        { url, publicKeys: 'foo' },
        "'foo' is no public key; it has the form KID:KEY, ",
      ],
      [
        'an address without http:// or https://',
        { url: 'license.example.com' },
        "'license.example.com' is no address of a service; url has the form https://license.example.com",
      ],
    ];
    it.each(isLong ? lacking : lacking.slice(1, 2))(
      'an example says what it needs, given %s',
      async (_, question, message) => {
        const { code, output } = await run(program, question);
        expect(output.slice(0, message.length)).toBe(message);
        expect(code).toBe(3);
      },
    );
  });
}

const lua = runnable.find(({ file }) => file === 'licet.lua');
it.skipIf(!lua)('licet.lua tries nothing out when a program loads it', async () => {
  const program = `print(type(dofile('licet.lua').check), type(require('licet').check))`;
  const ending = await runIn('examples', `lua5.4 -e "${program}"`);
  expect(ending).toEqual({ code: 0, output: 'function\tfunction' });
});

it.concurrent.each(runnable.filter(({ file }) => file.endsWith('.java')))(
  'the plugin of $file is disabled without a license key, and after an unexpected failure',
  async (program) => {
    const place = await built(program);
    expect(await runIn(place, 'java PluginRun')).toEqual({
      code: 0,
      output: `${messageFor('no license key')}\ndisabled`,
    });
    const failed = await runIn(place, 'java PluginRun failure');
    expect(failed.output).toMatch(/NullPointerException.*\ndisabled$/);
    expect(failed.code).toBe(0);
  },
);

const java = runnable.find(({ file }) => file === 'Licet.java');
it.runIf(java)(
  'the plugin of the README compiles for Java 8, and is the one that the console shows',
  async () => {
    const place = java ? await built(java) : '';
    const [, plugin = ''] =
      /\n```java\n(.+?)\n```/s.exec(readFileSync('examples/README.md', 'utf8')) ?? [];
    const url = 'https://license.example.com';
    const publicKeys = 'KID:KEY KID:KEY';
    expect(plugin).toBe(LINES['Licet.java']({ url, productId: 602, publicKeys }));
    const compiled = readFileSync(join(place, 'Plugin.java'), 'utf8');
    expect(compiled).toContain(plugin.replace(url, 'http://localhost'));
    expect(existsSync(join(place, 'Plugin.class'))).toBe(true);
  },
);
