import { eq, getTableColumns, type SQL, sql } from 'drizzle-orm';
import { change, isUnchanged, type Sender } from '../db/change.ts';
import { type CustomerRow, isForgotten, KEPT_COLUMNS } from '../resources/customers/row.ts';
import { customers } from '../resources/customers/schema.ts';
import { touchLicenses } from '../resources/licenses/touch.ts';
import { PERSONAL_DATA } from './person.ts';
import { repeatsFieldsOf } from './person-rows.ts';

const NOTHING = Object.fromEntries(
  Object.keys(getTableColumns(customers)).flatMap((name) =>
    KEPT_COLUMNS.includes(name) ? [] : [[name, null]],
  ),
);

/** Whether the newest event of a customer is not the erasure: a repeated request stores no second event. */
const isNotForgotten = (id: number): SQL =>
  sql`ifnull((select type from events where resource_type = 'customer' and resource_id = ${id}
    order by id desc limit 1), '') <> 'customer.deleted'`;

/**
 * Forgets a person (6): erases the fields of a customer, and the data about the person in licenses, events and channels.
 * The links and sessions of the customer's page end. The row of the customer stays, with its id. The history is erased
 * after it (`erase.ts`).
 *
 * @throws DomainError if another request has changed the customer since it was read
 */
export async function forgetCustomer(sender: Sender, customer: CustomerRow): Promise<void> {
  const { db, now } = sender;
  const { id, revision } = customer;
  const parts = Object.values(PERSONAL_DATA).toReversed();
  await change(sender, {
    event: {
      type: 'customer.deleted',
      id,
      changes: null,
      // The order of events counts for an empty row alone, because the clocks of two isolates can differ.
      ...(isForgotten(customer) && { condition: isNotForgotten(id) }),
    },
    touches: [touchLicenses(repeatsFieldsOf(customer), now)],
    when: [isUnchanged(customers, customer)],
    statements: {
      parts: parts.flatMap(({ erase }) => erase?.({ db, customer, now }) ?? []),
      customer: db
        .update(customers)
        .set({ ...NOTHING, revision: revision + 1 })
        .where(eq(customers.id, id)),
    },
  });
}
