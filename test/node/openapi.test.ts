import { readFileSync } from 'node:fs';
import { readRootToken } from '@licet/cli/root-token';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { build } from 'esbuild';
import type { Browser, Locator, Page, Request } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasBrowser, launchBrowser } from './browser.ts';
import { sharedService } from './shared-service.ts';

/** The OpenAPI document as a linter sees it, and as a browser shows it. */

const source = readFileSync('docs/openapi.json', 'utf8');

it('the OpenAPI document has only the eleven known findings of a linter', {
  tags: 'long',
}, async () => {
  const config = await createConfig('extends: [recommended-strict]');
  const problems = await lintFromString({ source, absoluteRef: 'docs/openapi.json', config });
  expect(problems.map(({ ruleId, location }) => `${ruleId} ${location[0]?.pointer}`)).toEqual([
    // By their text, both match `/licenses/by-…/installations`; but an `{id}` is a number.
    ...[
      'license-key~1{licenseKey}',
      'customer-email~1{email}',
      'customer-id~1{customerId}',
      'product-id~1{productId}',
      'chat-id~1{chatId}',
      'discord-id~1{chatId}',
    ].map((path) => `no-ambiguous-paths #/paths/~1api~1v2~1licenses~1by-${path}`),
    // These operations have no response with a status of 4xx.
    'operation-4xx-response #/paths/~1api~1v1~1validate/options/responses',
    'operation-4xx-response #/paths/~1.well-known~1jwks.json/get/responses',
    'operation-4xx-response #/paths/~1.well-known~1jwks.json/options/responses',
    'operation-4xx-response #/paths/~1api~1v2~1healthy/get/responses',
    'operation-4xx-response #/paths/~1api~1v2~1healthy/options/responses',
  ]);
});

let address: string;
beforeAll(async () => {
  address = await sharedService();
});

const get = (path: string) => fetch(`${address}${path}`, { redirect: 'manual' });

describe('the running service and its documentation', () => {
  it('the running service serves the document as it is committed', async () => {
    const response = await get('/openapi.json');
    expect(response.headers.get('Content-Type')).toBe('application/json');
    expect(await response.text()).toBe(source);
  });

  it('the running service leads a person who opens its address to the console [4.24]', async () => {
    const response = await get('/');
    expect(response.status).toBe(302);
    expect(response.headers.get('Location')).toBe('/console');
    const posted = await fetch(`${address}/`, { method: 'POST', redirect: 'manual' });
    expect(posted.status).toBe(405);
  });

  it('the running service restricts /docs to its own origin', async () => {
    const response = await get('/docs');
    expect(response.status).toBe(200);
    const policy = response.headers.get('Content-Security-Policy')?.split('; ') ?? [];
    expect(policy).toContain("default-src 'none'");
    const sources = policy.flatMap((rule) => rule.split(' ').slice(1));
    expect(new Set(sources)).toEqual(new Set(["'none'", "'self'", 'data:']));
  });

  it.each(['/api', '/api/', '/api/docs', '/api/docs/', '/api/openapi.json', '//api/v1/validate/'])(
    'the service returns neither a page nor a redirect for %s',
    async (path) => {
      const response = await get(path);
      expect(response.status).toBeGreaterThanOrEqual(400);
      expect(response.headers.get('Content-Type')).toBe('application/json');
    },
  );
});

describe.skipIf(!hasBrowser)('the page /docs in a browser', { tags: 'long' }, () => {
  let browser: Browser;
  // Loading the page and opening an operation take a second each, so the tests share them.
  let page: Page;
  let list: Locator;
  /** The first request for the list, with the values of the form as they are. */
  let firstList: Request;
  const requested: string[] = [];
  const complaints: string[] = [];
  beforeAll(async () => {
    browser = await launchBrowser();
    page = await browser.newPage();
    page.on('request', (request) => requested.push(request.url()));
    page.on('console', (message) => complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
    // As if the tab had kept it.
    await page.addInitScript("sessionStorage.setItem('licet-token', 'a-wrong-token')");
    await page.goto(`${address}/docs`);
    list = await tryOut('Licenses-listLicenses');
    firstList = await execute(list, /401.*Token is missing, unknown, expired or revoked/s);

    await page.getByRole('button', { name: 'Authorize' }).click();
    const dialog = page.locator('.dialog-ux');
    await dialog.getByRole('button', { name: 'Remove authorization' }).click();
    await dialog.locator('input').fill(readRootToken() ?? '');
    await dialog.getByRole('button', { name: 'Apply credentials' }).click();
    await dialog.getByRole('button', { name: 'Close', exact: true }).click();
  });
  afterAll(() => browser?.close());

  /** Opens an operation's form. */
  async function tryOut(operation: string): Promise<Locator> {
    const block = page.locator(`#operations-${operation}`);
    await block.locator('.opblock-summary-control').click();
    await block.getByRole('button', { name: 'Try it out' }).click();
    return block;
  }

  /** Sends the form, and waits until the response is shown. */
  async function execute(block: Locator, response: RegExp): Promise<Request> {
    const sending = page.waitForRequest(/\/api\//);
    await block.getByRole('button', { name: 'Execute' }).click();
    const sent = await sending;
    await block.locator('.live-responses-table').filter({ hasText: response }).waitFor();
    return sent;
  }

  it('the page /docs can use the typed client', async () => {
    const { outputFiles } = await build({
      stdin: {
        contents: `
          import { Licet, LicetError } from './packages/client/src/index.ts';
          const url = location.origin;
          globalThis.result = (async () => {
            const licet = new Licet({ url, token: globalThis.token });
            const product = { name: 'From a page', productType: 'OTHER' };
            const { id } = await licet.products.create(product);
            const changed = await licet.products.change(id, () => ({ description: 'Changed' }));
            const names = [];
            for await (const { name } of licet.products.iterate({ q: 'From a page' })) names.push(name);
            const refused = await new Licet({ url, token: 'licet_nobody' }).products.list().catch(
              (error) => error instanceof LicetError && error.status);
            return { description: changed.description, names, refused };
          })();`,
        resolveDir: '.',
      },
      bundle: true,
      write: false,
      format: 'iife',
    });
    const page = await browser.newPage();
    await page.goto(`${address}/openapi.json`);
    const result = await page.evaluate(
      `globalThis.token = ${JSON.stringify(readRootToken())}; ${outputFiles[0]?.text}; globalThis.result`,
    );
    expect(result).toEqual({ description: 'Changed', names: ['From a page'], refused: 401 });
    await page.close();
  });

  it('the page /docs shows all operations', async () => {
    const operations = source.match(/"operationId"/g);
    expect(await page.locator('.opblock').count()).toBe(operations?.length);
  });

  it('the page /docs keeps the token until the tab is closed', async () => {
    expect(await firstList.headerValue('TOKEN')).toBe('a-wrong-token');
    const kept = await page.evaluate(() => [
      sessionStorage.getItem('licet-token'),
      localStorage.length,
    ]);
    expect(kept).toEqual([readRootToken(), 0]);
  });

  it('the page /docs requests a list with a limit, and without filters', async () => {
    expect(firstList.url()).toBe(`${address}/api/v2/licenses?limit=100`);
    await list.getByPlaceholder('limit', { exact: true }).fill('1');
    const sent = await execute(list, /200.*x-total-count/s);
    expect(sent.url()).toBe(`${address}/api/v2/licenses?limit=1`);
  });

  it.each([
    ['colours', 'short', 10, true],
    ['does not colour', 'long', 10_000, false],
  ])('the page /docs %s a list that is %s', async (_does, _long, length, isColoured) => {
    const licenses = Array.from({ length }, (_, id) => ({ id, name: `ada-${id}`, role: null }));
    await page.route(/api\/v2\/licenses/, (route) => route.fulfill({ json: licenses }), {
      times: 1,
    });
    await execute(list, new RegExp(`ada-${length - 1}"`));
    const coloured = list.locator('.live-responses-table pre').first().locator('span');
    expect((await coloured.count()) > 0).toBe(isColoured);
  });

  it('the page /docs creates a license by its own example', async () => {
    const create = await tryOut('Licenses-createLicense');
    await create.getByText('Bought in the summer sale').first().waitFor();
    await execute(create, /201.*licenseKey/s);
  });

  it('the page /docs changes an object at the first attempt, and sends only headers with a value', async () => {
    const made = await fetch(`${address}/api/v2/products`, {
      method: 'POST',
      headers: { TOKEN: readRootToken() ?? '' },
      body: JSON.stringify({ name: 'Chunk Guard', productType: 'GAME_JAVA_PLUGIN' }),
    });
    const id = made.headers.get('Location')?.split('/').at(-1) ?? '';
    const update = await tryOut('Products-updateProduct');
    await update.getByPlaceholder('id', { exact: true }).fill(id);
    const sent = await execute(update, /200.*Chunk Guard 2/s);
    const headers = Object.keys(await sent.allHeaders());
    for (const name of ['if-match', 'x-request-id']) {
      expect(headers).not.toContain(name);
    }
  });

  it('the page /docs requests no other host, and reports nothing but the rejected token', () => {
    expect(requested).toContain(`${address}/api/v2/licenses?limit=100`);
    const hosts = requested
      .map((url) => new URL(url))
      .filter(({ protocol }) => protocol !== 'data:')
      .map(({ origin }) => origin);
    expect(new Set(hosts)).toEqual(new Set([address]));
    expect(complaints).toEqual([expect.stringContaining('status of 401')]);
  });
});
