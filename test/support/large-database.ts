import { openDatabase } from '../../src/db/client';
import { firstRequestIdAt } from '../../src/history/id';
import { INDEXING_INTERVAL_MS, indexRequests } from '../../src/requests/indexing';

/** How many rows of each kind the shop has. */
export interface Size {
  products: number;
  customers: number;
  licenses: number;
  blacklists: number;
  requests: number;
}

/** What is seeded is numbered: license n has the key KEY-n, the owner of n, and so on. */
export const ipOf = (license: number) =>
  `10.${license >> 16}.${(license >> 8) & 255}.${license & 255}`;

const HISTORY_MS = 80 * 24 * 60 * 60 * 1000;

const requestStep = (size: Size): number => Math.floor(HISTORY_MS / size.requests) * 4096;

/** The id of the oldest record. */
export const firstRequestOf = (size: Size, now: number): number =>
  firstRequestIdAt(now) - (size.requests - 1) * requestStep(size);

/**
 * Fills an empty database by SQL, for nothing else is quick enough, and indexes the history as the
 * scheduled handler does.
 *
 * Of the licenses 1 in 100 is DEACTIVATED, 1 in 100 DELETED, 1 in 100 EXPIRED, the others ACTIVE; each
 * has an IP and a hardware ID bound. All licenses of product 4 are DELETED. The history is 80 days
 * long and ends now; 1 in 10 of its records is refused, and those of 1 license in 4 have a hardware ID.
 */
export async function seedLargeDatabase(db: D1Database, size: Size, now: number): Promise<void> {
  const insert = (table: string, columns: string, rows: number, values: string) =>
    db
      .prepare(
        `insert into ${table} (${columns})
         with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ?1)
         select ${values} from numbers where ?2 > 0`,
      )
      .bind(rows, now);
  const ip = (n: string) =>
    `'10.' || (${n} >> 16) || '.' || (${n} >> 8 & 255) || '.' || (${n} & 255)`;
  const licenseOfRequest = `(1 + n % ${size.licenses})`;

  await db.batch([
    insert(
      'products',
      'name, product_type, default_max_ips, default_max_hwids, created_at, updated_at',
      size.products,
      `'Product ' || n, 'GAME_JAVA_PLUGIN', 5, 5, ?2, ?2`,
    ),
    insert(
      'customers',
      'email, email_normalized, chat_id, platform_a_id, username, created_at',
      size.customers,
      `'User' || n || '@shop.test', 'user' || n || '@shop.test', 'chat-' || n, 'a-' || n, 'User ' || n, ?2`,
    ),
    insert(
      'licenses',
      `license_key, license_key_normalized, product_id, license_type, license_platform,
       owner_platform_id, owner_chat_id, expires_at, max_ips, max_hwids, state, notes, customer_id,
       created_at, updated_at`,
      size.licenses,
      `'KEY-' || n, 'KEY-' || n, 1 + n % ${size.products},
       case n % 100 when 1 then 'TEMPORARY' else 'PERMANENT' end, 'PLATFORM_A',
       'a-' || (1 + n % ${size.customers}), 'chat-' || (1 + n % ${size.customers}),
       case n % 100 when 1 then ?2 - n end, 5, 5,
       case n % 100 when 2 then 'DEACTIVATED' when 3 then 'DELETED' else 'ACTIVE' end,
       'Bought in the spring sale', 1 + n % ${size.customers}, ?2, ?2`,
    ),
    insert('license_totals', 'license_id, requests', size.licenses, 'n, 10'),
    insert('bindings', 'license_id, kind, value', size.licenses, `n, 'IP', ${ip('n')}`),
    insert('bindings', 'license_id, kind, value', size.licenses, `n, 'HWID', 'HW-' || n`),
    insert(
      'blacklists',
      'license_data_type, data, product_id, reason, created_at, updated_at',
      size.blacklists,
      `case n % 2 when 0 then 'IP' else 'HWID' end,
       case n % 2 when 0 then '192.' || (n >> 8) || '.' || (n & 255) || '.0/24' else 'BAD-' || n end,
       case n % 10 when 0 then 1 + n % ${size.products} end, 'Shared on a forum', ?2, ?2`,
    ),
    insert(
      'requests',
      `id, nonce, license_id, license_key, license_key_normalized, product_id, product_version, ip, hwid,
       operating_system, java_version, request_type, response_type`,
      size.requests,
      `${firstRequestOf(size, now)} + (n - 1) * ${requestStep(size)},
       n, ${licenseOfRequest}, 'KEY-' || ${licenseOfRequest}, 'KEY-' || ${licenseOfRequest},
       1 + ${licenseOfRequest} % ${size.products}, '1.0.0', ${ip(licenseOfRequest)},
       case n % 4 when 3 then 'HW-' || ${licenseOfRequest} end, 'Linux', '21.0.4', 'V1_VALIDATE',
       case (n + n / ${size.licenses}) % 10 when 0 then 'MAX_IPS_REACHED' else 'VALID' end`,
    ),
  ]);
  await indexAll(db, now);
}

/** The last moment at which the scheduled handler indexes. */
export const indexingTime = (now: number): number => now - (now % INDEXING_INTERVAL_MS);

/** Runs the scheduled indexing until there is nothing left for it. */
export async function indexAll(db: D1Database, now: number): Promise<void> {
  while ((await indexRequests(openDatabase(db), indexingTime(now))) > 0);
}
