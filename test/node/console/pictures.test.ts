import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Licet } from '../../../packages/client/src/index.ts';
import { ownFolder } from '../own.ts';
import type { RunningService } from '../service.ts';
import { startOwnService } from '../shared-service.ts';
import { hasBrowser, openConsole, rootToken } from './console.ts';

/** The pictures of the README: taken from the demo shop with LICET_PICTURES=1, and checked in every run. */

const FOLDER = 'docs/pictures';
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
    service = await startOwnService(folder);
    execFileSync(process.execPath, [
      'scripts/demo.ts',
      '--url',
      service.address,
      '--persist-to',
      folder,
    ]);
  }, 180_000);
  afterAll(() => service.stop());

  const open = (path: string): Promise<Page> =>
    openConsole(path, {
      viewport: SIZE,
      own: {
        baseURL: service.address,
        deviceScaleFactor: 1,
        colorScheme: 'light',
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
});

it.each(NAMES)('the picture of the %s has 1280 by 800 pixels and at most 150 KB', (name) => {
  const header = readFileSync(pathOf(name)).subarray(0, 24);
  expect(header.toString('latin1', 1, 4)).toBe('PNG');
  expect({ width: header.readUInt32BE(16), height: header.readUInt32BE(20) }).toEqual(SIZE);
  expect(statSync(pathOf(name)).size).toBeLessThanOrEqual(MAX_BYTES);
  expect(readFileSync('README.md', 'utf8')).toContain(`(${pathOf(name)})`);
});
