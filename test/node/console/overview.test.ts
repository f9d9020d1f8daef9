/** @module-tag long */

import { readRootToken } from '@licet/cli/root-token';
import type { Page } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import * as z from 'zod';
import { sharedService } from '../shared-service.ts';
import {
  accessibilityFindings,
  describeInBrowser,
  expectFailure,
  licet,
  newLicense,
  openConsole,
  PHONE,
  product,
  tokenWith,
} from './console.ts';

/** The overview and the first steps. */

/** Answers with a sale of today, and with a purchase that waits for a product. */
async function showPurchases(page: Page): Promise<void> {
  const sold = {
    sold: 1,
    refunded: 0,
    disputed: 0,
    amounts: [{ amount: '12.50', currency: 'EUR' }],
  };
  const waits = {
    id: 1,
    marketId: 1,
    marketName: 'Stripe',
    item: 'plink_1',
    buyerName: 'Ada',
    createdAt: new Date().toISOString(),
  };
  await page.route('**/api/v2/purchases/statistics?*', (route) => route.fulfill({ json: sold }));
  await page.route('**/api/v2/purchases?*', (route) => route.fulfill({ json: [waits] }));
}

describeInBrowser('the overview in a browser', () => {
  beforeAll(async () => {
    const expiryDate = new Date(Date.now() + 20 * 86_400_000).toISOString();
    const { licenseKey } = await newLicense({ licenseType: 'TEMPORARY', expiryDate });
    for (const key of [licenseKey, 'OVERVIEW-UNKNOWN']) {
      await fetch(`${await sharedService()}/api/v1/validate`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ productId: product.id, licenseKey: key, ip: '192.0.2.30' }),
      });
    }
  });

  it('the overview shows figures, outcomes over time, refusals and events, and is accessible', async () => {
    const page = await openConsole('/', { token: await tokenWith('ALL_READ') });
    const outcomes = page.getByRole('region', { name: 'Validations by outcome' });
    await outcomes.getByRole('slider').waitFor();
    expect(await outcomes.getByRole('row').count()).toBe(25);
    await outcomes.getByRole('link', { name: '30 d' }).click();
    await outcomes.getByText('in 30 days').waitFor();
    expect(new URL(page.url()).searchParams.get('range')).toBe('month');
    await page
      .getByRole('region', { name: 'Latest refusals' })
      .getByRole('listitem')
      .first()
      .waitFor();
    await page
      .getByRole('region', { name: 'Latest events' })
      .getByRole('listitem')
      .first()
      .waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
    await page.setViewportSize(PHONE);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
  });

  it('the latest refusals leave out those of the doctor', async () => {
    const page = await openConsole('/history');
    const [record] = await licet.requests.list({ licenseKey: 'OVERVIEW-UNKNOWN', limit: 1 });
    const doctored = { ...record, licenseKey: 'LICET-DOCTOR' };
    await page.route('**/api/v2/requests?valid=false&*', (route) =>
      route.fulfill({ json: [doctored, doctored, record] }),
    );
    await page.getByRole('link', { name: 'Overview' }).click();
    const refusals = page.getByRole('region', { name: 'Latest refusals' });
    await refusals.getByText('OVERVIEW-UNKNOWN').waitFor();
    expect(await refusals.getByRole('listitem').count()).toBe(1);
  });

  it('a bar of the outcomes is read by keyboard, and opens the history of its hour', async () => {
    const page = await openConsole('/');
    const slider = page.getByRole('slider', { name: 'Validations by outcome' });
    await slider.press('Home');
    await slider.press('ArrowRight');
    expect(await slider.getAttribute('aria-valuenow')).toBe('1');
    await slider.press('End');
    expect(await slider.getAttribute('aria-valuetext')).toMatch(/Valid: [1-9]/);
    await slider.press('Enter');
    await page.getByRole('heading', { name: 'History' }).waitFor();
    const { searchParams } = new URL(page.url());
    const [from, to] = ['from', 'to'].map((name) => Date.parse(searchParams.get(name) ?? ''));
    expect(Number(to) - Number(from)).toBe(3_599_999);
  });

  it('a cell of the expiries links to the licenses that expire on its day', async () => {
    const page = await openConsole('/');
    await page.getByRole('region', { name: 'Expiries ahead' }).getByRole('link').first().click();
    await page.getByRole('button', { name: /^Expires on/ }).waitFor();
    await page.getByRole('table', { name: 'Licenses' }).getByRole('row').nth(1).waitFor();
  });

  it('the figures of the first day are compared with no yesterday', async () => {
    const statistics = await licet.statistics();
    const series = [{ time: new Date().toISOString(), VALID: 29 }];
    const json = { ...statistics, series };
    const page = await openConsole('/licenses');
    await page.route('**/api/v2/statistics?*', (route) => route.fulfill({ json }));
    await page.goto('/console/');
    const validations = page.getByRole('definition').nth(1);
    await validations.getByText('No count from yesterday').waitFor();
    expect(await validations.textContent()).not.toContain('more than');
  });

  it('a token without the history gets an explanation in place of the figures', async () => {
    const page = await openConsole('/', { token: await tokenWith('PRODUCTS_READ') });
    await page.getByText('Figures need the history').waitFor();
    expect(await page.getByRole('region').count()).toBe(0);
  });

  it('a token with the licenses and without the history sees sales, and who has paid and waits', async () => {
    const page = await openConsole('/licenses', { token: await tokenWith('LICENSES_READ') });
    await showPurchases(page);
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByText('Figures need the history').waitFor();
    await page.getByText('12.50 EUR').waitFor();
    await page.getByText('Paid, no license').waitFor();
    const regions = await page.getByRole('region').all();
    expect(await Promise.all(regions.map((one) => one.getAttribute('aria-label')))).toEqual([
      'Worth a look',
    ]);
    expect(await accessibilityFindings(page)).toEqual([]);
  });

  it('sales and alerts that cannot be read say so, and are read again', async () => {
    expectFailure(/^500 GET \/api\/v2\/(purchases|events)/);
    const page = await openConsole('/licenses');
    const json = { statusCode: 500, message: 'Internal server error' };
    for (const path of ['purchases/statistics?*', 'purchases?*', 'events?actor=service&*']) {
      await page.route(`**/api/v2/${path}`, (route) => route.fulfill({ status: 500, json }));
    }
    await page.getByRole('link', { name: 'Overview' }).click();
    for (const name of ['Sales today', 'Worth a look']) {
      await page.getByRole('region', { name }).getByRole('alert').waitFor();
    }
    await page.unrouteAll();
    await showPurchases(page);
    const alerts = page.getByRole('region', { name: 'Worth a look' });
    await page.getByRole('region', { name: 'Sales today' }).getByRole('button').click();
    await page.getByText('12.50 EUR').waitFor();
    await alerts.getByRole('button', { name: 'Try again' }).first().click();
    await page.getByText('Paid, no license').waitFor();
  });

  it('a part of the overview that fails leaves the others', async () => {
    expectFailure(/^500 GET \/api\/v2\/statistics$/);
    const token = await tokenWith('ALL_READ');
    const page = await openConsole('/history', { token });
    await page.route('**/api/v2/statistics?*', (route) =>
      route.fulfill({ status: 500, json: { statusCode: 500, message: 'Internal server error' } }),
    );
    await page.getByRole('link', { name: 'Overview' }).click();
    await page
      .getByRole('region', { name: 'Latest refusals' })
      .getByRole('listitem')
      .first()
      .waitFor();
    await page.getByRole('alert').first().waitFor();
  });

  it('requests that are missing in the history are named above the outcomes [1.6.9, 1.6.10]', async () => {
    const page = await openConsole('/history');
    const statistics = await fetch(`${await sharedService()}/api/v2/statistics`, {
      headers: { TOKEN: readRootToken() },
    });
    const gaps = [{ time: '2026-11-20T12:00:00.000+00:00', requests: 250 }];
    const json = { ...z.looseObject({}).parse(await statistics.json()), gaps };
    await page.route('**/api/v2/statistics?*', (route) => route.fulfill({ json }));
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByText('250 validations are missing in the history').waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
  });

  it('the overview says that there was no validation, names the top reason of refusals, and groups versions by product', async () => {
    const page = await openConsole('/history');
    const stored = z
      .looseObject({ series: z.array(z.object({ time: z.string() })) })
      .parse(await licet.statistics());
    const silent = stored.series.map(({ time }) => ({ time }));
    const now = { time: new Date().toISOString(), VALID: 1, MAX_IPS_REACHED: 5, ERROR: 2 };
    const names = ['Castle', 'Shop'];
    const json = {
      ...stored,
      series: silent,
      products: names.map((productName, productId) => ({
        productId,
        productName,
        active: 1,
        validations: 0,
      })),
      versions: names.flatMap((_, productId) =>
        ['1.0', '1.1', '1.2', '1.3', '1.4'].map((productVersion) => ({
          productId,
          productVersion,
          installations: 1 + productId,
        })),
      ),
    };
    let isFirst = true;
    await page.route('**/api/v2/statistics?*', (route) => {
      // The figures of today ask first.
      const series = isFirst ? [now] : silent;
      isFirst = false;
      return route.fulfill({ json: { ...json, series } });
    });
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByText('Mostly: no free address slot').waitFor();
    const outcomes = page.getByRole('region', { name: 'Validations by outcome' });
    await outcomes.getByText('No validation yet').waitFor();
    expect(await outcomes.getByRole('slider').count()).toBe(0);
    const versions = page.getByRole('region', { name: 'Versions in use' });
    expect(await versions.getByRole('rowheader').allTextContents()).toEqual([
      'Shopand 2 more',
      'Castleand 2 more',
    ]);
    expect(await accessibilityFindings(page)).toEqual([]);
    await page.getByRole('link', { name: 'Validations today' }).click();
    await page.getByRole('heading', { name: 'History' }).waitFor();
  });

  it('an empty service shows the first steps, which tick off by themselves until dismissed', async () => {
    const page = await openConsole('/history', { hasClock: true });
    // The service is shared, so the test replaces its responses by those of an empty one.
    const empty = new Set(['products', 'licenses', 'requests', 'tokens']);
    await page.route(/\/api\/v2\/(products|licenses|requests|tokens)\?/, (route) => {
      const [, name = ''] = /v2\/(\w+)/.exec(route.request().url()) ?? [];
      return empty.has(name) ? route.fulfill({ json: [] }) : route.continue();
    });
    await page.getByRole('link', { name: 'Overview' }).click();
    const steps = page.getByRole('region', { name: 'First steps' });
    await steps.getByText('0 of 5 done').waitFor();
    await steps.getByRole('link', { name: 'Create a product' }).waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
    empty.delete('products');
    await page.clock.fastForward(5_000);
    await steps.getByText('1 of 5 done').waitFor();
    await steps.getByRole('link', { name: 'Create a license' }).waitFor();
    // The shop is offered, and not counted.
    await steps.getByText('Connect your shop (optional)').waitFor();
    // Only the token is left.
    for (const name of ['licenses', 'requests']) empty.delete(name);
    await page.clock.fastForward(5_000);
    await steps.getByRole('link', { name: 'Create a token' }).click();
    await page.getByRole('dialog', { name: 'New token' }).waitFor();
    expect(await page.getByRole('link', { name: 'New token' }).count()).toBeLessThan(2);
    await page.goBack();
    await steps.getByRole('button', { name: 'Hide the first steps' }).click();
    await steps.waitFor({ state: 'detached' });
    await page.reload();
    await page.getByRole('region', { name: 'Latest events' }).waitFor();
    expect(await steps.count()).toBe(0);
  });
});
