import { readRootToken } from '@licet/cli/root-token';
import { Licet } from '@licet/client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Received, startSmtp } from '../node/fake-smtp.ts';
import { ownFolder } from '../node/own.ts';
import { type RunningService, startService } from '../node/service.ts';
import { type Ending, runHere } from './run-command.ts';

/** `licet mails`, at a service with a mail server on this machine. */

const folder = ownFolder();
let service: RunningService;
let received: Received[];
/** The reply of the mail server to an address. */
let reply: number | undefined;

beforeAll(async () => {
  const smtp = await startSmtp({
    disabledCommands: ['AUTH', 'STARTTLS'],
    onRcptTo(_address, _session, done) {
      done(reply ? Object.assign(new Error('Not now'), { responseCode: reply }) : null);
    },
  });
  received = smtp.received;
  service = await startService(folder, [
    ...['--var', `MAIL:smtp://localhost:${smtp.port}`],
    ...['--var', 'MAIL_FROM:keys@shop.example'],
  ]);
});
afterAll(() => service?.stop());

const licet = (...args: string[]): Promise<Ending> =>
  runHere('licet', args, { LICET_URL: service.address, LICET_TOKEN: readRootToken() });

it('licet mails test sends a test in a language, and ends with 1 and the reason if it is refused', async () => {
  reply = undefined;
  const sent = await licet('mails', 'test', 'me@shop.example', '--language', 'de');
  expect(sent).toMatchObject({ code: 0, stdout: '' });
  expect(sent.stderr).toMatch(/^✓ The mail server has the mail to me@shop\.example\./);
  expect(received.at(-1)).toMatchObject({ to: ['me@shop.example'] });
  expect(received.at(-1)?.message).toContain('Content-Language: de');
  reply = 550;
  const refused = await licet('mails', 'test', 'gone@shop.example');
  expect(refused.code).toBe(1);
  expect(refused.stderr).toMatch(/^✗ Mail \d+ to .* was not sent\. .*550/);
  expect((await licet('mails', 'test', 'nobody')).stderr).toContain('must be an e-mail address');
});

it('licet mails list shows the newest mails last, and resend sends one to the e-mail of now', async () => {
  const client = new Licet({ url: service.address, token: readRootToken() });
  const product = await client.products.create({ name: 'Guard', productType: 'OTHER' });
  const { id, customer } = await client.licenses.create({
    productId: product.id,
    licenseType: 'PERMANENT',
    customerEmail: 'gone@shop.example',
  });
  reply = 550;
  const { id: mailId } = await client.licenses.sendKey(id);
  const listed = await licet('mails', 'list', '--kind', 'key', '--license', String(id));
  const [header, line, ...more] = listed.stdout.trim().split('\n');
  expect(header).toMatch(/^ID +SINCE \(UTC\) +KIND +STATE +TO +LICENSE +ATTEMPTS/);
  expect(line).toMatch(
    new RegExp(`^${mailId} +[-0-9]+ [:0-9]+ +key +FAILED +gone@shop\\.example +${id} +1 +.*550`),
  );
  expect(more).toEqual([]);
  expect((await licet('mails', 'list', '--state', 'WAITING')).stderr).toBe('No mails.\n');
  await client.customers.update(customer?.id ?? 0, { email: 'ada@shop.example' });
  reply = undefined;
  const resent = await licet('mails', 'resend', String(mailId), '--json');
  expect(JSON.parse(resent.stdout)).toMatchObject({ state: 'SENT', email: 'ada@shop.example' });
  expect(received.at(-1)).toMatchObject({ to: ['ada@shop.example'] });
  const all = await licet('mails', 'list', '--limit', '1');
  expect(all.stdout).toMatch(/ key +SENT +ada@shop\.example /);
  expect(all.stderr).toBe('There are more than 1 mails. Raise --limit to see them.\n');
});

it('licet mails resend names a mail that waits for another attempt', async () => {
  const client = new Licet({ url: service.address, token: readRootToken() });
  const product = await client.products.create({ name: 'Waits', productType: 'OTHER' });
  const { id } = await client.licenses.create({
    productId: product.id,
    licenseType: 'PERMANENT',
    customerEmail: 'later@shop.example',
  });
  reply = 451;
  const mail = await client.licenses.sendKey(id);
  expect(mail.state).toBe('WAITING');
  const again = await licet('mails', 'resend', String(mail.id));
  expect(again.code).toBe(0);
  expect(again.stderr).toMatch(/The mail to later@shop\.example waits; mails list .*451/);
  expect((await licet('mails', 'resend', '99999')).stderr).toContain('not found');
});
