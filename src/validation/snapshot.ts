import { eq, type SQL, sql } from 'drizzle-orm';
import type { Database } from '../db/client';
import { licenses } from '../db/schema';
import type { LicenseDataType } from '../enums';

function parseTexts(json: string): string[] {
  const texts: string[] = JSON.parse(json);
  return texts;
}

/**
 * The values bound to the license of the row, in the order in which they were bound.
 * The outer column is spelled out: drizzle drops the table's name where it sees only one table.
 */
const bound = (kind: LicenseDataType) =>
  sql`(select json_group_array(value order by id) from bindings
       where license_id = licenses.id and kind = ${sql.raw(`'${kind}'`)})`.mapWith(parseTexts);

export const boundValues = { ips: bound('IP').as('ips'), hwids: bound('HWID').as('hwids') };

/** The select of a license's snapshot, to be run alone or in a batch. */
export const selectSnapshot = (db: Database, where: SQL) =>
  db
    .select({
      id: licenses.id,
      productId: licenses.productId,
      state: licenses.state,
      expiresAt: licenses.expiresAt,
      maxIPs: licenses.maxIPs,
      maxHWIDs: licenses.maxHWIDs,
      totalRequests: licenses.totalRequests,
      ...boundValues,
    })
    .from(licenses)
    .where(where);

export const licenseHasKey = (foldedKey: string): SQL => eq(licenses.licenseKeyFolded, foldedKey);
