import { and, eq, or, type SQL, sql } from 'drizzle-orm';
import type { z } from 'zod';
import type { Database, Statement } from '../db/client.ts';
import { isOneOf } from '../db/predicates.ts';
import { customers } from '../db/schema.ts';
import { type CustomerRow, normalizeEmail, toCustomer } from '../resources/customers/row.ts';
import { customerItem } from './items.ts';
import {
  created,
  differencesOf,
  found,
  insertRows,
  type NewRow,
  type Planner,
  refused,
} from './plan.ts';

export type CustomerItem = z.infer<typeof customerItem>;

/** The columns that identify a customer, the most reliable first. A value belongs to one customer only. */
const IDENTITIES = [
  'chatId',
  'platformAId',
  'platformBId',
  'platformCId',
  'marketAId',
  'marketBId',
  'emailNormalized',
  'otherAccountId',
] as const;
export type Identity = (typeof IDENTITIES)[number];

/** The identities by which to find a customer that has no id yet. */
export const identitiesOf = (customer: NewCustomer): Partial<NewCustomer> =>
  Object.fromEntries(IDENTITIES.map((identity) => [identity, customer[identity]]));

export type NewCustomer = NewRow<CustomerRow>;

/** A customer as an item of an import describes it. */
export interface NamedCustomer extends Omit<NewCustomer, 'id' | 'createdAt' | 'revision'> {
  id: number | undefined;
  createdAt: number | undefined;
}

/** A customer without any identity. */
export const NOBODY: NamedCustomer = {
  ...customerItem.parse({}),
  id: undefined,
  createdAt: undefined,
  emailNormalized: null,
  otherAccountId: null,
};

export const namedBy = (item: CustomerItem, otherAccountId: string | null): NamedCustomer => ({
  ...item,
  id: item.id,
  createdAt: item.createdAt,
  emailNormalized: item.email && normalizeEmail(item.email),
  otherAccountId,
});

/** Whether a repeated import would find the customer again. */
export const isKnowable = (named: NamedCustomer): boolean =>
  IDENTITIES.some((identity) => named[identity] !== null) ||
  (named.id !== undefined && named.createdAt !== undefined);

const keyOf = (identity: Identity, value: string): string => `${identity} ${value}`;

/** The customers of an import: stored ones that it may mean, and new ones that it adds. */
export class Customers {
  readonly #byIdentity = new Map<string, NewCustomer>();
  readonly #byId = new Map<number, NewCustomer>();
  readonly #new = new Set<NewCustomer>();
  readonly #changed = new Set<NewCustomer>();
  readonly #now: number;

  private constructor(rows: readonly CustomerRow[], now: number) {
    for (const row of rows) this.#remember(row);
    this.#now = now;
  }

  /** Reads the customers that share an id or an identity with one of the named customers. */
  static async read(
    db: Database,
    named: readonly NamedCustomer[],
    now: number,
  ): Promise<Customers> {
    const ids = named.flatMap(({ id }) => id ?? []);
    const searches = IDENTITIES.flatMap((identity) => {
      const values = named.flatMap((customer) => customer[identity] ?? []);
      return values.length > 0 ? isOneOf(customers[identity], values) : [];
    });
    const rows = await db
      .select()
      .from(customers)
      .where(or(isOneOf(customers.id, ids), ...searches));
    return new Customers(rows, now);
  }

  #remember(customer: NewCustomer): void {
    if (customer.id !== null) this.#byId.set(customer.id, customer);
    for (const identity of IDENTITIES) {
      const value = customer[identity];
      if (value !== null) this.#byIdentity.set(keyOf(identity, value), customer);
    }
  }

  #ownerOf(named: NamedCustomer, identity: Identity): NewCustomer | undefined {
    const value = named[identity];
    return value === null ? undefined : this.#byIdentity.get(keyOf(identity, value));
  }

  /**
   * The customer with the same id and time of creation, else the customer with the same account or e-mail. A
   * customer with another chat id is another person (3).
   */
  find(named: NamedCustomer): NewCustomer | undefined {
    const existing = named.id === undefined ? undefined : this.#byId.get(named.id);
    if (existing && existing.createdAt === named.createdAt) return existing;
    for (const identity of IDENTITIES) {
      const owner = this.#ownerOf(named, identity);
      const isSomebodyElse =
        owner && owner.chatId !== null && named.chatId !== null && owner.chatId !== named.chatId;
      if (owner && !isSomebodyElse) return owner;
    }
    return undefined;
  }

  /**
   * Adds a customer, without the identities that already belong to another one.
   *
   * @returns undefined if no identity remains
   */
  add(named: NamedCustomer): NewCustomer | undefined {
    const id = named.id === undefined || this.#byId.has(named.id) ? null : named.id;
    const customer: NewCustomer = {
      ...named,
      id,
      createdAt: named.createdAt ?? this.#now,
      revision: 1,
    };
    for (const identity of IDENTITIES) {
      if (this.#ownerOf(named, identity)) customer[identity] = null;
    }
    if (customer.emailNormalized === null) customer.email = null;
    if (!isKnowable({ ...customer, id: id ?? undefined })) return undefined;
    this.#remember(customer);
    this.#new.add(customer);
    return customer;
  }

  /** Adds identities that no customer has yet to a customer that was found by another one (3). */
  learn(customer: NewCustomer, named: NamedCustomer, identities: readonly Identity[]): void {
    for (const identity of identities) {
      const value = named[identity];
      if (value === null || customer[identity] !== null || this.#ownerOf(named, identity)) continue;
      customer[identity] = value;
      if (identity === 'chatId' && named.chatUsername !== null) {
        customer.chatUsername = named.chatUsername;
      }
      this.#remember(customer);
      this.#changed.add(customer);
    }
  }

  /** The number of customers that the import adds. */
  get newCount(): number {
    return this.#new.size;
  }

  /** The statements that store the new and the changed customers. */
  statements(db: Database): Statement[] {
    const learned = [...this.#changed].filter((customer) => !this.#new.has(customer));
    return [
      ...insertRows(db, customers, [...this.#new]),
      ...(learned.length > 0 ? [updateLearned(db, learned)] : []),
    ];
  }
}

/** Writes new identities to customers that are unchanged since they were read. */
function updateLearned(db: Database, learned: readonly NewCustomer[]): Statement {
  const field = (name: keyof NewCustomer) => sql.raw(`l.value ->> '${name}'`);
  const values = [...IDENTITIES, 'chatUsername' as const].map((name) => [
    name,
    sql`${field(name)}`,
  ]);
  return db
    .update(customers)
    .set({ ...Object.fromEntries(values), revision: sql`${customers.revision} + 1` })
    .from(sql`json_each(${JSON.stringify(learned)}) l`)
    .where(
      and(eq(customers.id, sql`${field('id')}`), eq(customers.revision, sql`${field('revision')}`)),
    );
}

/** SQL for the id of a customer, from JSON: the id, or the identities of a customer that had none. */
export const linkTo = (customer: SQL): SQL => {
  const isKnownBy = IDENTITIES.map(
    (identity) => sql`${customers[identity]} = ${customer} ->> ${sql.raw(`'${identity}'`)}`,
  );
  return sql`case json_type(${customer}) when 'object'
    then (select ${customers.id} from ${customers} where ${sql.join(isKnownBy, sql` or `)})
    else ${customer} ->> '$' end`;
};

const toWire = (row: NewCustomer) => toCustomer({ ...row, id: row.id ?? 0 });

/** A customer is found again by its accounts and e-mail, or by its id and time of creation. */
export const planCustomers: Planner<CustomerItem> = async ({ db, now }, items) => {
  const named = items.map(({ values }) => namedBy(values, null));
  const known = await Customers.read(db, named, now);
  const results = items.map(({ values, sent }, index) => {
    const customer = named[index] ?? NOBODY;
    if (!isKnowable(customer)) {
      return refused('an account, an e-mail, or id and createdAt are required to find it again');
    }
    const stored = known.find(customer);
    const wanted = toWire({
      ...customer,
      id: null,
      createdAt: values.createdAt ?? now,
      revision: 1,
    });
    if (stored) {
      return found(stored.id, differencesOf(sent, wanted, toWire(stored), ['id']));
    }
    const added = known.add(customer);
    if (!added) return refused('id is that of another customer, and it has no account or e-mail');
    const differences = differencesOf(sent, wanted, toWire(added), ['id']);
    const hasNewId = added.id === null && values.id !== undefined;
    return created(added.id, [...(hasNewId ? ['id'] : []), ...differences]);
  });
  return { results, statements: known.statements(db) };
};
