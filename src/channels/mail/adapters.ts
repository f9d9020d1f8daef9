import type { Outbound } from '../../lib/outbound.ts';
import { sendByCloudflare } from './adapters/cloudflare.ts';
import { RESEND_HOST, sendByResend } from './adapters/resend.ts';
import { type SmtpNetwork, sendBySmtp } from './adapters/smtp.ts';
import { mailboxText, oneLine } from './mime.ts';
import type { MailSender, OutgoingMail, SendOutcome } from './sender.ts';
import { CLOUDFLARE_ONLY, isMailAddress, readMailSettings } from './settings.ts';

/** The adapters of mails, and the one that the operator has chosen (13). */

/** The bindings of the sender of mails. */
export interface MailBindings {
  /** Secret: the way in which mails leave. Empty for none. */
  MAIL?: string;
  MAIL_FROM?: string;
  MAIL_REPLY_TO?: string;
  MAIL_DAILY_LIMIT?: string;
  /** Cloudflare's Email Service. */
  EMAIL?: SendEmail;
  /** The network of `npm start` to the mail server, which may be private: the operator has chosen it. */
  MAIL_NETWORK?: SmtpNetwork;
  /** Set by `npm start` alone. */
  ONE_MACHINE?: string;
}

const NO_BINDING =
  'MAIL is cloudflare:, which needs the binding EMAIL: in wrangler.toml, remove the # before [[send_email]] and its line, and run npm run deploy.';

/** The sender of the settings; null without `MAIL`. A fault is a sentence with the setting and its remedy, and no secret. */
export function mailSenderOf(
  bindings: MailBindings,
  outbound: Outbound,
): { sender: MailSender | null; fault: string | null } {
  const settings = readMailSettings(bindings);
  if (!settings) return { sender: null, fault: null };
  if ('fault' in settings) return { sender: null, fault: settings.fault };
  const { way, from, replyTo, dailyLimit } = settings.value;
  const { EMAIL, MAIL_NETWORK, ONE_MACHINE } = bindings;
  const letterhead = { from, replyTo };
  const common = {
    adapter: way.adapter,
    from: mailboxText(from),
    replyTo: replyTo && mailboxText(replyTo),
    dailyLimit,
    isRepeatSafe: way.adapter === 'resend',
  };
  const sending = (server: string, send: MailSender['send']) => ({
    sender: { ...common, server, send: (mail: OutgoingMail) => sendChecked(mail, send) },
    fault: null,
  });
  switch (way.adapter) {
    case 'resend':
      return sending(RESEND_HOST, (mail) => sendByResend(outbound, way.key, letterhead, mail));
    case 'smtp':
      return sending(way.server.hostname, (mail) =>
        sendBySmtp(way.server, letterhead, mail, MAIL_NETWORK),
      );
    case 'cloudflare': {
      if (ONE_MACHINE !== undefined) return { sender: null, fault: CLOUDFLARE_ONLY };
      if (!EMAIL) return { sender: null, fault: NO_BINDING };
      return sending('Cloudflare', (mail) => sendByCloudflare(EMAIL, letterhead, mail));
    }
  }
}

/** Sends a mail, unless no server takes its address. The words of an outcome are kept, so they do not repeat the address. */
async function sendChecked(mail: OutgoingMail, send: MailSender['send']): Promise<SendOutcome> {
  if (!isMailAddress(mail.to)) {
    const error = 'No mail server takes this address. Correct the e-mail of the customer.';
    return { state: 'refused', error, isAddress: true };
  }
  const outcome = await send({ ...mail, subject: oneLine(mail.subject) });
  if (outcome.state === 'sent') return outcome;
  const words = outcome.error.split(new RegExp(RegExp.escape(mail.to), 'i')).join('…');
  return { ...outcome, error: oneLine(words) };
}
