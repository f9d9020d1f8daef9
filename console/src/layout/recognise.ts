import { MAX_HWID_BYTES } from '@licet/contract/limits';
import type { texts } from '../texts.ts';

/** The kind of a pasted text, recognised by its form. */
export type Kind = keyof typeof texts.palette.kinds;

const KEY = /^[0-9A-Z]{4}(-[0-9A-Z]{4}){4}$/i;
const IPV4 = /^\d{1,3}(\.\d{1,3}){3}(\/\d{1,2})?$/;
/** With `::` or in full. A MAC address is neither. */
const IPV6 = /^(?=.*::|(?:[^:]*:){6}[^:]*[:.])[0-9a-f:.]{2,45}(\/\d{1,3})?$/i;
const EMAIL = /^[^\s@]+@[^\s@]+\.[^\s@]+$/;
/** The ids of chat services have 17 to 20 digits. */
const ACCOUNT = /^\d{15,20}$/;
const NUMBER = /^\d{1,14}$/;
/** One word with digits, of the length that programs use. */
const HARDWARE = new RegExp(`^(?=.*\\d)[\\w.:{}=+/-]{12,${MAX_HWID_BYTES}}$`);

/** Recognises a key, an address, an e-mail, an account or a hardware ID; all else is text. */
export function recognise(pasted: string): Kind {
  if (KEY.test(pasted)) return 'key';
  if (IPV4.test(pasted) || IPV6.test(pasted)) return 'address';
  if (EMAIL.test(pasted)) return 'email';
  if (ACCOUNT.test(pasted)) return 'account';
  if (NUMBER.test(pasted)) return 'number';
  return HARDWARE.test(pasted) ? 'hardware' : 'text';
}
