import type { Mail, MailSettings } from '@licet/client';
import { describe, expect, it } from 'vitest';
import { withoutEmpty, withPart } from '../../console/src/screens/mail/draft.ts';
import {
  isLost,
  mayResend,
  outcomeText,
  senderState,
  whyNotSent,
} from '../../console/src/screens/mail/sender.ts';

const SENDER: NonNullable<MailSettings['sender']> = {
  adapter: 'smtp',
  server: 'smtp.example.com',
  from: 'keys@example.com',
  replyTo: null,
  dailyLimit: 100,
  sentToday: 99,
};

describe('the state of the sender', () => {
  it.each([
    ['none', { sender: null, fault: null, kinds: [] }],
    ['fault', { sender: null, fault: 'MAIL_FROM must be set.', kinds: ['key'] }],
    ['idle', { sender: SENDER, fault: null, kinds: [] }],
    ['works', { sender: SENDER, fault: null, kinds: ['key'] }],
    ['full', { sender: { ...SENDER, sentToday: 100 }, fault: null, kinds: ['key'] }],
  ] as const)('the sender is %s', (state, settings) => {
    expect(senderState({ ...settings, kinds: [...settings.kinds] })).toBe(state);
  });
});

it('a key is not sent without an e-mail of the owner, nor by a sender with a fault', () => {
  expect(whyNotSent(null, { fault: null })).toContain('no owner with an e-mail');
  expect(whyNotSent('ada@shop.example', { fault: 'MAIL_FROM must be set.' })).toBe(
    'MAIL_FROM must be set.',
  );
  expect(whyNotSent('ada@shop.example', { fault: null })).toBeUndefined();
  // A token of support does not read the settings: the service decides.
  expect(whyNotSent('ada@shop.example', undefined)).toBeUndefined();
});

it('a mail is sent again if it has a recipient', () => {
  const mail: Mail = {
    id: 1,
    kind: 'key',
    cause: 'key:50:1',
    state: 'SENT',
    licenseId: 50,
    customerId: 7,
    email: 'ada@shop.example',
    attempts: 1,
    error: null,
    createdAt: '2026-11-27T12:00:00.000+00:00',
    sentAt: null,
    nextAttemptAt: null,
  };
  expect(mayResend(mail)).toBe(true);
  expect(mayResend({ ...mail, email: null })).toBe(false);
  expect(mayResend({ ...mail, kind: 'test', email: null })).toBe(false);
});

it('the outcome of a mail has its reason, and one that will not arrive is a failure', () => {
  const error = 'The server returned 550.';
  expect(outcomeText({ state: 'FAILED', error })).toBe(`The mail could not be sent. ${error}`);
  expect(outcomeText({ state: 'SENT', error: null })).toContain('spam folder');
  expect(isLost({ state: 'FAILED' })).toBe(true);
  expect(isLost({ state: 'WAITING' })).toBe(false);
});

describe('the draft of the texts', () => {
  it('a typed text changes its own place alone', () => {
    const texts = { en: { key: { subject: 'Your key' } }, de: { link: { closing: 'Danke' } } };
    const next = withPart(texts, 'en', 'key', 'greeting', 'Hello {name},');
    expect(next).toEqual({
      ...texts,
      en: { key: { subject: 'Your key', greeting: 'Hello {name},' } },
    });
    expect(texts.en.key).toEqual({ subject: 'Your key' });
  });

  it('empty fields are not sent, and the order in which texts were typed counts for nothing', () => {
    const one = withPart(
      { de: { key: { subject: ' Schlüssel ' } } },
      'en',
      'link',
      'closing',
      'Bye',
    );
    const other = withPart(
      { en: { link: { closing: 'Bye' } } },
      'de',
      'key',
      'subject',
      'Schlüssel',
    );
    const sent = { en: { link: { closing: 'Bye' } }, de: { key: { subject: 'Schlüssel' } } };
    expect(JSON.stringify(withoutEmpty(one))).toBe(JSON.stringify(sent));
    expect(JSON.stringify(withoutEmpty(other))).toBe(JSON.stringify(sent));
    expect(withoutEmpty(withPart(sent, 'de', 'key', 'subject', '  '))).toEqual({ en: sent.en });
  });
});
