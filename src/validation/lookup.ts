import { and, eq, isNull, or, sql } from 'drizzle-orm';
import type { Database } from '../db/client';
import { blacklists, licenses } from '../db/schema';
import { foldLicenseKey } from '../licenses/key';
import { networksHolding } from '../network';
import type { BlacklistEntry, LicenseSnapshot } from './decide';
import type { ValidationRequest } from './request';
import { selectSnapshot } from './snapshot';

/**
 * Reads what the decision needs, in one round trip: of the blacklist only the entries that can apply,
 * which the decision, being pure, judges by itself.
 */
export async function lookUp(
  db: Database,
  request: ValidationRequest,
  connectingAddress: string | null,
): Promise<{ license: LicenseSnapshot | null; blacklist: BlacklistEntry[] }> {
  const addresses = [request.ip, connectingAddress].filter((address) => address !== null);
  const networks = new Set(addresses.flatMap(networksHolding));
  const wanted = JSON.stringify([
    ...[...networks].map((network) => ['IP', network]),
    ...(request.hwid === null ? [] : [['HWID', request.hwid]]),
  ]);
  const [[license = null], blacklist] = await db.batch([
    selectSnapshot(db, eq(licenses.licenseKeyFolded, foldLicenseKey(request.licenseKey))),
    db
      .select({
        licenseDataType: blacklists.licenseDataType,
        data: blacklists.data,
        productId: blacklists.productId,
        reason: blacklists.reason,
      })
      // One parameter for up to 259 values: a statement takes 100. A cross join, because SQLite
      // keeps its order: each value is looked up, however long the blacklist.
      .from(sql`json_each(${wanted}) wanted`)
      .crossJoin(blacklists)
      .where(
        and(
          eq(blacklists.licenseDataType, sql`wanted.value ->> 0`),
          eq(blacklists.data, sql`wanted.value ->> 1`),
          or(isNull(blacklists.productId), eq(blacklists.productId, request.productId)),
        ),
      ),
  ]);
  return { license, blacklist };
}
