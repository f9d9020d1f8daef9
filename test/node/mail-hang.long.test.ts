import { readRootToken } from '@licet/cli/root-token';
import { Licet } from '@licet/client';
import { expect, it, vi } from 'vitest';
import { startScripted } from './fake-smtp.ts';
import { ownFolder } from './own.ts';
import { startService } from './service.ts';

/** Work after a response ends with its connection: an attempt of a mail must end before. */

it('a mail whose server hangs after the message says so, and waits for another attempt', async () => {
  const { port } = await startScripted({ message: 'hang' });
  const service = await startService(ownFolder(), [
    ...['--var', 'MAIL_FROM:keys@shop.example', '--var', `MAIL:smtp://localhost:${port}`],
  ]);
  const licet = new Licet({ url: service.address, token: readRootToken() });
  try {
    await licet.mailSettings.update({ kinds: ['key'] });
    const product = await licet.products.create({ name: 'Guard', productType: 'OTHER' });
    await licet.licenses.create({
      productId: product.id,
      licenseType: 'PERMANENT',
      customerEmail: 'ada@mail.example',
    });
    await vi.waitFor(
      async () =>
        expect(await licet.mails.list()).toMatchObject([
          { state: 'WAITING', error: expect.stringContaining('did not respond in time') },
        ]),
      { timeout: 40_000, interval: 500 },
    );
  } finally {
    await service.stop();
  }
});
