import { existsSync, readFileSync } from 'node:fs';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
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
let opened: { page: Page; faults: string[] }[] = [];
/** Failed requests that the running test expects, such as `412 PUT /api/v2/licenses/1`. */
let expectedFailures: RegExp[] = [];

/** Allows failed requests in this test, by a pattern for lines such as `412 PUT /api/v2/licenses/1`. */
export const expectFailure = (pattern: RegExp): void => {
  expectedFailures.push(pattern);
};

afterEach(async () => {
  const faults = opened.flatMap((one) => one.faults);
  const allowed = expectedFailures;
  expectedFailures = [];
  await Promise.all(opened.map(({ page }) => page.context().close()));
  opened = [];
  expect(faults.filter((fault) => !allowed.some((pattern) => pattern.test(fault)))).toEqual([]);
});

afterAll(async () => (await browser)?.close());

/** A page of a browser that has nothing: no session and no stored columns. */
export async function newPage(options: BrowserContextOptions = {}): Promise<Page> {
  browser ??= chromium.launch({ executablePath, args: ARGS });
  const address = options.baseURL ?? (await sharedService());
  const context = await (await browser).newContext({
    baseURL: address,
    viewport: { width: 1280, height: 900 },
    reducedMotion: 'reduce',
    ...options,
  });
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: address });
  const page = await context.newPage();
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
  opened.push({ page, faults });
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

/** Opens a screen, such as `/licenses`, after the log-in with a token. */
export async function openConsole(
  path: string,
  { token = rootToken(), ...options }: BrowserContextOptions & { token?: string } = {},
): Promise<Page> {
  const page = await newPage(options);
  await page.goto(`/console${path}`);
  await logIn(page, token);
  // A dialog hides it from screen readers; on a phone it is another one.
  const navigation = page.getByRole('navigation', { includeHidden: true });
  await navigation.filter({ visible: true }).first().waitFor();
  return page;
}

/** What axe-core finds on the screen as it is, in both themes: each finding with the first of its elements. */
export async function accessibilityFindings(page: Page): Promise<string[]> {
  const findings: string[] = [];
  await page.evaluate(AXE);
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    const found = await page.evaluate<string[]>(
      'axe.run(document).then(({ violations }) => violations.map(' +
        '({ id, nodes: [{ html, failureSummary }] }) => [id, html, failureSummary].join(" ")))',
    );
    findings.push(...found.map((finding) => `${colorScheme}: ${finding}`));
  }
  return findings;
}
