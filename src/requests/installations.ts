import { slotOf } from '@licet/contract/addresses';
import type { LicenseDataType } from '@licet/contract/enums';
import type { Installation } from '@licet/contract/requests';
import { toTimestamp } from '@licet/contract/time';
import { and, eq, gte, lte, sql } from 'drizzle-orm';
import type { Database } from '../db/client.ts';
import { IS_SHARED } from '../db/records.ts';
import { DomainError } from '../lib/errors.ts';
import { commonBeginning, isInNetworks } from '../lib/networks.ts';
import { installations, licenses } from '../resources/licenses/schema.ts';
import { listSlots } from '../resources/licenses/slots.ts';
import { exactInstallations, isOfLicense } from '../resources/licenses/totals.ts';
import { products } from '../resources/products/schema.ts';

/** The installations of a license: servers or machines, each with its program version. */

/** Programs can send any text: made-up installations of a license must not make its list slow. */
const MAX_READ = 10_000;
export const MAX_INSTALLATIONS = 1_000;

/**
 * The addresses in a network from which installations asked.
 *
 * @throws DomainError if more than {@link MAX_READ} installations have addresses that begin like these
 */
export async function listAddressesIn(db: Database, network: string): Promise<string[]> {
  const beginning = commonBeginning(network);
  const rows = await db
    .select({ ip: sql<string>`${installations.ip}` })
    .from(installations)
    // No address has a character after the letters.
    .where(and(gte(installations.ip, beginning), lte(installations.ip, `${beginning}~`)))
    .limit(MAX_READ + 1);
  if (rows.length > MAX_READ) {
    const message = `ip must be a narrower range: more than ${MAX_READ} installations have such addresses`;
    throw new DomainError('invalid', message, 'ip');
  }
  return [...new Set(rows.map(({ ip }) => ip))].filter((ip) => isInNetworks([network], ip));
}

/**
 * The installations of a license, the most recently seen first: at most {@link MAX_INSTALLATIONS}. The
 * times and counts include the records since the last aggregation (see `totals.ts`). A shared row is none of them.
 *
 * @param now milliseconds since 1970
 * @returns undefined if there is no such license
 */
export async function listInstallations(
  db: Database,
  licenseId: number,
  now: number,
): Promise<Installation[] | undefined> {
  const [license] = await db
    .select({ ipIdleDays: products.ipIdleDays, hwidIdleDays: products.hwidIdleDays })
    .from(licenses)
    .innerJoin(products, eq(products.id, licenses.productId))
    .where(eq(licenses.id, licenseId));
  if (!license) return undefined;
  const hasIdleDays = (license.ipIdleDays ?? license.hwidIdleDays) !== null;
  const slots = hasIdleDays ? await listSlots(db, licenseId, now) : [];
  const nameOf = (type: LicenseDataType, value: string | null): string =>
    `${type} ${type === 'IP' && value !== null ? slotOf(value, db.ipv6SlotPrefix) : value}`;
  const idleDates = new Map(
    slots?.map(({ type, value, idleDate }) => [nameOf(type, value), idleDate]),
  );
  const rows = await db
    .select({
      id: installations.id,
      ip: installations.ip,
      hwid: installations.hwid,
      productVersion: installations.productVersion,
      operatingSystem: installations.operatingSystem,
      operatingSystemVersion: installations.operatingSystemVersion,
      operatingSystemArchitecture: installations.operatingSystemArchitecture,
      javaVersion: installations.javaVersion,
      macAddress: installations.macAddress,
      firstSeenAt: installations.firstSeenAt,
      lastSeenAt: sql<number>`exact.last_seen_at`.as('exact_last_seen_at'),
      requests: sql<number>`exact.requests`.as('exact_requests'),
    })
    .from(
      sql`(
        with known as materialized (
          select id, product_id, aggregated_bucket, last_seen_at, requests from (
            select * from installations
            where ${isOfLicense('installations', licenseId)} and not ${IS_SHARED}
            limit ${MAX_READ})
          order by last_seen_at desc, id desc limit ${MAX_INSTALLATIONS})
        ${exactInstallations('known')}) exact`,
    )
    .innerJoin(installations, eq(installations.id, sql`exact.id`))
    .orderBy(sql`exact.last_seen_at desc, exact.id desc`);
  return rows.map(({ firstSeenAt, lastSeenAt, requests, ...values }) => ({
    ...values,
    firstSeen: toTimestamp(firstSeenAt),
    lastSeen: toTimestamp(lastSeenAt),
    requests,
    ipIdleDate: idleDates.get(nameOf('IP', values.ip)) ?? null,
    hwidIdleDate: idleDates.get(nameOf('HWID', values.hwid)) ?? null,
  }));
}
