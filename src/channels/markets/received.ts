import { DAY_MS } from '@licet/contract/durations';
import type { MarketDelivery } from '@licet/contract/markets';
import { toTimestamp } from '@licet/contract/time';
import { and, desc, eq, getTableColumns, lt, sql } from 'drizzle-orm';
import { BatchLoader } from '../../cache/batch-loader.ts';
import { batch, type Database } from '../../db/client.ts';
import { insertEvents, SERVICE } from '../../db/events.ts';
import { ofEach, rowValues } from '../../db/predicates.ts';
import { events } from '../../db/schema.ts';
import type { WaitUntil } from '../../lib/async.ts';
import { firstIdAt, SLOTS, timeOfId } from '../../lib/time-id.ts';
import { storeDeliveries } from '../webhooks/outgoing.ts';
import { marketDeliveries } from './schema.ts';

/** The requests that were received from markets (9): *deliveries* in the API and the tables, as those of webhooks are. */

export type ArrivedRequest = Omit<typeof marketDeliveries.$inferInsert, 'id'>;

/** A request, and when it arrived, in milliseconds since 1970. */
interface Arrival {
  arrived: ArrivedRequest;
  at: number;
  /** Whether it was sent to the database already: one that waits for long is sent again, and is perhaps listed by then. */
  isAgain: boolean;
}

/** The same columns in SQL, of a JSON list of them. */
const LISTED = rowValues(marketDeliveries, {
  ...Object.fromEntries(
    Object.keys(getTableColumns(marketDeliveries)).map((name) => [name, ofEach(name)]),
  ),
  id: sql`ifnull((select max(id) + 1 from market_deliveries
    where market_id = ${ofEach('marketId')} and id >= ${ofEach('first')}
      and id < ${ofEach('first')} + ${SLOTS}), ${ofEach('first')}) + o.key`,
});

const IS_LISTED = sql`(${ofEach('isAgain')} and exists (select 1 from market_deliveries d
  where d.market_id = ${ofEach('marketId')} and d.id >= ${ofEach('first')} and d.id < ${ofEach('first')} + ${SLOTS}
    and d.event_id is ${ofEach('eventId')} and d.result is ${ofEach('result')} and d.body is ${ofEach('body')}))`;

async function insertArrivals(db: Database, arrivals: readonly Arrival[]): Promise<void> {
  const list = JSON.stringify(
    arrivals.map(({ arrived, at, isAgain }) => ({ ...arrived, isAgain, first: firstIdAt(at) })),
  );
  for (const one of arrivals) one.isAgain = true;
  await db
    .insert(marketDeliveries)
    .select(sql`select ${LISTED} from json_each(${list}) o where not ${IS_LISTED}`);
}

/** Requests that wait to be listed, at most. */
const MAX_WAITING = 20;
/** Requests that are listed together on one machine. */
const MAX_TOGETHER = 48;

/** Lists the requests that arrive. One that has used up its queries is listed beside a later request. */
export class Arrivals {
  readonly #db: Database;
  readonly #waiting: Arrival[] = [];
  /** Undefined at Cloudflare, where each request uses its own queries. */
  readonly #together: BatchLoader<true, Arrival> | undefined;

  constructor(db: Database, isOnOneMachine: boolean) {
    this.#db = db;
    const insert = async (arrivals: readonly Arrival[]): Promise<ReadonlyMap<Arrival, true>> => {
      await insertArrivals(db, arrivals);
      return new Map();
    };
    this.#together = isOnOneMachine ? new BatchLoader(insert, MAX_TOGETHER) : undefined;
  }

  /** @param at when the request arrived, in milliseconds since 1970 */
  async list(arrived: ArrivedRequest, at: number, waitUntil: WaitUntil): Promise<void> {
    const arrival: Arrival = { arrived, at, isAgain: false };
    try {
      await (this.#together?.load(arrival, waitUntil) ?? insertArrivals(this.#db, [arrival]));
    } catch (error) {
      if (this.#waiting.length < MAX_WAITING) this.#waiting.push(arrival);
      throw error;
    }
  }

  /** Lists one that waits: each request may make few queries. */
  async listWaiting(waitUntil: WaitUntil): Promise<void> {
    const oldest = this.#waiting.shift();
    if (oldest) await this.list(oldest.arrived, oldest.at, waitUntil);
  }
}

/**
 * Makes an event for a client whose requests to a market were rejected too often: it may guess the secret. There is at
 * most one a day for each market.
 *
 * @param client its connecting address, and the address of the market in words, without its secret part
 */
export async function reportGuesses(
  db: Database,
  marketId: number,
  { ip, path }: { ip: string | null; path: string },
  now: number,
): Promise<void> {
  const reason = `Too many requests to ${path} had a wrong secret or signature. Check the secret at the market`;
  await batch(db, {
    events: insertEvents(
      db,
      { ...SERVICE, ip },
      [
        {
          type: 'market.guessed',
          id: marketId,
          changes: { reason: { before: null, after: reason } },
          condition: sql`not exists (select 1 from ${events}
            where resource_type = 'market' and resource_id = ${marketId}
              and id >= ${firstIdAt(now - DAY_MS)} and type = 'market.guessed')`,
        },
      ],
      now,
    ),
    deliveries: storeDeliveries(db, now, true),
  });
}

interface DeliveryPage {
  deliveries: MarketDelivery[];
  /** The id after which the next page begins; undefined for the last page. */
  next: number | undefined;
}

/** A request as the API shows it. */
export const toDelivery = ({
  marketId: _,
  orderId: order,
  ...row
}: typeof marketDeliveries.$inferSelect): MarketDelivery => ({
  ...row,
  order,
  // The body of a request is kept if its signature or secret was right.
  isFromMarket: row.isAccepted || row.body !== null,
  time: toTimestamp(timeOfId(row.id)),
});

/** A page of the requests of a market, newest first. */
export async function listDeliveries(
  db: Database,
  marketId: number,
  after: number | undefined,
  limit: number,
): Promise<DeliveryPage> {
  const rows = await db
    .select()
    .from(marketDeliveries)
    .where(
      and(
        eq(marketDeliveries.marketId, marketId),
        after === undefined ? undefined : lt(marketDeliveries.id, after),
      ),
    )
    .orderBy(desc(marketDeliveries.id))
    .limit(limit + 1);
  const page = rows.slice(0, limit);
  return {
    deliveries: page.map(toDelivery),
    next: rows.length > limit ? page.at(-1)?.id : undefined,
  };
}
