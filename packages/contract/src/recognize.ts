import { readKey } from './license-key.ts';
import { MAX_HWID_BYTES } from './limits.ts';

/** The kind of a pasted text, recognized by its form. */
export type Kind = 'key' | 'address' | 'email' | 'account' | 'number' | 'hardware' | 'text';

/** Imported keys can have letters that the service leaves out. */
const KEY = /^[0-9A-Z]{4}(-[0-9A-Z]{4}){4}$/;
/** A hardware ID can look the same. */
const HAS_BOTH = /^(?=.*\d)(?=.*[A-Z])/;
const OCTET = '(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
const IPV4 = new RegExp(`^${OCTET}(\\.${OCTET}){3}(/\\d{1,2})?$`);
/** With `::` or in full. A MAC address is neither. */
const IPV6 = /^(?=.*::|(?:[^:]*:){6}[^:]*[:.])[0-9a-f:.]{2,45}(\/\d{1,3})?$/i;
const EMAIL = /^[^\s@]+@[^\s@]+\.[^\s@]+$/;
/** The ids of chat services have 17 to 20 digits. */
const ACCOUNT = /^\d{15,20}$/;
const NUMBER = /^\d{1,14}$/;
/** One word with digits, of the length that programs use. */
const HARDWARE = new RegExp(`^(?=.*\\d)[\\w.:{}=+/-]{12,${MAX_HWID_BYTES}}$`);

/** Recognizes a key, an address, an e-mail, an account or a hardware ID; all else is text. */
export function recognize(pasted: string): Kind {
  if (keyOf(pasted) !== undefined) return 'key';
  if (IPV4.test(pasted) || IPV6.test(pasted)) return 'address';
  if (EMAIL.test(pasted)) return 'email';
  if (ACCOUNT.test(pasted)) return 'account';
  if (NUMBER.test(pasted)) return 'number';
  return HARDWARE.test(pasted) ? 'hardware' : 'text';
}

/** The license key in a pasted text, in groups and capitals; undefined if it has not the form of one. */
export function keyOf(pasted: string): string | undefined {
  const [plain = '', own = ''] = readKey(pasted);
  if (KEY.test(plain)) return plain;
  return KEY.test(own) && HAS_BOTH.test(plain) ? own : undefined;
}
