import { ApiError } from '../../http/errors';
import type { LicenseState, LicenseStatus } from '../../lib/enums';
import type { LicenseValues } from './schema';

/** What of a license depends on more than one field. All throw 400 naming the field. */

/** The states that people set; on write EXPIRED means no more than ACTIVE (2). */
export const stateOf = (status: LicenseStatus): LicenseState =>
  status === 'EXPIRED' ? 'ACTIVE' : status;

/**
 * The expiry to store, in milliseconds since 1970: none for a PERMANENT license, whatever was sent;
 * a TEMPORARY one needs it (2).
 */
export function expiryOf(
  licenseType: LicenseValues['licenseType'],
  expiresAt: number | null,
): number | null {
  if (licenseType === 'PERMANENT') return null;
  if (expiresAt !== null) return expiresAt;
  throw new ApiError(400, 'expiryDate is required for a TEMPORARY license');
}

/** What is bound already may exceed a lowered limit, new values may not (1.4). */
export function checkLimits(
  values: LicenseValues,
  bound: Pick<LicenseValues, 'ips' | 'hwids'>,
): void {
  checkLimit('ips', values.ips, bound.ips, 'maxIPs', values.maxIPs);
  checkLimit('hwids', values.hwids, bound.hwids, 'maxHWIDs', values.maxHWIDs);
}

function checkLimit(
  name: string,
  values: readonly string[],
  bound: readonly string[],
  limitName: string,
  limit: number,
): void {
  if (limit === -1 || values.length <= limit) return;
  const known = new Set(bound);
  if (values.some((value) => !known.has(value))) {
    throw new ApiError(
      400,
      `${name} must be at most ${limit} in number, the limit in ${limitName}`,
    );
  }
}
