import { SERVICE_EVENT_TYPES, type ServiceEventType } from '@licet/contract/enums';
import type { ResponseType } from '@licet/contract/outcomes';
import { type SQL, sql } from 'drizzle-orm';
import { storeDeliveries } from '../channels/webhooks/outgoing.ts';
import type { Database } from '../db/client.ts';
import { differ, type EventChanges, eventRow, SERVICE } from '../db/events.ts';
import { events } from '../db/schema.ts';
import { BoundedMap } from '../lib/bounded-map.ts';
import { dayOf, firstIdAt, SLOTS } from '../lib/time-id.ts';
import { IS_FORGOTTEN } from '../resources/customers/row.ts';
import { customers } from '../resources/customers/schema.ts';
import { alerts, installations, licenses } from '../resources/licenses/schema.ts';
import type { HistoryRecord } from './record.ts';

/**
 * Alerts: the events that the service makes about licenses (8). One about a request is stored in the batch of its record.
 *
 * A row in `alerts` has the time of the last alert of a license and type. It covers all that happened on its day (UTC) or
 * before.
 */

/** Alerts that a statement stores: as many as a batch has records. */
export const MAX_RAISED = 1_000;
/** Alerts whose deliveries are attempted at once: the Free plan has 50 queries and requests. */
const MAX_DELIVERED = 5;
/** Licenses and types of which an isolate remembers the last alert. */
const MAX_COVERED = 20_000;

const ALERT_TYPES = sql.raw(SERVICE_EVENT_TYPES.map((type) => `'${type}'`).join(', '));

/** The time from which the service makes alerts: the first run of the scheduled handler. */
export const ALERTS_SINCE = sql`(select value from counters where name = 'alerts_since')`;

/** Whether an earlier alert covers an alert `c`. */
export const IS_COVERED = sql.raw(`exists (
  select 1 from alerts a
  where a.license_id = c.license_id and a.type = c.type and a.raised_at >= c.covered_from)`);

/** Whether nothing of a license `l` is older than the alerts. */
const IS_NEW = sql`(l.past_requests = 0 and ${ALERTS_SINCE} <= (
  select min(first_seen_at) from ${installations} where license_id = l.id))`;

/**
 * The statements that store alerts with their deliveries, at most {@link MAX_RAISED}, but for those that are covered.
 *
 * @param due a select of their `license_id` and `type`, the JSON of their `changes`, and `covered_from`: an alert since then
 * covers them
 * @param now milliseconds since 1970
 * @param isLater whether all attempts are left to the scheduled handler
 */
export function raise(db: Database, due: SQL, now: number, isLater = true) {
  const first = firstIdAt(now);
  const isForgotten = sql`exists (select 1 from ${customers} where id = l.customer_id and ${IS_FORGOTTEN})`;
  const uncovered = sql`
    select c.type, c.license_id, iif(${isForgotten}, json_remove(c.changes, '$.ip', '$.hwid'), c.changes) as changes
    from (${due}) c cross join ${licenses} l on l.id = c.license_id
    where l.state <> 'DELETED' and not ${IS_COVERED} and (c.type <> 'license.first_used' or ${IS_NEW})
    limit ${MAX_RAISED}`;
  const row = eventRow(
    SERVICE,
    {
      type: sql`u.type`,
      // Also of a hit on the blacklist.
      resource: sql`'license'`,
      id: sql`u.license_id`,
      changes: sql`u.changes`,
      place: sql`row_number() over () - 1`,
    },
    now,
  );
  return {
    events: db.insert(events).select(sql`select ${row} from (${uncovered}) u`),
    deliveries: storeDeliveries(db, now, isLater),
    // A plus, because the index of resources would read all events of licenses.
    alerts: db
      .insert(alerts)
      .select(
        sql`select resource_id, type, ${now} from ${events}
          where id >= ${first} and id < ${first + SLOTS} and +resource_type = 'license'
            and type in (${ALERT_TYPES})`,
      )
      .onConflictDoUpdate({
        target: [alerts.licenseId, alerts.type],
        set: { raisedAt: sql`excluded.raised_at` },
        setWhere: sql`${alerts.raisedAt} < excluded.raised_at`,
      }),
  };
}

/** A record of a license. */
interface Owned {
  record: HistoryRecord;
  licenseId: number;
}

/** An alert about a record. */
interface RecordAlert {
  licenseId: number;
  type: ServiceEventType;
  coveredFrom: number;
  changes: EventChanges;
}

const TYPES: Partial<Record<ResponseType, ServiceEventType>> = {
  VALID: 'license.first_used',
  MAX_IPS_REACHED: 'license.limit_reached',
  MAX_HWIDS_REACHED: 'license.limit_reached',
  IP_BLACKLISTED: 'blacklist.hit',
  HWID_BLACKLISTED: 'blacklist.hit',
};

/** The values of an event about a record. */
function valuesOf({ outcome, installation, details }: HistoryRecord): object {
  const { ip, hwid, productVersion } = installation;
  if (outcome === 'VALID') return { ip, hwid, productVersion };
  if (outcome === 'MAX_IPS_REACHED') return { ip };
  if (outcome === 'MAX_HWIDS_REACHED') return { hwid };
  return { ip, hwid, blockReason: details.blockReason ?? null };
}

/** The values of an event, without those that are unknown. */
const changesOf = (values: object): EventChanges => differ(Object.keys(values))(null, values);

const keyOf = ({ licenseId, type }: Pick<RecordAlert, 'licenseId' | 'type'>): string =>
  `${licenseId} ${type}`;

/** The alerts about the records that an isolate writes. A license costs their statements once a day and type. */
export class RecordAlerts {
  /** The `coveredFrom` of the last alert of a license and type that was stored, or was covered. */
  readonly #covered = new BoundedMap<string, number>(MAX_COVERED);

  /** The alerts that records may cause, one for each license and type. */
  dueOf(records: readonly Owned[]): RecordAlert[] {
    const due = new Map<string, RecordAlert>();
    for (const { record, licenseId } of records) {
      const type = TYPES[record.outcome];
      if (type === undefined) continue;
      const key = keyOf({ licenseId, type });
      // The first use of a license comes once in its life.
      const coveredFrom = type === 'license.first_used' ? 0 : dayOf(record.id);
      const covered = due.get(key)?.coveredFrom ?? this.#covered.get(key);
      if (covered !== undefined && covered >= coveredFrom) continue;
      due.set(key, { licenseId, type, coveredFrom, changes: changesOf(valuesOf(record)) });
    }
    return [...due.values()];
  }

  /** Remembers alerts whose batch was stored. */
  remember(stored: readonly RecordAlert[]): void {
    for (const alert of stored) this.#covered.set(keyOf(alert), alert.coveredFrom);
  }
}

/** {@link raise} for alerts about records, whose deliveries are attempted at once. */
export const raiseForRecords = (db: Database, due: readonly RecordAlert[], now: number) =>
  raise(
    db,
    sql`select value ->> 'licenseId' as license_id, value ->> 'type' as type,
        value ->> 'changes' as changes, value ->> 'coveredFrom' as covered_from
      from json_each(${JSON.stringify(due)})`,
    now,
    due.length > MAX_DELIVERED,
  );
