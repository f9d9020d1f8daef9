import type { LicenseDataType } from '@licet/contract/enums';
import { sql } from 'drizzle-orm';
import { type Condition, change, type Sender } from '../../db/change.ts';
import type { Database, Statement } from '../../db/client.ts';
import type { NewEvent } from '../../db/events.ts';
import { isOneOf, rowValues } from '../../db/predicates.ts';
import { linkCustomer, linkNamedOwner, type NamedOwner } from '../customers/owner.ts';
import { unknownProduct } from '../products/rules.ts';
import { changesOfNew, withCustomer } from './events.ts';
import { readWritten, withOwner } from './queries.ts';
import type { LicenseRow, LicenseValues } from './row.ts';
import { newLicenseKey } from './rules.ts';
import { bindings, licenses } from './schema.ts';
import { touchLicense } from './touch.ts';

/** The creation of licenses, on their own or beside what sold them. */

/** The licenses of a batch whose keys are mailed at most: nobody wants hundreds of mails. */
const MAX_MAILED = 10;

/**
 * The parts of a change that stores licenses with the same values under new keys, with their customer and bindings.
 *
 * @param owner their customer; undefined if the owner fields decide
 * @param count the number of licenses, at least one
 */
export function newLicenses(
  { db, now }: Sender,
  { ips, hwids, ...values }: LicenseValues,
  owner: NamedOwner | undefined,
  count: number,
) {
  const licenseKeys = Array.from({ length: count }, newLicenseKey);
  const [licenseKey = ''] = licenseKeys;
  const { when, statements, customerId } =
    owner === undefined ? linkCustomer(db, values, now) : linkNamedOwner(db, owner, now);
  const row = rowValues(licenses, {
    ...values,
    ...Object.fromEntries(
      (['metadata', 'entitlements', 'entitlementsExpire'] as const).map((name) => [
        name,
        values[name] && JSON.stringify(values[name]),
      ]),
    ),
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
  const idOfFirst = sql`(select id from licenses where license_key_normalized = ${licenseKey})`;
  const customerOfFirst = sql`(select customer_id from licenses
    where license_key_normalized = ${licenseKey})`;
  return {
    licenseKeys,
    /** A JSON array of the normalized keys. */
    keys,
    event: {
      type: 'license.created',
      id: count === 1 ? idOfFirst : null,
      changes: withCustomer(
        changesOfNew({ ...values, ips, hwids }, licenseKeys, now),
        null,
        customerOfFirst,
      ),
    } satisfies NewEvent,
    // The others are published when they are asked for.
    touches: [touchLicense(licenseKey, now)],
    when,
    statements: {
      owner: statements,
      licenses: db
        .insert(licenses)
        .select(sql`select ${row} from json_each(${keys}) k order by k.key`),
      ips: ips.length === 0 ? [] : [bindNew(db, keys, 'IP', ips, now)],
      hwids: hwids.length === 0 ? [] : [bindNew(db, keys, 'HWID', hwids, now)],
    },
    owned: sql`select id from ${licenses}
      where license_key_normalized in (select value from json_each(${keys}))`,
    creates: sql`(select json_group_array(id) from ${licenses}
      where ${isOneOf(licenses.licenseKeyNormalized, licenseKeys)})`,
    errors: { reference: unknownProduct(values.productId) },
  };
}

/**
 * Stores licenses like {@link newLicenses}: all or none.
 *
 * @param beside conditions and statements of the same transaction
 * @returns the licenses, sorted by id
 * @throws DomainError for an unknown product, or an owner that may not be named
 */
export async function insertLicenses(
  sender: Sender,
  values: LicenseValues,
  owner: NamedOwner | undefined,
  count: number,
  beside: { when: readonly Condition[]; statements: readonly Statement[] } = {
    when: [],
    statements: [],
  },
): Promise<LicenseRow[]> {
  const { licenseKeys, keys: _, owned, ...made } = newLicenses(sender, values, owner, count);
  const { rows, owners } = await change(sender, {
    ...made,
    owned: count > MAX_MAILED ? undefined : owned,
    when: [...made.when, ...beside.when],
    statements: {
      ...made.statements,
      beside: beside.statements,
      ...readWritten(sender.db, isOneOf(licenses.licenseKeyNormalized, licenseKeys)),
    },
  });
  const stored = withOwner(rows, owners);
  if (stored.length !== count) throw new Error('The licenses were not stored');
  return stored;
}

/** Binds values to new licenses, in their order. `keys` is a JSON array of the normalized keys. */
const bindNew = (
  db: Database,
  keys: string,
  type: LicenseDataType,
  values: readonly string[],
  now: number,
) =>
  db.insert(bindings).select(
    sql`select ${licenses.id}, ${type}, v.value, v.key + 1, ${now}
        from json_each(${keys}) k
        join ${licenses} on ${licenses.licenseKeyNormalized} = k.value
        join json_each(${JSON.stringify(values)}) v`,
  );
