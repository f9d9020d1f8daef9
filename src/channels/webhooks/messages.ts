import { PING_TYPE } from '@licet/contract/enums';
import { eq, getTableColumns, sql } from 'drizzle-orm';
import { batch, type Database } from '../../db/client.ts';
import { isOneOf } from '../../db/predicates.ts';
import { events } from '../../db/schema.ts';
import { type AddressSettings, publicOriginOf } from '../../lib/public-url.ts';
import { timeOfId } from '../../lib/time-id.ts';
import { customers } from '../../resources/customers/schema.ts';
import { type EventRow, toEvent } from '../../resources/events/queries.ts';
import { KEY_END_LENGTH } from '../../resources/licenses/rules.ts';
import { licenses } from '../../resources/licenses/schema.ts';
import { products } from '../../resources/products/schema.ts';
import { tokens } from '../../resources/tokens/schema.ts';
import type { EventNames } from './formats/format.ts';
import { FORMATS } from './formats.ts';
import { type WebhookRow, webhooks } from './schema.ts';

/** The bodies of messages. They are made from the event, which does not change but for the erasure of a person (8). */

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

/** The deliveries to a webhook, with the bodies of their messages: null if the event is no longer kept. */
export interface Group<Delivery> {
  webhook: WebhookRow;
  messages: readonly { delivery: Delivery; body: string | null }[];
}

/** Makes the messages of deliveries, by their webhooks. Those to a webhook that is gone are left out. */
export async function readMessages<
  Delivery extends { webhookId: number; id: number; type: string },
>(db: Database, settings: AddressSettings, of: readonly Delivery[]): Promise<Group<Delivery>[]> {
  const valuesOf = (name: 'webhookId' | 'id') => [...new Set(of.map((one) => one[name]))];
  const found = await batch(db, {
    webhooks: db
      .select()
      .from(webhooks)
      .where(isOneOf(webhooks.id, valuesOf('webhookId'))),
    events: db
      .select({ event: getTableColumns(events), tokenName: tokens.name })
      .from(events)
      .leftJoin(tokens, eq(tokens.id, events.tokenId))
      .where(isOneOf(events.id, valuesOf('id'))),
  });
  const rows = new Map(
    found.events.map(({ event: { changes, ...event }, tokenName }) => [
      event.id,
      { ...event, changes: changes === null ? null : JSON.parse(changes), tokenName },
    ]),
  );
  const hasNames = found.webhooks.some(({ format }) => FORMATS[format].hasNames);
  const namesOf = await readNames(db, hasNames ? [...rows.values()] : []);
  const bodyOf = ({ id: webhookId, format, consoleOrigin }: WebhookRow, { id, type }: Delivery) => {
    const { ping, message } = FORMATS[format];
    const timestamp = new Date(timeOfId(id)).toISOString();
    if (type === PING_TYPE) return ping(webhookId, timestamp);
    const row = rows.get(id);
    if (!row) return null;
    return message({
      event: { ...toEvent(row), changes: row.changes },
      timestamp,
      names: namesOf(row),
      link: linkOf(publicOriginOf(settings, consoleOrigin), row),
    });
  };
  return found.webhooks.map((webhook) => ({
    webhook,
    messages: of
      .filter(({ webhookId }) => webhookId === webhook.id)
      .map((delivery) => ({ delivery, body: bodyOf(webhook, delivery) })),
  }));
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
        licenseKey: sql<string | null>`substr(license_key, ${-KEY_END_LENGTH})`.as('key_group'),
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
