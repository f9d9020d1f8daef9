import { isObject, parseJson } from '@licet/contract/json';
import { type Blacklist, toBlacklist } from './blacklists/blacklist.ts';
import type { ProductPolicy } from './products/product-policy.ts';

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
