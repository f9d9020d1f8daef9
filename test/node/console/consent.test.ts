/** @module-tag long */

import { clientConfigurations } from '@licet/contract/assistants';
import { beforeAll, expect, it } from 'vitest';
import { beginToConnect, Provider, startAssistant } from '../assistant-client.ts';
import { sharedService } from '../shared-service.ts';
import {
  accessibilityFindings,
  describeInBrowser,
  expectFailure,
  licet,
  logIn,
  newPage,
  openConsole,
  PHONE,
  rootToken,
  tokenWith,
  WIDE,
} from './console.ts';

/** The page on which a person lets an assistant work with the service (12.7). */

describeInBrowser('the consent page in a browser', () => {
  let assistant: Awaited<ReturnType<typeof startAssistant>>;
  beforeAll(async () => {
    assistant = await startAssistant('Ada');
  });

  /** Lets an assistant begin, and opens the page to which it sends the person. */
  async function open(
    name: string,
    {
      viewport = WIDE,
      changes = {},
    }: { viewport?: typeof WIDE; changes?: Record<string, string> } = {},
  ) {
    const address = await sharedService();
    // The page is at the address of the service, where a console of this machine has no session.
    expectFailure(/^request to http:/);
    const begun = await beginToConnect(address, new Provider(name, assistant.callback));
    const url = begun.authorizationUrl;
    for (const [parameter, value] of Object.entries(changes))
      url.searchParams.set(parameter, value);
    const page = await newPage({ own: {}, viewport });
    await page.goto(url.href);
    return { page, ...begun };
  }

  const grantOf = async (name: string) =>
    (await licet.tokens.list()).find((token) => token.name === name);

  it('a person logs in, ticks permissions and lets an assistant in, which is then a token in the list [12.7.5, 12.7.6, 12.7.7, 12.7.12]', async () => {
    const name = `Assistant ${crypto.randomUUID()}`;
    const { page, finish } = await open(name);
    await logIn(page, await tokenWith('LICENSES_READ_WRITE', 'PRODUCTS_READ', 'REQUESTS_READ'));
    await page.getByRole('heading', { name: `Let ${name} use this service?` }).waitFor();
    // The other servers of this machine, which share its cookies, get none.
    expect(await page.context().cookies()).toEqual([]);
    await page.getByText('a program on this computer (127.0.0.1)').waitFor();
    const ticked = async () => {
      const boxes = await page.getByRole('checkbox').all();
      return Promise.all(boxes.map((box) => box.isChecked()));
    };
    await page.getByLabel('Read licenses').waitFor();
    // To read: licenses, history, products. To change: licenses. Nothing that the token itself may not do.
    expect(await ticked()).toEqual([true, true, true, false]);
    await page.getByLabel('Read the history').uncheck();
    await page.getByLabel('Manage licenses').check();
    await page.getByLabel('Days until it ends').fill('7');
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.waitForURL(`${assistant.callback}?**`);
    const client = await finish(new URL(page.url()));
    const names = (await client.listTools()).tools.map((tool) => tool.name);
    expect(names).toEqual(expect.arrayContaining(['show_license', 'free_slots']));
    await client.close();

    const granted = await grantOf(name);
    expect(granted).toMatchObject({
      client: '127.0.0.1',
      intents: ['PRODUCTS_READ', 'LICENSES_READ', 'LICENSES_READ_WRITE'],
    });
    const days = (Date.parse(granted?.expiresAt ?? '') - Date.now()) / 86_400_000;
    expect(days).toBeGreaterThan(6.9);
    expect(days).toBeLessThan(7.1);
    const list = await openConsole('/tokens');
    const row = list.getByRole('row', { name });
    await row.getByText('127.0.0.1').waitFor();
    await row.getByText('just now').waitFor();
    await row.getByRole('link', { name }).click();
    await list.getByRole('heading', { name }).waitFor();
    expect(await list.getByRole('region', { name: 'Connect an assistant' }).count()).toBe(0);
  });

  it('Allow takes no click before the page was in front for a moment, as the second one of a double click [12.7.14]', async () => {
    const name = `Assistant ${crypto.randomUUID()}`;
    const { page } = await open(name);
    await page.clock.install();
    await logIn(page, rootToken());
    const allow = page.getByRole('button', { name: 'Allow' });
    const click = () => allow.dispatchEvent('click');
    const isOff = () => allow.getAttribute('aria-disabled');
    const setFront = (isFront: boolean) =>
      page.evaluate(
        `document.hasFocus = () => ${isFront}; dispatchEvent(new Event('${isFront ? 'focus' : 'blur'}'))`,
      );
    await allow.waitFor();
    await page.clock.pauseAt(Date.now() + 60_000);
    await setFront(false);
    await page.clock.runFor(5_000);
    await expect.poll(isOff).toBe('true');
    const box = await allow.boundingBox();
    await click();
    await setFront(true);
    await page.clock.runFor(490);
    await click();
    await page.getByLabel('Days until it ends').press('Enter');
    expect(await isOff()).toBe('true');
    expect(await grantOf(name)).toBeUndefined();
    await page.clock.runFor(10);
    await expect.poll(isOff).toBeNull();
    expect(await allow.boundingBox()).toEqual(box);
    await setFront(false);
    await expect.poll(isOff).toBe('true');
    await setFront(true);
    await page.clock.runFor(500);
    await allow.click();
    await page.waitForURL(`${assistant.callback}?**`);
    expect(await grantOf(name)).toBeDefined();
  });

  it('a person who declines returns without a code [12.7.4]', { tags: 'short' }, async () => {
    const name = `Assistant ${crypto.randomUUID()}`;
    const { page } = await open(name);
    await logIn(page, rootToken());
    await page.getByRole('button', { name: 'Decline' }).click();
    await page.waitForURL(`${assistant.callback}?**`);
    const { searchParams } = new URL(page.url());
    expect([searchParams.get('error'), searchParams.get('code')]).toEqual(['access_denied', null]);
    expect(await grantOf(name)).toBeUndefined();
  });

  it('a request without a tick, or with a fault, goes nowhere and says why [12.7.4, 12.7.6]', async () => {
    expectFailure(/^400 GET \/oauth\/consent$/);
    expectFailure(/^400 POST \/oauth\/consent$/);
    const { page } = await open('Ada');
    await logIn(page, await tokenWith('LICENSES_READ'));
    await page.getByLabel('Read licenses').uncheck();
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByText('Must have at least one permission.').waitFor();
    const faulty = await open('Ada', { changes: { redirect_uri: 'https://evil.example/' } });
    await logIn(faulty.page, await tokenWith('LICENSES_READ'));
    await faulty.page.getByText('redirect_uri is not an address').waitFor();
    expect(await faulty.page.getByRole('button', { name: /Allow|Decline/ }).count()).toBe(0);
    expect(new URL(faulty.page.url()).pathname).toBe('/console/consent');
  });

  it.each([WIDE, PHONE])(
    'the page of a token has the configurations of assistants, without the token, at $width px [12.5.2]',
    async (viewport) => {
      const { id, token } = await licet.tokens.create({ name: 'Assistant', intents: ['ALL_READ'] });
      const page = await openConsole(`/tokens/${id}`, { viewport });
      const section = page.getByRole('region', { name: 'Connect an assistant' });
      await section.getByText('Claude Code').waitFor();
      for (const summary of await section.locator('summary').all()) await summary.click();
      const texts = await section.locator('pre').allTextContents();
      expect(texts).toEqual(clientConfigurations(await sharedService()).map(({ text }) => text));
      expect(await section.textContent()).not.toContain(token);
      await section.getByRole('button', { name: 'Copy' }).first().click();
      expect(await page.evaluate('navigator.clipboard.readText()')).toBe(texts[0]);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(viewport.width);
      expect(await accessibilityFindings(page, true)).toEqual([]);
    },
  );

  it('no page frames the question [12.7.5]', async () => {
    const response = await fetch(`${await sharedService()}/console/consent`);
    const policy = response.headers.get('Content-Security-Policy');
    expect(policy).toContain("frame-ancestors 'none'");
  });

  it.each([WIDE, PHONE])(
    'the page fits a screen of $width px and is accessible',
    async (viewport) => {
      const { page } = await open('Ada, the assistant with a rather long name', { viewport });
      await logIn(page, rootToken());
      await page.getByRole('button', { name: 'Allow' }).waitFor();
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(viewport.width);
      expect(await accessibilityFindings(page, true)).toEqual([]);
      await page.screenshot({
        fullPage: true,
      });
    },
  );
});
