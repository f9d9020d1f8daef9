/** @module-tag long */

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { FILES } from '../../../console/src/screens/program/files.ts';
import { fillIn } from '../../../console/src/screens/program/fill.ts';
import { ownFolder } from '../own.ts';
import { sharedService } from '../shared-service.ts';
import {
  accessibilityFindings,
  describeInBrowser,
  licet,
  newLicense,
  openConsole,
  product,
  tokenWith,
} from './console.ts';

/** The screen with the examples, filled in for a product. */

it.each(FILES)('%s is filled in with an address and a product id', { tags: 'short' }, (file) => {
  const source = readFileSync(`examples/${file}`, 'utf8');
  const url = 'https://license.example.com';
  const filled = fillIn(source, { url, productId: 602 });
  expect(filled).toContain('https://license.example.com');
  expect(filled).toMatch(/["']602["']/);
  expect(filled).toContain('Set LICET_KEY.');
  expect(filled).not.toMatch(/LICET_URL|LICET_PRODUCT_ID/);
  expect(filled).toMatch(/"\$?LICET_PUBLIC_KEYS"|'LICET_PUBLIC_KEYS'|env\.LICET_PUBLIC_KEYS/);
  const publicKeys = 'kid-1:KEY kid-2:KEY';
  const signed = fillIn(source, { url, productId: 602, publicKeys });
  expect(signed.split(JSON.stringify(publicKeys))).toHaveLength(2);
});

describeInBrowser('the examples in the console', () => {
  it('a downloaded example needs only the key, and its first validation turns the line green', async () => {
    const { licenseKey } = await newLicense();
    const page = await openConsole(`/program?productId=${product.id}`);
    await page.getByText('Waiting for your program’s first validation').waitFor();
    await page.getByRole('link', { name: 'TypeScript' }).click();
    await page.getByText('Node 24 is required:').waitFor();
    await page.getByText('npm install @licet/program').waitFor();
    const { keys } = await licet.signingKeys();
    const [es256 = ''] = keys.flatMap((key) => (key.kty === 'EC' ? `${key.x}.${key.y}` : []));
    const lines = page.getByRole('region', { name: 'Lines that call licet.ts' });
    expect(await lines.textContent()).not.toContain(es256);
    await page.getByRole('switch', { name: 'Only signed responses' }).check();
    await lines.getByText(es256).waitFor();
    const spare = `spare:${'k'.repeat(43)}.${'k'.repeat(43)}`;
    await page.getByLabel('Your spare public key').fill(spare);
    await lines.getByText(`${es256} ${spare}`).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe('licet.ts');
    const folder = ownFolder();
    const file = join(folder, 'licet.ts');
    await download.saveAs(file);
    expect(readFileSync(file, 'utf8')).toContain(`${es256} ${spare}`);
    const { stdout } = await promisify(execFile)(process.execPath, [file], {
      cwd: folder,
      env: { LICET_KEY: licenseKey },
    });
    expect(stdout).toBe('License is valid\n');
    await page.getByText('Your program’s validation arrived').waitFor({ timeout: 20_000 });
    expect(await accessibilityFindings(page)).toEqual([]);
  });

  it('a wrong spare key is refused with its reason, and stays when the language changes', async () => {
    const { keys } = await licet.signingKeys();
    const [own = ''] = keys.flatMap((key) => (key.kty === 'RSA' ? `${key.kid}:${key.n}` : []));
    const spare = `spare:${'k'.repeat(342)}`;
    const page = await openConsole(`/program?productId=${product.id}&file=licet.py&signed=true`);
    const field = page.getByLabel('Your spare public key');
    for (const [text, fault] of [
      ['foo', 'it has the form KID:KEY, with a KEY of 342 characters'],
      [`es:${'k'.repeat(43)}.${'k'.repeat(43)}`, 'This is an ES256 key. This language needs'],
      ['{"kty":"RSA","d":"k"}', 'This is the private half. Never paste it anywhere.'],
      [`${own} ${spare}`, 'Paste one key.'],
      [own, 'This is the first key already.'],
    ] as const) {
      await field.fill(text);
      await page.getByRole('alert').filter({ hasText: fault }).waitFor();
      expect(await field.getAttribute('aria-invalid')).toBe('true');
    }
    await field.fill(spare);
    await page.getByText('Two keys are in the lines.').waitFor();
    expect(await field.getAttribute('aria-invalid')).toBe(null);
    await page.getByRole('link', { name: 'Go', exact: true }).click();
    await page.getByText('This is an RS256 key. This language needs the ES256 one.').waitFor();
    await page.getByRole('link', { name: 'Lua' }).click();
    await page.getByText('Two keys are in the lines.').waitFor();
    await page.getByText('Without the network the program will not start.').waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
    await page.getByRole('link', { name: 'Set the days without the service' }).click();
    await page.getByLabel('Days without the service').fill('3');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.goto(`/console/program?productId=${product.id}&file=licet.py&signed=true`);
    await field.waitFor();
    expect(await page.getByText('Without the network the program will not start.').count()).toBe(0);
  });

  it('a license that is created to try the example leads back to it, with its key filled in', async () => {
    const page = await openConsole(`/program?productId=${product.id}&file=licet.py&signed=true`);
    await page.getByText('LICET_KEY=YOUR-LICENSE-KEY python3 licet.py').waitFor();
    await page.getByText('It prints License is valid.').waitFor();
    await page.getByRole('link', { name: 'Create a license to try it' }).click();
    const findNewest = async () =>
      (await licet.licenses.list({ productId: product.id, sort: '-id', limit: 1 }))[0];
    const before = await findNewest();
    await page.getByRole('button', { name: 'Create license' }).click();
    await expect.poll(async () => (await findNewest())?.id).not.toBe(before?.id);
    const newest = await findNewest();
    await page.getByText(`LICET_KEY=${newest?.licenseKey} python3 licet.py`).waitFor();
    await page.getByRole('switch', { name: 'Only signed responses', checked: true }).waitFor();
  });

  it('the copied file has the address of the service and the id of the chosen product', {
    tags: 'short',
  }, async () => {
    const page = await openConsole('/program?file=licet.py');
    await page.getByLabel('Product', { exact: true }).selectOption(product.name);
    await page.getByText(`the product id ${product.id} are filled in`).waitFor();
    await page.getByRole('button', { name: 'Copy the file' }).click();
    const copied = await page.evaluate('navigator.clipboard.readText()');
    await page.getByRole('button', { name: 'Copy the lines' }).click();
    expect(await page.evaluate('navigator.clipboard.readText()')).toContain(
      `"${await sharedService()}", ${product.id}, `,
    );
    expect(copied).toContain(await sharedService());
    expect(copied).toContain(`"${product.id}"`);
    await page.getByText('LICET_KEY=YOUR-LICENSE-KEY python3 licet.py').waitFor();
    await page.getByText('with one of your license keys:').waitFor();
    expect(new URL(page.url()).search).toBe(`?file=licet.py&productId=${product.id}`);
  });

  it('a token that may only read products sees the examples, and why the page cannot wait for a validation', async () => {
    const page = await openConsole('/program', { token: await tokenWith('PRODUCTS_READ') });
    await page.getByText('This token may not read the history').waitFor();
    const code = page.getByRole('region', { name: 'Content of Licet.java' });
    expect(await code.count()).toBe(0);
    await page.getByText(/^Show its \d+ lines$/).click();
    await code.getByText('public CompletableFuture<Answer> check()').waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
    expect(await page.getByRole('link', { name: 'Create a license' }).count()).toBe(0);
  });
});
