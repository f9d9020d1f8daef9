/** @module-tag long */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { consoleLink } from '@licet/cli/console-link';
import { fileSource } from '@licet/cli/import/files';
import { readItem } from '@licet/cli/import/foreign-items';
import type { LicenseCreate } from '@licet/client';
import { expect, it, vi } from 'vitest';
import { ownFolder } from '../own.ts';
import { sharedService } from '../shared-service.ts';
import {
  accessibilityFindings,
  describeInBrowser,
  expectFailure,
  licet,
  logIn,
  logOut,
  loseSession,
  newLicense,
  newPage,
  openConsole,
  product,
  rootToken,
  tokenWith,
} from './console.ts';

/** Log-in, licenses and the palette, by role and label. */

/** The overview with all its parts, also those below the fold. */
const FIRST_SCREEN_BYTES = 150_000;
const ALL_BYTES = 291_000;

const folder = ownFolder();

describeInBrowser('the console in a browser', () => {
  const expiringAt = (time: string): Partial<LicenseCreate> => ({
    licenseType: 'TEMPORARY',
    expiryDate: time,
  });

  it('forms offer a platform without a telling name if it has a label, or if the object has it [3.61]', async () => {
    const optionsAt = async (path: string) => {
      await page.goto(`/console${path}`);
      const select = page.getByLabel('Bought on');
      await select.getByRole('option', { name: 'Discord' }).waitFor({ state: 'attached' });
      return select.getByRole('option').allTextContents();
    };
    const used = await newLicense({ licensePlatform: 'PLATFORM_B' });
    const bound = await licet.customers.create({ platformCId: '4711' });
    const accountsAt = async (path: string) => {
      await page.goto(`/console${path}`);
      const group = page.getByRole('group', { name: 'Accounts' });
      await group.getByLabel('Discord id').waitFor();
      return group.getByRole('textbox').count();
    };
    const page = await openConsole('/licenses/new');
    expect(await optionsAt('/licenses/new')).toEqual(['Not given', 'Discord', 'Other']);
    await page.getByText('The setting PLATFORM_LABELS adds').waitFor();
    expect(await optionsAt(`/licenses/${used.id}/edit`)).toContain('Platform B');
    expect(await accountsAt(`/customers/${bound.id}/edit`)).toBe(4);
    await page.getByLabel('Platform C: name').fill('carla');
    await page.getByRole('button', { name: 'Save' }).click();
    await vi.waitFor(async () => {
      const { platformCId, platformCUsername } = await licet.customers.get(bound.id);
      expect({ platformCId, platformCUsername }).toEqual({
        platformCId: '4711',
        platformCUsername: 'carla',
      });
    });
    await page.route('**/api/v2/platforms', (route) =>
      route.fulfill({ json: [{ platform: 'MARKET_A', label: 'SpigotMC' }] }),
    );
    await expect.poll(() => optionsAt('/licenses/new')).toContain('SpigotMC');
  });

  it('the log-in explains a wrong token and opens the screen of the address with a good one', async () => {
    expectFailure(/^401 POST \/console\/session$/);
    const page = await newPage();
    await page.goto('/console/licenses');
    await logIn(page, 'licet_wrong');
    await page.getByRole('alert').getByText('not valid').waitFor();
    await logIn(page, await tokenWith('ALL_READ'));
    await page.getByRole('heading', { name: 'Licenses' }).waitFor();
    await logOut(page, 'Console test');
  });

  it('a log-in at localhost by link or token explains which link to open', async () => {
    expectFailure(/^401 POST \/console\/session$/);
    expectFailure(/^request to http:\/\/localhost:/);
    const address = await sharedService();
    const { hash } = new URL(await consoleLink(new URL(address), rootToken()));
    const page = await newPage();
    const explained = page.getByRole('alert').getByText('Open the link that npm run licet');
    await page.goto(`${address}/console${hash}`);
    await explained.waitFor();
    await page.goto('about:blank');
    await page.goto(`${address}/console`);
    await logIn(page, rootToken());
    await explained.waitFor();
  });

  it('a browser of this machine that keeps no cookie, as Safari, stays logged in until the log-out', async () => {
    expectFailure(/^request to http:\/\/localhost:/);
    const address = await sharedService();
    const link = await consoleLink(new URL(address), rootToken());
    const { hash } = new URL(await consoleLink(new URL(address), rootToken()));
    for (const url of [link, `${address}/console${hash}`]) {
      const page = await newPage({ own: {} });
      await page.addInitScript(
        "Object.defineProperty(Document.prototype, 'cookie', { get: () => '', set() {} })",
      );
      await page.goto(url);
      await page.getByRole('button', { name: 'Session of Root token' }).waitFor();
      expect(await page.context().cookies()).toEqual([]);
      await page.reload();
      await logOut(page, 'Root token');
      expect(await page.evaluate("sessionStorage.getItem('licet.session')")).toBeNull();
      await page.reload();
      await page.getByLabel('Token', { exact: true }).waitFor();
    }
  });

  it('a used link leads to the log-in, which says that it was used', async () => {
    expectFailure(/^401 POST \/console\/session$/);
    const link = await consoleLink(new URL(await sharedService()), rootToken());
    const page = await newPage();
    await page.goto(link);
    await page.getByRole('button', { name: 'Session of Root token' }).waitFor();
    // No request of the first page is on its way without the cookie.
    await page.goto('about:blank');
    await page.context().clearCookies();
    await page.goto(link);
    await page.getByRole('alert').getByText('already used').waitFor();
    await logIn(page, await tokenWith('ALL_READ'));
    await page.getByRole('button', { name: 'Session of Console test' }).waitFor();
  });

  it('the log-in over plain http says why the browser keeps no session', async () => {
    const page = await newPage({ own: {} });
    // The service of the tests is on this machine, which browsers trust.
    await page.addInitScript("Object.defineProperty(window, 'isSecureContext', { value: false })");
    await page.goto('/console');
    await page.getByText('browsers keep a session over https only').waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
  });

  it('after the end of a session, a log-in returns to the same screen', async () => {
    const { licenseKey, id } = await newLicense();
    const page = await openConsole('/licenses');
    await loseSession(page, async () => {
      await page.getByRole('searchbox').fill(licenseKey);
      await page.waitForURL((url) => url.searchParams.get('q') === licenseKey);
    });
    await logIn(page, await tokenWith('ALL_READ'));
    await page.getByRole('link', { name: licenseKey }).click();
    await page.getByRole('heading', { name: licenseKey }).waitFor();
    expect(new URL(page.url()).pathname).toBe(`/console/licenses/${id}`);
  });

  it('a pasted key opens its license, and a freed slot is bound again by undo', {
    tags: 'short',
  }, async () => {
    const { id, licenseKey } = await newLicense({ ips: ['192.0.2.1', '192.0.2.2'], maxIPs: 2 });
    const page = await openConsole('/licenses');
    await page.keyboard.press('/');
    await page.getByRole('combobox', { name: 'Search' }).fill(` ${licenseKey.toLowerCase()} `);
    await page.getByRole('option', { name: licenseKey }).first().waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Free 192.0.2.1' }).click();
    await page.getByText('1 of 2 bound').waitFor();
    expect((await licet.licenses.get(id)).ips).toEqual(['192.0.2.2']);
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('2 of 2 bound').waitFor();
  });

  it('a product that the palette finds opens on its own screen', async () => {
    const page = await openConsole('/licenses');
    await page.keyboard.press('/');
    await page.getByRole('combobox', { name: 'Search' }).fill(product.name);
    await page.getByRole('option', { name: product.name }).click();
    await page.getByRole('heading', { name: product.name }).waitFor();
  });

  it('an address is unblocked from the refusal of a license, and no other address is', async () => {
    const ip = '198.51.100.20';
    const block = (data: string) =>
      licet.blacklists.create({ licenseDataType: 'IP', data, isForAllProducts: true });
    const { id, licenseKey } = await newLicense();
    await block(ip);
    await vi.waitFor(async () => {
      await licet.validate({ licenseKey, productId: product.id, ip });
      const [latest] = await licet.requests.list({ licenseKey });
      expect(latest?.responseType).toBe('IP_BLACKLISTED');
    }, 20_000);
    const page = await openConsole(`/licenses/${id}`);
    await page.getByRole('button', { name: 'Unblock' }).click();
    await page.getByText(`${ip} is no longer blocked`).waitFor();
    expect(await licet.blacklists.list({ q: ip })).toEqual([]);
    const other = await block(`${ip}1`);
    await page.getByRole('button', { name: 'Unblock' }).click();
    await page.getByRole('dialog', { name: `Edit the entry of ${ip}1` }).waitFor();
    await licet.blacklists.delete(other.id);
  });

  it('an address of a license is blocked from its slot, for its product', async () => {
    const { id } = await newLicense({ ips: ['192.0.2.77'] });
    const page = await openConsole(`/licenses/${id}`);
    await page.getByRole('button', { name: 'Block 192.0.2.77' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Block', exact: true }).click();
    await page.getByText('192.0.2.77 blocked').waitFor();
    const entries = await licet.blacklists.list({ q: '192.0.2.77' });
    expect(entries).toMatchObject([
      { licenseDataType: 'IP', data: '192.0.2.77', isForAllProducts: false, productId: product.id },
    ]);
  });

  it('a slot shows when it is idle, and a hardware ID that many share is asked about before it is blocked', async () => {
    const fields = { productType: 'OTHER', hwidIdleDays: 30 } as const;
    const product = await licet.products.create({ name: 'Idle', ...fields });
    const hwid = '22a5a71ebb6bfc6cb2df491f975be0f0';
    const { id } = await newLicense({ productId: product.id, hwids: [hwid] });
    const page = await openConsole(`/licenses/${id}`);
    await page.getByText('idle on').waitFor();
    await page.getByText('Many machines share this value').waitFor();
    await page.getByRole('button', { name: `Block ${hwid}` }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Block', exact: true }).click();
    await page.getByText('Block a hardware ID that many machines share?').waitFor();
    await page.getByRole('button', { name: 'Cancel' }).first().click();
    expect(await licet.blacklists.list({ productId: product.id })).toEqual([]);
  });

  it('a license gets a new key, and a new owner, each after a question, and the search finds it by the old key [7.3.5]', async () => {
    const { id, licenseKey } = await newLicense({ ips: ['192.0.2.77'] });
    const page = await openConsole(`/licenses/${id}`);
    await page.getByRole('button', { name: 'Replace key' }).click();
    const question = page.getByRole('alertdialog').or(page.getByRole('dialog'));
    await question.getByRole('button', { name: 'Replace key' }).click();
    await page.getByText('The license has a new key').waitFor();
    const rotated = await licet.licenses.get(id);
    expect(rotated).toMatchObject({ ips: ['192.0.2.77'] });
    expect(rotated.licenseKey).not.toBe(licenseKey);
    await page.getByRole('button', { name: 'Transfer' }).click();
    await page.getByRole('combobox', { name: 'Customer' }).fill('new-owner@shop.example');
    await page.getByRole('dialog').getByRole('button', { name: 'Transfer' }).click();
    await page.getByText('The license has a new owner and a new key').waitFor();
    const transferred = await licet.licenses.get(id);
    expect(transferred).toMatchObject({ ips: [], customer: { email: 'new-owner@shop.example' } });
    expect(transferred.licenseKey).not.toBe(rotated.licenseKey);
    expectFailure(/^404 GET .*\/by-license-key\//);
    await page.keyboard.press('/');
    await page.getByRole('combobox', { name: 'Search' }).fill(licenseKey);
    await page.getByRole('option', { name: transferred.licenseKey }).waitFor();
  });

  it('many licenses are created at once and downloaded as CSV, also after a reload', async () => {
    const page = await openConsole(`/licenses/new?productId=${product.id}`);
    await page.getByLabel('Number of licenses').fill('3');
    await page.getByRole('radio', { name: 'On a date' }).check();
    await page.getByRole('button', { name: 'End of the month' }).click();
    await page.getByLabel('Notes').fill('=HYPERLINK("http://evil.example")');
    await page.getByRole('button', { name: 'Create 3 licenses' }).click();
    const heading = page.getByRole('heading', { name: '3 licenses created' });
    await heading.waitFor();
    expect(await page.evaluate('scrollY')).toBe(0);
    const keys = page.getByRole('region', { name: 'Licenses' }).getByRole('link');
    await expect.poll(() => keys.count()).toBe(3);
    const created = await keys.allTextContents();
    const today = new Date();
    const monthEnd = new Date(today.getFullYear(), today.getMonth() + 1, 0, 23, 59, 59);
    const [license] = await licet.licenses.list({ q: created[0] ?? '' });
    expect(Date.parse(license?.expiryDate ?? '')).toBe(monthEnd.getTime());
    await page.reload();
    await heading.waitFor();
    await expect.poll(() => keys.allTextContents()).toEqual(created);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download CSV' }).click(),
    ]);
    const lines = readFileSync(await download.path(), 'utf8')
      .trim()
      .split('\r\n');
    expect(lines).toHaveLength(4);
    expect(lines[0]).toBe('licenseKey,productId,expiryDate,maxIPs,maxHWIDs,notes');
    expect(download.suggestedFilename()).toMatch(/^keys-of-.+-\d{4}-\d\d-\d\d\.csv$/);
    expect(lines[1]).toContain(`"'=HYPERLINK(""http://evil.example"")"`);
  });

  it('the CSV of all licenses can be imported again, with all that it has', async () => {
    const email = `${crypto.randomUUID()}@shop.example`;
    const bound = { ips: ['192.0.2.1', '2001:db8::1'], hwids: ['disk 1', 'CPU 1,2; "a"'] };
    const license = await licet.licenses.create({
      ...{ productId: product.id, licenseType: 'TEMPORARY', expiryDate: '2040-01-01' },
      ...{ ...bound, notes: '=1+1; -2', customerEmail: email, licensePlatform: 'MARKET_A' },
      metadata: { plan: '=1+1, "gold"', 'a.b': 'x' },
    });
    await newLicense({ metadata: { other: 'y' } });
    await licet.customers.update(license.customer?.id ?? 0, { metadata: { crm: 'acct_7' } });
    const page = await openConsole('/licenses?open=new');
    await page.getByRole('heading', { name: 'New licenses' }).waitFor();
    await page.goto(`/console/licenses?productId=${product.id}`);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'CSV of all but deleted' }).click(),
    ]);
    const file = join(folder, 'licenses.csv');
    await download.saveAs(file);
    const source = await fileSource({ file, kind: 'licenses', isPartial: false });
    const items = await Array.fromAsync(source.read('licenses'), ({ item }) => item);
    const own = items.filter((item) => Object(item).id === String(license.id));
    expect(own).toMatchObject([{ ...bound, licensePlatform: 'MARKET_A', customer: { email } }]);
    expect(own).toMatchObject([
      { metadata: license.metadata, customer: { metadata: { crm: 'acct_7' } } },
    ]);
    const read = own.map((item) => readItem('licenses', item));
    const sent = read.map(({ item }) => item);
    const { results } = await licet.importItems({ kind: 'licenses', items: sent });
    expect(results).toMatchObject([{ outcome: 'unchanged', id: license.id }]);
    expect(read).toMatchObject([{ ignored: [], changes: [] }]);
  });

  it('the only product stays chosen for a new license while another one appears', async () => {
    const page = await openConsole('/products', { hasClock: true });
    const [one] = await licet.products.list({ limit: 1 });
    const products = [one];
    await page.route('**/api/v2/products', (route) => route.fulfill({ json: products }));
    await page.goto('/console/licenses/new');
    const select = page.getByLabel('Product', { exact: true });
    await expect.poll(() => select.inputValue()).toBe(String(one?.id));
    products.push(await licet.products.create({ name: 'Another', productType: 'OTHER' }));
    await page.clock.fastForward(61_000);
    await page.evaluate("window.dispatchEvent(new Event('visibilitychange'))");
    await select
      .getByRole('option', { name: 'Another', exact: true })
      .waitFor({ state: 'attached' });
    expect(await select.inputValue()).toBe(String(one?.id));
  });

  it('a day of expiry that has passed is told before saving, and Never has none', async () => {
    const expiryDate = '2099-05-05T10:20:30.000+00:00';
    const { id } = await newLicense({ ...expiringAt(expiryDate), notes: 'before' });
    const page = await openConsole(`/licenses/${id}/edit`);
    const warning = page.getByText('This license would be expired at once.');
    await page.getByLabel('Expires on').fill('2020-01-31');
    await warning.waitFor();
    await page.getByLabel('Expires on').fill('2099-05-05');
    expect(await warning.count()).toBe(0);
    await page.getByLabel('Notes').fill('after');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Changes saved').waitFor();
    // The time of day is kept.
    expect(await licet.licenses.get(id)).toMatchObject({ expiryDate, notes: 'after' });
    await page.getByRole('link', { name: 'Edit' }).click();
    await page.getByRole('radio', { name: 'Never' }).check();
    await page.getByRole('button', { name: 'Save' }).click();
    await vi.waitFor(async () =>
      expect(await licet.licenses.get(id)).toMatchObject({
        licenseType: 'PERMANENT',
        expiryDate: null,
      }),
    );
  });

  it('an expiry that two edits move at once is one choice between both', async () => {
    const moved = '2099-05-05T00:00:00.000Z';
    const { id } = await newLicense({
      licenseType: 'TEMPORARY',
      expiryDate: '2098-05-05T00:00:00.000Z',
    });
    expectFailure(new RegExp(`^412 PUT /api/v2/licenses/${id}$`));
    const page = await openConsole(`/licenses/${id}/edit`);
    await page.getByRole('radio', { name: 'From first use' }).check();
    await page.getByLabel('Days from first use').fill('30');
    await licet.licenses.update(id, { expiryDate: moved });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('radio', { name: 'Yours: 30 d from first use' }).waitFor();
    await page.getByRole('radio', { name: /^Stored now: .*2099/ }).check();
    await page.getByRole('button', { name: 'Save the chosen values' }).click();
    await page.getByRole('heading', { name: 'Details' }).waitFor();
    const { expiryDate } = await licet.licenses.get(id);
    expect(Date.parse(expiryDate ?? '')).toBe(Date.parse(moved));
  });

  it('a new license has the days of its product, and a date in their place ends the waiting', async () => {
    const fields = { productType: 'OTHER', defaultExpiresAfterDays: 30 } as const;
    const product = await licet.products.create({ name: 'Trial', ...fields });
    const page = await openConsole(`/licenses/new?productId=${product.id}`);
    const days = page.getByLabel('Days from first use');
    await expect.poll(() => days.inputValue()).toBe('30');
    expect(await page.getByLabel('Address limit').getAttribute('placeholder')).toBe(
      '5, from Trial',
    );
    await page.getByRole('button', { name: 'Create license' }).click();
    await page.getByText('30 d from first use').waitFor();
    await page.getByRole('link', { name: 'Edit' }).click();
    expect(await page.getByLabel('Expires on').count()).toBe(0);
    await page.getByRole('radio', { name: 'On a date' }).check();
    expect(await days.count()).toBe(0);
    await page.getByLabel('Expires on').fill('2099-05-05');
    // Another choice keeps the typed day.
    await page.getByRole('radio', { name: 'Never' }).check();
    await page.getByRole('radio', { name: 'On a date' }).check();
    expect(await page.getByLabel('Expires on').inputValue()).toBe('2099-05-05');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Changes saved').waitFor();
    const [license] = await licet.licenses.list({ productId: product.id });
    expect(license).toMatchObject({ licenseType: 'TEMPORARY', expiresAfterDays: null });
    expect(license?.expiryDate).toContain('2099-05-05');
  });

  it('a rejected field shows the reason beside it', async () => {
    expectFailure(/^400 POST \/api\/v2\/licenses\/batch$/);
    const page = await openConsole(`/licenses/new?productId=${product.id}`);
    // Found by the page itself, where a browser shows a bubble.
    await page.getByLabel('Number of licenses').fill('0');
    await page.getByRole('button', { name: 'Create license' }).click();
    await page.getByText('Must be at least 1.').waitFor();
    expect(await page.getByLabel('Number of licenses').getAttribute('aria-invalid')).toBe('true');
    await page.getByLabel('Number of licenses').fill('1');
    await page.getByLabel('Notes').fill('x'.repeat(10_001));
    await page.getByRole('button', { name: 'Create license' }).click();
    await page.getByText('Must be at most 10000 characters.').waitFor();
    expect(await page.getByLabel('Notes').getAttribute('aria-invalid')).toBe('true');
  });

  it('selected licenses are extended and deactivated, and undo puts them back', async () => {
    const notes = `bulk-${crypto.randomUUID()}`;
    const expiryDate = '2099-01-01T00:00:00.000+00:00';
    const dated = await newLicense({ ...expiringAt(expiryDate), notes });
    const permanent = await newLicense({ notes });
    const page = await openConsole(`/licenses?q=${notes}`);
    const selectAll = page.getByRole('checkbox', { name: 'Select all on this page' });
    await selectAll.check();
    await page.getByRole('button', { name: 'Extend' }).click();
    await page.getByLabel('Days').fill('10');
    await page.getByRole('dialog').getByRole('button', { name: 'Extend' }).click();
    await page.getByText('1 license extended').waitFor();
    expect((await licet.licenses.get(dated.id)).expiryDate).toBe('2099-01-11T00:00:00.000+00:00');
    await selectAll.check();
    await page.getByRole('button', { name: 'Deactivate' }).click();
    await page.getByText('2 licenses deactivated').waitFor();
    expect((await licet.licenses.get(permanent.id)).licenseStatus).toBe('DEACTIVATED');
    await page
      .getByRole('dialog', { name: '2 licenses deactivated' })
      .getByRole('button', { name: 'Undo' })
      .click();
    await page.getByText('Change of 2 licenses undone').waitFor();
    expect((await licet.licenses.get(permanent.id)).licenseStatus).toBe('ACTIVE');
  });

  it('a license is given to a customer, and selected ones to another, which undo takes back', async () => {
    expectFailure(/^400 PUT \/api\/v2\/licenses\//);
    const part = crypto.randomUUID().slice(0, 8);
    const notes = `assign-${part}`;
    const buyer = `buyer-${part}@shop.example`;
    const { id } = await newLicense({ notes });
    await newLicense({ notes });
    const reseller = await licet.customers.create({ lastName: `Reseller-${part}` });
    const page = await openConsole(`/licenses/${id}/edit`);
    await page.getByLabel('Customer', { exact: true }).fill('nobody');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Must be an e-mail address.').waitFor();
    await page.getByLabel('Customer', { exact: true }).fill(buyer);
    await page.getByRole('button', { name: 'Save' }).click();
    await page
      .getByRole('region', { name: 'Details' })
      .getByRole('link', { name: buyer })
      .waitFor();
    const owners = async () =>
      (await licet.licenses.list({ q: notes })).map(({ customer }) => customer?.id ?? null);
    const before = await owners();

    await page.goto(`/console/licenses?q=${notes}`);
    await page.getByRole('checkbox', { name: 'Select all on this page' }).check();
    await page.getByRole('button', { name: 'Assign to…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Assign 2 licenses to a customer' });
    await dialog.getByLabel('Customer', { exact: true }).fill(`Reseller-${part}`);
    const choice = dialog.getByRole('option', { name: `Reseller-${part}` });
    await choice.waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
    await choice.click();
    await choice.waitFor({ state: 'hidden' });
    await dialog.getByLabel('Customer', { exact: true }).fill(`nobody-${part}`);
    await dialog.getByRole('button', { name: 'Assign' }).click();
    await dialog.getByText('Fits no customer').waitFor();
    await dialog.getByLabel('Customer', { exact: true }).fill(`Reseller-${part}`);
    await choice.waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    expect(await dialog.getByLabel('Customer', { exact: true }).inputValue()).not.toContain(part);
    await dialog.getByRole('button', { name: 'Assign' }).click();
    const done = page.getByRole('dialog', { name: '2 licenses assigned' });
    await done.waitFor();
    expect(await owners()).toEqual([reseller.id, reseller.id]);
    const [event] = await licet.events.list({ resourceType: 'license', resourceId: id });
    expect(event?.changes).toMatchObject({ customerId: { after: reseller.id } });
    await done.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('Change of 2 licenses undone').waitFor();
    expect(await owners()).toEqual(before);
  });

  it('metadata of a license is edited in rows, shown on its page, and filters the list', async () => {
    const plan = `gold ${crypto.randomUUID()}`;
    const { id, licenseKey } = await newLicense({ metadata: { order: '4711', trial: 'yes' } });
    await newLicense({ metadata: { plan: 'silver' } });
    const page = await openConsole(`/licenses/${id}/edit`);
    const group = page.getByRole('group', { name: 'Metadata' });
    await group.getByRole('button', { name: 'Remove trial' }).click();
    const add = group.getByRole('button', { name: 'Add a text' });
    await expect.poll(() => add.and(page.locator(':focus')).count()).toBe(1);
    await page.keyboard.press('Enter');
    await expect
      .poll(() => group.getByLabel('Name').last().and(page.locator(':focus')).count())
      .toBe(1);
    const [name, text] = [group.getByLabel('Name').last(), group.getByLabel('Text').last()];
    await text.fill(plan);
    await name.fill('my plan');
    await group
      .getByText('A name has only letters, digits, dots, hyphens and underscores.')
      .waitFor();
    await name.fill('order');
    await group.getByText('Another row has this name.').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    expect(await licet.licenses.get(id)).toMatchObject({ metadata: { trial: 'yes' } });
    await name.fill('plan');
    expect(await accessibilityFindings(page)).toEqual([]);
    for (const none of ['', ' ']) {
      await text.fill(none);
      await page.getByRole('button', { name: 'Save' }).click();
      await expect.poll(() => text.and(page.locator(':focus:invalid')).count()).toBe(1);
    }
    await text.fill(plan);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Changes saved').waitFor();
    expect((await licet.licenses.get(id)).metadata).toEqual({ order: '4711', plan });
    const link = page.getByRole('link', { name: plan });
    await link.waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);

    await link.click();
    const rows = page.getByRole('table', { name: 'Licenses' }).getByRole('row');
    await expect.poll(() => rows.count()).toBe(2);
    expect(await rows.last().textContent()).toContain(licenseKey);
    await page.getByRole('button', { name: 'Columns' }).click();
    await page.getByRole('menuitemcheckbox', { name: 'Metadata' }).click();
    await page.keyboard.press('Escape');
    await rows.getByRole('link', { name: '4711' }).click();
    await page
      .getByRole('button', { name: `Metadata: plan: ${plan}` })
      .waitFor({ state: 'detached' });
    expect(await accessibilityFindings(page)).toEqual([]);
    await page.getByRole('button', { name: 'Metadata: order: 4711' }).click();
    await page.getByText('silver').first().waitFor();
  });

  it('entitlements of a license lie over those of its product, have ends, and filter the list', async () => {
    const edition = `gold-${Date.now()}`;
    const entitlements = { edition: 'silver', pro: true, trial: true } as const;
    const sold = await licet.products.create({ name: 'Sold', productType: 'OTHER', entitlements });
    const { id, licenseKey } = await newLicense({ productId: sold.id });
    await newLicense({ productId: sold.id });
    const page = await openConsole(`/licenses/${id}/edit`);
    const group = page.getByRole('group', { name: 'Entitlements' });
    await group.getByText('edition = silver, from the product').waitFor();
    const focused = group.locator(':focus');
    await group.getByRole('button', { name: 'Change for this license' }).first().click();
    await expect.poll(() => focused.inputValue()).toBe('edition');
    await group.getByLabel('Value').fill('24 carat');
    await group.getByText('A value has at most 40 letters').waitFor();
    await group.getByLabel('Value').fill(edition);
    await group.getByLabel('edition ends on').fill('2099-12-31');
    await group.getByLabel('pro ends on').fill('2098-12-31');
    await group.getByRole('button', { name: 'Take away' }).last().click();
    await group.getByText('trial taken away').waitFor();
    await expect.poll(() => focused.textContent()).toBe('Give back');
    const add = group.getByRole('button', { name: 'Add an entitlement' });
    await add.click();
    await expect.poll(() => focused.inputValue()).toBe('');
    await page.keyboard.type('gone');
    await group.getByRole('button', { name: 'Remove gone' }).click();
    await expect.poll(() => focused.textContent()).toBe('Add an entitlement');
    await add.click();
    await expect.poll(() => focused.inputValue()).toBe('');
    await page.keyboard.type('Players');
    const name = group.getByLabel('Name').last();
    await group.getByText('A name has lower-case letters').waitFor();
    await name.fill('edition');
    await group.getByText('Another row has this name.').waitFor();
    await name.fill('max_players');
    await group.getByLabel('Value').last().fill('-1');
    expect(await accessibilityFindings(page)).toEqual([]);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Changes saved').waitFor();
    const stored = await licet.licenses.get(id);
    expect(stored.entitlements).toEqual({ edition, max_players: -1, trial: null });
    expect(stored.effectiveEntitlements).toEqual({ edition, max_players: -1, pro: true });
    expect(Object.keys(stored.entitlementsExpire)).toEqual(['edition', 'pro']);

    await page.getByText('until 31 Dec 2099').waitFor();
    await page.getByRole('link', { name: `edition = ${edition}` }).click();
    const rows = page.getByRole('table', { name: 'Licenses' }).getByRole('row');
    await expect.poll(() => rows.count()).toBe(2);
    expect(await rows.last().textContent()).toContain(licenseKey);
    await page.getByRole('button', { name: `Entitlement: edition = ${edition}` }).click();
    await expect.poll(() => rows.count()).toBeGreaterThan(2);
  });

  it('two edits at once are shown side by side, and the chosen values are saved', async () => {
    const { id } = await newLicense({ notes: 'first', maxIPs: 1 });
    expectFailure(new RegExp(`^412 PUT /api/v2/licenses/${id}$`));
    const page = await openConsole(`/licenses/${id}/edit`);
    await page.getByLabel('Notes').fill('mine');
    await page.getByLabel('Address limit').fill('3');
    await licet.licenses.update(id, { notes: 'theirs', maxHWIDs: 9 });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Somebody else changed this').waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
    await page.getByRole('radio', { name: 'Stored now: theirs' }).check();
    await page.getByRole('button', { name: 'Save the chosen values' }).click();
    await page.getByText('Changes saved').waitFor();
    expect(await licet.licenses.get(id)).toMatchObject({ notes: 'theirs', maxIPs: 3, maxHWIDs: 9 });
  });

  it('a token that may only read licenses is offered no change and no other screen', async () => {
    const { id, licenseKey } = await newLicense({ ips: ['192.0.2.1'] });
    const token = await tokenWith('LICENSES_READ');
    const page = await openConsole(`/licenses/${id}`, { token });
    await page.getByRole('heading', { name: licenseKey }).waitFor();
    const deactivate = page.getByRole('button', { name: 'Deactivate' });
    expect(await deactivate.getAttribute('title')).toContain('“Manage licenses”');
    await deactivate.click({ force: true });
    expect(await page.getByRole('link', { name: 'Edit' }).count()).toBe(0);
    expect(await page.getByRole('link', { name: 'Tokens' }).count()).toBe(0);
    expect((await licet.licenses.get(id)).licenseStatus).toBe('ACTIVE');
  });

  it('the keyboard alone moves through the list, selects, opens and edits', async () => {
    const notes = `keys-${crypto.randomUUID()}`;
    await newLicense({ notes });
    const second = await newLicense({ notes });
    const page = await openConsole(`/licenses?q=${notes}`);
    await page.getByRole('link', { name: second.licenseKey }).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('x');
    await page.getByText('1 selected').waitFor();
    await page.keyboard.press('k');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: second.licenseKey }).waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog', { name: 'Keyboard' }).waitFor({ state: 'detached' });
    await page.keyboard.press('e');
    await page.getByRole('button', { name: 'Save' }).waitFor();
  });

  it('a failed response is explained and can be tried again', async () => {
    expectFailure(/^500 GET \/api\/v2\/licenses$/);
    const page = await openConsole('/products');
    await page.route('**/api/v2/licenses?**', (route) =>
      route.fulfill({ status: 500, json: { message: 'Broken', accepted_intents: [] } }),
    );
    await page.getByRole('link', { name: 'Licenses', exact: true }).click();
    await page.getByText('The service failed').waitFor({ timeout: 20_000 });
    await page.unroute('**/api/v2/licenses?**');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('table', { name: 'Licenses' }).waitFor();
  });

  it('the screens of licenses have no accessibility findings and fit a phone', async () => {
    const { id, licenseKey } = await newLicense({
      ips: ['192.0.2.1'],
      notes: 'long '.repeat(60),
      // An owner brings a third button.
      customerEmail: 'owner@shop.example',
    });
    await licet.validate({
      licenseKey,
      productId: product.id,
      ip: '192.0.2.1',
      productVersion: '1.0',
    });
    // A shop's list: each status and kind of expiry, with and without an owner, of several products.
    const notes = `shop-${crypto.randomUUID()}`;
    const other = await licet.products.create({ name: 'Other '.repeat(9), productType: 'OTHER' });
    const expired = expiringAt(new Date(Date.now() - 86_400_000).toISOString());
    const [deactivated] = await Promise.all([
      newLicense({ notes, productId: other.id, ownerChatId: '900719925474099301' }),
      newLicense({ notes }),
      newLicense({ notes, ...expired, ips: ['192.0.2.1'], maxIPs: 1 }),
      newLicense({ notes, ...expiringAt('2099-01-01T00:00:00Z'), ownerChatUsername: 'ada' }),
      newLicense({ notes, customerEmail: `${'long'.repeat(12)}@shop.example` }),
    ]);
    await licet.licenses.update(deactivated.id, { licenseStatus: 'DEACTIVATED' });
    const page = await openConsole('/licenses');
    for (const [path, heading] of [
      [`/licenses?productId=${product.id}`, 'Licenses'],
      [`/licenses?q=${notes}`, 'Licenses'],
      [`/licenses/${id}`, licenseKey],
      [`/licenses/${id}/edit`, licenseKey],
      ['/licenses/new', 'New licenses'],
      ['/nowhere', 'There is nothing here'],
    ] as const) {
      await page.goto(`/console${path}`);
      await page.getByRole('heading', { name: heading }).waitFor();
      await vi.waitFor(
        async () => expect(await page.getByRole('status', { name: 'Loading' }).count()).toBe(0),
        20_000,
      );
      for (const width of [320, 360, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        const scrollWidth = await page.evaluate('document.documentElement.scrollWidth');
        expect(scrollWidth, `${path} at ${width} px`).toBe(width);
      }
      expect(await accessibilityFindings(page, true), path).toEqual([]);
    }
  });

  it('the page is sent with a policy and comes within its budget [4.28]', {
    tags: 'short',
  }, async () => {
    const page = await newPage({ own: {}, hasClock: true });
    const files = new Set<string>();
    page.on('response', (response) => {
      const { pathname } = new URL(response.url());
      if (pathname.startsWith('/console/assets/')) files.add(pathname);
    });
    await page.goto('/console');
    await page.getByLabel('Token', { exact: true }).waitFor();
    // A minute at the log-in, or a slow browser, adds nothing to the first screen.
    await page.clock.fastForward(60_000);
    await logIn(page, await tokenWith('ALL_READ'));
    await page.getByRole('heading', { name: 'Latest events' }).waitFor();
    const size = (names: Iterable<string>): number =>
      [...names].reduce((sum, name) => sum + gzipSync(readFileSync(`public${name}`)).length, 0);
    expect(size(files)).toBeLessThan(FIRST_SCREEN_BYTES);
    const all = readdirSync('public/console/assets', { withFileTypes: true })
      // The page of customers has a budget of its own.
      .filter((entry) => entry.isFile() && !entry.name.startsWith('my-'))
      .map(({ name }) => `/console/assets/${name}`);
    expect(size(all)).toBeLessThan(ALL_BYTES);
    const policy = (await fetch(`${await sharedService()}/console`)).headers.get(
      'Content-Security-Policy',
    );
    expect(policy).not.toContain('unsafe');
  });
});
