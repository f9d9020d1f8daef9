import {
  LICENSE_DATA_TYPES,
  LICENSE_PLATFORMS,
  LICENSE_STATUSES,
  LICENSE_TYPES,
  PRODUCT_TYPES,
} from '@licet/contract/enums';

/** The words for statuses and types that other services and people use. */

const table = (words: Readonly<Record<string, string>>): ReadonlyMap<string, string> =>
  new Map(
    Object.entries(words).flatMap(([value, list]) =>
      list.split(' ').map((word) => [word, value] as const),
    ),
  );

const STATUSES = table({
  ACTIVE:
    'active activated enabled valid ok sold delivered assigned issued inuse paid succeeded complete completed trialing ' +
    'pastdue expiring live partiallyrefunded true 1 yes on',
  DEACTIVATED:
    'deactivated inactive disabled suspended banned blocked revoked locked cancelled canceled terminated refunded ' +
    'disputed chargeback failed unpaid paused onhold incomplete incompleteexpired void voided false 0 no off',
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
  return WORDS.get(field)?.get(text.replaceAll(/[\s_-]+/g, '').toLowerCase()) ?? value;
}

/** Columns that say when or whether a license ended: `suspended`, `Revoked At`. */
const ENDING =
  /^(?:is)?(?:suspended|revoked|banned|blocked|disabled|deactivated|inactive|cancell?ed|refunded|terminated|paused|locked|frozen|archived|voided|(deleted)|(expired))(?:at|on|date)?$/;

const NOT = /^(?:|false|0|no|off|null|0000-00-00.*)$/i;

/** The status that a column says; undefined for one that says nothing. */
export function statusIn(foldedName: string, value: unknown): unknown {
  const [isEnding, deleted, expired] = ENDING.exec(foldedName) ?? [];
  if (isEnding === undefined) return readWord('licenseStatus', value);
  if (NOT.test(String(value ?? '').trim())) return undefined;
  return deleted ? 'DELETED' : expired ? 'EXPIRED' : 'DEACTIVATED';
}

const BY_STRICTNESS: readonly unknown[] = ['ACTIVE', 'EXPIRED', 'DEACTIVATED', 'DELETED'];

/** The status of a license whose columns say several: the strictest. An unknown word stays. */
export function strictest(one: unknown, other: unknown): unknown {
  if (one === undefined) return other;
  if (other === undefined || !BY_STRICTNESS.includes(one)) return one;
  if (!BY_STRICTNESS.includes(other)) return other;
  return BY_STRICTNESS.indexOf(one) > BY_STRICTNESS.indexOf(other) ? one : other;
}
