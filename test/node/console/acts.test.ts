/** @module-tag long */

import { Licet } from '@licet/client';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { sharedService } from '../shared-service.ts';
import { recordsOf } from '../shop.ts';
import {
  accessibilityFindings,
  describeInBrowser,
  expectFailure,
  licet,
  newLicense,
  openConsole,
  product,
} from './console.ts';

/** Changes of much at once: the questions before them, and their undo later. */

describeInBrowser('large changes in the console', () => {
  const EXPIRY = '2099-01-01T00:00:00.000+00:00';

  /** Creates licenses that expire, and opens the list of them. */
  async function openListOf(count: number): Promise<{ page: Page; ids: number[] }> {
    const notes = `acts-${crypto.randomUUID()}`;
    const made = await licet.licenses.createBatch({
      productId: product.id,
      licenseType: 'TEMPORARY',
      expiryDate: EXPIRY,
      notes,
      count,
    });
    const page = await openConsole(`/licenses?q=${notes}`);
    await page.getByRole('checkbox', { name: 'Select all on this page' }).check();
    return { page, ids: made.map(({ id }) => id) };
  }

  it('a change of more than ten licenses asks first, with the number that programs notice', async () => {
    const { page, ids } = await openListOf(11);
    const [first = 0] = ids;
    for (const [action, title, effect] of [
      ['Deactivate', 'Deactivate 11 licenses?', '11 licenses will be refused'],
      ['Restore', 'Restore 11 licenses?', 'Nothing is deactivated or deleted'],
      ['Delete', 'Delete 11 licenses?', '11 licenses will be refused'],
    ] as const) {
      await page.getByRole('button', { name: action, exact: true }).click();
      const question = page.getByRole('alertdialog', { name: title });
      await question.getByText(effect).waitFor();
      if (action === 'Deactivate') expect(await accessibilityFindings(page)).toEqual([]);
      await question.getByRole('button', { name: 'Cancel' }).click();
      await question.waitFor({ state: 'detached' });
    }
    expect(await licet.licenses.get(first)).toMatchObject({ licenseStatus: 'ACTIVE' });
    await page.getByRole('button', { name: 'Deactivate' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Deactivate' }).click();
    await page.getByText('11 licenses deactivated').waitFor();
    expect(await licet.licenses.get(first)).toMatchObject({ licenseStatus: 'DEACTIVATED' });
  });

  it('expiries move by days of either sign and to a date, and the form says which licenses end', async () => {
    const { page, ids } = await openListOf(2);
    const [first = 0] = ids;
    const all = page.getByRole('checkbox', { name: 'Select all on this page' });
    const dialog = page.getByRole('dialog', { name: 'Extend 2 licenses' });
    const open = async () => {
      await all.check();
      await page.getByRole('button', { name: 'Extend' }).click();
    };
    const expiry = async () => (await licet.licenses.get(first)).expiryDate;
    await page.getByRole('button', { name: 'Extend' }).click();
    await dialog.getByLabel('Days').fill('-36500');
    await dialog.getByText('2 licenses will expire at once and be refused').waitFor();
    // Days that lead beyond the last time are typed on the way to others.
    await dialog.getByLabel('Days').fill('9999999999');
    await dialog.getByText('2 expiries will move.').waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
    await dialog.getByLabel('Days').fill('-1');
    await dialog.getByText('2 expiries will move.').waitFor();
    await dialog.getByRole('button', { name: 'Move the expiry of 2 licenses' }).click();
    await page.getByText('2 expiries moved').waitFor();
    expect(await expiry()).toBe('2098-12-31T00:00:00.000+00:00');
    await open();
    await dialog.getByLabel('Move the expiry').selectOption('To a date');
    await dialog.getByLabel('Date', { exact: true }).fill('2098-06-30');
    await dialog.getByRole('button', { name: 'Move the expiry of 2 licenses' }).click();
    await expect
      .poll(expiry)
      .toBe(new Date('2098-06-30T23:59:59').toISOString().replace('Z', '+00:00'));
    await open();
    await dialog.getByLabel('Move the expiry').selectOption('To a date');
    const usual = dialog.getByRole('group', { name: 'Usual days' });
    expect(await usual.getByRole('button').allTextContents()).toEqual([
      '30 days',
      '1 year',
      'End of the month',
    ]);
    await usual.getByRole('button', { name: '1 year' }).click();
    await dialog.getByText('2 expiries will move.').waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
    const day = await dialog.getByLabel('Date', { exact: true }).inputValue();
    await dialog.getByRole('button', { name: 'Move the expiry of 2 licenses' }).click();
    await expect
      .poll(expiry)
      .toBe(new Date(`${day}T23:59:59`).toISOString().replace('Z', '+00:00'));
  });

  it('the form of a range says its bounds, rejects one that is too wide, and asks before a wide one', async () => {
    const license = await newLicense();
    await licet.validate({
      licenseKey: license.licenseKey,
      productId: product.id,
      ip: '203.1.7.7',
    });
    await recordsOf(licet, license.licenseKey, 1);
    const page = await openConsole('/blacklist?open=new');
    const form = page.getByRole('dialog', { name: 'Block an address' });
    const value = form.getByLabel('Value');
    await value.fill('198.51.100.7/24');
    await form.getByText('Blocks 198.51.100.0 to 198.51.100.255, 256 addresses.').waitFor();
    await value.fill('0.0.0.0/0');
    const submit = form.getByRole('button', { name: 'Block', exact: true });
    await submit.click();
    await form.getByRole('alert').getByText('Must be a range of /8 or narrower').waitFor();
    expect(await form.getByText('/8 or narrower').count()).toBe(1);
    await value.fill('203.0.0.0/15');
    await form.getByLabel('For').selectOption(product.name);
    await submit.click();
    const question = page.getByRole('alertdialog', { name: 'Block 203.0.0.0/15?' });
    await question.getByText('Programs with 1 license sent requests from there').waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
    await question.getByRole('button', { name: 'Cancel' }).click();
    expect(await licet.blacklists.list({ q: '203.0.0.0/15' })).toEqual([]);
    await submit.click();
    await question.getByRole('button', { name: 'Block' }).click();
    const blocked = page.getByRole('dialog', { name: '203.0.0.0/15 blocked' });
    await blocked.waitFor();
    const [entry] = await licet.blacklists.list({ q: '203.0.0.0/15' });
    await licet.blacklists.update(entry?.id ?? 0, { reason: 'Changed by another person' });
    expectFailure(/^412 DELETE \/api\/v2\/blacklists/);
    await blocked.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('Somebody changed it in the meantime').first().waitFor();

    await page.goto('/console/blacklist?open=new');
    await page.route(/\/licenses\?.*ip=/, (route) =>
      route.fulfill({ json: [], headers: { 'X-Total-Count': '11' } }),
    );
    await value.fill('203.1.7.7');
    await form.getByText('Programs with 11 licenses sent requests from there').waitFor();
    await submit.click();
    await page.getByRole('alertdialog', { name: 'Block 203.1.7.7?' }).waitFor();
  });

  it('a change of many licenses is one of your last changes, and its undo leaves what was changed since', async () => {
    const { token } = await licet.tokens.create({ name: 'Acts', intents: ['ALL_READ_WRITE'] });
    const own = new Licet({ url: await sharedService(), token });
    const made = await licet.licenses.createBatch({
      productId: product.id,
      licenseType: 'TEMPORARY',
      expiryDate: EXPIRY,
      count: 12,
    });
    await own.products.update(product.id, { description: `for acts ${crypto.randomUUID()}` });
    const extended = '2099-01-31T00:00:00.000+00:00';
    await Promise.all(made.map(({ id }) => own.licenses.update(id, { expiryDate: extended })));
    const [first, second] = made.map(({ id }) => id);
    const theirs = '2097-01-01T00:00:00.000+00:00';
    await licet.licenses.update(first ?? 0, { expiryDate: theirs });
    const page = await openConsole('/', { token });
    await page.getByRole('button', { name: 'Session of Acts' }).click();
    await page.getByRole('menuitem', { name: 'Your latest changes' }).click();
    const lines = page.getByRole('list', { name: 'Your latest changes' }).getByRole('listitem');
    const line = lines.filter({ hasText: 'Extended 12 licenses by 30 days' });
    await line.getByText('1 of 12 have changed since').waitFor();
    await lines.filter({ hasText: 'Product changed' }).getByText(product.name).waitFor();
    expect(await lines.count()).toBe(2);
    expect(await accessibilityFindings(page)).toEqual([]);
    await page.getByRole('button', { name: 'Undo: Extended 12 licenses' }).click();
    await page.getByText('11 changes undone.').waitFor();
    expect((await licet.licenses.get(second ?? 0)).expiryDate).toBe(EXPIRY);
    expect((await licet.licenses.get(first ?? 0)).expiryDate).toBe(theirs);
    await line.getByText('changed since').waitFor();
    const imported = await own.licenses.create({ productId: product.id, licenseType: 'PERMANENT' });
    await licet.licenses.update(imported.id, { notes: 'Changed by another person' });
    await page.reload();
    await lines.filter({ hasText: 'License created' }).getByText('cannot be undone').waitFor();
    await lines.filter({ hasText: 'Shortened 11 licenses by 30 days' }).waitFor();
  });

  it('a token that may not read events undoes its own change from the message of the change before', async () => {
    const { id } = await newLicense();
    const { token } = await licet.tokens.create({ name: 'Acts', intents: ['LICENSES_READ_WRITE'] });
    const status = async () => (await licet.licenses.get(id)).licenseStatus;
    const page = await openConsole(`/licenses/${id}`, { token });
    await page.getByRole('button', { name: 'Deactivate' }).click();
    const message = page.getByRole('dialog').filter({ hasText: 'Undo lasts 24 hours' });
    await message.getByRole('link', { name: 'your latest changes' }).click();
    const line = page
      .getByRole('list', { name: 'Your latest changes' })
      .getByRole('listitem')
      .filter({ hasText: 'License changed' });
    await line.waitFor();
    expect(await page.getByRole('link', { name: 'All events' }).count()).toBe(0);
    expect(await line.getByRole('link', { name: /ago|now/ }).count()).toBe(0);
    expect(await accessibilityFindings(page)).toEqual([]);
    expect(await status()).toBe('DEACTIVATED');
    await line.getByRole('button', { name: 'Undo' }).click();
    await expect.poll(status).toBe('ACTIVE');
  });

  it('an event restores the values before it, and asks where they were changed again', async () => {
    const { id } = await licet.products.create({ name: 'Restored', productType: 'OTHER' });
    // The event shortens the long text.
    await licet.products.update(id, { defaultMaxIPs: 7, description: 'long '.repeat(200) });
    const [event] = await licet.events.list({ resourceType: 'product', resourceId: id });
    const limit = async () => (await licet.products.get(id)).defaultMaxIPs;
    const page = await openConsole(`/events?open=${event?.id}`);
    await page.getByRole('button', { name: 'Restore' }).click();
    const message = page.getByRole('dialog', { name: /^Restored.*limit: 5/ });
    await message.waitFor();
    expect(await limit()).toBe(5);
    await message.getByRole('button', { name: 'Undo' }).click();
    await expect.poll(limit).toBe(7);
    await licet.products.update(id, { defaultMaxIPs: 9 });
    await page.goto(`/console/events?open=${event?.id}`);
    await page.getByRole('button', { name: 'Restore' }).click();
    const question = page.getByRole('alertdialog', { name: 'Restore over newer values?' });
    await question.getByText('Default address limit, stored now: 9.').waitFor();
    expect(await limit()).toBe(9);
    await question.getByRole('button', { name: 'Restore' }).click();
    await expect.poll(limit).toBe(5);
  });

  it('a license that a stranger redeemed is taken from the account by its event', async () => {
    const { id } = await newLicense({ ownerChatId: '2200000000000000002' });
    const [event] = await licet.events.list({ resourceType: 'license', resourceId: id });
    const changes = { ownerChatId: { before: '', after: '2200000000000000002' } };
    const page = await openConsole('/');
    // Only Discord signs commands: its event has the place of the one of the creation.
    await page.route('**/api/v2/events?*', (route) =>
      route.fulfill({ json: [{ ...event, type: 'license.redeemed', changes }] }),
    );
    await page.goto(`/console/events?open=${event?.id}`);
    await page.getByRole('button', { name: 'Restore' }).click();
    await page.getByText(/^Restored/).waitFor();
    expect((await licet.licenses.get(id)).ownerChatId).toBe('');
  });

  it('a selection of all licenses ends where the filter changes before all are read', async () => {
    const { page } = await openListOf(51);
    const held = Promise.withResolvers<void>();
    await page.route(/\/licenses\?.*limit=250/, async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.getByRole('button', { name: 'Select all that match' }).click();
    await page.getByLabel('Status').selectOption('Deactivated');
    await page.getByText('Nothing matches').waitFor();
    const [response] = await Promise.all([page.waitForResponse(/limit=250/), held.resolve()]);
    await response.finished();
    await page
      .getByRole('status')
      .filter({ hasText: 'Selecting licenses' })
      .waitFor({ state: 'detached' });
    expect(await page.getByText('51 selected').count()).toBe(0);
  });
});
