import type { ExportedList } from '@licet/contract/personal-data';
import { toOptionalTimestamp, toTimestamp } from '@licet/contract/time';
import { and, asc, eq, gt, lt, type SQL, sql } from 'drizzle-orm';
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
import { deliveries } from '../channels/webhooks/schema.ts';
import type { Database, Statement } from '../db/client.ts';
import { nextRevisionSql } from '../db/outbox.ts';
import { isOneOf } from '../db/predicates.ts';
import { events } from '../db/schema.ts';
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
import { type Groups, type ListReader, pagesOf, readList } from './export-lists.ts';
import {
  chatIdsOf,
  hasEmailOf,
  isDeliveryAbout,
  isEventOf,
  isLicenseOf,
  isPurchaseOf,
  isResponseAbout,
  repeatsFieldsOf,
  selectLicensesOf,
} from './person-rows.ts';
import { listRecords, toRequest } from './queries.ts';

/**
 * The data about a person (6), in one list: the export shows each part of it, and forgetting erases it. Licenses stay, with
 * their keys, bindings, notes and metadata.
 */

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

/** A person in a database. */
export interface Person {
  db: Database;
  customer: CustomerRow;
  /** Milliseconds since 1970. */
  now: number;
}

/** A person whom an export reads. */
export type PersonReader = Person & ListReader;

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
const NO_OWNER = { ownerPlatformId: '', ownerChatId: '', ownerChatUsername: '' };

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
