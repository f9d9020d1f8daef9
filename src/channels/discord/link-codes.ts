import { MINUTE_MS } from '@licet/contract/durations';
import { readCode } from '@licet/contract/license-key';
import type { DiscordCode } from '@licet/contract/portal-page';
import { toTimestamp } from '@licet/contract/time';
import { and, eq, getTableColumns, gt, sql } from 'drizzle-orm';
import type { Sender } from '../../db/change.ts';
import type { Database } from '../../db/client.ts';
import { DomainError } from '../../lib/errors.ts';
import { sha256Hex } from '../../lib/sha256.ts';
import { updateCustomer } from '../../resources/customers/queries.ts';
import { customers } from '../../resources/customers/schema.ts';
import { newCode } from '../../resources/licenses/rules.ts';
import { discordLinkCodes } from './schema.ts';

/**
 * The codes of the customer's page, by which a customer proves that an account at Discord is theirs (10). A code has 60
 * random bits, because a person may have to type it. Only its hash is stored.
 */

const CODE_GROUPS = 3;
const CODE_LIFE_MS = 15 * MINUTE_MS;

/** The hash of a code as a person reads it. */
const hashOf = (code: string): Promise<string> => sha256Hex(readCode(code));

/**
 * Makes a code for a customer, in the place of an earlier one.
 *
 * @param now milliseconds since 1970
 * @returns undefined for a customer that has an account
 */
export async function createLinkCode(
  db: Database,
  customerId: number,
  now: number,
): Promise<DiscordCode | undefined> {
  const code = newCode(CODE_GROUPS);
  const expiresAt = now + CODE_LIFE_MS;
  const stored = await db
    .insert(discordLinkCodes)
    .select(
      sql`select id, ${await hashOf(code)}, ${expiresAt} from ${customers}
        where ${eq(customers.id, customerId)} and ${customers.chatId} is null`,
    )
    .onConflictDoUpdate({
      target: discordLinkCodes.customerId,
      set: { codeHash: sql`excluded.code_hash`, expiresAt: sql`excluded.expires_at` },
    })
    .returning();
  return stored.length > 0 ? { code, expiresAt: toTimestamp(expiresAt) } : undefined;
}

/**
 * Why a code links no account: it is unknown, used or expired, the customer has another account, or the account belongs to
 * another customer.
 */
export type CodeFault = 'no code' | 'other account' | 'other customer';

/**
 * Links an account at Discord to the customer of a code, and uses the code up.
 *
 * @param newSender makes the customer the sender of the change
 * @returns undefined for a linked account
 * @throws DomainError if another request changes the customer at the same time
 */
export async function linkByCode(
  newSender: (customerId: number) => Sender,
  db: Database,
  code: string,
  account: { id: string; username: string },
  now: number,
): Promise<CodeFault | undefined> {
  const isCode = eq(discordLinkCodes.codeHash, await hashOf(code));
  const customer = await db
    .select(getTableColumns(customers))
    .from(discordLinkCodes)
    .innerJoin(customers, eq(customers.id, discordLinkCodes.customerId))
    .where(and(isCode, gt(discordLinkCodes.expiresAt, now)))
    .get();
  if (!customer) return 'no code';
  if (customer.chatId !== null) return 'other account';
  const values = { chatId: account.id, chatUsername: account.username };
  try {
    // Each use changes the customer, so a second use at the same time is overtaken.
    await updateCustomer(newSender(customer.id), customer, values, [
      db.delete(discordLinkCodes).where(isCode),
    ]);
    return undefined;
  } catch (error) {
    if (error instanceof DomainError && error.kind === 'conflict') return 'other customer';
    throw error;
  }
}
