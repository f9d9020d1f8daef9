import { InvalidArgumentError } from '@commander-js/extra-typings';
import type { License, Licet } from '@licet/client';
import type { Entitlement, OwnEntitlements } from '@licet/contract/entitlements';
import { ENTITLEMENT_NAME, ENTITLEMENT_TEXT } from '@licet/contract/limits';
import { clockTime } from '@licet/contract/time-zone';
import { entitlementsText, entitlementValue } from '../entitlements.ts';
import { expiryField, futureMoment } from './session.ts';

/** The options for what a license allows (11). */

/** The entitlements that options name: null for one of the product to take away, undefined for one to remove. */
type Named = Readonly<Record<string, Entitlement | null | undefined>>;

function checkedName(name: string): string {
  if (ENTITLEMENT_NAME.test(name)) return name;
  throw new InvalidArgumentError(
    'Give a name, or a name and a value, such as edition=gold. The name has 1 to 40 lower-case letters, digits and signs "_", "." and "-", and begins with a letter.',
  );
}

/** Parses `pro` or `edition=gold`. */
function namedArgument(text: string, earlier: Named = {}): Named {
  const [name = '', ...values] = text.split('=');
  const value = values.length === 0 ? 'true' : values.join('=');
  return { ...earlier, [checkedName(name)]: value === '' ? undefined : entitlementValue(value) };
}

const takeAwayArgument = (name: string, earlier: Named = {}): Named => ({
  ...earlier,
  [checkedName(name)]: null,
});

/** The arguments of `option()` for entitlements to set. */
export const ENTITLEMENT_OPTION = [
  '--entitlement <name=value>',
  'an entitlement; a name alone is true; again for another one; nothing after = removes it',
  namedArgument,
] as const;

/** The arguments of `option()` for entitlements to take away. It has the value of the option above, so the last one counts. */
export const NO_ENTITLEMENT_OPTION = [
  '--no-entitlement <name>',
  'take an entitlement away: at a license, also one of the product',
  takeAwayArgument,
] as const;

/** Dates by name. */
type Ends = Readonly<Record<string, string>>;

function endArgument(text: string, earlier: Ends = {}): Ends {
  const [name = '', date = ''] = text.split('=', 2);
  return { ...earlier, [checkedName(name)]: futureMoment(date) };
}

/** The arguments of `option()` for the ends of entitlements. */
export const END_OPTION = [
  '--entitlement-end <name=date>',
  'when an entitlement ends, or never; a date is the end of that day, in the time zone of the service',
  endArgument,
] as const;

/** The arguments of `option()` for an entitlement to find. */
export const ENTITLEMENT_FILTER = [
  '--entitlement <name:value>',
  'only those that have this entitlement now, by its name alone or with its value',
  (text: string): string => {
    const [name = '', ...values] = text.split(/[:=]/);
    const value = text.slice(name.length + 1);
    if (values.length === 0) return checkedName(name);
    if (ENTITLEMENT_TEXT.test(value)) return `${checkedName(name)}:${value}`;
    throw new InvalidArgumentError('Give a name, or a name and a value, such as edition:gold.');
  },
] as const;

/** The values without those that are undefined. */
const present = <Value>(values: Readonly<Record<string, Value | undefined>>) =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );

/** The entitlements of a product, or of what a market sells: the current ones with those that options name. */
export const namedInProduct = (
  current: Readonly<Record<string, Entitlement>>,
  named: Named,
): Record<string, Entitlement> =>
  present(
    Object.fromEntries(
      Object.entries({ ...current, ...named }).map(([name, value]) => [name, value ?? undefined]),
    ),
  );

interface EntitlementOptions {
  entitlement?: Named | undefined;
  entitlementEnd?: Ends | undefined;
}

type Fields = Pick<License, 'entitlements' | 'entitlementsExpire'>;

/** The entitlements of a license with those that options name. One that is removed or taken away has no end any longer. */
export async function namedInLicense(
  licet: Licet,
  { entitlement = {}, entitlementEnd = {} }: EntitlementOptions,
): Promise<(current: Fields) => Fields> {
  const ends: Record<string, string | undefined> = {};
  for (const [name, value] of Object.entries(entitlement)) {
    if (value === undefined || value === null) ends[name] = undefined;
  }
  for (const [name, date] of Object.entries(entitlementEnd)) {
    ends[name] = (await expiryField(licet, date)) ?? undefined;
  }
  return (current) => ({
    entitlements: present({ ...current.entitlements, ...entitlement }),
    entitlementsExpire: present({ ...current.entitlementsExpire, ...ends }),
  });
}

/** Entitlements as people read them: `edition=gold, pro`. */
export const entitlementsShown = (values: OwnEntitlements): string =>
  entitlementsText(values, ', ');

/** The rows of a license: what counts, its own values, and the ends. */
export const entitlementRows = (
  { effectiveEntitlements, entitlements, entitlementsExpire }: License,
  timeZone: string,
): Record<string, string> => ({
  Entitlements: entitlementsShown(effectiveEntitlements),
  'Own entitlements': entitlementsShown(entitlements),
  'Entitlements end': Object.entries(entitlementsExpire)
    .map(([name, end]) => `${name} ${clockTime(Date.parse(end), timeZone)} (${timeZone})`)
    .join(', '),
});
