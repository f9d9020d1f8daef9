import { parseJson } from '@licet/contract/json';
import * as z from 'zod';
import type { Outbound, OutboundResult } from '../../../lib/outbound.ts';
import { retryAfterMs } from '../../../lib/retry-after.ts';
import { extraHeadersOf, type Letterhead, mailboxText } from '../mime.ts';
import type { OutgoingMail, SendOutcome } from '../sender.ts';

/** Resend (resend.com/docs/api-reference/emails/send-email). It sends nothing twice for an Idempotency-Key of 24 hours. */

export const RESEND_HOST = 'api.resend.com';
const URL_OF_MAILS = `https://${RESEND_HOST}/emails`;

const success = z.object({ id: z.string() });
const failure = z.object({ name: z.string().catch(''), message: z.string().catch('') });

const ADVICE = {
  key: 'Check the key in MAIL: it must be able to send',
  sender: 'Check at Resend that the domain of MAIL_FROM is verified',
};

/** Hands a mail to Resend. */
export async function sendByResend(
  outbound: Outbound,
  key: string,
  letterhead: Letterhead,
  mail: OutgoingMail,
): Promise<SendOutcome> {
  const { from, replyTo } = letterhead;
  const result = await outbound.send(URL_OF_MAILS, {
    headers: {
      Authorization: `Bearer ${key}`,
      'Content-Type': 'application/json',
      'Idempotency-Key': mail.id,
    },
    body: JSON.stringify({
      from: mailboxText(from),
      to: [mail.to],
      ...(replyTo && { reply_to: mailboxText(replyTo) }),
      subject: mail.subject,
      text: mail.text,
      html: mail.html,
      headers: extraHeadersOf(mail),
    }),
  });
  return outcomeOf(result);
}

function outcomeOf(result: OutboundResult): SendOutcome {
  // The key makes a repetition harmless, whether or not Resend has taken the mail.
  if ('error' in result) return { state: 'retry', error: `Resend: ${result.error}` };
  const { status, headers, body } = result;
  const json = parseJson(body);
  if (status >= 200 && status < 300) {
    return { state: 'sent', providerId: success.safeParse(json).data?.id ?? null };
  }
  const { name = '', message = '' } = failure.safeParse(json).data ?? {};
  const error = `Resend returned ${status}${message && `: ${message}`}`;
  const advised = (advice: string): SendOutcome => ({
    state: 'retry',
    error: `${error.replace(/\.?$/, '.')} ${advice}.`,
  });
  // An earlier attempt has handed the mail over, and its text has changed since, such as a name.
  if (name === 'invalid_idempotent_request') return { state: 'sent', providerId: null };
  if (status === 429) {
    const pauseMs = retryAfterMs(headers, Date.now());
    return { state: 'retry', error, ...(pauseMs !== undefined && { retryAfterMs: pauseMs }) };
  }
  if (status === 401 || /api.key/i.test(message)) return advised(ADVICE.key);
  if (status === 403 || name === 'invalid_from_address' || /`from`/.test(message)) {
    return advised(ADVICE.sender);
  }
  if (status === 400 || status === 422) {
    return { state: 'refused', error, isAddress: /`to`|recipient/i.test(message) };
  }
  return { state: 'retry', error };
}
