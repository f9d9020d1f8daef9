import { type SQL, sql } from 'drizzle-orm';
import type { Database } from '../../db/client.ts';
import { ofEach } from '../../db/predicates.ts';
import { normalizeEmail } from '../../resources/customers/row.ts';
import { customers } from '../../resources/customers/schema.ts';
import type { Completion } from './state.ts';

/** The names and e-mails of buyers, stored with their customers. */

/** Stores the market's user name for a customer who has none. */
export const nameCustomer = (db: Database, name: string, keys: string) =>
  db
    .update(customers)
    .set({ username: name, revision: sql`${customers.revision} + 1` })
    .where(
      sql`${customers.id} = (select customer_id from licenses
        where license_key_normalized = json_extract(${keys}, '$[0]')) and ${customers.username} is null`,
    );

/**
 * The statements that store the names and e-mails of later notices, however many licenses a buyer has. A customer with an
 * e-mail keeps it: one that is typed proves nothing.
 */
export function completeCustomers(db: Database, completions: readonly Completion[]) {
  if (completions.length === 0) return [];
  const list = JSON.stringify(
    completions.map((one) => ({
      ...one,
      emailNormalized: one.email === null ? null : normalizeEmail(one.email),
    })),
  );
  // SQLite takes the other columns from the row of the minimum.
  const firsts = (field: 'name' | 'email'): SQL => sql`
    select l.customer_id as customer_id, min(o.key) as place, ${ofEach('name')} as name,
      ${ofEach('email')} as email, ${ofEach('emailNormalized')} as email_normalized
    from json_each(${list}) o cross join licenses l on l.id = ${ofEach('licenseId')}
    where ${ofEach(field)} is not null group by 1`;
  const revision = sql`${customers.revision} + 1`;
  const isBuyer = sql`${customers.id} = given.customer_id and ${customers.email} is null`;
  return [
    db
      .update(customers)
      .set({ username: sql`given.name`, revision })
      .from(sql`(${firsts('name')}) given`)
      .where(sql`${isBuyer} and ${customers.username} is null`),
    db
      .update(customers)
      .set({ email: sql`given.email`, emailNormalized: sql`given.email_normalized`, revision })
      // Two customers cannot have the same.
      .from(sql`(select *, min(place) from (${firsts('email')}) group by email_normalized) given`)
      .where(
        sql`${isBuyer} and not exists (
          select 1 from customers other where other.email_normalized = given.email_normalized)`,
      ),
  ];
}
