import type { Mail } from '@licet/contract/mail';
import type { MailKind, MailState } from '@licet/contract/mail-kinds';
import { toOptionalTimestamp, toTimestamp } from '@licet/contract/time';
import { and, desc, eq, getTableColumns, lt, type SQL, sql } from 'drizzle-orm';
import type { Database } from '../../db/client.ts';
import { equalsAll } from '../../db/predicates.ts';
import { customers } from '../../resources/customers/schema.ts';
import { type MailRow, mails } from './schema.ts';

/** Mails, as administrators see them (13). */

/** A mail with the e-mail that its customer has now. */
export type ListedMail = MailRow & { email: string | null };

/** The filter of a list of mails. */
export interface MailFilter {
  kind?: MailKind | undefined;
  state?: MailState | undefined;
  licenseId?: number | undefined;
  customerId?: number | undefined;
}

const select = (db: Database, where: SQL | undefined, limit: number): Promise<ListedMail[]> =>
  db
    .select({
      ...getTableColumns(mails),
      email: sql<string | null>`(select email from ${customers}
        where ${customers.id} = ${mails.customerId})`.as('email'),
    })
    .from(mails)
    .where(where)
    .orderBy(desc(mails.id))
    .limit(limit);

const matches = ({ kind, state, licenseId, customerId }: MailFilter): SQL | undefined =>
  equalsAll(
    [mails.licenseId, licenseId],
    [mails.customerId, customerId],
    [mails.state, state],
    [mails.kind, kind],
  );

/** The mails that match, the newest first. */
export const listMails = (db: Database, filter: MailFilter) => ({
  read: ({ limit, after }: { limit: number; after?: number | undefined }): Promise<ListedMail[]> =>
    select(db, and(matches(filter), after ? lt(mails.id, after) : undefined), limit),
  count: () => db.$count(mails, matches(filter)),
});

export const findMail = async (db: Database, id: number): Promise<ListedMail | undefined> =>
  (await select(db, eq(mails.id, id), 1))[0];

/** A mail as responses show it. */
export const toMail = (row: ListedMail): Mail => ({
  id: row.id,
  kind: row.kind,
  cause: row.cause,
  state: row.state,
  licenseId: row.licenseId,
  customerId: row.customerId,
  email: row.email,
  attempts: row.attempts,
  error: row.error,
  createdAt: toTimestamp(row.createdAt),
  sentAt: row.state === 'SENT' || row.state === 'UNKNOWN' ? toOptionalTimestamp(row.sentAt) : null,
  nextAttemptAt: toOptionalTimestamp(row.nextAt),
});
