import { PING, type WebhookFormat } from '@licet/contract/enums';
import { eq, sql } from 'drizzle-orm';
import { batch, type Database } from '../../db/client.ts';
import { isOneOf } from '../../db/predicates.ts';
import { type AddressSettings, publicOriginOf } from '../../lib/public-url.ts';
import { timeOfId } from '../../lib/time-id.ts';
import { customers } from '../../resources/customers/schema.ts';
import { type EventRow, toEvent } from '../../resources/events/queries.ts';
import { licenses } from '../../resources/licenses/schema.ts';
import { products } from '../../resources/products/schema.ts';
import { discordMessage, discordPing, type EventNames } from './discord.ts';

/** The bodies of messages. They are made from the event, which does not change but for the erasure of a person (8). */

/** A delivery with its event: null for a ping, and for an event that is no longer kept. */
export interface Unsent {
  webhookId: number;
  id: number;
  type: string;
  format: WebhookFormat;
  /** The one under which the webhook was saved; null if it was not public. */
  consoleOrigin: string | null;
  event: EventRow | null;
}

const KEY_GROUP_LENGTH = 4;

/** Where the console shows an object. */
const PAGES: Readonly<Record<string, string>> = {
  license: 'licenses',
  product: 'products',
  customer: 'customers',
  token: 'tokens',
  webhook: 'webhooks',
  market: 'markets',
};

function linkOf(consoleOrigin: string | null, { resourceType, resourceId }: EventRow) {
  const page = PAGES[resourceType];
  return consoleOrigin && page && resourceId !== null
    ? `${consoleOrigin}/console/${page}/${resourceId}`
    : null;
}

/** The body of a message: null if the event is no longer kept. */
export type BodyOf = (unsent: Unsent) => string | null;

/** Reads the names that the messages need. @returns the function that makes their bodies */
export async function readBodies(
  db: Database,
  settings: AddressSettings,
  unsent: readonly Unsent[],
): Promise<BodyOf> {
  const named = unsent.flatMap(({ format, event }) =>
    format === 'discord' && event !== null ? event : [],
  );
  const namesOf = await readNames(db, named);
  return ({ webhookId, id, type, format, consoleOrigin, event }) => {
    const timestamp = new Date(timeOfId(id)).toISOString();
    if (type === PING) {
      return format === 'discord'
        ? discordPing(timestamp)
        : JSON.stringify({ type, timestamp, data: { webhookId } });
    }
    if (event === null) return null;
    const data = toEvent(event);
    return format === 'discord'
      ? discordMessage(
          { ...data, changes: event.changes },
          namesOf(event),
          linkOf(publicOriginOf(settings, consoleOrigin), event),
        )
      : JSON.stringify({ type, timestamp, data });
  };
}

type NamesOf = (event: EventRow) => EventNames;

const NO_NAMES: EventNames = { product: null, customer: null, licenseKey: null };

const customerName = sql<string | null>`nullif(coalesce(
  nullif(trim(ifnull(first_name, '') || ' ' || ifnull(last_name, '')), ''),
  username, chat_username, ''), '')`;

async function readNames(db: Database, about: readonly EventRow[]): Promise<NamesOf> {
  const idsOf = (type: EventRow['resourceType']) =>
    about.flatMap(({ resourceType, resourceId }) =>
      resourceType === type && resourceId !== null ? resourceId : [],
    );
  if (about.length === 0) return () => NO_NAMES;
  const found = await batch(db, {
    license: db
      .select({
        id: licenses.id,
        product: sql<string | null>`${products.name}`.as('product'),
        customer: customerName.as('customer'),
        licenseKey: sql<string | null>`substr(license_key, ${-KEY_GROUP_LENGTH})`.as('key_group'),
      })
      .from(licenses)
      .leftJoin(products, eq(products.id, licenses.productId))
      .leftJoin(customers, eq(customers.id, licenses.customerId))
      .where(isOneOf(licenses.id, idsOf('license'))),
    product: db
      .select({ id: products.id, product: products.name })
      .from(products)
      .where(isOneOf(products.id, idsOf('product'))),
    customer: db
      .select({ id: customers.id, customer: customerName.as('customer') })
      .from(customers)
      .where(isOneOf(customers.id, idsOf('customer'))),
  });
  const names = new Map<string, Partial<EventNames>>();
  for (const [type, rows] of Object.entries(found)) {
    for (const { id, ...row } of rows) names.set(`${type}:${id}`, row);
  }
  return ({ resourceType, resourceId }) => ({
    ...NO_NAMES,
    ...names.get(`${resourceType}:${resourceId}`),
  });
}
