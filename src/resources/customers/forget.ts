import { LICENSE_PLATFORMS, type LicensePlatform } from '@licet/contract/enums';
import { and, eq, getTableColumns, or, type SQL, sql } from 'drizzle-orm';
import { change, isUnchanged, type Sender } from '../../db/change.ts';
import type { Database } from '../../db/client.ts';
import { licensesWhere, nextRevisionSql } from '../../db/outbox.ts';
import {
  customers,
  deliveries,
  discordRoles,
  events,
  idempotencyKeys,
  licenses,
  purchases,
  subjects,
  webhooks,
} from '../../db/schema.ts';
import { PERSONAL_FIELDS } from '../licenses/events.ts';
import { endPortalOf } from '../portal/sessions.ts';
import { ACCOUNT_FIELDS, platformIdOf } from './owner.ts';
import { type CustomerRow, isForgotten, KEPT_COLUMNS } from './row.ts';

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

/** The accounts at Discord of a customer, also those of single licenses. */
const chatIdsOf = ({ id, chatId }: CustomerRow): SQL =>
  sql`(select owner_chat_id from licenses where customer_id = ${id} union select ${chatId})`;

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
 * The statements that erase a customer from events: all values of the customer's own events, and the personal fields of
 * licenses. A receiver may have repeated an event in its response.
 */
function eraseEvents(db: Database, customer: CustomerRow) {
  const paths = PERSONAL_FIELDS.map((field) => sql`${`$.${field}`}`);
  const responses = db
    .update(deliveries)
    .set({ response: null })
    .where(
      sql`(webhook_id, id) in (
        select webhooks.id, events.id from ${events} cross join ${webhooks} where ${isEventOf(customer)})
        and response is not null`,
    );
  const values = db
    .update(events)
    .set({
      changes: sql`case ${events.resourceType} when 'license'
        then json_remove(${events.changes}, ${sql.join(paths, sql`, `)}) end`,
    })
    .where(isEventOf(customer));
  return [responses, values];
}

/**
 * Responses kept for a repetition that contain the e-mail or an account of a customer: a license of another
 * customer can name it as the owner. A text that is equal by chance erases too much, and the repetition gets 409.
 */
const mentions = (customer: CustomerRow): SQL | undefined =>
  or(
    ...[customer.email, ...accountIdsOf(customer)].map((text) =>
      text === null ? undefined : sql`instr(${idempotencyKeys.created}, json_quote(${text})) > 0`,
    ),
  );

/** The purchases whose license is one of a customer. */
const isOfCustomer = (id: number): SQL =>
  sql`license_id in (select id from licenses where customer_id = ${id})`;

/**
 * Erases the fields that identify a customer: those of the customer, and the owner fields of licenses that repeat
 * them. The row of the customer stays, with its id.
 *
 * @throws DomainError if another request has changed the customer since it was read
 */
export async function eraseIdentity(sender: Sender, row: CustomerRow): Promise<void> {
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
    touches: [licensesWhere(repeats, now)],
    when: [isUnchanged(customers, row)],
    statements: {
      events: eraseEvents(db, row),
      keys: db
        .update(idempotencyKeys)
        .set({ created: null })
        .where(or(eq(idempotencyKeys.customerId, row.id), mentions(row))),
      // Before the licenses lose their owners. A later download of the same buyer is a new purchase.
      purchases: db
        .update(purchases)
        .set({
          buyerId: null,
          buyerName: null,
          email: null,
          reference: sql`'forgotten-' || ${purchases.id}`,
          revision: sql`${purchases.revision} + 1`,
        })
        .where(
          or(isOfCustomer(row.id), row.email === null ? undefined : eq(purchases.email, row.email)),
        ),
      // The orders of these purchases, or the payments of their subscriptions, can have the e-mail.
      subjects: db
        .update(subjects)
        .set({ facts: sql`json_remove(facts, '$.email')`, revision: sql`${subjects.revision} + 1` })
        .where(
          sql`facts ->> 'email' is not null and (market_id, order_id) in (
            select market_id, order_id from purchases where ${isOfCustomer(row.id)}
            union select s.market_id, s.order_id from purchases p join market_orders s
              on s.market_id = p.market_id and s.parent = p.order_id where ${isOfCustomer(row.id)})`,
        ),
      portal: endPortalOf(db, row.id, chatIdsOf(row)),
      // The scheduled handler takes the roles, and forgets the accounts.
      roles: db
        .update(discordRoles)
        .set({ dueAt: 0 })
        .where(sql`${discordRoles.chatId} in ${chatIdsOf(row)}`),
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
