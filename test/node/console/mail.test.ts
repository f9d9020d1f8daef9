/** @module-tag long */

import { type ApiIntent, Licet } from '@licet/client';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Received, startSmtp } from '../fake-smtp.ts';
import { ownFolder } from '../own.ts';
import { type RunningService, startService } from '../service.ts';
import { sharedService } from '../shared-service.ts';
import {
  accessibilityFindings,
  describeInBrowser,
  expectFailure,
  newPage,
  openConsole,
  PHONE,
  rootToken,
} from './console.ts';

/** Mails in the console and on the customer's page, at a service of its own with a mail server on this machine. */

const WIDTHS = [1280, 768, 360];

describeInBrowser('mails in the console', () => {
  const folder = ownFolder();
  let service: RunningService;
  let licet: Licet;
  let received: Received[];
  let productId: number;

  beforeAll(async () => {
    const smtp = await startSmtp({
      disabledCommands: ['AUTH', 'STARTTLS'],
      onRcptTo({ address }, _session, done) {
        const isGone = address.startsWith('gone');
        done(isGone ? Object.assign(new Error('No such user'), { responseCode: 550 }) : null);
      },
    });
    received = smtp.received;
    service = await startService(folder, [
      ...['--var', `MAIL:smtp://localhost:${smtp.port}`],
      ...['--var', 'MAIL_FROM:Ada Games <keys@shop.example>'],
    ]);
    licet = new Licet({ url: service.address, token: rootToken() });
    ({ id: productId } = await licet.products.create({ name: 'Guard', productType: 'OTHER' }));
  });
  afterAll(() => service?.stop());

  const open = (path: string, token?: string): Promise<Page> =>
    openConsole(path, { own: { baseURL: service.address }, ...(token && { token }) });

  const tokenOf = async (...intents: ApiIntent[]): Promise<string> =>
    (await licet.tokens.create({ name: 'Team', intents })).token;

  const sell = (customerEmail?: string) =>
    licet.licenses.create({
      productId,
      licenseType: 'PERMANENT',
      ...(customerEmail !== undefined && { customerEmail }),
    });

  const mailTo = (address: string): Received | undefined =>
    received.find(({ to }) => to.includes(address));

  const confirm = (page: Page, name: string): Promise<void> =>
    page.getByRole('alertdialog').getByRole('button', { name }).click();

  const toast = (page: Page) => page.getByRole('region', { name: 'Notifications' });

  /** Looks at a screen in all its widths. */
  async function expectFits(page: Page): Promise<void> {
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 800 });
      const scrollWidth = await page.evaluate('document.documentElement.scrollWidth');
      expect(scrollWidth, `at ${width} px`).toBe(width);
    }
    expect(await accessibilityFindings(page, true)).toEqual([]);
  }

  it('the settings lead to the sender; a test arrives, and a kind and a language are switched', async () => {
    const page = await open('/settings');
    const summary = page.getByRole('region', { name: 'E-mail' });
    await summary.getByText('Ready, nothing switched on').waitFor();
    await summary.getByRole('link').click();
    await page.getByText(/Ada Games.*<keys@shop\.example>/).waitFor();
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByText('Fill this in.').waitFor();
    await page.getByLabel('Address for a test').fill('me@shop.example');
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByText('The mail server has the mail.').waitFor();
    expect(mailTo('me@shop.example')).toBeDefined();
    await page.getByText('1 of 100 mails (UTC)').waitFor();
    await page.getByRole('row').filter({ hasText: 'Test' }).getByText('Sent').waitFor();
    const switches = page.getByRole('region', { name: 'Mails that are sent' });
    await switches.getByLabel('Link to the page').check();
    await switches.getByLabel('Reminder').check();
    await switches.getByLabel('Language').selectOption('Deutsch');
    await switches.getByRole('button', { name: 'Save' }).click();
    await expect
      .poll(() => licet.mailSettings.get())
      .toMatchObject({ kinds: ['link', 'expiring'], language: 'de' });
    await page.getByText('Customers get the mails that are switched on.').waitFor();
    await expectFits(page);
  });

  it('a text is previewed while it is typed, in a frame in which nothing runs, and saved', async () => {
    const page = await open('/settings/mail');
    const texts = page.getByRole('region', { name: 'Texts' });
    await texts.getByLabel('Language').selectOption('English');
    const subject = texts.getByLabel('Subject');
    expect(await subject.getAttribute('placeholder')).toBe('Your license key for {product}');
    await subject.fill('Your key for {product} <b>');
    await texts.getByLabel('Greeting').fill('Ahoi {name},\n<script>top.location="/"</script>');
    const preview = texts.getByRole('region', { name: 'Preview' });
    await preview.getByText(/^Your key for .* <b>$/).waitFor();
    const frame = preview.locator('iframe');
    const mail = page.frames().find((one) => one.parentFrame() !== null);
    if (!mail) throw new Error('There is no frame');
    await mail.getByText('<script>top.location="/"</script>').waitFor();
    // Styles of the mail are shown, and nobody can press its links.
    expect(
      await mail.evaluate("getComputedStyle(document.querySelector('a')).backgroundColor"),
    ).not.toBe('rgba(0, 0, 0, 0)');
    expect(await frame.getAttribute('sandbox')).toBe('allow-same-origin');
    expect(await frame.getAttribute('inert')).not.toBeNull();
    await expect
      .poll(() => mail.evaluate('document.documentElement.scrollHeight - innerHeight'))
      .toBeLessThanOrEqual(0);
    await preview.getByText('As plain text').click();
    await preview.locator('pre').getByText('Ahoi').waitFor();
    // A kind has the placeholders that it has values for.
    expectFailure(/^400 POST \/api\/v2\/settings\/mail\/preview$/);
    expectFailure(/^400 PUT \/api\/v2\/settings\/mail$/);
    await texts.getByLabel('Closing').fill('{nobody}');
    await preview.getByText('{nobody}, which has no value in this mail').waitFor();
    await texts.getByRole('button', { name: 'Save' }).click();
    await texts.getByRole('alert').getByText('texts.en.key.closing').waitFor();
    await texts.getByLabel('Closing').fill('');
    await texts.getByRole('button', { name: 'Save' }).click();
    await expect
      .poll(async () => (await licet.mailSettings.get()).texts)
      .toEqual({
        en: {
          key: {
            subject: 'Your key for {product} <b>',
            greeting: 'Ahoi {name},\n<script>top.location="/"</script>',
          },
        },
      });
    await texts.getByLabel('Kind').selectOption('Link to the page');
    expect(await subject.inputValue()).toBe('');
    await texts.getByText('Placeholders: {name} {link}').waitFor();
    await expectFits(page);
  });

  it('a key is sent from its license after a question, a refused one says why, and is sent again', async () => {
    const { id, customer } = await sell('gone@shop.example');
    const page = await open(`/licenses/${id}`);
    await page.getByRole('button', { name: 'Send the key' }).click();
    await page.getByRole('alertdialog', { name: 'Send the key to gone@shop.example?' }).waitFor();
    await confirm(page, 'Send the key');
    await toast(page).getByText('The mail could not be sent.').waitFor();
    const mails = page.getByRole('region', { name: 'Mails' });
    await mails.getByText('Failed').waitFor();
    await mails.getByText('550').waitFor();
    // The message about the failure is gone.
    await page.reload();
    await mails.getByText('Failed').waitFor();
    await expectFits(page);
    await licet.customers.update(customer?.id ?? 0, { email: 'ada@shop.example' });
    const list = await open('/settings/mail?state=FAILED');
    const failed = list.getByRole('table', { name: 'Mails of the last 30 days' }).getByRole('row');
    await failed.filter({ hasText: 'License key' }).first().getByText('Failed').waitFor();
    await failed.getByRole('button', { name: 'Send again' }).first().click();
    await list.getByText('It goes to ada@shop.example.').waitFor();
    await confirm(list, 'Send again');
    await toast(list).getByText('The mail server has the mail.').waitFor();
    expect(mailTo('ada@shop.example')).toBeDefined();
    const section = list.getByRole('region', { name: 'Mails of the last 30 days' });
    await section.getByLabel('State').selectOption('Any state');
    await failed.getByText('Sent', { exact: true }).first().waitFor();
    await section.getByLabel('Kind').selectOption('Reminder');
    await section.getByText('No mail fits these filters.').waitFor();
    expect(new URL(list.url()).search).toBe('?kind=expiring');
    const overview = await open('/');
    const alert = overview.getByRole('region', { name: 'Worth a look' }).getByRole('listitem');
    await alert.filter({ hasText: 'Mail failed' }).getByRole('link').click();
    await overview.getByRole('heading', { name: 'ada@shop.example' }).waitFor();
  });

  it('a key is sent from the pane of its purchase, and the market has a switch', async () => {
    const { id: licenseId } = await sell('bob@shop.example');
    const market = await licet.markets.create({ kind: 'stripe', name: 'Cards' });
    const purchase = await licet.purchases.create({
      marketId: market.id,
      item: 'guard',
      reference: 'cs_1',
      licenseId,
    });
    const page = await open(`/purchases?open=${purchase.id}`);
    const pane = page.getByRole('region', { name: 'Purchase' });
    await pane.getByRole('button', { name: 'Send the key' }).click();
    await confirm(page, 'Send the key');
    await toast(page).getByText('The mail server has the mail.').waitFor();
    expect(mailTo('bob@shop.example')).toBeDefined();
    await page.goto(`/console/markets/${market.id}/edit`);
    const mailsKey = page.getByLabel('Send the key by e-mail');
    expect(await mailsKey.isChecked()).toBe(true);
    await mailsKey.uncheck();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'Cards' }).waitFor();
    expect((await licet.markets.get(market.id)).mailsKey).toBe(false);
  });

  it('the button names what is missing: the permission, or an e-mail', async () => {
    const { id } = await sell();
    const page = await open(`/licenses/${id}`);
    const button = page.getByRole('button', { name: 'Send the key' });
    expect(await button.getAttribute('title')).toContain('no owner with an e-mail');
    const { id: owned } = await sell('eve@shop.example');
    const reader = await open(`/licenses/${owned}`, await tokenOf('ALL_READ'));
    const refused = reader.getByRole('button', { name: 'Send the key' });
    expect(await refused.getAttribute('title')).toContain('“Manage licenses”');
    // A token of support reads neither settings nor mails, and sends keys.
    const support = await open(`/licenses/${owned}`, await tokenOf('LICENSES_READ_WRITE'));
    await support.getByRole('button', { name: 'Send the key' }).click();
    await confirm(support, 'Send the key');
    await toast(support).getByText('The mail server has the mail.').waitFor();
    expect(mailTo('eve@shop.example')).toBeDefined();
  });

  it('without MAIL there are a hint with the guide and no button, and with a fault its remedy', async () => {
    const page = await openConsole('/settings/mail');
    await page.getByText('Not set up').waitFor();
    const guide = page.getByRole('link', { name: 'Set up e-mail' });
    const guideUrl = new URL((await guide.getAttribute('href')) ?? '', service.address);
    expect((await fetch(guideUrl)).status).toBe(200);
    expect(await page.getByLabel('Address for a test').count()).toBe(0);
    const shared = new Licet({ url: await sharedService(), token: rootToken() });
    const [one] = await shared.licenses.list({ limit: 1 });
    if (one) {
      await page.goto(`/console/licenses/${one.id}`);
      await page.getByRole('heading', { name: one.licenseKey }).waitFor();
      expect(await page.getByRole('button', { name: 'Send the key' }).count()).toBe(0);
    }
    const json = { ...(await shared.mailSettings.get()), fault: 'MAIL_FROM must be set.' };
    await page.route('**/api/v2/settings/mail', (route) => route.fulfill({ json }));
    await page.goto('/console/settings/mail');
    await page.getByText('MAIL_FROM must be set.').waitFor();
    await page.getByText('Does not work').waitFor();
  });

  it('a customer asks for a link on the page without one: each e-mail gets the same words', async () => {
    await licet.mailSettings.update({ kinds: ['link'], language: 'en' });
    await sell('zoe@shop.example');
    expectFailure(/^401 GET \/my\/licenses$/);
    const page = await newPage({
      own: { baseURL: service.address, locale: 'fr-FR' },
      viewport: PHONE,
    });
    // Settings reach an isolate within its seconds.
    await expect
      .poll(
        async () => {
          await page.goto('/my');
          return page.getByLabel('L’adresse e-mail de votre achat').count();
        },
        { timeout: 60_000, interval: 2_000 },
      )
      .toBe(1);
    const field = page.getByLabel('L’adresse e-mail de votre achat');
    expect(await field.getAttribute('autocomplete')).toBe('email');
    const sent = page.getByRole('status');
    const submit = page.getByRole('button', { name: 'M’envoyer un lien' });
    // The browser itself asks for an e-mail.
    await submit.click();
    expect(await sent.textContent()).toBe('');
    for (const address of ['nobody@shop.example', 'zoe@shop.example']) {
      await field.fill(address);
      await field.press('Enter');
      await sent.getByText('un lien est en route').waitFor();
    }
    await expect.poll(() => mailTo('zoe@shop.example')).toBeDefined();
    expect(mailTo('nobody@shop.example')).toBeUndefined();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
    expect(await accessibilityFindings(page, true)).toEqual([]);
    await page.context().setOffline(true);
    await submit.click();
    await page.getByRole('alert').getByText('Cela n’a pas marché').waitFor();
    expect(await sent.textContent()).toBe('');
    await page.context().setOffline(false);
  });
});
