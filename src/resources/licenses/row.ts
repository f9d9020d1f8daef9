import type { Entitlements } from '@licet/contract/entitlements';
import { pickLicense } from '@licet/contract/licenses';
import { toOptionalTimestamp, toTimestamp } from '@licet/contract/time';
import { type CustomerRow, toCustomer } from '../customers/row.ts';
import { effectiveEntitlements } from './entitlements.ts';
import { sentExpiryOf, statusAt } from './rules.ts';
import type { licenses } from './schema.ts';

/** A license with its rows of other tables. */
export type LicenseRow = typeof licenses.$inferSelect & {
  ips: readonly string[];
  hwids: readonly string[];
  totalRequests: number;
  entitlementsOfProduct: Entitlements | null;
  customer: CustomerRow | null;
};

/** The values that a client sets, of a stored license. */
export const valuesOf = ({
  id,
  licenseKey,
  licenseKeyNormalized,
  pastRequests,
  totalRequests,
  entitlementsOfProduct,
  customerId,
  customer,
  createdAt,
  updatedAt,
  revision,
  deactivatedBy,
  ...values
}: LicenseRow) => values;
export type LicenseValues = ReturnType<typeof valuesOf>;

/** The values that responses show in another form than they are stored. */
export const wireValues = (values: LicenseValues, now: number) => ({
  expiryDate: toOptionalTimestamp(sentExpiryOf(values).expiryDate),
  licenseStatus: statusAt(values, now),
  hwids: [...values.hwids],
  ips: [...values.ips],
  entitlementsExpire:
    values.entitlementsExpire &&
    Object.fromEntries(
      Object.entries(values.entitlementsExpire).map(([name, end]) => [name, toTimestamp(end)]),
    ),
});

/**
 * A license as responses show it.
 *
 * @param now milliseconds since 1970; the status depends on it
 */
export function toLicense(row: LicenseRow, now: number) {
  const values = wireValues(row, now);
  return pickLicense({
    ...row,
    ...values,
    productIdString: String(row.productId),
    createdDate: toTimestamp(row.createdAt),
    updatedDate: toTimestamp(row.updatedAt),
    metadata: row.metadata ?? {},
    entitlements: row.entitlements ?? {},
    entitlementsExpire: values.entitlementsExpire ?? {},
    effectiveEntitlements: Object.fromEntries(effectiveEntitlements(row, now)),
    customer: row.customer && toCustomer(row.customer),
  });
}
