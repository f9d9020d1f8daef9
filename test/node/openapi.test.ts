import { existsSync, readFileSync } from 'node:fs';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sharedService } from './shared-service.ts';

/** The OpenAPI document as a linter sees it, and as a browser shows it. */

const source = readFileSync('docs/openapi.json', 'utf8');

it('has nothing that a linter finds, but that the health check refuses nobody', async () => {
  const config = await createConfig({ extends: ['recommended-strict'] });
  const problems = await lintFromString({ source, absoluteRef: 'docs/openapi.json', config });
  expect(problems.map(({ ruleId, location }) => `${ruleId} ${location[0]?.pointer}`)).toEqual([
    'operation-4xx-response #/paths/~1api~1v2~1healthy/get/responses',
  ]);
});

let address: string;
beforeAll(async () => {
  address = await sharedService();
});

const get = (path: string) => fetch(`${address}${path}`, { redirect: 'manual' });

describe('the running service', () => {
  it('serves the document as it is committed', async () => {
    const answer = await get('/openapi.json');
    expect(answer.headers.get('Content-Type')).toBe('application/json');
    expect(await answer.text()).toBe(source);
  });

  it('lets the page load from and talk to nothing but itself', async () => {
    const answer = await get('/docs');
    expect(answer.status).toBe(200);
    const policy = answer.headers.get('Content-Security-Policy')?.split('; ') ?? [];
    expect(policy).toContain("default-src 'none'");
    const sources = policy.flatMap((rule) => rule.split(' ').slice(1));
    expect(new Set(sources)).toEqual(new Set(["'none'", "'self'", 'data:']));
  });

  it.each(['/api', '/api/', '/api/docs', '/api/docs/', '/api/openapi.json', '//api/v1/validate/'])(
    'answers %s with no page and no redirect',
    async (path) => {
      const answer = await get(path);
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.headers.get('Content-Type')).toBe('application/json');
    },
  );
});

const BROWSERS = [
  process.env.CHROMIUM ?? '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];
const executablePath = BROWSERS.find((path) => existsSync(path)) ?? '';
if (executablePath === '') {
  console.warn(`/docs is not tried in a browser: there is none of ${BROWSERS.join(', ')}`);
}

describe.skipIf(executablePath === '')('the page /docs in a browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath,
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
      ],
    });
  });
  afterAll(() => browser?.close());

  it('shows all operations, tries one out, and asks no other host', async () => {
    const page = await browser.newPage();
    const requested: string[] = [];
    const complaints: string[] = [];
    page.on('request', (request) => requested.push(request.url()));
    page.on('console', (message) => complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.message));

    await page.goto(`${address}/docs`);
    await page.locator('.opblock').first().waitFor();
    const operations = source.match(/"operationId"/g);
    expect(await page.locator('.opblock').count()).toBe(operations?.length);

    const create = page.locator('#operations-Licenses-createLicense');
    await create.locator('.opblock-summary-control').click();
    await create.getByText('Bought in the summer sale').first().waitFor();

    const health = page.locator('#operations-Service-getHealth');
    await health.locator('.opblock-summary-control').click();
    await health.getByRole('button', { name: 'Try it out' }).click();
    await health.getByRole('button', { name: 'Execute' }).click();
    const answer = health.locator('.live-responses-table');
    await answer.waitFor();
    expect(await answer.innerText()).toMatch(/200.*healthy/s);

    expect(requested).toContain(`${address}/api/v2/healthy`);
    const hosts = requested
      .map((url) => new URL(url))
      .filter(({ protocol }) => protocol !== 'data:')
      .map(({ origin }) => origin);
    expect(new Set(hosts)).toEqual(new Set([address]));
    expect(complaints).toEqual([]);
  });
});
