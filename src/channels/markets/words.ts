import { MAX_LONG_TEXT_LENGTH } from '@licet/contract/limits';
import { toTimestamp } from '@licet/contract/time';
import type { EventChanges } from '../../db/events.ts';
import { EXPIRES_LATER, statusAt } from '../../resources/licenses/rules.ts';
import type { MarketRow } from './source.ts';
import type { LicenseChange, PurchaseValues } from './state.ts';

/** The words for people about purchases: notes of licenses, and fields of events. */

/** The fields of a purchase in an event: none about a person. */
export function shownChanges(
  market: MarketRow,
  { item, quantity, isTest }: Pick<PurchaseValues, 'item' | 'quantity' | 'isTest'>,
  others: Record<string, unknown>,
): EventChanges {
  const shown = { market: market.name, item, quantity, ...(isTest && { isTest }), ...others };
  return Object.fromEntries(
    Object.entries(shown).map(([name, after]) => [name, { before: null, after }]),
  );
}

export const noteOf = (market: MarketRow, what: string, now: number): string =>
  `${toTimestamp(now).slice(0, 10)}, ${market.name}: ${what}`;

/** Notes with another line, unless they would be too long. */
export const withNote = (notes: string, note: string): string => {
  const noted = notes === '' ? note : `${notes}\n${note}`;
  return noted.length > MAX_LONG_TEXT_LENGTH ? notes : noted;
};

type End = Pick<LicenseChange['after'], 'expiresAt' | 'expiresAfterDays'>;

export const isEndChanged = (before: End, after: End): boolean =>
  before.expiresAt !== after.expiresAt || before.expiresAfterDays !== after.expiresAfterDays;

const shownLicense = (one: Pick<LicenseChange['after'], 'state'> & End, now: number) => ({
  licenseStatus: statusAt(one, now),
  expiryDate:
    one.expiresAt === null || one.expiresAt === EXPIRES_LATER ? null : toTimestamp(one.expiresAt),
  expiresAfterDays: one.expiresAfterDays,
});

/** The fields of a changed license in its event. */
export function licenseChanges({ before, after }: LicenseChange, now: number): EventChanges {
  const [old, current] = [shownLicense(before, now), shownLicense(after, now)];
  return Object.fromEntries(
    (['licenseStatus', 'expiryDate', 'expiresAfterDays'] as const).flatMap((name) =>
      old[name] === current[name]
        ? []
        : [[name, { before: old[name], after: current[name] }] as const],
    ),
  );
}
