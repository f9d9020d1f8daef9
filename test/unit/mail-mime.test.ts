import * as fc from 'fast-check';
import PostalMime from 'postal-mime';
import { expect, it } from 'vitest';
import { mimeOf } from '../../src/channels/mail/mime.ts';
import type { OutgoingMail } from '../../src/channels/mail/sender.ts';

/** Mails as bytes, as an independent reader reads them. */

const MAIL: OutgoingMail = {
  id: 'licet-7-0a1b2c3d',
  to: 'ada@example.com',
  subject: 'Your key',
  text: 'Hello Ada,\n\n.\nyour key.',
  html: '<p>Hello</p>',
  language: 'de',
};
const LETTERHEAD = { from: { name: 'Shop', address: 'keys@shop.example' }, replyTo: null };
const NOW = Date.parse('2026-11-27T15:00:00Z');

const headersOf = (message: string) => message.slice(0, message.indexOf('\r\n\r\n'));

it('a mail has all its headers and both its bodies', async () => {
  const replyTo = { name: 'Hilfe für Käufer', address: 'help@shop.example' };
  const unsubscribeUrl = 'https://license.example.com/my/unsubscribe/abc';
  const message = mimeOf({ ...MAIL, unsubscribeUrl }, { ...LETTERHEAD, replyTo }, NOW);
  const read = await PostalMime.parse(message);
  expect(read).toMatchObject({
    from: { name: 'Shop', address: 'keys@shop.example' },
    to: [{ name: '', address: 'ada@example.com' }],
    replyTo: [{ name: 'Hilfe für Käufer', address: 'help@shop.example' }],
    subject: 'Your key',
    messageId: '<licet-7-0a1b2c3d@shop.example>',
    date: '2026-11-27T15:00:00.000Z',
    attachments: [],
  });
  expect(read.text?.replaceAll('\r\n', '\n').trim()).toBe(MAIL.text);
  expect(read.html?.trim()).toBe(MAIL.html);
  const values = Object.fromEntries(read.headers.map(({ key, value }) => [key, value]));
  expect(values).toMatchObject({
    'auto-submitted': 'auto-generated',
    'content-language': 'de',
    'list-unsubscribe': `<${unsubscribeUrl}>`,
    'list-unsubscribe-post': 'List-Unsubscribe=One-Click',
    'mime-version': '1.0',
  });
  expect(headersOf(mimeOf(MAIL, LETTERHEAD, NOW))).not.toMatch(/unsubscribe/i);
});

/** Texts that break headers: line ends, quotes, signs of addresses and of encoded words, and other scripts. */
const nasty = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '\r\n',
        '\n',
        '\r',
        '\u2028',
        '"',
        '\\',
        '<',
        '>',
        ',',
        ':',
        ';',
        '=?',
        '?=',
        '@',
        '\0',
      ),
      fc.constantFrom(
        'Bcc: eve@example.com',
        '=?UTF-8?B?QQ==?=',
        'Ä',
        '日本',
        '🎮',
        '\u{1F469}\u200D\u{1F4BB}',
        ' ',
      ),
      fc.string({ unit: 'grapheme', maxLength: 60 }),
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(''));

/** A text as a header shows it: on one line, and runs of spaces do not count. */
const shown = (text = '') => text.replace(/[\s\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim();

it('no subject, name or text adds a header, a part or an address, and each is read as it was [13.1.5]', async () => {
  await fc.assert(
    fc.asyncProperty(nasty, nasty, nasty, async (subject, name, text) => {
      const from = { name, address: 'keys@shop.example' };
      const letterhead = { from, replyTo: from };
      const message = mimeOf({ ...MAIL, subject, text, html: text }, letterhead, NOW);
      expect(message).toMatch(/^[\x20-\x7e\r\n]*$/);
      const lines = message.split('\r\n');
      expect(lines.every((line) => line.length <= 998 && !/[\r\n]/.test(line))).toBe(true);
      const names = [...headersOf(message).matchAll(/^([\w-]+):/gm)].map(([, header]) => header);
      expect(names).toEqual([
        'From',
        'To',
        'Reply-To',
        'Subject',
        'Date',
        'Message-ID',
        'Auto-Submitted',
        'Content-Language',
        'MIME-Version',
        'Content-Type',
      ]);
      const read = await PostalMime.parse(message);
      expect(shown(read.subject)).toBe(shown(subject));
      expect(read.from?.address).toBe('keys@shop.example');
      expect(shown(read.from?.name)).toBe(shown(name));
      expect(read.to).toHaveLength(1);
      expect(read.bcc).toBeUndefined();
      expect(read.attachments).toEqual([]);
    }),
    { numRuns: 300 },
  );
});

it('a long subject and a long name are folded between characters', async () => {
  const subject = 'Schlüssel für 🎮 Spiele '.repeat(12).trim();
  const from = { name: '日本の店 '.repeat(20).trim(), address: 'keys@shop.example' };
  const message = mimeOf({ ...MAIL, subject }, { from, replyTo: null }, NOW);
  expect(
    headersOf(message)
      .split('\r\n')
      .every((line) => line.length <= 88),
  ).toBe(true);
  const read = await PostalMime.parse(message);
  expect(read.subject).toBe(subject);
  expect(read.from?.name).toBe(from.name);
});

it('a long address without a name has no encoded word', () => {
  const address = `${'keys'.repeat(15)}@${'shop'.repeat(5)}.example`;
  const message = mimeOf(MAIL, { from: { name: '', address }, replyTo: null }, 0);
  expect(message.split('\r\n')[0]).toBe(`From: ${address}`);
});
