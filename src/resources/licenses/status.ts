import type { LicenseState, LicenseStatus } from '@licet/contract/enums';
import { type SQL, sql } from 'drizzle-orm';

/**
 * The status of a license at a time, in milliseconds since 1970. EXPIRED is never stored: it begins in the
 * millisecond of the expiry (2).
 */
export function statusAt(
  license: { state: LicenseState; expiresAt: number | null },
  now: number,
): LicenseStatus {
  const isExpired = license.expiresAt !== null && license.expiresAt <= now;
  return license.state === 'ACTIVE' && isExpired ? 'EXPIRED' : license.state;
}

/** Whether an expiry, or null for none, has passed. */
export const isExpiredSql = (expiresAt: SQL, now: SQL | number): SQL =>
  sql`ifnull(${expiresAt} <= ${now}, false)`;

/** {@link statusAt} in a select from the licenses. */
export const statusSql = (now: SQL | number): SQL =>
  sql`iif(state = 'ACTIVE' and ${isExpiredSql(sql`expires_at`, now)}, 'EXPIRED', state)`;
