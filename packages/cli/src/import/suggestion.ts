import { FIELDS } from './fields.ts';
import type { Kind } from './kinds.ts';

/** Suggests the right field for an unknown name. */

/** Names in the tables of shops, without case and blanks, by the field that they mean. */
const SYNONYMS = Object.entries({
  licenseKey: 'key license licence licencekey serial serialnumber',
  productId: 'product',
  licenseType: 'type',
  productType: 'type',
  licenseDataType: 'type',
  licenseStatus: 'status state',
  expiryDate: 'expires expiresat expireson expiry expiration expirationdate validuntil enddate',
  ips: 'ip address addresses ipaddress ipaddresses',
  hwids: 'hwid hardwareid hardwareids machineid',
  maxIPs: 'iplimit',
  maxHWIDs: 'hwidlimit',
  notes: 'note comment comments',
  reason: 'note notes comment comments',
  data: 'value ip hwid address',
  createdDate: 'created createdat',
  createdAt: 'created createddate',
  email: 'mail emailaddress customer customeremail buyer owner',
  phoneNumber: 'phone',
  firstName: 'name',
}).map(([field, words]) => [field, words.split(' ')] as const);

const folded = (name: string): string => name.replaceAll(/[\s_-]+/g, '').toLowerCase();

/** The number of letters to insert, delete or replace (Levenshtein). */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [line, letter] of [...one].entries()) {
    const next = [line + 1];
    for (const [index, above] of row.slice(1).entries()) {
      const replaced = (row[index] ?? 0) + (other[index] === letter ? 0 : 1);
      next.push(Math.min(replaced, above + 1, (next[index] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

const MIN_MISSPELT_LENGTH = 4;
const MAX_LENGTH = 60;

/** The field with at most one wrong letter in each four, and at most two. */
function nearestField(fields: readonly string[], word: string): string | undefined {
  if (word.length < MIN_MISSPELT_LENGTH || word.length > MAX_LENGTH) return undefined;
  const distances = fields.map((field) => distance(word, folded(field)));
  const least = Math.min(...distances);
  return least <= Math.min(2, word.length / 4) ? fields[distances.indexOf(least)] : undefined;
}

/** The field that an unknown name probably means. */
export function meantField(kind: Kind, name: string): string | undefined {
  const fields = FIELDS[kind];
  const word = folded(name);
  const fieldLike = (wanted: string) => fields.find((field) => folded(field) === wanted);
  const [synonym] = SYNONYMS.flatMap(([field, words]) => {
    if (!words.includes(word)) return [];
    return [field, `customer.${field}`].filter((each) => fields.includes(each));
  });
  return fieldLike(word) ?? synonym ?? fieldLike(`customer.${word}`) ?? nearestField(fields, word);
}
