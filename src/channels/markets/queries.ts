import type { DynamicSettings } from '@licet/contract/dynamic-market';
import type { DisputeAction, MarketKind, RefundAction } from '@licet/contract/enums';
import { MAX_MARKETS, MIN_CHOSEN_SECRET_LENGTH } from '@licet/contract/limits';
import { type MarketProduct, marketFields, pickMarket } from '@licet/contract/markets';
import { settable } from '@licet/contract/resource';
import { toOptionalTimestamp, toTimestamp } from '@licet/contract/time';
import { and, eq, sql } from 'drizzle-orm';
import { change, isUnchanged, only, type Sender } from '../../db/change.ts';
import { type Database, isMissingValue } from '../../db/client.ts';
import { differ, newestId } from '../../db/events.ts';
import { nextRevision } from '../../db/outbox.ts';
import { isOneOf, rowValues } from '../../db/predicates.ts';
import { toBase64url } from '../../lib/base64url.ts';
import { DomainError } from '../../lib/errors.ts';
import type { PublicUrl } from '../../lib/public-url.ts';
import { products } from '../../resources/products/schema.ts';
import { ADAPTERS } from './adapters.ts';
import { isSameJson } from './json.ts';
import { isOfKnownKind, markets, subjects } from './schema.ts';
import type { MarketRow } from './source.ts';
import { type MarketUse, stateOf, type UsedMarket, usedColumns } from './use.ts';

/** The fields that a client sets. */
interface MarketValues {
  name: string;
  enabled: boolean;
  products: readonly MarketProduct[];
  onRefund: RefundAction;
  onDispute: DisputeAction;
  settings: DynamicSettings | null;
  secrets: readonly string[];
  apiToken: string | null;
  mailsKey?: boolean | undefined;
}

const PATH_BYTES = 24;
const TOO_MANY = new DomainError(
  'conflict',
  `There are at most ${MAX_MARKETS} markets: delete one first`,
);

/** The path to which a market sends. */
export const pathOf = ({ path }: { path: string }): string => `/markets/${path}`;

function addressesOf(row: MarketRow, origin: string): string[] {
  const { oldPath } = ADAPTERS[row.kind];
  const old = oldPath ? row.products.map(({ productId }) => oldPath(productId)) : [];
  return [pathOf(row), ...new Set(old)].map((path) => origin + path);
}

const shown = ({ isEnabled, products, mailsKey, ...row }: MarketRow) => ({
  ...row,
  products: [...products],
  enabled: isEnabled,
  mailsKey: mailsKey ?? ADAPTERS[row.kind].mailsKey,
});

/** A market as responses show it, without its secrets. */
export const toMarket = (row: MarketRow, use: MarketUse, { origin, isPublic }: PublicUrl) =>
  pickMarket({
    ...shown(row),
    state: stateOf(row, use),
    sales: use.sales,
    lastSaleAt: toOptionalTimestamp(use.lastSaleAt),
    addresses: addressesOf(row, origin),
    isPublic,
    secretCount: row.secrets.length,
    hasApiToken: row.apiToken !== null,
    createdAt: toTimestamp(row.createdAt),
    updatedAt: toTimestamp(row.updatedAt),
    reconciledAt: toOptionalTimestamp(row.reconciledAt),
  });

/** The fields that events show. They do not include the secrets. */
const diff = differ(Object.keys(settable(marketFields)));

export const findMarket = (db: Database, id: number): Promise<MarketRow | undefined> =>
  db
    .select()
    .from(markets)
    .where(and(isOfKnownKind, eq(markets.id, id)))
    .get();

/** @throws DomainError for settings that the kind of market needs, or has no use for */
function checkSettings(kind: MarketKind, settings: DynamicSettings | null): void {
  if (kind === 'dynamic' && settings === null) {
    throw new DomainError('missing', 'settings is required for a dynamic market', 'settings');
  }
  if (kind !== 'dynamic' && settings !== null) {
    throw new DomainError('invalid', 'settings is for a dynamic market only', 'settings');
  }
}

/**
 * Checks the length of secrets that a seller chooses. Each is sent as it is, and anybody can guess the old address of
 * BuiltByBit.
 *
 * @param stored secrets that may be sent again
 * @throws DomainError for a short one
 */
function checkSecrets(
  { kind, settings, secrets }: Pick<MarketRow, 'kind' | 'settings' | 'secrets'>,
  stored: readonly string[],
): void {
  const isChosen =
    kind === 'builtbybit' || (kind === 'dynamic' && settings?.signature.kind === 'secret');
  const short = secrets.findIndex(
    (secret) => secret.length < MIN_CHOSEN_SECRET_LENGTH && !stored.includes(secret),
  );
  if (!isChosen || short === -1) return;
  throw new DomainError(
    'invalid',
    `secrets[${short}] must have at least ${MIN_CHOSEN_SECRET_LENGTH} characters: choose a longer one, here and at the market`,
    'secrets',
  );
}

/**
 * Checks that each mapping can sell.
 *
 * @param stored mappings that may be sent again: their products can have changed since
 * @throws DomainError for an unknown product, and for TEMPORARY without days
 */
async function checkProducts(
  db: Database,
  mapped: readonly MarketProduct[],
  stored: readonly MarketProduct[],
): Promise<void> {
  const ids = mapped.map(({ productId }) => productId);
  if (ids.length === 0) return;
  const known = await db
    .select({ id: products.id, days: products.defaultExpiresAfterDays })
    .from(products)
    .where(isOneOf(products.id, ids));
  for (const [index, one] of mapped.entries()) {
    if (stored.some((known) => isSameJson(known, one))) continue;
    const { productId, licenseType, expiresAfterDays } = one;
    const product = known.find(({ id }) => id === productId);
    if (!product) {
      throw new DomainError(
        'invalid',
        `products[${index}].productId ${productId} does not exist`,
        `products[${index}].productId`,
      );
    }
    const hasDays = expiresAfterDays !== null || product.days !== null;
    if (licenseType === 'TEMPORARY' && !hasDays) {
      throw new DomainError(
        'missing',
        `products[${index}].expiresAfterDays is required for TEMPORARY, here or as defaultExpiresAfterDays of the product`,
        `products[${index}].expiresAfterDays`,
      );
    }
  }
}

/** @throws DomainError if there are as many as may be */
export async function insertMarket(
  sender: Sender,
  { enabled, apiToken, ...values }: MarketValues & { kind: MarketKind },
): Promise<MarketRow> {
  const { db, now } = sender;
  checkSettings(values.kind, values.settings);
  checkSecrets(values, []);
  await checkProducts(db, values.products, []);
  const row = {
    ...values,
    apiToken: apiToken || null,
    isEnabled: Number(enabled),
    path: toBase64url(crypto.getRandomValues(new Uint8Array(PATH_BYTES))),
    createdAt: now,
    updatedAt: now,
    revision: now,
  };
  const columns = {
    ...row,
    products: JSON.stringify(row.products),
    settings: row.settings && JSON.stringify(row.settings),
    mailsKey: row.mailsKey == null ? null : Number(row.mailsKey),
    secrets: JSON.stringify(row.secrets),
  };
  // A path is required: without room the statement fails, and with it the change.
  const hasRoom = sql`(select count(*) from markets) < ${MAX_MARKETS}`;
  const { stored } = await change(sender, {
    event: {
      type: 'market.created',
      id: newestId(markets),
      changes: diff(null, { ...values, enabled }),
    },
    statements: {
      stored: db
        .insert(markets)
        .select(
          sql`select ${rowValues(markets, { ...columns, path: sql`iif(${hasRoom}, ${row.path}, null)` })}`,
        )
        .returning(),
    },
    // Its addresses are secrets.
    creates: null,
  }).catch((error) => {
    throw isMissingValue(error) ? TOO_MANY : error;
  });
  return only(stored);
}

/** Changes a market. @throws DomainError for another kind, and if another request has changed it since it was read */
export async function updateMarket(
  sender: Sender,
  row: MarketRow,
  {
    kind = row.kind,
    enabled = row.isEnabled,
    secrets,
    apiToken,
    ...values
  }: Partial<MarketValues> & { kind?: MarketKind | undefined },
): Promise<UsedMarket> {
  const { db, now } = sender;
  if (kind !== row.kind) {
    throw new DomainError('invalid', 'kind does not change: create another market', 'kind');
  }
  const updated = {
    ...row,
    ...values,
    mailsKey: values.mailsKey ?? row.mailsKey,
    isEnabled: enabled,
    ...(secrets && { secrets }),
    ...(apiToken !== undefined && { apiToken: apiToken || null }),
  };
  checkSettings(kind, updated.settings);
  checkSecrets(updated, row.secrets);
  if (values.products) await checkProducts(db, values.products, row.products);
  const isSecret = (name: 'secrets' | 'apiToken'): boolean =>
    JSON.stringify(updated[name]) !== JSON.stringify(row[name]);
  const changedSecret = { before: null, after: null };
  const { stored } = await change(sender, {
    event: {
      type: 'market.updated',
      id: row.id,
      changes: {
        ...diff(shown(row), shown(updated)),
        ...(isSecret('secrets') && { secrets: changedSecret }),
        ...(isSecret('apiToken') && { apiToken: changedSecret }),
      },
    },
    when: [isUnchanged(markets, row)],
    statements: {
      updated: db
        .update(markets)
        .set({ ...updated, updatedAt: now, revision: nextRevision(row.revision, now) })
        .where(eq(markets.id, row.id)),
      stored: db.select(usedColumns(now)).from(markets).where(eq(markets.id, row.id)),
    },
  });
  return only(stored);
}

/** Deletes a market. Its purchases and their licenses stay. Throws like {@link updateMarket}. */
export async function deleteMarket(sender: Sender, row: MarketRow): Promise<void> {
  await change(sender, {
    event: { type: 'market.deleted', id: row.id, changes: diff(shown(row), null) },
    when: [isUnchanged(markets, row)],
    statements: {
      deleted: sender.db.delete(markets).where(eq(markets.id, row.id)),
      subjects: sender.db.delete(subjects).where(eq(subjects.marketId, row.id)),
    },
  });
}
