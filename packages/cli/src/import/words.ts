import {
  LICENSE_DATA_TYPES,
  LICENSE_PLATFORMS,
  LICENSE_STATUSES,
  LICENSE_TYPES,
  PRODUCT_TYPES,
} from '@licet/contract/enums';

/** The words for statuses and types that other services and people use. */

/** The words for yes and no: of people, of programs, and of spreadsheets in the languages of Europe. */
const TRUE =
  /^(?:true|t|yes|y|1|on|checked|wahr|ja|j|vrai|oui|verdadero|vero|s[iíì]|verdadeiro|sim|waar|prawda|tak|pravda|ano|sant|sand|tosi|igaz|igen|doğru|evet|истина|да)$/iu;
const FALSE =
  /^(?:false|f|no|n|0|off|unchecked|falsch|nein|faux|non|falso|falso|não|onwaar|nee|fałsz|nie|nepravda|ne|falskt?|nej|epätosi|ei|hamis|nem|yanlış|hayır|ложь|нет)$/iu;

/** Whether a word means yes or no; undefined for any other. */
export function truthOf(value: unknown): boolean | undefined {
  const text = String(value).trim();
  if (TRUE.test(text)) return true;
  return FALSE.test(text) ? false : undefined;
}

const table = (words: Readonly<Record<string, string>>): ReadonlyMap<string, string> =>
  new Map(
    Object.entries(words).flatMap(([value, list]) =>
      list.split(' ').map((word) => [word, value] as const),
    ),
  );

/** Words for a license that no longer counts, which other services also have as columns of their own. */
const ENDED =
  'deactivated inactive disabled suspended banned blocked revoked locked cancelled canceled terminated refunded disputed ' +
  'paused frozen archived void voided killed invalidated chargebacked blacklisted onhold';
const ENDINGS = [...ENDED.split(' '), 'deleted', 'expired'];

const STATUSES = table({
  ACTIVE:
    'active activated enabled valid ok sold delivered assigned issued inuse paid succeeded complete completed trialing ' +
    'pastdue expiring live partiallyrefunded',
  DEACTIVATED: `${ENDED} chargeback failed unpaid incomplete incompleteexpired`,
  EXPIRED: 'expired lapsed',
  DELETED: 'deleted trash trashed removed',
});

const TYPES = table({
  PERMANENT: 'permanent lifetime perpetual unlimited onetime full',
  TEMPORARY:
    'temporary subscription recurring trial timed timelimited limited monthly yearly annual rental',
});

const DATA_TYPES = table({
  IP: 'ip ipaddress address ipv4 ipv6',
  HWID: 'hwid hardwareid hardware machine machineid fingerprint',
});

const WORDS: ReadonlyMap<string, ReadonlyMap<string, string>> = new Map([
  ['licenseStatus', STATUSES],
  ['licenseType', TYPES],
  ['licenseDataType', DATA_TYPES],
]);

const ENUMS = new Map<string, readonly string[]>([
  ['licenseStatus', LICENSE_STATUSES],
  ['licenseType', LICENSE_TYPES],
  ['licenseDataType', LICENSE_DATA_TYPES],
  ['productType', PRODUCT_TYPES],
  ['licensePlatform', LICENSE_PLATFORMS],
]);

/** The value of an enumeration that a word means. The service rejects any other. */
export function readWord(field: string, value: unknown): unknown {
  const values = ENUMS.get(field);
  if (!values || !['string', 'number', 'boolean'].includes(typeof value)) return value;
  const text = String(value).trim();
  const asValue = text.replaceAll(/[\s-]+/g, '_').toUpperCase();
  if (values.includes(asValue)) return asValue;
  const meant = WORDS.get(field)?.get(text.replaceAll(/[\s_-]+/g, '').toLowerCase());
  if (meant !== undefined || field !== 'licenseStatus') return meant ?? value;
  const isActive = truthOf(text);
  return isActive === undefined ? value : isActive ? 'ACTIVE' : 'DEACTIVATED';
}

const ENDING = new RegExp(`^(?:is|was)?(${ENDINGS.join('|')})(?:at|on|date)?$`);

/** The folded names of the columns that say when or whether a license ended. The time of `expired_at` may be to come. */
export const ENDING_NAMES: readonly string[] = ENDINGS.flatMap((word) => {
  const names = [word, `is${word}`];
  return word === 'expired' ? names : [...names, `${word}at`, `${word}on`, `${word}date`];
});

/** Words before a name that say that it is about the license: `license_expires_at`, `lic_status`. */
const OF_LICENSE = /^(?:license|licence|lic|serial|key|subscription|access)(?=.)/;

/** A folded name without the words that say that it is about the license. */
export function nameOfLicense(foldedName: string): string {
  const rest = foldedName.replace(OF_LICENSE, '');
  return rest === foldedName ? rest : nameOfLicense(rest);
}

const NOTHING = /^(?:|null|\\N|0000-00-00.*)$/i;

/** The status that a column says; undefined for one that says nothing. */
export function statusIn(foldedName: string, value: unknown): unknown {
  const [, ending] = ENDING.exec(nameOfLicense(foldedName)) ?? [];
  if (ending === undefined) return readWord('licenseStatus', value);
  if (NOTHING.test(String(value ?? '').trim()) || truthOf(value) === false) return undefined;
  return ending === 'deleted' ? 'DELETED' : ending === 'expired' ? 'EXPIRED' : 'DEACTIVATED';
}

const BY_STRICTNESS: readonly unknown[] = ['ACTIVE', 'EXPIRED', 'DEACTIVATED', 'DELETED'];

/** The status of a license whose columns say several: the strictest. An unknown word stays. */
export function strictest(one: unknown, other: unknown): unknown {
  if (one === undefined) return other;
  if (other === undefined || !BY_STRICTNESS.includes(one)) return one;
  if (!BY_STRICTNESS.includes(other)) return other;
  return BY_STRICTNESS.indexOf(one) > BY_STRICTNESS.indexOf(other) ? one : other;
}
