import * as z from 'zod';
import { extraHeadersOf, type Letterhead } from '../mime.ts';
import type { OutgoingMail, SendOutcome } from '../sender.ts';
import type { Mailbox } from '../settings.ts';

/** Cloudflare's Email Service, by a binding (developers.cloudflare.com/email-service/api/send-emails/workers-api). */

/** Codes of errors that time or the operator can remedy, and the remedy. */
const PASSING: Readonly<Record<string, string>> = {
  E_SENDER_NOT_VERIFIED: 'Onboard the domain of MAIL_FROM in the dashboard, under Email Sending',
  E_SENDER_DOMAIN_NOT_AVAILABLE:
    'Onboard the domain of MAIL_FROM in the dashboard, under Email Sending',
  E_RECIPIENT_NOT_ALLOWED:
    'Remove the limits of [[send_email]] in wrangler.toml; a Free plan sends to verified addresses only',
  E_RATE_LIMIT_EXCEEDED: 'It is tried again later',
  E_DAILY_LIMIT_EXCEEDED: 'It is tried again later; the dashboard shows the limit of the account',
  E_DELIVERY_FAILED: 'It is tried again later',
  E_INTERNAL_SERVER_ERROR: 'It is tried again later',
};
/** An error is no plain object. */
const failure = z.looseObject({ code: z.string(), message: z.string() });
const SUPPRESSED = 'E_RECIPIENT_SUPPRESSED';

const addressOf = ({ name, address }: Mailbox) =>
  name === '' ? address : { name, email: address };

/** Hands a mail to the binding. */
export async function sendByCloudflare(
  binding: SendEmail,
  { from, replyTo }: Letterhead,
  mail: OutgoingMail,
): Promise<SendOutcome> {
  try {
    const { messageId } = await binding.send({
      from: addressOf(from),
      to: mail.to,
      ...(replyTo && { replyTo: addressOf(replyTo) }),
      subject: mail.subject,
      text: mail.text,
      html: mail.html,
      headers: extraHeadersOf(mail),
    });
    return { state: 'sent', providerId: messageId };
  } catch (error) {
    return outcomeOf(error);
  }
}

function outcomeOf(error: unknown): SendOutcome {
  const { code, message } = failure.safeParse(error).data ?? {};
  // Without a code, the connection to the service was lost, perhaps after the mail.
  if (code === undefined) {
    return { state: 'lost', error: 'Cloudflare has not said whether it has taken the mail.' };
  }
  const words = `Cloudflare refused the mail with ${code}`;
  const remedy = PASSING[code];
  if (remedy !== undefined) return { state: 'retry', error: `${words}. ${remedy}.` };
  const reason = code === SUPPRESSED ? 'The address has bounced, or has complained' : message;
  return { state: 'refused', error: `${words}: ${reason}.`, isAddress: code === SUPPRESSED };
}
