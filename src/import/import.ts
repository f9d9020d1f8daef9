import type { EventType, ImportKind } from '@licet/contract/enums';
import type { ImportRequest, ImportResponse, ImportResult } from '@licet/contract/import';
import * as z from 'zod';
import { change, type Sender } from '../db/change.ts';
import { isForeignKeyViolation, isUniqueViolation } from '../db/client.ts';
import { wait } from '../lib/async.ts';
import { DomainError } from '../lib/errors.ts';
import { planBlacklists } from './blacklists.ts';
import { planCustomers } from './customers.ts';
import {
  blacklistItem,
  collectIgnored,
  customerItem,
  licenseItem,
  productItem,
  readItem,
} from './items.ts';
import { planLicenses } from './licenses.ts';
import { type Context, type Plan, type Planner, refused } from './plan.ts';
import { planProducts } from './products.ts';

/** All attempts together stay below 50 queries, the limit of a request on the Free plan. */
const MAX_ATTEMPTS = 3;
const MAX_PAUSE_MS = 50;
/** Maximum number of ignored fields in a response. */
const MAX_IGNORED = 50;

type Reader = (context: Context, sent: readonly unknown[]) => Promise<Plan>;

/** Plans the import of items as they were sent, and refuses the invalid ones. */
const planning =
  <Schema extends z.ZodObject>(schema: Schema, plan: Planner<z.infer<Schema>>): Reader =>
  async (context, sent) => {
    const items = sent.map((item) => readItem(schema, item));
    const good = items.filter((item) => typeof item !== 'string');
    const planned: Plan =
      good.length > 0 ? await plan(context, good) : { results: [], statements: [] };
    const { results } = planned;
    return {
      ...planned,
      results: items.flatMap((item) =>
        typeof item === 'string' ? refused(item) : (results.shift() ?? []),
      ),
    };
  };

const KINDS: Record<ImportKind, { schema: z.ZodObject; plan: Reader }> = {
  products: { schema: productItem, plan: planning(productItem, planProducts) },
  customers: { schema: customerItem, plan: planning(customerItem, planCustomers) },
  licenses: { schema: licenseItem, plan: planning(licenseItem, planLicenses) },
  blacklists: { schema: blacklistItem, plan: planning(blacklistItem, planBlacklists) },
};

const EVENT_TYPES = {
  products: 'product.created',
  customers: 'customer.created',
  licenses: 'license.created',
  blacklists: 'blacklist.created',
} as const satisfies Record<ImportKind, EventType>;

const ownerOfLicense = z.object({ customer: z.unknown() });

function ignoredFieldsOf({ kind, items }: ImportRequest): string[] {
  const names = new Set<string>();
  const owners = new Set<string>();
  for (const item of items) {
    collectIgnored(names, KINDS[kind].schema, item);
    if (kind === 'licenses') {
      collectIgnored(owners, customerItem, ownerOfLicense.safeParse(item).data?.customer);
    }
  }
  return [...names, ...[...owners].map((name) => `customer.${name}`)].slice(0, MAX_IGNORED);
}

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
  const makePlan = () => KINDS[kind].plan(context, items);
  const respond = (results: ImportResult[], { newOwners = 0 }: Plan): ImportResponse => ({
    results,
    ignoredFields: ignoredFieldsOf(request),
    createdOwners: newOwners,
  });

  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const plan = await makePlan();
    const { results, statements, touches = [], newKeys = [] } = plan;
    if (dryRun || statements.length === 0) return respond(results, plan);
    const count = results.filter(({ outcome }) => outcome === 'created').length;
    try {
      await change(sender, {
        event: {
          type: EVENT_TYPES[kind],
          id: null,
          changes: { count: { before: 0, after: count } },
        },
        touches,
        // Unknown until now; or a license that comes back under its old key, of which this isolate may hold a snapshot.
        adds: newKeys.map((key) => ({ subject: `license:${key}`, revision: now })),
        statements: { items: statements },
      });
    } catch (error) {
      if (!isUniqueViolation(error) && !isForeignKeyViolation(error)) throw error;
      await wait(Math.random() * MAX_PAUSE_MS);
      continue;
    }
    const isComplete = results.every(({ outcome, id }) => outcome !== 'created' || id !== null);
    return respond(isComplete ? results : withIds(results, (await makePlan()).results), plan);
  }
  throw new DomainError('overtaken', 'Others are importing the same, try again');
}

/** The results with the ids that the database has assigned, from a second plan. */
const withIds = (results: readonly ImportResult[], stored: readonly ImportResult[]) =>
  results.map((result, index) => ({ ...result, id: stored[index]?.id ?? result.id }));
