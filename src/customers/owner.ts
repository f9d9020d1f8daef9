import { and, eq, isNull, notExists, type SQL, sql } from 'drizzle-orm';
import type { Database } from '../db/client';
import { customers } from '../db/schema';
import type { LicensePlatform } from '../enums';

/** What a license says of its owner. */
export interface OwnerFields {
  licensePlatform: LicensePlatform | null;
  licensePlatformOther: string;
  ownerPlatformId: string;
  ownerChatId: string;
  ownerChatUsername: string;
}

type AccountField =
  | 'platformAId'
  | 'platformBId'
  | 'platformCId'
  | 'marketAId'
  | 'marketBId'
  | 'otherAccountId';

const ACCOUNT_FIELDS = {
  PLATFORM_A: 'platformAId',
  PLATFORM_B: 'platformBId',
  PLATFORM_C: 'platformCId',
  MARKET_A: 'marketAId',
  MARKET_B: 'marketBId',
  OTHER: 'otherAccountId',
} as const satisfies Record<Exclude<LicensePlatform, 'CHAT'>, AccountField>;

/** The accounts that name an owner; either may be missing. */
interface Owner {
  chatId: string | null;
  platform: { field: AccountField; accountId: string } | null;
}

function ownerOf(license: OwnerFields): Owner {
  const { licensePlatform, licensePlatformOther, ownerPlatformId, ownerChatId } = license;
  if (licensePlatform === 'CHAT')
    return { chatId: ownerChatId || ownerPlatformId || null, platform: null };
  const chatId = ownerChatId || null;
  if (licensePlatform === null || ownerPlatformId === '') return { chatId, platform: null };
  const accountId =
    licensePlatform === 'OTHER'
      ? JSON.stringify([licensePlatformOther, ownerPlatformId])
      : ownerPlatformId;
  return { chatId, platform: { field: ACCOUNT_FIELDS[licensePlatform], accountId } };
}

/** Whether two versions of a license name the same owner. */
export const hasSameOwner = (one: OwnerFields, other: OwnerFields): boolean =>
  one.licensePlatform === other.licensePlatform &&
  one.licensePlatformOther === other.licensePlatformOther &&
  one.ownerPlatformId === other.ownerPlatformId &&
  one.ownerChatId === other.ownerChatId;

/**
 * Links a license to the customer with its `ownerChatId`, else with its platform and
 * `ownerPlatformId`, who is created when there is none.
 *
 * A customer who is known by the platform account alone and now shows a chat id gets it; one who is
 * known by another chat id is somebody else.
 *
 * @returns what to run before the license is written, in the same batch, and the customer's id
 */
export function linkCustomer(db: Database, license: OwnerFields, now: number) {
  const { chatId, platform } = ownerOf(license);
  const chatUsername = (chatId && license.ownerChatUsername) || null;
  const hasChatId = chatId === null ? undefined : eq(customers.chatId, chatId);
  const hasAccount = platform ? eq(customers[platform.field], platform.accountId) : undefined;
  const isOwner = hasChatId ?? hasAccount;
  if (isOwner === undefined) return { statements: [], customerId: sql<number | null>`null` };

  const find = (where: SQL) => db.select({ id: customers.id }).from(customers).where(where);
  const adopt =
    hasChatId && hasAccount
      ? [
          db
            .update(customers)
            .set({ chatId, chatUsername, revision: sql`${customers.revision} + 1` })
            .where(and(hasAccount, isNull(customers.chatId), notExists(find(hasChatId)))),
        ]
      : [];
  const create = db
    .insert(customers)
    .values({
      chatId,
      chatUsername,
      // With a chat id of their own, a new customer does not take the account from another.
      ...(platform && {
        [platform.field]:
          hasChatId && hasAccount
            ? sql`case when exists ${find(hasAccount)} then null else ${platform.accountId} end`
            : platform.accountId,
      }),
      createdAt: now,
    })
    .onConflictDoNothing();
  return { statements: [...adopt, create], customerId: sql<number | null>`${find(isOwner)}` };
}
