import { changeOf } from '@licet/contract/changes';
import { customerItem } from '@licet/contract/import';
import { and, eq, or, type SQL, sql } from 'drizzle-orm';
import type { z } from 'zod';
import type { Database, Statement } from '../db/client.ts';
import { isOneOf } from '../db/predicates.ts';
import { type CustomerRow, normalizeEmail, toCustomer } from '../resources/customers/row.ts';
import { customers } from '../resources/customers/schema.ts';
import { created, differencesOf, found, insertRows, type Planner, refusal } from './plan.ts';

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
export const identitiesOf = (customer: CustomerRow): Partial<CustomerRow> =>
  Object.fromEntries(IDENTITIES.map((identity) => [identity, customer[identity]]));

/** A customer as an item of an import describes it. The id is 0 if the item has none. */
export interface NamedCustomer extends Omit<CustomerRow, 'createdAt' | 'revision'> {
  createdAt: number | undefined;
}

export const namedBy = (item: CustomerItem, otherAccountId: string | null): NamedCustomer => ({
  ...item,
  id: item.id ?? 0,
  createdAt: item.createdAt,
  emailNormalized: item.email && normalizeEmail(item.email),
  otherAccountId,
  language: null,
});

/** A customer without any identity. */
export const NOBODY = namedBy(customerItem.parse({}), null);

/** Whether a repeated import would find the customer again. */
export const isKnowable = (named: NamedCustomer): boolean =>
  IDENTITIES.some((identity) => named[identity] !== null) ||
  (named.id !== 0 && named.createdAt !== undefined);

/** Selects the customers that share an id or an identity with one of the named customers. */
export function selectCustomers(db: Database, named: readonly NamedCustomer[]) {
  const searches = ['id' as const, ...IDENTITIES].flatMap((name) => {
    const values = named.flatMap((customer) => customer[name] || []);
    return values.length > 0 ? isOneOf(customers[name], values) : [];
  });
  return db
    .select()
    .from(customers)
    .where(or(...searches) ?? sql`false`);
}

const hasOther = (
  identity: 'chatId' | 'emailNormalized',
  owner: CustomerRow,
  named: NamedCustomer,
): boolean =>
  owner[identity] !== null && named[identity] !== null && owner[identity] !== named[identity];

/** Says that two people seem to have one account, and that nothing was joined. */
export const OTHER_EMAIL =
  'belongs to a customer with another e-mail: correct it, or edit the customer';

export const keyOf = (identity: Identity, value: string): string => `${identity} ${value}`;

/** The customers of an import: stored ones that it may mean, and new ones that it adds. */
export class Customers {
  readonly #byIdentity = new Map<string, CustomerRow>();
  readonly #byId = new Map<number, CustomerRow>();
  readonly #new = new Set<CustomerRow>();
  readonly #changed = new Set<CustomerRow>();
  readonly #now: number;

  /** @param rows the customers that share an id or an identity with those of the import */
  constructor(rows: readonly CustomerRow[], now: number) {
    for (const row of rows) this.#remember(row);
    this.#now = now;
  }

  #remember(customer: CustomerRow): void {
    if (customer.id !== 0) this.#byId.set(customer.id, customer);
    for (const identity of IDENTITIES) {
      const value = customer[identity];
      if (value !== null) this.#byIdentity.set(keyOf(identity, value), customer);
    }
  }

  #ownerOf(named: NamedCustomer, identity: Identity): CustomerRow | undefined {
    const value = named[identity];
    return value === null ? undefined : this.#byIdentity.get(keyOf(identity, value));
  }

  /**
   * The customer with the same id and time of creation, else the customer with the same account or e-mail. A
   * customer with another chat id or e-mail is another person (3).
   */
  find(named: NamedCustomer): CustomerRow | undefined {
    const existing = this.#byId.get(named.id);
    if (existing && existing.createdAt === named.createdAt) return existing;
    for (const identity of IDENTITIES) {
      const owner = this.#ownerOf(named, identity);
      if (owner && !hasOther('chatId', owner, named) && !hasOther('emailNormalized', owner, named))
        return owner;
    }
    return undefined;
  }

  /** The accounts of a customer that a customer with another e-mail has: a typing error, or a rounded id. */
  contested(named: NamedCustomer): Identity[] {
    return IDENTITIES.filter((identity) => {
      const owner = this.#ownerOf(named, identity);
      return owner && hasOther('emailNormalized', owner, named);
    });
  }

  /**
   * Adds a customer, without the identities that already belong to another one.
   *
   * @returns undefined if no identity remains
   */
  add(named: NamedCustomer): CustomerRow | undefined {
    const customer: CustomerRow = {
      ...named,
      id: this.#byId.has(named.id) ? 0 : named.id,
      createdAt: named.createdAt ?? this.#now,
      revision: 1,
    };
    for (const identity of IDENTITIES) {
      if (this.#ownerOf(named, identity)) customer[identity] = null;
    }
    if (customer.emailNormalized === null) customer.email = null;
    if (!isKnowable(customer)) return undefined;
    this.#remember(customer);
    this.#new.add(customer);
    return customer;
  }

  /** Adds identities that no customer has yet to a customer that was found by another one (3). */
  learn(customer: CustomerRow, named: NamedCustomer, identities: readonly Identity[]): void {
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
function updateLearned(db: Database, learned: readonly CustomerRow[]): Statement {
  const field = (name: keyof CustomerRow) => sql.raw(`l.value ->> '${name}'`);
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
export const idOfCustomer = (customer: SQL): SQL => {
  const isKnownBy = IDENTITIES.map(
    (identity) => sql`${customers[identity]} = ${customer} ->> ${sql.raw(`'${identity}'`)}`,
  );
  return sql`case json_type(${customer}) when 'object'
    then (select ${customers.id} from ${customers} where ${sql.join(isKnownBy, sql` or `)})
    else ${customer} ->> '$' end`;
};

/** A customer is found again by its accounts and e-mail, or by its id and time of creation. */
export const planCustomers: Planner<CustomerItem> = async ({ db, now }, items) => {
  const named = items.map(({ values }) => namedBy(values, null));
  const known = new Customers(await selectCustomers(db, named), now);
  return {
    take(item) {
      const { values, sent } = item;
      const customer = namedBy(values, null);
      if (!isKnowable(customer)) {
        throw refusal(
          'an e-mail, an account, or id and createdAt are required: a repeated import finds the customer by them',
        );
      }
      const wanted = toCustomer({ ...customer, createdAt: values.createdAt ?? now, revision: 1 });
      const differencesFrom = (other: CustomerRow): string[] =>
        differencesOf(sent, wanted, toCustomer(other), ['id']);
      const contested = known.contested(customer);
      const stored = known.find(customer);
      if (stored) {
        const taken = contested.filter((name) => stored[name] !== customer[name]);
        const changes = taken.map((name) => changeOf(sent, [name], OTHER_EMAIL));
        return found(stored.id, differencesFrom(stored), changes);
      }
      const added = known.add(customer);
      if (!added)
        throw refusal(
          `id ${customer.id} belongs to another customer: add an e-mail or an account to import this one`,
        );
      const leftOut = differencesFrom(added).map((name) =>
        changeOf(
          sent,
          [name],
          contested.some((identity) => identity === name)
            ? OTHER_EMAIL
            : 'belongs to another customer',
        ),
      );
      return created(added, item, leftOut);
    },
    changes: () => ({ statements: known.statements(db) }),
  };
};
