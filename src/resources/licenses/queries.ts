import { and, asc, eq, exists, getTableColumns, not, type SQL, sql } from 'drizzle-orm';
import type { Database } from '../../db/client';
import { newestId } from '../../db/events';
import { rowJson, rowOf } from '../../db/idempotency';
import { logLicenses, logNew, nextRevision } from '../../db/outbox';
import { existsUnchanged, isOneOf, isUnchanged, rowValues } from '../../db/predicates';
import { bindings, customers, licenses } from '../../db/schema';
import type { Writer } from '../../db/writer';
import type { LicenseDataType } from '../../lib/enums';
import {
  hasSameOwner,
  linkCustomer,
  linkNamedCustomer,
  type NamedCustomer,
} from '../customers/owner';
import type { CustomerRow } from '../customers/schema';
import { changesOfLicense, changesOfNew, freesSlots, withCustomer } from './events';
import { newLicenseKey, normalizeLicenseKey } from './key';
import { type LicenseRow, type LicenseValues, valuesOf } from './schema';
import { boundValues, totalRequests } from './snapshot';

/** The columns that responses show of a license, without its customer. */
export const licenseColumns = { ...getTableColumns(licenses), ...boundValues, totalRequests };

/** Licenses with everything that responses show. */
export const selectLicenses = (db: Database) =>
  db
    .select({ ...licenseColumns, customer: customers })
    .from(licenses)
    .leftJoin(customers, eq(customers.id, licenses.customerId));

/**
 * The last two statements of a batch: they read the licenses that it wrote, which share a customer. A read after the
 * batch could fail, and a write that was made would be reported as failed.
 */
const readWritten = (db: Database, isWritten: SQL) =>
  [
    // Not joined: drizzle mixes up columns of the same name in a batch.
    db.select(licenseColumns).from(licenses).where(isWritten).orderBy(asc(licenses.id)),
    db
      .select()
      .from(customers)
      .where(sql`${customers.id} = (select customer_id from licenses where ${isWritten} limit 1)`),
  ] as const;

/** TypeScript knows the first elements of a tuple of unknown length, and not its last ones. */
function lastTwo<One, Two>(results: readonly [...unknown[], One, Two]): [One, Two];
function lastTwo(results: readonly unknown[]): unknown[] {
  return results.slice(-2);
}

/** The licenses of {@link readWritten}, from the results of the batch. */
function writtenLicenses(
  results: readonly [...unknown[], Omit<LicenseRow, 'customer'>[], CustomerRow[]],
): LicenseRow[] {
  const [rows, [customer = null]] = lastTwo(results);
  return rows.map((row) => ({ ...row, customer }));
}

/** The license with an id. */
export const findLicense = (db: Database, id: number): Promise<LicenseRow | undefined> =>
  selectLicenses(db).where(eq(licenses.id, id)).get();

/** The license with a key, which is compared as in a validation. */
export const findLicenseByKey = (
  db: Database,
  licenseKey: string,
): Promise<LicenseRow | undefined> =>
  selectLicenses(db)
    .where(eq(licenses.licenseKeyNormalized, normalizeLicenseKey(licenseKey)))
    .get();

/**
 * Stores licenses with the same values under new keys, with their customer and their bindings: all or none.
 *
 * @param owner their customer; undefined if the owner fields decide
 * @param count the number of licenses, at least one
 * @returns the licenses, sorted by id
 * @throws a foreign key violation for an unknown product
 */
export async function insertLicenses(
  { db, guard, event, changed, remember }: Writer,
  { ips, hwids, ...values }: LicenseValues,
  owner: NamedCustomer | undefined,
  count: number,
  now: number,
): Promise<LicenseRow[]> {
  const licenseKeys = Array.from({ length: count }, newLicenseKey);
  const [licenseKey = ''] = licenseKeys;
  const { statements, customerId } =
    owner === undefined
      ? linkCustomer(db, values, now, sql`true`)
      : linkNamedCustomer(db, owner, now, sql`true`);
  const row = rowValues(licenses, {
    ...values,
    // A new key is already in the form in which keys are compared.
    licenseKey: sql`k.value`,
    licenseKeyNormalized: sql`k.value`,
    pastRequests: 0,
    customerId,
    createdAt: now,
    updatedAt: now,
    revision: now,
  });
  const keys = JSON.stringify(licenseKeys);
  const customerOfFirst = sql`(select customer_id from licenses
    where license_key_normalized = ${licenseKey})`;
  const results = await db.batch([
    guard(),
    // The others are published when they are asked for.
    logNew(db, `license:${licenseKey}`, now),
    ...statements,
    db.insert(licenses).select(sql`select ${row} from json_each(${keys}) k order by k.key`),
    bindNew(db, keys, 'IP', ips),
    bindNew(db, keys, 'HWID', hwids),
    event(
      'license.created',
      count === 1 ? newestId(licenses) : null,
      withCustomer(
        changesOfNew({ ...values, ips, hwids }, licenseKeys, now),
        null,
        customerOfFirst,
      ),
    ),
    ...remember(createdLicenses(keys), customerOfFirst),
    ...readWritten(db, isOneOf(licenses.licenseKeyNormalized, licenseKeys)),
  ]);
  changed(results[1]);
  const stored = writtenLicenses(results);
  if (stored.length !== count) throw new Error('The licenses were not stored');
  return stored;
}

/**
 * Changes a license, its customer and its bindings.
 *
 * @param owner its customer; undefined if the owner fields decide
 * @returns undefined if another request has changed it since it was read
 * @throws a foreign key violation for an unknown product
 */
export async function updateLicense(
  { db, guard, event, changed }: Writer,
  row: LicenseRow,
  { ips, hwids, ...values }: LicenseValues,
  owner: NamedCustomer | undefined,
  now: number,
): Promise<LicenseRow | undefined> {
  const { id } = row;
  const revision = nextRevision(row.revision, now);
  const asRead = isUnchanged(licenses, row);
  const unchanged = db.select({ id: licenses.id }).from(licenses).where(asRead);
  // True until the last statement, which changes the revision: all of them apply or none.
  const condition = exists(unchanged);
  const link = () => {
    if (owner !== undefined) return linkNamedCustomer(db, owner, now, condition);
    if (hasSameOwner(row, values)) return { statements: [], customerId: row.customerId };
    return linkCustomer(db, values, now, condition);
  };
  const { statements, customerId } = link();
  const fieldChanges = changesOfLicense(row, { ...values, ips, hwids }, now);
  const results = await db.batch([
    guard(),
    unchanged,
    logLicenses(db, asRead, now),
    ...statements,
    ...rebind(db, id, 'IP', row.ips, ips, condition),
    ...rebind(db, id, 'HWID', row.hwids, hwids, condition),
    event(
      freesSlots(row, { ips, hwids }) ? 'license.slots_freed' : 'license.updated',
      id,
      withCustomer(fieldChanges, row.customerId, customerId),
      Object.keys(fieldChanges).length === 0
        ? sql`${condition} and ${customerId} is not ${row.customerId}`
        : condition,
    ),
    db
      .update(licenses)
      .set({ ...values, customerId, updatedAt: now, revision })
      .where(asRead),
    ...readWritten(db, eq(licenses.id, id)),
  ]);
  const [, found, changes] = results;
  changed(changes);
  const [updated] = writtenLicenses(results);
  return found.length > 0 ? updated : undefined;
}

/** Marks a license DELETED (2). @returns undefined if another request has changed it since it was read */
export async function markLicenseDeleted(
  { db, guard, event, changed }: Writer,
  row: LicenseRow,
  now: number,
): Promise<{ id: number } | undefined> {
  if (row.state === 'DELETED') return { id: row.id };
  const revision = nextRevision(row.revision, now);
  const [, changes, , [deleted]] = await db.batch([
    guard(),
    logLicenses(db, isUnchanged(licenses, row), now),
    event(
      'license.deleted',
      row.id,
      changesOfLicense(row, { ...valuesOf(row), state: 'DELETED' }, now),
      existsUnchanged(licenses, row),
    ),
    db
      .update(licenses)
      .set({ state: 'DELETED', updatedAt: now, revision })
      .where(isUnchanged(licenses, row))
      .returning({ id: licenses.id }),
  ]);
  changed(changes);
  return deleted;
}

type CreatedLicenses = readonly [
  license: Partial<LicenseRow>[],
  customer: Partial<NonNullable<LicenseRow['customer']>>[] | null,
  licenses: [id: number, licenseKey: string][],
];

/**
 * New licenses as JSON, which differ in their ids and keys alone: the first one, its customer, and the id and key of
 * each.
 */
const createdLicenses = (keys: string): SQL => sql`(
  select json_array(
    ${rowJson({
      ...getTableColumns(licenses),
      ips: sql`json((${boundValues.ips.sql}))`,
      hwids: sql`json((${boundValues.hwids.sql}))`,
    })},
    (select ${rowJson(getTableColumns(customers))} from ${customers}
      where ${customers.id} = ${licenses.customerId}),
    (select json_group_array(json_array(l.id, l.license_key))
      from json_each(${keys}) k join licenses l on l.license_key_normalized = k.value))
  from ${licenses} where ${licenses.licenseKeyNormalized} = json_extract(${keys}, '$[0]'))`;

/** The licenses of {@link createdLicenses}, sorted by id. */
export function licensesOf(json: string): LicenseRow[] {
  const [license, customer, created]: CreatedLicenses = JSON.parse(json);
  const first: LicenseRow = {
    ...rowOf<LicenseRow>(license),
    totalRequests: 0,
    customer: customer && rowOf(customer),
  };
  return created
    .toSorted(([one], [other]) => one - other)
    .map(([id, licenseKey]) => ({ ...first, id, licenseKey, licenseKeyNormalized: licenseKey }));
}

/** Binds values to new licenses, in their order. `keys` is a JSON array of the normalized keys. */
const bindNew = (db: Database, keys: string, type: LicenseDataType, values: readonly string[]) =>
  db.insert(bindings).select(
    sql`select ${licenses.id}, ${type}, v.value, v.key + 1
        from json_each(${keys}) k
        join ${licenses} on ${licenses.licenseKeyNormalized} = k.value
        join json_each(${JSON.stringify(values)}) v`,
  );

/** Binds values in their order. Values that are bound already keep their position. */
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

/** Replaces the bound values. No statements if they are the same. */
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
