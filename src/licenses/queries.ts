import {
  and,
  asc,
  count,
  eq,
  exists,
  getTableColumns,
  gt,
  isNotNull,
  isNull,
  lte,
  ne,
  not,
  or,
  type SQL,
  sql,
} from 'drizzle-orm';
import { hasSameOwner, linkCustomer } from '../customers/owner';
import { foldEmail } from '../customers/schema';
import type { Database } from '../db/client';
import type { Page } from '../db/page';
import { bindings, customers, licenses } from '../db/schema';
import { containsText, equalsAll, isOneOf } from '../db/search';
import type { LicenseDataType, LicensePlatform, LicenseStatus } from '../enums';
import { boundValues } from './bindings';
import { foldLicenseKey, newLicenseKey } from './key';
import type { LicenseRow, LicenseValues } from './schema';
import { totalRequests } from './total';

export interface LicenseFilter {
  licenseStatus?: LicenseStatus | undefined;
  licenseType?: LicenseRow['licenseType'] | undefined;
  productId?: number | undefined;
  q?: string | undefined;
  customerId?: number | undefined;
  customerEmail?: string | undefined;
  chatId?: string | undefined;
  owner?: { platform: LicensePlatform; platformId: string } | undefined;
}

/** DELETED licenses are left out unless they are asked for. */
function hasStatus(status: LicenseStatus | undefined, now: number): SQL | undefined {
  const isExpired = and(isNotNull(licenses.expiresAt), lte(licenses.expiresAt, now));
  const isActive = eq(licenses.state, 'ACTIVE');
  switch (status) {
    case undefined:
      return ne(licenses.state, 'DELETED');
    case 'EXPIRED':
      return and(isActive, isExpired);
    case 'ACTIVE':
      return and(isActive, or(isNull(licenses.expiresAt), gt(licenses.expiresAt, now)));
    default:
      return eq(licenses.state, status);
  }
}

const withEmail = (email: string | undefined): SQL | undefined =>
  email === undefined
    ? undefined
    : sql`(select id from customers where email_folded = ${foldEmail(email)})`;

/** A chat account is named by `ownerChatId`, or as the account on the platform CHAT. */
const ofChatId = (chatId: string | undefined): SQL | undefined =>
  chatId === undefined
    ? undefined
    : sql`${licenses.id} in (
        select id from licenses where owner_chat_id = ${chatId}
        union select id from licenses where owner_platform_id = ${chatId} and license_platform = 'CHAT')`;

const matching = (filter: LicenseFilter, now: number): SQL | undefined =>
  and(
    hasStatus(filter.licenseStatus, now),
    filter.licenseType && eq(licenses.licenseType, filter.licenseType),
    equalsAll(
      [licenses.customerId, filter.customerId ?? withEmail(filter.customerEmail)],
      [licenses.ownerPlatformId, filter.owner?.platformId],
      [licenses.productId, filter.productId],
    ),
    filter.owner && eq(licenses.licensePlatform, filter.owner.platform),
    ofChatId(filter.chatId),
    containsText(filter.q, [
      licenses.licenseKey,
      licenses.licensePlatformOther,
      licenses.ownerPlatformId,
      licenses.ownerChatId,
      licenses.ownerChatUsername,
      licenses.notes,
    ]),
  );

const selectLicenses = (db: Database) =>
  db
    .select({ ...getTableColumns(licenses), ...boundValues, totalRequests, customer: customers })
    .from(licenses)
    .leftJoin(customers, eq(customers.id, licenses.customerId));

/** @param now milliseconds since 1970, at which the statuses are judged */
export const listLicenses = (
  db: Database,
  filter: LicenseFilter,
  page: Page,
  now: number,
): Promise<LicenseRow[]> =>
  selectLicenses(db)
    .where(and(matching(filter, now), gt(licenses.id, page.after ?? 0)))
    .orderBy(asc(licenses.id))
    .limit(page.limit);

/** How many licenses match. */
export async function countLicenses(
  db: Database,
  filter: LicenseFilter,
  now: number,
): Promise<number> {
  const [row] = await db.select({ total: count() }).from(licenses).where(matching(filter, now));
  return row?.total ?? 0;
}

/** The license with an id. */
export async function findLicense(db: Database, id: number): Promise<LicenseRow | undefined> {
  const [row] = await selectLicenses(db).where(eq(licenses.id, id));
  return row;
}

/** Compares as a validation does. */
export async function findLicenseByKey(
  db: Database,
  licenseKey: string,
): Promise<LicenseRow | undefined> {
  const [row] = await selectLicenses(db).where(
    eq(licenses.licenseKeyFolded, foldLicenseKey(licenseKey)),
  );
  return row;
}

/**
 * Stores a license under a new key, with its customer and what is bound to it. Fails with a foreign
 * key violation for an unknown product.
 */
export async function insertLicense(
  db: Database,
  { ips, hwids, ...values }: LicenseValues,
  now: number,
): Promise<LicenseRow> {
  const licenseKey = newLicenseKey();
  const licenseKeyFolded = foldLicenseKey(licenseKey);
  const { statements, customerId } = linkCustomer(db, values, now, sql`true`);
  const licenseId = sql`(select id from licenses where license_key_folded = ${licenseKeyFolded})`;
  const insert = db.insert(licenses).values({
    ...values,
    licenseKey,
    licenseKeyFolded,
    customerId,
    createdAt: now,
    updatedAt: now,
  });
  const bindAll = [
    bind(db, licenseId, 'IP', ips, sql`true`),
    bind(db, licenseId, 'HWID', hwids, sql`true`),
  ];
  const [first, ...rest] = statements;
  await (first ? db.batch([first, ...rest, insert, ...bindAll]) : db.batch([insert, ...bindAll]));
  const stored = await findLicenseByKey(db, licenseKey);
  if (!stored) throw new Error('The license was not stored');
  return stored;
}

/**
 * Changes a license, its customer and what is bound to it; undefined when somebody else has changed
 * it since it was read. Fails with a foreign key violation for an unknown product.
 */
export async function updateLicense(
  db: Database,
  row: LicenseRow,
  { ips, hwids, ...values }: LicenseValues,
  now: number,
): Promise<LicenseRow | undefined> {
  const { id, revision } = row;
  const asRead = and(eq(licenses.id, id), eq(licenses.revision, revision));
  const unchanged = db.select({ id: licenses.id }).from(licenses).where(asRead);
  // True until the last statement, which moves the revision: all of them apply or none.
  const isUnchanged = exists(unchanged);
  const { statements, customerId } = hasSameOwner(row, values)
    ? { statements: [], customerId: row.customerId }
    : linkCustomer(db, values, now, isUnchanged);
  const [found] = await db.batch([
    unchanged,
    ...statements,
    ...rebind(db, id, 'IP', row.ips, ips, isUnchanged),
    ...rebind(db, id, 'HWID', row.hwids, hwids, isUnchanged),
    db
      .update(licenses)
      .set({ ...values, customerId, updatedAt: now, revision: revision + 1 })
      .where(asRead),
  ]);
  return found.length > 0 ? findLicense(db, id) : undefined;
}

/** Marks a license DELETED (2); undefined when somebody else has changed it since it was read. */
export async function markLicenseDeleted(
  db: Database,
  row: LicenseRow,
  now: number,
): Promise<{ id: number } | undefined> {
  const { id, revision } = row;
  if (row.state === 'DELETED') return { id };
  const [deleted] = await db
    .update(licenses)
    .set({ state: 'DELETED', updatedAt: now, revision: revision + 1 })
    .where(and(eq(licenses.id, id), eq(licenses.revision, revision)))
    .returning({ id: licenses.id });
  return deleted;
}

/** Binds values in their order; those that are bound keep their place. */
const bind = (
  db: Database,
  licenseId: SQL | number,
  kind: LicenseDataType,
  values: readonly string[],
  condition: SQL,
) =>
  db
    .insert(bindings)
    .select(
      sql`select null, ${licenseId}, ${kind}, value from json_each(${JSON.stringify(values)})
          where ${condition} order by key`,
    )
    .onConflictDoNothing();

/** Makes the values the bound ones; nothing where they are already. */
function rebind(
  db: Database,
  licenseId: number,
  kind: LicenseDataType,
  bound: readonly string[],
  values: readonly string[],
  condition: SQL,
) {
  if (JSON.stringify(bound) === JSON.stringify(values)) return [];
  const unbindOthers = db
    .delete(bindings)
    .where(
      and(
        eq(bindings.licenseId, licenseId),
        eq(bindings.kind, kind),
        not(isOneOf(bindings.value, values)),
        condition,
      ),
    );
  return [unbindOthers, bind(db, licenseId, kind, values, condition)];
}
