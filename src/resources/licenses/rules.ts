import type { LicenseState, LicenseStatus } from '@licet/contract/enums';
import { DomainError } from '../../lib/errors.ts';
import type { LicenseValues } from './row.ts';

/** The rules of a license for more than one field. They throw a DomainError with the name of the field. */

/** The state to store. EXPIRED is written as ACTIVE, because it follows from the expiry (2). */
export const stateOf = (status: LicenseStatus): LicenseState =>
  status === 'EXPIRED' ? 'ACTIVE' : status;

/**
 * The expiry to store, in milliseconds since 1970 (2).
 *
 * @throws DomainError for a TEMPORARY license without one, and a PERMANENT one with one
 */
export function expiryOf(
  licenseType: LicenseValues['licenseType'],
  expiresAt: number | null,
): number | null {
  if (licenseType === 'TEMPORARY' && expiresAt === null) {
    throw new DomainError(
      'missing',
      'expiryDate is required for a TEMPORARY license',
      'expiryDate',
    );
  }
  // A license that was meant for a year must not become PERMANENT by mistake.
  if (licenseType === 'PERMANENT' && expiresAt !== null) {
    throw new DomainError('invalid', 'expiryDate needs licenseType TEMPORARY', 'expiryDate');
  }
  return expiresAt;
}

/** The expiry to store after a PUT. A license that becomes PERMANENT may carry its old date, which goes (2). */
export function updatedExpiryOf(
  current: Pick<LicenseValues, 'licenseType' | 'expiresAt'>,
  licenseType: LicenseValues['licenseType'],
  expiresAt: number | null | undefined,
): number | null {
  const sent = expiresAt === undefined ? current.expiresAt : expiresAt;
  const becomesPermanent = licenseType === 'PERMANENT' && current.licenseType === 'TEMPORARY';
  return becomesPermanent && sent === current.expiresAt ? null : expiryOf(licenseType, sent);
}

/** Rejects new values over a limit. Values that are bound already may exceed a lowered limit (1.4). */
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
    throw new DomainError(
      'invalid',
      `${name} must be at most ${limit} in number, the limit in ${limitName}`,
      name,
    );
  }
}
