import type { OutgoingMail } from './sender.ts';
import type { Mailbox } from './settings.ts';

/** Mails as bytes (RFC 5322, 2045, 2047), in ASCII. */

/** Bytes of an encoded word: with its signs it has at most 75 characters. */
const WORD_BYTES = 45;
/** Characters of a header that stays on one line. */
const MAX_LINE = 76;
/** Bytes of a line of base64. */
const BASE64_LINE = 76;
const ASCII = /^[\x20-\x7e]*$/;

/** A text without the control characters and line separators that could begin another header. */
export const oneLine = (text: string): string =>
  text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim();

/** The sender of mails, and the address for replies. */
export interface Letterhead {
  from: Mailbox;
  replyTo: Mailbox | null;
}

/** The headers of a mail that each adapter sends beside the addresses and the subject. */
export function extraHeadersOf({ language, unsubscribeUrl }: OutgoingMail): Record<string, string> {
  return {
    'Auto-Submitted': 'auto-generated',
    'Content-Language': language,
    ...(unsubscribeUrl !== undefined && {
      'List-Unsubscribe': `<${oneLine(unsubscribeUrl)}>`,
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    }),
  };
}

/** A mailbox as a field of JSON, which needs no encoded words. */
export function mailboxText({ name, address }: Mailbox): string {
  const shown = oneLine(name).replace(/["\\]/g, '\\$&');
  return shown === '' ? address : `"${shown}" <${address}>`;
}

/** The parts of a text with at most as many bytes each, cut between characters. */
function partsOf(text: string, maxBytes: number): string[] {
  const encoder = new TextEncoder();
  const parts: string[] = [];
  let part = '';
  let left = maxBytes;
  for (const character of text) {
    const { length } = encoder.encode(character);
    if (length > left) {
      parts.push(part);
      part = '';
      left = maxBytes;
    }
    part += character;
    left -= length;
  }
  return [...parts, part];
}

const base64 = (text: string): string => new TextEncoder().encode(text).toBase64();

const encodedWords = (text: string): string =>
  partsOf(text, WORD_BYTES)
    .map((part) => `=?UTF-8?B?${base64(part)}?=`)
    .join('\r\n ');

/** Whether a header can be sent as it is: one line holds it, and no reader takes it for encoded words. */
const isPlain = (line: string): boolean =>
  ASCII.test(line) && line.length <= MAX_LINE && !line.includes('=?');

function textHeader(name: string, text: string): string {
  const line = `${name}: ${text}`;
  return isPlain(line) ? line : `${name}: ${encodedWords(text)}`;
}

function mailboxHeader(name: string, mailbox: Mailbox): string {
  const line = `${name}: ${mailboxText(mailbox)}`;
  const shown = oneLine(mailbox.name);
  return shown === '' || isPlain(line)
    ? line
    : `${name}: ${encodedWords(shown)}\r\n <${mailbox.address}>`;
}

const bodyPart = (type: string, text: string): string =>
  [
    `Content-Type: text/${type}; charset=utf-8`,
    'Content-Transfer-Encoding: base64',
    '',
    ...(base64(text.replace(/\r?\n/g, '\r\n')).match(new RegExp(`.{1,${BASE64_LINE}}`, 'g')) ?? []),
  ].join('\r\n');

/**
 * A mail as it is handed over by SMTP, without the final dot.
 *
 * @param now milliseconds since 1970
 */
export function mimeOf(mail: OutgoingMail, { from, replyTo }: Letterhead, now: number): string {
  const [, domain] = from.address.split('@');
  // No line of base64 begins with these signs.
  const boundary = `=_${mail.id}`;
  return [
    mailboxHeader('From', from),
    `To: ${mail.to}`,
    ...(replyTo ? [mailboxHeader('Reply-To', replyTo)] : []),
    textHeader('Subject', oneLine(mail.subject)),
    `Date: ${new Date(now).toUTCString().replace('GMT', '+0000')}`,
    `Message-ID: <${mail.id}@${domain}>`,
    ...Object.entries(extraHeadersOf(mail)).map(([name, value]) => `${name}: ${value}`),
    'MIME-Version: 1.0',
    `Content-Type: multipart/alternative; boundary="${boundary}"`,
    '',
    `--${boundary}`,
    bodyPart('plain', mail.text),
    `--${boundary}`,
    bodyPart('html', mail.html),
    `--${boundary}--`,
    '',
  ].join('\r\n');
}
