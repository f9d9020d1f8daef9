import { DAY_MS, MINUTE_MS } from '@licet/contract/durations';
import type { ServiceEventType } from '@licet/contract/enums';
import type { ResponseType } from '@licet/contract/outcomes';
import { toTimestamp } from '@licet/contract/time';
import { and, eq, type SQL, sql } from 'drizzle-orm';
import { storeDeliveries } from '../channels/webhooks/outgoing.ts';
import { batch, type Database, type Statement } from '../db/client.ts';
import { NO_INSTALLATION, NO_PRODUCT, RESPONSE_TYPE_CODES } from '../db/codes.ts';
import { differ, type EventChanges, eventRow, SERVICE } from '../db/events.ts';
import { timeOfIdSql } from '../db/records.ts';
import { counters, events } from '../db/schema.ts';
import { numberIn, type Task } from '../db/task.ts';
import { BUCKETS_A_DAY, bucketAt, firstIdAt, timeOfBucket } from '../lib/time-id.ts';
import { IS_FORGOTTEN } from '../resources/customers/row.ts';
import { alerts, licenses } from '../resources/licenses/schema.ts';
import { recentRecords } from '../resources/licenses/totals.ts';
import { buckets, requests } from './schema.ts';

/**
 * The events that the service makes about licenses (8), from what is stored:
 *
 * - **Expiries**: those that were crossed since a counter.
 * - **Records**: an hour is read when it is rolled up, and while it is open as often as its size allows. A record that
 *   comes later has its hour rolled up, and read, again.
 *
 * A row in `alerts` has the time of the last event of a license and type. It covers all that happened on its day (UTC)
 * or before.
 */

/** Events that a run makes from each of its selects. The next run goes on. */
const MAX_RAISED = 200;
/** The expiries are read from this long ago, because a counter that moves each minute costs a row a minute. */
const CHECK_MS = 15 * MINUTE_MS;
/**
 * The pause after a scan of open hours, for each of their records: a scan reads up to six rows each, and so at most 1.3
 * million a day. An event about a record is late by this pause at most, and in a busy hour by the 76 minutes to its
 * roll-up.
 */
const PAUSE_MS_PER_RECORD = 400;
/** Installations of a license whose addresses are counted, the newest first: a key holder can make up any number. */
const MAX_INSTALLATIONS = 1_000;

type RecordAlertType = 'license.first_used' | 'license.limit_reached' | 'blacklist.hit';
type AlertType = Exclude<ServiceEventType, 'webhook.disabled'>;
type Counter = typeof counters.$inferSelect.name;

/** An event that is due. */
interface Alert {
  licenseId: number;
  type: AlertType;
  /** An event since this time, in milliseconds since 1970, covers it. */
  coveredFrom: number;
  changes: EventChanges;
}

/** The columns of an alert in a select from `c`. */
const alertColumns = {
  licenseId: sql<number>`c.license_id`.as('alert_license'),
  type: sql<AlertType>`c.type`.as('alert_type'),
  coveredFrom: sql<number>`c.covered_from`.as('alert_covered'),
};

/** Whether an earlier event covers an alert `c`. */
const IS_COVERED = sql.raw(`exists (
  select 1 from alerts a
  where a.license_id = c.license_id and a.type = c.type and a.raised_at >= c.covered_from)`);

/** The values of an event, without those that are unknown. */
const changesOf = (values: object): EventChanges => differ(Object.keys(values))(null, values);

const DAY = sql.raw(String(DAY_MS));
/** The begin of the day (UTC) of a time. */
const dayOf = (time: SQL): SQL => sql`(${time} / ${DAY} * ${DAY})`;

const counterValue = (name: Counter): SQL => sql`(select value from counters where name = ${name})`;

/**
 * Makes the events that are due, a bounded number of them. Safe to run twice at once.
 *
 * @param manyAddresses a license with more addresses in 24 hours is used from many; null for no such event
 * @param now milliseconds since 1970
 */
async function raiseAlerts(db: Database, manyAddresses: number | null, now: number): Promise<void> {
  const found = await batch(db, {
    counters: db.select().from(counters),
    buckets: db
      .select({ next: sql<number | null>`min(bucket)`.as('next_bucket') })
      .from(buckets)
      .where(sql`bucket > ${counterValue('alerted_bucket')}`),
    expiries: selectExpiries(db, now),
  });
  const values = new Map(found.counters.map(({ name, value }) => [name, value]));
  const since = values.get('alerts_since');
  if (since === undefined) return begin(db, now);

  const moves: Statement[] = [];
  const raised: Alert[] = found.expiries.map(({ expiresAt, ...alert }) => ({
    ...alert,
    changes: changesOf({ expiryDate: toTimestamp(expiresAt) }),
  }));
  const isOld = now - (values.get('expiries_checked_at') ?? 0) >= CHECK_MS;
  if (raised.length < MAX_RAISED && (raised.length > 0 || isOld)) {
    moves.push(moveForward(db, 'expiries_checked_at', now));
  }

  const bucket = found.buckets[0]?.next ?? null;
  const isRolledUp = bucket !== null && bucket <= (values.get('rolled_up_bucket') ?? 0);
  if (bucket !== null && (isRolledUp || now >= (values.get('alerts_due_at') ?? 0))) {
    const last = isRolledUp ? bucket : Number.MAX_SAFE_INTEGER;
    const { records, many = [] } = await batch(db, {
      records: selectRecords(db, { first: bucket, last, since }),
      many:
        isRolledUp && manyAddresses !== null && bucket >= bucketAt(since)
          ? [selectManyAddresses(db, bucket, manyAddresses)]
          : [],
    });
    const alertsOfRecords = [...records.flatMap(alertOfRecord), ...many.map(alertOfAddresses)];
    raised.push(...alertsOfRecords);
    const isComplete = Math.max(records.length, many.length) < MAX_RAISED;
    const pauseMs = (records[0]?.total ?? 0) * PAUSE_MS_PER_RECORD;
    if (isComplete && isRolledUp) moves.push(finish(db, bucket));
    // The handler runs once a minute anyway.
    else if (isComplete && pauseMs > MINUTE_MS) {
      moves.push(moveForward(db, 'alerts_due_at', now + pauseMs));
    }
  }
  await batch(db, { ...(raised.length > 0 && raise(db, raised, now)), moves });
}

/** Begins with this run: nothing is raised for the past. */
async function begin(db: Database, now: number): Promise<void> {
  const first = {
    alerts_since: now,
    expiries_checked_at: now,
    alerted_bucket: bucketAt(now) - 1,
  } satisfies Partial<Record<Counter, number>>;
  await db
    .insert(counters)
    .select(sql`select key, value from json_each(${JSON.stringify(first)}) where true`)
    .onConflictDoNothing();
}

const moveForward = (db: Database, name: Counter, value: number) =>
  db
    .insert(counters)
    .values({ name, value })
    .onConflictDoUpdate({
      target: counters.name,
      set: { value: sql`max(${counters.value}, excluded.value)` },
    });

/** Notes that a bucket is done, unless a late record has come meanwhile. */
const finish = (db: Database, bucket: number) =>
  db
    .update(counters)
    .set({ value: bucket })
    .where(
      and(
        eq(counters.name, 'alerted_bucket'),
        sql`${counters.value} < ${bucket} and ${counterValue('rolled_up_bucket')} >= ${bucket}`,
      ),
    );

/** The statements that store events with their deliveries, but for those that are covered by now. */
function raise(db: Database, raised: readonly Alert[], now: number) {
  const from = sql`(
      select key as place, value ->> 'licenseId' as license_id, value ->> 'type' as type,
        value ->> 'coveredFrom' as covered_from, value ->> 'changes' as changes
      from json_each(${JSON.stringify(raised)})) c
    where not ${IS_COVERED}`;
  return {
    events: db.insert(events).select(
      sql`select ${eventRow(
        SERVICE,
        {
          type: sql`c.type`,
          // Also of a hit on the blacklist.
          resource: sql`'license'`,
          id: sql`c.license_id`,
          changes: sql`c.changes`,
          place: sql`row_number() over (order by c.place) - 1`,
        },
        now,
      )} from ${from}`,
    ),
    deliveries: storeDeliveries(db, now, true),
    alerts: db
      .insert(alerts)
      .select(sql`select c.license_id, c.type, ${now} from ${from}`)
      .onConflictDoUpdate({
        target: [alerts.licenseId, alerts.type],
        set: { raisedAt: sql`excluded.raised_at` },
      }),
  };
}

/**
 * Selects active licenses that expired, or will do so in a day or in seven, since the last check. After a pause of the
 * service each is told of once, by the last of these times. A license that was created after such a time is left out.
 */
function selectExpiries(db: Database, now: number) {
  // The expiry of a license that waits for its first use is far away.
  const times = sql`(values
    ('license.expired', 0, ${-now}),
    ('license.expiring', ${DAY}, 0),
    ('license.expiring', 7 * ${DAY}, ${DAY}))`;
  return db
    .select({ ...alertColumns, expiresAt: sql<number>`c.expires_at`.as('alert_expiry') })
    .from(
      sql`(
        select l.id as license_id, w.column1 as type, l.expires_at,
          ${dayOf(sql`(l.expires_at - w.column2)`)} as covered_from
        from ${times} w cross join ${licenses} l
          on l.expires_at > max(${counterValue('expiries_checked_at')} + w.column2, ${now} + w.column3)
          and l.expires_at <= ${now} + w.column2
        where +l.state = 'ACTIVE' and l.created_at < l.expires_at - w.column2) c`,
    )
    .where(sql`not ${IS_COVERED}`)
    .limit(MAX_RAISED);
}

const codesOf = (...outcomes: readonly ResponseType[]): SQL =>
  sql.raw(outcomes.map((outcome) => RESPONSE_TYPE_CODES[outcome]).join(', '));

/** The type of the event about a record `s`; null for none. */
const TYPE = sql`case
  when s.outcome in (${codesOf('VALID')}) then 'license.first_used'
  when s.outcome in (${codesOf('MAX_IPS_REACHED', 'MAX_HWIDS_REACHED')}) then 'license.limit_reached'
  when s.outcome in (${codesOf('IP_BLACKLISTED', 'HWID_BLACKLISTED')}) then 'blacklist.hit' end`;
const HAS_TYPE = sql`s.outcome in (${codesOf(
  ...(['VALID', 'MAX_IPS_REACHED', 'MAX_HWIDS_REACHED'] as const),
  ...(['IP_BLACKLISTED', 'HWID_BLACKLISTED'] as const),
)})`;

/** The records of licenses in a bucket, in a join on it. Those of no license come first in their bucket. */
const ofLicense = (bucket: SQL): SQL => sql`r.bucket = ${bucket}
  and (r.product_id, r.installation_id) > (${sql.raw(`${NO_PRODUCT}, ${NO_INSTALLATION}`)})`;

/**
 * Selects the last record of each license and type of event in some buckets. The first row has their number of records,
 * also if there is no alert.
 *
 * A license is used for the first time by a VALID record, if it has no requests from elsewhere, and none from before
 * `since`. One such event is enough for its life.
 */
function selectRecords(
  db: Database,
  { first, last, since }: { first: number; last: number; since: number },
) {
  return db
    .select({
      ...alertColumns,
      licenseId: sql<number | null>`c.license_id`.as('alert_license'),
      type: sql<RecordAlertType>`c.type`.as('alert_type'),
      total: sql<number>`c.total`.as('total_records'),
      outcome: sql<ResponseType>`c.outcome`.mapWith(requests.outcome).as('alert_outcome'),
      ip: sql<string | null>`iif(c.is_forgotten, null, c.ip)`.as('alert_ip'),
      hwid: sql<string | null>`iif(c.is_forgotten, null, c.hwid)`.as('alert_hwid'),
      productVersion: sql<string | null>`c.product_version`.as('alert_version'),
      blockReason: sql<string | null>`(
        select q.details ->> 'blockReason' from ${requests} q
        where q.bucket = c.bucket and q.product_id = c.product_id
          and q.installation_id = c.installation_id and q.id = c.record_id limit 1)`.as(
        'alert_reason',
      ),
    })
    .from(
      sql`(
        with
          seen as materialized (
            select r.bucket, r.product_id, r.installation_id, r.outcome, max(r.id) as id,
              count(*) as records
            from ${buckets} b cross join ${requests} r on ${ofLicense(sql`b.bucket`)}
            where b.bucket between ${first} and ${last} and r.id >= ${firstIdAt(since)}
            group by 1, 2, 3, 4),
          found as (
            select i.license_id, ${TYPE} as type, max(s.id) as record_id, s.outcome, s.bucket,
              s.product_id, s.installation_id, i.ip, i.hwid, i.product_version
            from seen s cross join installations i on i.id = s.installation_id
            where ${HAS_TYPE}
              and (s.outcome <> ${codesOf('VALID')} or (i.first_seen_at >= ${since} and not exists (
                select 1 from ${alerts} a
                where a.license_id = i.license_id and a.type = 'license.first_used')))
            group by 1, 2)
        select * from (select ifnull(sum(records), 0) as total from seen) t left join (
          select c.*, exists (
            select 1 from customers where id = l.customer_id and ${IS_FORGOTTEN}) as is_forgotten
          from (
            select *, iif(type = 'license.first_used', 0, ${dayOf(timeOfIdSql(sql`record_id`))})
              as covered_from from found) c
            cross join ${licenses} l on l.id = c.license_id
          where l.state <> 'DELETED' and not ${IS_COVERED}
            and (c.type <> 'license.first_used' or (l.past_requests = 0 and not exists (
              select 1 from installations e
              where e.license_id = l.id and e.first_seen_at < ${since})))
          limit ${MAX_RAISED}) c on true) c`,
    );
}

type RecordRow = Awaited<ReturnType<typeof selectRecords>>[number];

function alertOfRecord({ licenseId, type, coveredFrom, ...record }: RecordRow): Alert[] {
  if (licenseId === null) return [];
  const { outcome, ip, hwid, productVersion, blockReason } = record;
  const values = {
    'license.first_used': { ip, hwid, productVersion },
    'license.limit_reached': outcome === 'MAX_IPS_REACHED' ? { ip } : { hwid },
    'blacklist.hit': { ip, hwid, blockReason },
  };
  return [{ licenseId, type, coveredFrom, changes: changesOf(values[type]) }];
}

/**
 * Selects the licenses with requests in a bucket, and from too many addresses in the 24 hours to its end. Most have few
 * installations, which are counted first.
 */
function selectManyAddresses(db: Database, bucket: number, manyAddresses: number) {
  const firstBucket = bucket - BUCKETS_A_DAY + 1;
  const wasSeen = sql`(
    i.last_seen_at between ${timeOfBucket(firstBucket)} and ${timeOfBucket(bucket + 1) - 1}
    or exists (
      select 1 from ${recentRecords('i', bucket)} and b.bucket >= ${firstBucket}))`;
  return db
    .select({ ...alertColumns, addresses: sql<number>`c.addresses`.as('alert_addresses') })
    .from(
      sql`(
        with asking as materialized (
          select distinct i.license_id
          from (
            select distinct r.product_id, r.installation_id from ${requests} r
            where ${ofLicense(sql`${bucket}`)}) s
            cross join installations i on i.id = s.installation_id)
        select c.*, (
          select count(distinct i.ip) from (
            select * from installations where license_id = c.license_id
            order by first_seen_at desc limit ${MAX_INSTALLATIONS}) i
          where i.ip is not null and ${wasSeen}) as addresses
        from (
          select license_id, 'license.many_addresses' as type,
            ${dayOf(sql`${timeOfBucket(bucket)}`)} as covered_from from asking) c
          cross join ${licenses} l on l.id = c.license_id
        where l.state <> 'DELETED' and not ${IS_COVERED}
          and (select count(*) from (
            select 1 from installations where license_id = c.license_id
            limit ${manyAddresses} + 1)) > ${manyAddresses}) c`,
    )
    .where(sql`c.addresses > ${manyAddresses}`)
    .limit(MAX_RAISED);
}

const alertOfAddresses = ({
  addresses,
  ...alert
}: Awaited<ReturnType<typeof selectManyAddresses>>[number]): Alert => ({
  ...alert,
  changes: changesOf({ addresses }),
});

export const RAISE_ALERTS: Task = {
  failure: 'Events about licenses were not made',
  most: 10,
  run({ db, now, settings }) {
    const manyAddresses = numberIn(settings, 'MANY_ADDRESSES', 'addresses', 'none are too many');
    return raiseAlerts(db, manyAddresses || null, now);
  },
};
