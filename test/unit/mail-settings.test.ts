import { expect, it } from 'vitest';
import { mailSenderOf } from '../../src/channels/mail/adapters.ts';
import { parseMail, parseMailbox } from '../../src/channels/mail/settings.ts';
import { Outbound } from '../../src/lib/outbound.ts';

/** The operator's settings of mails. */

const outbound = new Outbound({});
const FROM = { MAIL_FROM: 'Shop <keys@example.com>' };
const smtp = (server: object) => ({ value: { adapter: 'smtp', server } });

it.each([
  ['resend:re_123', { value: { adapter: 'resend', key: 're_123' } }],
  ['cloudflare:', { value: { adapter: 'cloudflare' } }],
  [
    ' smtps://ada:secret@mail.example.com ',
    smtp({
      hostname: 'mail.example.com',
      port: 465,
      security: 'tls',
      login: { user: 'ada', password: 'secret' },
    }),
  ],
  [
    'smtp://keys%40example.com:p%2F%23%3A%40s@mail.example.com:2525',
    smtp({
      hostname: 'mail.example.com',
      port: 2525,
      security: 'starttls',
      login: { user: 'keys@example.com', password: 'p/#:@s' },
    }),
  ],
  [
    'smtp://ada:secret@mail.example.com',
    smtp({
      hostname: 'mail.example.com',
      port: 587,
      security: 'starttls',
      login: { user: 'ada', password: 'secret' },
    }),
  ],
  [
    'smtp://localhost:1025',
    smtp({ hostname: 'localhost', port: 1025, security: 'none', login: null }),
  ],
  ['smtp://[::1]:25', smtp({ hostname: '::1', port: 25, security: 'none', login: null })],
  [
    'smtp://ada:secret@127.0.0.1:25',
    smtp({
      hostname: '127.0.0.1',
      port: 25,
      security: 'none',
      login: { user: 'ada', password: 'secret' },
    }),
  ],
])('MAIL %s is read', (text, parsed) => {
  expect(parseMail(text)).toEqual(parsed);
});

it.each([
  ['postmark:se-cret', 'MAIL must be resend:KEY, smtps://'],
  ['se-cret', 'MAIL must be resend:KEY, smtps://'],
  ['resend:', 'MAIL must have the key of Resend after resend:'],
  ['resend:se-cret two', 'MAIL must have the key of Resend after resend:'],
  ['cloudflare:se-cret', 'MAIL must be resend:KEY, smtps://'],
  ['smtps://ada:se-cret#1@mail.example.com', 'MAIL must be smtps://USER:PASSWORD@HOST or'],
  ['smtps://ada:se-cret/1@mail.example.com', 'MAIL must be smtps://USER:PASSWORD@HOST or'],
  ['smtps://ada:se-cret?@mail.example.com', 'MAIL must be smtps://USER:PASSWORD@HOST or'],
  ['smtps://ada:se-cret%zz@mail.example.com', 'MAIL must be smtps://USER:PASSWORD@HOST or'],
  ['smtps://ada:se-cret%00@mail.example.com', 'MAIL must be smtps://USER:PASSWORD@HOST or'],
  ['smtps://ada@mail.example.com', 'MAIL must be smtps://USER:PASSWORD@HOST or'],
  ['smtps://mail.example.com', 'MAIL must have a user and a password before the host'],
  ['smtp://mail.example.com:25', 'MAIL must have a user and a password before the host'],
  ['smtp://10.0.0.5:25', 'MAIL must have a user and a password before the host'],
  ['smtps://', 'MAIL must be resend:KEY, smtps://'],
  ['smtps://ada:se-cret@mail.example.com:99999', 'MAIL must be smtps://USER:PASSWORD@HOST or'],
])('MAIL %s is named as wrong, without its secret [13.1.2]', (MAIL, fault) => {
  const setup = mailSenderOf({ MAIL, ...FROM }, outbound);
  expect(setup).toEqual({ sender: null, fault: expect.stringContaining(fault) });
  expect(setup.fault).not.toContain('se-cret');
});

it.each([
  ['keys@example.com', { name: '', address: 'keys@example.com' }],
  ['Shop <keys@example.com>', { name: 'Shop', address: 'keys@example.com' }],
  [
    '"Ada \\"A\\" Games, Inc." <k@mail.example.com>',
    { name: 'Ada "A" Games, Inc.', address: 'k@mail.example.com' },
  ],
  ['<keys@example.com>', { name: '', address: 'keys@example.com' }],
])('MAIL_FROM %s is read', (text, value) => {
  expect(parseMailbox(text)).toEqual({ value });
});

it.each([
  [{ MAIL_FROM: '' }, 'MAIL_FROM must be set: '],
  [{ MAIL_FROM: 'keys' }, 'MAIL_FROM must be an address such as keys@example.com or'],
  [{ MAIL_FROM: 'keys@localhost' }, 'MAIL_FROM must be an address such as'],
  [{ MAIL_FROM: 'Shop\r\nBcc: <keys@example.com>' }, 'MAIL_FROM must be an address such as'],
  [{ MAIL_FROM: 'a@example.com, b@example.com' }, 'MAIL_FROM must be an address such as'],
  [{ ...FROM, MAIL_REPLY_TO: 'help' }, 'MAIL_REPLY_TO must be an address such as'],
  [{ ...FROM, MAIL_DAILY_LIMIT: '0' }, 'MAIL_DAILY_LIMIT must be a number of mails a day, not "0"'],
  [{ ...FROM, MAIL_DAILY_LIMIT: 'all' }, 'MAIL_DAILY_LIMIT must be a number of mails a day'],
])('the settings %j are named as wrong', (settings, fault) => {
  expect(mailSenderOf({ MAIL: 'resend:re_1', ...settings }, outbound)).toEqual({
    sender: null,
    fault: expect.stringContaining(fault),
  });
});

it('without MAIL there is no sender, and nothing is wrong', () => {
  for (const MAIL of [undefined, '', ' ']) {
    const bindings = { ...(MAIL !== undefined && { MAIL }), MAIL_FROM: 'wrong' };
    expect(mailSenderOf(bindings, outbound)).toEqual({ sender: null, fault: null });
  }
});

it('the sender shows its settings without the secret', () => {
  const settings = { ...FROM, MAIL_REPLY_TO: 'help@example.com', MAIL_DAILY_LIMIT: '7' };
  const MAIL = 'smtps://ada:se-cret@mail.example.com';
  const { sender } = mailSenderOf({ MAIL, ...settings }, outbound);
  expect(sender).toMatchObject({
    adapter: 'smtp',
    server: 'mail.example.com',
    from: '"Shop" <keys@example.com>',
    replyTo: 'help@example.com',
    dailyLimit: 7,
    isRepeatSafe: false,
  });
  expect(JSON.stringify(sender)).not.toContain('se-cret');
  expect(mailSenderOf({ MAIL: 'resend:re_1', ...FROM }, outbound).sender).toMatchObject({
    adapter: 'resend',
    dailyLimit: 100,
    isRepeatSafe: true,
    replyTo: null,
  });
});

it('cloudflare: needs its binding, and is named as wrong on one machine', () => {
  const MAIL = 'cloudflare:';
  const EMAIL = { send: () => Promise.reject(new Error()) };
  expect(mailSenderOf({ MAIL, ...FROM }, outbound).fault).toContain('needs the binding EMAIL');
  expect(mailSenderOf({ MAIL, ...FROM, EMAIL, ONE_MACHINE: 'true' }, outbound).fault).toContain(
    'works at Cloudflare only',
  );
  expect(mailSenderOf({ MAIL, ...FROM, EMAIL }, outbound).sender).toMatchObject({
    adapter: 'cloudflare',
  });
});
