import { firstOfSlots } from '@licet/contract/addresses';
import { LICENSE_STATES, type LicenseDataType } from '@licet/contract/enums';
import { sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Database } from '../../db/client.ts';
import { MAX_LISTED_BYTES } from '../../db/long-values.ts';
import { licenses } from './schema.ts';
import { totalRequestsAtLeast } from './totals.ts';

/** The part of a license that a decision needs. */
export const snapshotSchema = z.object({
  id: z.int(),
  revision: z.int().positive(),
  productId: z.int(),
  state: z.enum(LICENSE_STATES),
  /** Null for a license that never expires. */
  expiresAt: z.int().nullable(),
  /** The days from the first VALID validation to the expiry (7). A snapshot from before this field lacks it. */
  expiresAfterDays: z.int().nullable().default(null),
  /** -1 is unlimited, 0 is none. */
  maxIPs: z.int(),
  maxHWIDs: z.int(),
  /** The bound values, in the order in which they were bound. */
  ips: z.array(z.string()).readonly(),
  hwids: z.array(z.string()).readonly(),
  /** A lower bound, without the requests of today. */
  totalRequests: z.int(),
  /** Those of the license itself, and their ends (11). Left out by a snapshot without any. */
  entitlements: z
    .record(z.string(), z.union([z.literal(true), z.int(), z.string(), z.null()]))
    .readonly()
    .nullable()
    .default(null),
  entitlementsExpire: z.record(z.string(), z.int()).readonly().nullable().default(null),
});
export type LicenseSnapshot = z.infer<typeof snapshotSchema>;

function parseTexts(json: string): string[] {
  const texts: string[] = JSON.parse(json);
  return texts;
}

/**
 * The values bound to the license of the row. `licenses.id` is plain SQL, because drizzle leaves out the table
 * of a column in a query with one table.
 */
const bound = (type: LicenseDataType, parse = parseTexts) =>
  sql`(select json_group_array(value order by position) from bindings
       where license_id = licenses.id and type = ${sql.raw(`'${type}'`)})`.mapWith(parse);

/** Parses addresses, of which each slot shows the first. */
const parseAddressesOf =
  ({ ipv6SlotPrefix }: Database) =>
  (json: string): string[] =>
    firstOfSlots(parseTexts(json), ipv6SlotPrefix);

/** The columns `ips` and `hwids` of a select from the licenses: a value for each slot. */
export const slotValues = (db: Database) => ({
  ips: bound('IP', parseAddressesOf(db)).as('ips'),
  hwids: bound('HWID').as('hwids'),
});

const listed = (type: LicenseDataType, parse = parseTexts) =>
  sql`(select iif(sum(octet_length(value)) > ${MAX_LISTED_BYTES},
         sum(octet_length(value)), json_group_array(value order by position)) from bindings
       where license_id = licenses.id and type = ${sql.raw(`'${type}'`)})`.mapWith(
    (read: string | number) => (typeof read === 'number' ? read : parse(read)),
  );

/** {@link slotValues} in a select of many licenses: if the values are long, the number of their bytes instead. */
export const listedValues = (db: Database) => ({
  ips: listed('IP', parseAddressesOf(db)).as('ips'),
  hwids: listed('HWID').as('hwids'),
});

export const snapshotColumns = {
  id: licenses.id,
  revision: licenses.revision,
  productId: licenses.productId,
  state: licenses.state,
  expiresAt: licenses.expiresAt,
  expiresAfterDays: licenses.expiresAfterDays,
  maxIPs: licenses.maxIPs,
  maxHWIDs: licenses.maxHWIDs,
  totalRequests: totalRequestsAtLeast,
  entitlements: licenses.entitlements,
  entitlementsExpire: licenses.entitlementsExpire,
  ips: bound('IP').as('ips'),
  hwids: bound('HWID').as('hwids'),
};
