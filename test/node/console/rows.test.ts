/** @module-tag long */

import { randomUUID } from 'node:crypto';
import { DAY_MS } from '@licet/contract/durations';
import type { Page } from 'playwright-core';
import { expect, it, vi } from 'vitest';
import { sharedService } from '../shared-service.ts';
import {
  accessibilityFindings,
  cutCells,
  describeInBrowser,
  licet,
  newLicense,
  openConsole,
  PHONE,
  product,
} from './console.ts';

/** The rows of lists: as targets, on a phone, their number, and their places on each width. */

/** The controls that are lower than a pointer needs: 44 px for a finger, 24 px for a mouse. */
const lowTargets = (page: Page): Promise<string[]> =>
  page.evaluate<string[]>(`(() => {
    const least = matchMedia('(pointer: coarse)').matches ? 44 : 24;
    return [...document.querySelectorAll('main :is(a, button, input, select)')]
      .map((control) => control.closest('label') ?? control)
      .filter((target) => target.checkVisibility())
      .map((target) => [target.getBoundingClientRect().height, target.outerHTML.slice(0, 99)])
      .filter(([height]) => height < least)
      .map((low) => low.join(' '));
  })()`);

describeInBrowser('the rows of the console', () => {
  it('a click anywhere on a row opens it, but not on its checkbox or after text was selected', async () => {
    const notes = `row-${randomUUID()}`;
    const { licenseKey } = await newLicense({ notes });
    const page = await openConsole(`/licenses?q=${notes}`);
    const cell = page.getByRole('cell', { name: product.name });
    await cell.waitFor();
    const box = await cell.boundingBox();
    if (!box) throw new Error('The cell is not visible');
    await page.getByRole('checkbox', { name: `Select ${licenseKey}` }).check();
    await page.mouse.move(box.x + 2, box.y + box.height / 2);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width - 2, box.y + box.height / 2);
    await page.mouse.up();
    expect(await page.evaluate('getSelection().toString()')).not.toBe('');
    await page.evaluate('getSelection().empty()');
    const opened = () => page.context().waitForEvent('page');
    const tab = opened();
    await cell.click({ button: 'middle' });
    await (await tab).getByRole('heading', { name: licenseKey }).waitFor();
    await (await tab).close();
    // The tab alone: Chromium 150 without a window crashes in each that a click with Control opens.
    const other = opened();
    await cell.click({ modifiers: ['Control'] });
    await (await other).close();
    expect(new URL(page.url()).pathname).toBe('/console/licenses');
    expect(await page.getByText('1 selected').isVisible()).toBe(true);
    await cell.click();
    await page.getByRole('heading', { name: licenseKey }).waitFor();
  });

  it('on a phone a list selects all, sorts and filters, with targets for a finger', async () => {
    const notes = `phone-${randomUUID()}`;
    const expiryDate = new Date(Date.now() + DAY_MS).toISOString();
    const customerEmail = `${notes}@shop.example`;
    await newLicense({ notes, licenseType: 'TEMPORARY', expiryDate });
    await newLicense({ notes, customerEmail });
    const page = await openConsole(`/licenses?q=${notes}`, {
      viewport: PHONE,
      own: { hasTouch: true, isMobile: true },
    });
    await page.getByRole('cell', { name: customerEmail }).waitFor();
    await page.getByRole('checkbox', { name: 'Select all on this page' }).check();
    await page.getByText('2 selected').waitFor();
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.getByLabel('Status', { exact: true }).selectOption('Active');
    await page.getByRole('button', { name: 'Filter (1)' }).waitFor();
    await page.getByLabel('Order').selectOption('Expires, earliest first');
    await page.getByText('1 license', { exact: true }).waitFor();
    expect(await lowTargets(page)).toEqual([]);
    expect(await accessibilityFindings(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(PHONE.width);
  });

  it('a list says which rows of how many it shows, and its head stays in sight and in place', async () => {
    const customerEmail = `many-${randomUUID()}@shop.example`;
    const { id: productId } = await licet.products.create({
      name: `Many ${randomUUID()}`,
      productType: 'OTHER',
    });
    await licet.licenses.createBatch({ productId, licenseType: 'PERMANENT', count: 50 });
    await newLicense({ productId, customerEmail });
    const page = await openConsole(`/licenses?productId=${productId}`);
    await page.getByText('1–50 of 51 licenses').waitFor();
    const heads = page.getByRole('columnheader');
    const places = () => heads.evaluateAll((all) => all.map((head) => head.offsetLeft));
    const before = await places();
    await page.getByRole('button', { name: 'Columns' }).click();
    const notes = page.getByRole('menuitemcheckbox', { name: 'Notes' });
    await notes.click();
    const head = await page.getByRole('columnheader', { name: 'Notes' }).boundingBox();
    const row = await page.getByRole('row').nth(1).boundingBox();
    expect((head?.y ?? 0) + (head?.height ?? 0)).toBe(row?.y);
    await notes.click();
    await page.keyboard.press('Escape');
    const header = await page.getByRole('banner').boundingBox();
    await page.getByRole('link', { name: 'Next' }).scrollIntoViewIfNeeded();
    expect((await heads.first().boundingBox())?.y).toBe(header?.height);
    await page.getByRole('checkbox').nth(1).check();
    await page.getByRole('button', { name: 'Restore' }).click();
    const message = page.getByRole('dialog', { name: 'Nothing had to be changed.' });
    await message.waitFor();
    await page.getByRole('checkbox').nth(1).check();
    const bar = await page.getByRole('region', { name: '1 selected' }).boundingBox();
    const box = await message.boundingBox();
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(bar?.y ?? 0);
    // The message covers the link.
    await page.getByRole('link', { name: 'Next' }).press('Enter');
    await page.getByText('51 of 51 licenses').waitFor();
    expect(await places()).toEqual(before);
    expect(await lowTargets(page)).toEqual([]);
    const requests: string[] = [];
    page.on('request', (request) => requests.push(new URL(request.url()).pathname));
    await page.goto(`/console/customers?q=${customerEmail}`);
    await page.getByText('1 customer', { exact: true }).waitFor();
    const link = page.getByRole('link', { name: `1 license of ${customerEmail}` });
    await link.waitFor();
    // The list has the numbers of all rows.
    expect(requests).toContain('/api/v2/customers');
    expect(requests.filter((path) => path.startsWith('/api/v2/licenses'))).toEqual([]);
    await link.click();
    await page.getByText('1 license', { exact: true }).waitFor();
  });

  it('the history fits every screen with its remedies', async () => {
    const { id: productId } = await licet.products.create({
      name: `A product with a long name ${randomUUID()}`,
      productType: 'OTHER',
    });
    const expiryDate = new Date(Date.now() - DAY_MS).toISOString();
    const { licenseKey } = await newLicense({ productId, licenseType: 'TEMPORARY', expiryDate });
    await fetch(`${await sharedService()}/api/v1/validate`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ productId, licenseKey, ip: '2001:db8:1234:5678:9abc:def0:1234:5678' }),
    });
    await vi.waitFor(
      async () => expect(await licet.requests.list({ licenseKey })).toHaveLength(1),
      20_000,
    );
    const page = await openConsole(`/history?licenseKey=${licenseKey}`);
    const remedy = page.getByRole('button', { name: 'Extend by 30 days' });
    for (const width of [1280, 768, 360]) {
      await page.setViewportSize({ width, height: 900 });
      await remedy.waitFor();
      expect(await cutCells(page), `at ${width} px`).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
      expect(await accessibilityFindings(page)).toEqual([]);
    }
  });
});
