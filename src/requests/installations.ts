import { toTimestamp, wireTimestamp } from '@licet/contract/time';
import { eq, sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Database } from '../db/client.ts';
import { callers, licenses } from '../db/schema.ts';
import { IS_SHARED } from './record.ts';
import { exactCallers } from './totals.ts';

/** An installation: a caller of a license, which is a server or a machine with its program version. */

/** Programs can send any text: made-up callers of a license must not make its list slow. */
const MAX_READ_CALLERS = 10_000;
const MAX_INSTALLATIONS = 1_000;

const text = z.string().nullable();

export const installation = z.strictObject({
  id: z.int(),
  ip: text,
  hwid: text,
  productVersion: text,
  operatingSystem: text,
  operatingSystemVersion: text,
  operatingSystemArchitecture: text,
  javaVersion: text,
  macAddress: text,
  firstSeen: wireTimestamp,
  lastSeen: wireTimestamp,
  requests: z.int(),
});

/**
 * The installations of a license, the most recently seen first: at most {@link MAX_INSTALLATIONS}. The
 * times and counts include the records since the last fold (see `totals.ts`). A row that stands for many callers is
 * none of them.
 *
 * @returns undefined if there is no such license
 */
export async function listInstallations(
  db: Database,
  licenseId: number,
): Promise<z.infer<typeof installation>[] | undefined> {
  const [license] = await db
    .select({ key: licenses.licenseKeyNormalized })
    .from(licenses)
    .where(eq(licenses.id, licenseId));
  if (!license) return undefined;
  const rows = await db
    .select({
      id: callers.id,
      ip: callers.ip,
      hwid: callers.hwid,
      productVersion: callers.productVersion,
      operatingSystem: callers.operatingSystem,
      operatingSystemVersion: callers.operatingSystemVersion,
      operatingSystemArchitecture: callers.operatingSystemArchitecture,
      javaVersion: callers.javaVersion,
      macAddress: callers.macAddress,
      firstSeenAt: callers.firstSeenAt,
      lastSeenAt: sql<number>`exact.last_seen_at`.as('exact_last_seen_at'),
      requests: sql<number>`exact.requests`.as('exact_requests'),
    })
    .from(
      sql`(
        with known as materialized (
          select id, product_id, folded_bucket, last_seen_at, requests from (
            select * from callers
            where license_key_normalized = ${license.key} and license_id = ${licenseId}
              and not ${IS_SHARED}
            limit ${MAX_READ_CALLERS})
          order by last_seen_at desc, id desc limit ${MAX_INSTALLATIONS})
        ${exactCallers('known')}) exact`,
    )
    .innerJoin(callers, eq(callers.id, sql`exact.id`))
    .orderBy(sql`exact.last_seen_at desc, exact.id desc`);
  return rows.map(({ firstSeenAt, lastSeenAt, requests, ...values }) => ({
    ...values,
    firstSeen: toTimestamp(firstSeenAt),
    lastSeen: toTimestamp(lastSeenAt),
    requests,
  }));
}
