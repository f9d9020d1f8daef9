import type { SQL } from 'drizzle-orm';
import type { Database } from '../db/client';
import { licenses } from '../db/schema';
import { boundValues } from '../licenses/bindings';

/** The select of a license's snapshot, to be run alone or in a batch. */
export const selectSnapshot = (db: Database, where: SQL) =>
  db
    .select({
      id: licenses.id,
      productId: licenses.productId,
      state: licenses.state,
      expiresAt: licenses.expiresAt,
      maxIPs: licenses.maxIPs,
      maxHWIDs: licenses.maxHWIDs,
      totalRequests: licenses.totalRequests,
      ...boundValues,
    })
    .from(licenses)
    .where(where);
