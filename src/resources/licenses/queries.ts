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
import { logLicenses, logNew, NEW_LICENSES, nextRevision } from '../../db/change-log';
import type { Database } from '../../db/client';
import type { Page } from '../../db/predicates';
import { containsText, equalsAll, isOneOf } from '../../db/predicates';
import { bindings, customers, licenses } from '../../db/schema';
import type { Writer } from '../../db/writer';
import type { LicenseDataType, LicensePlatform, LicenseStatus } from '../../lib/enums';
import { hasSameOwner, linkCustomer } from '../customers/owner';
import { normalizeEmail } from '../customers/schema';
import { newLicenseKey, normalizeLicenseKey } from './key';
import type { LicenseRow, LicenseValues } from './schema';
import { boundValues, totalRequests } from './snapshot';

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
    : sql`(select id from customers where email_normalized = ${normalizeEmail(email)})`;

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
    eq(licenses.licenseKeyNormalized, normalizeLicenseKey(licenseKey)),
  );
  return row;
}

/**
 * Stores licenses with the same values under new keys, with their customer and what is bound to them. All of them
 * are stored, or none. Fails with a foreign key violation for an unknown product.
 *
 * @param count how many, at least one
 * @returns the licenses, sorted by id
 */
export async function insertLicenses(
  { db, guard, changed }: Writer,
  { ips, hwids, ...values }: LicenseValues,
  count: number,
  now: number,
): Promise<LicenseRow[]> {
  const licenseKeys = Array.from({ length: count }, newLicenseKey);
  const [licenseKey = '', ...others] = licenseKeys;
  const { statements, customerId } = linkCustomer(db, values, now, sql`true`);
  const row = new Map<string, unknown>(
    Object.entries({
      ...values,
      // A new key is already in the form in which keys are compared.
      licenseKey: sql`k.value`,
      licenseKeyNormalized: sql`k.value`,
      pastRequests: 0,
      customerId,
      createdAt: now,
      updatedAt: now,
      revision: now,
    }),
  );
  const columns = Object.keys(getTableColumns(licenses)).map(
    (name) => sql`${row.get(name) ?? null}`,
  );
  const keys = JSON.stringify(licenseKeys);
  const subject = others.length === 0 ? (`license:${licenseKey}` as const) : NEW_LICENSES;
  const [, changes] = await db.batch([
    guard(),
    logNew(db, subject, now),
    ...statements,
    db
      .insert(licenses)
      .select(sql`select ${sql.join(columns, sql`, `)} from json_each(${keys}) k order by k.key`),
    bindNew(db, keys, 'IP', ips),
    bindNew(db, keys, 'HWID', hwids),
  ]);
  changed(changes);
  const stored = await selectLicenses(db)
    .where(isOneOf(licenses.licenseKeyNormalized, licenseKeys))
    .orderBy(asc(licenses.id));
  if (stored.length !== count) throw new Error('The licenses were not stored');
  return stored;
}

/**
 * Changes a license, its customer and what is bound to it; undefined when somebody else has changed
 * it since it was read. Fails with a foreign key violation for an unknown product.
 */
export async function updateLicense(
  { db, guard, changed }: Writer,
  row: LicenseRow,
  { ips, hwids, ...values }: LicenseValues,
  now: number,
): Promise<LicenseRow | undefined> {
  const { id } = row;
  const revision = nextRevision(row.revision, now);
  const asRead = isAsRead(row);
  const unchanged = db.select({ id: licenses.id }).from(licenses).where(asRead);
  // True until the last statement, which moves the revision: all of them apply or none.
  const isUnchanged = exists(unchanged);
  const { statements, customerId } = hasSameOwner(row, values)
    ? { statements: [], customerId: row.customerId }
    : linkCustomer(db, values, now, isUnchanged);
  const [, found, changes] = await db.batch([
    guard(),
    unchanged,
    logLicenses(db, asRead, now),
    ...statements,
    ...rebind(db, id, 'IP', row.ips, ips, isUnchanged),
    ...rebind(db, id, 'HWID', row.hwids, hwids, isUnchanged),
    db
      .update(licenses)
      .set({ ...values, customerId, updatedAt: now, revision })
      .where(asRead),
  ]);
  changed(changes);
  return found.length > 0 ? findLicense(db, id) : undefined;
}

const isAsRead = ({ id, revision }: LicenseRow): SQL | undefined =>
  and(eq(licenses.id, id), eq(licenses.revision, revision));

/** Marks a license DELETED (2); undefined when somebody else has changed it since it was read. */
export async function markLicenseDeleted(
  { db, guard, changed }: Writer,
  row: LicenseRow,
  now: number,
): Promise<{ id: number } | undefined> {
  if (row.state === 'DELETED') return { id: row.id };
  const revision = nextRevision(row.revision, now);
  const [, changes, [deleted]] = await db.batch([
    guard(),
    logLicenses(db, isAsRead(row), now),
    db
      .update(licenses)
      .set({ state: 'DELETED', updatedAt: now, revision })
      .where(isAsRead(row))
      .returning({ id: licenses.id }),
  ]);
  changed(changes);
  return deleted;
}

/** Binds values to new licenses, in their order. `keys` is a JSON array of the normalized keys. */
const bindNew = (db: Database, keys: string, type: LicenseDataType, values: readonly string[]) =>
  db.insert(bindings).select(
    sql`select ${licenses.id}, ${type}, v.value, v.key + 1
        from json_each(${keys}) k
        join ${licenses} on ${licenses.licenseKeyNormalized} = k.value
        join json_each(${JSON.stringify(values)}) v`,
  );

/** Binds values in their order; those that are bound keep their place. */
const bind = (
  db: Database,
  licenseId: SQL | number,
  type: LicenseDataType,
  values: readonly string[],
  condition: SQL,
) =>
  db
    .insert(bindings)
    .select(
      sql`select ${licenseId}, ${type}, value, key + 1 + (
            select ifnull(max(position), 0) from bindings where license_id = ${licenseId})
          from json_each(${JSON.stringify(values)}) where ${condition}`,
    )
    .onConflictDoNothing();

/** Makes the values the bound ones; nothing where they are already. */
function rebind(
  db: Database,
  licenseId: number,
  type: LicenseDataType,
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
        eq(bindings.type, type),
        not(isOneOf(bindings.value, values)),
        condition,
      ),
    );
  return [unbindOthers, bind(db, licenseId, type, values, condition)];
}
