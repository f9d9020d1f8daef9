import { DAY_MS } from '@licet/contract/durations';
import type { LicensePlatform, LicenseStatus } from '@licet/contract/enums';
import type { LicenseQuery } from '@licet/contract/licenses';
import {
  and,
  asc,
  desc,
  eq,
  getTableColumns,
  gt,
  gte,
  inArray,
  lte,
  ne,
  not,
  or,
  type SQL,
  sql,
} from 'drizzle-orm';
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';
import type { Database } from '../../db/client.ts';
import { listedColumn, unreadBytesOf } from '../../db/long-values.ts';
import {
  containsText,
  equalsAll,
  equalsUnindexed,
  hasMetadata,
  isOneOf,
  type Page,
  textsOf,
} from '../../db/predicates.ts';
import { DomainError } from '../../lib/errors.ts';
import { type ListRow, readUnread } from '../../lib/row-groups.ts';
import { matchingCustomers } from '../customers/queries.ts';
import { normalizeEmail } from '../customers/row.ts';
import { customers } from '../customers/schema.ts';
import { isFullOf } from './address-slots.ts';
import { hasEntitlement } from './entitlements.ts';
import { licenseColumns, selectLicenses } from './queries.ts';
import type { LicenseRow } from './row.ts';
import {
  EXPIRES_LATER,
  isExpiredSql,
  KEY_END_LENGTH,
  keyEndsMeantBy,
  keysMeantBy,
} from './rules.ts';
import { installations, licenses, replacedKeys } from './schema.ts';
import { hasIdleSlot } from './slot-uses.ts';
import { listedValues } from './snapshot.ts';
import { isUsed, wasSeenSince } from './totals.ts';

/** The lists of licenses: their filters and their orders. */

type LicenseOrder = NonNullable<LicenseQuery['sort']>;

/** The fields of the query, and the owner from the path. */
export interface LicenseFilter extends Omit<LicenseQuery, 'limit' | 'after' | 'total' | 'ip'> {
  /** Addresses from which programs asked. */
  addresses?: readonly string[] | undefined;
  customerId?: number | undefined;
  customerEmail?: string | undefined;
  chatId?: string | undefined;
  owner?: { platform: LicensePlatform; platformId: string } | undefined;
  /**
   * Whether the reader sees the ends of keys alone. `q` then finds a key as a whole or by its end: with a part of any length
   * the reader could guess it letter by letter (12.2.7).
   */
  hidesKeys?: boolean | undefined;
}

const hasExpiryBound = ({ expiresFrom, expiresTo }: LicenseFilter): boolean =>
  expiresFrom !== undefined || expiresTo !== undefined;

/** The index of the expiry dates finds the licenses of a range and sorts them. */
const orderOf = (filter: LicenseFilter): LicenseOrder =>
  filter.sort ?? (hasExpiryBound(filter) ? 'expiryDate' : 'id');

const isByExpiry = (filter: LicenseFilter): boolean => orderOf(filter).endsWith('expiryDate');
const isDescending = (filter: LicenseFilter): boolean => orderOf(filter).startsWith('-');

/** Whether the filter has an owner. An owner has few licenses. */
const isOfOwner = ({ customerId, customerEmail, chatId, owner }: LicenseFilter): boolean =>
  (customerId ?? customerEmail ?? chatId ?? owner) !== undefined;

/** The expiry. The plus sign keeps SQLite from using the index. */
const unindexedExpiry = sql`+${licenses.expiresAt}`;

/** Whether the index of the expiry dates is read. It does not help a list by id, or the few licenses of an owner. */
const readsByExpiry = (filter: LicenseFilter): boolean => isByExpiry(filter) && !isOfOwner(filter);

const expiryOf = (filter: LicenseFilter): SQL =>
  readsByExpiry(filter) ? sql`${licenses.expiresAt}` : unindexedExpiry;

/** Without a status: all but DELETED licenses. */
function hasStatus(status: LicenseStatus | undefined, now: number): SQL | undefined {
  const isExpired = isExpiredSql(unindexedExpiry, now);
  const isActive = eq(licenses.state, 'ACTIVE');
  switch (status) {
    case undefined:
      return ne(licenses.state, 'DELETED');
    case 'EXPIRED':
      return and(isActive, isExpired);
    case 'ACTIVE':
      return and(isActive, not(isExpired));
    default:
      return eq(licenses.state, status);
  }
}

const withEmail = (email: string | undefined): SQL | undefined =>
  email === undefined
    ? undefined
    : sql`(select id from customers where email_normalized = ${normalizeEmail(email)})`;

/** Licenses whose owner has a chat account: in `ownerChatId`, or as the account on the platform CHAT. */
const ofChatId = (chatId: string | undefined): SQL | undefined =>
  chatId === undefined
    ? undefined
    : sql`${licenses.id} in (
        select id from licenses where owner_chat_id = ${chatId}
        union select id from licenses where owner_platform_id = ${chatId} and license_platform = 'CHAT')`;

/** Licenses with an installation at one of the addresses. */
const askedFrom = (addresses: readonly string[]): SQL =>
  sql`${licenses.id} in (select license_id from installations where ${isOneOf(installations.ip, addresses)})`;

/** Licenses with a replaced key that has the text. */
const hadKeyWith = (q: string): SQL =>
  sql`${licenses.id} in (select license_id from ${replacedKeys}
    where ${containsText(q, [replacedKeys.licenseKeyNormalized])})`;

/** Licenses with a key, or a replaced key, that meets a condition. */
const hasKey = (meets: (key: SQLiteColumn) => SQL): SQL =>
  sql`(${meets(licenses.licenseKeyNormalized)} or ${licenses.id} in (
    select license_id from ${replacedKeys} where ${meets(replacedKeys.licenseKeyNormalized)}))`;

/** Licenses with a key, or a replaced key, that the text means as a whole (1.2). */
const hasKeyMeantBy = (q: string): SQL => hasKey((key) => inArray(key, keysMeantBy(q)));

/** Licenses with a key, or a replaced key, that has an end that the text means. */
const hasKeyEnd = (q: string): SQL =>
  hasKey((key) => inArray(sql`substr(${key}, ${-KEY_END_LENGTH})`, keyEndsMeantBy(q)));

const equalsIfGiven = (wanted: boolean | undefined, condition: SQL): SQL | undefined =>
  wanted === undefined ? undefined : wanted ? condition : not(condition);

/**
 * The expiry dates of the filter. A list by expiry has only licenses with a date: none that never expires, and none that
 * waits for its first use.
 */
function hasExpiry(filter: LicenseFilter): SQL | undefined {
  const { expiresFrom, expiresTo = Infinity } = filter;
  const expiry = expiryOf(filter);
  if (!isByExpiry(filter) && !hasExpiryBound(filter)) return undefined;
  return and(
    expiresFrom === undefined ? undefined : gte(expiry, expiresFrom),
    lte(expiry, Math.min(expiresTo, EXPIRES_LATER - 1)),
  );
}

function matching(db: Database, filter: LicenseFilter, now: number): SQL | undefined {
  const { customerId, customerEmail, chatId, owner, productId, addresses } = filter;
  const { licenseStatus, licenseType, q, hidesKeys = false } = filter;
  const { unused, dormantDays, full, idleSlots } = filter;
  return and(
    readsByExpiry(filter)
      ? equalsUnindexed(licenses.productId, productId)
      : equalsAll(
          [licenses.customerId, customerId ?? withEmail(customerEmail)],
          [licenses.ownerPlatformId, owner?.platformId],
          [licenses.productId, productId],
        ),
    owner && eq(licenses.licensePlatform, owner.platform),
    ofChatId(chatId),
    addresses && askedFrom(addresses),
    hasStatus(licenseStatus, now),
    licenseType && eq(licenses.licenseType, licenseType),
    hasExpiry(filter),
    hasMetadata(licenses.metadata, filter.metadata),
    hasEntitlement(filter.entitlement, now),
    or(
      containsText(q, [
        ...(hidesKeys ? [] : [licenses.licenseKey]),
        licenses.licensePlatformOther,
        licenses.ownerPlatformId,
        licenses.ownerChatId,
        licenses.ownerChatUsername,
        licenses.notes,
        textsOf(licenses.metadata),
      ]),
      q === undefined ? undefined : hidesKeys ? hasKeyEnd(q) : hadKeyWith(q),
      q === undefined ? undefined : hasKeyMeantBy(q),
      q === undefined
        ? undefined
        : sql`${licenses.customerId} in (select id from ${customers} where ${matchingCustomers(filter)})`,
    ),
    equalsIfGiven(full, sql`(${isFullOf(db, 'IP')} or ${isFullOf(db, 'HWID')})`),
    equalsIfGiven(idleSlots, hasIdleSlot(db, now)),
    equalsIfGiven(unused, sql`not ${isUsed}`),
    dormantDays === undefined
      ? undefined
      : and(isUsed, not(wasSeenSince(now - dormantDays * DAY_MS))),
  );
}

/** The licenses that follow a license in the order of the filter. */
function isAfter(filter: LicenseFilter, after: number | undefined): SQL | undefined {
  if (!after) return undefined;
  const follows = sql.raw(isDescending(filter) ? '<' : '>');
  const hasLaterId = sql`${licenses.id} ${follows} ${after}`;
  if (!isByExpiry(filter)) return hasLaterId;
  // The index reads the range of expiries; the id orders licenses with the same expiry.
  const expiry = expiryOf(filter);
  const its = sql`(select expires_at from licenses where id = ${after})`;
  return sql`(${expiry} ${follows}= ${its} and (${expiry} ${follows} ${its} or ${hasLaterId}))`;
}

function columnsOf(filter: LicenseFilter) {
  const columns = isByExpiry(filter) ? [expiryOf(filter), licenses.id] : [licenses.id];
  return columns.map(isDescending(filter) ? desc : asc);
}

/**
 * Checks that a license is still in a list by expiry. If its expiry has moved out of the range, no license follows it,
 * and the list would look complete.
 *
 * @throws DomainError if it is not in the list
 */
async function checkPlace(db: Database, filter: LicenseFilter, after: number): Promise<void> {
  const [place] = await db
    .select({ expiresAt: licenses.expiresAt })
    .from(licenses)
    .where(eq(licenses.id, after));
  const expiresAt = place?.expiresAt ?? null;
  const { expiresTo = Infinity } = isDescending(filter) ? {} : filter;
  if (expiresAt !== null && expiresAt <= Math.min(expiresTo, EXPIRES_LATER - 1)) return;
  throw new DomainError(
    'invalid',
    `after must be a license of the list, and ${after} no longer is. Read the list from its start again`,
    'after',
  );
}

/** A license of a list. Values that are too long to be read with those of many others are left out. */
export type ListedLicense = LicenseRow & ListRow;

const NOTHING = sql`null`;

const bytesOf = (values: number | readonly string[]): number =>
  typeof values === 'number' ? values : 0;

const valuesIn = (values: number | readonly string[]): readonly string[] =>
  typeof values === 'number' ? [] : values;

/** Licenses as a list reads them. */
async function selectListed(
  db: Database,
  where: SQL | undefined,
  order: readonly SQL[],
  limit: number,
): Promise<ListedLicense[]> {
  const rows = await db
    .select({
      ...licenseColumns(db),
      ...listedValues(db),
      notes: listedColumn(licenses.notes, sql`''`),
      metadata: listedColumn(licenses.metadata, NOTHING),
      customer: {
        ...getTableColumns(customers),
        metadata: listedColumn(customers.metadata, NOTHING),
      },
      unreadBytes: unreadBytesOf(licenses.notes, licenses.metadata, customers.metadata),
    })
    .from(licenses)
    .leftJoin(customers, eq(customers.id, licenses.customerId))
    .where(where)
    .orderBy(...order)
    .limit(limit);
  return rows.map(({ ips, hwids, unreadBytes, ...row }) => ({
    ...row,
    ips: valuesIn(ips),
    hwids: valuesIn(hwids),
    unreadBytes: unreadBytes + bytesOf(ips) + bytesOf(hwids),
  }));
}

/** A page of the licenses of which a condition holds, also DELETED ones, sorted by id. */
export const listAllLicenses = (
  db: Database,
  where: SQL | undefined,
  { limit, after = 0 }: Page,
): Promise<ListedLicense[]> =>
  selectListed(db, and(gt(licenses.id, after), where), [asc(licenses.id)], limit);

/**
 * A page of the licenses that match, in the order of the filter.
 *
 * @param now milliseconds since 1970; the status depends on it
 * @throws DomainError if the license before the page is no longer in the list
 */
export async function listLicenses(
  db: Database,
  filter: LicenseFilter,
  page: Page,
  now: number,
): Promise<ListedLicense[]> {
  // The place first: SQLite seeks the first of two lower bounds.
  const where = and(isAfter(filter, page.after), matching(db, filter, now));
  const rows = await selectListed(db, where, columnsOf(filter), page.limit);
  if (rows.length === 0 && page.after && isByExpiry(filter)) {
    await checkPlace(db, filter, page.after);
  }
  return rows;
}

/** Reads licenses of a list with all their values. */
export const readLongLicenses = (
  db: Database,
  rows: readonly ListedLicense[],
): Promise<LicenseRow[]> =>
  readUnread(
    rows,
    async (ids): Promise<LicenseRow[]> => selectLicenses(db).where(isOneOf(licenses.id, ids)),
  );

export const countLicenses = (db: Database, filter: LicenseFilter, now: number): Promise<number> =>
  db.$count(licenses, matching(db, filter, now));
