import { and, eq, exists, getTableColumns, or, type SQL, sql } from 'drizzle-orm';
import { logLicenses, nextRevisionSql } from '../../db/change-log';
import { isUnchanged } from '../../db/predicates';
import { customers, idempotencyKeys, licenses } from '../../db/schema';
import type { Writer } from '../../db/writer';
import { LICENSE_PLATFORMS } from '../../lib/enums';
import { ACCOUNT_FIELDS } from './owner';
import type { CustomerRow } from './schema';

/** The columns of a customer that are not about the person. */
const KEPT: readonly string[] = ['id', 'createdAt', 'revision'];

const NOTHING = Object.fromEntries(
  Object.keys(getTableColumns(customers)).flatMap((name) =>
    KEPT.includes(name) ? [] : [[name, null]],
  ),
);

/** Licenses that name an account of a customer as their owner. */
function namesAccountOf(customer: CustomerRow): SQL | undefined {
  const { chatId } = customer;
  return or(
    chatId === null ? undefined : eq(licenses.ownerChatId, chatId),
    ...LICENSE_PLATFORMS.map((platform) => {
      const account = platform === 'CHAT' ? chatId : customer[ACCOUNT_FIELDS[platform]];
      if (account === null) return undefined;
      const isAccount =
        platform === 'OTHER'
          ? sql`json_array(${licenses.licensePlatformOther}, ${licenses.ownerPlatformId}) = ${account}
              and ${licenses.ownerPlatformId} <> ''`
          : eq(licenses.ownerPlatformId, account);
      return and(eq(licenses.licensePlatform, platform), isAccount);
    }),
  );
}

/**
 * Responses kept for a repetition that contain the e-mail or an account of a customer: a license of another
 * customer can name it as the owner. A text that is equal by chance erases too much, and the repetition gets 409.
 */
function mentions(customer: CustomerRow): SQL | undefined {
  const { email, chatId, otherAccountId } = customer;
  const otherId: string | null = otherAccountId && JSON.parse(otherAccountId)[1];
  const accounts = LICENSE_PLATFORMS.flatMap((platform) =>
    platform === 'CHAT' || platform === 'OTHER' ? [] : [customer[ACCOUNT_FIELDS[platform]]],
  );
  return or(
    ...[email, chatId, otherId, ...accounts].map((text) =>
      text === null ? undefined : sql`instr(${idempotencyKeys.created}, json_quote(${text})) > 0`,
    ),
  );
}

/**
 * Erases what identifies a customer: the fields of the customer, and the owner fields of licenses that repeat
 * them. The row of the customer stays, and so does its id.
 *
 * @returns undefined if somebody else has changed the customer since it was read
 */
export async function eraseIdentity(
  { db, guard, changed }: Writer,
  row: CustomerRow,
  now: number,
): Promise<{ id: number } | undefined> {
  const asRead = isUnchanged(customers, row);
  const repeats = and(
    or(eq(licenses.customerId, row.id), namesAccountOf(row)),
    sql`${licenses.ownerPlatformId} || ${licenses.ownerChatId} || ${licenses.ownerChatUsername} <> ''`,
    exists(db.select({ id: customers.id }).from(customers).where(asRead)),
  );
  const [, changes, , , [erased]] = await db.batch([
    guard(),
    logLicenses(db, repeats, now),
    db
      .update(idempotencyKeys)
      .set({ created: null })
      .where(
        and(
          or(eq(idempotencyKeys.customerId, row.id), mentions(row)),
          exists(db.select({ id: customers.id }).from(customers).where(asRead)),
        ),
      ),
    db
      .update(licenses)
      .set({
        ownerPlatformId: '',
        ownerChatId: '',
        ownerChatUsername: '',
        updatedAt: now,
        revision: nextRevisionSql(licenses.revision, now),
      })
      .where(repeats),
    db
      .update(customers)
      .set({ ...NOTHING, revision: row.revision + 1 })
      .where(asRead)
      .returning({ id: customers.id }),
  ]);
  changed(changes);
  return erased;
}
