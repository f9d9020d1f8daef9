import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { type IncomingHttpHeaders, request } from 'node:http';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { consoleLink, consoleUrl } from '@licet/cli/console-link';
import { readRootToken } from '@licet/cli/root-token';
import { Licet } from '@licet/client';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import files from '../../scripts/local/files.ts';
import { isLong } from '../support/long.ts';
import { hasBrowser, hasFreezingBrowser, launchBrowser, launchFreezingBrowser } from './browser.ts';
import { listen, ownFolder } from './own.ts';
import { sharedService } from './shared-service.ts';
import { newLicense } from './shop.ts';

/** The console as the running service serves it, its build, and its sessions in a real browser. */

let address: string;
const rootToken = () => readRootToken() ?? '';
beforeAll(async () => {
  address = await sharedService();
});

const get = (path: string, headers = {}) =>
  fetch(`${address}${path}`, { redirect: 'manual', headers });

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

describe('the page', () => {
  it.each(['/console', '/console/', '/console/licenses/3?tab=history', '/console/index.html'])(
    'the page of the console is at %s, with a strict policy [4.25, 4.28]',
    async (path) => {
      const response = await get(path);
      expect(response.status).toBe(200);
      expect(response.headers.get('Content-Type')).toContain('text/html');
      expect(response.headers.get('Content-Security-Policy')).toBe(POLICY);
      expect(response.headers.get('Cache-Control')).toBe('no-cache');
      expect(response.headers.get('Referrer-Policy')).toBe('no-referrer');
      expect(response.headers.get('X-Content-Type-Options')).toBe('nosniff');
      expect(await response.text()).toContain('/console/assets/');
    },
  );

  it('the page of the console is not sent again to a browser that has it', async () => {
    const etag = (await get('/console')).headers.get('ETag') ?? '';
    const again = await get('/console', { 'If-None-Match': etag });
    expect(again.status).toBe(304);
    expect(again.headers.get('Content-Security-Policy')).toBe(POLICY);
  });

  it('the page of the console loads files that a browser keeps for ever, with the same policy [4.25]', async () => {
    const page = await (await get('/console')).text();
    const files = [...page.matchAll(/"(\/console\/assets\/[^"]+)"/g)].map(([, path = '']) => path);
    expect(files.length).toBeGreaterThan(1);
    for (const path of files) {
      const response = await get(path);
      expect(response.status, path).toBe(200);
      expect(response.headers.get('Cache-Control')).toBe('public, max-age=31536000, immutable');
      expect(response.headers.get('Content-Security-Policy')).toContain("default-src 'none'");
      expect(response.headers.get('X-Content-Type-Options')).toBe('nosniff');
    }
  });

  it.each([
    '/console/assets',
    '/console/assets/',
    '/console/assets/missing.js',
    '/Console',
    '/consoles',
    '/licenses',
    '/api/console',
    '/api/v2/console',
    '/api/v1/console/session',
  ])('the page of the console is not at %s [4.25, 4.26]', async (path) => {
    const response = await get(path);
    expect(response.status).toBeGreaterThanOrEqual(400);
    expect(response.headers.get('Content-Type')).toBe('application/json');
  });
});

describe('the other files', () => {
  it.each(['/openapi.json', '/docs/swagger-ui-bundle.js'])(
    '%s may be cached for five minutes, and is not sent again to a client that has it',
    async (path) => {
      const sent = await get(path);
      expect(sent.status).toBe(200);
      const { length } = await sent.text();
      const etag = sent.headers.get('ETag') ?? '';
      const cached = 'public, max-age=300, must-revalidate';
      expect(sent.headers.get('Cache-Control')).toBe(cached);
      // A proxy that compresses the file sends a weak one.
      for (const known of [etag, `W/${etag}`]) {
        const again = await get(path, { 'If-None-Match': known });
        expect(again.status).toBe(304);
        expect(again.headers.get('ETag')).toBe(etag);
        expect(again.headers.get('Cache-Control')).toBe(cached);
      }
      const other = await get(path, { 'If-None-Match': '"another"' });
      expect(other.status).toBe(200);
      expect(await other.text()).toHaveLength(length);
    },
  );

  it('a file that was there at the start and is gone is not found, and no fault of the service', async () => {
    const FILES = { fetch: async () => new Response(null, { status: 500 }) };
    const gone = await files.fetch(new Request(`${address}/console/assets/link-1.js`), { FILES });
    expect(gone.status).toBe(404);
  });

  it('a file is complete after a HEAD request for it, and a redirect leads to a page each time', async () => {
    const head = await fetch(`${address}/docs/swagger-ui.css`, { method: 'HEAD' });
    expect(head.status).toBe(200);
    expect((await (await get('/docs/swagger-ui.css')).text()).length).toBeGreaterThan(1_000);
    for (let time = 0; time < 2; time++) {
      const moved = await get('/docs/');
      expect(moved.status).toBe(307);
      expect(moved.headers.get('Location')).toBe('/docs');
      expect((await get('/docs')).status).toBe(200);
    }
  });
});

describe('the build', () => {
  const folder = ownFolder();
  const inFolder = (...path: string[]) => join(folder, ...path);
  const write = (path: string, text: string) => {
    mkdirSync(dirname(inFolder(path)), { recursive: true });
    writeFileSync(inFolder(path), text);
  };
  /** Runs the command that wrangler and the Dockerfile run. @returns its output on the terminal */
  const build = async () => {
    const script = resolve('scripts/assets.ts');
    return (await promisify(execFile)(process.execPath, [script], { cwd: folder })).stderr;
  };
  const page = () => readFileSync(inFolder('public/console/index.html'), 'utf8');

  beforeAll(() => {
    const readmes = ['packages/cli/README.md', 'packages/client/README.md'];
    for (const path of ['docs', 'examples', ...readmes, 'public/docs.html', 'package-lock.json']) {
      mkdirSync(dirname(inFolder(path)), { recursive: true });
      cpSync(path, inFolder(path), { recursive: true });
    }
    mkdirSync(inFolder('public/docs'));
    symlinkSync(resolve('node_modules'), inFolder('node_modules'));
    write(
      'console/vite.config.ts',
      "export default { base: '/console/', build: { assetsInlineLimit: 0, rolldownOptions: { input: ['console/index.html', 'console/my.html'] } } };",
    );
    write('console/index.html', '<script type="module" src="/main.ts"></script>');
    write('console/my.html', '<p>The page of customers</p>');
    write('console/main.ts', "import { word } from '../packages/word';\ndocument.title = word;");
    write('packages/word.ts', "export const word = 'first';");
  });

  const document = () => readFileSync(inFolder('public/docs/cost.html'), 'utf8');

  it('the console and the documents are built once, and again after a change of a source, also of one outside of its folder', {
    tags: 'long',
  }, async () => {
    expect(await build()).toContain('The console is being built');
    expect(document()).toContain('<h1 id="cost-of-a-million-validations">');
    const first = page();
    const { mtimeMs } = statSync(inFolder('public/console/index.html'));
    expect(await build()).toBe('');
    expect(statSync(inFolder('public/console/index.html')).mtimeMs).toBe(mtimeMs);

    write('packages/word.ts', "export const word = 'second';");
    write('docs/cost.md', '# Nothing');
    expect(await build()).toContain('The console is being built');
    const second = page();
    expect(second).not.toBe(first);
    expect(document()).toContain('<h1 id="nothing">Nothing</h1>');
    const assetOf = (html: string) => /\/console\/(assets\/[^"]+)/.exec(html)?.[1] ?? '';
    expect(readFileSync(inFolder('public/console', assetOf(second)), 'utf8')).toContain('second');
    expect(existsSync(inFolder('public/console', assetOf(first)))).toBe(false);

    // The scripts that make the pages are sources too. Files of an earlier build go.
    const former = ['public/docs/former.html', 'public/docs/examples/licet.former'];
    for (const path of former) write(path, 'of a removed source');
    write('scripts/console/documents.ts', '// changed');
    expect(await build()).toContain('The console is being built');
    expect(former.filter((path) => existsSync(inFolder(path)))).toEqual([]);

    if (!isLong) return;
    write('console/added.css', 'body { color: red }');
    expect(await build()).toContain('The console is being built');
    rmSync(inFolder('public/console/index.html'));
    expect(await build()).toContain('The console is being built');
  });

  it('a failed build of the console shows the reason, and leaves the last build', {
    tags: 'long',
  }, async () => {
    await build();
    const before = page();
    write('console/main.ts', 'this is no program');
    await expect(build()).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/✗ The console could not be built:(?:.|\n)*main\.ts/),
    });
    expect(page()).toBe(before);
  });
});

describe.skipIf(!hasBrowser)('a session in a browser', { tags: 'long' }, () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser?.close());

  /** The status of a request that the page sends, and its body. */
  const send = (
    page: Page,
    path: string,
    init: { method?: string; headers?: Record<string, string> } = {},
  ) =>
    page.evaluate(
      async ([path, init]) => {
        const response = await fetch(path, init);
        return { status: response.status, text: await response.text() };
      },
      [path, init] as const,
    );

  /** The origin of the console at an address of this machine. */
  const originAt = async (service: string) =>
    (await consoleUrl(new URL(service), rootToken())).origin;

  it.each(['localhost', '127.0.0.1'])(
    'a session begins with the link for http://%s, which works once [4.7]',
    { tags: 'short' },
    async (host) => {
      const context = await browser.newContext();
      const page = await context.newPage();
      const link = await consoleLink(new URL(address.replace('localhost', host)), rootToken());
      const own = new URL(link).origin;
      const loggedIn = page.waitForResponse(
        (response) => response.url() === `${own}/console/session` && response.status() === 204,
      );
      await page.goto(link);
      await loggedIn;
      await page.waitForURL((url) => url.hash === '');
      expect(JSON.parse((await send(page, '/api/v2/tokens/self')).text)).toMatchObject({
        name: 'root',
      });
      const [cookie] = await context.cookies();
      expect(cookie).toMatchObject({
        name: '__Host-licet',
        httpOnly: true,
        secure: true,
        sameSite: 'Strict',
      });
      expect(await page.evaluate('document.cookie')).toBe('');

      const other = await browser.newPage();
      const refused = other.waitForResponse(`${own}/console/session`);
      await other.goto(link);
      expect((await refused).status()).toBe(401);
      await other.close();

      const headers = { 'Content-Type': 'application/json' };
      expect((await send(page, '/console/session', { method: 'DELETE', headers })).status).toBe(
        204,
      );
      expect((await send(page, '/api/v2/tokens/self')).status).toBe(401);
      expect(await context.cookies()).toEqual([]);
      await context.close();
    },
  );

  it('other servers of this machine receive no cookie of the console, whatever page opens them [4.12]', async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(await consoleLink(new URL(address), rootToken()));
    await page.waitForURL((url) => url.hash === '');
    expect((await send(page, '/api/v2/tokens/self')).status).toBe(200);
    const received: [path: string, cookie: string | undefined][] = [];
    const other = await listen(({ url = '', headers }, response) => {
      received.push([url, headers.cookie]);
      response.setHeader('Content-Type', 'text/html').end('<!doctype html>');
    });
    const sibling = other.replace('127.0.0.1', 'localhost');
    const evil = await context.newPage();
    for (const origin of [sibling, other, await originAt(other)]) {
      await evil.goto(`${origin}/opened`);
      await evil.evaluate("fetch('/fetched', { credentials: 'include' })");
    }
    // The page of the console opens one too.
    await Promise.all([
      page.waitForURL(`${sibling}/linked`),
      page.evaluate(`location.assign('${sibling}/linked')`),
    ]);
    const asked = received.filter(([path]) => path !== '/favicon.ico');
    const pages = ['/opened', '/fetched'];
    expect(asked).toEqual(
      [...pages, ...pages, ...pages, '/linked'].map((path) => [path, undefined]),
    );
    await context.close();
  });

  it('a session is of no use to a page on another port: fetch, form, image, script and frame [4.23]', async () => {
    // A proxy, because a browser does not report all that it blocks.
    const received = new Map<string, { headers: IncomingHttpHeaders; status: number }>();
    const between = await listen((incoming, response) => {
      const { method, url = '', headers } = incoming;
      const forwarded = request(`${address}${url}`, { method, headers }, (passed) => {
        const [, by = ''] = /by=(\w+)$/.exec(url) ?? [];
        received.set(`${method} ${by}`, { headers, status: passed.statusCode ?? 0 });
        response.writeHead(passed.statusCode ?? 0, passed.headers);
        passed.pipe(response);
      });
      incoming.pipe(forwarded);
    });
    const own = await originAt(between);
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`${own}/openapi.json`);
    const logIn = { method: 'POST', headers: { TOKEN: rootToken() } };
    expect((await send(page, '/console/session', logIn)).status).toBe(204);
    const listed = async () => (await send(page, '/api/v2/products?q=From%20elsewhere')).text;
    expect(await listed()).toBe('[]\n');

    // If a server had the console's name on another port, the browser would send it the cookie.
    const elsewhere = (
      await listen((_, response) => {
        response.setHeader('Content-Type', 'text/html').end(`<!doctype html>
        <iframe name="target"></iframe><iframe src="${own}/console"></iframe>
        <img src="${own}/api/v2/products?by=image"><script src="${own}/api/v2/products?by=script"></script>
        <form method="POST" enctype="text/plain" target="target" action="${own}/api/v2/products?by=form">
          <input name='{"name":"From elsewhere","productType":"OTHER","description":"' value='"}'></form>`);
      })
    ).replace('127.0.0.1', new URL(own).hostname);
    const evil = await context.newPage();
    await evil.goto(elsewhere);
    const outcomes = await evil.evaluate(async (own) => {
      const body = JSON.stringify({ name: 'From elsewhere', productType: 'OTHER' });
      const init = { method: 'POST', body, credentials: 'include' } as const;
      const headers = { 'Content-Type': 'application/json' };
      const outcome = (url: string, init: RequestInit) =>
        fetch(`${own}${url}`, init).then(
          ({ type }) => type,
          () => 'blocked',
        );
      return [
        await outcome('/api/v2/products?by=fetch', { credentials: 'include' }),
        await outcome('/api/v2/products?by=json', { ...init, headers }),
        await outcome('/api/v2/products?by=text', { ...init, mode: 'no-cors' }),
        await outcome('/console/session', { method: 'DELETE', credentials: 'include' }),
      ];
    }, own);
    expect(outcomes).toEqual(['blocked', 'blocked', 'opaque', 'blocked']);
    await evil.evaluate('document.forms[0].submit()');
    for (const by of ['GET image', 'GET script', 'GET fetch', 'POST text', 'POST form']) {
      // The browser sends the cookie, but states that the page is from elsewhere.
      await expect
        .poll(() => received.get(by), { message: by })
        .toMatchObject({
          headers: {
            'sec-fetch-site': 'same-site',
            cookie: expect.stringContaining('__Host-licet='),
          },
          status: 401,
        });
    }
    // The browser sends a preflight first, which is rejected.
    expect(received.get('OPTIONS json')?.status).toBe(401);
    expect([...received.keys()]).not.toContain('POST json');
    expect(evil.frames().map((frame) => frame.url())).not.toContain(`${own}/console`);
    expect(await listed()).toBe('[]\n');
    // The other page could not end the session either.
    expect((await send(page, '/api/v2/tokens/self')).status).toBe(200);
    await context.close();
  });
});

describe.skipIf(!hasFreezingBrowser)('a browser that freezes pages', () => {
  it('after a session, Back shows the log-in and not the licenses of a frozen page [4.5]', async () => {
    const { licenseKey } = await newLicense(new Licet({ url: address, token: rootToken() }));
    const { origin } = await consoleUrl(new URL(address), rootToken());
    const browser = await launchFreezingBrowser();
    const page = await browser.newPage();
    const field = page.getByLabel('Token', { exact: true });
    /** Leaves the list of licenses for another page of the console. */
    const leave = async () => {
      await page.goto(`${origin}/console/licenses?q=${licenseKey}`);
      await page.getByText(licenseKey).waitFor();
      await page.evaluate('window.isFrozen = true');
      await page.goto(`${origin}/console/program`);
      await page.getByRole('heading', { name: 'In your program' }).waitFor();
    };
    const goBack = async () => {
      await page.goBack({ waitUntil: 'commit' });
      await field.waitFor();
      expect(await page.getByText(licenseKey).count()).toBe(0);
      return await page.evaluate('window.isFrozen');
    };
    await page.goto(await consoleLink(new URL(address), rootToken()));
    await page.waitForURL((url) => url.hash === '');
    await leave();
    await page.context().clearCookies();
    expect(await goBack()).toBe(true);
    await field.fill(rootToken());
    await page.getByRole('button', { name: 'Log in' }).click();
    // Another address would end the log-in while it is under way.
    await page.getByText(licenseKey).waitFor();
    await leave();
    await page.getByRole('button', { name: 'Session of Root token' }).click();
    await page.getByRole('menuitem', { name: 'Log out' }).click();
    await field.waitFor();
    // The browser has dropped the page.
    expect(await goBack()).toBeUndefined();
    await browser.close();
  });
});
