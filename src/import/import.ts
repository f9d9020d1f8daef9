import { changeOf } from '@licet/contract/changes';
import type { EventType, ImportKind } from '@licet/contract/enums';
import {
  customerItem,
  entryItem,
  type ImportRequest,
  type ImportResponse,
  type ImportResult,
  licenseItem,
  productItem,
} from '@licet/contract/import';
import type * as z from 'zod';
import { change, type Sender, untilNotOvertaken } from '../db/change.ts';
import { DomainError } from '../lib/errors.ts';
import { planBlacklists } from './blacklists.ts';
import { planCustomers } from './customers.ts';
import { type Item, readItem } from './items.ts';
import { planLicenses } from './licenses.ts';
import type { Context, Planner } from './plan.ts';
import { planProducts } from './products.ts';

/** All attempts together stay below 50 queries, the limit of a request on the Free plan. */
const MAX_ATTEMPTS = 3;

const OVERTAKEN = new DomainError(
  'overtaken',
  'Another import is changing the same objects; try again',
);

const refused = (reason: string): ImportResult => ({
  outcome: 'refused',
  id: null,
  differences: [],
  reason,
});

/** The result of an item, which the rules of POST may refuse, too. */
function resultOf<Values>(
  take: (item: Item<Values>) => ImportResult,
  item: Item<Values>,
): ImportResult {
  try {
    return take(item);
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    const { kind, message, field = '' } = error;
    if (kind !== 'invalid' && kind !== 'missing') throw error;
    const [before, rest] = message.split(`${field} must `);
    const isOfValue = before === '' && rest !== undefined;
    return refused(isOfValue ? changeOf(item.sent, [field], `must ${rest}`).message : message);
  }
}

/** A function that plans the import of items as they were sent. */
const planOf =
  <Schema extends z.ZodObject>(schema: Schema, planner: Planner<z.infer<Schema>>) =>
  async (context: Context, sent: readonly unknown[]) => {
    const items = sent.map((item) => readItem(schema, item));
    const good = items.filter((item) => typeof item !== 'string');
    const { take, changes } = await planner(context, good);
    const results = items.map((item) =>
      typeof item === 'string' ? refused(item) : resultOf(take, item),
    );
    return { results, ...changes() };
  };

const PLANS = {
  products: planOf(productItem, planProducts),
  customers: planOf(customerItem, planCustomers),
  licenses: planOf(licenseItem, planLicenses),
  blacklists: planOf(entryItem, planBlacklists),
};

const EVENT_TYPES = {
  products: 'product.created',
  customers: 'customer.created',
  licenses: 'license.created',
  blacklists: 'blacklist.created',
} as const satisfies Record<ImportKind, EventType>;

/**
 * Stores items of another service with their ids, keys, bindings, dates and states. Existing objects are not
 * overwritten, so that an import can be repeated.
 *
 * All items are checked before the first write, and all writes are one transaction. The transaction fails if a
 * concurrent request has stored the same object. The import is then planned again.
 *
 * @throws DomainError after too many attempts
 */
export async function importItems(sender: Sender, request: ImportRequest): Promise<ImportResponse> {
  const { kind, items, dryRun, assumedProductIds } = request;
  const { db, now } = sender;
  const context = { db, now, assumedProductIds: dryRun ? assumedProductIds : [] };
  const makePlan = () => PLANS[kind](context, items);

  return untilNotOvertaken(async () => {
    const { results, statements, touches, when, newKeys = [], newOwners = 0 } = await makePlan();
    if (dryRun || statements.length === 0) return { results, createdOwners: newOwners };
    const count = results.filter(({ outcome }) => outcome === 'created').length;
    await change(sender, {
      event: { type: EVENT_TYPES[kind], id: null, changes: { count: { before: 0, after: count } } },
      ...(touches && { touches }),
      ...(when && { when }),
      // Unknown until now; or a license that comes back under its earlier key, of which this isolate may hold a snapshot.
      adds: newKeys.map((key) => ({ subject: `license:${key}`, revision: now })),
      statements: { items: statements },
      errors: { unique: OVERTAKEN, reference: OVERTAKEN },
    });
    const isComplete = results.every(({ outcome, id }) => outcome !== 'created' || id !== null);
    return {
      results: isComplete ? results : withIds(results, (await makePlan()).results),
      createdOwners: newOwners,
    };
  }, MAX_ATTEMPTS);
}

/** The results with the ids that the database has assigned, from a second plan. */
const withIds = (results: readonly ImportResult[], stored: readonly ImportResult[]) =>
  results.map((result, index) => ({ ...result, id: stored[index]?.id ?? result.id }));
