import { MAIL_LANGUAGES, MAIL_TEXT_KINDS } from '@licet/contract/mail-kinds';
import { DEFAULT_PORTAL_SETTINGS } from '@licet/contract/portal';
import { expect, it } from 'vitest';
import {
  composeMail,
  DEFAULT_TEXTS,
  type MailContents,
  textFaultOf,
} from '../../src/channels/mail/compose.ts';

/** The texts and pages of mails. */

const EXPIRY = Date.parse('2026-12-26T12:00:00Z');
const KEY: MailContents = {
  kind: 'key',
  language: 'en',
  texts: {},
  values: {
    name: 'Ada',
    product: 'ChunkGuard',
    key: 'AAAA-BBBB-CCCC-DDDD',
    expiry: EXPIRY,
    days: null,
    link: 'https://license.example.com/my',
  },
  seller: { ...DEFAULT_PORTAL_SETTINGS, name: 'Ada Games', contact: 'mailto:help@example.com' },
};
const license = (product: string, keyEnd: string) => ({ product, keyEnd, expiry: EXPIRY, days: 7 });
const EXPIRING: MailContents = {
  ...KEY,
  kind: 'expiring',
  values: { ...KEY.values, days: 7, key: '' },
  licenses: [license('ChunkGuard', 'DDDD')],
};

/** The text of a page, as a reader sees it. */
const seen = (html: string) =>
  html
    .replace(/<title>.*<\/title>/s, '')
    .replace(/<[^>]+>/g, ' ')
    .replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
    .replace(/\s+/g, ' ')
    .trim();

it('a mail with a key shows the key, its product, its end and the page, as text and as HTML', () => {
  const { subject, text, html } = composeMail(KEY);
  expect(subject).toBe('Your license key for ChunkGuard');
  expect(text).toContain('Hello Ada,\n\nHere is your license key for ChunkGuard.');
  for (const shown of [text, seen(html)]) {
    expect(shown).toContain('AAAA-BBBB-CCCC-DDDD');
    expect(shown).toContain('Expires: December 26, 2026');
    expect(shown).toContain('Ada Games');
  }
  expect(text).toContain('See my licenses: https://license.example.com/my\n');
  expect(html).toContain('href="https://license.example.com/my"');
  expect(text).toContain('Get help: help@example.com');
});

it.each([
  ['en', 'December 26, 2026', 'Product'],
  ['de', '26. Dezember 2026', 'Gültig: bis zum'],
  ['fr', '26 décembre 2026', 'Clé de licence\u00a0: '],
  ['es', '26 de diciembre de 2026', 'Clave de licencia'],
  ['pt', '26 de dezembro de 2026', 'Chave de licença'],
] as const)('a mail in %s has its date and its words', (language, date, word) => {
  const { text, html } = composeMail({ ...KEY, language });
  expect(text).toContain(date);
  expect(text).toContain(word);
  expect(html).toContain(`<html lang="${language}">`);
});

it('the default texts of each language and kind leave no placeholder and no hole, with and without a name', () => {
  for (const language of MAIL_LANGUAGES) {
    for (const kind of MAIL_TEXT_KINDS) {
      expect(textFaultOf(kind, DEFAULT_TEXTS[language][kind])).toBeUndefined();
      for (const name of ['Ada', '']) {
        const base = kind === 'expiring' ? EXPIRING : KEY;
        const values = { ...base.values, name };
        const { subject, text } = composeMail({ ...base, kind, language, values });
        expect(`${subject}\n${text}`).not.toMatch(/[{}]| ,|,,|undefined|null/);
        expect(text).toMatch(name === '' ? /^\p{L}+[,:]\n/u : /^\p{L}+,? Ada[,:]\n/u);
      }
    }
    expect(composeMail({ ...KEY, kind: 'test', language }).text).not.toContain('AAAA-BBBB');
  }
});

it('the seller’s words take the place of the default ones, part by part, and values are no words', () => {
  const values = { ...KEY.values, name: '{key} {product}', product: 'A {name}' };
  const texts = { subject: '{product} for {name}', greeting: 'Hi, {name}!\r\nYour {product}:' };
  const { subject, text } = composeMail({ ...KEY, texts, values });
  expect(subject).toBe('A {name} for {key} {product}');
  expect(text).toContain('Hi, {key} {product}!\nYour A {name}:');
  expect(text).toContain('Keep this e-mail');
});

it('a subject, which servers and programs log, shows neither a key nor a link [13.1.3]', () => {
  expect(textFaultOf('key', { subject: 'Key {key}' })).toMatch(/^subject has \{key\}/);
  expect(textFaultOf('link', { subject: 'Go to {link}' })).toMatch(/^subject has \{link\}/);
  expect(textFaultOf('key', { greeting: '{key} {link}' })).toBeUndefined();
});

it.each([
  ['Hi, {name}!', 'Hi!'],
  ['{name}, hi', 'hi'],
  ['Hello {name},', 'Hello,'],
])('the greeting %s reads well without a name', (greeting, read) => {
  const values = { ...KEY.values, name: '' };
  expect(composeMail({ ...KEY, texts: { greeting }, values }).text).toMatch(
    new RegExp(`^${read}\n`),
  );
});

it('a name cannot add a link, a line of the subject or markup [13.1.5]', () => {
  const named = (name: string, product = 'ChunkGuard') =>
    composeMail({
      ...KEY,
      texts: { subject: '{name}: {product}' },
      values: { ...KEY.values, name, product },
    });
  for (const name of ['https://evil.example', 'win at evil.example', 'eve@example.com']) {
    const { text, html } = named(name);
    expect(text).toContain('Hello,\n');
    expect(`${text}${html}`).not.toContain(name);
  }
  const { subject, html, text } = named('<script>alert(1)</script>', '<img src=x>\r\nBcc: a');
  expect(subject).not.toMatch(/[\r\n]/);
  expect(html).not.toMatch(/<script|<img/);
  expect(text).toContain('Hello,\n');
  const { html: marked } = named('<b>Ada "A" & Co');
  expect(marked).not.toContain('<b>');
  expect(seen(marked)).toContain('<b>Ada "A" & Co');
});

it('no part of a page loads anything, and a link of the seller cannot leave its attribute [13.1.5]', () => {
  const { html } = composeMail({
    ...EXPIRING,
    licenses: [{ ...license('<b>', 'D'), renewUrl: 'https://shop.example/?a="b&c' }],
    seller: {
      ...KEY.seller,
      name: '<i>Shop',
      colour: '#ffee00',
      logo: 'data:image/png;base64,AAAA',
      contact: 'https://shop.example/help?a&b',
    },
    unsubscribeUrl: 'https://license.example.com/my/unsubscribe/x?language=en',
  });
  expect(html).not.toMatch(/<(img|link|script|iframe|b>|i>|style)|url\(|src=|@import/i);
  const tags = [...html.matchAll(/<a href="([^"]*)"/g)].map(([, url = '']) => seen(url));
  expect(tags).toEqual([
    'https://shop.example/?a="b&c',
    'https://license.example.com/my',
    'https://shop.example/help?a&b',
    'https://license.example.com/my/unsubscribe/x?language=en',
  ]);
  // Black on a bright colour.
  expect(html).toContain('background-color:#ffee00;color:#000000');
});

it('a reminder lists its licenses by the ends of their keys, and names no more than three products', () => {
  const licenses = ['A', 'B', 'C', 'D'].map((product) => license(product, `E${product}`));
  const two = composeMail({ ...EXPIRING, licenses: licenses.slice(0, 2) });
  expect(two.subject).toMatch(/^Expires on .*2026: A and B$/);
  expect(two.text).toMatch(/A \(…EA\): \w+ \d+, 2026, in 7 days/);
  const { subject, text } = composeMail({ ...EXPIRING, licenses });
  expect(subject).toMatch(/: A, B,? and 2 others$/);
  for (const { keyEnd } of licenses) expect(text).toContain(`(…${keyEnd})`);
  expect(text).not.toContain(KEY.values.key);
});

it('a license without an end, and one that counts from its first use, say so', () => {
  const forever = { ...KEY.values, expiry: null };
  expect(composeMail({ ...KEY, values: forever }).text).toContain('Expires: never');
  const unused = { ...forever, expiresAfterDays: 30 };
  expect(composeMail({ ...KEY, values: unused }).text).toContain(
    'Expires: 30 days after the first use',
  );
});

it('a mail without a public address has no button', () => {
  const { text, html } = composeMail({ ...KEY, values: { ...KEY.values, link: null } });
  expect(text).not.toContain('See my licenses');
  expect(seen(html)).not.toContain('See my licenses');
});

it.each([
  [
    'key',
    { greeting: 'Hi {nmae}' },
    'greeting has {nmae}, which has no value in this mail: use {name}, {product}, {key}, {expiry}, {link}',
  ],
  ['key', { subject: '{days}' }, 'subject has {days}'],
  [
    'link',
    { closing: '{key}' },
    'closing has {key}, which has no value in this mail: use {name}, {link}',
  ],
  ['link', { closing: '{constructor}' }, 'closing has {constructor}'],
  ['expiring', { subject: 'a\nb' }, 'subject must be one line'],
  ['expiring', { subject: '{days} {key} {link}', greeting: 'a { b } {}\n{name}' }, undefined],
] as const)('the text of a mail of the kind %s with %j is checked', (kind, text, fault) => {
  const found = textFaultOf(kind, text);
  if (fault === undefined) expect(found).toBeUndefined();
  else expect(found).toContain(fault);
});
