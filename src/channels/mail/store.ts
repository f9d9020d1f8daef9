import { DAY_MS, HOUR_MS } from '@licet/contract/durations';
import { type SQL, sql } from 'drizzle-orm';
import { change, type Sender } from '../../db/change.ts';
import { batch, type Database } from '../../db/client.ts';
import { ofEach, rowValues } from '../../db/predicates.ts';
import { MAILED_LINK_MS } from '../portal/sessions.ts';
import { DAY_OF_REMINDER } from './causes.ts';
import { type BlockReason, type MailRow, mailBlocks, mails } from './schema.ts';
import type { MailSender } from './sender.ts';

/** The rows of mails under way (13): their leases, their outcomes and their end. */

/** The time that an attempt has a mail for itself: longer than it and the storing of its outcome. */
export const LEASE_MS = 3 * 60_000;
/** The due mails that a claim looks at: the first reminders, and the first of all others. */
const LOOKED_AT = 100;
/** Reminders leave a part of the day to keys and links. */
const REMINDER_SHARE = 0.75;
/** The sender knows an id for a day. */
export const REPEAT_SAFE_MS = 20 * HOUR_MS;

const LATE = 'It was too late: its link, its licenses or its request had expired';
export const PERHAPS_SENT =
  'The connection was lost after the message, so that it has perhaps arrived. Send it again if it has not';

/** The mails that may be sent in a claim. */
export interface Budget {
  sender: Pick<MailSender, 'isRepeatSafe' | 'dailyLimit'>;
  /** The most mails. */
  room: number;
  /** Only these; undefined for all that are due. */
  ids?: readonly number[];
  /** Milliseconds since 1970. */
  now: number;
}

/** The first due mails. The index has those of each kind in their order. */
const dueAt = (now: number) => sql`
  select id from (select id from mails where kind in ('key', 'link', 'test') and next_at <= ${now}
    order by next_at limit ${LOOKED_AT})
  union all select id from (select id from mails where kind = 'expiring' and next_at <= ${now}
    order by next_at limit ${LOOKED_AT})`;

/** Selects since when the oldest mail is due: a key or a link, for which somebody waits. */
export const mailsDueSince = (): SQL =>
  sql`select min(next_at) from mails where kind in ('key', 'link') and next_at is not null`;

/** Named, because the index has them in the order of their kinds. */
const ALL_KINDS = sql`'key', 'link', 'expiring', 'test'`;

/** When the day (UTC) began. */
const beginningOfDay = (now: number): number => Math.floor(now / DAY_MS) * DAY_MS;

/** The number of mails of this day that count: sent, also if they bounced since, perhaps sent, or under way. */
const countToday = (now: number, onlyReminders: boolean) => sql`(
  (select ifnull(sum(max((state = 'SENT') + losses, 1)), 0) from mails
    where sent_at >= ${beginningOfDay(now)} ${onlyReminders ? sql`and kind = 'expiring'` : sql``})
  + ${countUnderWay(now, onlyReminders ? sql`'expiring'` : ALL_KINDS)})`;

/** The number of mails with an attempt under way, of the kinds in SQL. */
const countUnderWay = (now: number, kinds: SQL) => sql`(select count(*) from mails
  where kind in (${kinds}) and next_at > ${now} and lease_until > ${now})`;

export const isUnderWay = (db: Database, now: number): Promise<boolean> =>
  db
    .get<{ count: number }>(sql`select ${countUnderWay(now, ALL_KINDS)} as count`)
    .then(({ count }) => count > 0);

export const sentToday = (db: Database, now: number): Promise<number> =>
  db
    .get<{ count: number }>(sql`select ${countToday(now, false)} as count`)
    .then(({ count }) => count);

/** Whether the last attempt of a row ended without an outcome, and a repetition could send it twice. */
const isLost = ({ sender, now }: Budget) =>
  sql`ifnull(lease_until <= ${sender.isRepeatSafe ? now - REPEAT_SAFE_MS : now}, false)`;

/**
 * Ends due mails that are over, and claims others with a lease, as many as the day still allows. Keys and links come first.
 */
export async function claimMails(db: Database, budget: Budget): Promise<MailRow[]> {
  const { sender, room, ids, now } = budget;
  const lost = isLost(budget);
  // The address of a test is known to its request alone.
  const isOver = sql`(m.kind = 'test' or (${lost} and (m.kind = 'expiring' or m.losses > 0)))`;
  const isLate = sql`((m.kind = 'link' and m.created_at <= ${now - MAILED_LINK_MS})
    or (m.kind = 'test' and m.created_at <= ${now - LEASE_MS})
    or (m.kind = 'expiring' and ${DAY_OF_REMINDER} < date(${now} / 1000, 'unixepoch')))`;
  const among =
    ids === undefined ? dueAt(now) : sql`select value from json_each(${JSON.stringify(ids)})`;
  const left = sql`${sender.dailyLimit} - ${countToday(now, false)}`;
  const leftForReminders = sql`${Math.floor(sender.dailyLimit * REMINDER_SHARE)} - ${countToday(now, true)}`;
  const { claimed } = await batch(db, {
    ended: db
      .update(mails)
      .set({
        state: sql`iif(lease_until is null, 'SKIPPED', 'UNKNOWN')`,
        error: sql`iif(lease_until is null, ${LATE}, ${PERHAPS_SENT})`,
        sentAt: sql`iif(lease_until is null, sent_at, lease_until)`,
        losses: sql`losses + (lease_until is not null)`,
        nextAt: null,
        leaseUntil: null,
      })
      .where(sql`id in (select m.id from mails m where m.id in (${among}) and m.next_at <= ${now}
      and (${isLate} or (m.lease_until is not null and ${isOver})))`),
    claimed: db
      .update(mails)
      .set({
        attempts: sql`${mails.attempts} + 1`,
        losses: sql`${mails.losses} + (${lost})`,
        sentAt: sql`iif(${lost}, ${now}, sent_at)`,
        nextAt: now + LEASE_MS,
        leaseUntil: now + LEASE_MS,
      })
      .where(
        sql`id in (select id from (
          select m.id, m.kind, row_number() over (order by m.kind = 'expiring', m.next_at) as place,
            row_number() over (partition by m.kind = 'expiring' order by m.next_at) as turn
          from mails m where m.id in (${among}) and m.next_at <= ${now} and m.kind <> 'test')
        where place <= min(${room}, ${left}) and (kind <> 'expiring' or turn <= ${leftForReminders}))`,
      )
      .returning(),
  });
  return claimed;
}

/** Claims one mail, whatever its state and the limit of the day, unless an attempt is under way. */
export const claimMail = (db: Database, id: number, now: number): Promise<MailRow[]> =>
  db
    .update(mails)
    .set({
      attempts: sql`${mails.attempts} + 1`,
      losses: sql`${mails.losses} + (lease_until is not null)`,
      nextAt: now + LEASE_MS,
      leaseUntil: now + LEASE_MS,
    })
    .where(sql`id = ${id} and state = 'WAITING' and ifnull(lease_until, 0) <= ${now}`)
    .returning();

/** Gives up leases without an attempt. */
export async function releaseMails(
  db: Database,
  claimed: readonly MailRow[],
  now: number,
): Promise<void> {
  if (claimed.length === 0) return;
  await db
    .update(mails)
    .set({ attempts: sql`${mails.attempts} - 1`, nextAt: now, leaseUntil: null })
    .where(
      sql`(id, attempts) in (select value ->> 'id', value ->> 'attempts' from json_each(${JSON.stringify(claimed.map(({ id, attempts }) => ({ id, attempts })))}))`,
    );
}

/** The outcome of an attempt, as it is stored. */
export interface MailOutcome {
  mail: MailRow;
  state: MailRow['state'];
  error: string | null;
  step: number;
  /** Milliseconds since 1970; null without another attempt. */
  nextAt: number | null;
  providerId: string | null;
  /** Whether it was sent, or perhaps sent, by this attempt. */
  isHandedOver: boolean;
  /** The HMAC of an address that gets nothing more. */
  blocked: string | null;
  /** The HMAC of an address that was blocked, and takes mails. */
  unblocked: string | null;
}

/** The event of a mail that failed. */
export const failedEvent = ({ id, kind, licenseId, customerId }: MailRow, reason: string) => ({
  type: 'mail.failed' as const,
  id,
  changes: Object.fromEntries(
    Object.entries({ kind, licenseId, customerId, reason }).flatMap(([name, after]) =>
      after === null ? [] : [[name, { before: null, after }]],
    ),
  ),
});

/** The statement that blocks addresses. An earlier block of an address stays. */
export const block = (
  db: Database,
  hashes: readonly string[],
  scope: 'all' | 'reminders',
  reason: BlockReason,
  now: number,
) =>
  db
    .insert(mailBlocks)
    .select(
      sql`select ${rowValues(mailBlocks, { addressHash: sql`value`, scope, reason, createdAt: now })}
        from json_each(${JSON.stringify(hashes)}) where true`,
    )
    .onConflictDoNothing();

/** The queries of {@link storeMailOutcomes}, at most. */
export const OUTCOME_QUERIES = 5;

/** Stores the outcomes of attempts, each unless another attempt has the mail meanwhile, with the events of those that failed. */
export async function storeMailOutcomes(
  sender: Sender,
  outcomes: readonly MailOutcome[],
): Promise<void> {
  if (outcomes.length === 0) return;
  const { db, now } = sender;
  const rows = outcomes.map(({ mail, ...outcome }) => ({
    ...outcome,
    id: mail.id,
    attempts: mail.attempts,
  }));
  const failed = outcomes.filter(({ mail, state }) => state === 'FAILED' && mail.kind !== 'test');
  const blocked = outcomes.flatMap(({ blocked: hash }) => hash ?? []);
  const unblocked = outcomes.flatMap(({ unblocked: hash }) => hash ?? []);
  await change(sender, {
    event:
      failed.length === 0 ? null : failed.map(({ mail, error }) => failedEvent(mail, error ?? '')),
    statements: {
      outcomes: db
        .update(mails)
        .set({
          state: ofEach('state'),
          error: ofEach('error'),
          step: ofEach('step'),
          nextAt: ofEach('nextAt'),
          providerId: ofEach('providerId'),
          losses: sql`${mails.losses} + (${ofEach('isHandedOver')} and ${ofEach('state')} <> 'SENT')`,
          sentAt: sql`iif(${ofEach('isHandedOver')}, ${now}, ${mails.sentAt})`,
          leaseUntil: null,
        })
        .from(sql`json_each(${JSON.stringify(rows)}) o`)
        .where(
          sql`${mails.id} = ${ofEach('id')} and ${mails.attempts} = ${ofEach('attempts')} and ${mails.state} = 'WAITING'`,
        ),
      blocked: blocked.length === 0 ? [] : [block(db, blocked, 'all', 'REFUSED', now)],
      unblocked:
        unblocked.length === 0
          ? []
          : [
              db
                .delete(mailBlocks)
                .where(
                  sql`scope = 'all' and address_hash in (select value from json_each(${JSON.stringify(unblocked)}))`,
                ),
            ],
    },
  });
}
