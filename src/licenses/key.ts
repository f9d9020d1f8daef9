/** Crockford's alphabet: no I, L, O, U, which are misread or make words. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const GROUPS = 5;
const GROUP_LENGTH = 4;

/** A new license key, such as `7K2M-…`: five groups of four, 100 random bits [1]. */
export function newLicenseKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(GROUPS * GROUP_LENGTH));
  // 256 is a multiple of 32: five bits of each byte, every character equally likely.
  const characters = Array.from(bytes, (byte) => ALPHABET.charAt(byte % ALPHABET.length)).join('');
  return characters.match(/.{4}/g)?.join('-') ?? characters;
}
