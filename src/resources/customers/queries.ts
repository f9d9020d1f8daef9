import { customerFields } from '@licet/contract/customers';
import { settable } from '@licet/contract/resource';
import { eq, type SQL, sql } from 'drizzle-orm';
import { change, isUnchanged, only, type Sender } from '../../db/change.ts';
import type { Database } from '../../db/client.ts';
import { differ, newestId } from '../../db/events.ts';
import { newestRow } from '../../db/idempotency.ts';
import { containsText, rowsById } from '../../db/predicates.ts';
import { customers } from '../../db/schema.ts';
import { DomainError } from '../../lib/errors.ts';
import { type CustomerRow, type CustomerValues, normalizeEmail } from './row.ts';

const diff = differ(Object.keys(settable(customerFields)));

export interface CustomerFilter {
  q?: string | undefined;
}

/** Customers that match, by a part of a name, an e-mail or an account. */
export const matchingCustomers = (filter: CustomerFilter): SQL | undefined =>
  containsText(filter.q, [
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
  ]);

export const listCustomers = (db: Database, filter: CustomerFilter) =>
  rowsById(db, customers, matchingCustomers(filter));

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
    creates: { json: newestRow(customers), customerId: newestId(customers) },
    errors: ERRORS,
  });
  return only(customer);
}

/**
 * Changes a customer. Throws like {@link insertCustomer}, and if another request has changed the customer since it was
 * read.
 */
export async function updateCustomer(
  sender: Sender,
  row: CustomerRow,
  changes: Partial<CustomerValues>,
): Promise<CustomerRow> {
  const updated = { ...row, ...changes };
  const { customer } = await change(sender, {
    event: { type: 'customer.updated', id: row.id, changes: diff(row, updated) },
    when: [isUnchanged(customers, row)],
    statements: {
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
