import { toStorable } from '../../lib/text.ts';

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

/**
 * Normalizes a key, which is compared without regard to case and to surrounding blanks (1.2). JavaScript's
 * `trim` also removes line ends and byte-order marks.
 */
export const normalizeLicenseKey = (licenseKey: string): string =>
  toStorable(licenseKey).trim().toUpperCase();
