import type { Database } from '../db/client';
import { licenses } from '../db/schema';
import { isOneOf } from '../db/search';
import type { LicenseState } from '../enums';
import { boundValues } from './bindings';
import { totalRequests } from './total';

/** All that a decision needs to know of a license. */
export interface LicenseSnapshot {
  id: number;
  revision: number;
  productId: number;
  state: LicenseState;
  /** Null for a license that never expires. */
  expiresAt: number | null;
  /** -1 is unlimited, 0 is none. */
  maxIPs: number;
  maxHWIDs: number;
  /** What is bound, in the order in which it was bound. */
  ips: readonly string[];
  hwids: readonly string[];
  totalRequests: number;
}

/** The columns of a license's snapshot. */
export const snapshotColumns = {
  id: licenses.id,
  revision: licenses.revision,
  productId: licenses.productId,
  state: licenses.state,
  expiresAt: licenses.expiresAt,
  maxIPs: licenses.maxIPs,
  maxHWIDs: licenses.maxHWIDs,
  totalRequests,
  ...boundValues,
};

/** The revisions of licenses, of those that are there. */
export const selectRevisions = (db: Database, ids: readonly number[]) =>
  db
    .select({ id: licenses.id, revision: licenses.revision })
    .from(licenses)
    .where(isOneOf(licenses.id, ids));
