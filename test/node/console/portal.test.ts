/** @module-tag long */

import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import type { License, ProductCreate } from '@licet/client';
import { DAY_MS } from '@licet/contract/durations';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterEach, expect, it } from 'vitest';
import { isLong } from '../../support/long.ts';
import { sharedService } from '../shared-service.ts';
import {
  accessibilityFindings,
  describeInBrowser,
  expectFailure,
  licet,
  newPage,
  openConsole,
} from './console.ts';

/** The customer's own page in a browser [decision 10]. */

const NARROW = { width: 320, height: 700 };
const FIRST_SCREEN_BYTES = 60_000;
/** A red square. */
const LOGO =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
const BEFORE_LINK = /^401 GET \/my\/licenses$/;

/** Takes pictures of a page for people, in all sizes and themes. */
async function lookAt(page: Page, name: string): Promise<void> {
  if (!process.env.LICET_LOOK) return;
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    for (const width of [320, 360, 768, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      const path = `${process.env.LICET_LOOK}/${name}-${width}-${colorScheme}.png`;
      await page.screenshot({ path, fullPage: true });
    }
  }
}

describeInBrowser("the customer's page", () => {
  afterEach(() =>
    licet.portalSettings.update({ name: '', colour: null, contact: null, logo: null }),
  );

  /** A customer with a license of a product, and bound values. */
  async function buy(fields: Partial<ProductCreate> = {}, values: object = {}) {
    const name = `Guard ${randomUUID().slice(0, 4)}`;
    const { id: productId } = await licet.products.create({
      name,
      productType: 'OTHER',
      selfResets: 2,
      ...fields,
    });
    const { id: customerId } = await licet.customers.create({
      email: `${randomUUID()}@shop.example`,
    });
    const { id } = await licet.licenses.create({
      productId,
      customerId,
      licenseType: 'PERMANENT',
      maxIPs: 3,
      maxHWIDs: 2,
    });
    // No other test blocks these addresses.
    const ips = ['45.77.12.9', '2a01:4f8:7::1'];
    const license: License = await licet.licenses.update(id, {
      ips,
      hwids: ['4c4c4544-0042'],
      ...values,
    });
    return { name, license, customerId };
  }

  const linkFor = async (customerId: number): Promise<string> => {
    const { url } = await licet.portalLink({ customerId });
    return `/my${new URL(url).hash}`;
  };

  async function openMine(customerId: number, context: BrowserContextOptions = {}): Promise<Page> {
    const page = await newPage({
      own: { baseURL: await sharedService(), locale: 'en-GB', ...context },
    });
    await page.goto(await linkFor(customerId));
    await page.getByRole('button').first().click();
    await page.getByRole('article').first().waitFor();
    return page;
  }

  const focused = (page: Page) => page.evaluate('document.activeElement.textContent');

  it('a customer opens a link, copies the key, and frees a slot [10.2.8]', {
    tags: 'short',
  }, async () => {
    const { name, license, customerId } = await buy();
    const page = await openMine(customerId);
    expect(new URL(page.url()).hash).toBe('');
    await expect.poll(() => focused(page)).toBe('Your licenses');
    const card = page.getByRole('article').filter({ hasText: name });
    await card.getByText('Active', { exact: true }).waitFor();
    await card.getByText('Does not expire').waitFor();
    expect(await card.getByText(license.licenseKey).count()).toBe(0);
    await card.getByRole('button', { name: 'Show' }).click();
    await card.getByText(license.licenseKey).waitFor();
    await card.getByRole('button', { name: 'Copy' }).click();
    await card.getByText('Copied').waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(license.licenseKey);
    await card.getByText('Servers and computers', { exact: true }).click();
    await card.getByText('Servers and computers (3)', { exact: true }).waitFor();
    await card.getByText('last used just now').first().waitFor();
    await card.getByRole('button', { name: 'Free 45.77.…9' }).click();
    await card.getByRole('group', { name: /Uses 1 of your 2 resets\. Free it\?$/ }).waitFor();
    await card.getByRole('button', { name: 'Yes, free' }).click();
    await card
      .getByRole('status')
      .getByText('Done. Start your server again: it takes the free place.')
      .waitFor();
    await card.getByText('Resets left: 1 of 2 in 30 days.').waitFor();
    expect(await card.getByText('All places are taken.').count()).toBe(0);
    expect((await licet.licenses.get(license.id)).ips).toEqual(['2a01:4f8:7::1']);
    await card.getByRole('button', { name: 'Free all' }).click();
    await card.getByRole('button', { name: 'Cancel' }).click();
    await expect.poll(() => focused(page)).toBe('Free all');
    await card.getByRole('button', { name: 'Free all' }).click();
    await card.getByRole('group', { name: /Uses your last reset\. Free them\?$/ }).waitFor();
    await card.getByRole('button', { name: 'Yes, free' }).click();
    await card.getByRole('status').getByText('Done.').waitFor();
    await card.getByText('Servers and computers').waitFor({ state: 'detached' });
    expect(await licet.licenses.get(license.id)).toMatchObject({ ips: [], hwids: [] });
    expect(await accessibilityFindings(page)).toEqual([]);
    await page.reload();
    await card.waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Open this page with a link' }).waitFor();
    await page.goBack().catch(() => null);
    await page.goto('/my');
    await page.getByRole('heading', { name: 'Open this page with a link' }).waitFor();
    expect(await page.getByRole('article').count()).toBe(0);
    expectFailure(BEFORE_LINK);
  });

  it('two machines behind one address are two entries, each with its price, and none has a button at 0 resets [10.1.5, 10.2.8]', async () => {
    const { license, customerId } = await buy({ selfResets: 1 }, { ips: [], hwids: [] });
    const { licenseKey, productId } = license;
    for (const hwid of ['computer-1', 'computer-2']) {
      expect(await licet.validate({ licenseKey, productId, ip: '45.77.12.9', hwid })).toMatchObject(
        {
          valid: true,
        },
      );
    }
    await expect
      .poll(async () => (await licet.licenses.installations(license.id).list()).length)
      .toBe(2);
    await licet.portalSettings.update({ contact: 'https://discord.gg/example' });
    const page = await openMine(customerId);
    await page.getByText('All places are taken.').waitFor();
    const card = page.getByRole('article');
    await card.getByText('Servers and computers', { exact: true }).click();
    await card.getByRole('button', { name: 'Free 45.77.…9, comput…1' }).click();
    const name = /The IP address stays, because another one uses it\. Uses your last reset\./;
    await card.getByRole('group', { name }).waitFor();
    await lookAt(page, 'two-machines');
    await card.getByRole('button', { name: 'Yes, free' }).click();
    await card.getByText(/^You have used all your resets.* The next one returns on/).waitFor();
    expect(await card.getByRole('button', { name: /^Free/ }).count()).toBe(0);
    await card.getByText('Servers and computers (1)', { exact: true }).waitFor();
    await card.getByText('comput…2').waitFor();
    expect(await card.getByRole('link', { name: 'Get help' }).getAttribute('href')).toBe(
      'https://discord.gg/example',
    );
    expect(await licet.licenses.get(license.id)).toMatchObject({
      ips: ['45.77.12.9'],
      hwids: ['computer-2'],
    });
    await lookAt(page, 'no-resets');
    expect(await accessibilityFindings(page)).toEqual([]);
    expectFailure(BEFORE_LINK);
  });

  it('a customer replaces a leaked key, after a question [10.1.6]', async () => {
    const { license, customerId } = await buy({ selfRotate: true });
    const page = await openMine(customerId);
    const card = page.getByRole('article');
    await card.getByRole('button', { name: 'Replace a leaked key' }).click();
    await card.getByRole('button', { name: 'Cancel' }).click();
    await card.getByRole('button', { name: 'Replace a leaked key' }).click();
    await card.getByRole('button', { name: 'Yes, replace' }).click();
    await card.getByRole('status').getByText('Done. Enter the new key').waitFor();
    await card.getByRole('status').getByText('that are not yours keep their places').waitFor();
    const { licenseKey } = await licet.licenses.get(license.id);
    expect(licenseKey).not.toBe(license.licenseKey);
    await card.getByText(licenseKey).waitFor();
    await card.getByText('It can be replaced again from').waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
    await lookAt(page, 'replaced');
  });

  it('a key that the shop has replaced meanwhile is shown no longer [10.1.6]', async () => {
    const { license, customerId } = await buy({ selfRotate: true });
    const page = await openMine(customerId);
    const card = page.getByRole('article');
    await card.getByRole('button', { name: 'Show' }).click();
    await card.getByText(license.licenseKey).waitFor();
    const { licenseKey } = await licet.licenses.rotate(license.id);
    await card.getByRole('button', { name: 'Replace a leaked key' }).click();
    await card.getByRole('button', { name: 'Yes, replace' }).click();
    await card.getByRole('status').getByText('The key was replaced.').waitFor();
    expect(await card.getByText(license.licenseKey).count()).toBe(0);
    await card.getByText(licenseKey.slice(-4)).waitFor();
  });

  it('a slow reset is not sent again, and its question stays while the list is read [10.1.5]', async () => {
    const { customerId, license } = await buy();
    const page = await openMine(customerId);
    const held = Promise.withResolvers<void>();
    let sent = 0;
    await page.route('**/resets', async (route) => {
      sent++;
      await held.promise;
      await route.continue();
    });
    const card = page.getByRole('article');
    await card.getByRole('button', { name: 'Free all' }).click();
    const yes = card.getByRole('button', { name: 'Yes, free' });
    await yes.click();
    const summary = card.locator('summary');
    await summary.click();
    await card.getByText('Servers and computers (3)', { exact: true }).waitFor();
    expect(await yes.isDisabled()).toBe(true);
    expect(await card.getByRole('button', { name: 'Cancel' }).isDisabled()).toBe(true);
    // The list is read whenever it is opened.
    await summary.click();
    await licet.licenses.update(license.id, { hwids: ['4c4c4544-0042', 'new-one-1234'] });
    await summary.click();
    await card.getByText('Servers and computers (4)', { exact: true }).waitFor();
    held.resolve();
    await card.getByRole('status').getByText('Done.').waitFor();
    expect(sent).toBe(1);
  });

  it('after a lost response, a card shows what the service has done [10.2.22]', async () => {
    const { customerId, license } = await buy({ selfRotate: true });
    const page = await openMine(customerId);
    await page.route('**/resets', async (route) => {
      await licet.licenses.update(license.id, { ips: [], hwids: [] });
      await route.abort();
    });
    await page.route('**/rotations', async (route) => {
      await licet.licenses.rotate(license.id);
      await route.abort();
    });
    const card = page.getByRole('article');
    await card.getByRole('button', { name: 'Free all' }).click();
    await card.getByRole('button', { name: 'Yes, free' }).click();
    await card.getByRole('alert').getByText('That did not work.').waitFor();
    await card.getByText('of 3').first().waitFor({ state: 'detached' });
    await card.getByRole('button', { name: 'Replace a leaked key' }).click();
    await card.getByRole('button', { name: 'Yes, replace' }).click();
    await card.getByText('It can be replaced again from').waitFor();
    const { licenseKey } = await licet.licenses.get(license.id);
    expect(licenseKey).not.toBe(license.licenseKey);
    await card.getByText(licenseKey.slice(-4)).waitFor();
  });

  it('a late 401 to the session before a link does not end the new session', async () => {
    const [first, second] = [await buy(), await buy()];
    const page = await openMine(first.customerId);
    const held = Promise.withResolvers<void>();
    await page.route('**/machines', async (route) => {
      await held.promise;
      await route.fulfill({ status: 401, json: {} });
    });
    await page.locator('summary').click();
    const { hash } = new URL(await linkFor(second.customerId), await sharedService());
    await page.evaluate(`location.hash = '${hash}'`);
    await page.getByRole('button', { name: 'Open my licenses' }).click();
    await page.getByRole('heading', { name: second.name }).waitFor();
    const read = page.waitForResponse('**/machines');
    held.resolve();
    await read;
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByText(second.license.licenseKey).waitFor();
    expect(await page.getByRole('article').count()).toBe(1);
    expectFailure(/^401 GET \/my\/licenses\/\d+\/machines$/);
  });

  it('Try again also asks for the seller again [10.2.9]', async () => {
    await licet.portalSettings.update({ name: 'Ada Games' });
    const page = await newPage({ own: { baseURL: await sharedService(), locale: 'en-GB' } });
    await page.route('**/my/*', (route) => route.abort());
    await page.goto('/my');
    const again = page.getByRole('button', { name: 'Try again' });
    await again.waitFor();
    await page.unroute('**/my/*');
    await again.click();
    await page.getByText('Ada Games').waitFor();
    expectFailure(BEFORE_LINK);
  });

  it('a request that fails leaves the cards, and its message stands in the card that asked [10.2.22]', async () => {
    const { customerId, license } = await buy();
    await licet.licenses.create({
      productId: license.productId,
      customerId,
      licenseType: 'PERMANENT',
    });
    const page = await openMine(customerId);
    const used = page.getByRole('article').filter({ hasText: 'Servers and computers' });
    await page.context().setOffline(true);
    await used.getByRole('button', { name: 'Free all' }).click();
    await used.getByRole('button', { name: 'Yes, free' }).click();
    await used.getByRole('alert').getByText('That did not work.').waitFor();
    await expect.poll(() => focused(page)).toBe('Free all');
    expect(await page.getByRole('alert').count()).toBe(1);
    expect(await page.getByRole('article').count()).toBe(2);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('alert').nth(1).waitFor();
    expect(await page.getByRole('article').count()).toBe(2);
    await page.context().setOffline(false);
    await used.getByRole('button', { name: 'Free all' }).click();
    await used.getByRole('button', { name: 'Yes, free' }).click();
    await page.getByRole('status').getByText('Done.').waitFor();
    expectFailure(/ERR_INTERNET_DISCONNECTED|^failed|net::/);
  });

  it('inactive licenses are folded above four, a filter comes above ten, and an unused one says so [10.2.21]', async () => {
    const { customerId, license, name } = await buy({}, { ips: [], hwids: [] });
    const sell = (values: object = {}) =>
      licet.licenses.create({
        productId: license.productId,
        customerId,
        licenseType: 'PERMANENT',
        ...values,
      });
    for (let count = 0; count < 3; count++) await sell();
    const page = await openMine(customerId);
    expect(await page.getByText('Does not expire · Not used yet').count()).toBe(4);
    expect(await page.getByText('Resets left').count()).toBe(0);
    await sell({ licenseStatus: 'DEACTIVATED' });
    await page.reload();
    const folded = page.getByText('Expired and deactivated (1)');
    await folded.waitFor();
    expect(await page.getByRole('article').filter({ visible: true }).count()).toBe(4);
    await folded.click();
    expect(await page.getByRole('article').filter({ visible: true }).count()).toBe(5);
    expect(await page.getByRole('searchbox').count()).toBe(0);
    for (let count = 0; count < 5; count++) await sell();
    const { id: lastSold } = await sell();
    await page.reload();
    const filter = page.getByRole('searchbox');
    await filter.fill(license.licenseKey.slice(-4).toLowerCase());
    await expect.poll(() => page.getByRole('article').count()).toBe(1);
    await filter.fill(name);
    await expect.poll(() => page.getByRole('article').count()).toBe(11);
    await filter.fill('no such product');
    await page.getByText('No license matches.').waitFor();
    await filter.fill('');
    await lookAt(page, 'many');
    // Without the filter its text chooses no licenses either.
    await licet.licenses.update(license.id, { ips: ['45.77.12.9'] });
    await page.reload();
    await filter.fill(license.licenseKey.slice(-4));
    await expect.poll(() => page.getByRole('article').count()).toBe(1);
    await licet.licenses.delete(lastSold);
    await page.getByRole('button', { name: 'Free all' }).click();
    await page.getByRole('button', { name: 'Yes, free' }).click();
    await filter.waitFor({ state: 'detached' });
    await folded.waitFor();
    expect(await page.getByRole('article').count()).toBe(9);
    expect(await accessibilityFindings(page)).toEqual([]);
    expectFailure(BEFORE_LINK);
  });

  it('without JavaScript and without a link the page says what to do, and a used link has a button for help [10.2.22]', async () => {
    const baseURL = await sharedService();
    const plain = await newPage({ own: { baseURL, javaScriptEnabled: false } });
    await plain.goto('/my');
    const texts = plain.locator('noscript p');
    await texts.first().waitFor();
    expect(await texts.first().textContent()).toContain('This page needs JavaScript.');
    expect(await texts.count()).toBe(5);
    await licet.portalSettings.update({ name: 'Ada Games', contact: 'mailto:a@shop.example' });
    const page = await newPage({ own: { baseURL, locale: 'en-GB' } });
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.goto('/my');
    await page.getByText('ask it for a link to this page').waitFor();
    const help = page.getByRole('link', { name: 'Get help' });
    await help.waitFor();
    expect(await page.getByText('/portal').count()).toBe(0);
    expect(await help.getAttribute('href')).toBe('mailto:a@shop.example');
    const card = await page.getByRole('main').boundingBox();
    expect(card?.width).toBe(400);
    expect(card?.x).toBe((1280 - 400) / 2);
    await lookAt(page, 'no-link');
    const { customerId } = await buy();
    const code = await linkFor(customerId);
    for (const times of [1, 2]) {
      const own = await newPage({ own: { baseURL, locale: 'en-GB' } });
      await own.goto(code);
      await own.getByRole('button', { name: 'Open my licenses' }).click();
      if (times === 2) {
        await own.getByRole('alert').getByText('This link was used before').waitFor();
        await own.getByRole('link', { name: 'Get help' }).waitFor();
      } else await own.getByRole('article').waitFor();
    }
    expectFailure(/^403 POST \/my\/session$/);
    expectFailure(BEFORE_LINK);
  });

  it('a list without licenses has one way to get help', async () => {
    await licet.portalSettings.update({ contact: 'mailto:a@shop.example' });
    const { id } = await licet.customers.create({ email: `${randomUUID()}@shop.example` });
    const page = await newPage({ own: { baseURL: await sharedService(), locale: 'en-GB' } });
    await page.goto(await linkFor(id));
    await page.getByRole('button', { name: 'Open my licenses' }).click();
    await page.getByText('You have no licenses here.').waitFor();
    expect(await page.getByRole('link', { name: 'Get help' }).count()).toBe(1);
    expect(await accessibilityFindings(page)).toEqual([]);
    expectFailure(BEFORE_LINK);
  });

  it('a long address takes at most two lines of a small phone', async () => {
    // Alike at both ends, so that nothing of them is left out.
    const ips = [1, 2].map((net) => `2a01:4f8:85a3:8d${net}:1319:8a2e:370:7344`);
    const { customerId } = await buy({}, { ips });
    const page = await openMine(customerId);
    await page.setViewportSize(NARROW);
    await page.getByText('Servers and computers', { exact: true }).click();
    await page.getByText(ips[1] ?? '').waitFor();
    const lines = await page.evaluate<number[]>(
      `[...document.querySelectorAll('li dd')]
        .filter((value) => value.textContent.includes('2a01:'))
        .map((value) => value.offsetHeight / parseFloat(getComputedStyle(value).lineHeight))`,
    );
    expect(lines).toHaveLength(2);
    expect(Math.max(...lines)).toBeLessThanOrEqual(2);
  });

  it('a link that chat programs have fetched still opens, a used one says what to do, and a second tab shares the session', async () => {
    const { customerId } = await buy();
    const link = await linkFor(customerId);
    const address = await sharedService();
    for (let times = 0; times < 3; times++) await fetch(new URL(link, address));
    const own = { baseURL: address, locale: 'en-GB' };
    const page = await newPage({ own });
    await page.goto(link);
    await page.getByRole('button', { name: 'Open my licenses' }).click();
    await page.getByRole('article').waitFor();
    const second = await page.context().newPage();
    await second.goto(link);
    await second.getByRole('button', { name: 'Open my licenses' }).click();
    await second.getByRole('article').waitFor();
    const stranger = await newPage({ own });
    await stranger.goto(link);
    await stranger.getByRole('button', { name: 'Open my licenses' }).click();
    await stranger.getByRole('alert').getByText('This link was used before').waitFor();
    expect(await accessibilityFindings(stranger)).toEqual([]);
    for (const code of ['nonsense', 'long'.repeat(30)]) {
      await stranger.goto(`/my#code=${code}`);
      await stranger.getByRole('button', { name: 'Open my licenses' }).click();
      await stranger.getByText('This link is incomplete').waitFor();
    }
    expectFailure(/^400 POST \/my\/session$/);
    expectFailure(/^403 POST \/my\/session$/);
    expectFailure(BEFORE_LINK);
  });

  it('a link is used up by a press of the button alone: not by opening, nor by scripts and forms that send themselves [13.7.1]', async () => {
    const { name, customerId } = await buy();
    const link = await linkFor(customerId);
    const own = { baseURL: await sharedService(), locale: 'en-GB' };
    const scanner = await newPage({ own });
    await scanner.goto(link);
    await scanner.getByRole('button', { name: 'Open my licenses' }).waitFor();
    await scanner.evaluate('for (const form of document.forms) form.requestSubmit()');
    await scanner.waitForLoadState('networkidle');
    const page = await newPage({ own });
    await page.goto(link);
    await page.getByRole('button', { name: 'Open my licenses' }).click();
    await page.getByRole('article').filter({ hasText: name }).waitFor();
  });

  it('a browser that keeps no cookies is told so, and the policy allows nothing inline', async () => {
    const { customerId } = await buy();
    const address = await sharedService();
    const page = await newPage({ own: { baseURL: address, locale: 'en-GB' } });
    // As the service responds to a request without the cookie.
    await page.route('**/my/licenses', (route) => route.fulfill({ status: 401, json: {} }));
    await page.goto(await linkFor(customerId));
    await page.getByRole('button', { name: 'Open my licenses' }).click();
    await page.getByRole('alert').getByText('Your browser keeps no cookies').waitFor();
    const { headers } = await fetch(new URL('/my', address));
    expect(headers.get('Content-Security-Policy')).toMatch(/^default-src 'none'/);
    expect(headers.get('Content-Security-Policy')).not.toContain('unsafe');
    expect(headers.get('Referrer-Policy')).toBe('no-referrer');
    expectFailure(BEFORE_LINK);
  });

  it('a customer reads of Discord, and gets a code that links it, while it is set up and there is something to link [10.2.22]', async () => {
    const { customerId } = await buy();
    const button = { name: 'Link Discord' };
    const before = await openMine(customerId);
    expect(await before.getByRole('button', button).count()).toBe(0);
    await licet.discordSettings.update({
      applicationId: '1100000000000000001',
      publicKey: '8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c',
      guildId: '1100000000000000002',
    });
    try {
      const lost = await newPage({ own: { baseURL: await sharedService(), locale: 'en-GB' } });
      await lost.goto('/my');
      await lost.getByText('In the Discord of the shop: write /portal.').waitFor();
      const settings = await openConsole('/settings');
      await settings.getByText('Discord is set up').waitFor();
      await licet.discordSettings.update({ applicationId: null });
      await settings.reload();
      await settings.getByText('Discord is not set up').waitFor();
      await settings.getByText('discord setup --application').waitFor();
      await licet.discordSettings.update({ applicationId: '1100000000000000001' });
      const page = await openMine(customerId);
      const part = page.getByRole('region', { name: 'Discord' });
      await lookAt(page, 'my-link-discord');
      await part.getByRole('button', button).click();
      await part.getByText('Write /link in the Discord of the shop').waitFor();
      const code = await part.locator('code').textContent();
      expect(code).toMatch(/^[0-9A-Z]{4}(-[0-9A-Z]{4}){2}$/);
      await part.getByRole('button', { name: 'Copy' }).click();
      await part.getByText('Copied').waitFor();
      expect(await page.evaluate('navigator.clipboard.readText()')).toBe(code);
      expect(await accessibilityFindings(page)).toEqual([]);
      await page.setViewportSize(NARROW);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(NARROW.width);
      await lookAt(page, 'my-discord');
      // The seller is faster.
      await licet.customers.update(customerId, { chatId: `${Date.now()}00000` });
      await part.getByRole('button', { name: 'New code' }).click();
      await part.waitFor({ state: 'detached' });
      expectFailure(/^409 POST \/my\/discord-code$/);
      expectFailure(BEFORE_LINK);
    } finally {
      await licet.discordSettings.update({ applicationId: null, publicKey: null, guildId: null });
    }
  });

  it('the page shows the seller, in the language of the browser, without a request to another host [10.2.9]', async () => {
    const { customerId } = await buy();
    await licet.portalSettings.update({
      name: 'Ada Games',
      colour: '#0b6b3a',
      contact: 'https://discord.gg/example',
      logo: LOGO,
    });
    // An isolate knows the settings after a minute at the latest, and that which has changed them at once.
    const page = await newPage({ own: { baseURL: await sharedService(), locale: 'de-DE' } });
    await page.goto(await linkFor(customerId));
    await page.getByText('Ada Games').waitFor();
    const button = page.getByRole('button', { name: 'Meine Lizenzen öffnen' });
    expect(await page.evaluate('document.documentElement.lang')).toBe('de');
    const style = "getComputedStyle(document.querySelector('main button'))";
    expect(await page.evaluate(`${style}.backgroundColor`)).toBe('rgb(11, 107, 58)');
    expect(await accessibilityFindings(page)).toEqual([]);
    await button.click();
    await page.getByRole('heading', { name: 'Deine Lizenzen' }).waitFor();
    expect(await page.getByRole('link', { name: 'Hilfe' }).getAttribute('href')).toBe(
      'https://discord.gg/example',
    );
    expect(await page.title()).toBe('Deine Lizenzen · Ada Games');
  });

  const LOCALES = ['pt-BR', 'ja-JP', 'fr-FR', 'es-ES'];
  it.each(isLong ? LOCALES : LOCALES.slice(0, 2))(
    'the page of customers speaks %s, or English',
    async (locale) => {
      const { customerId } = await buy();
      const page = await openMine(customerId, { locale });
      const titles = {
        fr: 'Vos licences',
        es: 'Tus licencias',
        pt: 'As suas licenças',
        ja: 'Your licenses',
      };
      const title = Object.entries(titles).find(([language]) => locale.startsWith(language))?.[1];
      await page.getByRole('heading', { level: 1, name: title ?? '' }).waitFor();
    },
  );

  it.each(['en-GB', 'de-DE', 'fr-FR', 'es-ES', 'pt-BR'])(
    'a name of 86 characters without a blank fits 320 px in %s',
    async (locale) => {
      const { customerId } = await buy({ name: `Guard${'W'.repeat(81)}` });
      const page = await openMine(customerId, { locale });
      await page.setViewportSize(NARROW);
      await page.locator('summary').click();
      await page.locator('li button').first().click();
      await page.locator('fieldset').waitFor();
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(NARROW.width);
    },
  );

  it.each(['light', 'dark'] as const)(
    'fits a screen of 320 px in the %s theme',
    async (colorScheme) => {
      const { customerId } = await buy({}, { licenseStatus: 'ACTIVE' });
      const page = await openMine(customerId, { colorScheme, viewport: NARROW });
      await page.setViewportSize(NARROW);
      await page.getByText('Servers and computers', { exact: true }).click();
      await page.getByRole('button', { name: /^Free 45/ }).click();
      await page.getByRole('button', { name: 'Yes, free' }).waitFor();
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320);
      await lookAt(page, 'my');
    },
  );

  it.each([
    ['deactivated', { licenseStatus: 'DEACTIVATED' }, 'The shop has deactivated this license. Ask'],
    [
      'expired',
      { licenseType: 'TEMPORARY', expiryDate: '2020-01-01T00:00:00.000Z' },
      'This license has expired. Ask the shop to renew it.',
    ],
    [
      'not allowed to free slots',
      {},
      'For this product, only the shop frees servers and computers. Ask the shop.',
    ],
  ])(
    'the card of a license that is %s says what to do, with the contact of the shop [10.2.8]',
    async (_, values, words) => {
      await licet.portalSettings.update({ contact: 'https://discord.gg/example' });
      const fields = { selfResets: 0, url: 'https://shop.example/guard' };
      const { customerId } = await buy(fields, values);
      const page = await openMine(customerId);
      await page.setViewportSize(NARROW);
      const card = page.getByRole('article');
      await card.getByText(words).waitFor();
      const help = card.getByRole('link', { name: 'Get help' });
      expect(await help.getAttribute('href')).toBe('https://discord.gg/example');
      expect(await accessibilityFindings(page)).toEqual([]);
      const renew = card.getByRole('link', { name: 'Renew' });
      const pages = await renew.evaluateAll((links) =>
        links.map((link) => link.getAttribute('href')),
      );
      expect(pages).toEqual(words.includes('renew') ? ['https://shop.example/guard'] : []);
      await lookAt(page, `refused-${words.length}`);
      expectFailure(BEFORE_LINK);
    },
  );

  it('a seller enters the settings in the console, and makes a link as text and as a QR code', async () => {
    const { customerId, name, license } = await buy();
    const page = await openConsole('/settings');
    const form = page.getByRole('region', { name: "The customers' page" });
    await form.getByLabel('Your name').fill('Ada Games');
    await form.getByLabel('Colour of buttons').fill('#ffe066');
    const preview = form.getByRole('figure', { name: 'Preview' });
    await preview.getByText('Ada Games').waitFor();
    const button = preview.getByText('Open my licenses');
    expect(await button.getAttribute('style')).toMatch(/255, 224, 102.*color: rgb\(0, 0, 0\)/);
    expect(await form.getByLabel('Choose the colour').inputValue()).toBe('#ffe066');
    await form.getByLabel('Help').fill('discord.gg/example');
    await form.getByRole('button', { name: 'Save' }).click();
    await form.getByText(/must begin with https/i).waitFor();
    await form.getByLabel('Help').fill('https://discord.gg/example');
    // The message was about the text before.
    expect(await form.getByText(/must begin with https/i).count()).toBe(0);
    const buffer = Buffer.from(LOGO.slice(LOGO.indexOf(',') + 1), 'base64');
    await form
      .getByLabel('Logo')
      .setInputFiles({ name: 'logo.png', mimeType: 'image/png', buffer });
    await form.getByRole('img', { name: 'Logo' }).waitFor();
    await form.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Changes saved').waitFor();
    expect(await licet.portalSettings.get()).toMatchObject({ name: 'Ada Games', logo: LOGO });
    await page.getByText('npm run licet -- discord setup').waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
    if (process.env.LICET_LOOK)
      await page.screenshot({ path: `${process.env.LICET_LOOK}/settings.png`, fullPage: true });
    await page.goto(`/console/customers/${customerId}`);
    await page.getByRole('button', { name: 'Link to their page' }).click();
    const dialog = page.getByRole('dialog', { name: "Link to the customer's page" });
    await dialog.getByLabel('The link works for').selectOption('7 days');
    if (process.env.LICET_LOOK) {
      await page.screenshot({ path: `${process.env.LICET_LOOK}/new-link.png` });
    }
    await dialog.getByRole('button', { name: 'Make the link' }).click();
    const until = new Date(Date.now() + 7 * DAY_MS).getDate();
    await dialog.getByText(new RegExp(`It works once, until .*\\b${until}\\b`)).waitFor();
    const url = await dialog
      .getByRole('status', { name: "Link to the customer's page" })
      .textContent();
    await dialog.getByRole('button', { name: 'Show as a QR code' }).click();
    await dialog.getByRole('img', { name: /QR code/ }).waitFor();
    if (process.env.LICET_LOOK) await page.screenshot({ path: `${process.env.LICET_LOOK}/qr.png` });
    expect(await accessibilityFindings(page)).toEqual([]);
    // The link holds no name of the console.
    expectFailure(/^request to http:\/\/localhost:/);
    await page.goto(url ?? '');
    await page.getByRole('button', { name: 'Open my licenses' }).click();
    await page.getByRole('article').filter({ hasText: name }).waitFor();
    await page.getByRole('button', { name: 'Free all' }).click();
    await page.getByRole('button', { name: 'Yes, free' }).click();
    await page.getByRole('status').getByText('Done.').waitFor();
    await page.goto(`/console/licenses/${license.id}`);
    const events = page.getByRole('region', { name: 'Events' });
    await events.getByText(`Customer ${customerId}`).waitFor();
    await page.getByRole('button', { name: 'Link to their page' }).waitFor();
    expectFailure(/^400 PUT \/api\/v2\/settings\/portal$/);
  });

  it('a seller who changes settings that somebody else has changed meanwhile chooses between both values', async () => {
    expectFailure(/^412 PUT \/api\/v2\/settings\/portal$/);
    const page = await openConsole('/settings');
    const form = page.getByRole('region', { name: "The customers' page" });
    await form.getByLabel('Your name').fill('Mine');
    await licet.portalSettings.update({ name: 'Theirs', colour: '#123456' });
    await form.getByRole('button', { name: 'Save' }).click();
    await form.getByLabel('Stored now: Theirs').waitFor();
    expect(await licet.portalSettings.get()).toMatchObject({ name: 'Theirs', colour: '#123456' });
    await form.getByRole('button', { name: 'Save the chosen values' }).click();
    await page.getByText('Changes saved').waitFor();
    expect(await licet.portalSettings.get()).toMatchObject({ name: 'Mine', colour: '#123456' });
    expect(await form.getByLabel('Colour of buttons').inputValue()).toBe('#123456');
  });

  it('the first screen takes less than 60 KB [10.2.8, 10.2.9]', () => {
    const built = 'public/console';
    const html = readFileSync(`${built}/my.html`, 'utf8');
    const files = [...html.matchAll(/\/console\/(assets\/[^"]+)/g)].map(([, file]) => file);
    expect(files.length).toBeGreaterThan(2);
    const bytes = [html, ...files.map((file) => readFileSync(`${built}/${file}`))].map(
      (content) => gzipSync(content).length,
    );
    expect(bytes.reduce((sum, one) => sum + one)).toBeLessThan(FIRST_SCREEN_BYTES);
  });
});
