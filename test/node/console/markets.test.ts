/** @module-tag long */

import { MINUTE_MS } from '@licet/contract/durations';
import { afterEach, expect, it } from 'vitest';
import {
  accessibilityFindings,
  cutCells,
  describeInBrowser,
  expectFailure,
  licet,
  openConsole,
  PHONE,
  product,
  tokenWith,
} from './console.ts';

/** Markets and purchases in the console, beside a market that sends over HTTP. */

describeInBrowser('markets in the console', () => {
  afterEach(async () => {
    for (const { id } of await licet.markets.list()) await licet.markets.delete(id);
  });

  const download = async (address: string, fields: Record<string, string>): Promise<number> => {
    const body = new URLSearchParams({ builtbybit: 'true', user_id: '540773', ...fields });
    return (await fetch(address, { method: 'POST', body })).status;
  };

  it('a seller adds a market, pastes its address and secret, chooses a product, and sees the first download', async () => {
    const page = await openConsole('/markets?open=new');
    await page.getByRole('dialog').getByRole('button', { name: 'Add market' }).click();
    await page.getByRole('heading', { name: 'BuiltByBit' }).waitFor();
    await page.getByText('Needs a secret').waitFor();
    await page.getByText('Waiting for the first request…').waitFor();
    await page.getByRole('button', { name: 'Make one' }).click();
    const secret = await page.getByRole('status', { name: 'Secret' }).textContent();
    await page.getByRole('button', { name: 'I have pasted it' }).click();
    await page.getByText('Needs a product').waitFor();
    await page.getByRole('button', { name: 'Add product' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Resource id').fill('62494');
    await dialog.getByLabel('Product here').selectOption(String(product.id));
    await dialog.getByLabel('Address limit').fill('2');
    await dialog.getByRole('button', { name: 'Add product' }).click();
    await page.getByText('For ever, 2 addresses').waitFor();
    await page.getByText('Ready').waitFor();
    const [market] = await licet.markets.list();
    const [address = ''] = market?.addresses ?? [];
    expect(await page.getByRole('status', { name: 'Address for the market' }).textContent()).toBe(
      address,
    );
    expect(await download(address, { secret: secret ?? '', resource_id: '62494' })).toBe(200);
    await page.getByText('The last request worked').waitFor();
    await page.getByText('Granted a license').waitFor();
    // The state follows from what has arrived.
    await page.getByText('Works', { exact: true }).waitFor();
    await page.getByRole('link', { name: /\d\d:\d\d:\d\d/ }).click();
    const request = page.getByRole('dialog');
    await request.getByText('"resource_id": "62494"').waitFor();
    await request.getByRole('link', { name: product.name }).waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
    // Read again with the request open, the list is not there yet.
    const held = Promise.withResolvers<void>();
    await page.route('**/deliveries?*', async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.reload();
    await request.getByRole('status').waitFor();
    expect(await request.getByText('no longer among the latest').count()).toBe(0);
    held.resolve();
    await request.getByText('"resource_id": "62494"').waitFor();
    await request.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'Edit' }).click();
    await dialog.getByLabel('Address limit').fill('3');
    await dialog.getByRole('radio', { name: 'From first use' }).check();
    const days = dialog.getByLabel('Days from first use');
    await days.fill('30');
    // Another choice keeps what was typed, and sends none of it.
    await dialog.getByRole('radio', { name: 'Never' }).check();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('For ever, 3 addresses').waitFor();
    await page.getByRole('button', { name: 'Edit' }).click();
    await dialog.getByRole('radio', { name: 'From first use' }).check();
    await days.fill('30');
    await dialog.getByRole('radio', { name: 'Never' }).check();
    await dialog.getByRole('radio', { name: 'From first use' }).check();
    expect(await days.inputValue()).toBe('30');
    await dialog.getByRole('button', { name: 'Add an entitlement' }).click();
    await dialog.getByLabel('Name').fill('edition');
    await dialog.getByLabel('Value').fill('gold');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('30 days, 3 addresses, edition = gold').waitFor();
    expect((await licet.markets.list())[0]?.products).toMatchObject([
      { item: '62494', maxIPs: 3, entitlements: { edition: 'gold' } },
    ]);
    expect(await accessibilityFindings(page)).toEqual([]);
    await page.setViewportSize(PHONE);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
  });

  it('a product that is added meanwhile leaves the choice in the form of a mapping', async () => {
    const { id } = await licet.markets.create({ kind: 'stripe', name: 'Cards' });
    const page = await openConsole(`/markets/${id}`, { hasClock: true });
    await page.getByRole('button', { name: 'Add product' }).click();
    const choice = page.getByRole('dialog').getByLabel('Product here');
    await choice.selectOption(String(product.id));
    const other = await licet.products.create({
      name: `New ${product.name}`,
      productType: 'OTHER',
    });
    await page.clock.fastForward(MINUTE_MS);
    await page.evaluate("dispatchEvent(new Event('offline')); dispatchEvent(new Event('online'))");
    await choice.getByRole('option', { name: other.name }).waitFor({ state: 'attached' });
    expect(await choice.inputValue()).toBe(String(product.id));
  });

  it('the screen of a market and that of its product hold long words at each width', async () => {
    const { id } = await licet.products.create({
      name: `Long${'Name'.repeat(20)}`,
      description: 'word'.repeat(30),
      productType: 'OTHER',
    });
    const market = await licet.markets.create({
      kind: 'stripe',
      name: 'Stripe',
      products: [{ item: 'item'.repeat(25), productId: id }],
    });
    for (const path of [`/products/${id}`, `/markets/${market.id}`]) {
      const page = await openConsole(path);
      const events = page.getByRole('region', { name: /^(Events|Changes to)/ });
      await events.getByRole('row').nth(1).waitFor({ timeout: 20_000 });
      for (const width of [1280, 768, 360, 320]) {
        await page.setViewportSize({ width, height: 800 });
        expect(await cutCells(page), `${path} at ${width} px`).toEqual([]);
        const scrollWidth = await page.evaluate('document.documentElement.scrollWidth');
        expect(scrollWidth, `${path} at ${width} px`).toBe(width);
      }
    }
  });

  it('a purchase without a product is granted in the list of purchases', async () => {
    const { id, addresses } = await licet.markets.create({
      kind: 'builtbybit',
      name: 'Bits',
      secrets: ['f3b9c2d1e0a45b6c7d8e9f00'],
    });
    const sent = { secret: 'f3b9c2d1e0a45b6c7d8e9f00', resource_id: '77', user_id: '12' };
    expect(await download(addresses[0] ?? '', sent)).toBe(404);
    const page = await openConsole(`/purchases?marketId=${id}`);
    await page.getByRole('cell', { name: '12', exact: true }).click();
    const pane = page.getByRole('region', { name: 'Purchase' });
    await pane.getByText('No product is chosen for 77').waitFor();
    await pane.getByRole('button', { name: 'Ignore' }).click();
    await page.getByRole('table').getByText('Ignored', { exact: true }).waitFor();
    expect((await licet.purchases.list({ marketId: id }))[0]?.isIgnored).toBe(true);
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('table').getByText('Needs a product').waitFor();
    await pane.getByRole('button', { name: 'Choose product' }).click();
    await pane.getByRole('button', { name: 'Grant' }).click();
    await pane.getByText('Choose one').waitFor();
    await pane.getByLabel('Product').selectOption(String(product.id));
    await pane.getByRole('button', { name: 'Grant' }).click();
    await page.getByText(/^License \d+ created$/).waitFor();
    await page.getByRole('table').getByText('Granted', { exact: true }).waitFor();
    const [{ licenseKey, licenseId } = {}] = await licet.purchases.list({ marketId: id });
    await pane.getByRole('link', { name: licenseKey ?? '' }).waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
    expect(await download(addresses[0] ?? '', sent)).toBe(200);
    const license = await openConsole(`/licenses/${licenseId}`);
    await license.getByRole('link', { name: /^Bits, \d/ }).waitFor();
    await license.getByRole('cell', { name: 'Sold' }).waitFor();
    expect(await accessibilityFindings(license)).toEqual([]);
  });

  it('a purchase that waits at a deleted market is ignored, and gets no product', {
    tags: 'short',
  }, async () => {
    const secret = 'f3b9c2d1e0a45b6c7d8e9f00';
    const { id, addresses } = await licet.markets.create({
      kind: 'builtbybit',
      name: 'Gone',
      secrets: [secret],
    });
    await download(addresses[0] ?? '', { secret, resource_id: '78', user_id: '13' });
    await licet.markets.delete(id);
    const [{ id: open } = {}] = await licet.purchases.list({ marketId: id });
    const page = await openConsole(`/purchases?open=${open}`);
    const pane = page.getByRole('region', { name: 'Purchase' });
    await pane.getByText('The market is deleted, and delivers no key').waitFor();
    expect(await pane.getByRole('button', { name: 'Choose product' }).count()).toBe(0);
    await pane.getByRole('button', { name: 'Ignore' }).click();
    await page.getByRole('table').getByText('Ignored', { exact: true }).waitFor();
  });

  it('a buyer who has paid and has no license is the first alert, and search finds order, buyer and market', async () => {
    const secret = 'f3b9c2d1e0a45b6c7d8e9f00';
    const name = `Shop ${crypto.randomUUID().slice(0, 8)}`;
    const { id, addresses } = await licet.markets.create({
      kind: 'builtbybit',
      name,
      secrets: [secret],
    });
    const buyer = `kas${crypto.randomUUID().slice(0, 8)}`;
    const body = JSON.stringify({
      secret,
      user_id: '77001',
      username: buyer,
      resource_id: '78',
      final_price: '9.99',
      purchase_date: String(Math.floor(Date.now() / 1000)),
    });
    await fetch(addresses[0] ?? '', { method: 'POST', body });
    const page = await openConsole('/');
    await page.getByText(`${buyer} at ${name}: Item 78`).waitFor();
    await page.getByRole('definition').filter({ hasText: '9.99' }).waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
    for (const [typed, hit] of [
      [buyer, '77001'],
      [name, name],
    ] as const) {
      await page.keyboard.press('/');
      await page.getByRole('combobox', { name: 'Search' }).fill(typed);
      await page.getByRole('option').filter({ hasText: hit }).first().waitFor();
      await page.keyboard.press('Escape');
    }
    await page.goto(`/console/markets/${id}`);
    await page.getByRole('link', { name: 'See them' }).waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
  });

  it('a product that a market sells is deleted after a question that names the market', async () => {
    const { id } = await licet.products.create({ name: 'Sold', productType: 'OTHER' });
    await licet.markets.create({
      kind: 'stripe',
      name: 'Cards',
      secrets: ['whsec_123456'],
      products: [{ item: 'sold', productId: id }],
    });
    const page = await openConsole(`/products/${id}`);
    await page.getByRole('button', { name: 'Delete' }).click();
    const question = page.getByRole('alertdialog');
    await question.getByText(/^Cards sells it: the next buyers/).waitFor();
    await question.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('Sold deleted').waitFor();
    expect((await licet.markets.list())[0]?.state).toBe('NEEDS_PRODUCT');
    expectFailure(/^404 GET \/api\/v2\/products\/\d+/);
  });

  it('a short secret for BuiltByBit is rejected with the remedy, and guesses lead to the market', async () => {
    const { id, addresses } = await licet.markets.create({ kind: 'builtbybit', name: 'Bits' });
    const page = await openConsole(`/markets/${id}`);
    await page.getByText(/^At least 16 characters/).waitFor();
    await page.getByLabel('The secret that you enter at BuiltByBit').fill('hunter2');
    await page.getByRole('button', { name: 'Store' }).click();
    await page.getByText(/must have at least 16 characters: choose a longer one/i).waitFor();
    expectFailure(/^400 PUT \/api\/v2\/markets\/\d+/);
    await licet.markets.update(id, { secrets: ['a-secret-of-sixteen'] });
    // More than 60 of them are in one hour, on a slow machine, too.
    const statuses: number[] = [];
    while (statuses.at(-1) !== 429 && statuses.length < 122) {
      statuses.push(await download(addresses[0] ?? '', { secret: 'wrong' }));
    }
    // The event is stored after the response.
    await expect
      .poll(() => licet.events.list({ type: 'market.guessed' }))
      .toMatchObject([{ resourceId: id }]);
    const overview = await openConsole('/');
    await overview.getByText('Too many requests to its address had a wrong secret').waitFor();
    await overview.getByRole('link', { name: 'Open market' }).click();
    await overview.getByRole('heading', { name: 'Bits' }).waitFor();
  });

  it('a shop without a preset is added with settings of its own, whose faults are named', async () => {
    const page = await openConsole('/markets?open=new');
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Market', { exact: true }).selectOption('Another shop');
    const settings = dialog.getByLabel('How its requests are read');
    await settings.fill('{');
    await dialog.getByRole('button', { name: 'Add market' }).click();
    await dialog.getByText(/must be an object/i).waitFor();
    const sent = { signature: { kind: 'secret', header: 'X-Key' }, item: 'product', line: 'id' };
    await settings.fill(JSON.stringify(sent));
    await dialog.getByRole('button', { name: 'Add market' }).click();
    await page.getByRole('heading', { name: 'Another shop' }).waitFor();
    expect(await licet.markets.list()).toMatchObject([{ kind: 'dynamic', settings: sent }]);
    expectFailure(/^400 POST \/api\/v2\/markets/);
  });

  it('a market is edited and deleted, and a token that may not change it sees no address', async () => {
    const { id } = await licet.markets.create({ kind: 'stripe', name: 'Cards' });
    const page = await openConsole(`/markets/${id}/edit`);
    await page.getByLabel('After a dispute or chargeback').selectOption('wait');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Deactivate when it is lost', { exact: true }).waitFor();
    expect(await licet.markets.get(id)).toMatchObject({ onDispute: 'wait' });
    const reader = await openConsole(`/markets/${id}`, { token: await tokenWith('ALL_READ') });
    await reader.getByText('Only a token that may change everything').waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('Cards deleted').waitFor();
    expect(await licet.markets.list()).toEqual([]);
    expectFailure(/^404 GET \/api\/v2\/markets\/\d+/);
  });
});
