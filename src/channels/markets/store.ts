import { getTableColumns, type SQL, sql } from 'drizzle-orm';
import { areUnchanged, type Condition, change, type Sender, stillHolds } from '../../db/change.ts';
import type { Database } from '../../db/client.ts';
import { idOfNewest } from '../../db/idempotency.ts';
import { isOneOf, ofEach, rowValues } from '../../db/predicates.ts';
import { DomainError } from '../../lib/errors.ts';
import { newLicenses } from '../../resources/licenses/create.ts';
import { licenses } from '../../resources/licenses/schema.ts';
import { touchLicenses, touchNewLicenses } from '../../resources/licenses/touch.ts';
import { completeCustomers, nameCustomer } from './buyers.ts';
import { type ListedPurchase, purchaseColumns } from './list.ts';
import { type Loaded, namedPurchases } from './load.ts';
import { purchases, subjects } from './schema.ts';
import type {
  Completion,
  LicenseChange,
  NewLicenses,
  Plan,
  PlannedEvent,
  PurchaseChange,
  PurchaseValues,
  SubjectAfter,
} from './state.ts';
import { licenseChanges } from './words.ts';

/** Stores plans in one transaction, on the condition that nothing that was read has changed (9). */

export interface Stored {
  /** The keys of the new licenses of each plan. */
  keys: ReadonlyMap<Plan, readonly string[]>;
  /** The purchase that a person has chosen or entered. */
  chosen: ListedPurchase | undefined;
}

const KNOWN = new DomainError('conflict', 'The purchase is known: change its license', 'reference');

/**
 * @param plans of which no two are about the same rows
 * @throws DomainError if something that was read has changed: the notices are to be planned again
 */
export async function store(
  sender: Sender,
  loaded: Loaded,
  plans: readonly Plan[],
): Promise<Stored> {
  const { db, now } = sender;
  const all = <Part>(part: (plan: Plan) => readonly Part[]): Part[] => plans.flatMap(part);
  const { market } = loaded.mapping.source;
  const made = plans.flatMap((plan): Made[] => {
    const { make } = plan;
    if (!make) return [];
    const values = licenseValues(loaded, make);
    return [{ plan, make, ...newLicenses(sender, values, ownerOf(make), make.count) }];
  });
  const changed = all((plan) => plan.licenses);
  const ids = changed.map(({ before }) => before.id);
  const changes = all((plan) => plan.purchases);
  const stated = all((plan) => plan.subjects);
  const completions = all((plan) => plan.completions);
  const { purchaseId, licenseId } = loaded.names;
  const isOfPerson = purchaseId !== null || licenseId !== null;
  const { row } = await change(sender, {
    event: [
      ...made.map(({ event }) => event),
      ...changed.map((one) => ({
        type: 'license.updated' as const,
        id: one.before.id,
        changes: licenseChanges(one, now),
      })),
      ...all(({ events }) => events).map((one) => eventOf(market.id, one)),
    ],
    touches: [
      ...(made.length === 0
        ? []
        : [
            touchNewLicenses(
              made.map(({ licenseKeys: [first = ''] }) => first),
              now,
            ),
          ]),
      ...(ids.length === 0 ? [] : [touchLicenses(isOneOf(licenses.id, ids), now)]),
    ],
    when: [...conditions(loaded, changed), ...made.flatMap(({ when }) => when)],
    statements: {
      made: made.flatMap(({ statements }) => Object.values(statements).flat()),
      subjects: stated.length === 0 ? [] : [putSubjects(db, market.id, stated)],
      granted: made.length === 0 ? [] : grantPurchases(sender, market.id, made),
      entered: all((plan) => plan.newPurchases).map((values) =>
        insertPurchase(sender, market.id, values),
      ),
      purchases: changes.length === 0 ? [] : [updatePurchases(sender, changes)],
      changed: changed.length === 0 ? [] : [updateLicenses(sender, changed)],
      customers: completeCustomers(db, completions),
      row: isOfPerson
        ? [
            db
              .select(purchaseColumns)
              .from(purchases)
              .where(sql`${purchases.id} in (${namedPurchases(market.id, loaded.names)})`)
              .orderBy(purchases.id),
          ]
        : [],
    },
    creates: idOfNewest(purchases),
    owned: ownedBy(made, completions),
    errors: { ...made[0]?.errors, unique: KNOWN },
  });
  return {
    keys: new Map(made.map(({ plan, licenseKeys }) => [plan, licenseKeys])),
    chosen: row?.[0],
  };
}

/** The licenses that a plan makes. */
type Made = ReturnType<typeof newLicenses> & { plan: Plan; make: NewLicenses };

/** Selects the ids of the licenses that are new, and of those whose buyer has an e-mail from now on; undefined for none. */
function ownedBy(made: readonly Made[], completions: readonly Completion[]): SQL | undefined {
  const ids = completions.flatMap(({ licenseId, email }) => (email === null ? [] : licenseId));
  if (made.length === 0 && ids.length === 0) return undefined;
  const keys = made.flatMap(({ licenseKeys }) => licenseKeys);
  return sql`select id from licenses where ${isOneOf(licenses.licenseKeyNormalized, keys)}
    union select value from json_each(${JSON.stringify(ids)})`;
}

/** Whether a plan changes nothing. */
export const isEmpty = (plan: Plan): boolean =>
  plan.make === null &&
  [plan.subjects, plan.newPurchases, plan.purchases, plan.licenses, plan.completions].every(
    ({ length }) => length === 0,
  );

/** The conditions that the rows are as they were read, and that none was added. */
function conditions(
  { names, state, mapping }: Loaded,
  changed: readonly LicenseChange[],
): Condition[] {
  const marketId = mapping.source.market.id;
  const orders = state.purchases.map(({ purchase }) => purchase.orderId);
  const known = state.subjects.flatMap(({ id, parent }) => [id, parent]);
  const all = new Set([...names.subjects, ...known, ...orders].filter((id) => id !== null));
  const ids = JSON.stringify([...all]);
  const rows = JSON.stringify(state.subjects.map(({ id, revision }) => [id, revision]));
  const count = state.subjects.length;
  const sameSubjects = sql`
    (select count(*) from json_each(${ids}) i cross join market_orders s
      on s.market_id = ${marketId} and s.order_id = i.value) = ${count}
    and (select count(*) from json_each(${rows}) cross join market_orders s
      on s.market_id = ${marketId} and s.order_id = value ->> 0 and s.revision = value ->> 1) = ${count}
    and not exists (select 1 from json_each(${ids}) i cross join market_orders s
      on s.market_id = ${marketId} and s.parent = i.value
        and s.order_id not in (select value from json_each(${ids})))`;
  const samePurchases = sql`(select count(*) from (
    select p.id from json_each(${ids}) i cross join purchases p
      on p.market_id = ${marketId} and p.order_id = i.value
    union ${namedPurchases(marketId, names)})) = ${state.purchases.length}`;
  const read = state.purchases.map(({ purchase }) => purchase);
  return [
    ...(all.size === 0 ? [] : [stillHolds(sameSubjects)]),
    stillHolds(samePurchases),
    ...(read.length === 0 ? [] : [areUnchanged(purchases, read)]),
    ...(changed.length === 0
      ? []
      : [
          areUnchanged(
            licenses,
            changed.map(({ before }) => before),
          ),
        ]),
  ];
}

function licenseValues({ mapping }: Loaded, { values, buyer }: NewLicenses) {
  const { platform } = mapping.source;
  return {
    ...values,
    licensePlatform: buyer.id === null ? null : platform,
    licensePlatformOther:
      buyer.id !== null && platform === 'OTHER' ? mapping.source.market.accountName : '',
    ownerPlatformId: buyer.id ?? '',
    ownerChatId: '',
    ownerChatUsername: '',
    metadata: null,
    entitlementsExpire: null,
    ips: [],
    hwids: [],
  };
}

const ownerOf = ({ buyer: { email, name } }: NewLicenses) =>
  email === null ? undefined : { id: null, email, username: name };

const eventOf = (marketId: number, { type, purchase, changes }: PlannedEvent) => ({
  type,
  id: typeof purchase === 'number' ? purchase : purchaseId(marketId, purchase),
  changes,
});

const purchaseId = (
  marketId: number,
  { item, reference }: Pick<PurchaseValues, 'item' | 'reference'>,
): SQL =>
  sql`(select id from purchases where market_id = ${marketId} and item = ${item}
    and reference = ${reference} and unit = 0)`;

function putSubjects(db: Database, marketId: number, changed: readonly SubjectAfter[]) {
  const row = rowValues(subjects, {
    marketId,
    id: sql`value ->> 'id'`,
    facts: sql`value ->> 'facts'`,
    revision: 1,
    expiresAt: sql`value ->> 'expiresAt'`,
    parent: sql`value ->> 'parent'`,
  });
  return db
    .insert(subjects)
    .select(sql`select ${row} from json_each(${JSON.stringify(changed)}) where true`)
    .onConflictDoUpdate({
      target: [subjects.marketId, subjects.id],
      set: {
        facts: sql`excluded.facts`,
        expiresAt: sql`excluded.expires_at`,
        parent: sql`excluded.parent`,
        revision: sql`${subjects.revision} + 1`,
      },
    });
}

/** The columns of a purchase that a plan sets. It may have others: one that is known has an id. */
const columnsOf = ({
  item,
  reference,
  orderId,
  buyerId,
  buyerName,
  email,
  quantity,
  isTest,
  state,
  reason,
  licenseId,
  facts,
  amount,
  currency,
  ignoredAt,
}: PurchaseValues) =>
  ({
    ...{ item, reference, orderId, buyerId, buyerName, email, quantity, isTest: Number(isTest) },
    ...{ state, reason, licenseId, facts: JSON.stringify(facts), amount, currency, ignoredAt },
  }) satisfies Record<keyof PurchaseValues, unknown>;

/** The columns of a new purchase. Further licenses of one that is known do not get its id. */
const rowOf = (marketId: number, values: PurchaseValues, now: number) => ({
  ...columnsOf(values),
  marketId,
  unit: 0,
  misses: 0,
  deactivatedRevision: null,
  createdAt: now,
  updatedAt: now,
  revision: 1,
  revokedAt: values.state === 'REVOKED' ? now : null,
});

const insertPurchase = ({ db, now }: Sender, marketId: number, values: PurchaseValues) =>
  db.insert(purchases).select(sql`select ${rowValues(purchases, rowOf(marketId, values, now))}`);

/** The columns that a purchase can change: all but its identity. */
type Changing = Exclude<keyof PurchaseValues, 'item' | 'reference' | 'isTest'>;

/** The columns of a purchase that waited. */
const REPLACED = {
  state: sql`excluded.state`,
  reason: sql`excluded.reason`,
  licenseId: sql`excluded.license_id`,
  facts: sql`excluded.facts`,
  orderId: sql`excluded.order_id`,
  buyerId: sql`excluded.buyer_id`,
  buyerName: sql`excluded.buyer_name`,
  quantity: sql`excluded.quantity`,
  email: sql`excluded.email`,
  amount: sql`excluded.amount`,
  currency: sql`excluded.currency`,
  ignoredAt: null,
  revokedAt: sql`iif(excluded.state = 'REVOKED', ifnull(${purchases.revokedAt}, excluded.revoked_at), null)`,
  misses: 0,
  updatedAt: sql`excluded.updated_at`,
  revision: sql`${purchases.revision} + 1`,
} satisfies Record<Changing | 'revokedAt' | 'misses' | 'updatedAt' | 'revision', unknown>;

/** Purchases with their new licenses: a row for each. */
function grantPurchases({ db, now }: Sender, marketId: number, made: readonly Made[]) {
  const rows = made.flatMap(({ make: { purchase, firstUnit }, licenseKeys }) =>
    licenseKeys.map((licenseKey, index) => {
      const unit = firstUnit + index;
      // The amount is of all licenses: a sum over the rows counts it once.
      const paid = unit === 0 ? {} : { amount: null, currency: null };
      return { ...rowOf(marketId, purchase, now), unit, ...paid, licenseKey };
    }),
  );
  const row = Object.fromEntries(
    Object.keys(getTableColumns(purchases)).map((name) => [name, ofEach(name)]),
  );
  const revoked = made.flatMap(({ make, licenseKeys }) =>
    make.values.state === 'ACTIVE' ? [] : licenseKeys,
  );
  return [
    db
      .insert(purchases)
      .select(
        sql`select ${rowValues(purchases, { ...row, licenseId: sql`l.id` })}
          from json_each(${JSON.stringify(rows)}) o
          cross join licenses l on l.license_key_normalized = ${ofEach('licenseKey')} where true`,
      )
      .onConflictDoUpdate({
        target: [purchases.marketId, purchases.item, purchases.reference, purchases.unit],
        set: REPLACED,
      }),
    ...(revoked.length === 0
      ? []
      : [
          db
            .update(licenses)
            .set({
              deactivatedBy: sql`(select p.id from purchases p where p.license_id = licenses.id)`,
            })
            .where(isOneOf(licenses.licenseKeyNormalized, revoked)),
        ]),
    ...made.flatMap(({ make: { buyer }, keys }) =>
      buyer.name === null || buyer.email !== null ? [] : [nameCustomer(db, buyer.name, keys)],
    ),
  ];
}

const CHANGED: Record<Changing, SQL> = {
  orderId: ofEach('orderId'),
  buyerId: ofEach('buyerId'),
  buyerName: ofEach('buyerName'),
  email: ofEach('email'),
  quantity: ofEach('quantity'),
  facts: ofEach('facts'),
  state: ofEach('state'),
  reason: ofEach('reason'),
  licenseId: ofEach('licenseId'),
  amount: ofEach('amount'),
  currency: ofEach('currency'),
  ignoredAt: ofEach('ignoredAt'),
};

function updatePurchases({ db, now }: Sender, changed: readonly PurchaseChange[]) {
  const list = changed.map(({ before, after }) => ({ ...columnsOf(after), id: before.id }));
  return db
    .update(purchases)
    .set({
      ...CHANGED,
      revokedAt: sql`iif(${ofEach('state')} = 'REVOKED', ifnull(${purchases.revokedAt}, ${now}), null)`,
      misses: 0,
      updatedAt: now,
      revision: sql`${purchases.revision} + 1`,
    })
    .from(sql`json_each(${JSON.stringify(list)}) o`)
    .where(sql`${purchases.id} = ${ofEach('id')}`);
}

function updateLicenses({ db, now }: Sender, changed: readonly LicenseChange[]) {
  const list = changed.map(({ before, after }) => ({
    id: before.id,
    state: after.state,
    expiresAt: after.expiresAt,
    expiresAfterDays: after.expiresAfterDays,
    notes: after.notes,
    deactivatedBy: after.deactivatedBy,
    revision: after.revision,
  }));
  return db
    .update(licenses)
    .set({
      state: ofEach('state'),
      expiresAt: ofEach('expiresAt'),
      expiresAfterDays: ofEach('expiresAfterDays'),
      notes: ofEach('notes'),
      deactivatedBy: ofEach('deactivatedBy'),
      revision: ofEach('revision'),
      updatedAt: now,
    })
    .from(sql`json_each(${JSON.stringify(list)}) o`)
    .where(sql`${licenses.id} = ${ofEach('id')}`);
}
