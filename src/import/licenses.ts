import { canonicalAddress } from '@licet/contract/addresses';
import type { LicenseDataType } from '@licet/contract/enums';
import { hardwareId } from '@licet/contract/fields';
import type { JsonObject } from '@licet/contract/json';
import { MAX_LIMIT } from '@licet/contract/limits';
import { getTableColumns, sql } from 'drizzle-orm';
import type { z } from 'zod';
import { batch, type Database, type Statement } from '../db/client.ts';
import { isOneOf } from '../db/predicates.ts';
import { bindings, licenses, products } from '../db/schema.ts';
import { subtractRequestsHere } from '../db/totals.ts';
import { DomainError } from '../lib/errors.ts';
import { ownerOf } from '../resources/customers/owner.ts';
import { type LicenseRow, toLicense } from '../resources/licenses/row.ts';
import { expiryOf, normalizeLicenseKey, stateOf } from '../resources/licenses/rules.ts';
import { boundValues } from '../resources/licenses/snapshot.ts';
import type { ProductRow } from '../resources/products/queries.ts';
import {
  Customers,
  type Identity,
  identitiesOf,
  isKnowable,
  linkTo,
  type NamedCustomer,
  type NewCustomer,
  NOBODY,
  namedBy,
} from './customers.ts';
import { Ids, selectUsedIds } from './ids.ts';
import { type Item, type licenseItem, limitsTakenAsUnlimited, refusalOf } from './items.ts';
import {
  created,
  differencesOf,
  found,
  insertRows,
  type NewRow,
  type Planner,
  refused,
} from './plan.ts';

type LicenseItem = z.infer<typeof licenseItem>;

interface NewLicense extends Omit<NewRow<LicenseRow>, 'customer' | 'customerId' | 'totalRequests'> {
  /** A new customer has no id yet: its identities find it. */
  customerId: number | Partial<NewCustomer> | null;
}

/** The fields in a response that an import does not compare. */
const NOT_COMPARED = ['id', 'productIdString', 'totalRequests', 'customer'];

const toWire = (row: NewLicense, now: number) =>
  toLicense({ ...row, id: row.id ?? 0, customerId: null, customer: null, totalRequests: 0 }, now);

const NORMALIZED = 'compared without regard to case';

/** The limits of licenses that have none of their own. */
type Limits = Pick<ProductRow, 'defaultMaxIPs' | 'defaultMaxHWIDs'>;

const UNLIMITED: Limits = { defaultMaxIPs: -1, defaultMaxHWIDs: -1 };

const distinct = (values: readonly string[]): string[] => [...new Set(values)];

const isBindable = (value: string): boolean => hardwareId.safeParse(value).success;

/** The values that a validation could have bound: "Unknown" is no address (1.2). */
const bindable = ({ ips, hwids }: LicenseItem) => ({
  ips: distinct(ips.flatMap((ip) => canonicalAddress(ip) ?? [])).slice(0, MAX_LIMIT),
  hwids: distinct(hwids.filter(isBindable).map((hwid) => hwid.trim())).slice(0, MAX_LIMIT),
});

/** The fields of which a part is not stored. */
const leftOut = ({ licenseType, expiryDate, ips, hwids }: LicenseItem, sent: JsonObject) => [
  ...limitsTakenAsUnlimited(sent, ['maxIPs', 'maxHWIDs']),
  ...(licenseType === 'PERMANENT' && expiryDate !== null ? ['expiryDate'] : []),
  ...(ips.length <= MAX_LIMIT && ips.every((ip) => canonicalAddress(ip) !== null) ? [] : ['ips']),
  ...(hwids.length <= MAX_LIMIT && hwids.every(isBindable) ? [] : ['hwids']),
];

/**
 * The license to store. It may have more bound values than its limits allow, as after lowering a limit (1.4).
 *
 * @throws DomainError if fields contradict each other
 */
function toRow(item: LicenseItem, defaults: Limits, now: number): NewLicense {
  const { licenseType, expiryDate, licenseStatus, createdDate, updatedDate } = item;
  const expiresAt = licenseType === 'PERMANENT' ? null : expiryOf(licenseType, expiryDate);
  if (licenseStatus === 'EXPIRED' && (expiresAt === null || expiresAt > now)) {
    throw new DomainError(
      'invalid',
      'licenseStatus is EXPIRED, and expiryDate says otherwise',
      'licenseStatus',
    );
  }
  return {
    id: null,
    licenseKey: item.licenseKey,
    licenseKeyNormalized: normalizeLicenseKey(item.licenseKey),
    productId: item.productId,
    licenseType,
    licensePlatform: item.licensePlatform,
    licensePlatformOther: item.licensePlatformOther,
    ownerPlatformId: item.ownerPlatformId,
    ownerChatId: item.ownerChatId,
    ownerChatUsername: item.ownerChatUsername,
    expiresAt,
    maxIPs: item.maxIPs ?? defaults.defaultMaxIPs,
    maxHWIDs: item.maxHWIDs ?? defaults.defaultMaxHWIDs,
    pastRequests: item.totalRequests,
    state: stateOf(licenseStatus),
    notes: item.notes,
    ...bindable(item),
    customerId: null,
    createdAt: createdDate ?? now,
    updatedAt: updatedDate ?? createdDate ?? now,
    revision: now,
  };
}

interface Owner {
  named: NamedCustomer;
  /** The identities that the license may add to them. */
  learns: readonly Identity[];
}

/** The possible owners of a license, in order: its customer, then the owner in its own fields. */
function ownersOf(item: LicenseItem): Owner[] {
  const { chatId, platform } = ownerOf(item);
  const otherAccountId = platform?.field === 'otherAccountId' ? platform.accountId : null;
  const byFields: NamedCustomer = {
    ...NOBODY,
    chatId,
    chatUsername: chatId === null ? null : item.ownerChatUsername || null,
    ...(platform && { [platform.field]: platform.accountId }),
  };
  const owners: Owner[] = [
    { named: byFields, learns: ['chatId', ...(platform ? [platform.field] : [])] },
  ];
  if (item.customer) {
    // GET does not show this account.
    const customer = namedBy(item.customer, otherAccountId);
    owners.unshift({ named: customer, learns: ['otherAccountId'] });
  }
  return owners.filter(({ named }) => isKnowable(named));
}

/** Links a license to the first possible owner that exists or can be added. */
function link(customers: Customers, item: LicenseItem): NewCustomer | undefined {
  for (const { named, learns } of ownersOf(item)) {
    const customer = customers.find(named) ?? customers.add(named);
    if (!customer) continue;
    customers.learn(customer, named, learns);
    return customer;
  }
  return undefined;
}

const bindAll = (
  db: Database,
  type: LicenseDataType,
  bound: readonly (readonly [key: string, values: readonly string[]])[],
) =>
  db.insert(bindings).select(
    sql`select ${licenses.id}, ${type}, v.value, v.key + 1
        from json_each(${JSON.stringify(bound)}) l, json_each(l.value -> 1) v
        join ${licenses} on ${licenses.licenseKeyNormalized} = l.value ->> 0`,
  );

/** @param deletedIds ids of licenses that were deleted here */
function storeLicenses(
  db: Database,
  news: readonly NewLicense[],
  deletedIds: ReadonlySet<number>,
): Statement[] {
  const returning = news.flatMap(({ id }) => (id !== null && deletedIds.has(id) ? id : []));
  const boundTo = (values: 'ips' | 'hwids') =>
    news
      .filter((license) => license[values].length > 0)
      .map((license) => [license.licenseKeyNormalized, license[values]] as const);
  const [ips, hwids] = [boundTo('ips'), boundTo('hwids')];
  return [
    ...insertRows(db, licenses, news, { customerId: linkTo }),
    ...(ips.length > 0 ? [bindAll(db, 'IP', ips)] : []),
    ...(hwids.length > 0 ? [bindAll(db, 'HWID', hwids)] : []),
    ...(returning.length > 0 ? [subtractRequestsHere(db, returning)] : []),
  ];
}

/** A license is identified by its key, because programs in the field send it. */
export const planLicenses: Planner<LicenseItem> = async ({ db, now, assumedProductIds }, items) => {
  const keys = items.map(({ values }) => normalizeLicenseKey(values.licenseKey));
  const ids = items.flatMap(({ values }) => values.id ?? []);
  const productIds = items.map(({ values }) => values.productId);
  const owners = items.flatMap(({ values }) => ownersOf(values).map(({ named }) => named));
  const [{ stored, used, referenced }, customers] = await Promise.all([
    batch(db, {
      stored: db
        .select({ ...getTableColumns(licenses), ...boundValues })
        .from(licenses)
        .where(isOneOf(licenses.licenseKeyNormalized, keys)),
      used: selectUsedIds(db, 'licenses', ids),
      referenced: db.select().from(products).where(isOneOf(products.id, productIds)),
    }),
    Customers.read(db, owners, now),
  ]);
  const known = new Map<string, NewLicense>(stored.map((row) => [row.licenseKeyNormalized, row]));
  const freeIds = new Ids(used);
  const deletedIds = new Set(used.flatMap(({ id, deleted }) => (deleted === null ? [] : id)));
  const limits = new Map<number, Limits>(assumedProductIds.map((id) => [id, UNLIMITED]));
  for (const product of referenced) limits.set(product.id, product);
  const news: NewLicense[] = [];
  const firstOfKey = new Map<string, NewLicense>();

  function planOne({ values, sent }: Item<LicenseItem>) {
    const defaults = limits.get(values.productId);
    if (!defaults) return refused('productId is not a product');
    const row = toRow(values, defaults, now);
    const existing = known.get(row.licenseKeyNormalized);
    if (existing && existing.productId !== row.productId) {
      return refused(`licenseKey is that of a license of product ${existing.productId}`);
    }
    const differencesFrom = (other: NewLicense): string[] =>
      differencesOf(sent, toWire(row, now), toWire(other, now), NOT_COMPARED);
    const first = firstOfKey.get(row.licenseKeyNormalized) ?? row;
    firstOfKey.set(row.licenseKeyNormalized, first);
    if (differencesFrom(first).length > 0) {
      return refused(`licenseKey is that of another license of this import, ${NORMALIZED}`);
    }
    if (existing) {
      const differences = differencesFrom(existing);
      // A repeated import sends the key in the same spelling.
      const isAnother =
        existing.licenseKey !== row.licenseKey && existing.id !== (values.id ?? null);
      if (isAnother && differences.some((name) => name !== 'licenseKey')) {
        return refused(`licenseKey is that of license ${existing.id}, ${NORMALIZED}`);
      }
      return found(existing.id, differences);
    }
    row.id = freeIds.take(values.id, row.createdAt);
    const customer = link(customers, values);
    if (customer) row.customerId = customer.id ?? identitiesOf(customer);
    known.set(row.licenseKeyNormalized, row);
    news.push(row);
    const hasNewId = row.id === null && values.id !== undefined;
    return created(row.id, [...(hasNewId ? ['id'] : []), ...leftOut(values, sent)]);
  }

  const results = items.map((item) => {
    try {
      return planOne(item);
    } catch (error) {
      return refused(refusalOf(error));
    }
  });
  const statements =
    news.length > 0 ? [...customers.statements(db), ...storeLicenses(db, news, deletedIds)] : [];
  const newKeys = news.map(({ licenseKeyNormalized }) => licenseKeyNormalized);
  return { results, statements, newKeys, newOwners: customers.newCount };
};
