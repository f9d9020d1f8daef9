import { and, asc, eq, gt, type SQL, sql } from 'drizzle-orm';
import type { Database } from '../../db/client';
import { changesBetween, newestId } from '../../db/events';
import { newestRow } from '../../db/idempotency';
import { containsText, existsUnchanged, isUnchanged, type Page } from '../../db/predicates';
import { customers } from '../../db/schema';
import type { Writer } from '../../db/writer';
import { settable } from '../fields';
import { type CustomerRow, type CustomerValues, customerFields, normalizeEmail } from './schema';

const FIELDS = Object.keys(settable(customerFields));

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

/** The customers that match, sorted by id. */
export const listCustomers = (db: Database, filter: CustomerFilter) => ({
  read: ({ limit, after = 0 }: Page): Promise<CustomerRow[]> =>
    db
      .select()
      .from(customers)
      .where(and(matchingCustomers(filter), gt(customers.id, after)))
      .orderBy(asc(customers.id))
      .limit(limit),
  count: () => db.$count(customers, matchingCustomers(filter)),
});

/** The customer with an id. */
export const findCustomer = (db: Database, id: number): Promise<CustomerRow | undefined> =>
  db.select().from(customers).where(eq(customers.id, id)).get();

const toColumns = (values: Partial<CustomerValues>) =>
  values.email === undefined
    ? values
    : { ...values, emailNormalized: values.email && normalizeEmail(values.email) };

/** Stores a new customer. Fails with a unique violation if the e-mail or an account belongs to another one. */
export async function insertCustomer(
  { db, guard, event, remember }: Writer,
  values: CustomerValues,
  now: number,
): Promise<CustomerRow> {
  const [, [row]] = await db.batch([
    guard(),
    db
      .insert(customers)
      .values({ ...toColumns(values), createdAt: now })
      .returning(),
    event('customer.created', newestId(customers), changesBetween(FIELDS, null, values)),
    ...remember(newestRow(customers), newestId(customers)),
  ]);
  if (!row) throw new Error('The customer was not stored');
  return row;
}

/**
 * The customer as changed; undefined when somebody else has changed it since it was read. Fails
 * with a unique violation if the e-mail or an account belongs to another customer.
 */
export async function updateCustomer(
  { db, guard, event }: Writer,
  row: CustomerRow,
  changes: Partial<CustomerValues>,
): Promise<CustomerRow | undefined> {
  const [, , [updated]] = await db.batch([
    guard(),
    event(
      'customer.updated',
      row.id,
      changesBetween(FIELDS, row, { ...row, ...changes }),
      existsUnchanged(customers, row),
    ),
    db
      .update(customers)
      .set({ ...toColumns(changes), revision: row.revision + 1 })
      .where(isUnchanged(customers, row))
      .returning(),
  ]);
  return updated;
}
