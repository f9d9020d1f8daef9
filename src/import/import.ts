import { sql } from 'drizzle-orm';
import * as z from 'zod';
import { isForeignKeyViolation, isUniqueViolation } from '../db/client';
import { logBlacklistIf } from '../db/outbox';
import type { Writer } from '../db/writer';
import { ApiError } from '../http/errors';
import { wait } from '../lib/async';
import type { EventType } from '../lib/enums';
import { planBlacklists } from './blacklists';
import { planCustomers } from './customers';
import {
  blacklistItem,
  collectIgnored,
  customerItem,
  licenseItem,
  productItem,
  readItem,
} from './items';
import { planLicenses } from './licenses';
import { type Context, type Plan, type Planner, refused } from './plan';
import { planProducts } from './products';
import type { ImportKind, ImportRequest, ImportResponse, ImportResult } from './schema';

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
 * @param now milliseconds since 1970
 * @throws ApiError 409 after too many attempts
 */
export async function importItems(
  writer: Writer,
  request: ImportRequest,
  now: number,
): Promise<ImportResponse> {
  const { kind, items, dryRun, assumedProductIds } = request;
  const context = { db: writer.db, now, assumedProductIds: dryRun ? assumedProductIds : [] };
  const makePlan = () => KINDS[kind].plan(context, items);
  const respond = (results: ImportResult[], { newOwners = 0 }: Plan): ImportResponse => ({
    results,
    ignoredFields: ignoredFieldsOf(request),
    createdOwners: newOwners,
  });

  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const plan = await makePlan();
    const { results } = plan;
    if (dryRun || plan.statements.length === 0) return respond(results, plan);
    try {
      await store(writer, kind, plan, now);
    } catch (error) {
      if (!isUniqueViolation(error) && !isForeignKeyViolation(error)) throw error;
      await wait(Math.random() * MAX_PAUSE_MS);
      continue;
    }
    const isComplete = results.every(({ outcome, id }) => outcome !== 'created' || id !== null);
    return respond(isComplete ? results : withIds(results, (await makePlan()).results), plan);
  }
  throw new ApiError(409, 'Others are importing the same, try again');
}

/** Stores items of one kind, in one transaction. */
async function store(
  { db, guard, event, changed }: Writer,
  kind: ImportKind,
  { results, statements, newKeys = [], hasOfflineDays = false }: Plan,
  now: number,
): Promise<void> {
  const count = results.filter(({ outcome }) => outcome === 'created').length;
  const imported = event(EVENT_TYPES[kind], null, { count: { before: 0, after: count } });
  if (kind === 'licenses') {
    await db.batch([guard(), ...statements, imported]);
    // Unknown until now; or a license that comes back under its old key, of which this isolate may hold a snapshot.
    const added = newKeys.map((key) => ({ subject: `license:${key}`, revision: now }));
    changed([], added);
  } else if (kind === 'blacklists' || hasOfflineDays) {
    const [, , changes] = await db.batch([
      guard(),
      ...logBlacklistIf(db, sql`true`, now),
      ...statements,
      imported,
    ]);
    changed(changes);
  } else {
    await db.batch([guard(), ...statements, imported]);
  }
}

/** The results with the ids that the database has assigned, from a second plan. */
const withIds = (results: readonly ImportResult[], stored: readonly ImportResult[]) =>
  results.map((result, index) => ({ ...result, id: stored[index]?.id ?? result.id }));
