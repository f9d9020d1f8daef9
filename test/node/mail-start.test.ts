import { readRootToken } from '@licet/cli/root-token';
import PostalMime from 'postal-mime';
import { expect, it } from 'vitest';
import { CERTIFICATE, LOGIN, startSmtp } from './fake-smtp.ts';
import { ownFolder } from './own.ts';
import { startService } from './service.ts';

/** Mails of the service as `npm start` runs it. */

const FROM = ['--var', 'MAIL_FROM:Ada Games <keys@shop.example>'];

/** Starts a service, and lets it send a test. @returns the mail of the response */
async function sendTest(mail: string): Promise<unknown> {
  const service = await startService(ownFolder(), [...FROM, '--var', `MAIL:${mail}`]);
  try {
    const response = await fetch(`${service.address}/api/v2/mails/test`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', TOKEN: readRootToken() ?? '' },
      body: JSON.stringify({ to: 'ada@example.com', language: 'de' }),
    });
    return await response.json();
  } finally {
    await service.stop();
  }
}

it('a mail server on the same machine gets a test [13.1.4]', async () => {
  const { port, received } = await startSmtp({ ...CERTIFICATE, allowInsecureAuth: true });
  const login = `${encodeURIComponent(LOGIN.user)}:${encodeURIComponent(LOGIN.password)}`;
  expect(await sendTest(`smtp://${login}@localhost:${port}`)).toMatchObject({
    kind: 'test',
    state: 'SENT',
    error: null,
  });
  expect(received).toMatchObject([{ user: LOGIN.user, to: ['ada@example.com'] }]);
  const { subject, from } = await PostalMime.parse(received[0]?.message ?? '');
  expect(subject).toBe('Test: Mails kommen an');
  expect(from).toEqual({ name: 'Ada Games', address: 'keys@shop.example' });
});

it('a mail server with a certificate of nobody gets nothing, and the mail says so', {
  tags: 'long',
}, async () => {
  const { port, received } = await startSmtp({ secure: true });
  const mail = await sendTest(`smtps://ada:se-cret@localhost:${port}`);
  expect(mail).toMatchObject({ error: expect.stringContaining('no valid certificate') });
  expect(JSON.stringify(mail)).not.toContain('se-cret');
  expect(received).toEqual([]);
});
