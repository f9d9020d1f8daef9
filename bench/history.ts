import { HOUR_MS } from '@licet/contract/durations';
import { insertSeries } from './population.ts';
import type { Database } from './workers.ts';

/**
 * A history of 90 days, by SQL: a million validations would take too long. Servers ask once an hour. A few of
 * them run all the time, the others for some days. The records are inserted in the order of their times, rolled
 * up, and aggregated up to the day before.
 */

export const DAYS = 90;
const HOURS = DAYS * 24;
/** The start of bucket 0, and the factor of a record's id: see src/lib/time-id.ts. */
const EPOCH_MS = Date.UTC(2025, 0, 1);
const SLOTS = 4096;
const HOURS_OF_SHORT_RUN = 50;
/** One of so many servers, counted by records, runs all the time. */
const RECORDS_PER_LONG_RUN = 10_000;
const PRODUCTS = 10;
/** The code of MAX_IPS_REACHED. One of ten records is refused. */
const REFUSED = 11;

interface HistorySize {
  licenses: number;
  records: number;
}

export interface HistoryFigures {
  records: number;
  installations: number;
  bytesPerRecord: number;
}

/** A server that runs all the time. */
export const LONG_RUNNING_INSTALLATION = 1;
/** A server that asks once a day, for all 90 days. */
export const DAILY_INSTALLATION = 2;

/** The license of an installation, from 1 on. */
export const licenseOf = (installation: number, licenses: number): number =>
  1 + ((installation * 7) % licenses);

async function sizeBytes(db: Database): Promise<number> {
  return (await db.prepare('select 1').run()).meta.size_after;
}

/** Fills the history of a shop whose history is empty. */
export async function fillHistory(
  db: Database,
  { licenses, records }: HistorySize,
  now: number,
): Promise<HistoryFigures> {
  const lastBucket = Math.floor((now - EPOCH_MS) / HOUR_MS) - 1;
  const firstBucket = lastBucket - HOURS + 1;
  const aggregatedBucket = Math.floor(lastBucket / 24) * 24 - 1;
  const longRuns = Math.ceil(records / RECORDS_PER_LONG_RUN);
  const shortRuns = Math.ceil((records - longRuns * HOURS) / HOURS_OF_SHORT_RUN);
  const installations = longRuns + shortRuns;
  const first = `(case when i <= ${longRuns} then ${firstBucket}
    else ${firstBucket} + i * 7919 % ${HOURS - HOURS_OF_SHORT_RUN + 1} end)`;
  const hours = `(case when i <= ${longRuns} then ${HOURS} else ${HOURS_OF_SHORT_RUN} end)`;
  const timeOf = (bucket: string) => `(${bucket} * ${HOUR_MS} + ${EPOCH_MS})`;
  await insertSeries(
    db,
    PRODUCTS - 1,
    `insert into products (name, product_type, default_max_ips, default_max_hwids, created_at, updated_at)
     select 'Bench ' || i, 'OTHER', 5, 5, 0, 0 from n`,
  );
  await db.prepare(`update licenses set product_id = 1 + id % ${PRODUCTS}`).run();
  const sizeBefore = await sizeBytes(db);
  await insertSeries(
    db,
    installations,
    `insert into installations (id, license_key_normalized, fingerprint, license_id, license_key, product_id,
       product_version, ip, hwid, operating_system, operating_system_version, operating_system_architecture,
       java_version, first_seen_at, last_seen_at, requests, aggregated_bucket)
     select i, printf('BENCH-KEY-%09d', license), printf('%016d', i), license,
       printf('BENCH-KEY-%09d', license), 1 + license % ${PRODUCTS}, '1.4.2',
       printf('11.%d.%d.%d', 2 + (license >> 16), (license >> 8) & 255, license & 255),
       printf('%08x-5d1c-4b7e-9f3a-%012d', license, 1), 'Linux', '6.1.0-18-amd64', 'amd64', '17.0.9',
       ${timeOf('first')}, ${timeOf(`min(first + hours - 1, ${aggregatedBucket})`)},
       max(0, min(first + hours - 1, ${aggregatedBucket}) - first + 1), max(first - 1, ${aggregatedBucket})
     from (select i, 1 + i * 7 % ${licenses} as license, ${first} as first, ${hours} as hours from n)`,
  );
  await db.batch([
    db.prepare(
      `insert into buckets with recursive n(i) as (select ${firstBucket} union all
         select i + 1 from n where i < ${lastBucket}) select i from n`,
    ),
    db.prepare(`update counters set value = ${aggregatedBucket} where name = 'aggregated_bucket'`),
    db.prepare(`update counters set value = ${lastBucket} where name = 'rolled_up_bucket'`),
  ]);
  for (let bucket = firstBucket; bucket <= lastBucket; bucket += 24) {
    const end = Math.min(bucket + 24, lastBucket + 1);
    await db
      .prepare(
        `insert into requests
         with runs as (
           select id, product_id, (first_seen_at - ${EPOCH_MS}) / ${HOUR_MS} as first,
             case when id <= ${longRuns} then ${HOURS} else ${HOURS_OF_SHORT_RUN} end as hours
           from installations)
         select b.bucket, runs.product_id, runs.id,
           (b.bucket * ${HOUR_MS} + runs.id * 7919 % ${HOUR_MS}) * ${SLOTS} + runs.id % ${SLOTS} as record_id,
           (runs.id * 7919 + b.bucket) % 32768, 0, iif((runs.id + b.bucket) % 10 = 0, ${REFUSED}, 0), null
         from buckets b join runs on b.bucket >= runs.first and b.bucket < runs.first + runs.hours
         where b.bucket >= ${bucket} and b.bucket < ${end}
         order by b.bucket, record_id`,
      )
      .run();
  }
  const bytes = (await sizeBytes(db)) - sizeBefore;
  await db
    .prepare(
      'delete from requests where installation_id = ?1 and product_id = ?2 and bucket % 24 <> 0',
    )
    .bind(DAILY_INSTALLATION, 1 + (licenseOf(DAILY_INSTALLATION, licenses) % PRODUCTS))
    .run();
  await db
    .prepare(
      `insert into rollups select bucket, product_id, outcome, count(*) from requests group by 1, 2, 3
       union all select bucket, -1, outcome, count(*) from requests group by 1, 3`,
    )
    .run();
  const counted = await db.prepare('select count(*) as n from requests').first<{ n: number }>();
  const stored = counted?.n ?? 0;
  return { records: stored, installations, bytesPerRecord: bytes / stored };
}
