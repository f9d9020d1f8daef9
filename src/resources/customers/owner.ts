import { and, eq, isNull, notExists, type SQL, sql } from 'drizzle-orm';
import type { Database } from '../../db/client';
import { rowValues } from '../../db/predicates';
import { customers, licenses } from '../../db/schema';
import { ApiError } from '../../http/errors';
import type { LicensePlatform } from '../../lib/enums';
import { findCustomer } from './queries';
import { type CustomerRow, normalizeEmail } from './schema';

/** The fields of a license that name its owner. */
export interface OwnerFields {
  licensePlatform: LicensePlatform | null;
  licensePlatformOther: string;
  ownerPlatformId: string;
  ownerChatId: string;
  ownerChatUsername: string;
}

/** The account of a customer on each platform. The one on CHAT is `chatId`. */
export const ACCOUNT_FIELDS = {
  PLATFORM_A: 'platformAId',
  PLATFORM_B: 'platformBId',
  PLATFORM_C: 'platformCId',
  MARKET_A: 'marketAId',
  MARKET_B: 'marketBId',
  OTHER: 'otherAccountId',
} as const satisfies Record<Exclude<LicensePlatform, 'CHAT'>, keyof CustomerRow>;
type AccountField = (typeof ACCOUNT_FIELDS)[keyof typeof ACCOUNT_FIELDS];

/** The accounts that name an owner; either may be missing. */
interface Owner {
  chatId: string | null;
  platform: { field: AccountField; accountId: string } | null;
}

/** The accounts by which a license names its owner (3). */
export function ownerOf(license: OwnerFields): Owner {
  const { licensePlatform, licensePlatformOther, ownerPlatformId, ownerChatId } = license;
  if (licensePlatform === 'CHAT') {
    return { chatId: ownerChatId || ownerPlatformId || null, platform: null };
  }
  const chatId = ownerChatId || null;
  if (licensePlatform === null || ownerPlatformId === '') return { chatId, platform: null };
  const accountId =
    licensePlatform === 'OTHER'
      ? JSON.stringify([licensePlatformOther, ownerPlatformId])
      : ownerPlatformId;
  return { chatId, platform: { field: ACCOUNT_FIELDS[licensePlatform], accountId } };
}

/** The id in the account of a customer on the platform OTHER (see {@link ownerOf}). */
export function platformIdOf(otherAccountId: string): string {
  const [, ownerPlatformId]: [string, string] = JSON.parse(otherAccountId);
  return ownerPlatformId;
}

/** Whether two versions of a license name the same owner. */
export const hasSameOwner = (one: OwnerFields, other: OwnerFields): boolean =>
  one.licensePlatform === other.licensePlatform &&
  one.licensePlatformOther === other.licensePlatformOther &&
  one.ownerPlatformId === other.ownerPlatformId &&
  one.ownerChatId === other.ownerChatId;

const NOT_SHOWN =
  'customerId must be a customer with a license, unless the token may read customers: send customerEmail, or use a ' +
  'token with CUSTOMERS_READ, ALL_READ or ALL_READ_WRITE';

/** A customer that a license names by its id or e-mail; null for none. */
export type NamedCustomer = { id: number } | { email: string } | null;

/**
 * The customer that a body names; undefined if it has neither field, so that the owner fields decide.
 *
 * @param mayReadCustomers whether an id may be that of a customer without a license, whom the lists of licenses do not
 *   show (3)
 * @throws ApiError 400 for an id that no customer has, or an e-mail of another customer; 403 for an id that the
 *   token may not use
 */
export async function namedCustomer(
  db: Database,
  customerId: number | null | undefined,
  customerEmail: string | null | undefined,
  mayReadCustomers: boolean,
): Promise<NamedCustomer | undefined> {
  if (customerId == null) {
    if (customerEmail != null) return { email: customerEmail };
    return customerId === undefined && customerEmail === undefined ? undefined : null;
  }
  const isShown =
    mayReadCustomers || (await db.$count(licenses, eq(licenses.customerId, customerId))) > 0;
  if (!isShown) throw new ApiError(403, NOT_SHOWN);
  const customer = await findCustomer(db, customerId);
  if (!customer) throw new ApiError(400, 'customerId is not a customer');
  if (customerEmail != null && normalizeEmail(customerEmail) !== customer.emailNormalized) {
    throw new ApiError(
      400,
      `customerEmail is not the e-mail of customer ${customerId}: send customerId or customerEmail`,
    );
  }
  return { id: customerId };
}

/** {@link linkCustomer} for a customer that is named. One with a new e-mail is created. */
export function linkNamedCustomer(db: Database, named: NamedCustomer, now: number, condition: SQL) {
  if (named === null) return { statements: [], customerId: sql<number | null>`null` };
  if ('id' in named) return { statements: [], customerId: sql<number | null>`${named.id}` };
  const emailNormalized = normalizeEmail(named.email);
  const isNamed = eq(customers.emailNormalized, emailNormalized);
  const find = db.select({ id: customers.id }).from(customers).where(isNamed);
  const create = insertWhere(
    db,
    { email: named.email, emailNormalized, createdAt: now, revision: 1 },
    and(notExists(find), condition),
  );
  return { statements: [create], customerId: sql<number | null>`${find}` };
}

/**
 * Links a license to the customer with its `ownerChatId`, else with its platform and `ownerPlatformId`. A missing
 * customer is created (3).
 *
 * A license with both accounts adds the missing one to its customer, unless it belongs to another customer. A
 * customer with another chat id is another person.
 *
 * @param now milliseconds since 1970
 * @param condition the statements change nothing unless it holds
 * @returns the statements to run in the batch before the license is written, and the customer's id
 */
export function linkCustomer(db: Database, license: OwnerFields, now: number, condition: SQL) {
  const { chatId, platform } = ownerOf(license);
  const hasChatId = chatId === null ? undefined : eq(customers.chatId, chatId);
  const hasAccount = platform ? eq(customers[platform.field], platform.accountId) : undefined;
  const isOwner = hasChatId ?? hasAccount;
  if (isOwner === undefined) return { statements: [], customerId: sql<number | null>`null` };

  const find = (where: SQL) => db.select({ id: customers.id }).from(customers).where(where);
  const chat = {
    chatId,
    ...(chatId !== null &&
      license.ownerChatUsername !== '' && { chatUsername: license.ownerChatUsername }),
  };
  const account = platform ? { [platform.field]: platform.accountId } : {};
  const revision = sql`${customers.revision} + 1`;

  const learn =
    hasChatId && hasAccount && platform
      ? [
          db
            .update(customers)
            .set({ ...chat, revision })
            .where(
              and(hasAccount, isNull(customers.chatId), notExists(find(hasChatId)), condition),
            ),
          db
            .update(customers)
            .set({ ...account, revision })
            .where(
              and(
                hasChatId,
                isNull(customers[platform.field]),
                notExists(find(hasAccount)),
                condition,
              ),
            ),
        ]
      : [];
  // An account stays with the customer that has it.
  const freeAccount =
    platform && hasAccount
      ? {
          [platform.field]: sql`case when not exists ${find(hasAccount)} then ${platform.accountId} end`,
        }
      : {};
  const create = insertWhere(
    db,
    { ...chat, ...freeAccount, createdAt: now, revision: 1 },
    and(notExists(find(isOwner)), condition),
  );
  return { statements: [...learn, create], customerId: sql<number | null>`${find(isOwner)}` };
}

/** Inserts a customer if a condition holds. Drizzle's insert has no `where`, but its select has. */
const insertWhere = (
  db: Database,
  values: { [Column in keyof CustomerRow]?: CustomerRow[Column] | SQL },
  condition: SQL | undefined,
) => db.insert(customers).select(sql`select ${rowValues(customers, values)} where ${condition}`);
