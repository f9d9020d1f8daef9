import * as z from 'zod';
import { CREATED, named, UPDATED } from './bodies.ts';
import { idText, text } from './fields.ts';
import { MAX_EMAIL_LENGTH, MAX_MAIL_SUBJECT_LENGTH, MAX_MAIL_TEXT_LENGTH } from './limits.ts';
import {
  MAIL_ADAPTERS,
  MAIL_KINDS,
  MAIL_LANGUAGES,
  MAIL_STATES,
  MAIL_TEXT_KINDS,
} from './mail-kinds.ts';
import { pageQuery } from './parameters.ts';
import { required, setByService, setting, updateBody, wireBody } from './resource.ts';
import { wireTimestamp } from './time.ts';

/** Mails to customers: their settings, their list, and a test (13). */

const kind = z.enum(MAIL_KINDS).meta({
  id: 'MailKind',
  description:
    'The key of a license, a link to `/my`, a reminder of licenses that expire, or a test.',
});
const textKind = z.enum(MAIL_TEXT_KINDS);
const language = z.enum(MAIL_LANGUAGES);
const state = z.enum(MAIL_STATES).meta({
  id: 'MailState',
  description:
    'Waiting for an attempt, sent, perhaps sent (the connection was lost after the message), failed for good, or not sent because its cause was over.',
});
const adapter = z.enum(MAIL_ADAPTERS);

const textField = (maxLength: number) => z.exactOptional(text(maxLength).trim().min(1));

const subject = textField(MAX_MAIL_SUBJECT_LENGTH).describe('One line.');
const greeting = textField(MAX_MAIL_TEXT_LENGTH).describe('The lines before the facts.');
const closing = textField(MAX_MAIL_TEXT_LENGTH).describe('The lines after the facts.');

/** The parts of a mail that the seller writes, with placeholders. An omitted part is the default one. */
export const mailText = named(
  'MailText',
  'The parts of a mail that you write, as plain text with placeholders. An omitted part is that of Licet.',
  z.strictObject({ subject, greeting, closing }),
  { subject: 'Your key for {product}' },
);
export type MailText = z.infer<typeof mailText>;

const texts = z.partialRecord(language, z.partialRecord(textKind, mailText));
export type MailTexts = z.infer<typeof texts>;

const sender = named(
  'MailSender',
  'The sender of mails, as the operator has set it up.',
  z.strictObject({
    adapter: adapter.describe('The way in which mails leave.'),
    server: z.string().describe('The host that takes the mails.'),
    from: z.string().describe('`MAIL_FROM`.'),
    replyTo: z.string().nullable().describe('`MAIL_REPLY_TO`.'),
    dailyLimit: z.int().describe('`MAIL_DAILY_LIMIT`: mails a day, UTC.'),
    sentToday: z.int().describe('The mails of this day that count.'),
  }),
  {
    adapter: 'smtp',
    server: 'smtp.example.com',
    from: 'Ada Games <keys@example.com>',
    replyTo: 'help@example.com',
    dailyLimit: 100,
    sentToday: 7,
  },
);

const defaultText = named(
  'DefaultMailText',
  'The words of Licet in a mail.',
  z.strictObject({
    subject: z.string().describe('One line.'),
    greeting: z.string().describe('The lines before the facts.'),
    closing: z.string().describe('The lines after the facts.'),
  }),
  { subject: 'Your link', greeting: 'Hello {name},', closing: 'Thanks!' },
);
const DEFAULT_EXAMPLE = {
  key: { subject: 'Your license key for {product}', greeting: 'Hello {name},', closing: 'Thanks!' },
  link: { subject: 'Your link', greeting: 'Hello {name},', closing: 'Thanks!' },
  expiring: {
    subject: '{product} ends on {expiry}',
    greeting: 'Hello {name},',
    closing: 'Thanks!',
  },
};
const defaultTexts = named(
  'DefaultMailTexts',
  'The words of Licet in a language, by kind.',
  z.strictObject({
    key: defaultText.describe('With the key of a license.'),
    link: defaultText.describe('With a link to the page of the customer.'),
    expiring: defaultText.describe('Before licenses end.'),
  }),
  DEFAULT_EXAMPLE,
);
const defaults = named(
  'MailDefaults',
  'The words of Licet, by language and kind.',
  z.strictObject({
    en: defaultTexts.describe('English.'),
    de: defaultTexts.describe('German.'),
    fr: defaultTexts.describe('French.'),
    es: defaultTexts.describe('Spanish.'),
    pt: defaultTexts.describe('Portuguese.'),
  }),
  {
    en: DEFAULT_EXAMPLE,
    de: DEFAULT_EXAMPLE,
    fr: DEFAULT_EXAMPLE,
    es: DEFAULT_EXAMPLE,
    pt: DEFAULT_EXAMPLE,
  },
);

const kinds = z.array(textKind).max(MAIL_TEXT_KINDS.length);

const fields = {
  kinds: required(
    kinds.transform((chosen) => MAIL_TEXT_KINDS.filter((one) => chosen.includes(one))),
    kinds,
    'The kinds that are sent; none by default.',
  ),
  language: setting(
    language,
    'The language of mails to customers whose language is unknown: the one that they last used on `/my` counts.',
  ),
  texts: setting(
    texts,
    'Your own texts, by language and kind, as plain text with `{name}`, `{product}`, `{key}`, `{expiry}`, `{days}` and `{link}`. What you send replaces all of them.',
  ),
  sender: setByService(
    sender.nullable(),
    'The settings of the operator; null without `MAIL`, and for one that is wrong.',
  ),
  fault: setByService(
    z.string().nullable(),
    'Why no mail can be sent, and the remedy; null if mails are sent.',
  ),
  defaults: setByService(defaults, defaults.description),
};

export const mailSettings = named(
  'MailSettings',
  'The mails to customers, and the state of their sender.',
  wireBody(fields),
  {
    kinds: ['key', 'link'],
    language: 'en',
    texts: { en: { key: { subject: 'Your key for {product}' } } },
    sender: {
      adapter: 'smtp',
      server: 'smtp.example.com',
      from: 'Ada Games <keys@example.com>',
      replyTo: 'help@example.com',
      dailyLimit: 100,
      sentToday: 7,
    },
    fault: null,
    defaults: {
      en: DEFAULT_EXAMPLE,
      de: DEFAULT_EXAMPLE,
      fr: DEFAULT_EXAMPLE,
      es: DEFAULT_EXAMPLE,
      pt: DEFAULT_EXAMPLE,
    },
  },
);
export type MailSettings = z.infer<typeof mailSettings>;

export const mailSettingsUpdate = named(
  'MailSettingsUpdate',
  'Changes of the settings: an omitted field keeps its value [4.8].',
  updateBody(fields),
  { kinds: ['key'] },
);

export const mailPreviewRequest = named(
  'MailPreviewRequest',
  'A mail to see, with made-up values.',
  z.strictObject({
    kind: textKind.describe('The kind of the mail.'),
    language: language.describe('Its language.'),
    text: z.exactOptional(mailText).describe('The texts to try; the stored ones without it.'),
  }),
  { kind: 'key', language: 'en' },
);

export const mailPreview = named(
  'MailPreview',
  'A mail as it would be sent.',
  z.strictObject({
    subject: z.string().describe('The subject.'),
    text: z.string().describe('The plain text.'),
    html: z.string().describe('The page, which loads nothing from elsewhere.'),
  }),
  { subject: 'Your key for ChunkGuard', text: 'Hello Ada,\n…', html: '<!doctype html>…' },
);

export const mailTest = named(
  'MailTest',
  'The address of a test mail, which is not stored.',
  z.strictObject({
    to: z
      .email('must be an e-mail address')
      .max(MAX_EMAIL_LENGTH)
      .describe('Where the test is sent.'),
    language: z.exactOptional(language).describe('Its language; that of the settings without it.'),
  }),
  { to: 'you@example.com' },
);

export const mailAction = named(
  'MailAction',
  'No field, or no body at all.',
  z.strictObject({}).optional(),
  {},
);

export const mail = named(
  'Mail',
  'A mail to a customer, without its text. It is kept for 30 days.',
  z.strictObject({
    id: z.int().describe('Set by the service.'),
    kind: kind.describe('The kind.'),
    cause: z.string().describe('The cause. No cause has a second mail. It holds no address.'),
    state: state.describe('The state.'),
    licenseId: z.int().nullable().describe('The license; null for a mail about several, or none.'),
    customerId: z.int().nullable().describe('The customer; null for a test.'),
    email: z
      .string()
      .nullable()
      .describe(
        'The e-mail of the customer as it is now, which gets the mail; null without one, and for a test.',
      ),
    attempts: z.int().describe('The number of attempts until now.'),
    error: z.string().nullable().describe('Why it was not sent, and the remedy.'),
    createdAt: wireTimestamp.describe('The time of the cause.'),
    sentAt: wireTimestamp.nullable().describe('When the sender took it over.'),
    nextAttemptAt: wireTimestamp
      .nullable()
      .describe('The time of the next attempt at the earliest; null without one.'),
  }),
  {
    id: 4711,
    kind: 'key',
    cause: 'key:50:1',
    state: 'SENT',
    licenseId: 50,
    customerId: 7,
    email: 'ada@example.com',
    attempts: 1,
    error: null,
    createdAt: CREATED,
    sentAt: UPDATED,
    nextAttemptAt: null,
  },
);
export type Mail = z.infer<typeof mail>;

/** The query of the list of mails. */
export const mailQuery = z.strictObject({
  ...pageQuery,
  kind: kind.optional().meta({ description: 'Only mails of this kind.', example: 'key' }),
  state: state.optional().meta({ description: 'Only mails in this state.', example: 'FAILED' }),
  licenseId: idText.optional().meta({ description: 'Only mails of this license.', example: 50 }),
  customerId: idText.optional().meta({ description: 'Only mails of this customer.', example: 7 }),
});

/** The body of the form on the customer's page. */
export const linkRequest = z.object({
  email: z.string().max(1_000),
  language: language.optional(),
});
