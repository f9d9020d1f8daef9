import {
  countGlobal,
  firstOfSlots,
  globalAddress,
  LOCAL_ADDRESS,
  slotOf,
} from '@licet/contract/addresses';
import { DAY_MS } from '@licet/contract/durations';
import type { LICENSE_TYPES, LicenseState, LicenseStatus } from '@licet/contract/enums';
import {
  DOCTOR_KEY,
  KEY_ALPHABET,
  KEY_GROUP_LENGTH,
  KEY_GROUPS,
  readCode,
  readKey,
} from '@licet/contract/license-key';
import { type SQL, sql } from 'drizzle-orm';
import { DomainError } from '../../lib/errors.ts';
import type { products } from '../products/schema.ts';

/** The rules of a license: its key, its status, and those for more than one field. */

/** A new code for people, with 20 random bits in each group. */
export function newCode(groups: number): string {
  const newGroup = () => {
    const bytes = crypto.getRandomValues(new Uint8Array(KEY_GROUP_LENGTH));
    // 256 is a multiple of 32: every character is equally likely.
    return Array.from(bytes, (byte) => KEY_ALPHABET.charAt(byte % KEY_ALPHABET.length)).join('');
  };
  return Array.from({ length: groups }, newGroup).join('-');
}

/** A new license key, such as `7K2M-9QX4-B3TD-WJ8R-5HVN`: 100 random bits [1]. */
export const newLicenseKey = (): string => newCode(KEY_GROUPS);

/** SQLite ends a text at NUL, and UTF-8 has no lone surrogates. */
export const toSqliteText = (text: string): string => text.toWellFormed().replaceAll('\0', '');

/**
 * Normalizes a key as it was sent, which is compared without regard to case and to surrounding blanks (1.2). JavaScript's
 * `trim` also removes line ends and byte-order marks.
 */
export const normalizeLicenseKey = (licenseKey: string): string =>
  toSqliteText(licenseKey).trim().toUpperCase();

/**
 * The normalized keys that a text can mean, in their order (1.2): as it was sent, then as a person reads it. A reading
 * means a license only if it is the normalized key of that license.
 */
export const keysMeantBy = (licenseKey: string): string[] => [
  ...new Set([normalizeLicenseKey(licenseKey), ...readKey(toSqliteText(licenseKey).trim())]),
];

/** As many characters of a key as may be shown where the key itself must not: its last group. */
export const KEY_END_LENGTH = 4;

/** The last characters of a key. */
export const keyEnd = (licenseKey: string): string => licenseKey.slice(-KEY_END_LENGTH);

/** The normalized ends of keys that a text can mean, also with the dots before it with which they are shown. */
export const keyEndsMeantBy = (text: string): string[] => {
  const end = text.replace(/^[.…]+/, '');
  return [...keysMeantBy(end), readCode(end)].filter((one) => one.length === KEY_END_LENGTH);
};

/** Begins the sentence that BuiltByBit writes into a file for which it got no key. */
const SENTENCE = /^UNABLE ?TO ?ACQUIRE ?A ?LICENSE ?KEY ?AUTOMATICALLY/;
/** A placeholder that a market should have replaced: `%%__LICENSE__%%`. Its name has no fixed form. */
const PLACEHOLDER = /^%%.+%%$/s;

/** Why a normalized key can be that of no license (7), and the way to fix it; undefined for any other key. */
export function whyNoKey(key: string): string | undefined {
  if (key === DOCTOR_KEY) {
    return 'npm run doctor sent this request to try the service: there is nothing to do';
  }
  if (SENTENCE.test(key)) {
    return 'The market got no key for this file: the customer must download the file again';
  }
  if (PLACEHOLDER.test(key)) {
    return 'The market did not replace the placeholder in this file: the customer must download the file again';
  }
  return undefined;
}

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

/** The `expiresAt` of a license that waits for its first use (7): the last time there is, so it is not EXPIRED. */
export const EXPIRES_LATER = 8_640_000_000_000_000;

/** The end of a license as it is stored: a time, or the days from its first use. PERMANENT has neither. */
export interface StoredExpiry {
  expiresAt: number | null;
  expiresAfterDays: number | null;
}

/** The end of a license as it is sent: at most one of both. */
export interface SentExpiry {
  /** In milliseconds since 1970. */
  expiryDate: number | null;
  expiresAfterDays: number | null;
}

export const NEVER: StoredExpiry = { expiresAt: null, expiresAfterDays: null };

/** The end of a license from its first use on (7). @param now milliseconds since 1970 */
export const startedExpiryOf = (
  { expiresAt, expiresAfterDays }: StoredExpiry,
  now: number,
): StoredExpiry =>
  expiresAfterDays === null
    ? { expiresAt, expiresAfterDays }
    : { expiresAt: now + expiresAfterDays * DAY_MS, expiresAfterDays: null };

/** The end of a license as it is sent and shown. */
export const sentExpiryOf = ({ expiresAt, expiresAfterDays }: StoredExpiry): SentExpiry => ({
  expiryDate: expiresAfterDays === null ? expiresAt : null,
  expiresAfterDays,
});

/**
 * The end of a license to store (2, 7).
 *
 * @throws DomainError for a TEMPORARY license without one, a PERMANENT one with one, and two
 */
export function storedExpiryOf(
  licenseType: LicenseType,
  { expiryDate, expiresAfterDays }: SentExpiry,
): StoredExpiry {
  if (expiryDate !== null && expiresAfterDays !== null) {
    throw new DomainError(
      'invalid',
      'expiryDate and expiresAfterDays exclude each other: send one of them',
      'expiresAfterDays',
    );
  }
  if (licenseType === 'PERMANENT') {
    if (expiryDate === null && expiresAfterDays === null) return NEVER;
    // A license that was meant for a year must not become PERMANENT by mistake.
    const field = expiryDate === null ? 'expiresAfterDays' : 'expiryDate';
    throw new DomainError('invalid', `${field} needs licenseType TEMPORARY`, field);
  }
  if (expiresAfterDays !== null) return { expiresAt: EXPIRES_LATER, expiresAfterDays };
  if (expiryDate !== null) return { expiresAt: expiryDate, expiresAfterDays: null };
  throw new DomainError(
    'missing',
    'expiryDate or expiresAfterDays is required for a TEMPORARY license',
    'expiryDate',
  );
}

/** The values of a product for licenses that name none of their own. */
export type LicenseDefaults = Pick<
  typeof products.$inferSelect,
  'defaultMaxIPs' | 'defaultMaxHWIDs' | 'defaultExpiresAfterDays'
>;

/**
 * The limits and the end of a new license, of its own or of its product. The days count where a TEMPORARY one has no date.
 *
 * @throws DomainError like {@link storedExpiryOf}
 */
export function withDefaults(
  given: SentExpiry & { licenseType: LicenseType; maxIPs: number | null; maxHWIDs: number | null },
  defaults: LicenseDefaults,
) {
  const { licenseType, expiryDate, expiresAfterDays, maxIPs, maxHWIDs } = given;
  const needsDays = licenseType === 'TEMPORARY' && expiryDate === null;
  const days = expiresAfterDays ?? (needsDays ? defaults.defaultExpiresAfterDays : null);
  return {
    ...storedExpiryOf(licenseType, { expiryDate, expiresAfterDays: days }),
    maxIPs: maxIPs ?? defaults.defaultMaxIPs,
    maxHWIDs: maxHWIDs ?? defaults.defaultMaxHWIDs,
  };
}

/**
 * The end to store after a PUT: a date ends the waiting, and days begin it. A license that becomes PERMANENT may carry
 * its old end, which goes (2).
 *
 * @throws DomainError like {@link storedExpiryOf}
 */
export function updatedExpiryOf(
  current: StoredExpiry & { licenseType: LicenseType },
  licenseType: LicenseType,
  sent: { [Field in keyof SentExpiry]: SentExpiry[Field] | undefined },
): StoredExpiry {
  const shown = sentExpiryOf(current);
  const {
    expiryDate = sent.expiresAfterDays == null ? shown.expiryDate : null,
    expiresAfterDays = sent.expiryDate == null ? shown.expiresAfterDays : null,
  } = sent;
  const isAsBefore = expiryDate === shown.expiryDate && expiresAfterDays === shown.expiresAfterDays;
  const becomesPermanent = licenseType === 'PERMANENT' && current.licenseType === 'TEMPORARY';
  if (becomesPermanent && isAsBefore) return NEVER;
  return storedExpiryOf(licenseType, { expiryDate, expiresAfterDays });
}

/**
 * The addresses that a license gets when a client sends some: those that are bound, and the first new one of each slot
 * (1.4).
 *
 * @throws DomainError for a new one that does not say where a machine is (1.2)
 */
export function addressesToBind(
  sent: readonly string[],
  bound: readonly string[],
  ipv6SlotPrefix: number,
): string[] {
  const known = new Set(bound);
  const addresses = sent.map((ip) => {
    const address = known.has(ip) ? ip : globalAddress(ip);
    if (address !== null) return address;
    throw new DomainError(
      'invalid',
      `ips must not have ${ip}, which ${LOCAL_ADDRESS}: leave it out`,
      'ips',
    );
  });
  return firstOfSlots(addresses, ipv6SlotPrefix);
}

/** Rejects new values over a limit. Values that are bound already may exceed a lowered limit (1.4). */
export function checkLimits(
  values: Bound & { maxIPs: number; maxHWIDs: number },
  bound: Bound,
  ipv6SlotPrefix: number,
): void {
  const slots = ({ ips, hwids }: Bound) => ({
    ips: ips.map((ip) => slotOf(ip, ipv6SlotPrefix)),
    hwids,
  });
  const [wanted, known] = [slots(values), slots(bound)];
  checkLimit('ips', wanted.ips, known.ips, 'maxIPs', values.maxIPs, countGlobal(values.ips));
  checkLimit('hwids', wanted.hwids, known.hwids, 'maxHWIDs', values.maxHWIDs);
}

/** @param count the number of values that count */
function checkLimit(
  name: string,
  values: readonly string[],
  bound: readonly string[],
  limitName: string,
  limit: number,
  count = values.length,
): void {
  if (limit === -1 || count <= limit) return;
  const known = new Set(bound);
  if (values.some((value) => !known.has(value))) {
    throw new DomainError(
      'invalid',
      `${name} must be at most ${limit} in number, the limit in ${limitName}`,
      name,
    );
  }
}
