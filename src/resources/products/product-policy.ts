import type { Entitlements } from '@licet/contract/entitlements';
import { DEFAULT_CHECK_AFTER_HOURS } from '@licet/contract/limits';

/** The settings of a product that a validation needs. */
export interface ProductPolicy {
  /** The days that a lease lasts (1.8). */
  readonly offlineDays: number;
  /** The hours after which a program asks again (1.8). */
  readonly checkAfterHours: number;
  /** Those of its licenses (11); null without any. */
  readonly entitlements: Entitlements | null;
}

/** The settings of a product that is not in the policy. */
export const DEFAULT_PRODUCT_POLICY: ProductPolicy = {
  offlineDays: 0,
  checkAfterHours: DEFAULT_CHECK_AFTER_HOURS,
  entitlements: null,
};

/** Whether the policy differs between two versions of a product. Null is no product. */
export function differsInPolicy(one: ProductPolicy | null, other: ProductPolicy): boolean {
  const settings = ({ offlineDays, checkAfterHours, entitlements }: ProductPolicy) =>
    JSON.stringify([offlineDays, checkAfterHours, entitlements]);
  return settings(one ?? DEFAULT_PRODUCT_POLICY) !== settings(other);
}
