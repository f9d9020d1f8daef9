import type { License } from '@licet/client';

/** Entitlements as people type and read them. */

export type Entitlements = License['effectiveEntitlements'];
type Entitlement = Entitlements[string];

/** The value as a field has it: true is an empty one. */
export const entitlementText = (value: Entitlement): string =>
  value === true ? '' : String(value);

/** The value that a text means: a number if it is an integer, and true if it is empty. */
export function entitlementValue(typed: string): Entitlement {
  const text = typed.trim();
  if (text === '' || text === 'true') return true;
  const number = Number(text);
  return /^-?\d+$/.test(text) && Number.isSafeInteger(number) ? number : text;
}

/** All of them as text, such as `edition = gold`, a line for each. Null is one that is taken away. */
export const entitlementLines = (entitlements: object, takenAway = ''): string =>
  Object.entries<unknown>({ ...entitlements })
    .map(([name, value]) => {
      if (value === null) return `${name}: ${takenAway}`;
      return value === true ? name : `${name} = ${value}`;
    })
    .join('\n');
