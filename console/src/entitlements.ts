import { entitlementValueText } from '@licet/cli/entitlements';
import type { License } from '@licet/client';

/** Entitlements as people type and read them. */

export type Entitlements = License['effectiveEntitlements'];
type Entitlement = Entitlements[string];

/** The value as a field has it: true is an empty one, and a text that looks like a number is in quotation marks. */
export const entitlementText = (value: Entitlement): string =>
  value === true ? '' : entitlementValueText(value);

/** All of them as text, such as `edition = gold`, a line for each. Null is one that is taken away. */
export const entitlementLines = (entitlements: object, takenAway = ''): string =>
  Object.entries<unknown>({ ...entitlements })
    .map(([name, value]) => {
      if (value === null) return `${name}: ${takenAway}`;
      return value === true ? name : `${name} = ${value}`;
    })
    .join('\n');
