/** @module-tag long */

import { Licet } from '@licet/client';
import { expect, it } from 'vitest';
import { sharedService } from '../shared-service.ts';
import {
  accessibilityFindings,
  cutCells,
  describeInBrowser,
  licet,
  newLicense,
  openConsole,
  product,
  tokenWith,
} from './console.ts';

/** The screen of events, and the events of a license, by role and label. */

describeInBrowser('the events in the console', () => {
  it('the events of an object show the sender of each change, and open with each field before and after', async () => {
    await licet.products.update(product.id, { defaultMaxIPs: 7, description: '<b>text</b>' });
    const page = await openConsole(`/events?resourceType=product&resourceId=${product.id}`);
    const rows = page.getByRole('table', { name: 'Events' }).getByRole('row');
    const changed = rows.filter({ hasText: 'Product changed' });
    await changed.getByText('Default address limit: 5 → 7').waitFor();
    await changed.getByText('Root token', { exact: true }).waitFor();
    await changed.getByRole('link', { name: product.name }).waitFor();
    await rows.filter({ hasText: 'Product created' }).waitFor();
    await changed.getByRole('link').first().click();
    const dialog = page.getByRole('dialog', { name: 'Product changed' });
    await dialog.getByRole('row', { name: 'Default address limit 5 7' }).waitFor();
    await dialog.getByText('<b>text</b>').waitFor();
    expect(new URL(page.url()).searchParams.get('open')).toMatch(/^\d+$/);
    await page.reload();
    await dialog.waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
  });

  it('each event fits its line: several entitlements, a product of a market that has changed, a long token', async () => {
    const { token } = await licet.tokens.create({
      name: 'Seventeen letters',
      intents: ['ALL_READ_WRITE'],
    });
    const page = await openConsole('/events', { token });
    const mapped = { productId: product.id, licenseType: 'PERMANENT' } as const;
    const guard = { ...mapped, item: 'guard' };
    const { id } = await licet.markets.create({
      kind: 'stripe',
      name: 'Stripe',
      products: [guard, { ...mapped, item: 'gone' }, { ...mapped, item: 'kept' }],
    });
    const entitlements = { edition: 'gold', max_players: 20 };
    await licet.markets.update(id, {
      products: [
        { ...mapped, item: 'kept' },
        { ...mapped, item: 'new' },
        { ...guard, entitlements },
      ],
    });
    await licet.products.update(product.id, { entitlements });
    const row = page.getByRole('row');
    await page.goto(`/console/events?resourceType=market&resourceId=${id}`);
    await row.getByText('Products: guard changed, −gone, +new').waitFor();
    await page.goto(`/console/events?resourceType=product&resourceId=${product.id}`);
    await row.getByText(/^Entitlements: (.*→ )?edition = gold, max_players = 20$/).waitFor();
    await page.goto('/console/events?type=session.created');
    await row.filter({ hasText: 'Seventeen letters (console)' }).first().waitFor();
    for (const width of [1280, 768]) {
      await page.setViewportSize({ width, height: 900 });
      expect(await cutCells(page), `at ${width} px`).toEqual([]);
    }
  });

  it('filters of events by type, object, token and day stay in the address', async () => {
    const { token, id } = await licet.tokens.create({
      name: `Events ${crypto.randomUUID()}`,
      intents: ['ALL_READ_WRITE'],
    });
    const page = await openConsole('/events', { token });
    await page.getByLabel('By', { exact: true }).selectOption(String(id));
    // Two rows: the headings, and the log-in of this test.
    await expect.poll(() => page.getByRole('row').count()).toBe(2);
    await page.getByRole('row').filter({ hasText: '(console)' }).getByText('Logged in').waitFor();
    await page.getByLabel('Event', { exact: true }).selectOption('Product created');
    await page.getByText('Nothing matches').waitFor();
    await page.getByRole('main').getByRole('link', { name: 'Clear the filters' }).last().click();
    await page.getByLabel('Object', { exact: true }).selectOption('Product');
    await page.getByRole('row').filter({ hasText: 'Product created' }).first().waitFor();
    await page.getByLabel('To', { exact: true }).fill('2020-01-31');
    await page.getByText('Nothing matches').waitFor();
    expect(new URL(page.url()).search).toBe('?resourceType=product&to=2020-01-31');
    expect(await accessibilityFindings(page)).toEqual([]);
  });

  it('older events are on further pages, and Back returns to the newer ones', async () => {
    const { token, id } = await licet.tokens.create({ name: 'Many', intents: ['ALL_READ_WRITE'] });
    const own = new Licet({ url: await sharedService(), token });
    const { id: productId } = await own.products.create({ name: 'Many', productType: 'OTHER' });
    const license = { productId, licenseType: 'PERMANENT' } as const;
    await Promise.all(Array.from({ length: 51 }, () => own.licenses.create(license)));
    const page = await openConsole(`/events?tokenId=${id}`);
    await page.getByRole('link', { name: 'Next' }).click();
    await page.getByRole('row').filter({ hasText: 'Product created' }).waitFor();
    await page.goBack();
    await page.getByRole('link', { name: 'Next' }).waitFor();
  });

  it('a license shows its own events to a token that may read all, and to no other', async () => {
    const license = await newLicense({ ips: ['192.0.2.1', '192.0.2.2'], maxIPs: 2 });
    await licet.licenses.update(license.id, { ips: ['192.0.2.2'] });
    const path = `/licenses/${license.id}`;
    const page = await openConsole(path, { token: await tokenWith('ALL_READ') });
    const freed = page.getByRole('region', { name: 'Events' }).getByRole('row').nth(1);
    await freed.getByText('Slots freed').waitFor();
    await freed.getByText('Addresses: −192.0.2.1').waitFor();
    const other = await openConsole(path, { token: await tokenWith('LICENSES_READ') });
    await other.getByRole('region', { name: 'Details' }).waitFor();
    expect(await other.getByRole('region', { name: 'Events' }).count()).toBe(0);
    await other.goto('/console/events');
    await other.getByText('needs the permission “Read everything”').waitFor();
  });
});
