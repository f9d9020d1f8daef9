/** @module-tag long */

import { expect, it, vi } from 'vitest';
import { sharedService } from '../shared-service.ts';
import {
  accessibilityFindings,
  describeInBrowser,
  licet,
  newLicense,
  openConsole,
  PHONE,
  product,
  tokenWith,
} from './console.ts';

/** The history, and the buttons that fix its refusals. */

/** The time after which the page asks for new requests. */
const POLL_MS = 5_000;

describeInBrowser('the history in a browser', () => {
  /** Validates like a program, and waits for the record in the history. */
  async function validate(values: { licenseKey: string; ip?: string; productId?: number }) {
    const { licenseKey } = values;
    const recorded = async () => (await licet.requests.list({ licenseKey })).length;
    const before = await recorded();
    await fetch(`${await sharedService()}/api/v1/validate`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ productId: product.id, ...values }),
    });
    await vi.waitFor(async () => expect(await recorded()).toBeGreaterThan(before), 20_000);
  }

  it('a new request appears by itself, and after a pause with one click', async () => {
    const { licenseKey } = await newLicense();
    const page = await openConsole(`/history?productId=${product.id}&licenseKey=${licenseKey}`, {
      hasClock: true,
    });
    await page.getByText('Nothing matches').waitFor();
    await validate({ licenseKey });
    await page.clock.fastForward(POLL_MS);
    await page.getByRole('cell', { name: 'Valid', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('button', { name: 'Resume' }).click();
    await validate({ licenseKey });
    await page.clock.fastForward(POLL_MS);
    await page.getByText('2 requests').waitFor();
  });

  it('new requests wait behind a button while one is open', async () => {
    const { licenseKey } = await newLicense();
    await validate({ licenseKey });
    const page = await openConsole(`/history?licenseKey=${licenseKey}`, { hasClock: true });
    const rows = page.getByRole('table', { name: 'History' }).getByRole('row');
    await rows.nth(1).getByRole('link').click();
    const pane = page.getByRole('region', { name: 'Request' });
    await pane.getByText(licenseKey).waitFor();
    // Fails if the head of the table lies over the pane.
    await pane.getByRole('button', { name: 'Close' }).click({ trial: true });
    await validate({ licenseKey });
    await page.clock.fastForward(POLL_MS);
    await page.getByRole('button', { name: '1 new request' }).waitFor();
    expect(await rows.count()).toBe(2);
    await page.getByRole('button', { name: '1 new request' }).click();
    await rows.nth(2).waitFor();
    await page.keyboard.press('Escape');
    await pane.waitFor({ state: 'detached' });
  });

  it('the refusal of an expired license is fixed with one click, which can be undone', {
    tags: 'short',
  }, async () => {
    const expiryDate = new Date(Date.now() - 86_400_000).toISOString();
    const { id, licenseKey } = await newLicense({ licenseType: 'TEMPORARY', expiryDate });
    await validate({ licenseKey });
    const page = await openConsole(`/history?licenseKey=${licenseKey}`);
    await page.getByRole('button', { name: 'Extend by 30 days' }).click();
    await page.getByText('License extended by 30 days. Programs usually notice').waitFor();
    expect((await licet.licenses.get(id)).licenseStatus).toBe('ACTIVE');
    await page.getByRole('button', { name: 'Undo' }).click();
    await vi.waitFor(
      async () => expect((await licet.licenses.get(id)).licenseStatus).toBe('EXPIRED'),
      20_000,
    );
  });

  it('a refusal without a free slot links to the slots, and can raise the limit', async () => {
    const { id, licenseKey } = await newLicense({ ips: ['192.0.2.1'], maxIPs: 1 });
    await validate({ licenseKey, ip: '192.0.2.2' });
    const page = await openConsole(`/history?licenseKey=${licenseKey}`);
    await page.getByRole('table').getByRole('link', { name: /:/ }).first().click();
    await page.getByRole('button', { name: 'Allow one more' }).click();
    await page.getByText(`${licenseKey.slice(0, 4)}…: 2 addresses now.`).waitFor();
    expect((await licet.licenses.get(id)).maxIPs).toBe(2);
    // The button in the row is covered by the open request.
    const pane = page.getByRole('region', { name: 'Request' });
    await pane.getByRole('link', { name: 'Free a slot' }).click();
    await page.getByText('1 of 2 bound').waitFor();
  });

  it('the page of a license begins with its latest request, and fixes the refusal', async () => {
    const { id, licenseKey } = await newLicense({ ips: ['192.0.2.1'], maxIPs: 1, maxHWIDs: -1 });
    await validate({ licenseKey, ip: '192.0.2.1' });
    await validate({ licenseKey, ip: '192.0.2.2' });
    const page = await openConsole(`/licenses/${id}`);
    const verdict = page.getByRole('region', { name: 'Latest request' });
    await verdict.getByText('refused, no free address slot').waitFor();
    const installations = page.getByRole('region', { name: 'Installations' }).getByRole('row');
    await installations
      .filter({ hasText: '192.0.2.2' })
      .getByText('No free address slot')
      .waitFor();
    await installations.filter({ hasText: '192.0.2.1' }).getByText('Bound').waitFor();
    await page.getByText('No limit, so hardware IDs are not bound.').waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
    const history = page.getByRole('region', { name: 'History' });
    await history.getByRole('row').nth(1).getByRole('link').click();
    const request = page.getByRole('dialog', { name: 'Request' });
    await request.getByText('All address slots').waitFor();
    await page.keyboard.press('Escape');
    await request.waitFor({ state: 'hidden' });
    await verdict.getByRole('button', { name: 'Allow one more' }).click();
    await verdict.getByText('The cause is fixed.').waitFor();
    expect((await licet.licenses.get(id)).maxIPs).toBe(2);
    await page.getByRole('button', { name: 'Free 192.0.2.1' }).click();
    await page.getByText('Nothing is bound now. The next valid request').waitFor();
    await page.getByRole('link', { name: product.name }).click();
    await page.getByRole('heading', { name: product.name }).waitFor();
  });

  it('an address that sends many unknown keys is blocked from its refusal', async () => {
    const ip = '192.0.2.210';
    for (const n of [1, 2, 3]) await validate({ licenseKey: `GUESS-${product.id}-${n}`, ip });
    const page = await openConsole(`/history?ip=${ip}&valid=false`);
    await page
      .getByRole('button', { name: `Block ${ip}` })
      .first()
      .click();
    await page.getByRole('dialog').getByRole('button', { name: 'Block', exact: true }).click();
    await page.getByText(`${ip} blocked`).waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await vi.waitFor(
      async () => expect(await licet.blacklists.list({ q: ip })).toEqual([]),
      20_000,
    );
  });

  it('a token that may only read the history sees no button that fixes a refusal', async () => {
    const { licenseKey, id } = await newLicense();
    await licet.licenses.update(id, { licenseStatus: 'DEACTIVATED' });
    await validate({ licenseKey });
    const token = await tokenWith('REQUESTS_READ');
    const page = await openConsole(`/history?licenseKey=${licenseKey}`, { token });
    await page.getByText('License deactivated').waitFor();
    expect(await page.getByRole('button', { name: 'Reactivate' }).count()).toBe(0);
  });

  it('the history is accessible, also with an open request on a phone', async () => {
    const { licenseKey } = await newLicense();
    await validate({ licenseKey, ip: '192.0.2.3' });
    const page = await openConsole(`/history?licenseKey=${licenseKey}`);
    await page.getByRole('cell', { name: 'Valid', exact: true }).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'Request' }).getByText('may run').waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
    await page.setViewportSize(PHONE);
    await page.getByRole('dialog', { name: 'Request' }).getByText('may run').waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
  });
});
