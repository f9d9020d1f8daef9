import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync } from 'node:fs';
import { Licet } from '@licet/client';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { hasBrowser } from '../browser.ts';
import { ownFolder } from '../own.ts';
import { type RunningService, startService } from '../service.ts';
import { closePages, openConsole, PHONE, rootToken } from './console.ts';

/**
 * Pictures of the demo shop, taken with LICET_PICTURES=1: those of the README, which every run checks, and for a
 * person to look at every screen, also in the dark and on a phone.
 */

const FOLDER = 'docs/pictures';
const SCREENS_FOLDER = '.wrangler/pictures';
const SCREENS = [
  '/',
  '/licenses',
  '/licenses/new',
  '/history',
  '/customers',
  '/products',
  '/products?open=new',
  '/blacklist',
  '/blacklist?open=new',
  '/program',
  '/events',
  '/tokens',
  '/tokens?open=new',
  '/webhooks',
  '/webhooks?open=new',
  '/markets',
  '/purchases',
  '/settings',
  '/changes',
  '/import',
];
const NAMES = ['overview', 'license'] as const;
const SIZE = { width: 1280, height: 800 };
const MAX_BYTES = 150 * 1024;

const pathOf = (name: (typeof NAMES)[number]): string => `${FOLDER}/${name}.png`;

const isAsked = Boolean(process.env.LICET_PICTURES);

describe.runIf(isAsked && hasBrowser)('with LICET_PICTURES', { timeout: 180_000 }, () => {
  const folder = ownFolder();
  let service: RunningService;
  beforeAll(async () => {
    mkdirSync(FOLDER, { recursive: true });
    service = await startService(folder);
    execFileSync(process.execPath, [
      'scripts/demo.ts',
      '--url',
      service.address,
      '--persist-to',
      folder,
    ]);
  }, 180_000);
  afterEach(closePages);
  afterAll(() => service.stop());

  const open = (
    path: string,
    viewport = SIZE,
    colorScheme: 'light' | 'dark' = 'light',
  ): Promise<Page> =>
    openConsole(path, {
      viewport,
      own: {
        baseURL: service.address,
        deviceScaleFactor: 1,
        colorScheme,
        locale: 'en-GB',
        timezoneId: 'UTC',
      },
    });

  it('the overview of the demo shop is taken', async () => {
    const page = await open('/?range=month');
    const outcomes = page.getByRole('region', { name: 'Validations by outcome' });
    await outcomes.getByRole('row').nth(1).waitFor({ state: 'attached' });
    await page.waitForLoadState('networkidle');
    await page.screenshot({ path: pathOf('overview') });
  });

  it('a license of the demo shop is taken', async () => {
    const licet = new Licet({ url: service.address, token: rootToken() });
    const [license] = await licet.licenses.list({ q: 'Demo order 1.' });
    const page = await open(`/licenses/${license?.id}`);
    await page.getByRole('region', { name: 'Installations' }).getByRole('row').nth(1).waitFor();
    await page.waitForLoadState('networkidle');
    await page.screenshot({ path: pathOf('license') });
  });

  it.each([
    ['light', SIZE, 'light'],
    ['dark', SIZE, 'dark'],
    ['phone', PHONE, 'light'],
  ] as const)('every screen of the demo shop is taken: %s', async (name, size, colorScheme) => {
    const licet = new Licet({ url: service.address, token: rootToken() });
    const [license] = await licet.licenses.list({ q: 'Demo order 1.' });
    const [record] = await licet.requests.list({ valid: false, limit: 1 });
    const [product] = await licet.products.list({ limit: 1 });
    const [customer] = await licet.customers.list({ limit: 1 });
    const [token] = await licet.tokens.list({ limit: 1 });
    const page = await open('/', size, colorScheme);
    for (const path of [
      ...SCREENS,
      `/products/${product?.id}`,
      `/customers/${customer?.id}`,
      `/tokens/${token?.id}`,
      `/licenses/${license?.id}`,
      `/licenses/${license?.id}/edit`,
      `/history?open=${record?.id}`,
    ]) {
      await page.goto(`/console${path}`);
      await page.waitForLoadState('networkidle');
      const file = path.replaceAll(/\W+/g, '-').replace(/^-/, '') || 'overview';
      await page.screenshot({ path: `${SCREENS_FOLDER}/${name}/${file}.png`, fullPage: true });
    }
  });
});

it.each(NAMES)('the picture of the %s has 1280 by 800 pixels and at most 150 KB', (name) => {
  const header = readFileSync(pathOf(name)).subarray(0, 24);
  expect(header.toString('latin1', 1, 4)).toBe('PNG');
  expect({ width: header.readUInt32BE(16), height: header.readUInt32BE(20) }).toEqual(SIZE);
  expect(statSync(pathOf(name)).size).toBeLessThanOrEqual(MAX_BYTES);
  expect(readFileSync('README.md', 'utf8')).toContain(`(${pathOf(name)})`);
});
