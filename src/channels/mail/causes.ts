import { DAY_MS, HOUR_MS, MINUTE_MS } from '@licet/contract/durations';
import type { MailKind, MailLanguage } from '@licet/contract/mail-kinds';
import { type SQL, sql } from 'drizzle-orm';
import { change, only, type Sender } from '../../db/change.ts';
import type { Database } from '../../db/client.ts';
import { idOfNewest } from '../../db/idempotency.ts';
import { rowValues } from '../../db/predicates.ts';
import { toBase64url } from '../../lib/base64url.ts';
import { firstIdAt, SLOTS } from '../../lib/time-id.ts';
import { normalizeEmail } from '../../resources/customers/row.ts';
import { RENEWS, SELLS_BY_ITSELF } from './renewals.ts';
import { type MailRow, mails } from './schema.ts';
import { isOn } from './seller-settings.ts';

/**
 * The causes of mails (13). A cause is the unique identity of its mail: `key:50:REVISION`, `expiring:7:2026-12-26:1`, or one
 * with a random end where a person asks.
 */

/** A license whose owner gets an e-mail later than this was not sold just now. */
const KEY_MS = 7 * DAY_MS;
const LINK_PAUSE_MS = 5 * MINUTE_MS;
const MAX_LINKS_OF_CUSTOMER_A_DAY = 5;
const MAX_LINKS_FROM_CLIENT_AN_HOUR = 5;
const RANDOM_BYTES = 12;

const DAY = sql.raw(String(DAY_MS));
const random = (): string => toBase64url(crypto.getRandomValues(new Uint8Array(RANDOM_BYTES)));

/** The values of a new mail, for an insert from a select. */
const newRow = (
  values: { kind: MailKind; cause: SQL | string } & {
    [Column in keyof MailRow]?: MailRow[Column] | SQL;
  },
  now: number,
): SQL =>
  rowValues(mails, {
    state: 'WAITING',
    attempts: 0,
    step: 0,
    losses: 0,
    nextAt: now,
    createdAt: now,
    ...values,
  });

/** A stored mail, whose first attempt may follow at once. */
const NEW = { id: mails.id };

/**
 * The statement that stores the mails with the keys of licenses, after these and their customers.
 *
 * @param owned selects the ids of licenses that are new, or whose customer has an e-mail from now on
 * @param now milliseconds since 1970
 */
export const storeKeyMails = (db: Database, owned: SQL, now: number) =>
  db
    .insert(mails)
    .select(
      sql`select ${newRow(
        {
          kind: 'key',
          // The first revision of a license is the time of its creation, and does not change with a later notice.
          cause: sql`'key:' || l.id || ':' || l.created_at`,
          licenseId: sql`l.id`,
          customerId: sql`c.id`,
        },
        now,
      )}
      from (${owned}) o cross join licenses l on l.id = o.id cross join customers c on c.id = l.customer_id
      where l.state = 'ACTIVE' and l.created_at > ${now - KEY_MS} and c.email is not null
        and ${isOn('key')} and not ${SELLS_BY_ITSELF}`,
    )
    .onConflictDoNothing()
    .returning(NEW);

/**
 * The statement that stores the reminders of the licenses whose `license.expiring` was stored in this millisecond: one for a
 * customer and day.
 *
 * @param now milliseconds since 1970
 */
export function storeReminders(db: Database, now: number) {
  const first = firstIdAt(now);
  const today = sql`${now} / ${DAY}`;
  const row = newRow(
    {
      kind: 'expiring',
      cause: sql`'expiring:' || e.customer_id || ':' || date(e.day * 86400, 'unixepoch') || ':' || iif(e.day - ${today} <= 1, 1, 7)`,
      // The mail is about all that expire on the day, also those whose event comes later.
      licenseId: sql`(select iif(count(*) = 1, min(o.id), null) from licenses o
        where o.customer_id = e.customer_id and o.state = 'ACTIVE' and o.expires_at / ${DAY} = e.day)`,
      customerId: sql`e.customer_id`,
    },
    now,
  );
  return db
    .insert(mails)
    .select(
      sql`select ${row} from (
        select l.customer_id, l.expires_at / ${DAY} as day
        from events v cross join licenses l on l.id = v.resource_id
          cross join customers c on c.id = l.customer_id
        where v.id >= ${first} and v.id < ${first + SLOTS} and v.type = 'license.expiring'
          and c.email is not null and ${isOn('expiring')} and not ${RENEWS}) e
      where true group by e.customer_id, e.day`,
    )
    .onConflictDoNothing();
}

/** A mail that a person asked for on the customer's page. */
export interface LinkWish {
  email: string;
  language: MailLanguage | null;
  /** HMAC of the network of the person; null if it is unknown. */
  askedFrom: string | null;
}

/** The statement that stores the mail with a link, within the limits. It returns no row for an unknown e-mail. */
export const storeLinkMail = (
  db: Database,
  { email, language, askedFrom }: LinkWish,
  now: number,
) =>
  db
    .insert(mails)
    .select(
      sql`select ${newRow({ kind: 'link', cause: `link:${random()}`, customerId: sql`c.id`, language, askedFrom }, now)}
      from customers c where c.email_normalized = ${normalizeEmail(email)} and ${isOn('link')}
        and not exists (select 1 from mails m where m.customer_id = c.id and m.kind = 'link'
          and m.created_at > ${now - LINK_PAUSE_MS})
        and (select count(*) from mails m where m.customer_id = c.id and m.kind = 'link'
          and m.created_at > ${now - DAY_MS}) < ${MAX_LINKS_OF_CUSTOMER_A_DAY}
        and (select count(*) from mails m where m.asked_from = ${askedFrom}
          and m.created_at > ${now - HOUR_MS}) < ${MAX_LINKS_FROM_CLIENT_AN_HOUR}`,
    )
    .returning(NEW);

/** Marks the causes of mails for which a person asked an administrator: they go in spite of a block and of the switches. */
const BY_HAND = 'hand';

export const isByHand = ({ cause }: Pick<MailRow, 'cause'>): boolean =>
  cause.split(':').at(-2) === BY_HAND;

/** The cause of a mail for which a person asks, which is another one each time. @param base its first parts */
export const causeByHand = (base: string): string => `${base}:${BY_HAND}:${random()}`;

/** The parts of a cause without the ending of {@link causeByHand}. */
export const baseOf = (mail: Pick<MailRow, 'cause'>): string =>
  isByHand(mail) ? mail.cause.split(':').slice(0, -2).join(':') : mail.cause;

/** The day on which the licenses of a reminder `m` expire, as `2026-12-26`, in SQL. */
export const DAY_OF_REMINDER = sql.raw(
  `substr(substr(m.cause, 10), instr(substr(m.cause, 10), ':') + 1, 10)`,
);

/** Stores a mail for which an administrator asks. The caller attempts it. */
export async function storeByHand(
  sender: Sender,
  {
    kind,
    licenseId,
    customerId,
    language,
  }: Pick<MailRow, 'kind' | 'licenseId' | 'customerId' | 'language'>,
  cause: string,
): Promise<MailRow> {
  const { db, now } = sender;
  const row = newRow({ kind, cause, licenseId, customerId, language }, now);
  const { stored } = await change(sender, {
    event: null,
    statements: { stored: db.insert(mails).select(sql`select ${row}`).returning() },
    creates: idOfNewest(mails),
  });
  return only(stored);
}
