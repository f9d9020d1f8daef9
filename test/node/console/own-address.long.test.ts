import { join } from 'node:path';
import { Licet } from '@licet/client';
import type { Page } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import { ownFolder } from '../own.ts';
import { startService } from '../service.ts';
import {
  accessibilityFindings,
  describeInBrowser,
  openConsole,
  PHONE,
  rootToken,
  WIDE,
} from './console.ts';

/** The service's own address in the console (3.3). */

const PUBLIC_URL = 'https://license.example.com';
const MARK = 'Only the machine of the service and its network can open this address.';

const folder = ownFolder();

/** Saves a picture of the screen for a person, if there is a folder for it. */
async function look(page: Page, name: string): Promise<void> {
  const { LICET_LOOK } = process.env;
  if (LICET_LOOK) await page.screenshot({ path: join(LICET_LOOK, `${name}.png`), fullPage: true });
}

describeInBrowser('the address of the service in the console', () => {
  it.each([
    ['PUBLIC_URL', ['--var', `PUBLIC_URL:${PUBLIC_URL}`]],
    ['no setting', []],
  ])(
    'with %s, each screen shows the public address, or marks the one of the machine [3.3.6]',
    async (name, options) => {
      const isNamed = options.length > 0;
      const service = await startService(join(folder, name), options);
      onTestFinished(service.stop);
      const origin = isNamed ? PUBLIC_URL : service.address;
      const licet = new Licet({ url: service.address, token: rootToken() });
      const { id: productId } = await licet.products.create({
        name: 'Guard',
        productType: 'OTHER',
      });
      const { id: customerId } = await licet.customers.create({ firstName: 'Ada' });
      const { id: marketId } = await licet.markets.create({ kind: 'stripe', name: 'Cards' });
      const page = await openConsole(`/markets/${marketId}`, { own: { baseURL: service.address } });

      const check = async (shown: string, screen: string): Promise<void> => {
        await page.getByText(shown).first().waitFor();
        expect(await page.getByText(MARK).count(), screen).toBe(isNamed ? 0 : 1);
        if (isNamed) return;
        const guide = page.getByRole('link', { name: 'How to set it', exact: true });
        expect(await guide.getAttribute('href')).toBe('/docs/one-machine#behind-a-proxy');
        // Each tone once.
        if (['market', 'program'].includes(screen)) {
          expect(await accessibilityFindings(page), screen).toEqual([]);
        }
        await look(page, `${screen}-wide`);
        await page.setViewportSize(PHONE);
        await look(page, `${screen}-phone`);
        expect(await page.evaluate('document.documentElement.scrollWidth'), screen).toBe(360);
        await page.setViewportSize(WIDE);
      };
      await check(`${origin}/markets/`, 'market');
      await page.goto('/console/settings');
      await check(`${origin}/discord/interactions`, 'settings');
      await page.goto(`/console/customers/${customerId}`);
      await page.getByRole('button', { name: 'Link to their page' }).click();
      await page.getByRole('button', { name: 'Make the link' }).click();
      await check(`${origin}/my#code=`, 'link');
      await page.goto(`/console/program?productId=${productId}`);
      await check(`"${origin}"`, 'program');
    },
  );
});
