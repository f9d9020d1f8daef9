import { type Change, changeOf } from '@licet/contract/changes';
import type { licenseItem } from '@licet/contract/import';
import { and, eq, isNotNull, or, sql } from 'drizzle-orm';
import type * as z from 'zod';
import { type Condition, stillHolds } from '../db/change.ts';
import type { Database } from '../db/client.ts';
import { isOneOf } from '../db/predicates.ts';
import { type OwnerFields, ownerOf } from '../resources/customers/owner.ts';
import { normalizeEmail } from '../resources/customers/row.ts';
import { customers } from '../resources/customers/schema.ts';
import { licenses } from '../resources/licenses/schema.ts';
import {
  type Customers,
  type Identity,
  keyOf,
  type NamedCustomer,
  NOBODY,
  OTHER_EMAIL,
} from './customers.ts';
import type { Item } from './items.ts';

/** The accounts in the fields of licenses, by which an import joins no two e-mails (3). */

type LicenseItem = z.infer<typeof licenseItem>;

interface Account {
  field: 'ownerChatId' | 'ownerPlatformId';
  identity: Identity;
  id: string;
}

/** The accounts in the fields of a license. On the platform CHAT it may have two (see `ownerOf`). */
export function accountsOf(license: OwnerFields): Account[] {
  const { licensePlatform, ownerChatId, ownerPlatformId } = license;
  const { platform } = ownerOf(license);
  const accounts: Account[] = [
    { field: 'ownerChatId', identity: 'chatId', id: ownerChatId },
    {
      field: 'ownerPlatformId',
      identity: platform?.field ?? 'chatId',
      id: platform?.accountId ?? (licensePlatform === 'CHAT' ? ownerPlatformId : ''),
    },
  ];
  return accounts.filter(({ id }) => id !== '');
}

export const namedByAccount = ({ identity, id }: Account): NamedCustomer => ({
  ...NOBODY,
  [identity]: id,
});

/** The e-mail in a file, where the customer has no id; null without one. */
const emailIn = ({ customer }: LicenseItem): string | null =>
  customer?.email && customer.id === undefined ? normalizeEmail(customer.email) : null;

/** The fields of an account that one of its licenses may leave out. */
interface Fields {
  ownerChatId: string;
  ownerChatUsername: string;
  ownerPlatformId: string;
}

class EmailsOfAccounts {
  readonly #emails: Map<string, Set<string>>;
  /** The conditions on which no other import has given an account another e-mail. */
  readonly when: readonly Condition[];

  constructor(emails: Map<string, Set<string>>, when: readonly Condition[]) {
    this.#emails = emails;
    this.when = when;
  }

  /** Leaves out the accounts of another e-mail: their person would have the keys of both. */
  removeForeign(row: Fields, { values, sent }: Item<LicenseItem>, owners: Customers): Change[] {
    const email = emailIn(values);
    if (email === null) return [];
    return accountsOf(values).flatMap((account) => {
      const { field, identity, id } = account;
      const emails = this.#emails.get(keyOf(identity, id)) ?? new Set();
      const named = { ...namedByAccount(account), emailNormalized: email };
      const isForeign = emails.size > 0 && !emails.has(email);
      if (!isForeign && !owners.contested(named).includes(identity)) {
        this.#emails.set(keyOf(identity, id), emails.add(email));
        return [];
      }
      row[field] = '';
      if (field === 'ownerChatId') row.ownerChatUsername = '';
      return changeOf(sent, [field], OTHER_EMAIL);
    });
  }
}

/** Reads the e-mails of the customers who have licenses with the accounts of items. */
export async function emailsOfAccounts(
  db: Database,
  items: readonly Item<LicenseItem>[],
): Promise<EmailsOfAccounts> {
  const named = items.flatMap(({ values }) => (emailIn(values) === null ? [] : values));
  const accounts = named.flatMap(accountsOf);
  if (accounts.length === 0) return new EmailsOfAccounts(new Map(), []);
  const ids = named.flatMap(({ ownerChatId, ownerPlatformId }) =>
    [ownerChatId, ownerPlatformId].filter((id) => id !== ''),
  );
  const ofAccounts = db
    .selectDistinct({
      licensePlatform: licenses.licensePlatform,
      licensePlatformOther: licenses.licensePlatformOther,
      ownerPlatformId: licenses.ownerPlatformId,
      ownerChatId: licenses.ownerChatId,
      email: customers.emailNormalized,
    })
    .from(licenses)
    .innerJoin(customers, eq(customers.id, licenses.customerId))
    .where(
      and(
        or(isOneOf(licenses.ownerChatId, ids), isOneOf(licenses.ownerPlatformId, ids)),
        isNotNull(customers.emailNormalized),
      ),
    );
  const emails = new Map<string, Set<string>>(
    accounts.map(({ identity, id }) => [keyOf(identity, id), new Set()]),
  );
  const rows = await ofAccounts;
  for (const { email, ...license } of rows) {
    for (const { identity, id } of accountsOf({ ...license, ownerChatUsername: '' })) {
      if (email !== null) emails.get(keyOf(identity, id))?.add(email);
    }
  }
  // Two concurrent imports do not see the accounts of each other.
  const isSame = sql`(select count(*) from ${ofAccounts}) = ${rows.length}`;
  return new EmailsOfAccounts(emails, [stillHolds(isSame)]);
}
