import type { LICENSE_TYPES, LicenseState, LicenseStatus } from '@licet/contract/enums';
import { type SQL, sql } from 'drizzle-orm';
import { DomainError } from '../../lib/errors.ts';

/** The rules of a license: its key, its status, and those for more than one field. */

/** Crockford's alphabet: no I, L, O, U, which are misread or make words. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const GROUPS = 5;
const GROUP_LENGTH = 4;

/** A new license key, such as `7K2M-9QX4-B3TD-WJ8R-5HVN`: 100 random bits [1]. */
export function newLicenseKey(): string {
  const newGroup = () => {
    const bytes = crypto.getRandomValues(new Uint8Array(GROUP_LENGTH));
    // 256 is a multiple of 32: every character is equally likely.
    return Array.from(bytes, (byte) => ALPHABET.charAt(byte % ALPHABET.length)).join('');
  };
  return Array.from({ length: GROUPS }, newGroup).join('-');
}

/** SQLite ends a text at NUL, and UTF-8 has no lone surrogates. */
export const toSqliteText = (text: string): string => text.toWellFormed().replaceAll('\0', '');

/**
 * Normalizes a key, which is compared without regard to case and to surrounding blanks (1.2). JavaScript's
 * `trim` also removes line ends and byte-order marks.
 */
export const normalizeLicenseKey = (licenseKey: string): string =>
  toSqliteText(licenseKey).trim().toUpperCase();

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

type LicenseType = (typeof LICENSE_TYPES)[number];

/** The values that are bound to a license. */
interface Bound {
  ips: readonly string[];
  hwids: readonly string[];
}

/** The state to store. EXPIRED is written as ACTIVE, because it follows from the expiry (2). */
export const stateOf = (status: LicenseStatus): LicenseState =>
  status === 'EXPIRED' ? 'ACTIVE' : status;

/**
 * The expiry to store, in milliseconds since 1970 (2).
 *
 * @throws DomainError for a TEMPORARY license without one, and a PERMANENT one with one
 */
export function expiryOf(licenseType: LicenseType, expiresAt: number | null): number | null {
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
  current: { licenseType: LicenseType; expiresAt: number | null },
  licenseType: LicenseType,
  expiresAt: number | null | undefined,
): number | null {
  const sent = expiresAt === undefined ? current.expiresAt : expiresAt;
  const becomesPermanent = licenseType === 'PERMANENT' && current.licenseType === 'TEMPORARY';
  return becomesPermanent && sent === current.expiresAt ? null : expiryOf(licenseType, sent);
}

/** Rejects new values over a limit. Values that are bound already may exceed a lowered limit (1.4). */
export function checkLimits(
  values: Bound & { maxIPs: number; maxHWIDs: number },
  bound: Bound,
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
