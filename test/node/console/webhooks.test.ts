/** @module-tag long */

import { DatabaseSync } from 'node:sqlite';
import { Licet } from '@licet/client';
import { HOUR_MS } from '@licet/contract/durations';
import { EVENT_GROUPS, type EventType, SERVICE_EVENT_TYPES } from '@licet/contract/enums';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { databaseFile, migrate } from '../../../scripts/local/database.ts';
import { firstIdAt } from '../../../src/lib/time-id.ts';
import { listen, ownFolder } from '../own.ts';
import { type RunningService, startService } from '../service.ts';
import {
  accessibilityFindings,
  describeInBrowser,
  expectFailure,
  openConsole,
  PHONE,
  rootToken,
} from './console.ts';

/**
 * Webhooks and alerts in the console, at a service of its own: it may send to this machine, and has events of the
 * service for licenses that the tests create.
 */

const ALERTS = [
  ['license.limit_reached', 'license', 1, { ip: '203.0.113.77' }],
  ['license.many_addresses', 'license', 2, { addresses: 14 }],
  ['blacklist.hit', 'license', 3, { ip: '198.51.100.23', blockReason: 'Leaked key' }],
  ['license.expired', 'license', 4, { expiryDate: '2026-01-01T00:00:00.000+00:00' }],
  ['license.first_used', 'license', 5, {}],
  ['webhook.disabled', 'webhook', 99, { reason: 'No delivery has succeeded for five days' }],
  // The same again, a day before, and one that is too old.
  ['license.limit_reached', 'license', 1, { ip: '203.0.113.76' }, 25 * HOUR_MS],
  ['license.many_addresses', 'license', 5, { addresses: 11 }, 8 * 24 * HOUR_MS],
] as const satisfies readonly (readonly [EventType, ...unknown[]])[];

function insertAlerts(folder: string): void {
  const database = new DatabaseSync(databaseFile(folder));
  const insert = database.prepare(
    `insert into events (id, type, is_console, resource_type, resource_id, changes, actor)
     values (?, ?, 0, ?, ?, ?, 'service')`,
  );
  for (const [index, [type, resource, id, values, ago = 0]] of ALERTS.entries()) {
    const changes = Object.entries(values).map(([field, after]) => [
      field,
      { before: null, after },
    ]);
    const time = Date.now() - ago - (index + 1) * HOUR_MS;
    const stored = JSON.stringify(Object.fromEntries(changes));
    insert.run(firstIdAt(time), type, resource, id, stored);
  }
  database.close();
}

describeInBrowser('webhooks in the console', () => {
  const folder = ownFolder();
  let service: RunningService;
  let licet: Licet;
  /** The messages that the receiver has got. */
  const received: { path: string; type: string; headers: object }[] = [];
  let isDown = false;
  let receiver = '';

  beforeAll(async () => {
    migrate(folder);
    insertAlerts(folder);
    receiver = await listen(async (request, response) => {
      const chunks = await Array.fromAsync(request);
      const { type } = JSON.parse(Buffer.concat(chunks).toString());
      received.push({ path: request.url ?? '', type, headers: request.headers });
      response.statusCode = isDown ? 503 : 200;
      response.end(isDown ? 'Down for maintenance' : '{"received":true}');
    });
    service = await startService(folder, ['--var', 'OUTBOUND_PRIVATE:true']);
    licet = new Licet({ url: service.address, token: rootToken() });
    const { id: productId } = await licet.products.create({ name: 'Shop', productType: 'OTHER' });
    for (const id of [1, 2, 3, 4, 5]) {
      const made = await licet.licenses.create({
        productId,
        maxIPs: 1,
        ips: ['203.0.113.1'],
        ...(id === 4
          ? { licenseType: 'TEMPORARY', expiryDate: '2026-01-01T00:00:00.000+00:00' }
          : { licenseType: 'PERMANENT' }),
      });
      expect(made.id).toBe(id);
    }
  }, 60_000);
  afterEach(async () => {
    for (const { id } of await licet.webhooks.list()) await licet.webhooks.delete(id);
  });
  afterAll(() => service?.stop());

  const open = (path: string, token = rootToken()): Promise<Page> =>
    openConsole(path, { token, own: { baseURL: service.address } });
  const reader = async (): Promise<string> =>
    (await licet.tokens.create({ name: 'Reader', intents: ['ALL_READ'] })).token;
  const deliveriesIn = (page: Page) =>
    page.getByRole('region', { name: 'Deliveries' }).getByRole('row');

  it('a first webhook is added, shows its secret once, and is tested at once', async () => {
    const other = await open('/webhooks', await reader());
    await other.getByText('No webhooks yet').waitFor();
    expect(await other.getByRole('link', { name: 'Add webhook' }).count()).toBe(0);
    const page = await open('/webhooks');
    await page.getByRole('main').getByRole('link', { name: 'Add webhook' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('URL').fill(`${receiver}/shop`);
    await dialog.getByText('Your own server', { exact: true }).waitFor();
    await dialog.getByLabel('Description').fill('Shop server');
    await dialog.getByLabel('Log-ins').uncheck();
    expect(await accessibilityFindings(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Add webhook' }).click();
    const secret = await dialog.getByRole('status', { name: 'Secret' }).textContent();
    expect(secret).toMatch(/^whsec_/);
    expect(await dialog.getByRole('link').getAttribute('href')).toBe('/docs/webhooks');
    await dialog.getByRole('button', { name: 'Send a test' }).click();
    await dialog.getByText('The message arrived.').waitFor();
    await dialog.getByText('"received": true').waitFor();
    const ping = received.find(({ path, type }) => path === '/shop' && type === 'ping');
    expect(ping?.headers).toMatchObject({ 'webhook-id': expect.stringMatching(/^msg_\d+$/) });
    await dialog.getByRole('button', { name: 'I have copied it' }).click();
    await page.getByRole('heading', { name: 'Shop server' }).getByText('Working').waitFor();
    await deliveriesIn(page).filter({ hasText: 'Test' }).getByText('Delivered').waitFor();
    expect(await page.getByText(secret ?? '').count()).toBe(0);
    expect(await accessibilityFindings(page)).toEqual([]);
    const [webhook] = await licet.webhooks.list();
    // A group of one type is sent as that type.
    const single: Record<string, string> = {
      'settings.*': 'settings.updated',
      'mail.*': 'mail.failed',
    };
    const groups = EVENT_GROUPS.filter((group) => group !== 'session.*');
    expect(webhook?.types).toEqual(groups.map((group) => single[group] ?? group));
    await page.getByRole('button', { name: 'New secret' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'New secret' }).click();
    expect(await page.getByRole('status', { name: 'Secret' }).textContent()).not.toBe(secret);
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No webhooks yet').waitFor();
  });

  it('the URL of a Discord channel is recognized, and needs no secret', async () => {
    const page = await open('/webhooks?open=new');
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Add webhook' }).click();
    await dialog.getByText('Fill this in.').waitFor();
    await dialog.getByLabel('URL').fill('https://discord.com/api/webhooks/1/***');
    await dialog.getByText('Discord channel', { exact: true }).waitFor();
    await dialog.getByRole('button', { name: 'Add webhook' }).click();
    await dialog.getByText('Must be the whole URL: copy it again.').waitFor();
    await dialog.getByLabel('URL').fill('https://discord.com/api/webhooks/1/secret_Token-1');
    await dialog.getByText('Must be the whole URL: copy it again.').waitFor({ state: 'detached' });
    await dialog.getByText('Discord channel', { exact: true }).waitFor();
    await dialog.getByRole('button', { name: 'Alerts only' }).click();
    await dialog.getByLabel('Alerts', { exact: true }).uncheck();
    await dialog.getByRole('button', { name: 'Add webhook' }).click();
    await dialog.getByText('Choose at least one.').waitFor();
    await dialog.getByLabel('Alerts', { exact: true }).check();
    await dialog.getByText('More: single events').click();
    await dialog.getByLabel('License first used').uncheck();
    await dialog.getByText('Your own choice.').waitFor();
    await dialog.getByLabel('Switched on').uncheck();
    await dialog.getByRole('button', { name: 'Add webhook' }).click();
    await dialog.getByRole('button', { name: 'Send a test' }).waitFor();
    expect(await dialog.getByRole('status', { name: 'Secret' }).count()).toBe(0);
    await dialog.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('heading', { name: 'Discord channel' }).getByText('Off').waitFor();
    expect(await page.getByRole('button', { name: 'New secret' }).count()).toBe(0);
    const [webhook] = await licet.webhooks.list();
    expect(webhook).toMatchObject({ format: 'discord', enabled: false });
    expect(webhook?.types.toSorted()).toEqual(
      SERVICE_EVENT_TYPES.filter((type) => type !== 'license.first_used').toSorted(),
    );
    // The shown URL stands for the stored one, and another one is of another kind.
    await page.getByRole('link', { name: 'Edit' }).click();
    await page.getByLabel('Description').fill('Team');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'Team' }).waitFor();
    expect(await licet.webhooks.get(webhook?.id ?? 0)).toMatchObject({ format: 'discord' });
    await page.getByRole('link', { name: 'Edit' }).click();
    await page.getByLabel('URL').fill(`${receiver}/team`);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'New secret' }).waitFor();
    expect(await licet.webhooks.get(webhook?.id ?? 0)).toMatchObject({ format: 'standard' });
    await page.getByRole('button', { name: 'Switch on' }).click();
    await page.getByRole('heading', { name: 'Team' }).getByText('No delivery yet').waitFor();
    // An event does not have the whole URL.
    await page.goto(`/console/events?resourceType=webhook&resourceId=${webhook?.id}`);
    // This event has no name of the webhook.
    const moved = page.getByRole('row').filter({ hasText: 'URL: Changed' });
    await moved.getByRole('link', { name: 'Team' }).waitFor();
    for (const [text, restores] of [
      ['Description: Team', 1],
      ['URL: Changed', 0],
    ] as const) {
      const changed = page.getByRole('row').filter({ hasText: text, hasNotText: 'created' });
      await changed.getByRole('link').first().click();
      const event = page.getByRole('dialog', { name: 'Webhook changed' });
      await event.getByText('All events of this object').waitFor();
      expect(await event.getByRole('button', { name: 'Restore' }).count()).toBe(restores);
      await event.getByRole('button', { name: 'Close' }).click();
    }
  });

  it('a failed delivery says why in words, and is sent again', async () => {
    isDown = true;
    const { id } = await licet.webhooks.create({ url: `${receiver}/down`, types: ['product.*'] });
    const path = `/webhooks/${id}`;
    await licet.products.create({ name: 'Sent again', productType: 'OTHER' });
    const page = await open(path);
    const row = deliveriesIn(page).filter({ hasText: 'Product created' });
    await row.getByText('Waiting').waitFor();
    await page.getByRole('heading').getByText('Failing').waitFor();
    await page.getByText('Messages have failed since').waitFor();
    await row.getByRole('link', { name: 'Sent again' }).waitFor();
    await row.getByRole('link').first().click();
    const dialog = page.getByRole('dialog', { name: 'Delivery' });
    await dialog.getByText('The server failed. Its log has the reason.').waitFor();
    await dialog.getByText('Down for maintenance').waitFor();
    await dialog.getByRole('region', { name: 'Message' }).getByText('"product.created"').waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
    isDown = false;
    await dialog.getByRole('button', { name: 'Send again' }).click();
    await dialog.getByText('The message arrived.').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await row.getByText('Delivered').waitFor();
    await page.getByRole('heading').getByText('Working').waitFor();
    await page.getByLabel('State of deliveries').selectOption('Failed');
    await page.getByText('No delivery is in this state.').waitFor();
    await page.setViewportSize(PHONE);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
    // A reader sees neither the response nor a button that works.
    const other = await open(path, await reader());
    await deliveriesIn(other).getByRole('link').first().click();
    await other.getByRole('dialog').getByText('"product.created"').first().waitFor();
    expect(await other.getByRole('heading', { name: 'Response' }).count()).toBe(0);
    const again = other.getByRole('button', { name: 'Send again' });
    expect(await again.getAttribute('aria-disabled')).toBe('true');
  });

  it('older deliveries load below the newer ones', async () => {
    const { id } = await licet.webhooks.create({ url: `${receiver}/many`, types: ['customer.*'] });
    await Promise.all(Array.from({ length: 21 }, () => licet.customers.create({ firstName: 'A' })));
    const page = await open(`/webhooks/${id}`);
    await expect.poll(() => deliveriesIn(page).count()).toBe(21);
    await page.getByRole('button', { name: 'Load older' }).click();
    await expect.poll(() => deliveriesIn(page).count()).toBe(22);
    expect(await page.getByRole('button', { name: 'Load older' }).count()).toBe(0);
  });

  it('the overview shows the latest alerts, each with its fix', async () => {
    const page = await open('/licenses', await reader());
    const url = 'https://hook.example/';
    const webhook = { id: 99, url, format: 'standard', description: '', enabled: false };
    await page.route('**/api/v2/webhooks', (route) => route.fulfill({ json: [webhook] }));
    await page.goto('/console/');
    const alerts = page.getByRole('region', { name: 'Worth a look' });
    const line = (text: string) => alerts.getByRole('listitem').filter({ hasText: text });
    const [one] = await licet.licenses.list({ limit: 1 });
    await line('No free slot').getByText('refused 203.0.113.77').waitFor();
    await line('No free slot')
      .getByRole('link', { name: `…${one?.licenseKey.slice(-4)}` })
      .waitFor();
    expect(await alerts.getByRole('listitem').count()).toBe(6);
    for (const [text, label, href] of [
      ['203.0.113.77', 'Free a slot', '/console/licenses/1#slots'],
      ['used from 14 addresses', 'Installations', '/console/licenses/2#installations'],
      ['refused a program from 198.51.100.23: Leaked key', 'See requests', '/console/history?'],
      ['succeeded for five days', 'Open webhook', '/console/webhooks/99'],
    ] as const) {
      const link = line(text).getByRole('link', { name: label });
      await link.waitFor();
      expect(await link.getAttribute('href')).toContain(href);
    }
    await line('License first used').waitFor();
    await line('succeeded for five days').getByRole('link', { name: 'hook.example' }).waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
    await page.setViewportSize(PHONE);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
    const extend = line('License expired').getByRole('button', { name: 'Extend' });
    expect(await extend.getAttribute('aria-disabled')).toBe('true');
    await licet.licenses.update(1, { maxIPs: 2 });
    const admin = await open('/');
    const fixed = admin.getByRole('region', { name: 'Worth a look' }).getByRole('listitem');
    await fixed.filter({ hasText: 'No free slot' }).getByText('Fixed since').waitFor();
    const expired = fixed.filter({ hasText: 'License expired' });
    await expired.getByRole('button', { name: 'Extend' }).click();
    await admin.getByRole('dialog').getByRole('button', { name: 'Extend 1 license' }).click();
    await expired.getByText('Fixed since').waitFor();
    const { token } = await licet.tokens.create({ name: 'History', intents: ['REQUESTS_READ'] });
    const other = await open('/', token);
    await other.getByRole('region', { name: 'Validations by outcome' }).waitFor();
    expect(await other.getByRole('region', { name: 'Worth a look' }).count()).toBe(0);
  });

  it('events of the service have their own filter, name Licet, and offer no undo', async () => {
    const page = await open('/events', await reader());
    await page.getByLabel('By', { exact: true }).selectOption('Licet itself');
    const rows = page.getByRole('table', { name: 'Events' }).getByRole('row');
    // With the headings.
    await expect.poll(() => rows.count()).toBe(ALERTS.length + 1);
    expect(new URL(page.url()).search).toBe('?actor=service');
    const off = rows.filter({ hasText: 'Webhook switched off' });
    expect(await off.getByRole('link', { name: 'Webhook 99' }).getAttribute('href')).toBe(
      '/console/webhooks/99',
    );
    await rows.filter({ hasText: '203.0.113.77' }).getByRole('link').first().click();
    const dialog = page.getByRole('dialog', { name: 'No free slot' });
    await dialog.getByText('203.0.113.77').waitFor();
    await dialog.getByText('Licet', { exact: true }).waitFor();
    expect(await dialog.getByRole('button', { name: 'Restore' }).count()).toBe(0);
    expect(await accessibilityFindings(page)).toEqual([]);
    await page.goto('/console/licenses/2');
    const own = page.getByRole('region', { name: 'Events' }).getByRole('row');
    await own.filter({ hasText: 'Many addresses' }).getByText('Addresses in 24 hours').waitFor();
    const mine = await open('/changes');
    await mine.getByRole('list', { name: 'Your latest changes' }).waitFor();
    expect(await mine.getByText('No free slot', { exact: true }).count()).toBe(0);
  });

  it('a webhook that does not exist, and a token without the right, get an explanation', async () => {
    expectFailure(/^404 GET \/api\/v2\/webhooks\/4711$/);
    const page = await open('/webhooks/4711');
    await page.getByText('There is nothing here').waitFor();
    const { token } = await licet.tokens.create({ name: 'Support', intents: ['LICENSES_READ'] });
    const other = await open('/webhooks', token);
    await other.getByText('needs the permission “Read everything”').waitFor();
  });
});
