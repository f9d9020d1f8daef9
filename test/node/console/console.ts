import { existsSync, readFileSync } from 'node:fs';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';
import { afterAll, afterEach, expect } from 'vitest';
import { readRootToken } from '../../../packages/cli/src/root-token.ts';
import { type ApiIntent, Licet } from '../../../packages/client/src/index.ts';
import { sharedService } from '../shared-service.ts';

/**
 * The console in a browser, at the service that all files share: each test makes what it needs, and looks at no
 * other. Every test fails for an error in the browser's console, a violation of the policy, a request to another
 * host, and a failed request that it does not expect.
 */

const BROWSERS = [
  process.env.CHROMIUM ?? '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];
const executablePath = BROWSERS.find((path) => existsSync(path)) ?? '';
export const hasBrowser = executablePath !== '';
if (!hasBrowser) {
  console.warn(`The console is not tried in a browser: there is none of ${BROWSERS.join(', ')}`);
}

const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
const AXE = readFileSync('node_modules/axe-core/axe.min.js', 'utf8');

/** Failed requests that belong to every visit: the page asks whose session it has before it has one. */
const BEFORE_LOG_IN = '401 GET /api/v2/tokens/self';

let browser: Promise<Browser> | undefined;
/** Contexts that no test uses, empty but for the files of the page, which the browser keeps. */
const free: BrowserContext[] = [];
let opened: { page: Page; faults: string[]; isOwn: boolean }[] = [];
/** Failed requests that the running test expects, such as `412 PUT /api/v2/licenses/1`. */
let expectedFailures: RegExp[] = [];

/** Allows failed requests in this test, by a pattern for lines such as `412 PUT /api/v2/licenses/1`. */
export const expectFailure = (pattern: RegExp): void => {
  expectedFailures.push(pattern);
};

/** Removes the session, what the page has stored, and the page. */
async function empty(page: Page): Promise<void> {
  const context = page.context();
  const devTools = await context.newCDPSession(page);
  await devTools.send('Storage.clearDataForOrigin', {
    origin: await sharedService(),
    storageTypes: 'cookies,local_storage',
  });
  await context.setOffline(false);
  await page.close();
  free.push(context);
}

afterEach(async () => {
  const faults = opened.flatMap((one) => one.faults);
  const allowed = expectedFailures;
  expectedFailures = [];
  await Promise.all(
    opened.map(({ page, isOwn }) => (isOwn ? page.context().close() : empty(page))),
  );
  opened = [];
  expect(faults.filter((fault) => !allowed.some((pattern) => pattern.test(fault)))).toEqual([]);
});

afterAll(async () => (await browser)?.close());

const WIDE = { width: 1280, height: 900 };
export const PHONE = { width: 360, height: 740 };

interface PageOptions {
  viewport?: typeof WIDE;
  /** For a page in a context of its own, at another service. */
  own?: BrowserContextOptions & { baseURL: string };
}

/** A page of a browser without a session and without stored columns. */
export async function newPage({ viewport = WIDE, own }: PageOptions = {}): Promise<Page> {
  browser ??= chromium.launch({ executablePath, args: ARGS });
  const address = own?.baseURL ?? (await sharedService());
  let context = own ? undefined : free.pop();
  if (!context) {
    context = await (await browser).newContext({
      baseURL: address,
      reducedMotion: 'reduce',
      ...own,
    });
    await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: address });
  }
  const page = await context.newPage();
  await page.setViewportSize(viewport);
  page.setDefaultTimeout(10_000);
  const faults: string[] = [];
  page.on('console', (message) => {
    // The browser's word on a failed request: those are below.
    if (message.text().startsWith('Failed to load resource')) return;
    if (['error', 'warning'].includes(message.type())) faults.push(message.text());
  });
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url());
    if (origin !== address && protocol !== 'blob:' && protocol !== 'data:') {
      faults.push(`request to ${request.url()}`);
    }
  });
  page.on('response', (response) => {
    const { pathname } = new URL(response.url());
    const line = `${response.status()} ${response.request().method()} ${pathname}`;
    if (response.status() >= 400 && line !== BEFORE_LOG_IN) faults.push(line);
  });
  opened.push({ page, faults, isOwn: own !== undefined });
  return page;
}

/** A client of the service, with all rights. */
export async function rootClient(): Promise<Licet> {
  return new Licet({ url: await sharedService(), token: rootToken() });
}

export function rootToken(): string {
  const token = readRootToken();
  if (token === undefined) throw new Error('The service has no ROOT_TOKEN');
  return token;
}

/** A token with the given intents, made for this test. */
export async function tokenWith(...intents: ApiIntent[]): Promise<string> {
  const { token } = await (await rootClient()).tokens.create({ name: 'Console test', intents });
  return token;
}

/** Types a token into the log-in that is shown. */
export async function logIn(page: Page, token: string): Promise<void> {
  await page.getByLabel('Token', { exact: true }).fill(token);
  await page.getByRole('button', { name: 'Log in' }).click();
}

const sessions = new Map<string, Promise<string>>();

/** The cookie of a session, begun as the page does; one for each token. */
function sessionOf(token: string, address: string): Promise<string> {
  const begin = async (): Promise<string> => {
    const { headers } = await fetch(`${address}/console/session`, {
      method: 'POST',
      headers: { TOKEN: token },
    });
    const [, value] = /^__Host-licet=([^;]+)/.exec(headers.get('Set-Cookie') ?? '') ?? [];
    if (value === undefined) throw new Error('The service has begun no session');
    return value;
  };
  const key = `${address} ${token}`;
  const session = sessions.get(key) ?? begin();
  sessions.set(key, session);
  return session;
}

/** Opens a screen, such as `/licenses`, with the session of a token. */
export async function openConsole(
  path: string,
  { token = rootToken(), ...options }: PageOptions & { token?: string } = {},
): Promise<Page> {
  const address = options.own?.baseURL ?? (await sharedService());
  const page = await newPage(options);
  await page.context().addCookies([
    {
      name: '__Host-licet',
      value: await sessionOf(token, address),
      // A cookie has no port; that of the service is marked as secure, also on localhost.
      url: 'https://localhost',
      secure: true,
      httpOnly: true,
      sameSite: 'Strict',
    },
  ]);
  await page.goto(`/console${path}`);
  // A dialog hides it from screen readers; on a phone it is another one.
  const navigation = page.getByRole('navigation', { includeHidden: true });
  await navigation.filter({ visible: true }).first().waitFor();
  return page;
}

/**
 * The findings of axe-core on the current screen, each with the first of its elements. In the dark theme it looks at
 * the colours alone, because nothing else differs.
 */
export async function accessibilityFindings(page: Page): Promise<string[]> {
  const findings: string[] = [];
  await page.evaluate(AXE);
  for (const [colorScheme, options] of [
    ['dark', { runOnly: ['color-contrast', 'link-in-text-block'] }],
    ['light', {}],
  ] as const) {
    await page.emulateMedia({ colorScheme });
    const found = await page.evaluate<string[]>(
      `axe.run(document, ${JSON.stringify(options)}).then(({ violations }) => violations.map(` +
        '({ id, nodes: [{ html, failureSummary }] }) => [id, html, failureSummary].join(" ")))',
    );
    findings.push(...found.map((finding) => `${colorScheme}: ${finding}`));
  }
  return findings;
}
