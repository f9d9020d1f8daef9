import { textColourOn } from '@licet/contract/contrast';
import type { MailText } from '@licet/contract/mail';
import {
  MAIL_PLACEHOLDERS,
  type MailKind,
  type MailLanguage,
  type MailPlaceholder,
  type MailTextKind,
  PLACEHOLDERS_OF,
} from '@licet/contract/mail-kinds';
import type { PortalSettings } from '@licet/contract/portal';
import { escapeHtml } from '../../lib/html.ts';
import { oneLine } from './mime.ts';
import type { OutgoingMail } from './sender.ts';
import { WORDS } from './texts.ts';

/** The text and the page of a mail (13), made of the seller's words and the facts. */

/** The values of a mail, which its placeholders and its facts show. */
export interface MailValues {
  /** Empty for a customer without one. */
  name: string;
  product: string;
  /** In full for `key`. The other kinds show none. */
  key: string;
  /** Milliseconds since 1970; null for none. */
  expiry: number | null;
  /** Days from the first use, for a license that was never used. */
  expiresAfterDays?: number | null;
  /** Days until the expiry. */
  days: number | null;
  /** The customer's page; for `link`, with its code. Null for none. */
  link: string | null;
}

/** A license of a reminder. */
export interface ExpiringLicense {
  product: string;
  keyEnd: string;
  expiry: number;
  days: number;
  renewUrl?: string | null;
}

export interface MailContents {
  kind: MailKind;
  language: MailLanguage;
  /** The seller's words. An omitted part is the default one. */
  texts: MailText;
  values: MailValues;
  /** The licenses of a reminder. */
  licenses?: readonly ExpiringLicense[];
  seller: PortalSettings;
  unsubscribeUrl?: string;
}

/** The words of Licet, by language and kind. */
export const DEFAULT_TEXTS: Readonly<
  Record<MailLanguage, Record<MailTextKind, Required<MailText>>>
> = {
  en: WORDS.en.kinds,
  de: WORDS.de.kinds,
  fr: WORDS.fr.kinds,
  es: WORDS.es.kinds,
  pt: WORDS.pt.kinds,
};

/** The secrets of each kind: servers log subjects, and programs of mail show them on locked screens. */
const HIDDEN_IN_SUBJECTS: Readonly<Record<MailTextKind, readonly MailPlaceholder[]>> = {
  key: ['key'],
  link: ['link'],
  // The last groups of keys, and the page without a code.
  expiring: [],
};

/** The reason against words of a seller; undefined for none. */
export function textFaultOf(kind: MailTextKind, text: MailText): string | undefined {
  for (const [part, words] of Object.entries(text)) {
    const hidden = part === 'subject' ? HIDDEN_IN_SUBJECTS[kind] : [];
    const allowed: readonly string[] = PLACEHOLDERS_OF[kind].filter(
      (name) => !hidden.includes(name),
    );
    // Also a name in the seller's language, such as {schlüssel}.
    const [, unknown] =
      [...words.matchAll(/\{([\p{L}\p{N}_-]+)\}/gu)].find(
        ([, name = '']) => !allowed.includes(name),
      ) ?? [];
    if (unknown !== undefined) {
      const list = allowed.map((name) => `{${name}}`).join(', ');
      const reason = hidden.some((name) => name === unknown)
        ? 'which servers would log'
        : 'which has no value in this mail';
      return `${part} has {${unknown}}, ${reason}: use ${list}`;
    }
  }
  return /[\r\n]/.test(text.subject ?? '') ? 'subject must be one line' : undefined;
}

/** A part of a mail, as text and as HTML. */
type Part = [text: string, html: string];

const MAX_LISTED = 3;
/** The colour of a seller who has chosen none. */
export const DEFAULT_COLOUR = '#2f4fbf';
/** Something that programs of mail make a link of: a name is a stranger's. */
const LINK_LIKE = /[/@]|\w\.\w{2}/;

const paragraph = (text: string): Part => [
  text,
  text
    .split(/\n{2,}/)
    .map((part) => `<p>${escapeHtml(part).replaceAll('\n', '<br>')}</p>`)
    .join('\n'),
];

const note = (text: string): Part => [
  text,
  `<p style="font-size:14px;opacity:.8">${escapeHtml(text)}</p>`,
];

const fact = (label: string, value: string): Part => [
  `${label}${value}`,
  `<p>${escapeHtml(label)}<strong>${escapeHtml(value)}</strong></p>`,
];

const keyFact = (label: string, key: string): Part => [
  `${label}${key}`,
  `<p>${escapeHtml(label)}<br><span style="display:inline-block;margin-top:4px;padding:8px 12px;border:1px solid #888888;border-radius:6px;font-family:ui-monospace,Menlo,Consolas,monospace;font-size:16px;word-break:break-all">${escapeHtml(key)}</span></p>`,
];

const link = (label: string, colon: string, url: string): Part => [
  `${label}${colon}${url.replace(/^mailto:/, '')}`,
  `<p style="font-size:14px"><a href="${escapeHtml(url)}">${escapeHtml(label)}</a></p>`,
];

/** Parts whose lines follow each other in the text. */
const together = (parts: readonly Part[]): Part[] =>
  parts.length === 0
    ? []
    : [[parts.map(([text]) => text).join('\n'), parts.map(([, html]) => html).join('\n')]];

/** Makes a mail. */
export function composeMail(
  contents: MailContents,
): Pick<OutgoingMail, 'subject' | 'text' | 'html'> {
  const { kind, language, texts, seller } = contents;
  const defaults = kind === 'test' ? WORDS[language].test : WORDS[language].kinds[kind];
  const values = valuesOf(contents);
  const fill = (words: string): string => fillIn(words, values);
  const subject = oneLine(fill(texts.subject ?? '')) || oneLine(fill(defaults.subject));
  const parts = [
    paragraph(fill(texts.greeting ?? defaults.greeting)),
    ...factsOf(contents),
    paragraph(fill(texts.closing ?? defaults.closing)),
    ...footOf(contents),
  ];
  return {
    subject,
    text: `${parts.map(([text]) => text).join('\n\n')}\n`,
    html: pageOf(language, subject, seller, parts.map(([, html]) => html).join('\n')),
  };
}

const PLACEHOLDER = new RegExp(String.raw`[\s,]*\{(${MAIL_PLACEHOLDERS.join('|')})\}`, 'g');

/** Puts values into words. Values are never read as words. */
const fillIn = (words: string, values: ReadonlyMap<string, string>): string =>
  words
    .replace(/\r\n?/g, '\n')
    .replace(PLACEHOLDER, (matched, name: string) => {
      const value = values.get(name) ?? '';
      // Without a name, a greeting is "Hello," and not "Hello ,".
      return value === '' ? '' : matched.slice(0, matched.indexOf('{')) + value;
    })
    .replace(/^[\s,]+|\s+$/g, '');

function valuesOf({ kind, language, values, licenses = [] }: MailContents) {
  const { days, link: url } = values;
  const name = oneLine(values.name);
  const isReminder = kind === 'expiring';
  return new Map(
    Object.entries({
      name: LINK_LIKE.test(name) ? '' : name,
      product: isReminder
        ? listOf(
            language,
            licenses.map(({ product }) => product),
          )
        : oneLine(values.product),
      key: isReminder
        ? listOf(
            language,
            licenses.map(({ keyEnd }) => `…${keyEnd}`),
          )
        : values.key,
      expiry: values.expiry === null ? endOf(language, values) : dayOf(language, values.expiry),
      days: days === null ? '' : String(days),
      link: url ?? '',
    }),
  );
}

const dayOf = (language: MailLanguage, at: number): string =>
  new Intl.DateTimeFormat(language, { dateStyle: 'long', timeZone: 'UTC' }).format(at);

/** The end of a license in words. */
function endOf(language: MailLanguage, { expiry, expiresAfterDays }: MailValues): string {
  const words = WORDS[language];
  if (expiresAfterDays != null) return words.fromFirstUse(expiresAfterDays);
  return expiry === null ? words.forever : words.until(dayOf(language, expiry));
}

/** Some names, and the number of the others. */
function listOf(language: MailLanguage, names: readonly string[]): string {
  const all = [...new Set(names.map(oneLine))];
  const shown = all.length > MAX_LISTED ? all.slice(0, MAX_LISTED - 1) : all;
  const others = all.length - shown.length;
  const items = others > 0 ? [...shown, WORDS[language].others(others)] : shown;
  return new Intl.ListFormat(language).format(items);
}

function factsOf(contents: MailContents): Part[] {
  const { kind, language, values, licenses = [], seller } = contents;
  const words = WORDS[language];
  const { colon } = words;
  const page = (label: string): Part[] =>
    values.link === null
      ? []
      : [button(label, colon, values.link, seller.colour ?? DEFAULT_COLOUR)];
  switch (kind) {
    case 'key':
      return [
        ...together([
          fact(`${words.product}${colon}`, oneLine(values.product)),
          keyFact(`${words.key}${colon}`, values.key),
          fact(`${words.validity}${colon}`, endOf(language, values)),
        ]),
        ...page(words.openPage),
      ];
    case 'link':
      return [...page(words.openLink), note(words.onceOnly)];
    case 'expiring':
      return [
        ...licenses.flatMap(({ product, keyEnd, expiry, days, renewUrl }) =>
          together([
            fact(
              `${oneLine(product)} (…${keyEnd})${colon}`,
              `${dayOf(language, expiry)}, ${words.inDays(days)}`,
            ),
            ...(renewUrl ? [link(words.renew, colon, renewUrl)] : []),
          ]),
        ),
        ...page(words.openPage),
      ];
    case 'test':
      return [];
  }
}

function footOf({ language, seller, unsubscribeUrl }: MailContents): Part[] {
  const { colon, help, noMore } = WORDS[language];
  return together([
    // The page has it in its head.
    ...(seller.name === '' ? [] : [[oneLine(seller.name), ''] satisfies Part]),
    ...(seller.contact === null ? [] : [link(help, colon, seller.contact)]),
    ...(unsubscribeUrl === undefined ? [] : [link(noMore, colon, unsubscribeUrl)]),
  ]);
}

const button = (label: string, colon: string, url: string, colour: string): Part => [
  `${label}${colon}${url}`,
  `<p><a href="${escapeHtml(url)}" style="display:inline-block;padding:10px 18px;border-radius:6px;background-color:${colour};color:${textColourOn(colour)};text-decoration:none;font-weight:600">${escapeHtml(label)}</a></p>`,
];

/**
 * The page of a mail. It loads nothing from elsewhere, and leaves the colours of the text and of the ground to the program
 * that shows it, which can be dark. The seller's logo is a `data:` URL, which many of them do not show: the name stands there.
 */
function pageOf(
  language: MailLanguage,
  subject: string,
  { name, colour }: PortalSettings,
  body: string,
): string {
  const head =
    name === ''
      ? ''
      : `<p style="font-size:18px;font-weight:600">${escapeHtml(oneLine(name))}</p>\n`;
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(subject)}</title>
</head>
<body style="margin:0;padding:16px;font-family:system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;font-size:16px;line-height:1.5">
<div style="max-width:560px;margin:0 auto;padding-top:8px;border-top:4px solid ${colour ?? DEFAULT_COLOUR}">
${head}${body}
</div>
</body>
</html>
`;
}
