/** @module-tag long */

import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import {
  accessibilityFindings,
  describeInBrowser,
  licet,
  openConsole,
  product,
  tokenWith,
} from './console.ts';

/** Import and export in the console. */

describeInBrowser('import and export in the console', () => {
  const choose = (page: Page, name: string, content: string) =>
    page
      .getByLabel(/Drop a file here|Choose another file/)
      .setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.from(content) });
  const save = async (page: Page, button: string) => {
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: button }).click(),
    ]);
    return readFileSync(await download.path(), 'utf8');
  };

  it('a CSV file is checked, its rejected rows are reported, and the rest is imported', {
    tags: 'short',
  }, async () => {
    const key = crypto.randomUUID().toUpperCase();
    const email = `${crypto.randomUUID()}@shop.example`;
    const page = await openConsole('/import');
    await choose(
      page,
      'licenses.csv',
      `sep=;\nlicenseKey;productId;licenseType;ips;customer.email\n` +
        `${key};${product.id};PERMANENT;192.0.2.1, Unknown;${email}\n` +
        `=${key}-2;${product.id};SOMETIMES;;\n${key}-3;${product.id}\n`,
    );
    await page.getByRole('button', { name: 'Check the file' }).click();
    await page.getByText('Checked: nothing was changed yet').first().waitFor();
    await page.getByRole('row', { name: 'Licenses 1 0 0 2' }).waitFor();
    await page.getByRole('row', { name: 'line 5' }).getByText('2 columns instead of 5').waitFor();
    await page
      .getByRole('row', { name: 'line 3' })
      .getByText('ips[1] "Unknown" must be an IP address')
      .waitFor();
    expect(await licet.licenses.list({ productId: product.id })).toEqual([]);
    expect(await accessibilityFindings(page)).toEqual([]);

    const report = (await save(page, 'Download the report')).split('\r\n');
    expect(report[0]).toBe('\uFEFFkind,outcome,where,id,licenseKey,reason');
    expect(report.slice(1)).toEqual([
      `licenses,created,line 3,,${key},"ips[1] ""Unknown"" must be an IP address"`,
      expect.stringContaining(
        `licenses,refused,line 4,,'=${key}-2,"licenseType ""SOMETIMES"" must`,
      ),
      expect.stringContaining('licenses,refused,line 5,,,2 columns'),
      '',
    ]);

    await page.getByRole('button', { name: 'Import 1 item' }).click();
    await page.getByRole('region', { name: 'Imported' }).waitFor();
    expect(await licet.licenses.list({ productId: product.id })).toMatchObject([
      {
        licenseKey: key,
        ips: ['192.0.2.1'],
        customer: { email },
      },
    ]);
  });

  it('columns of a file of others get fields, with suggestions filled in, and one product for all [3.86]', async () => {
    const key = crypto.randomUUID().toUpperCase();
    const page = await openConsole('/import');
    await choose(
      page,
      'sold.csv',
      `Key,E-Mail,Suspended,Comment,Rep\n${key},${key}@shop.example,yes,Paid,Bob\n`,
    );
    const columns = page.getByRole('region', { name: 'Columns of licenses' });
    const fieldOf = (column: string) => columns.getByLabel(`Field of ${column}`, { exact: true });
    await columns.getByRole('row', { name: 'Suspended yes' }).waitFor();
    const fields = ['Key', 'E-Mail', 'Suspended', 'Comment', 'Rep'];
    expect(await Promise.all(fields.map((name) => fieldOf(name).inputValue()))).toEqual([
      ...['licenseKey', 'customer.email', 'licenseStatus', 'notes', ''],
    ]);
    await columns
      .getByText('No column has productId. Choose one, or a product of all items')
      .waitFor();
    expect(await columns.getByText('ownerChatUsername,').isVisible()).toBe(false);
    expect(await accessibilityFindings(page)).toEqual([]);
    await columns.getByLabel('Product of all items').selectOption({ label: product.name });
    await fieldOf('Rep').selectOption('ownerChatUsername');
    await page.getByRole('button', { name: 'Check the file' }).click();
    await page.getByText('licenseType is required').waitFor();
    await choose(page, 'sold.csv', `Key,Expires,Suspended,Rep\n${key},,yes,Bob\n`);
    await columns.getByLabel('Product of all items').selectOption({ label: product.name });
    await fieldOf('Rep').selectOption('ownerChatUsername');
    await page.getByRole('button', { name: 'Check the file' }).click();
    await page.getByRole('button', { name: 'Import 1 item' }).click();
    await page.getByRole('region', { name: 'Imported' }).waitFor();
    expect(await licet.licenses.findByKey(key)).toMatchObject({
      ...{ productId: product.id, licenseType: 'PERMANENT', licenseStatus: 'DEACTIVATED' },
      ownerChatUsername: 'Bob',
    });
  });

  it('a near name in a list gets its field in the console, and an ordinary one none [3.87]', async () => {
    const key = crypto.randomUUID().toUpperCase();
    const page = await openConsole('/import');
    const license = { licenseKey: key, productId: product.id, licenseType: 'TEMPORARY' };
    const item = { ...license, expirey: '2031-01-31T10:00:00Z', killed: 'Y', price: 9 };
    await choose(page, 'near.json', JSON.stringify([item]));
    const columns = page.getByRole('region', { name: 'Columns of licenses' });
    const fieldOf = (column: string) => columns.getByLabel(`Field of ${column}`, { exact: true });
    await columns.getByRole('row', { name: 'killed Y' }).waitFor();
    const fields = ['expirey', 'killed', 'price'].map((name) => fieldOf(name).inputValue());
    expect(await Promise.all(fields)).toEqual(['expiryDate', 'licenseStatus', '']);
    await page.getByRole('button', { name: 'Check the file' }).click();
    await page.getByRole('button', { name: 'Import 1 item' }).click();
    await page.getByRole('region', { name: 'Imported' }).waitFor();
    expect(await licet.licenses.findByKey(key)).toMatchObject({
      ...{ expiryDate: '2031-01-31T10:00:00.000+00:00', licenseStatus: 'DEACTIVATED' },
    });
  });

  it('a file of another service is recognized by the console, and known columns are folded [3.88]', async () => {
    const key = crypto.randomUUID().toUpperCase();
    const page = await openConsole('/import');
    const table = `id,product_id,license_key,expires_at,status,times_activated_max\n1,${product.id},${key},2031-01-31 10:00:00,SOLD,\n`;
    await choose(page, 'woo.csv', table);
    await page.getByText('Read as a file of License Manager for WooCommerce.').waitFor();
    await page.getByRole('button', { name: 'Check the file' }).click();
    await page.getByRole('button', { name: 'Import 1 item' }).click();
    await page.getByRole('region', { name: 'Imported' }).waitFor();
    expect(await licet.licenses.findByKey(key)).toMatchObject({
      ...{ licenseType: 'TEMPORARY', licenseStatus: 'ACTIVE', maxHWIDs: -1 },
    });
    await choose(page, 'own.csv', 'licenseKey,productId,licenseType\nx,1,PERMANENT\n');
    await page.getByText('3 columns, all known').waitFor();
    expect(await page.getByLabel('Field of licenseKey').isVisible()).toBe(false);
  });

  it('an imported export of products finds all of them unchanged', async () => {
    const page = await openConsole('/import');
    const json = await save(page, 'JSON of Products');
    expect(JSON.parse(json).products).toContainEqual(await licet.products.get(product.id));
    await choose(page, 'products.json', json);
    await page.getByRole('button', { name: 'Check the file' }).click();
    await page.getByText('Each item exists already or was rejected').waitFor();
    const csv = await save(page, 'CSV of Products');
    expect(csv).toMatch(/^\uFEFFid,name,description,/);
    expect(csv).toContain(`\r\n${product.id},${product.name},`);
  });

  it('an export of the command line is read line by line, and a damaged one is refused', async () => {
    const key = crypto.randomUUID();
    const license = { licenseKey: key, productId: product.id, licenseType: 'PERMANENT' };
    const lines = [{ license }, { end: { products: 0, customers: 0, licenses: 1, blacklists: 0 } }];
    const content = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
    const page = await openConsole('/import');
    await choose(page, 'shop.jsonl', content.slice(0, -20));
    await page.getByRole('button', { name: 'Check the file' }).click();
    await page.getByRole('alert').getByText('shop.jsonl: line 2').waitFor();
    await choose(page, 'shop.jsonl', content);
    await page.getByRole('button', { name: 'Check the file' }).click();
    await page.getByRole('button', { name: 'Import 1 item' }).click();
    await page.getByRole('region', { name: 'Imported' }).waitFor();
    expect(await licet.licenses.findByKey(key)).toMatchObject({ licenseKey: key });
  });

  it('a stopped import is reported, and finishes the requests that it began', async () => {
    const prefix = crypto.randomUUID();
    const rows = Array.from(
      { length: 1500 },
      (_, index) => `${prefix}-${index},${product.id},PERMANENT\n`,
    );
    const page = await openConsole('/import');
    await choose(page, 'many.csv', `licenseKey,productId,licenseType\n${rows.join('')}`);
    // The progress with its button appears while the first requests are held.
    const held = Promise.withResolvers<void>();
    await page.route('**/api/v2/import', async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.getByRole('button', { name: 'Check the file' }).click();
    await page.getByRole('button', { name: 'Stop' }).click();
    held.resolve();
    await page.getByRole('region', { name: 'Stopped' }).waitFor();
    await page.getByRole('row', { name: 'Licenses 300 0 0 0' }).waitFor();
    expect(await page.getByRole('button', { name: /^Import \d/ }).count()).toBe(0);
  });

  it('a token that may only read licenses exports them, and sees the intents for the rest', async () => {
    const page = await openConsole('/import', { token: await tokenWith('LICENSES_READ') });
    await page.getByText('It needs the permission “Everything”.').waitFor();
    await page.getByText('It needs the permission “Read customers”').waitFor();
    const csv = await save(page, 'CSV of Licenses');
    expect(csv).toMatch(/^\uFEFFid,licenseKey,productId,/);
  });
});
