import { LICENSE_PLATFORMS, type LicensePlatform } from '@licet/contract/enums';
import { and, eq, getTableColumns, or, type SQL, sql } from 'drizzle-orm';
import { change, isUnchanged, type Sender } from '../db/change.ts';
import type { Database } from '../db/client.ts';
import { nextRevisionSql } from '../db/outbox.ts';
import { events } from '../db/schema.ts';
import { ACCOUNT_FIELDS, platformIdOf } from '../resources/customers/owner.ts';
import { type CustomerRow, isForgotten, KEPT_COLUMNS } from '../resources/customers/row.ts';
import { customers } from '../resources/customers/schema.ts';
import { PERSONAL_FIELDS } from '../resources/licenses/events.ts';
import { licenses } from '../resources/licenses/schema.ts';
import { touchLicenses } from '../resources/licenses/touch.ts';
import { checkRoles } from './discord/roles.ts';
import { discordLinkCodes } from './discord/schema.ts';
import { purchases, subjects } from './markets/schema.ts';
import { endPortalOf } from './portal/sessions.ts';
import { deliveries, webhooks } from './webhooks/schema.ts';

const NOTHING = Object.fromEntries(
  Object.keys(getTableColumns(customers)).flatMap((name) =>
    KEPT_COLUMNS.includes(name) ? [] : [[name, null]],
  ),
);

const accountOn = (customer: CustomerRow, platform: LicensePlatform): string | null =>
  platform === 'CHAT' ? customer.chatId : customer[ACCOUNT_FIELDS[platform]];

/** The ids of a customer's accounts, as the owner fields of licenses have them. */
const accountIdsOf = (customer: CustomerRow): (string | null)[] =>
  LICENSE_PLATFORMS.map((platform) => {
    const account = accountOn(customer, platform);
    return platform === 'OTHER' && account !== null ? platformIdOf(account) : account;
  });

/** Licenses that name an account of a customer as their owner. */
function namesAccountOf(customer: CustomerRow): SQL | undefined {
  const { chatId } = customer;
  return or(
    chatId === null ? undefined : eq(licenses.ownerChatId, chatId),
    ...LICENSE_PLATFORMS.map((platform) => {
      const account = accountOn(customer, platform);
      if (account === null) return undefined;
      const isAccount =
        platform === 'OTHER'
          ? sql`json_array(${licenses.licensePlatformOther}, ${licenses.ownerPlatformId}) = ${account}
              and ${licenses.ownerPlatformId} <> ''`
          : eq(licenses.ownerPlatformId, account);
      return and(eq(licenses.licensePlatform, platform), isAccount);
    }),
  );
}

/** Whether the newest event of a customer is not the erasure: a repeated request stores no second event. */
const isNotForgotten = (id: number): SQL =>
  sql`ifnull((select type from events where resource_type = 'customer' and resource_id = ${id}
    order by id desc limit 1), '') <> 'customer.deleted'`;

/** The customer's own events, and those of licenses whose owner is or was the customer or an account of the customer. */
function isEventOf(customer: CustomerRow): SQL | undefined {
  const sides = (field: string, values: readonly (string | number | null)[]) =>
    ['before', 'after'].map(
      (side) =>
        sql`e.changes ->> ${`$.${field}.${side}`} in (select value from json_each(${JSON.stringify(values)}))`,
    );
  const wasOfCustomer = or(
    ...sides('customerId', [customer.id]),
    ...sides('ownerChatId', [customer.chatId]),
    ...sides('ownerPlatformId', accountIdsOf(customer)),
  );
  const isOfCustomer = or(eq(licenses.customerId, customer.id), namesAccountOf(customer));
  return or(
    and(eq(events.resourceType, 'customer'), eq(events.resourceId, customer.id)),
    and(
      eq(events.resourceType, 'license'),
      sql`${events.resourceId} in (
        select id from ${licenses} where ${isOfCustomer}
        union select e.resource_id from events e where e.resource_type = 'license' and ${wasOfCustomer})`,
    ),
  );
}

/**
 * The statement that erases a customer from events: all values of the customer's own events, and the personal fields of
 * licenses.
 */
function eraseEvents(db: Database, customer: CustomerRow) {
  const paths = PERSONAL_FIELDS.map((field) => sql`${`$.${field}`}`);
  return db
    .update(events)
    .set({
      changes: sql`case ${events.resourceType} when 'license'
        then json_remove(${events.changes}, ${sql.join(paths, sql`, `)}) end`,
    })
    .where(isEventOf(customer));
}

/** The accounts at Discord of a customer, also those that redeemed single licenses. */
const chatIdsOf = ({ id, chatId }: CustomerRow): SQL =>
  sql`(select owner_chat_id from licenses where customer_id = ${id} union select ${chatId})`;

/** A receiver may have repeated an event in its response. */
const eraseResponses = (db: Database, customer: CustomerRow) =>
  db
    .update(deliveries)
    .set({ response: null })
    .where(
      sql`(webhook_id, id) in (
        select webhooks.id, events.id from ${events} cross join ${webhooks} where ${isEventOf(customer)})
        and response is not null`,
    );

/** A later download of the same buyer is a new purchase. */
const eraseBuyers = (db: Database, { id, email }: CustomerRow) =>
  db
    .update(purchases)
    .set({
      buyerId: null,
      buyerName: null,
      email: null,
      reference: sql`'forgotten-' || ${purchases.id}`,
      revision: sql`${purchases.revision} + 1`,
    })
    .where(or(isOfCustomer(id), email === null ? undefined : eq(purchases.email, email)));

/** The purchases whose license is one of a customer. */
const isOfCustomer = (id: number): SQL =>
  sql`license_id in (select id from licenses where customer_id = ${id})`;

/** The orders of the purchases of a customer, or the payments of their subscriptions, can have the e-mail. */
const eraseEmails = (db: Database, { id }: CustomerRow) =>
  db
    .update(subjects)
    .set({ facts: sql`json_remove(facts, '$.email')`, revision: sql`${subjects.revision} + 1` })
    .where(
      sql`facts ->> 'email' is not null and (market_id, order_id) in (
        select market_id, order_id from purchases where ${isOfCustomer(id)}
        union select s.market_id, s.order_id from purchases p join market_orders s
          on s.market_id = p.market_id and s.parent = p.order_id where ${isOfCustomer(id)})`,
    );

/**
 * Forgets a person (6): erases the fields of a customer, and the fields of licenses, events and channels that repeat them.
 * The links and sessions of the customer's page end. The row of the customer stays, with its id.
 *
 * @throws DomainError if another request has changed the customer since it was read
 */
export async function forgetCustomer(sender: Sender, row: CustomerRow): Promise<void> {
  const { db, now } = sender;
  const repeats = and(
    or(eq(licenses.customerId, row.id), namesAccountOf(row)),
    sql`${licenses.ownerPlatformId} || ${licenses.ownerChatId} || ${licenses.ownerChatUsername} <> ''`,
  );
  await change(sender, {
    event: {
      type: 'customer.deleted',
      id: row.id,
      changes: null,
      // The order of events counts for an empty row alone, because the clocks of two isolates can differ.
      ...(isForgotten(row) && { condition: isNotForgotten(row.id) }),
    },
    touches: [touchLicenses(repeats, now)],
    when: [isUnchanged(customers, row)],
    statements: {
      // Before the events and the licenses lose these fields.
      responses: eraseResponses(db, row),
      purchases: eraseBuyers(db, row),
      subjects: eraseEmails(db, row),
      pages: endPortalOf(db, row.id, chatIdsOf(row)),
      codes: db.delete(discordLinkCodes).where(eq(discordLinkCodes.customerId, row.id)),
      // The scheduled handler takes the roles, and forgets the accounts.
      roles: checkRoles(db, chatIdsOf(row)),
      events: eraseEvents(db, row),
      licenses: db
        .update(licenses)
        .set({
          ownerPlatformId: '',
          ownerChatId: '',
          ownerChatUsername: '',
          updatedAt: now,
          revision: nextRevisionSql(licenses.revision, now),
        })
        .where(repeats),
      customer: db
        .update(customers)
        .set({ ...NOTHING, revision: row.revision + 1 })
        .where(eq(customers.id, row.id)),
    },
  });
}
