import { LICENSE_PLATFORMS, type LicensePlatform } from '@licet/contract/enums';
import { and, eq, or, type SQL, sql } from 'drizzle-orm';
import { purchases } from '../channels/markets/schema.ts';
import { webhooks } from '../channels/webhooks/schema.ts';
import { events } from '../db/schema.ts';
import { ACCOUNT_FIELDS, platformIdOf } from '../resources/customers/owner.ts';
import type { CustomerRow } from '../resources/customers/row.ts';
import { licenses } from '../resources/licenses/schema.ts';

/** The rows that are about a person (6): a condition for each table. */

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

/** The licenses of a customer, and those that name an account of the customer. */
export const isLicenseOf = (customer: CustomerRow): SQL | undefined =>
  or(eq(licenses.customerId, customer.id), namesAccountOf(customer));

/** Selects the ids of licenses whose owner is or was a customer or an account of the customer. */
export function selectLicensesOf(customer: CustomerRow): SQL {
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
  return sql`select id from ${licenses} where ${isLicenseOf(customer)}
    union select e.resource_id from events e where e.resource_type = 'license' and ${wasOfCustomer}`;
}

/** The customer's own events, and those of such licenses. */
export const isEventOf = (
  customer: CustomerRow,
  isOfLicense = sql`${events.resourceId} in (${selectLicensesOf(customer)})`,
): SQL | undefined =>
  or(
    and(eq(events.resourceType, 'customer'), eq(events.resourceId, customer.id)),
    and(eq(events.resourceType, 'license'), isOfLicense),
  );

/** The licenses that repeat fields of a customer. */
export const repeatsFieldsOf = (customer: CustomerRow): SQL | undefined =>
  and(
    isLicenseOf(customer),
    sql`${licenses.ownerPlatformId} || ${licenses.ownerChatId} || ${licenses.ownerChatUsername} <> ''`,
  );

/** The accounts at Discord of a customer, also those that redeemed single licenses. */
export const chatIdsOf = ({ id, chatId }: CustomerRow): SQL =>
  sql`(select owner_chat_id from licenses where customer_id = ${id} union select ${chatId})`;

/** A receiver may have repeated an event in its response. */
export const isResponseAbout = (customer: CustomerRow): SQL =>
  sql`(webhook_id, id) in (
    select webhooks.id, events.id from ${events} cross join ${webhooks} where ${isEventOf(customer)})
    and response is not null`;

/** The purchases whose license is one of a customer. */
const isOfCustomer = (id: number): SQL =>
  sql`license_id in (select id from licenses where customer_id = ${id})`;

/** The purchases of a customer, also those that wait for a product. */
export const isPurchaseOf = ({ id, email }: CustomerRow): SQL | undefined =>
  or(isOfCustomer(id), email === null ? undefined : eq(purchases.email, email));

/**
 * The requests of markets about the purchases of a customer: about the order, the reference, or another subject of the
 * same order or subscription. The reference of a test has a prefix.
 */
export const isDeliveryAbout = (customer: CustomerRow): SQL =>
  sql`(market_id, id) in (
    with recursive about(market, subject) as (
      select market_id, value from purchases cross join json_each(json_array(order_id,
        iif(reference glob 'test:*', substr(reference, 6), reference)))
        where value is not null and ${isPurchaseOf(customer)}
      union select market, s.parent from about cross join market_orders s
        on s.market_id = market and s.order_id = subject where s.parent is not null
      union select market, s.order_id from about cross join market_orders s
        on s.market_id = market and s.parent = subject)
    select d.market_id, d.id from about cross join market_deliveries d
      on d.market_id = market and d.order_id = subject)`;

/** The orders of the purchases of a customer, or the payments of their subscriptions, can have the e-mail. */
export const hasEmailOf = ({ id }: CustomerRow): SQL =>
  sql`facts ->> 'email' is not null and (market_id, order_id) in (
    select market_id, order_id from purchases where ${isOfCustomer(id)}
    union select s.market_id, s.order_id from purchases p join market_orders s
      on s.market_id = p.market_id and s.parent = p.order_id where ${isOfCustomer(id)})`;
