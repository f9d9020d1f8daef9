import type { Mail, MailSettings } from '@licet/client';
import { screenTexts } from '../../screen-texts.ts';

const words = screenTexts.mail;

/** The state of the sender. It is `none` where the operator has not set it up. */
export function senderState({
  sender,
  fault,
  kinds,
}: Pick<MailSettings, 'sender' | 'fault' | 'kinds'>): 'none' | 'fault' | 'full' | 'idle' | 'works' {
  if (fault !== null) return 'fault';
  if (sender === null) return 'none';
  if (sender.sentToday >= sender.dailyLimit) return 'full';
  return kinds.length === 0 ? 'idle' : 'works';
}

/**
 * The reason why the key of a license cannot be sent; undefined if it can.
 *
 * @param settings undefined for a token that may not read them: the service itself then rejects
 */
export function whyNotSent(
  email: string | null,
  settings: Pick<MailSettings, 'fault'> | undefined,
): string | undefined {
  if (email === null) return words.needsEmail;
  return settings?.fault ?? undefined;
}

/** Whether a mail can be sent again: it has a recipient. The address of a test is not stored. */
export const mayResend = ({ kind, email }: Mail): boolean => kind !== 'test' && email !== null;

/** Whether a mail that was sent just now does not arrive. */
export const isLost = ({ state }: Pick<Mail, 'state'>): boolean =>
  state === 'FAILED' || state === 'SKIPPED';

/** The outcome of a mail that was sent just now, with its reason. */
export const outcomeText = ({ state, error }: Pick<Mail, 'state' | 'error'>): string =>
  [words.outcomes[state], error].filter(Boolean).join(' ');
