import { and, eq, inArray, isNull, or, sql } from 'drizzle-orm';
import type { Database } from '../db/client';
import { blacklists } from '../db/schema';
import { networksHolding } from '../network';
import type { BlacklistEntry, LicenseSnapshot } from './decide';
import { foldLicenseKey, type ValidationRequest } from './request';
import { licenseHasKey, selectSnapshot } from './snapshot';

/** Reads what the decision needs, in one round trip. */
export async function lookUp(
  db: Database,
  request: ValidationRequest,
  connectingAddress: string | null,
): Promise<{ license: LicenseSnapshot | null; blacklist: BlacklistEntry[] }> {
  const addresses = new Set([request.ip, connectingAddress].filter((address) => address !== null));
  const networks = [...addresses].flatMap(networksHolding);
  const [[license = null], blacklist] = await db.batch([
    selectSnapshot(db, licenseHasKey(foldLicenseKey(request.licenseKey))),
    db
      .select({
        licenseDataType: blacklists.licenseDataType,
        data: blacklists.data,
        productId: blacklists.productId,
        reason: blacklists.reason,
      })
      .from(blacklists)
      .where(
        and(
          or(
            and(
              eq(blacklists.licenseDataType, 'IP'),
              // One parameter for up to 258 networks: a statement takes 100.
              inArray(
                blacklists.data,
                sql`(select value from json_each(${JSON.stringify(networks)}))`,
              ),
            ),
            and(eq(blacklists.licenseDataType, 'HWID'), eq(blacklists.data, request.hwid ?? '')),
          ),
          or(isNull(blacklists.productId), eq(blacklists.productId, request.productId)),
        ),
      ),
  ]);
  return { license, blacklist };
}
