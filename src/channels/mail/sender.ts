import type { MailAdapter, MailLanguage } from '@licet/contract/mail-kinds';

/** Sending of one mail, whatever takes it over (13). */

/** One message, as an adapter sends it. */
export interface OutgoingMail {
  /** Identity of the mail, the same at each attempt: `Idempotency-Key` of Resend, left part of the Message-ID of SMTP. */
  id: string;
  to: string;
  subject: string;
  text: string;
  html: string;
  language: MailLanguage;
  /** For one-click unsubscribe (RFC 8058): an https address; reminders alone. */
  unsubscribeUrl?: string;
}

/**
 * The outcome of an attempt. `retry` is repeated, `lost` may have arrived, `refused` ends the mail. An error is words for
 * people, without secrets.
 */
export type SendOutcome =
  | { state: 'sent'; providerId: string | null }
  | { state: 'retry'; error: string; retryAfterMs?: number }
  | { state: 'lost'; error: string }
  /** `isAddress`: the address itself is at fault, and gets nothing more. */
  | { state: 'refused'; error: string; isAddress: boolean };

export interface MailSender {
  readonly adapter: MailAdapter;
  /** The host that takes the mails, for people. */
  readonly server: string;
  readonly from: string;
  readonly replyTo: string | null;
  /** Mails a day (UTC). */
  readonly dailyLimit: number;
  /** Whether a repetition with the same id sends nothing twice. */
  readonly isRepeatSafe: boolean;
  /** Never rejects. */
  send(mail: OutgoingMail): Promise<SendOutcome>;
}
