import { parseAddress } from '@licet/contract/addresses';

/** The operator's settings of mails, as text (13). The secret MAIL holds a password: no fault repeats its value. */

/** A mail server, and the login there. */
export interface SmtpServer {
  hostname: string;
  port: number;
  /** `none` is for this machine alone. */
  security: 'tls' | 'starttls' | 'none';
  login: { user: string; password: string } | null;
}

/** The way in which mails leave. */
export type MailWay =
  | { adapter: 'resend'; key: string }
  | { adapter: 'smtp'; server: SmtpServer }
  | { adapter: 'cloudflare' };

/** A mail address with the name that people see; an empty one for none. */
export interface Mailbox {
  name: string;
  address: string;
}

/** A value, or the end of a sentence that begins with the name of the setting. */
type Parsed<Value> = { value: Value } | { fault: string };

const FORMS =
  'must be resend:KEY, smtps://USER:PASSWORD@HOST, smtp://USER:PASSWORD@HOST:587 or cloudflare: (docs/mail.md).';
/** The fault of `cloudflare:` on one machine, where nothing would leave. */
export const CLOUDFLARE_ONLY =
  'MAIL must be resend:KEY, smtps://USER:PASSWORD@HOST or smtp://USER:PASSWORD@HOST:587, because cloudflare: works at Cloudflare only.';
const SIGNS =
  'must be smtps://USER:PASSWORD@HOST or smtp://USER:PASSWORD@HOST:587, with all signs of the user and the password but letters and digits percent-encoded, such as %40 for @.';
const PRINTABLE = /^[\x21-\x7e]+$/;
/** An address that each mail server takes: ASCII, and a host with a dot. */
const ADDRESS =
  /^[\w.!#$%&'*+/=?^`{|}~-]+@[a-z\d](?:[a-z\d-]*[a-z\d])?(?:\.[a-z\d](?:[a-z\d-]*[a-z\d])?)+$/i;
const CONTROL = /\p{Cc}/u;

export const isMailAddress = (text: string): boolean => ADDRESS.test(text);

const textOf = (value: unknown): string => String(value ?? '').trim();

/** Reads `MAIL`, which is not empty. */
export function parseMail(value: unknown): Parsed<MailWay> {
  const text = textOf(value);
  if (text === 'cloudflare:') return { value: { adapter: 'cloudflare' } };
  const [, key] = /^resend:(.*)$/s.exec(text) ?? [];
  if (key !== undefined) {
    return PRINTABLE.test(key)
      ? { value: { adapter: 'resend', key } }
      : { fault: 'must have the key of Resend after resend:, without spaces.' };
  }
  return parseSmtp(text);
}

function parseSmtp(text: string): Parsed<MailWay> {
  if (!/^smtps?:\/\//.test(text)) return { fault: FORMS };
  // A password with / or # is taken for the end of the host.
  const url = URL.parse(text);
  if (!url) return { fault: text.includes('@') ? SIGNS : FORMS };
  if (/[?#]/.test(text) || !['', '/'].includes(url.pathname)) return { fault: SIGNS };
  const { hostname, protocol } = url;
  if (hostname === '') return { fault: FORMS };
  const login = loginIn(url);
  if (login === undefined) return { fault: SIGNS };
  const isTls = protocol === 'smtps:';
  const security = isTls ? 'tls' : isLoopback(hostname) ? 'none' : 'starttls';
  if (login === null && security !== 'none') {
    return { fault: 'must have a user and a password before the host, as USER:PASSWORD@HOST.' };
  }
  const port = Number(url.port || (isTls ? 465 : 587));
  return {
    value: {
      adapter: 'smtp',
      server: { hostname: hostname.replace(/^\[(.*)\]$/, '$1'), port, security, login },
    },
  };
}

/** Null without a login; undefined for one that cannot be read. */
function loginIn({ username, password }: URL): SmtpServer['login'] | undefined {
  if (username === '' && password === '') return null;
  try {
    const login = { user: decodeURIComponent(username), password: decodeURIComponent(password) };
    const isWrong = Object.values(login).some((part) => part === '' || CONTROL.test(part));
    return isWrong ? undefined : login;
  } catch {
    return undefined;
  }
}

/** Whether a connection to the host stays on this machine. */
function isLoopback(hostname: string): boolean {
  if (/^(?:.+\.)?localhost$/i.test(hostname)) return true;
  return parseAddress(hostname.replace(/^\[(.*)\]$/, '$1'))?.range() === 'loopback';
}

/** Reads `address` or `Name <address>`. */
export function parseMailbox(value: unknown): Parsed<Mailbox> {
  const text = textOf(value);
  const [, name = '', bracketed] = /^(.*?)\s*<([^<>]*)>$/s.exec(text) ?? [];
  const address = bracketed ?? text;
  const quoted = /^"(.*)"$/s.exec(name);
  const shown = quoted?.[1]?.replace(/\\(.)/gs, '$1') ?? name;
  if (isMailAddress(address) && !CONTROL.test(shown)) return { value: { name: shown, address } };
  return {
    fault: `must be an address such as keys@example.com or Shop <keys@example.com>, not ${JSON.stringify(value)}.`,
  };
}

/** Reads `MAIL_DAILY_LIMIT`, which is not empty. */
function parseDailyLimit(value: unknown): Parsed<number> {
  const text = textOf(value);
  return /^[1-9]\d{0,8}$/.test(text)
    ? { value: Number(text) }
    : { fault: `must be a number of mails a day, not ${JSON.stringify(value)}.` };
}

/** The end of a sentence that begins with the name; undefined for a right value, and for an empty one. */
const faultBy =
  (parse: (value: unknown) => Parsed<unknown>) =>
  (value: unknown): string | undefined => {
    const parsed = textOf(value) === '' ? undefined : parse(value);
    return parsed && 'fault' in parsed ? parsed.fault : undefined;
  };

/** The faults of each setting by itself, for the scripts that read them before the service starts. */
export const mailFault = faultBy(parseMail);
export const mailboxFault = faultBy(parseMailbox);
export const dailyLimitFault = faultBy(parseDailyLimit);

/** The variables that set the sender of mails. A number of TOML is no text. */
export interface MailVariables {
  MAIL?: unknown;
  MAIL_FROM?: unknown;
  MAIL_REPLY_TO?: unknown;
  MAIL_DAILY_LIMIT?: unknown;
}

/** The settings of mails, once all are right. */
export interface MailSetting {
  way: MailWay;
  from: Mailbox;
  replyTo: Mailbox | null;
  /** Mails a day (UTC). */
  dailyLimit: number;
}

const DEFAULT_DAILY_LIMIT = 100;

/** The settings; null without `MAIL`. A fault is a sentence with the setting and its remedy. */
export function readMailSettings(variables: MailVariables): Parsed<MailSetting> | null {
  const { MAIL, MAIL_FROM, MAIL_REPLY_TO, MAIL_DAILY_LIMIT } = variables;
  if (textOf(MAIL) === '') return null;
  const way = parseMail(MAIL);
  if ('fault' in way) return { fault: `MAIL ${way.fault}` };
  if (textOf(MAIL_FROM) === '') {
    return {
      fault: 'MAIL_FROM must be set: the address that sends, such as Shop <keys@example.com>.',
    };
  }
  const from = parseMailbox(MAIL_FROM);
  if ('fault' in from) return { fault: `MAIL_FROM ${from.fault}` };
  const replyTo = textOf(MAIL_REPLY_TO) === '' ? { value: null } : parseMailbox(MAIL_REPLY_TO);
  if ('fault' in replyTo) return { fault: `MAIL_REPLY_TO ${replyTo.fault}` };
  const limit = parseDailyLimit(textOf(MAIL_DAILY_LIMIT) || DEFAULT_DAILY_LIMIT);
  if ('fault' in limit) return { fault: `MAIL_DAILY_LIMIT ${limit.fault}` };
  return {
    value: { way: way.value, from: from.value, replyTo: replyTo.value, dailyLimit: limit.value },
  };
}
