/** The enumerations of mails (13), for programs without the schemas. */

/** The kinds whose texts a seller can write, and which are off until switched on. */
export const MAIL_TEXT_KINDS = ['key', 'link', 'expiring'] as const;
export type MailTextKind = (typeof MAIL_TEXT_KINDS)[number];

/** All kinds. A test has no switch, because a person asks for each. */
export const MAIL_KINDS = [...MAIL_TEXT_KINDS, 'test'] as const;
export type MailKind = (typeof MAIL_KINDS)[number];

/** A mail is UNKNOWN if the connection was lost after the message was handed over. */
export const MAIL_STATES = ['WAITING', 'SENT', 'UNKNOWN', 'FAILED', 'SKIPPED'] as const;
export type MailState = (typeof MAIL_STATES)[number];

/** The languages of the customer's page. */
export const MAIL_LANGUAGES = ['en', 'de', 'fr', 'es', 'pt'] as const;
export type MailLanguage = (typeof MAIL_LANGUAGES)[number];

export const MAIL_ADAPTERS = ['resend', 'smtp', 'cloudflare'] as const;
export type MailAdapter = (typeof MAIL_ADAPTERS)[number];

/** The placeholders of the seller's texts. */
export const MAIL_PLACEHOLDERS = ['name', 'product', 'key', 'expiry', 'days', 'link'] as const;
export type MailPlaceholder = (typeof MAIL_PLACEHOLDERS)[number];

/** The placeholders that have a value in each kind. */
export const PLACEHOLDERS_OF: Readonly<Record<MailTextKind, readonly MailPlaceholder[]>> = {
  key: ['name', 'product', 'key', 'expiry', 'link'],
  link: ['name', 'link'],
  expiring: MAIL_PLACEHOLDERS,
};
