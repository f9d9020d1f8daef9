import { isGlobal, slotOf } from './addresses.ts';
import type { LicenseStatus } from './enums.ts';
import { IPV6_SLOT_PREFIX } from './limits.ts';
import { type Fix, OUTCOMES, type ResponseType } from './outcomes.ts';

/** The reasons of refusals and their fixes, for the console and for assistants alike (12). */

/** The record of a refused validation, as far as its explanation needs it. */
export interface Refusal {
  responseType: ResponseType;
  productId: number | null;
  ip: string | null;
  hwid: string | null;
}

type SlotField = 'ips' | 'hwids';

interface Bound {
  ips: readonly string[];
  hwids: readonly string[];
  maxIPs: number;
  maxHWIDs: number;
}

/** The license of a refusal, as far as its explanation needs it. */
export interface RefusedLicense extends Bound {
  licenseStatus: LicenseStatus;
  productId: number;
}

/** An address with at least this many unknown keys may be guessing. */
export const GUESSED_KEYS = 3;

/** The number of different unknown keys that each address has sent. */
export function countUnknownKeys(
  records: readonly (Refusal & { licenseKey: string | null })[],
): ReadonlyMap<string, number> {
  const keys = new Map<string, Set<string>>();
  for (const { responseType, ip, licenseKey } of records) {
    if (responseType !== 'LICENSE_NOT_FOUND' || ip === null || licenseKey === null) continue;
    keys.set(ip, (keys.get(ip) ?? new Set()).add(licenseKey));
  }
  return new Map([...keys].map(([ip, { size }]) => [ip, size]));
}

/** The limit of addresses or hardware IDs; -1 for none. */
export const limitOf = (license: Bound, field: SlotField): number =>
  field === 'ips' ? license.maxIPs : license.maxHWIDs;

/** Whether a value is refused because all slots are taken by others. */
export function lacksSlot(license: Bound, field: SlotField, value: string | null): boolean {
  const limit = limitOf(license, field);
  // An address counts beside those of its kind alone.
  const isOfKind = (one: string): boolean =>
    field === 'hwids' || isGlobal(one) === (value === null || isGlobal(value));
  const values = license[field].filter(isOfKind);
  return (
    limit >= 0 && values.length >= limit && (value === null || !isBound(license, field, value))
  );
}

/** The slot of a value, if IPV6_SLOT_PREFIX is not set. */
const slotIn = (field: SlotField, value: string): string =>
  field === 'ips' ? slotOf(value, IPV6_SLOT_PREFIX.default) : value;

/** Whether a value has a slot, perhaps that of another address of its network. */
export const isBound = (license: Bound, field: SlotField, value: string): boolean =>
  license[field].some((one) => slotIn(field, one) === slotIn(field, value));

/** Whether the cause of a refusal still holds, as far as the license shows it. */
export function isStillRefused(
  license: RefusedLicense,
  { responseType, productId, ip, hwid }: Refusal,
): boolean {
  switch (responseType) {
    case 'VALID':
      return false;
    case 'LICENSE_EXPIRED':
      return license.licenseStatus === 'EXPIRED';
    case 'LICENSE_DEACTIVATED':
      return license.licenseStatus === 'DEACTIVATED';
    case 'LICENSE_DELETED':
      return license.licenseStatus === 'DELETED';
    case 'PRODUCT_MISMATCH':
      return license.productId !== productId;
    case 'MAX_IPS_REACHED':
      return lacksSlot(license, 'ips', ip);
    case 'MAX_HWIDS_REACHED':
      return lacksSlot(license, 'hwids', hwid);
    default:
      return true;
  }
}

interface Explanation {
  /** The reason in words; undefined for an outcome of a newer service. */
  name: string | undefined;
  explanation: string | undefined;
  /** Whether the cause still holds. It counts as held without the license. */
  isStillRefused: boolean;
  /** The best first. None once the cause is gone. */
  fixes: readonly Fix[];
}

/** A newer service may have an outcome that an older page does not know. */
const KNOWN: Readonly<
  Record<string, { name: string; explanation: string; fixes: readonly Fix[] }>
> = OUTCOMES;

/**
 * Explains a refusal, and lists its fixes.
 *
 * @param license its license as it is now
 * @param unknownKeys the number of unknown keys that the same address has sent
 */
export function explainRefusal(
  refusal: Refusal,
  { license, unknownKeys = 0 }: { license?: RefusedLicense; unknownKeys?: number } = {},
): Explanation {
  const { responseType, ip } = refusal;
  const known = KNOWN[responseType];
  const isRefused = license === undefined || isStillRefused(license, refusal);
  const mayBlock = ip !== null && unknownKeys >= GUESSED_KEYS;
  return {
    name: known?.name,
    explanation: known?.explanation,
    isStillRefused: isRefused,
    fixes: isRefused ? (known?.fixes ?? []).filter((fix) => fix !== 'block' || mayBlock) : [],
  };
}
