import { LICENSE_PLATFORMS, type LicensePlatform } from '@licet/contract/enums';
import type { ExportedList } from '@licet/contract/personal-data';
import { toOptionalTimestamp, toTimestamp } from '@licet/contract/time';
import { and, asc, eq, gt, lt, or, type SQL, sql } from 'drizzle-orm';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { checkRoles } from '../channels/discord/roles.ts';
import { discordLinkCodes, discordRoles } from '../channels/discord/schema.ts';
import { toMail } from '../channels/mail/list.ts';
import { mails } from '../channels/mail/schema.ts';
import { purchaseColumns, toPurchase } from '../channels/markets/list.ts';
import { toDelivery } from '../channels/markets/received.ts';
import { marketDeliveries, purchases, subjects } from '../channels/markets/schema.ts';
import { pageLinks, pageSessions } from '../channels/portal/schema.ts';
import { isPageOf, PORTAL_SESSION_SECONDS } from '../channels/portal/sessions.ts';
import { deliveries, webhooks } from '../channels/webhooks/schema.ts';
import type { Database, Statement } from '../db/client.ts';
import { nextRevisionSql } from '../db/outbox.ts';
import { isOneOf, type Page } from '../db/predicates.ts';
import { events } from '../db/schema.ts';
import { wholeGroups } from '../lib/row-groups.ts';
import { ACCOUNT_FIELDS, platformIdOf } from '../resources/customers/owner.ts';
import type { CustomerRow } from '../resources/customers/row.ts';
import { readEvents, toEvent } from '../resources/events/queries.ts';
import { PERSONAL_FIELDS } from '../resources/licenses/events.ts';
import {
  type ListedLicense,
  listAllLicenses,
  readLongLicenses,
} from '../resources/licenses/list.ts';
import { toLicense } from '../resources/licenses/row.ts';
import { installations, licenses, replacedKeys } from '../resources/licenses/schema.ts';
import { isReplacedKeyOf } from './erase.ts';
import { listRecords, toRequest } from './queries.ts';

/**
 * The data about a person (6), in one list: the export shows each part of it, and forgetting erases it. Licenses stay, with
 * their keys, bindings, notes and metadata.
 */

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
const isLicenseOf = (customer: CustomerRow): SQL | undefined =>
  or(eq(licenses.customerId, customer.id), namesAccountOf(customer));

/** Selects the ids of licenses whose owner is or was a customer or an account of the customer. */
function selectLicensesOf(customer: CustomerRow): SQL {
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
const isEventOf = (
  customer: CustomerRow,
  isOfLicense = sql`${events.resourceId} in (${selectLicensesOf(customer)})`,
): SQL | undefined =>
  or(
    and(eq(events.resourceType, 'customer'), eq(events.resourceId, customer.id)),
    and(eq(events.resourceType, 'license'), isOfLicense),
  );

/**
 * The statement that erases a customer from events: all values of the customer's own events, the personal fields of
 * licenses, and the addresses from which customers and their programs made changes.
 */
function eraseEvents({ db, customer }: Person) {
  const paths = PERSONAL_FIELDS.map((field) => sql`${`$.${field}`}`);
  return db
    .update(events)
    .set({
      changes: sql`case ${events.resourceType} when 'license'
        then json_remove(${events.changes}, ${sql.join(paths, sql`, `)}) end`,
      ip: sql`iif(${events.actor} in ('customer', 'program'), null, ${events.ip})`,
    })
    .where(isEventOf(customer));
}

/** The accounts at Discord of a customer, also those that redeemed single licenses. */
const chatIdsOf = ({ id, chatId }: CustomerRow): SQL =>
  sql`(select owner_chat_id from licenses where customer_id = ${id} union select ${chatId})`;

/** A receiver may have repeated an event in its response. */
const isResponseAbout = (customer: CustomerRow): SQL =>
  sql`(webhook_id, id) in (
    select webhooks.id, events.id from ${events} cross join ${webhooks} where ${isEventOf(customer)})
    and response is not null`;

/** The purchases whose license is one of a customer. */
const isOfCustomer = (id: number): SQL =>
  sql`license_id in (select id from licenses where customer_id = ${id})`;

/** The purchases of a customer, also those that wait for a product. */
const isPurchaseOf = ({ id, email }: CustomerRow): SQL | undefined =>
  or(isOfCustomer(id), email === null ? undefined : eq(purchases.email, email));

/**
 * The requests of markets about the purchases of a customer: about the order, the reference, or another subject of the
 * same order or subscription. The reference of a test has a prefix.
 */
const isDeliveryAbout = (customer: CustomerRow): SQL =>
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
const hasEmailOf = ({ id }: CustomerRow): SQL =>
  sql`facts ->> 'email' is not null and (market_id, order_id) in (
    select market_id, order_id from purchases where ${isOfCustomer(id)}
    union select s.market_id, s.order_id from purchases p join market_orders s
      on s.market_id = p.market_id and s.parent = p.order_id where ${isOfCustomer(id)})`;

/** A person in a database. */
export interface Person {
  db: Database;
  customer: CustomerRow;
  /** Milliseconds since 1970. */
  now: number;
}

/** How an export reads a person. */
export interface PersonReader extends Person {
  /** The size of what is in memory at once. */
  chunk: { rows: number; longBytes: number };
  /** Runs a read when it is its turn. */
  turn: <Result>(read: () => Promise<Result>) => Promise<Result>;
}

/** The objects of a list of an export, in groups. @returns whether some are left out */
type Groups = AsyncGenerator<readonly object[], boolean>;

interface Part {
  read(reader: PersonReader): Groups;
  /**
   * The statements that erase it, in the one transaction in which a person is forgotten; undefined for a part that
   * `eraseHistory` erases after it.
   */
  erase?: (person: Person) => Statement | readonly Statement[];
}

/** The most objects of a list. All lists together stay below 50 queries, the limit of a request on the Free plan. */
const MOST = { licenses: 10_000, requests: 10_000, others: 5_000, short: 1_000 };

interface ListPage<Row> {
  rows: readonly Row[];
  hasMore: boolean;
}

/** A list of an export. */
interface List<Row> {
  most: number;
  read: (page: Page) => Promise<ListPage<Row>>;
  readLong?: (rows: readonly Row[]) => Promise<Row[]>;
  /** The id after which the next page begins; undefined for a list that is one page. */
  idOf?: (row: Row) => number;
  toWire: (row: Row) => object;
}

/** Reads pages with one row more, which says that another page follows. */
const pagesOf =
  <Row>(select: (page: Page) => PromiseLike<Row[]>) =>
  async ({ limit, after }: Page): Promise<ListPage<Row>> => {
    const rows = await select({ limit: limit + 1, after });
    return { rows: rows.slice(0, limit), hasMore: rows.length > limit };
  };

/** Reads a list in parts that fit into memory. */
async function* readList<Row extends object>(
  { chunk, turn }: PersonReader,
  { most, read, readLong, idOf, toWire }: List<Row>,
): Groups {
  const readGroup = readLong && ((group: readonly Row[]) => turn(() => readLong(group)));
  let after: number | undefined;
  for (let left = most; left > 0; ) {
    const page = { limit: Math.min(idOf ? chunk.rows : most, left), after };
    const { rows, hasMore } = await turn(() => read(page));
    for await (const group of wholeGroups(rows, chunk.longBytes, readGroup)) {
      yield group.map(toWire);
    }
    if (!hasMore) return false;
    left -= rows.length;
    const last = rows.at(-1);
    after = last && idOf?.(last);
  }
  return true;
}

/** Reads the rows of a table of which a condition holds, as a list that is one page. */
const readShort = <Table extends SQLiteTable>(
  reader: PersonReader,
  table: Table,
  where: SQL | undefined,
  toWire: (row: Table['$inferSelect']) => object,
): Groups =>
  readList<Table['$inferSelect']>(reader, {
    most: MOST.short,
    read: pagesOf(({ limit }) => reader.db.select().from(table).where(where).limit(limit)),
    toWire,
  });

/** The access of a customer to the page. */
const access = (chatId: string | null, expiresAt: number, usedAt: number | null = null) => ({
  chatId,
  expiresAt: toTimestamp(expiresAt),
  usedAt: toOptionalTimestamp(usedAt),
});

/** The fields of licenses that repeat those of a customer. */
export const NO_OWNER = { ownerPlatformId: '', ownerChatId: '', ownerChatUsername: '' };

/** The licenses that repeat fields of a customer. */
export const repeatsFieldsOf = (customer: CustomerRow): SQL | undefined =>
  and(
    isLicenseOf(customer),
    sql`${licenses.ownerPlatformId} || ${licenses.ownerChatId} || ${licenses.ownerChatUsername} <> ''`,
  );

/**
 * The parts, in the order of the export. Forgetting erases them from the last one on: each finds its rows by those before
 * it.
 */
export const PERSONAL_DATA: Readonly<Record<ExportedList, Part>> = {
  licenses: {
    read(reader) {
      const { db, customer, now } = reader;
      return readList<ListedLicense>(reader, {
        most: MOST.licenses,
        read: pagesOf((page) => listAllLicenses(db, isLicenseOf(customer), page)),
        readLong: (rows) => readLongLicenses(db, rows),
        idOf: ({ id }) => id,
        toWire: (row) =>
          // A license can name an account of this person, and belong to another one.
          toLicense(row.customerId === customer.id ? row : { ...row, customer: null }, now),
      });
    },
    erase: ({ db, customer, now }) =>
      db
        .update(licenses)
        .set({ ...NO_OWNER, updatedAt: now, revision: nextRevisionSql(licenses.revision, now) })
        .where(repeatsFieldsOf(customer)),
  },
  replacedKeys: {
    read: (reader) =>
      readShort(
        reader,
        replacedKeys,
        isReplacedKeyOf(eq(licenses.customerId, reader.customer.id)),
        ({ licenseId, licenseKeyNormalized, replacedAt }) => ({
          licenseId,
          licenseKey: licenseKeyNormalized,
          replacedAt: toTimestamp(replacedAt),
        }),
      ),
  },
  requests: {
    read: (reader) =>
      readList(reader, {
        most: MOST.requests,
        read: ({ limit, after }) =>
          listRecords(reader.db, { customerId: reader.customer.id, after }, limit),
        idOf: ({ id }) => id,
        toWire: toRequest,
      }),
  },
  installations: {
    read(reader) {
      const { db, customer } = reader;
      const isOf = and(
        sql`${installations.licenseId} in (select id from licenses where customer_id = ${customer.id})`,
        // An erased one has no key.
        sql`${installations.licenseKeyNormalized} <> ''`,
      );
      return readList(reader, {
        most: MOST.others,
        read: pagesOf(({ limit, after = 0 }) =>
          db
            .select()
            .from(installations)
            .where(and(gt(installations.id, after), isOf))
            .orderBy(asc(installations.id))
            .limit(limit),
        ),
        idOf: ({ id }) => id,
        toWire: toExported,
      });
    },
  },
  events: {
    async *read(reader) {
      const { db, customer, turn } = reader;
      const found = await turn(async () =>
        db.select({ id: sql<number>`id` }).from(sql`(${selectLicensesOf(customer)})`),
      );
      const ids = found.map(({ id }) => id);
      const isEvent = isEventOf(customer, isOneOf(events.resourceId, ids));
      return yield* readList(reader, {
        most: MOST.others,
        read: pagesOf(({ limit, after }) =>
          readEvents(
            db,
            and(isEvent, after === undefined ? undefined : lt(events.id, after)),
            limit,
          ),
        ),
        idOf: ({ id }) => id,
        toWire: toEvent,
      });
    },
    erase: eraseEvents,
  },
  responses: {
    read: (reader) =>
      readShort(
        reader,
        deliveries,
        isResponseAbout(reader.customer),
        ({ webhookId, id, response }) => ({ webhookId, eventId: id, response }),
      ),
    erase: ({ db, customer }) =>
      db.update(deliveries).set({ response: null }).where(isResponseAbout(customer)),
  },
  purchases: {
    read(reader) {
      const { db, customer } = reader;
      return readList(reader, {
        most: MOST.others,
        read: pagesOf(({ limit, after = 0 }) =>
          db
            .select(purchaseColumns)
            .from(purchases)
            .where(and(gt(purchases.id, after), isPurchaseOf(customer)))
            .orderBy(asc(purchases.id))
            .limit(limit),
        ),
        idOf: ({ id }) => id,
        toWire: toPurchase,
      });
    },
    // A later download of the same buyer is a new purchase.
    erase: ({ db, customer }) =>
      db
        .update(purchases)
        .set({
          buyerId: null,
          buyerName: null,
          email: null,
          reference: sql`'forgotten-' || ${purchases.id}`,
          revision: sql`${purchases.revision} + 1`,
        })
        .where(isPurchaseOf(customer)),
  },
  marketDeliveries: {
    read: (reader) =>
      readShort(reader, marketDeliveries, isDeliveryAbout(reader.customer), (row) => ({
        marketId: row.marketId,
        ...toDelivery(row),
      })),
    // An empty body, because null says that a request did not come from the market.
    erase: ({ db, customer }) =>
      db
        .update(marketDeliveries)
        .set({ body: sql`iif(body is null, null, '')`, orderId: null })
        .where(isDeliveryAbout(customer)),
  },
  orders: {
    read: (reader) =>
      readShort(
        reader,
        subjects,
        hasEmailOf(reader.customer),
        ({ marketId, id, facts: { email } }) => ({ marketId, order: id, email }),
      ),
    erase: ({ db, customer }) =>
      db
        .update(subjects)
        .set({ facts: sql`json_remove(facts, '$.email')`, revision: sql`${subjects.revision} + 1` })
        .where(hasEmailOf(customer)),
  },
  links: {
    read: (reader) =>
      readShort(
        reader,
        pageLinks,
        isPageOf(pageLinks, reader.customer.id, chatIdsOf(reader.customer)),
        ({ chatId, expiresAt, usedAt }) => access(chatId, expiresAt, usedAt),
      ),
    erase: ({ db, customer }) =>
      db.delete(pageLinks).where(isPageOf(pageLinks, customer.id, chatIdsOf(customer))),
  },
  sessions: {
    read: (reader) =>
      readShort(
        reader,
        pageSessions,
        isPageOf(pageSessions, reader.customer.id, chatIdsOf(reader.customer)),
        ({ chatId, createdAt }) => access(chatId, createdAt + PORTAL_SESSION_SECONDS * 1000),
      ),
    erase: ({ db, customer }) =>
      db.delete(pageSessions).where(isPageOf(pageSessions, customer.id, chatIdsOf(customer))),
  },
  mails: {
    read(reader) {
      const { customer } = reader;
      return readShort(reader, mails, eq(mails.customerId, customer.id), (row) =>
        toMail({ ...row, email: customer.email }),
      );
    },
    // One that waits is not sent either: its address is gone.
    erase: ({ db, customer }) => db.delete(mails).where(eq(mails.customerId, customer.id)),
  },
  linkCodes: {
    read: (reader) =>
      readShort(
        reader,
        discordLinkCodes,
        eq(discordLinkCodes.customerId, reader.customer.id),
        ({ expiresAt }) => access(null, expiresAt),
      ),
    erase: ({ db, customer }) =>
      db.delete(discordLinkCodes).where(eq(discordLinkCodes.customerId, customer.id)),
  },
  roles: {
    read: (reader) =>
      readShort(
        reader,
        discordRoles,
        sql`${discordRoles.chatId} in ${chatIdsOf(reader.customer)}`,
        ({ chatId, roleId, isGiven }) => ({ chatId, roleId, isGiven }),
      ),
    // The scheduled handler takes the roles, and forgets the accounts.
    erase: ({ db, customer }) => checkRoles(db, chatIdsOf(customer)),
  },
};

/** An installation as the export shows it. */
function toExported({
  licenseKeyNormalized,
  fingerprint,
  firstSeenAt,
  lastSeenAt,
  requests,
  aggregatedBucket,
  kid,
  ...values
}: typeof installations.$inferSelect) {
  return {
    ...values,
    firstSeen: toTimestamp(firstSeenAt),
    lastSeen: toTimestamp(lastSeenAt),
  };
}
