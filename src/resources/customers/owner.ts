import type { LicensePlatform } from '@licet/contract/enums';
import { and, eq, isNull, notExists, type SQL, sql } from 'drizzle-orm';
import type { Condition } from '../../db/change.ts';
import type { Database, Statement } from '../../db/client.ts';
import { rowValues } from '../../db/predicates.ts';
import { DomainError } from '../../lib/errors.ts';
import { type CustomerRow, normalizeEmail } from './row.ts';
import { customers } from './schema.ts';

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

export const hasSameOwner = (one: OwnerFields, other: OwnerFields): boolean =>
  one.licensePlatform === other.licensePlatform &&
  one.licensePlatformOther === other.licensePlatformOther &&
  one.ownerPlatformId === other.ownerPlatformId &&
  one.ownerChatId === other.ownerChatId;

const NOT_SHOWN = new DomainError(
  'not allowed',
  'customerId must be a customer with a license, unless the token may read customers: send customerEmail, or use a ' +
    'token with CUSTOMERS_READ, ALL_READ or ALL_READ_WRITE',
  'customerId',
);

/** The customer that a license names by `customerId` or `customerEmail`; null for nobody. */
export type NamedOwner = NamedById | NamedByEmail | null;

interface NamedByEmail {
  id: null;
  email: string;
  /** The name of a new customer. An existing one keeps the stored name: a typed e-mail proves nothing (10). */
  username?: string | null;
}

interface NamedById {
  id: number;
  /** If it is sent, it must be that of the customer. */
  email: string | null;
  /** Whether the customer must have a license, and so be shown in lists of licenses (3). */
  mustBeShown: boolean;
}

/** The customer of a license: the conditions and statements of the batch before the license is written. */
export interface Link {
  when: Condition[];
  statements: Statement[];
  customerId: SQL;
}

const NOBODY: Link = { when: [], statements: [], customerId: sql`null` };

const YES = sql`true`;

/** The conditions on which a license may name a customer by the id. */
function conditionsOf({ id, email, mustBeShown }: NamedById): Condition[] {
  const isShown = sql`exists (select 1 from licenses where customer_id = ${id})`;
  const isCustomer = sql`select 1 from ${customers} where ${customers.id} = ${id}`;
  const hasEmail = sql`${customers.emailNormalized} = ${email && normalizeEmail(email)}`;
  const unknown = new DomainError('invalid', `customerId ${id} does not exist`, 'customerId');
  const wrongEmail = `customerEmail is not the e-mail of customer ${id}: send customerId or customerEmail`;
  return [
    { constraint: 'customer_is_shown', holds: mustBeShown ? isShown : YES, error: NOT_SHOWN },
    { constraint: 'customer_exists', holds: sql`exists (${isCustomer})`, error: unknown },
    {
      constraint: 'customer_has_email',
      holds: email === null ? YES : sql`exists (${isCustomer} and ${hasEmail})`,
      error: new DomainError('invalid', wrongEmail, 'customerEmail'),
    },
  ];
}

/** {@link linkCustomer} for a customer that is named. One with a new e-mail is created. */
export function linkNamedOwner(db: Database, named: NamedOwner, now: number): Link {
  if (named === null) return NOBODY;
  if (named.id !== null) {
    return { when: conditionsOf(named), statements: [], customerId: sql`${named.id}` };
  }
  const { email, username = null } = named;
  const emailNormalized = normalizeEmail(email);
  const isNamed = eq(customers.emailNormalized, emailNormalized);
  const find = db.select({ id: customers.id }).from(customers).where(isNamed);
  const create = insertWhere(
    db,
    { email, emailNormalized, username, createdAt: now, revision: 1 },
    notExists(find),
  );
  return { when: [], statements: [create], customerId: sql`${find}` };
}

/**
 * Links a license to the customer with its `ownerChatId`, else with its platform and `ownerPlatformId`. A missing
 * customer is created (3).
 *
 * A license with both accounts adds the missing one to its customer, unless it belongs to another customer. A
 * customer with another chat id is another person.
 *
 * @param now milliseconds since 1970
 */
export function linkCustomer(db: Database, license: OwnerFields, now: number): Link {
  const { chatId, platform } = ownerOf(license);
  const hasChatId = chatId === null ? undefined : eq(customers.chatId, chatId);
  const hasAccount = platform ? eq(customers[platform.field], platform.accountId) : undefined;
  const isOwner = hasChatId ?? hasAccount;
  if (isOwner === undefined) return NOBODY;

  const find = (where: SQL) => db.select({ id: customers.id }).from(customers).where(where);
  const chat = {
    chatId,
    ...(chatId !== null &&
      license.ownerChatUsername !== '' && { chatUsername: license.ownerChatUsername }),
  };
  const revision = sql`${customers.revision} + 1`;

  const merge =
    hasChatId && hasAccount && platform
      ? [
          db
            .update(customers)
            .set({ ...chat, revision })
            .where(and(hasAccount, isNull(customers.chatId), notExists(find(hasChatId)))),
          db
            .update(customers)
            .set({ [platform.field]: platform.accountId, revision })
            .where(and(hasChatId, isNull(customers[platform.field]), notExists(find(hasAccount)))),
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
    notExists(find(isOwner)),
  );
  return { when: [], statements: [...merge, create], customerId: sql`${find(isOwner)}` };
}

/** Inserts a customer if a condition holds. Drizzle's insert has no `where`, but its select has. */
const insertWhere = (
  db: Database,
  values: { [Column in keyof CustomerRow]?: CustomerRow[Column] | SQL },
  condition: SQL,
) => db.insert(customers).select(sql`select ${rowValues(customers, values)} where ${condition}`);
