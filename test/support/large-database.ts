import { bucketAt, lastBucketOfDay, timeOfBucket } from '../../src/lib/time-id.ts';

/** How many rows of each kind the shop has. */
export interface Size {
  products: number;
  customers: number;
  licenses: number;
  blacklists: number;
  /** Servers that ask. Two of them share a license. */
  installations: number;
  /** The history's length. */
  hours: number;
}

/** All that is seeded is numbered: license n has the owner of n, and so on. */
export const ipOf = (license: number): string =>
  `11.${license >> 16}.${(license >> 8) & 255}.${license & 255}`;
export const keyOf = (license: number): string => `KEY-${String(license).padStart(20, '0')}`;
export const hwidOf = (license: number): string => `HW-${String(license).padStart(33, '0')}`;

/** A server asks in one of so many hours. */
const HOURS_BETWEEN = 43;
/** From one license with installations to the next: so they are of all products. */
const LICENSE_STEP = 7;

/** The license of an installation, from 1 on. */
export const licenseOf = (installation: number): number =>
  1 + ((installation - 1) >> 1) * LICENSE_STEP;

/** The newest bucket of the history: the last one that is over. */
const lastBucket = (now: number): number => bucketAt(now) - 1;

/** The id of a record. */
export const someRecordId = (now: number): number => {
  const bucket = lastBucket(now);
  const installation = HOURS_BETWEEN - (bucket % HOURS_BETWEEN);
  return idOf(bucket, installation);
};

const idOf = (bucket: number, installation: number): number =>
  (timeOfBucket(bucket) - timeOfBucket(0)) * 4096 + installation * (100 * 4096 + 1);

/**
 * The statements that fill an empty database, in three steps: only SQL is quick enough.
 *
 * 1 in 100 licenses is DEACTIVATED, 1 in 100 DELETED, 1 in 100 EXPIRED, the others ACTIVE; each has an IP
 * and a hardware ID bound. All licenses of product 4 are DELETED. 1 in 10 records is refused. They are
 * inserted in the order of time, rolled up, and aggregated up to the day before.
 */
export function largeDatabase(
  size: Size,
  now: number,
): Record<'shop' | 'history' | 'rollups', string[]> {
  const numbers = (count: number) =>
    `with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${count})`;
  const insert = (table: string, columns: string, rows: number, values: string) =>
    `insert into ${table} (${columns}) ${numbers(rows)} select ${values} from numbers`;
  const ip = (n: string) =>
    `'11.' || (${n} >> 16) || '.' || (${n} >> 8 & 255) || '.' || (${n} & 255)`;
  const key = (n: string) => `printf('KEY-%020d', ${n})`;
  const hwid = (n: string) => `printf('HW-%033d', ${n})`;
  const productOf = (license: string) => `1 + ${license} % ${size.products}`;

  const shop = [
    insert(
      'products',
      'name, product_type, default_max_ips, default_max_hwids, created_at, updated_at',
      size.products,
      `'Product ' || n, 'GAME_JAVA_PLUGIN', 5, 5, ${now}, ${now}`,
    ),
    insert(
      'customers',
      'email, email_normalized, chat_id, platform_a_id, username, created_at',
      size.customers,
      `'User' || n || '@shop.test', 'user' || n || '@shop.test', 'chat-' || n, 'a-' || n, 'User ' || n, ${now}`,
    ),
    insert(
      'licenses',
      `license_key, license_key_normalized, product_id, license_type, license_platform,
       owner_platform_id, owner_chat_id, expires_at, max_ips, max_hwids, state, notes, customer_id,
       created_at, updated_at, revision`,
      size.licenses,
      `${key('n')}, ${key('n')}, ${productOf('n')},
       case n % 100 when 1 then 'TEMPORARY' else 'PERMANENT' end, 'PLATFORM_A',
       'a-' || (1 + n % ${size.customers}), 'chat-' || (1 + n % ${size.customers}),
       case n % 100 when 1 then ${now} - n end, 5, 5,
       case n % 100 when 2 then 'DEACTIVATED' when 3 then 'DELETED' else 'ACTIVE' end,
       'Bought in the spring sale', 1 + n % ${size.customers}, ${now}, ${now}, ${now}`,
    ),
    ...[
      ['IP', ip('n')],
      ['HWID', hwid('n')],
    ].map(([type, value]) =>
      insert(
        'bindings',
        'license_id, type, value, position',
        size.licenses,
        `n, '${type}', ${value}, 1`,
      ),
    ),
    insert(
      'blacklists',
      'license_data_type, data, product_id, reason, created_at, updated_at',
      size.blacklists,
      `case n % 2 when 0 then 'IP' else 'HWID' end,
       case n % 2 when 0 then '192.' || (n >> 8) || '.' || (n & 255) || '.0/24' else 'BAD-' || n end,
       case n % 10 when 0 then 1 + n % ${size.products} end, 'Shared on a forum', ${now}, ${now}`,
    ),
  ];

  const last = lastBucket(now);
  const first = last - size.hours + 1;
  // An hour after its end a day is aggregated.
  const aggregated = lastBucketOfDay(lastBucket(now)) - 24;
  const license = `(1 + (n - 1) / 2 * ${LICENSE_STEP})`;
  const hoursUpTo = (bucket: number) => `(${bucket} + n) / ${HOURS_BETWEEN}`;
  const history = [
    insert('buckets', 'bucket', size.hours, `${first - 1} + n`),
    `update counters set value = ${aggregated} where name = 'aggregated_bucket'`,
    `update counters set value = ${last} where name = 'rolled_up_bucket'`,
    insert(
      'installations',
      `id, license_key_normalized, fingerprint, license_id, license_key, product_id, product_version, ip,
       hwid, operating_system, operating_system_version, operating_system_architecture, java_version,
       first_seen_at, last_seen_at, requests, aggregated_bucket`,
      size.installations,
      `n, ${key(license)}, printf('%016d', n), ${license}, ${key(license)}, ${productOf(license)}, '1.0.0',
       ${ip(`(${license} + n % 2 * 1000000)`)}, ${hwid(license)}, 'Linux', '6.8.0-45-generic', 'amd64',
       '21.0.4', ${timeOfBucket(first)}, ${timeOfBucket(aggregated)},
       ${hoursUpTo(aggregated)} - ${hoursUpTo(first - 1)}, ${aggregated}`,
    ),
    `insert into requests
       select bucket, ${productOf(license)}, n, (bucket * 3600000 + n * 100) * 4096 + n,
         (n * 7919 + bucket) % 32768, 0, iif((n + bucket) % 10 = 0, 11, 0), null
       from (select bucket, ${HOURS_BETWEEN} - bucket % ${HOURS_BETWEEN} + ${HOURS_BETWEEN} * k as n
         from buckets cross join (${numbers(Math.ceil(size.installations / HOURS_BETWEEN))}
           select n - 1 as k from numbers))
       where n <= ${size.installations}`,
  ];
  const rollups = [
    `insert into rollups
       select bucket, product_id, outcome, count(*) from requests group by 1, 2, 3
       union all select bucket, -1, outcome, count(*) from requests group by 1, 3`,
    `insert into daily_rollups
       select bucket / 24 * 24, product_id, outcome, sum(requests) from rollups group by 1, 2, 3`,
  ];
  return { shop, history, rollups };
}
