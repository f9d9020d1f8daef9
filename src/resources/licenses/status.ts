import type { LicenseState, LicenseStatus } from '../../lib/enums';

/**
 * A license's status at a moment (milliseconds since 1970): EXPIRED, which is never stored, from the
 * very millisecond of its expiry (2).
 */
export function statusAt(
  license: { state: LicenseState; expiresAt: number | null },
  now: number,
): LicenseStatus {
  const isExpired = license.expiresAt !== null && license.expiresAt <= now;
  return license.state === 'ACTIVE' && isExpired ? 'EXPIRED' : license.state;
}
