import {
  firstOfSlots,
  globalAddress,
  isGlobal,
  LOCAL_ADDRESS,
  slotOf,
} from '@licet/contract/addresses';
import { type Change, changeOf, fieldName } from '@licet/contract/changes';
import type { LicenseDataType } from '@licet/contract/enums';
import type { licenseItem } from '@licet/contract/import';
import { toTimestamp } from '@licet/contract/time';
import { getTableColumns, sql } from 'drizzle-orm';
import type * as z from 'zod';
import { batch, type Database, type Statement } from '../db/client.ts';
import { isOneOf } from '../db/predicates.ts';
import { ownerOf } from '../resources/customers/owner.ts';
import type { CustomerRow } from '../resources/customers/row.ts';
import { type LicenseRow, toLicense } from '../resources/licenses/row.ts';
import {
  keysMeantBy,
  type LicenseDefaults,
  normalizeLicenseKey,
  sentExpiryOf,
  stateOf,
  whyNoKey,
  withDefaults,
} from '../resources/licenses/rules.ts';
import { bindings, licenses, replacedKeys } from '../resources/licenses/schema.ts';
import { slotValues } from '../resources/licenses/snapshot.ts';
import { subtractRequestsHere } from '../resources/licenses/totals.ts';
import { unknownProduct } from '../resources/products/rules.ts';
import { products } from '../resources/products/schema.ts';
import { accountsOf, emailsOfAccounts, namedByAccount } from './accounts.ts';
import {
  Customers,
  type Identity,
  identitiesOf,
  idOfCustomer,
  isKnowable,
  type NamedCustomer,
  NOBODY,
  namedBy,
  OTHER_EMAIL,
  selectCustomers,
} from './customers.ts';
import type { Item } from './items.ts';
import {
  type Context,
  differencesOf,
  insertRows,
  type Planner,
  planRows,
  refusal,
  selectUsedIds,
} from './plan.ts';

type LicenseItem = z.infer<typeof licenseItem>;

interface NewLicense
  extends Omit<LicenseRow, 'customer' | 'customerId' | 'totalRequests' | 'entitlementsOfProduct'> {
  /** A new customer has no id yet: its identities find it. */
  customerId: number | Partial<CustomerRow> | null;
}

/** The fields in a response that an import does not compare. */
const NOT_COMPARED = [
  'id',
  'productIdString',
  'totalRequests',
  'effectiveEntitlements',
  'customer',
];

/** As responses show it, without the addresses that an import leaves out. */
const toWire = ({ ips, ...row }: NewLicense, now: number) =>
  toLicense(
    {
      ...row,
      ips: ips.filter(isGlobal),
      customerId: null,
      customer: null,
      totalRequests: 0,
      entitlementsOfProduct: null,
    },
    now,
  );

/** The addresses that are left out: those that do not say where a machine is (1.2), and all of a slot but the first (1.4). */
function leftOutAddresses({ sent }: Item<LicenseItem>, ipv6SlotPrefix: number): Change[] {
  const firsts = new Map<string, number>();
  // The parsed item has each address once.
  const ips: unknown[] = Array.isArray(sent.ips) ? sent.ips : [];
  return ips.flatMap((ip, index) => {
    const address = globalAddress(String(ip));
    if (address === null) return changeOf(sent, ['ips', index], LOCAL_ADDRESS);
    const slot = slotOf(address, ipv6SlotPrefix);
    const first = firsts.get(slot);
    if (first !== undefined) {
      return changeOf(sent, ['ips', index], `shares the slot of ${fieldName(['ips', first])}`);
    }
    firsts.set(slot, index);
    return [];
  });
}

const SAME_KEY = 'the same licenseKey, apart from case, but other values';

const UNLIMITED: LicenseDefaults = {
  defaultMaxIPs: -1,
  defaultMaxHWIDs: -1,
  defaultExpiresAfterDays: null,
};

/**
 * The license to store. It may have more bound values than its limits allow, as after lowering a limit (1.4).
 *
 * @throws DomainError if fields contradict each other
 */
function toRow(
  item: LicenseItem,
  defaults: LicenseDefaults,
  { db, now }: Pick<Context, 'db' | 'now'>,
): NewLicense {
  const { licenseType, licenseStatus, createdDate, updatedDate } = item;
  const stored = withDefaults(item, defaults);
  const isExpired = stored.expiresAt !== null && stored.expiresAt <= now;
  if (licenseStatus === 'EXPIRED' && !isExpired) {
    const { expiryDate: end } = sentExpiryOf(stored);
    const given = end === null ? '' : `, not ${toTimestamp(end)}`;
    throw refusal(`licenseStatus EXPIRED needs an expiryDate in the past${given}`);
  }
  const licenseKeyNormalized = normalizeLicenseKey(item.licenseKey);
  if (licenseKeyNormalized === '') throw refusal('licenseKey must not be empty');
  return {
    id: 0,
    licenseKey: item.licenseKey,
    licenseKeyNormalized,
    productId: item.productId,
    licenseType,
    licensePlatform: item.licensePlatform,
    licensePlatformOther: item.licensePlatformOther,
    ownerPlatformId: item.ownerPlatformId,
    ownerChatId: item.ownerChatId,
    ownerChatUsername: item.ownerChatUsername,
    ...stored,
    pastRequests: item.totalRequests,
    state: stateOf(licenseStatus),
    notes: item.notes,
    metadata: item.metadata,
    entitlements: item.entitlements,
    entitlementsExpire: item.entitlementsExpire,
    ips: firstOfSlots(
      item.ips.flatMap((ip) => globalAddress(ip) ?? []),
      db.ipv6SlotPrefix,
    ),
    hwids: item.hwids,
    customerId: null,
    deactivatedBy: null,
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

/** The customer of a license: the first possible owner that exists or can be added. */
function linkTo(customers: Customers, item: LicenseItem): NewLicense['customerId'] {
  for (const { named, learns } of ownersOf(item)) {
    const customer = customers.find(named) ?? customers.add(named);
    if (!customer) continue;
    customers.learn(customer, named, learns);
    return customer.id || identitiesOf(customer);
  }
  return null;
}

/** The accounts of the customer of a license that another customer keeps. */
function contestedOf(customers: Customers, { values, sent }: Item<LicenseItem>): Change[] {
  const [owner] = ownersOf(values);
  if (!values.customer || !owner) return [];
  const known = customers.find(owner.named);
  return customers
    .contested(owner.named)
    .filter((identity) => known?.[identity] !== owner.named[identity])
    .map((identity) => {
      // GET shows this account in the field of the license.
      const path = identity === 'otherAccountId' ? ['ownerPlatformId'] : ['customer', identity];
      return changeOf(sent, path, OTHER_EMAIL);
    });
}

const bindAll = (
  db: Database,
  type: LicenseDataType,
  bound: readonly (readonly [key: string, values: readonly string[]])[],
) =>
  db.insert(bindings).select(
    sql`select ${licenses.id}, ${type}, v.value, v.key + 1, ${licenses.revision}
        from json_each(${JSON.stringify(bound)}) l, json_each(l.value -> 1) v
        join ${licenses} on ${licenses.licenseKeyNormalized} = l.value ->> 0`,
  );

/** @param deletedIds ids of licenses that were deleted here */
function storeLicenses(
  db: Database,
  news: readonly NewLicense[],
  deletedIds: readonly number[],
): Statement[] {
  const returning = deletedIds.filter((deleted) => news.some(({ id }) => id === deleted));
  const boundTo = (values: 'ips' | 'hwids') =>
    news
      .filter((license) => license[values].length > 0)
      .map((license) => [license.licenseKeyNormalized, license[values]] as const);
  const [ips, hwids] = [boundTo('ips'), boundTo('hwids')];
  return [
    ...insertRows(db, licenses, news, { customerId: idOfCustomer }),
    ...(ips.length > 0 ? [bindAll(db, 'IP', ips)] : []),
    ...(hwids.length > 0 ? [bindAll(db, 'HWID', hwids)] : []),
    ...(returning.length > 0 ? [subtractRequestsHere(db, returning)] : []),
  ];
}

/** A license is identified by its key, because programs in the field send it. */
export const planLicenses: Planner<LicenseItem> = async ({ db, now, assumedProductIds }, items) => {
  const keys = items.map(({ values }) => normalizeLicenseKey(values.licenseKey));
  const meant = items.flatMap(({ values }) => keysMeantBy(values.licenseKey));
  const productIds = items.map(({ values }) => values.productId);
  const possible = items.flatMap(({ values }) => [
    ...ownersOf(values).map(({ named }) => named),
    ...accountsOf(values).map(namedByAccount),
  ]);
  const { stored, replaced, used, referenced, named } = await batch(db, {
    stored: db
      .select({ ...getTableColumns(licenses), ...slotValues(db) })
      .from(licenses)
      .where(isOneOf(licenses.licenseKeyNormalized, keys)),
    replaced: db
      .select()
      .from(replacedKeys)
      .where(isOneOf(replacedKeys.licenseKeyNormalized, meant)),
    used: selectUsedIds(db, 'licenses', items),
    referenced: db.select().from(products).where(isOneOf(products.id, productIds)),
    named: selectCustomers(db, possible),
  });
  const owners = new Customers(named, now);
  const accounts = await emailsOfAccounts(db, items);
  const limits = new Map<number, LicenseDefaults>(assumedProductIds.map((id) => [id, UNLIMITED]));
  for (const product of referenced) limits.set(product.id, product);
  const firstOfKey = new Map<string, NewLicense>();
  const { news, take } = planRows<LicenseItem, NewLicense>({
    stored,
    used,
    toRow(values) {
      const defaults = limits.get(values.productId);
      if (!defaults) throw unknownProduct(values.productId);
      return toRow(values, defaults, { db, now });
    },
    identityOf: ({ licenseKeyNormalized }) => licenseKeyNormalized,
    toWire: (row) => toWire(row, now),
    notCompared: NOT_COMPARED,
    changesOf: (item) => leftOutAddresses(item, db.ipv6SlotPrefix),
    checkFound({ values, sent }, row, existing, differences) {
      if (existing.productId !== row.productId) {
        throw refusal(`licenseKey belongs to a license of product ${existing.productId}`);
      }
      const first = firstOfKey.get(row.licenseKeyNormalized) ?? row;
      firstOfKey.set(row.licenseKeyNormalized, first);
      if (differencesOf(sent, toWire(row, now), toWire(first, now), NOT_COMPARED).length > 0) {
        throw refusal(`another license of this import has ${SAME_KEY}`);
      }
      // A repeated import sends the key in the same spelling.
      const isAnother = existing.licenseKey !== row.licenseKey && existing.id !== values.id;
      if (isAnother && differences.some((name) => name !== 'licenseKey')) {
        throw refusal(`license ${existing.id} has ${SAME_KEY}`);
      }
    },
    complete(item, row) {
      const { values } = item;
      const readings = keysMeantBy(values.licenseKey);
      if (readings.some(whyNoKey)) {
        throw refusal('licenseKey is a text that a market or npm run doctor sends without a key');
      }
      // Programs with the key must not get into another license.
      const known = replaced.find((one) => readings.includes(one.licenseKeyNormalized));
      if (known) {
        throw refusal(
          `licenseKey is a replaced key of license ${known.licenseId}: import its new key, or leave it out`,
        );
      }
      firstOfKey.set(row.licenseKeyNormalized, row);
      const contested = contestedOf(owners, item);
      const foreign = accounts.removeForeign(row, item, owners);
      const { ownerChatId, ownerChatUsername, ownerPlatformId } = row;
      // The customer of this e-mail gets no account that was left out.
      const kept = { ...values, ownerChatId, ownerChatUsername, ownerPlatformId };
      row.customerId = linkTo(owners, kept);
      const others = contested.filter(({ field }) => foreign.every((one) => one.field !== field));
      return [...foreign, ...others];
    },
  });
  const deletedIds = used.flatMap(({ id, deleted }) => (deleted === null ? [] : id));
  return {
    take,
    changes: () => ({
      statements:
        news.length > 0 ? [...owners.statements(db), ...storeLicenses(db, news, deletedIds)] : [],
      newKeys: news.map(({ licenseKeyNormalized }) => licenseKeyNormalized),
      newOwners: owners.newCount,
      when: accounts.when,
    }),
  };
};
