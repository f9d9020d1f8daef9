import { readRootToken } from '@licet/cli/root-token';
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
  const call = async (method: string, path: string, body?: object) => {
    const response = await fetch(`${service.address}/api/v2${path}`, {
      method,
      headers: { 'Content-Type': 'application/json', TOKEN: readRootToken() ?? '' },
      ...(body && { body: JSON.stringify(body) }),
    });
    return response.json();
  };
  try {
    await call('PUT', '/settings/mail', { kinds: ['key'] });
    const { id: productId } = await call('POST', '/products', {
      name: 'Guard',
      productType: 'OTHER',
    });
    const customerEmail = 'ada@mail.example';
    await call('POST', '/licenses', { productId, licenseType: 'PERMANENT', customerEmail });
    await vi.waitFor(
      async () =>
        expect(await call('GET', '/mails')).toMatchObject([
          { state: 'WAITING', error: expect.stringContaining('did not respond in time') },
        ]),
      { timeout: 40_000, interval: 500 },
    );
  } finally {
    await service.stop();
  }
});
