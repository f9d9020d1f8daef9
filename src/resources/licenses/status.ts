import type { LicenseState, LicenseStatus } from '../../lib/enums';

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
