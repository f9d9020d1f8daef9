import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { consoleUrl } from '@licet/cli/console-link';
import { readRootToken } from '@licet/cli/root-token';
import {
  type ApiIntent,
  type License,
  type LicenseCreate,
  Licet,
  type Product,
} from '@licet/client';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterEach, beforeAll, describe, expect } from 'vitest';
import { isLong } from '../../support/long.ts';
import { hasBrowser, launchBrowser } from '../browser.ts';
import { logInAt } from '../log-in.ts';
import { sharedService } from '../shared-service.ts';

/**
 * The console in a browser, at the service that all files share: each test creates its own objects, and ignores
 * others. Every test fails on an error in the browser's console, a violation of the policy, a request to another
 * host, or a failed request that it does not expect.
 */

const AXE = readFileSync('node_modules/axe-core/axe.min.js', 'utf8');

/** A failed request of every visit: the page asks for its session before it has one. */
const BEFORE_LOG_IN = '401 GET /api/v2/tokens/self';

interface Opened {
  page: Page;
  faults: string[];
  /** Closed after its test, and not used by another one. */
  isOwn: boolean;
}

let browser: Promise<Browser> | undefined;
/** Pages that no test uses. They cache the files of the console. Opening a new page takes five times as long. */
const free: Opened[] = [];
let opened: Opened[] = [];
/** Failed requests that the running test expects, such as `412 PUT /api/v2/licenses/1`. */
let expectedFailures: RegExp[] = [];

/** Allows failed requests in this test, by a pattern for lines such as `412 PUT /api/v2/licenses/1`. */
export const expectFailure = (pattern: RegExp): void => {
  expectedFailures.push(pattern);
};

/** Removes the session and the stored data of a page, and undoes the changes that a test has made to it. */
async function empty({ page }: Opened): Promise<void> {
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await page.context().setOffline(false);
  await page.emulateMedia({ colorScheme: null });
  await page.evaluate('localStorage.clear(); sessionStorage.clear()');
  await page.goto('about:blank');
  await page.context().clearCookies();
}

/** Closes or empties the pages of a test, and fails if errors occurred in them. */
export async function closePages(): Promise<void> {
  const faults = opened.flatMap((one) => one.faults);
  const allowed = expectedFailures;
  expectedFailures = [];
  const used = opened;
  opened = [];
  for (const one of used) {
    if (one.isOwn) await one.page.context().close();
    else {
      await empty(one);
      one.faults.length = 0;
      free.push(one);
    }
  }
  expect(faults.filter((fault) => !allowed.some((pattern) => pattern.test(fault)))).toEqual([]);
}

/** A client of the service, with all rights. */
export let licet: Licet;
/** A product of the running file. */
export let product: Product;

/** Tests in a browser; skipped where there is none. */
export function describeInBrowser(title: string, define: () => void): void {
  describe.skipIf(!hasBrowser)(title, () => {
    beforeAll(async () => {
      licet = new Licet({ url: await sharedService(), token: rootToken() });
      product = await licet.products.create({
        name: `${title} ${randomUUID()}`,
        productType: 'OTHER',
      });
    });
    afterEach(closePages);
    define();
  });
}

/** Creates a license of the file's product. */
export const newLicense = (values: Partial<LicenseCreate> = {}): Promise<License> =>
  licet.licenses.create({ productId: product.id, licenseType: 'PERMANENT', ...values });

export const WIDE = { width: 1280, height: 900 };
export const PHONE = { width: 360, height: 740 };

interface PageOptions {
  viewport?: typeof WIDE;
  /** For a page in a context of its own, also at another service. */
  own?: BrowserContextOptions;
  /** For a page in a context of its own, because a test moves its clock on. */
  hasClock?: boolean;
}

const isOwn = ({ own, hasClock = false }: PageOptions): boolean => own !== undefined || hasClock;

/** The origin of the console of a service. */
const consoleOrigin = async (address: string): Promise<string> =>
  (await consoleUrl(new URL(address), rootToken())).origin;

async function openPage(options: PageOptions): Promise<Opened> {
  const { own, hasClock } = options;
  browser ??= launchBrowser({ isBrief: true });
  const address = await consoleOrigin(own?.baseURL ?? (await sharedService()));
  const context = await (await browser).newContext({
    reducedMotion: 'reduce',
    ...own,
    baseURL: address,
  });
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: address });
  if (hasClock) await context.clock.install();
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
  return { page, faults, isOwn: isOwn(options) };
}

/** A page of a browser without a session and without stored columns. */
export async function newPage(options: PageOptions = {}): Promise<Page> {
  const one = (isOwn(options) ? undefined : free.pop()) ?? (await openPage(options));
  opened.push(one);
  await one.page.setViewportSize(options.viewport ?? WIDE);
  return one.page;
}

export function rootToken(): string {
  const token = readRootToken();
  if (token === undefined) throw new Error('The service has no ROOT_TOKEN');
  return token;
}

/** A token with the given intents, made for this test. */
export async function tokenWith(...intents: ApiIntent[]): Promise<string> {
  const { token } = await licet.tokens.create({ name: 'Console test', intents });
  return token;
}

/** Types a token into the log-in that is shown. */
export async function logIn(page: Page, token: string): Promise<void> {
  await page.getByLabel('Token', { exact: true }).fill(token);
  await page.getByRole('button', { name: 'Log in' }).click();
}

/** Logs out by the menu of a session, and waits for the log-in. Requests that are on their way then get 401. */
export async function logOut(page: Page, tokenName: string): Promise<void> {
  expectFailure(/^401 GET /);
  await page.getByRole('button', { name: `Session of ${tokenName}` }).click();
  await page.getByRole('menuitem', { name: 'Log out' }).click();
  await page.getByLabel('Token', { exact: true }).waitFor();
}

/**
 * Takes the session of a page away, and waits for the log-in that an act of the page leads to. The requests wait for the
 * act: a refresh in the background would take away the control that it uses.
 */
export async function loseSession(page: Page, act: () => Promise<unknown>): Promise<void> {
  expectFailure(/^401 GET /);
  const acted = Promise.withResolvers<void>();
  const requests = '**/api/v2/**';
  await page.route(requests, async (route) => {
    await acted.promise;
    await route.continue();
  });
  await page.context().clearCookies();
  await act();
  acted.resolve();
  await page.getByLabel('Token', { exact: true }).waitFor();
  await page.unroute(requests);
}

const sessions = new Map<string, Promise<string>>();

/** The cookie of a session, begun as the page does; one for each token. */
function sessionOf(token: string, address: string): Promise<string> {
  const begin = async (): Promise<string> => {
    const { headers } = await logInAt(await consoleUrl(new URL(address), rootToken()), token);
    const [, value] = /^__Host-licet=([^;]+)/.exec(headers['set-cookie']?.[0] ?? '') ?? [];
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
      // A cookie has no port; that of the service is marked as secure, also on this machine.
      url: `https://${new URL(await consoleOrigin(address)).hostname}`,
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
 * the colours alone, because nothing else differs; without `LICET_LONG` only where a test wants it.
 */
export async function accessibilityFindings(page: Page, isAlsoDark = isLong): Promise<string[]> {
  const findings: string[] = [];
  await page.evaluate(AXE);
  const dark = ['dark', { runOnly: ['color-contrast', 'link-in-text-block'] }] as const;
  for (const [colorScheme, options] of [...(isAlsoDark ? [dark] : []), ['light', {}] as const]) {
    await page.emulateMedia({ colorScheme });
    const found = await page.evaluate<string[]>(
      `axe.run(document, ${JSON.stringify(options)}).then(({ violations }) => violations.map(` +
        '({ id, nodes: [{ html, failureSummary }] }) => [id, html, failureSummary].join(" ")))',
    );
    findings.push(...found.map((finding) => `${colorScheme}: ${finding}`));
  }
  return findings;
}

/** The cells of the tables that end behind its edge or begin before it, and the width of what is too wide. */
export const cutCells = (page: Page): Promise<string[]> =>
  page.evaluate<string[]>(`(() => {
    const edge = document.querySelector('table').parentElement.getBoundingClientRect();
    return [...document.querySelectorAll('table :is(th, td, td *)')]
      .filter((cell) => cell.checkVisibility())
      .map((cell) => [cell.getBoundingClientRect(), cell.outerHTML.slice(0, 99)])
      .filter(([{ left, right, width }]) => width > 1 && (left < edge.left || right > edge.right + 1))
      .map(([{ right }, html]) => right + ' ' + html);
  })()`);
