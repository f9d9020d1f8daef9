import { parseJson } from '@licet/contract/json';
import { sql } from 'drizzle-orm';
import * as z from 'zod';
import { change, type Sender, stillHolds } from '../../db/change.ts';
import { signatureHeaders } from '../webhooks/formats/standard.ts';
import { hashOfAddress } from './hashes.ts';
import { type BlockReason, type MailRow, mails } from './schema.ts';
import { block, failedEvent, isUnderWay } from './store.ts';

/** The notices of Resend about mails that did not arrive (13), signed as Standard Webhooks. */

const TOLERANCE_MS = 5 * 60_000;

const notice = z.object({
  type: z.string(),
  data: z.object({
    email_id: z.string().optional(),
    to: z.array(z.string()).optional(),
    bounce: z.object({ type: z.string().catch('') }).optional(),
    // Those of a suppression.
    email: z.string().optional(),
    source_id: z.string().nullish(),
  }),
});

/** A notice that ends the mails to an address. */
export interface Bounce {
  /** The id that Resend gave the mail. */
  providerId: string;
  address: string;
  reason: BlockReason;
  /** For people. */
  error: string;
}

const ERRORS = {
  BOUNCED: 'The mail bounced: ask the customer for another address',
  COMPLAINED: 'The customer has marked the mail as spam',
} as const;

/** Whether a notice has a signature of the secret. */
export async function isSignedBy(
  secret: string,
  headers: Headers,
  body: string,
  now: number,
): Promise<boolean> {
  const sent = (name: string): string =>
    headers.get(`svix-${name}`) ?? headers.get(`webhook-${name}`) ?? '';
  const seconds = Number(sent('timestamp'));
  if (sent('id') === '' || !(Math.abs(seconds * 1000 - now) <= TOLERANCE_MS)) return false;
  const expected = await signatureHeaders({ id: sent('id'), body }, [secret], seconds * 1000);
  const encoder = new TextEncoder();
  const right = encoder.encode(expected['webhook-signature']);
  return sent('signature')
    .split(' ')
    .map((one) => encoder.encode(one))
    .some((one) => one.length === right.length && crypto.subtle.timingSafeEqual(one, right));
}

/** The bounce of a notice; null for one that ends nothing, such as a mailbox that is full. */
export function bounceOf(body: string): Bounce | null {
  const { data: read } = notice.safeParse(parseJson(body));
  if (!read) return null;
  const { type, data } = read;
  const address = data.email ?? data.to?.[0];
  const providerId = data.email_id ?? data.source_id;
  if (!address || !providerId) return null;
  const found = (reason: keyof typeof ERRORS): Bounce => ({
    providerId,
    address,
    reason,
    error: ERRORS[reason],
  });
  switch (type) {
    case 'email.bounced':
      return data.bounce && data.bounce.type !== 'Permanent' ? null : found('BOUNCED');
    case 'email.complained':
      return found('COMPLAINED');
    case 'suppression.added':
      return found('BOUNCED');
    default:
      return null;
  }
}

/**
 * Blocks the address of a mail that did not arrive. A mail of another service of the same account changes nothing.
 *
 * @returns whether it is known whose mail it is: an attempt that is under way has no id yet
 */
export async function storeBounce(
  sender: Sender,
  { providerId, address, reason, error }: Bounce,
  secret: string,
): Promise<boolean> {
  const { db, now } = sender;
  const row: MailRow | undefined = await db
    .select()
    .from(mails)
    .where(sql`provider_id = ${providerId}`)
    .get();
  if (!row) return !(await isUnderWay(db, now));
  if (row.kind === 'test') return true;
  const blocked = block(db, [await hashOfAddress(secret, address)], 'all', reason, now);
  // Several notices tell of the same bounce.
  const isFirst = row.state === 'SENT' || row.state === 'UNKNOWN';
  const isUnchanged = sql`exists (select 1 from mails where id = ${row.id} and state = ${row.state})`;
  await change(sender, {
    event: isFirst ? failedEvent(row, error) : null,
    when: [stillHolds(isUnchanged)],
    statements: {
      blocked,
      failed: isFirst
        ? [db.update(mails).set({ state: 'FAILED', error }).where(sql`id = ${row.id}`)]
        : [],
    },
  });
  return true;
}
