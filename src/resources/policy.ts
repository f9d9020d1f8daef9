import type { Entitlements } from '@licet/contract/entitlements';
import { isObject, parseJson } from '@licet/contract/json';
import { DEFAULT_CHECK_AFTER_HOURS } from '@licet/contract/limits';
import { type Blacklist, toBlacklist } from './blacklists/blacklist.ts';

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

/**
 * The part of all rows that a validation needs besides its license and token. One snapshot, so that a change of a
 * product publishes one, however many licenses the product has.
 */
export interface Policy {
  readonly id: 0;
  readonly revision: number;
  readonly blacklist: Blacklist;
  /** By id. Products with default settings are not there. */
  readonly products: Readonly<Record<number, ProductPolicy>>;
}

/** Grows when the form of a policy in KV changes. */
const FORMAT = 3;

/** The policy as KV holds it. */
export const encodePolicy = ({ revision, blacklist, products }: Policy): string =>
  JSON.stringify({ format: FORMAT, revision, blacklist: blacklist.tables, products });

const isProducts = (value: unknown): value is Policy['products'] =>
  isObject(value) &&
  Object.values(value).every(
    (one) =>
      isObject(one) &&
      Number.isSafeInteger(one.offlineDays) &&
      Number.isSafeInteger(one.checkAfterHours) &&
      (one.entitlements === null || isObject(one.entitlements)),
  );

/** The policy in a value of KV; null if it is corrupt or in another format. */
export function decodePolicy(text: string): Policy | null {
  const value = parseJson(text);
  if (!isObject(value) || value.format !== FORMAT) return null;
  const { revision, products } = value;
  const blacklist = toBlacklist(value.blacklist);
  if (!blacklist || typeof revision !== 'number' || !isProducts(products)) return null;
  return { id: 0, revision, blacklist, products };
}
