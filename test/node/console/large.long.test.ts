import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { databaseFile, migrate } from '../../../scripts/local/database.ts';
import { ipOf, keyOf, largeDatabase } from '../../support/large-database.ts';
import { ownFolder } from '../own.ts';
import { type RunningService, startService } from '../service.ts';
import { describeInBrowser, openConsole } from './console.ts';

/** The console of a shop with 100,000 licenses, whose lists are pages of far longer ones. */

const SIZE = {
  products: 200,
  customers: 50_000,
  licenses: 100_000,
  blacklists: 10_000,
  installations: 463 * 43,
  hours: 48,
};

describeInBrowser('with 100,000 licenses', () => {
  const folder = ownFolder();
  let service: RunningService;
  beforeAll(async () => {
    migrate(folder);
    // The console asks for what has expired until the last full minute.
    const seededAt = Date.now() - 60_000;
    const database = new DatabaseSync(databaseFile(folder));
    for (const statement of Object.values(largeDatabase(SIZE, seededAt)).flat()) {
      database.exec(statement);
    }
    database.close();
    service = await startService(folder);
  }, 60_000);
  afterAll(() => service?.stop());

  const open = (path: string) => openConsole(path, { own: { baseURL: service.address } });

  it('licenses are found by page, question, text and key, and the overview has its figures', async () => {
    const page = await open('/licenses');
    const table = page.getByRole('table', { name: 'Licenses' });
    const shows = (license: number) =>
      table.getByRole('row').nth(1).getByText(keyOf(license)).waitFor();
    await shows(SIZE.licenses);
    await page.getByRole('link', { name: 'Next' }).click();
    await shows(SIZE.licenses - 50);
    // Every 100th license is expired, each a moment before the one with the number below.
    await page.getByLabel('Show', { exact: true }).selectOption('Expired within 30 days');
    await shows(1);
    await page.getByLabel('Show', { exact: true }).selectOption('All licenses');
    await page.getByRole('searchbox').fill(keyOf(77_777).slice(-8));
    await shows(77_777);
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').getByRole('combobox').fill(keyOf(50_000));
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: keyOf(50_000) }).waitFor();
    await page.getByText(ipOf(50_000)).waitFor();
    await page.getByRole('link', { name: 'Overview' }).click();
    const products = page.getByRole('table').filter({ hasText: 'Validations' });
    await products.getByRole('row').nth(1).waitFor();
  });

  it('200 products take one request, and each leads to its licenses', async () => {
    const page = await open('/licenses/new');
    await page.getByLabel('Product').waitFor();
    const requests: string[] = [];
    page.on('request', (request) => requests.push(new URL(request.url()).pathname));
    await page.getByRole('link', { name: 'Products', exact: true }).click();
    const link = page.getByRole('link', { name: 'Licenses of Product 200' });
    await link.waitFor();
    await page.waitForLoadState('networkidle');
    expect(requests).not.toContain('/api/v2/licenses');
    await link.click();
    await page.getByRole('table', { name: 'Licenses' }).getByText('Product 200').first().waitFor();
  });
});
