import { type CustomerQuery, customerFields } from '@licet/contract/customers';
import type { PageQuery } from '@licet/contract/parameters';
import { settable } from '@licet/contract/resource';
import { and, asc, eq, getTableColumns, gt, type SQL, sql } from 'drizzle-orm';
import { change, isUnchanged, only, type Sender } from '../../db/change.ts';
import type { Database, Statement } from '../../db/client.ts';
import { differ, newestId } from '../../db/events.ts';
import { idOfNewest } from '../../db/idempotency.ts';
import { listedColumn, unreadBytesOf } from '../../db/long-values.ts';
import { containsText, hasMetadata, isOneOf, type Page, textsOf } from '../../db/predicates.ts';
import { DomainError } from '../../lib/errors.ts';
import { readUnread } from '../../lib/row-groups.ts';
import {
  type CustomerRow,
  type CustomerValues,
  type ListedCustomer,
  normalizeEmail,
} from './row.ts';
import { customers } from './schema.ts';

const diff = differ(Object.keys(settable(customerFields)));

type CustomerFilter = Omit<CustomerQuery, keyof PageQuery>;

/** Customers that match, by a part of a name, an e-mail or an account. */
export const matchingCustomers = ({ q }: Pick<CustomerFilter, 'q'>): SQL | undefined =>
  containsText(q, [
    // Also finds a first name with a last name behind it.
    sql`${customers.firstName} || ' ' || ${customers.lastName}`,
    customers.firstName,
    customers.lastName,
    customers.username,
    customers.email,
    customers.phoneNumber,
    customers.chatId,
    customers.chatUsername,
    customers.platformAId,
    customers.platformAUsername,
    customers.platformBId,
    customers.platformBUsername,
    customers.platformCId,
    customers.platformCUsername,
    customers.marketAId,
    customers.marketAUsername,
    customers.marketBId,
    customers.marketBUsername,
    textsOf(customers.metadata),
  ]);

/** The licenses of a customer that are not DELETED. Drizzle would leave out the names of the tables. */
const licenseCount = sql<number>`(select count(*) from licenses
  where licenses.customer_id = customers.id and licenses.state <> 'DELETED')`;

export function listCustomers(db: Database, filter: CustomerFilter) {
  const where = and(matchingCustomers(filter), hasMetadata(customers.metadata, filter.metadata));
  const columns = {
    ...getTableColumns(customers),
    licenseCount: filter.licenseCount ? licenseCount : sql<null>`null`,
  };
  return {
    read: ({ limit, after = 0 }: Page): Promise<ListedCustomer[]> =>
      db
        .select({
          ...columns,
          metadata: listedColumn(customers.metadata, sql`null`),
          unreadBytes: unreadBytesOf(customers.metadata),
        })
        .from(customers)
        .where(and(where, gt(customers.id, after)))
        .orderBy(asc(customers.id))
        .limit(limit),
    readLong: (rows: readonly ListedCustomer[]): Promise<ListedCustomer[]> =>
      readUnread(rows, (ids) =>
        db.select(columns).from(customers).where(isOneOf(customers.id, ids)),
      ),
    count: () => db.$count(customers, where),
  };
}

export const findCustomer = (db: Database, id: number): Promise<CustomerRow | undefined> =>
  db.select().from(customers).where(eq(customers.id, id)).get();

const toColumns = (values: Partial<CustomerValues>) =>
  values.email === undefined
    ? values
    : { ...values, emailNormalized: values.email && normalizeEmail(values.email) };

const ERRORS = {
  unique: new DomainError('conflict', 'The e-mail or an account belongs to another customer'),
};

/** Stores a new customer. @throws DomainError if the e-mail or an account belongs to another one */
export async function insertCustomer(sender: Sender, values: CustomerValues): Promise<CustomerRow> {
  const { customer } = await change(sender, {
    event: { type: 'customer.created', id: newestId(customers), changes: diff(null, values) },
    statements: {
      customer: sender.db
        .insert(customers)
        .values({ ...toColumns(values), createdAt: sender.now })
        .returning(),
    },
    creates: idOfNewest(customers),
    errors: ERRORS,
  });
  return only(customer);
}

/**
 * Changes a customer. Throws like {@link insertCustomer}, and if another request has changed the customer since it was
 * read.
 *
 * @param beside statements of the same transaction
 */
export async function updateCustomer(
  sender: Sender,
  row: CustomerRow,
  changes: Partial<CustomerValues>,
  beside: readonly Statement[] = [],
): Promise<CustomerRow> {
  const updated = { ...row, ...changes };
  const { customer } = await change(sender, {
    event: { type: 'customer.updated', id: row.id, changes: diff(row, updated) },
    when: [isUnchanged(customers, row)],
    statements: {
      beside,
      customer: sender.db
        .update(customers)
        .set({ ...toColumns(changes), revision: row.revision + 1 })
        .where(eq(customers.id, row.id))
        .returning(),
    },
    errors: ERRORS,
  });
  return only(customer);
}
