import type { MailLanguage } from '@licet/contract/mail-kinds';
import type { Sender } from '../../db/change.ts';
import { clientOf } from '../../lib/networks.ts';
import { storeLinkMail } from './causes.ts';
import { hashOfClient } from './hashes.ts';
import type { Mailer } from './mailer.ts';

/** Links to the customer's page that a person asks for by e-mail (13). */

/** A wish for a link. */
interface Wish {
  email: string;
  language: MailLanguage | null;
  /** The connecting address; null if it is unknown. */
  address: string | null;
}

/** Stores and sends the mail, after the response: its time must not tell who is a customer. */
export async function sendLink(
  newSender: () => Sender,
  mailer: Mailer,
  { email, language, address }: Wish,
  secret: string,
): Promise<void> {
  const { db, now } = newSender();
  const askedFrom = address === null ? null : await hashOfClient(secret, clientOf(address));
  const stored = await storeLinkMail(db, { email, language, askedFrom }, now);
  await mailer.sendNew(
    newSender,
    stored.map(({ id }) => id),
  );
}
