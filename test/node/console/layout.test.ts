/** @module-tag long */

import { randomUUID } from 'node:crypto';
import { DAY_MS } from '@licet/contract/durations';
import { expect, it, vi } from 'vitest';
import { isLong } from '../../support/long.ts';
import { sharedService } from '../shared-service.ts';
import {
  accessibilityFindings,
  describeInBrowser,
  expectFailure,
  licet,
  logIn,
  loseSession,
  newLicense,
  newPage,
  openConsole,
  product,
  tokenWith,
} from './console.ts';

/** The parts that all screens share: the search, the keyboard, sessions, messages and failed responses. */

describeInBrowser('the layout of the console', () => {
  const expiredLicense = () =>
    newLicense({
      licenseType: 'TEMPORARY',
      expiryDate: new Date(Date.now() - DAY_MS).toISOString(),
    });
  const digits = (count: number): string =>
    Array.from({ length: count }, () => 1 + Math.floor(Math.random() * 9)).join('');
  const validate = async (licenseKey: string, hwid?: string): Promise<void> => {
    await fetch(`${await sharedService()}/api/v1/validate`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ productId: product.id, licenseKey, ip: '192.0.2.77', hwid }),
    });
  };

  it('the search recognizes a pasted value and finds its object', async () => {
    const { licenseKey } = await newLicense();
    const asked = await newLicense();
    const hwid = `server-${digits(3)}`;
    await validate(asked.licenseKey, hwid);
    await expect.poll(() => licet.requests.list({ hwid })).toHaveLength(1);
    const page = await openConsole('/program');
    await page.keyboard.press('/');
    const field = page.getByRole('combobox', { name: 'Search' });
    // The kinds and the hits of the others are in test/console/recognize.test.ts and lookup.test.ts.
    for (const [typed, kind, ...hits] of [
      [licenseKey.toLowerCase(), 'License key', licenseKey, `History of ${licenseKey}`],
      [hwid, 'Text', asked.licenseKey, `History of ${hwid}`],
      ['Tok', 'Text', 'Tokens'],
    ] as const) {
      await field.fill(typed);
      await page.getByText(kind, { exact: true }).filter({ visible: true }).waitFor();
      for (const hit of hits) {
        const name = new RegExp(hit.replaceAll(/[.()]/g, '\\$&'), 'i');
        await page.getByRole('option', { name }).first().waitFor();
      }
    }
    await field.fill(`nobody ${randomUUID()}`);
    await page.getByText('Nothing found.').waitFor();
    expect(await page.getByRole('option').count()).toBe(0);
  });

  it('text that is typed or pasted before the search has loaded is not lost', async () => {
    const page = await openConsole('/program');
    const held = Promise.withResolvers<void>();
    await page.route('**/assets/palette-*.js', async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.evaluate("navigator.clipboard.writeText('j?/-pasted')");
    await page.keyboard.press('/');
    await page.keyboard.type('?jk');
    await page.keyboard.press('Control+v');
    held.resolve();
    const field = page.getByRole('combobox', { name: 'Search' });
    await expect.poll(() => field.inputValue()).toBe('?jkj?/-pasted');
    await page.keyboard.type(' more');
    await expect.poll(() => field.inputValue()).toBe('?jkj?/-pasted more');
  });

  it('a pasted key followed at once by Enter opens its license', async () => {
    const { licenseKey } = await newLicense();
    const page = await openConsole('/program');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Search' }).fill(licenseKey);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: licenseKey }).waitFor();
  });

  it('shortcuts work beside a message, and are letters inside a field', async () => {
    const { licenseKey } = await newLicense();
    const page = await openConsole(`/licenses?q=${licenseKey}`);
    await page.getByRole('link', { name: licenseKey }).waitFor();
    const field = page.getByRole('searchbox');
    await field.focus();
    await page.keyboard.type('jxe?/');
    expect(await field.inputValue()).toBe(`${licenseKey}jxe?/`);
    expect(await page.getByRole('dialog').count()).toBe(0);
    await field.fill(licenseKey);
    await page.getByRole('link', { name: licenseKey }).waitFor();
    await page.getByRole('checkbox', { name: `Select ${licenseKey}` }).check();
    await page.getByRole('button', { name: 'Deactivate' }).click();
    await page.getByRole('dialog', { name: '1 license deactivated' }).waitFor();
    await page.getByRole('cell', { name: 'Deactivated' }).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('x');
    await page.getByText('1 selected').waitFor();
    await page.keyboard.press('e');
    await page.getByRole('button', { name: 'Save' }).waitFor();
  });

  it('after a session ends, the next one shows no data of the last one', async () => {
    const { licenseKey } = await newLicense();
    const page = await openConsole(`/licenses?productId=${product.id}`);
    await page.getByRole('link', { name: licenseKey }).waitFor();
    await loseSession(page, () =>
      page.getByLabel('Status', { exact: true }).selectOption('Expired'),
    );
    await page.goBack();
    const held = Promise.withResolvers<void>();
    await page.route('**/api/v2/licenses?**', async (route) => {
      await held.promise;
      await route.continue();
    });
    await logIn(page, await tokenWith('LICENSES_READ'));
    await page.getByRole('heading', { name: 'Licenses' }).waitFor();
    expect(await page.getByRole('link', { name: licenseKey }).count()).toBe(0);
    held.resolve();
    await page.getByRole('link', { name: licenseKey }).waitFor();
  });

  it('a log-in of another token in a second tab changes the name and the rights of the first one', async () => {
    const page = await openConsole('/products', { token: await tokenWith('ALL_READ_WRITE') });
    const licenses = page.getByRole('navigation').getByRole('link', { name: 'Licenses' });
    await licenses.waitFor();
    const { token } = await licet.tokens.create({ name: 'Second tab', intents: ['PRODUCTS_READ'] });
    const second = await page.context().newPage();
    await second.route('**/api/v2/tokens/self', (route) =>
      route.fulfill({ status: 401, json: { statusCode: 401, message: 'No session' } }),
    );
    await second.goto(page.url());
    await second.getByLabel('Token', { exact: true }).waitFor();
    await second.unrouteAll();
    await logIn(second, token);
    await page.getByRole('button', { name: 'Session of Second tab' }).waitFor();
    expect(await licenses.count()).toBe(0);
    await second.close();
  });

  it('each log-in begins with the focus in the field of the token, also the second of a page', async () => {
    const page = await newPage();
    await page.goto('/console/licenses');
    const focused = page.locator('input[name="token"]:focus');
    await focused.waitFor();
    await logIn(page, await tokenWith('LICENSES_READ'));
    await page.getByRole('heading', { name: 'Licenses' }).waitFor();
    await loseSession(page, () =>
      page.getByLabel('Status', { exact: true }).selectOption('Expired'),
    );
    await focused.waitFor();
  });

  it('the menu of the session has its end, help and the theme, which stays after a reload', async () => {
    const page = await newPage();
    await page.emulateMedia({ colorScheme: 'light' });
    await page.goto('/console/program');
    await logIn(page, await tokenWith('ALL_READ'));
    const open = () => page.getByRole('button', { name: 'Session of Console test' }).click();
    const background = () => page.evaluate('getComputedStyle(document.body).backgroundColor');
    const light = await background();
    await open();
    await page.getByText('Your session ends at').waitFor();
    const { pathname } = new URL(
      (await page.getByRole('menuitem', { name: 'Guides' }).getAttribute('href')) ?? '',
      page.url(),
    );
    expect((await fetch(`${await sharedService()}${pathname}`)).status).toBe(200);
    await page.getByRole('menuitemradio', { name: 'Dark' }).click();
    const dark = await background();
    expect(dark).not.toBe(light);
    expect(await accessibilityFindings(page)).toEqual([]);
    await page.reload();
    await page.getByRole('navigation').first().waitFor();
    expect(await background()).toBe(dark);
    await open();
    await page.getByRole('menuitemradio', { name: 'System' }).click();
    expect(await background()).toBe(light);
    await page.getByRole('menuitem', { name: 'Keyboard' }).click();
    await page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
  });

  it('no field for keys or addresses has a spelling check, which could send them elsewhere', async () => {
    const page = await openConsole('/history');
    await page.getByRole('searchbox').first().waitFor();
    expect(await page.locator('input[type="search"][spellcheck="false"]').count()).toBe(3);
    await page.keyboard.press('/');
    await page.locator('input[role="combobox"][spellcheck="false"]').waitFor();
  });

  it('a double click changes once', async () => {
    const [{ id }, refused] = await Promise.all([expiredLicense(), expiredLicense()]);
    await validate(refused.licenseKey);
    const changes = async (resourceId: number) =>
      (await licet.events.list({ resourceType: 'license', resourceId })).map(({ type }) => type);
    const page = await openConsole(`/licenses/${id}`);
    await page.getByRole('button', { name: 'Extend' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Extend' }).dblclick();
    await page.getByText('1 license extended').first().waitFor();
    await page.getByRole('button', { name: 'Deactivate' }).dblclick();
    await page.getByRole('button', { name: 'Reactivate' }).waitFor();
    expect(await changes(id)).toEqual(['license.updated', 'license.updated', 'license.created']);
    await vi.waitFor(
      async () =>
        expect(await licet.requests.list({ licenseKey: refused.licenseKey })).toHaveLength(1),
      20_000,
    );
    await page.goto(`/console/history?licenseKey=${refused.licenseKey}`);
    await page.getByRole('button', { name: 'Extend by 30 days' }).dblclick();
    await page.getByText('License extended by 30 days').waitFor();
    expect(await changes(refused.id)).toEqual(['license.updated', 'license.created']);
  });

  it('invalid parameters of an address are ignored', async () => {
    const chatId = '123456789012345678';
    const page = await openConsole(
      `/licenses?chatId=${chatId}&expiresFrom=2026-02-31&productId=-1&after=x&sort=price&question=[1]&licenseStatus={"a":1}&utm_source=mail&q=`,
    );
    await page.getByRole('button', { name: `Owner: ${chatId}` }).waitFor();
    await page.getByText('Nothing matches').waitFor();
    expect(await page.getByRole('button', { name: /^Expires/ }).count()).toBe(0);
    await page.goto('/console/history?period=never&from=2026-02-31T00:00:00Z&valid=maybe&open=-1');
    const emptied = page.getByText('No requests yet');
    await page.getByRole('table', { name: 'History' }).or(emptied).waitFor();
    await page.goto('/console/events?type=sold&resourceType=moon&from=tomorrow&open=new');
    await page.getByRole('table', { name: 'Events' }).waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  it('without a network, a screen and an action say so and can be tried again', async () => {
    const { id, licenseKey } = await newLicense();
    const page = await openConsole(`/licenses/${id}`);
    await Promise.all([
      page.waitForResponse(/toast-host/),
      page.getByRole('heading', { name: licenseKey }).waitFor(),
    ]);
    await page.context().setOffline(true);
    await page.getByRole('button', { name: 'Deactivate' }).click();
    await page.getByText('did not respond').first().waitFor();
    await page.context().setOffline(false);
    await page.getByRole('button', { name: 'Deactivate' }).click();
    await page.getByRole('button', { name: 'Reactivate' }).waitFor();
  });

  it('a screen that cannot be loaded without a network says so, and opens when the network is back', async () => {
    // A context of its own has no files of the console in its cache.
    const page = await openConsole('/program', { own: {} });
    const screen = (name: string) => page.getByRole('navigation').getByRole('link', { name });
    const away = page.getByText('Check your connection');
    // The service alone is out of reach: no event of the browser tells when it is back.
    await page.route('**/console/**', (route) => route.abort());
    await screen('Products').click();
    await away.waitFor();
    await page.getByRole('button', { name: 'Reload' }).click();
    expect(await accessibilityFindings(page)).toEqual([]);
    await page.unrouteAll();
    await screen('Products').click();
    await page.getByRole('table', { name: 'Products' }).waitFor();
    await page.context().setOffline(true);
    await screen('Customers').click();
    await away.waitFor();
    await page.context().setOffline(false);
    await page.getByRole('heading', { name: 'Customers' }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/console/customers');
  });

  it('a part of the page that an upgrade has removed reloads the page once, then there is a button', async () => {
    const { id } = await licet.customers.create({ email: `${randomUUID()}@example.com` });
    const page = await openConsole(`/customers/${id}`);
    const button = page.getByRole('button', { name: 'Link to their page' });
    await button.waitFor();
    const [part] = await Promise.all([page.waitForRequest(/assets\/link-/), button.click()]);
    await page.route(part.url(), (route) => route.fulfill({ status: 404 }));
    expectFailure(/^404 GET \/console\/assets\/link-/);
    expectFailure(/dynamically imported module/);
    await page.reload();
    await Promise.all([page.waitForEvent('load'), button.click()]);
    await button.click();
    const reload = page.getByRole('button', { name: 'Reload' });
    await page.getByText('Licet was updated').waitFor();
    await page.unrouteAll();
    await Promise.all([page.waitForEvent('load'), reload.click()]);
    await button.click();
    await page.getByRole('dialog').getByRole('button').first().waitFor();
  });

  it('a filter typed just before leaving the screen does not lead back to it', async () => {
    const page = await openConsole('/licenses', { hasClock: true });
    await page.getByRole('searchbox').waitFor();
    // The next screen comes late, and the one with the filter stays meanwhile.
    const rested = Promise.withResolvers<void>();
    await page.route('**/console/assets/*.js', async (route) => {
      await rested.promise;
      await route.continue();
    });
    await page.getByRole('searchbox').fill('abc');
    await page.getByRole('link', { name: 'Products', exact: true }).click();
    await page.clock.runFor(1_000);
    rested.resolve();
    await page.getByRole('heading', { name: 'Products' }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/console/products');
  });

  it('each ready-made question of the licenses is in the address and lists its licenses', async () => {
    const { id } = await licet.products.create({
      name: `Asked ${randomUUID()}`,
      productType: 'OTHER',
    });
    const inDays = (days: number) => ({
      productId: id,
      licenseType: 'TEMPORARY' as const,
      expiryDate: new Date(Date.now() + days * DAY_MS).toISOString(),
    });
    const expiring = await newLicense(inDays(3));
    const expired = await newLicense(inDays(-3));
    const full = await newLicense({ productId: id, maxIPs: 1, ips: ['192.0.2.1'] });
    const page = await openConsole(`/licenses?productId=${id}`);
    for (const [question, label, found] of [
      ['expiring', 'Expiring within a week', [expiring]],
      ['expired', 'Expired within 30 days', [expired]],
      ['full', 'Without a free slot', [full]],
      ['unused', 'Never used', [full, expired, expiring]],
      ['dormant', 'Dormant for 90 days', []],
    ] as const) {
      await page.getByLabel('Show', { exact: true }).selectOption(label);
      const keys = found.map(({ licenseKey }) => licenseKey);
      await expect
        .poll(() => page.getByRole('table').getByRole('link').allTextContents())
        .toEqual(keys);
      expect(new URL(page.url()).searchParams.get('question')).toBe(question);
    }
    await page.goBack();
    await expect.poll(() => page.getByRole('table').getByRole('link').count()).toBe(3);
  });

  it('a ready-made question is read in full beside the list, and so is the product of an expiring license on a phone', async () => {
    const { id, name } = await licet.products.create({
      name: 'Moderation Bot',
      productType: 'OTHER',
    });
    const expiryDate = new Date(Date.now() - DAY_MS).toISOString();
    await newLicense({ productId: id, licenseType: 'TEMPORARY', expiryDate });
    const page = await openConsole(`/licenses?productId=${id}&question=expired`);
    const shown = page.getByRole('table').getByTitle(name);
    await shown.waitFor();
    for (const width of [1280, 768]) {
      await page.setViewportSize({ width, height: 900 });
      const room = await page.evaluate<number>(`{
        const select = document.querySelector('select[aria-label="Show"]');
        const { fontSize, fontFamily, paddingLeft, paddingRight } = getComputedStyle(select);
        const context = document.createElement('canvas').getContext('2d');
        context.font = fontSize + ' ' + fontFamily;
        const { width } = context.measureText(select.selectedOptions[0].text);
        select.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight) - width;
      }`);
      expect(room, `at ${width} px`).toBeGreaterThanOrEqual(0);
    }
    const cut = `[...document.querySelectorAll('table [title="${name}"]')]
      .map((text) => text.scrollWidth - text.clientWidth)`;
    for (const width of [360, 320]) {
      await page.setViewportSize({ width, height: 740 });
      expect(await page.evaluate(cut), `at ${width} px`).toEqual([0]);
    }
  });

  it('a stopped change of many licenses counts the unchanged ones and keeps them selected', async () => {
    const notes = `stop-${randomUUID()}`;
    const made = await licet.licenses.createBatch({
      productId: product.id,
      licenseType: 'PERMANENT',
      notes,
      count: 9,
    });
    const page = await openConsole(`/licenses?q=${notes}`);
    await page.getByRole('checkbox', { name: 'Select all on this page' }).check();
    const held = Promise.withResolvers<void>();
    await page.route(/\/api\/v2\/licenses\/\d+$/, async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.getByRole('button', { name: 'Deactivate' }).click();
    await page.getByRole('button', { name: 'Stop' }).click();
    held.resolve();
    await page.getByRole('dialog', { name: /^6 licenses deactivated\. .*3/ }).waitFor();
    await page.getByText('3 selected').waitFor();
    const stored = await Promise.all(made.map(({ id }) => licet.licenses.get(id)));
    expect(stored.filter(({ licenseStatus }) => licenseStatus === 'ACTIVE')).toHaveLength(3);
  });

  it('two changes of many licenses at once have a progress each, and each is stopped by its own button', async () => {
    expectFailure(/^412 PUT \/api\/v2\/licenses\//);
    const notes = `twice-${randomUUID()}`;
    const values = { productId: product.id, licenseType: 'PERMANENT', notes, count: 9 } as const;
    await licet.licenses.createBatch(values);
    const page = await openConsole(`/licenses?q=${notes}`);
    const all = page.getByRole('checkbox', { name: 'Select all on this page' });
    const held = Promise.withResolvers<void>();
    await page.route(/\/api\/v2\/licenses\/\d+$/, async (route) => {
      await held.promise;
      await route.continue();
    });
    await all.check();
    await page.getByRole('button', { name: 'Deactivate' }).click();
    const first = page.getByRole('status').filter({ hasText: 'Deactivating' });
    await first.waitFor();
    await all.check();
    await page.getByRole('button', { name: 'Restore' }).click();
    const second = page.getByRole('status').filter({ hasText: 'Restoring' });
    await second.waitFor();
    expect(await first.isVisible()).toBe(true);
    await second.getByRole('button', { name: 'Stop' }).click();
    held.resolve();
    await page.getByRole('dialog', { name: '9 licenses deactivated', exact: true }).waitFor();
    // Six requests were under way when the second change was stopped. The licenses without one are selected again.
    await page.getByText('3 selected').waitFor();
    await expect.poll(() => page.getByRole('progressbar').count()).toBe(0);
  });

  it('the events show a change at once that another screen has made', async () => {
    const name = `Changed ${randomUUID()}`;
    const { id } = await licet.products.create({ name, productType: 'OTHER' });
    const page = await openConsole(`/events?resourceType=product&resourceId=${id}`);
    const rows = page.getByRole('table', { name: 'Events' }).getByRole('row');
    await rows.filter({ hasText: 'Product created' }).getByRole('link', { name }).click();
    await page.getByRole('link', { name: 'Edit' }).click();
    await page.getByLabel('Description').fill('new');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Changes saved').waitFor();
    await page.goto(`/console/events?resourceType=product&resourceId=${id}`);
    await rows.filter({ hasText: 'Product changed' }).waitFor({ timeout: 5_000 });
  });

  it('an error of each status is explained', async () => {
    expectFailure(/^(403|404|429) GET /);
    const page = await openConsole('/program');
    for (const [status, headers, words] of [
      [403, {}, 'It needs the permission “Read products”.'],
      [429, { 'Retry-After': '7' }, 'Try again in 7 seconds.'],
    ] as const) {
      await page.route('**/api/v2/products', (route) =>
        route.fulfill({
          status,
          headers,
          json: { message: 'No', accepted_intents: ['PRODUCTS_READ'] },
        }),
      );
      await page.reload();
      await page.getByRole('alert').getByText(words).waitFor();
      await page.unroute('**/api/v2/products');
      // To try again cannot give a permission.
      if (status === 403)
        expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
      else await page.getByRole('button', { name: 'Try again' }).click();
      if (status === 403) await page.reload();
      await page.getByRole('region', { name: 'Licet.java', exact: true }).waitFor();
    }
    await page.goto('/console/licenses/999999999');
    await page.getByRole('heading', { name: 'There is nothing here' }).waitFor();
  });

  it('each screen opened by its address names the permission that the token lacks [4.1]', async () => {
    const page = await openConsole('/', { token: await tokenWith('LICENSE_VALIDATE') });
    const screens = [
      ['licenses/1/edit', 'Manage licenses'],
      ['history', 'Read the history'],
      ['customers', 'Read customers'],
      ['products?open=1', 'Read products'],
      ['events', 'Read everything'],
      ['tokens', 'Everything'],
      ['licenses', 'Read licenses'],
      ['licenses/1', 'Read licenses'],
      ['licenses/new', 'Manage licenses'],
      ['products', 'Read products'],
      ['blacklist', 'Read the blacklist'],
      ['program', 'Read products'],
      ['import', 'Read licenses'],
    ] as const;
    for (const [path, permission] of isLong ? screens : screens.slice(0, 6)) {
      await page.goto(`/console/${path}`);
      await page.getByText(`may not do that. It needs the permission “${permission}”.`).waitFor();
      expect(await page.getByRole('main').getByRole('button').count(), path).toBe(0);
      expect(await page.getByRole('status').count(), path).toBe(0);
    }
    expect(await accessibilityFindings(page)).toEqual([]);
  });

  it('no link leads to a screen that the token may not open [4.1]', async () => {
    const page = await openConsole('/', { token: await tokenWith('REQUESTS_READ') });
    // The service may hold counts from before a license that the test would make.
    const date = new Date(Date.now() + 9 * DAY_MS).toISOString().slice(0, 10);
    await page.route('**/api/v2/statistics*', async (route) => {
      const statistics = await licet.statistics();
      await route.fulfill({ json: { ...statistics, expiries: [{ date, licenses: 1 }] } });
    });
    await page.reload();
    const expiries = page.getByRole('region', { name: 'Expiries ahead' });
    await expiries.getByText(/\d+ in total/).waitFor();
    expect(await expiries.getByRole('link').count()).toBe(0);
    const events = await openConsole('/events?resourceType=token', {
      token: await tokenWith('ALL_READ'),
    });
    const rows = events.getByRole('table', { name: 'Events' }).getByRole('row');
    await rows.nth(1).waitFor();
    expect(await rows.nth(1).getByRole('link').count()).toBe(1);
  });
});
