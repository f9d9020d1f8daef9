import { entitlementValue } from '@licet/cli/entitlements';
import { expect, it } from 'vitest';
import { entitlementText } from '../../console/src/entitlements.ts';

/** The entitlements in the forms of the console. */

it.each([true, 7, '7', '007', -1, 'true', 'gold'] as const)(
  'a form keeps the value %j of an entitlement as it was',
  (stored) => {
    expect(entitlementValue(entitlementText(stored))).toBe(stored);
  },
);
