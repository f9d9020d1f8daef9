/** @module-tag long */

import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { LicetError } from '@licet/client';
import type { Page } from 'playwright-core';
import { expect, it, vi } from 'vitest';
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

/** Products, customers, the blacklist and tokens, by role and label. */

/** A name that no other test uses. */
const unique = (name: string): string => `${name} ${randomUUID().slice(0, 8)}`;

/** Confirms an action that cannot be undone. */
const response = (page: Page, action: string): Promise<void> =>
  page.getByRole('alertdialog').getByRole('button', { name: action }).click();

/** Validates like a program, and waits for the request in the history. */
async function ask(values: Parameters<typeof licet.validate>[0]): Promise<void> {
  await licet.validate(values);
  const { licenseKey } = values;
  await vi.waitFor(
    async () => expect(await licet.requests.list({ licenseKey })).not.toEqual([]),
    20_000,
  );
}

describeInBrowser('the lists of the console', () => {
  const statusOf = (call: Promise<unknown>): Promise<number> =>
    call.then(
      () => 200,
      (error: unknown) => (error instanceof LicetError ? error.status : 0),
    );

  it('a product is created with its defaults', { tags: 'short' }, async () => {
    const name = unique('Castle');
    const page = await openConsole('/products');
    await page.getByRole('link', { name: 'New product' }).first().click();
    const form = page.getByRole('dialog', { name: 'New product' });
    await form.getByLabel('Name', { exact: true }).fill(name);
    await form.getByLabel('Type', { exact: true }).selectOption({ label: 'Other' });
    await form.getByLabel('Name of the type').fill('Shader');
    await form.getByLabel('Address limit').fill('-1');
    await form.getByLabel('Days without the service').fill('7');
    await form.getByLabel('The customer may replace a leaked key').check();
    expect(await accessibilityFindings(page)).toEqual([]);
    await form.getByRole('button', { name: 'Create product' }).click();
    await page.getByRole('link', { name, exact: true }).waitFor();
    const product = (await licet.products.list({ q: name }))[0];
    expect(product).toMatchObject({
      productType: 'OTHER',
      productTypeOther: 'Shader',
      defaultMaxIPs: -1,
      defaultMaxHWIDs: 5,
      offlineDays: 7,
      selfRotate: true,
    });
  });

  it('two people who edit a product see both values of the same field', async () => {
    expectFailure(/^412 PUT \/api\/v2\/products\//);
    const name = unique('Edited');
    const { id } = await licet.products.create({ name, productType: 'OTHER' });
    const page = await openConsole(`/products/${id}`);
    await page.getByRole('link', { name: 'Edit', exact: true }).click();
    await page.getByLabel('Description').fill('mine');
    await page.getByLabel('Hardware ID limit').fill('9');
    await licet.products.update(id, { description: 'theirs', url: 'https://shop.example' });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByLabel('Stored now: theirs').check();
    expect(await page.getByRole('radio').count()).toBe(2);
    expect(await accessibilityFindings(page)).toEqual([]);
    await page.getByRole('button', { name: 'Save the chosen values' }).click();
    await page.getByText('Changes saved').waitFor();
    await page.getByRole('heading', { name, exact: true }).waitFor();
    await page.getByText('theirs', { exact: true }).waitFor();
    expect(await licet.products.get(id)).toMatchObject({
      description: 'theirs',
      defaultMaxHWIDs: 9,
      url: 'https://shop.example',
    });
  });

  it('a product with licenses says why it cannot be deleted, and shows them', async () => {
    expectFailure(/^409 DELETE \/api\/v2\/products\//);
    const name = unique('Sold');
    const { id } = await licet.products.create({ name, productType: 'OTHER' });
    const license = await newLicense({ productId: id });
    const page = await openConsole(`/products/${id}`);
    await page.getByRole('button', { name: 'Delete' }).click();
    await response(page, 'Delete');
    await page.getByText('This product has licenses').waitFor();
    await page.getByRole('link', { name: 'Show its licenses' }).click();
    await page.getByRole('link', { name: license.licenseKey }).waitFor();
    await licet.licenses.delete(license.id);
    await page.goto(`/console/products/${id}`);
    await page.getByRole('button', { name: 'Delete' }).click();
    await response(page, 'Delete');
    await page.getByText(`${name} deleted`).waitFor();
    expect(await statusOf(licet.products.get(id))).toBe(404);
  });

  it('a customer is created, found by a part of the e-mail, and forgotten for good', async () => {
    expectFailure(/^409 POST \/api\/v2\/customers$/);
    const part = randomUUID().slice(0, 8);
    const taken = `taken-${part}@example.com`;
    await licet.customers.create({ email: taken });
    const page = await openConsole('/customers');
    await page.getByRole('link', { name: 'New customer' }).first().click();
    await page.getByLabel('First name').fill('Zoe');
    await page.getByLabel('E-mail', { exact: true }).fill(taken);
    await page.getByRole('button', { name: 'Create customer' }).click();
    await page.getByRole('alert').getByText('belongs to another customer').waitFor();
    await page.getByLabel('E-mail', { exact: true }).fill(`zoe-${part}@example.com`);
    await page.getByRole('button', { name: 'Create customer' }).click();
    await page.getByText('Zoe created').waitFor();

    await page.getByRole('searchbox').fill(`oe-${part}`);
    await page.getByText('1 customer', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Zoe', exact: true }).click();
    await page.getByText('This customer has no license.').waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
    const [customer] = await licet.customers.list({ q: `zoe-${part}` });
    await page.getByRole('button', { name: 'Forget this person' }).click();
    await page.getByRole('alertdialog').getByText('In the history of these licenses').waitFor();
    await response(page, 'Erase for good');
    await page.getByText('Zoe forgotten').waitFor();
    expect(await licet.customers.get(customer?.id ?? 0)).toMatchObject({
      firstName: null,
      email: null,
    });
  });

  it('the page of a customer shows the licenses, their requests, and the changes of the person', async () => {
    const customerEmail = `owner-${randomUUID()}@example.com`;
    const notes = `Order ${randomUUID()}`;
    const { licenseKey, customer } = await newLicense({
      customerEmail,
      maxIPs: 3,
      ips: ['192.0.2.9'],
      notes,
    });
    await ask({ licenseKey, productId: product.id, ip: '192.0.2.9' });
    await licet.customers.update(customer?.id ?? 0, { firstName: 'Zoe' });
    const page = await openConsole(`/customers/${customer?.id}`);
    const license = page.getByRole('region', { name: 'Licenses' }).getByRole('row').nth(1);
    for (const name of [licenseKey, 'Active', 'Never', '1 / 3', notes]) {
      await license.getByRole('cell', { name, exact: true }).waitFor();
    }
    const events = page.getByRole('region', { name: 'Events' });
    await events.getByText('First name: Zoe').waitFor();
    const request = page.getByRole('region', { name: 'History' }).getByRole('row').nth(1);
    await request.getByText('192.0.2.9').waitFor();
    await request.getByRole('link').click();
    await page.getByRole('dialog', { name: 'Request' }).getByText('may run').waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog', { name: 'Request' }).waitFor({ state: 'hidden' });
    await license.getByRole('link', { name: licenseKey }).click();
    await page.getByRole('heading', { name: licenseKey }).waitFor();
    await page.getByRole('link', { name: 'Zoe', exact: true }).click();
    await page.getByRole('heading', { name: 'Zoe' }).waitFor();
    await request.getByText('192.0.2.9').waitFor();
    await page.getByRole('button', { name: 'Forget this person' }).click();
    await response(page, 'Erase for good');
    await request.waitFor({ state: 'detached' });
    await page.getByText('192.0.2.9').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Erase new history' }).waitFor();
    expect(await page.getByRole('link', { name: 'Edit' }).count()).toBe(0);
    // The page shows what it had read until it has read again.
    await page.goBack();
    await page.getByText('No program has sent this key yet.').first().waitFor();
  });

  it('a forgotten customer is marked in the list, and the license says so', async () => {
    const lastName = unique('Gone');
    const email = `${lastName.replace(' ', '-')}@example.com`;
    const { id = 0 } = await licet.customers.create({ email, lastName });
    const license = await newLicense({ customerEmail: email });
    await licet.customers.delete(id);
    const page = await openConsole(`/customers?after=${id - 1}`);
    const row = page.getByRole('row').filter({ hasText: `Customer ${id}` });
    await row.getByText('No personal data').waitFor();
    await page.goto(`/console/licenses?q=${license.licenseKey}`);
    await page.getByRole('cell', { name: 'Owner forgotten' }).waitFor();
    await page.getByRole('link', { name: license.licenseKey }).click();
    await page.getByRole('link', { name: 'Owner forgotten' }).click();
    await page.getByText('This customer has no name, e-mail or account').waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
  });

  it('all data about a person is downloaded from the page of the customer, which shows the metadata', async () => {
    const email = `${randomUUID()}@example.com`;
    const crm = `acct-${randomUUID()}`;
    const { id } = await licet.customers.create({ email });
    const page = await openConsole(`/customers/${id}/edit`);
    const group = page.getByRole('group', { name: 'Metadata' });
    await group.getByRole('button', { name: 'Add a text' }).click();
    await group.getByLabel('Name').fill('crm');
    await group.getByLabel('Text').fill(crm);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('link', { name: crm }).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export' }).click(),
    ]);
    expect(download.suggestedFilename()).toMatch(/^customer-\d+-\d{4}-\d\d-\d\d\.json$/);
    const exported = JSON.parse(readFileSync(await download.path(), 'utf8'));
    expect(exported).toEqual(await licet.customers.export(id));
    expect(exported.customer).toMatchObject({ email, metadata: { crm } });
    await page.getByText(`All data about ${email} is in the file`).waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
    await page.getByRole('link', { name: crm }).click();
    const rows = page.getByRole('table', { name: 'Customers' }).getByRole('row');
    await expect.poll(() => rows.count()).toBe(2);
  });

  it('the page of a product leads to its licenses and its program, and shows its versions', async () => {
    const name = unique('Read');
    const { id } = await licet.products.create({ name, productType: 'OTHER', offlineDays: 7 });
    const { licenseKey } = await newLicense({ productId: id });
    await licet.products.update(id, { description: 'For castles' });
    const page = await openConsole('/products');
    // The service counts versions once in a while.
    await page.route('**/api/v2/statistics?**', async (route) => {
      expect(route.request().url()).toContain(`productId=${id}&`);
      const versions = [{ productId: id, productVersion: '4.5.6', installations: 3 }];
      await route.fulfill({ json: { ...(await licet.statistics()), versions } });
    });
    await page.getByRole('link', { name, exact: true }).click();
    const facts = page.getByRole('region', { name: 'Details' });
    await facts.getByRole('button', { name: `Copy id ${id}` }).waitFor();
    for (const value of ['For castles', 'For 7 days']) {
      await facts.getByText(value, { exact: true }).waitFor();
    }
    await page.getByRole('region', { name: 'Versions in use' }).getByText('4.5.6').waitFor();
    await page.getByRole('region', { name: 'Events' }).getByText('Product created').waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
    await page.getByRole('main').getByRole('link', { name: 'In your program' }).click();
    await expect.poll(() => page.getByLabel('Product').inputValue()).toBe(String(id));
    await page.goBack();
    await page.getByRole('link', { name: `1 license of ${name}` }).click();
    await page.getByRole('link', { name: licenseKey }).waitFor();
  });

  it('an address that is searched in vain is blocked, moved to a product, removed and restored', async () => {
    const name = unique('Blocked');
    const { id } = await licet.products.create({ name, productType: 'OTHER' });
    const data = '198.51.100.9';
    const page = await openConsole(`/blacklist?q=${data}`);
    await page.getByRole('link', { name: `Block ${data}` }).click();
    await page.getByLabel('Reason', { exact: true }).fill('Leaked');
    expect(await accessibilityFindings(page)).toEqual([]);
    await page.getByRole('button', { name: 'Block', exact: true }).click();
    await page.getByRole('link', { name: data, exact: true }).click();
    const form = page.getByRole('dialog', { name: `Edit the entry of ${data}` });
    await form.getByLabel('For').selectOption({ label: name });
    await form.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('cell', { name }).waitFor();
    await page.getByRole('button', { name: `Remove the entry of ${data}` }).click();
    await page.getByText('There is no entry with').waitFor();
    expect(await licet.blacklists.list({ q: data })).toEqual([]);
    await page.getByRole('button', { name: 'Undo' }).first().click();
    await page.getByRole('cell', { name }).waitFor();
    expect(await licet.blacklists.list({ q: data })).toMatchObject([
      { licenseDataType: 'IP', data, productId: id, isForAllProducts: false, reason: 'Leaked' },
    ]);
    await page.getByRole('link', { name: data, exact: true }).click();
    await form.getByRole('button', { name: 'Unblock' }).click();
    await form.waitFor({ state: 'detached' });
    expect(await licet.blacklists.list({ q: data })).toEqual([]);
  });

  it('a wide range of a blacklist entry is asked for and rejected only when it changes', async () => {
    const entry = { licenseDataType: 'IP', data: '203.32.0.0/12', isForAllProducts: true } as const;
    const { id } = await licet.blacklists.create(entry);
    const page = await openConsole(`/blacklist?open=${id}`);
    const form = page.getByRole('dialog');
    const save = async (reason: string) => {
      await form.getByLabel('Reason', { exact: true }).fill(reason);
      await form.getByRole('button', { name: 'Save' }).click();
    };
    await save('Kept');
    await page.getByText('Changes saved').waitFor();
    expect(await licet.blacklists.get(id)).toMatchObject({ reason: 'Kept' });
    // An earlier version took this range.
    await page.route(`**/api/v2/blacklists/${id}`, async (route) => {
      if (route.request().method() !== 'GET') return route.continue();
      const { item, etag = '' } = await licet.blacklists.read(id);
      return route.fulfill({ json: { ...item, data: '0.0.0.0/1' }, headers: { ETag: etag } });
    });
    await page.goto(`/console/blacklist?open=${id}`);
    await form.getByText('Blocks 0.0.0.0 to 127.255.255.255').waitFor();
    await save('Kept again');
    await page.getByText('Changes saved').waitFor();
    expect(await licet.blacklists.get(id)).toMatchObject({ reason: 'Kept again' });
    await page.goto(`/console/blacklist?open=${id}`);
    await form.getByLabel('Value').fill('0.0.0.0/2');
    await save('Another');
    await form.getByRole('alert').getByText('Must be a range of /8 or narrower').waitFor();
    await form.getByLabel('Value').fill('203.0.0.0/12');
    await save('Another');
    const question = page.getByRole('alertdialog', { name: 'Block 203.0.0.0/12?' });
    await question.getByRole('button', { name: 'Cancel' }).click();
    expect(await licet.blacklists.get(id)).toMatchObject({ reason: 'Kept again' });
    await licet.blacklists.delete(id);
  });

  it('the chosen product of a new blacklist entry stays chosen while another one appears', async () => {
    const page = await openConsole('/blacklist?open=new', { hasClock: true });
    const select = page.getByRole('dialog').getByLabel('For', { exact: true });
    await select.selectOption({ label: product.name });
    const name = unique('Another');
    await licet.products.create({ name, productType: 'OTHER' });
    await page.clock.fastForward(61_000);
    await page.evaluate("window.dispatchEvent(new Event('visibilitychange'))");
    await select.getByRole('option', { name }).waitFor({ state: 'attached' });
    expect(await select.inputValue()).toBe(String(product.id));
  });

  it('a blacklist entry that is no address or exists already is explained', async () => {
    expectFailure(/^40[09] POST \/api\/v2\/blacklists$/);
    await licet.blacklists.create({
      licenseDataType: 'IP',
      data: '203.0.113.0/25',
      isForAllProducts: true,
    });
    const page = await openConsole('/blacklist?open=new');
    const block = page.getByRole('dialog').getByRole('button', { name: 'Block' });
    await page.getByLabel('Value', { exact: true }).fill('300.1.1.1');
    await block.click();
    await page.getByText('Must be an IP address or a CIDR range.').waitFor();
    await page.getByLabel('Value', { exact: true }).fill('203.0.113.0/25');
    await block.click();
    await page.getByText('The blacklist has this entry already').waitFor();
  });

  it('a new token explains its intents, shows the secret once, is renamed and revoked', async () => {
    const name = unique('Support');
    const page = await openConsole('/tokens');
    await page.getByRole('link', { name: 'New token' }).first().click();
    const form = page.getByRole('dialog', { name: 'New token' });
    await form.getByLabel('Name', { exact: true }).fill(name);
    await form.getByRole('button', { name: 'Create token' }).click();
    await form.getByText('Choose at least one.').waitFor();
    await form.getByRole('button', { name: 'Support' }).click();
    await form.getByText('Finds licenses and customers').waitFor();
    await form.getByRole('button', { name: 'Shop' }).click();
    const box = (box: string) => form.getByRole('checkbox', { name: box, exact: true });
    // The intent to change covers the one to read.
    expect(await box('Read: Licenses').isChecked()).toBe(true);
    expect(await box('Read: Licenses').isDisabled()).toBe(true);
    expect(await box('Read: History').isChecked()).toBe(false);
    await box('Change: Licenses').uncheck();
    await box('Read: Licenses').check();
    await form.getByText('Permissions of your own choice.').waitFor();
    await box('Change: Licenses').check();
    await form.getByRole('button', { name: 'Shop', pressed: true }).waitFor();
    await box('Read: Products').uncheck();
    await form.getByText('Permissions of your own choice.').waitFor();
    await form.getByLabel('Expires on').fill('2020-12-31');
    await form.getByText('This token would be expired at once.').waitFor();
    await form.getByLabel('Expires on').fill('2035-12-31');
    expect(await form.getByText('This token would be expired at once.').count()).toBe(0);
    expect(await accessibilityFindings(page)).toEqual([]);
    await form.getByRole('button', { name: 'Create token' }).click();

    const shown = page.getByRole('dialog', { name: 'Copy the token now' });
    const secret = await shown.getByRole('status', { name: 'Token' }).textContent();
    await page.keyboard.press('Escape');
    await shown.getByRole('button', { name: 'Copy' }).click();
    expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe(secret);
    expect(page.url()).not.toContain(secret);
    await shown.getByRole('button', { name: 'I have copied it' }).click();
    await shown.waitFor({ state: 'hidden' });
    expect(await page.content()).not.toContain(secret);
    const created = (await licet.tokens.list()).find((token) => token.name === name);
    expect(created?.intents).toEqual(['LICENSES_READ_WRITE']);
    expect(created?.expiresAt).toContain('2035-12-31');

    await page.getByRole('link', { name }).click();
    const grid = page.getByRole('table', { name: 'Permissions' });
    await grid.getByRole('row', { name: 'Licenses Yes Yes' }).waitFor();
    await grid.getByRole('row', { name: 'Tokens No No' }).waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
    await page.getByRole('link', { name: 'Edit' }).click();
    await page.getByLabel('Name', { exact: true }).fill(`${name} desk`);
    await page.getByLabel('Expires on').fill('');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: `${name} desk`, exact: true }).waitFor();
    expect(await licet.tokens.get(created?.id ?? 0)).toMatchObject({ expiresAt: null });
    const changes = page.getByRole('region', { name: 'Changes to this token' });
    await changes.getByText('Token changed').waitFor();
    await changes.getByText('Permissions: +Manage licenses').waitFor();
    await page.getByRole('button', { name: 'Revoke' }).click();
    await response(page, 'Revoke');
    await page.getByText(`${name} desk revoked`).waitFor();
    expect(await statusOf(licet.tokens.get(created?.id ?? 0))).toBe(404);
  });

  it('a token that may only read sees why it cannot write', async () => {
    const { id } = await licet.products.create({ name: unique('Read'), productType: 'OTHER' });
    const token = await tokenWith('PRODUCTS_READ', 'BLACKLISTS_READ');
    const page = await openConsole(`/products/${id}/edit`, { token });
    await page.getByText('It needs the permission “Manage products”').waitFor();
    expect(await page.getByLabel('Description').count()).toBe(0);
    expect(await page.getByRole('link', { name: 'New product' }).count()).toBe(0);
    await page.goto('/console/blacklist');
    await page.getByRole('heading', { name: 'Blacklist' }).waitFor();
    expect(await page.getByRole('link', { name: 'Block', exact: true }).count()).toBe(0);
    await page.goto('/console/tokens');
    await page.getByText('It needs the permission “Everything”').waitFor();
  });

  it('rows are walked and opened by keyboard, and Back leaves the closed dialog closed', async () => {
    const name = unique('Keys');
    await licet.products.create({ name, productType: 'OTHER' });
    const page = await openConsole('/products');
    const link = page.getByRole('link', { name, exact: true });
    await link.waitFor();
    await page.keyboard.press('j');
    await link.focus();
    await page.keyboard.press('e');
    await page.getByRole('button', { name: 'Save' }).waitFor();
    await page.goBack();
    await page.getByRole('link', { name: 'New product' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'New product' });
    await dialog.waitFor();
    expect(new URL(page.url()).search).toBe('?open=new');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    await page.goBack();
    expect(new URL(page.url()).search).toBe('');
  });

  it('the pages of a customer, a product and a token fit a phone', async () => {
    const email = `${'long'.repeat(12)}-${randomUUID()}@shop.example`;
    const { customer } = await newLicense({ customerEmail: email, notes: 'long '.repeat(60) });
    const { id } = await licet.tokens.create({ name: 'long'.repeat(20), intents: ['ALL_READ'] });
    const page = await openConsole('/', { viewport: PHONE });
    for (const path of [`customers/${customer?.id}`, `products/${product.id}`, `tokens/${id}`]) {
      await page.goto(`/console/${path}`);
      await page.getByRole('region', { name: /^(Events|Changes to)/ }).waitFor();
      await page.waitForLoadState('networkidle');
      expect(await page.evaluate('document.documentElement.scrollWidth'), path).toBe(360);
    }
  });

  it.each([
    ['products', 'Create product'],
    ['customers', 'Create customer'],
    ['blacklist', 'Block'],
    ['tokens', 'Create token'],
  ])('%s fit a phone, with the button of their form in sight', async (name, label) => {
    const page = await openConsole(`/${name}?open=new`, { viewport: PHONE });
    const button = page.getByRole('dialog').getByRole('button', { name: label, exact: true });
    await button.waitFor();
    const { y = 0, height = 0 } = (await button.boundingBox()) ?? {};
    expect(y).toBeGreaterThan(0);
    expect(y + height).toBeLessThanOrEqual(PHONE.height);
    const isTooWide = () =>
      page.evaluate<boolean>('document.documentElement.scrollWidth > innerWidth');
    expect(await isTooWide()).toBe(false);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    expect(await isTooWide()).toBe(false);
    expect(await accessibilityFindings(page)).toEqual([]);
  });
});
