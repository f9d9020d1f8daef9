import { DAY_MS, HOUR_MS, MINUTE_MS } from '@licet/contract/durations';
import type { MailLanguage } from '@licet/contract/mail-kinds';
import { type LinkFault, PORTAL_PATH } from '@licet/contract/portal-page';
import { toTimestamp } from '@licet/contract/time';
import { and, eq, gt, isNull, or, type SQL, sql } from 'drizzle-orm';
import { type Condition, change, type Sender } from '../../db/change.ts';
import { batch, type Database } from '../../db/client.ts';
import { rowValues } from '../../db/predicates.ts';
import { toBase64url } from '../../lib/base64url.ts';
import { DomainError } from '../../lib/errors.ts';
import { sha256Hex } from '../../lib/sha256.ts';
import { IS_FORGOTTEN } from '../../resources/customers/row.ts';
import { customers } from '../../resources/customers/schema.ts';
import type { Person } from '../../resources/licenses/own.ts';
import { pageLinks, pageSessions } from './schema.ts';

/** The links to the customer's page, and its sessions (10). Only hashes of their secrets are stored. */

export const PORTAL_SESSION_SECONDS = DAY_MS / 1000;
/** A mail can take its time. */
export const MAILED_LINK_MS = HOUR_MS;

const newSecret = (): string => toBase64url(crypto.getRandomValues(new Uint8Array(32)));

/** The condition that a customer is there, and not forgotten. */
const isCustomer = (customerId: number): Condition => ({
  constraint: 'customer_exists',
  holds: sql`exists (select 1 from ${customers} where ${eq(customers.id, customerId)} and not (${IS_FORGOTTEN}))`,
  error: new DomainError(
    'invalid',
    `customerId ${customerId} does not exist, or is forgotten`,
    'customerId',
  ),
});

/**
 * Makes a link that opens the page of a person once.
 *
 * @param origin that of the service for others (3.3)
 * @throws DomainError for a customer that there is not
 */
export async function createPortalLink(
  sender: Sender,
  person: Person,
  { origin, validMinutes }: { origin: string; validMinutes: number },
): Promise<{ url: string; expiresAt: string }> {
  const { db, now } = sender;
  const code = newSecret();
  const expiresAt = now + validMinutes * MINUTE_MS;
  const isOfCustomer = 'customerId' in person;
  await change(sender, {
    event: {
      type: 'customer.link_created',
      // An account can have licenses without being a customer's.
      id: isOfCustomer ? person.customerId : (sender.customerId ?? null),
      changes: null,
    },
    when: isOfCustomer ? [isCustomer(person.customerId)] : [],
    statements: {
      link: db.insert(pageLinks).values({ codeHash: await sha256Hex(code), ...person, expiresAt }),
    },
  });
  return { url: linkAddress(origin, code), expiresAt: toTimestamp(expiresAt) };
}

/**
 * The parts of a change that make links with codes that are known, as those in mails are (13): a repetition makes no other
 * one. A customer who was forgotten gets none.
 */
export async function linksByMail(
  { db, now }: Sender,
  links: readonly { customerId: number; code: string }[],
) {
  const rows = await Promise.all(
    links.map(async ({ customerId, code }) => ({ customerId, codeHash: await sha256Hex(code) })),
  );
  const row = rowValues(pageLinks, {
    codeHash: sql`value ->> 'codeHash'`,
    customerId: sql`c.id`,
    expiresAt: now + MAILED_LINK_MS,
  });
  return {
    event: links.map(({ customerId: id }) => ({
      type: 'customer.link_created' as const,
      id,
      changes: null,
    })),
    statements: {
      links: db
        .insert(pageLinks)
        .select(
          sql`select ${row} from json_each(${JSON.stringify(rows)})
            cross join customers c on c.id = value ->> 'customerId' where c.email is not null`,
        )
        .onConflictDoNothing(),
    },
  };
}

/** The address of a link. After `#`: neither a server log nor a Referer has it. */
export const linkAddress = (origin: string, code: string): string =>
  `${origin}${PORTAL_PATH}#code=${code}`;

/**
 * Opens a session with the code of a link, which is used up by it.
 *
 * @param language that of the page, in which the customer gets mails from now on (13)
 * @param replaced the session that the browser had, which ends
 * @returns the secret of the session, or why the link opens none
 */
export async function redeemCode(
  db: Database,
  { code, language }: { code: string; language: MailLanguage | undefined },
  replaced: string | undefined,
  now: number,
): Promise<{ session: string } | { fault: LinkFault }> {
  const codeHash = await sha256Hex(code);
  const session = newSecret();
  const isUsable = and(
    eq(pageLinks.codeHash, codeHash),
    isNull(pageLinks.usedAt),
    gt(pageLinks.expiresAt, now),
  );
  const { opened, found } = await batch(db, {
    opened: db
      .insert(pageSessions)
      .select(
        sql`select ${await sha256Hex(session)}, customer_id, chat_id, ${now} from ${pageLinks} where ${isUsable}`,
      )
      .returning(),
    replaced:
      replaced === undefined
        ? []
        : [
            db
              .delete(pageSessions)
              .where(
                and(
                  eq(pageSessions.sessionHash, await sha256Hex(replaced)),
                  sql`exists (select 1 from ${pageLinks} where ${isUsable})`,
                ),
              ),
          ],
    language:
      language === undefined
        ? []
        : [
            db
              .update(customers)
              .set({ language })
              .where(
                sql`${customers.id} = (select customer_id from ${pageLinks} where ${isUsable})
                  and ${customers.language} is not ${language}`,
              ),
          ],
    used: db.update(pageLinks).set({ usedAt: now }).where(isUsable),
    found: db.select().from(pageLinks).where(eq(pageLinks.codeHash, codeHash)),
  });
  if (opened.length > 0) return { session };
  const [known] = found;
  if (!known) return { fault: 'unknown' };
  return { fault: known.usedAt === null ? 'expired' : 'used' };
}

/** The person whose licenses a session shows; null for one that is over. */
export async function findPortalPerson(
  db: Database,
  sessionHash: string,
  now: number,
): Promise<Person | null> {
  const row = await db
    .select()
    .from(pageSessions)
    .where(
      and(
        eq(pageSessions.sessionHash, sessionHash),
        gt(pageSessions.createdAt, now - PORTAL_SESSION_SECONDS * 1000),
      ),
    )
    .get();
  if (row === undefined) return null;
  const { customerId, chatId } = row;
  if (customerId !== null) return { customerId };
  return chatId === null ? null : { chatId };
}

export async function endPortalSession(db: Database, secret: string): Promise<void> {
  await db.delete(pageSessions).where(eq(pageSessions.sessionHash, await sha256Hex(secret)));
}

/**
 * The sessions or links of a customer, and those of accounts.
 *
 * @param chatIds a select of accounts
 */
export const isPageOf = (
  table: typeof pageSessions | typeof pageLinks,
  customerId: number,
  chatIds: SQL,
): SQL | undefined => or(eq(table.customerId, customerId), sql`${table.chatId} in ${chatIds}`);
