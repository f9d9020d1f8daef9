import { licenseFields } from '@licet/contract/licenses';
import { settable } from '@licet/contract/resource';
import { type SQL, sql } from 'drizzle-orm';
import { differ, type EventChanges } from '../../db/events.ts';
import { isForgotten } from '../customers/row.ts';
import { type LicenseRow, type LicenseValues, wireValues } from './row.ts';
import { keyEnd } from './rules.ts';

/** The changes of a license that its events show (5). */

const FIELDS = Object.keys(settable(licenseFields));

/** The fields that can be about a person. */
export const PERSONAL_FIELDS = [
  'licensePlatformOther',
  'ownerPlatformId',
  'ownerChatId',
  'ownerChatUsername',
  'ips',
  'hwids',
  'notes',
  'metadata',
  // The fields of events of the service (8).
  'ip',
  'hwid',
];

/** The event of a batch names no license, so personal fields in it could not be found and erased. */
const FIELDS_OF_BATCH = FIELDS.filter((name) => !PERSONAL_FIELDS.includes(name));

/** The fields that a client sets, as GET shows them. */
const shown = (values: LicenseValues, now: number) => ({ ...values, ...wireValues(values, now) });

/**
 * The changed fields of a license. For a license of a forgotten customer the personal fields have no
 * values: the bindings, which stay, can be freed later.
 *
 * @param now milliseconds since 1970
 */
export function changesOfLicense(
  before: LicenseRow,
  after: LicenseValues,
  now: number,
): EventChanges {
  const changes = differ(FIELDS)(shown(before, now), shown(after, now));
  if (before.customer === null || !isForgotten(before.customer)) return changes;
  return Object.fromEntries(
    Object.entries(changes).map(([name, change]) => [
      name,
      PERSONAL_FIELDS.includes(name) ? { before: null, after: null } : change,
    ]),
  );
}

/** The last groups of the key that a license had, and of its new one. */
export const changeOfKey = (before: LicenseRow, licenseKey: string): EventChanges => ({
  licenseKey: { before: keyEnd(before.licenseKey), after: keyEnd(licenseKey) },
});

/** The fields of new licenses: the last group of its key for one license, the number of them for several. */
export function changesOfNew(
  values: LicenseValues,
  licenseKeys: readonly string[],
  now: number,
): EventChanges {
  const [key, ...others] = licenseKeys;
  return key !== undefined && others.length === 0
    ? {
        licenseKey: { before: null, after: keyEnd(key) },
        ...differ(FIELDS)(null, shown(values, now)),
      }
    : {
        count: { before: 0, after: licenseKeys.length },
        ...differ(FIELDS_OF_BATCH)(null, shown(values, now)),
      };
}

/** Changes as JSON in SQL, with the `customerId` if it differs. */
export function withCustomer(changes: EventChanges, before: number | null, after: SQL): SQL {
  const json = JSON.stringify(changes);
  return sql`case when ${after} is ${before} then ${json} else json_set(${json}, '$.customerId',
    json_object('before', ${before}, 'after', ${after})) end`;
}

type Slots = Pick<LicenseValues, 'ips' | 'hwids'>;

/** Whether a change leaves fewer addresses or hardware IDs bound. */
export const freesSlots = (before: Slots, after: Slots): boolean =>
  after.ips.length < before.ips.length || after.hwids.length < before.hwids.length;
