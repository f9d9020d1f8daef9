import type { EventType, LicenseDataType } from '@licet/contract/enums';
import { and, asc, eq, getTableColumns, inArray, not, type SQL, sql } from 'drizzle-orm';
import { change, isUnchanged, only, type Sender, untilNotOvertaken } from '../../db/change.ts';
import type { Database, Statement } from '../../db/client.ts';
import { nextRevision } from '../../db/outbox.ts';
import { isOneOf } from '../../db/predicates.ts';
import { DomainError } from '../../lib/errors.ts';
import {
  hasSameOwner,
  type Link,
  linkCustomer,
  linkNamedOwner,
  type NamedOwner,
} from '../customers/owner.ts';
import type { CustomerRow } from '../customers/row.ts';
import { customers } from '../customers/schema.ts';
import { unknownProduct } from '../products/rules.ts';
import { selectEntitlementsOfProduct } from './entitlements.ts';
import { changeOfKey, changesOfLicense, freesSlots, withCustomer } from './events.ts';
import { isOwnedBy, type Person } from './own.ts';
import { type LicenseRow, type LicenseValues, valuesOf } from './row.ts';
import { keysMeantBy, newLicenseKey } from './rules.ts';
import { bindings, licenses, replacedKeys } from './schema.ts';
import { slotValues } from './snapshot.ts';
import { totalRequests } from './totals.ts';
import { touchLicense } from './touch.ts';

/** The columns that responses show of a license, without its customer. */
export const licenseColumns = (db: Database) => ({
  ...getTableColumns(licenses),
  ...slotValues(db),
  totalRequests,
  entitlementsOfProduct: selectEntitlementsOfProduct.as('entitlements_of_product'),
});

/** Licenses with everything that responses show. */
export const selectLicenses = (db: Database) =>
  db
    .select({ ...licenseColumns(db), customer: customers })
    .from(licenses)
    .leftJoin(customers, eq(customers.id, licenses.customerId));

/**
 * The last statements of a batch: they read the licenses that it wrote, which share a customer. A read after the batch
 * could fail, and a write that was made would be reported as failed.
 */
export const readWritten = (db: Database, isWritten: SQL) => ({
  // Not joined: drizzle mixes up columns of the same name in a batch.
  rows: db.select(licenseColumns(db)).from(licenses).where(isWritten).orderBy(asc(licenses.id)),
  owners: db
    .select()
    .from(customers)
    .where(sql`${customers.id} = (select customer_id from licenses where ${isWritten} limit 1)`),
});

/** The licenses of {@link readWritten}. */
export const withOwner = (
  rows: readonly Omit<LicenseRow, 'customer'>[],
  [customer]: readonly CustomerRow[],
): LicenseRow[] => rows.map((row) => ({ ...row, customer: customer ?? null }));

export const findLicense = (db: Database, id: number): Promise<LicenseRow | undefined> =>
  selectLicenses(db).where(eq(licenses.id, id)).get();

/** The licenses with some ids, sorted by id; undefined if one is gone. */
export async function findLicenses(
  db: Database,
  ids: readonly number[],
): Promise<LicenseRow[] | undefined> {
  const rows = await selectLicenses(db).where(isOneOf(licenses.id, ids)).orderBy(asc(licenses.id));
  return rows.length === ids.length ? rows : undefined;
}

/** The license with an id, if it is one of a person; undefined for another one, and a DELETED one. */
export const findOwnLicense = (
  db: Database,
  id: number,
  person: Person,
): Promise<LicenseRow | undefined> =>
  selectLicenses(db)
    .where(and(eq(licenses.id, id), isOwnedBy(person)))
    .get();

/**
 * Changes a license for the person who owns it, again if others have changed it since it was read.
 *
 * @param newSender the sender of the change, for the customer of the license; its clock is read for each attempt
 * @returns undefined for a license that is not theirs
 * @throws DomainError if others change the license all the time
 */
export const changeOwnLicense = <Result>(
  newSender: () => Sender,
  person: Person,
  id: number,
  attempt: (sender: Sender, row: LicenseRow) => Promise<Result>,
): Promise<Result | undefined> =>
  untilNotOvertaken(async () => {
    const sender = newSender();
    const row = await findOwnLicense(sender.db, id, person);
    if (!row) return undefined;
    const { customerId } = row;
    return attempt(customerId === null ? sender : { ...sender, customerId }, row);
  });

/**
 * The license with a key, which is compared as in a validation. A replaced key finds none: it has leaked, and bots take
 * the sender of a key for the owner of its license (7).
 */
export async function findLicenseByKey(
  db: Database,
  licenseKey: string,
): Promise<LicenseRow | undefined> {
  const keys = keysMeantBy(licenseKey);
  const rows = await selectLicenses(db).where(inArray(licenses.licenseKeyNormalized, keys));
  const placeOf = (row: LicenseRow) => keys.indexOf(row.licenseKeyNormalized);
  return rows.toSorted((a, b) => placeOf(a) - placeOf(b))[0];
}

const linkTo = (customerId: SQL): Link => ({ when: [], statements: [], customerId });

/** The link of a license that keeps its customer. */
const sameCustomer = ({ customerId }: LicenseRow): Link => linkTo(sql`${customerId}`);

/** The owner fields that name a customer. An account that redeemed the license by its key names none (10). */
function namingFields(row: LicenseRow, values: LicenseValues): LicenseValues {
  const isRedeemed =
    values.ownerChatId === row.ownerChatId && row.customer?.chatId !== row.ownerChatId;
  return isRedeemed ? { ...values, ownerChatId: '', ownerChatUsername: '' } : values;
}

/**
 * Changes a license, its customer and its bindings.
 *
 * @param owner its customer; undefined if the owner fields decide
 * @param beside statements of the same transaction
 * @throws DomainError for an unknown product, or an owner that may not be named, and if another request has changed the license since it was read
 */
export function updateLicense(
  sender: Sender,
  row: LicenseRow,
  values: LicenseValues,
  owner: NamedOwner | undefined,
  beside: readonly Statement[] = [],
): Promise<LicenseRow> {
  const { db, now } = sender;
  const link = () => {
    if (owner !== undefined) return linkNamedOwner(db, owner, now);
    const named = namingFields(row, values);
    return hasSameOwner(namingFields(row, valuesOf(row)), named)
      ? sameCustomer(row)
      : linkCustomer(db, named, now);
  };
  const type = freesSlots(row, values) ? 'license.slots_freed' : 'license.updated';
  return writeLicense(sender, row, { type, values, link: link(), beside });
}

/**
 * Links a license to an account at Discord, whose user has its key (10). Its customer stays: a key proves one license. A
 * license without a customer becomes one of the customer that has the account.
 *
 * @throws DomainError if another request has changed it since it was read
 */
export const redeemLicense = (
  sender: Sender,
  row: LicenseRow,
  account: { id: string; username: string },
): Promise<LicenseRow> =>
  writeLicense(sender, row, {
    type: 'license.redeemed',
    values: { ...valuesOf(row), ownerChatId: account.id, ownerChatUsername: account.username },
    link:
      row.customerId === null
        ? linkTo(sql`(select id from customers where chat_id = ${account.id})`)
        : sameCustomer(row),
  });

/** Gives a license a new key (7). @throws DomainError if it is DELETED or was changed since it was read */
export const rotateLicenseKey = (sender: Sender, row: LicenseRow): Promise<LicenseRow> =>
  writeLicense(sender, row, {
    type: 'license.rotated',
    values: valuesOf(row),
    link: sameCustomer(row),
    licenseKey: newLicenseKey(),
  });

/**
 * Gives a license another owner, free slots and a new key (7). The accounts of the old owner are removed: they would
 * lead a later PUT or a search back to that owner.
 *
 * @throws DomainError like {@link rotateLicenseKey}, and for an owner that may not be named
 */
export function transferLicense(
  sender: Sender,
  row: LicenseRow,
  owner: NamedOwner,
): Promise<LicenseRow> {
  const accounts = { ownerPlatformId: '', ownerChatId: '', ownerChatUsername: '' };
  return writeLicense(sender, row, {
    type: 'license.transferred',
    values: { ...valuesOf(row), ...accounts, ips: [], hwids: [] },
    link: linkNamedOwner(sender.db, owner, sender.now),
    licenseKey: newLicenseKey(),
  });
}

/** Frees slots of a license and binds others, for a program that takes it over (1.8). @throws DomainError if it was changed since it was read */
export const moveLicense = (
  sender: Sender,
  row: LicenseRow,
  values: LicenseValues,
  beside: readonly Statement[],
): Promise<LicenseRow> =>
  writeLicense(sender, row, {
    type: 'license.slots_freed',
    values,
    link: sameCustomer(row),
    beside,
  });

interface Written {
  type: EventType;
  values: LicenseValues;
  link: Link;
  /** A new key, in the form in which keys are compared. */
  licenseKey?: string;
  beside?: readonly Statement[];
}

async function writeLicense(
  sender: Sender,
  row: LicenseRow,
  { type, values: { ips, hwids, ...values }, link, licenseKey, beside = [] }: Written,
): Promise<LicenseRow> {
  const { db, now } = sender;
  const { id } = row;
  const revision = nextRevision(row.revision, now);
  const { when, statements, customerId } = link;
  const fieldChanges = changesOfLicense(row, { ...values, ips, hwids }, now);
  const newKey = licenseKey === undefined ? undefined : replaceKey(sender, row, licenseKey);
  // A purchase that has deactivated the license restores it, unless somebody has changed its status or its owner since (9).
  const isByHand = values.state !== row.state || type === 'license.transferred';
  const deactivatedBy = isByHand ? null : row.deactivatedBy;
  const { rows, owners } = await change(sender, {
    event: {
      type,
      id,
      changes: withCustomer({ ...newKey?.changes, ...fieldChanges }, row.customerId, customerId),
      ...(!newKey &&
        Object.keys(fieldChanges).length === 0 && {
          condition: sql`${customerId} is not ${row.customerId}`,
        }),
    },
    touches: [
      touchLicense(row.licenseKeyNormalized, revision),
      ...(licenseKey === undefined ? [] : [touchLicense(licenseKey, revision)]),
    ],
    when: [isUnchanged(licenses, row), ...when],
    statements: {
      owner: statements,
      replaced: newKey ? [newKey.replaced] : [],
      beside,
      ips: rebind(db, id, 'IP', row.ips, ips, now),
      hwids: rebind(db, id, 'HWID', row.hwids, hwids, now),
      license: db
        .update(licenses)
        .set({ ...values, ...newKey?.columns, customerId, deactivatedBy, updatedAt: now, revision })
        .where(eq(licenses.id, id)),
      ...readWritten(db, eq(licenses.id, id)),
    },
    ...(newKey && { creates: [id] }),
    errors: { reference: unknownProduct(values.productId) },
  });
  return only(withOwner(rows, owners));
}

/** The parts of a change that gives a license a new key. The license keeps its id, and with it its history. */
function replaceKey({ db, now }: Sender, row: LicenseRow, licenseKey: string) {
  if (row.state === 'DELETED') {
    throw new DomainError(
      'conflict',
      'License is DELETED and gets no new key: restore it first, by a PUT with another licenseStatus',
    );
  }
  return {
    changes: changeOfKey(row, licenseKey),
    replaced: db.insert(replacedKeys).values({
      licenseKeyNormalized: row.licenseKeyNormalized,
      licenseId: row.id,
      replacedAt: now,
    }),
    columns: { licenseKey, licenseKeyNormalized: licenseKey },
  };
}

/** Marks a license DELETED (2). @throws DomainError if another request has changed it since it was read */
export async function markLicenseDeleted(sender: Sender, row: LicenseRow): Promise<void> {
  if (row.state === 'DELETED') return;
  const { db, now } = sender;
  const revision = nextRevision(row.revision, now);
  await change(sender, {
    event: {
      type: 'license.deleted',
      id: row.id,
      changes: changesOfLicense(row, { ...valuesOf(row), state: 'DELETED' }, now),
    },
    touches: [touchLicense(row.licenseKeyNormalized, revision)],
    when: [isUnchanged(licenses, row)],
    statements: {
      license: db
        .update(licenses)
        .set({ state: 'DELETED', deactivatedBy: null, updatedAt: now, revision })
        .where(eq(licenses.id, row.id)),
    },
  });
}

/** Replaces the bound values. Those that stay keep their position and their time. No statements if they are the same. */
function rebind(
  db: Database,
  licenseId: number,
  type: LicenseDataType,
  bound: readonly string[],
  values: readonly string[],
  now: number,
) {
  if (JSON.stringify(bound) === JSON.stringify(values)) return [];
  const unbindOthers = db
    .delete(bindings)
    .where(
      and(
        eq(bindings.licenseId, licenseId),
        eq(bindings.type, type),
        not(isOneOf(bindings.value, values)),
      ),
    );
  const bind = db
    .insert(bindings)
    .select(
      sql`select ${licenseId}, ${type}, value, key + 1 + (
            select ifnull(max(position), 0) from bindings where license_id = ${licenseId}), ${now}
          from json_each(${JSON.stringify(values)}) where true`,
    )
    .onConflictDoNothing();
  return [unbindOthers, bind];
}
