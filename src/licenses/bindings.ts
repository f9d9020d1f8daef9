import { sql } from 'drizzle-orm';
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

/** The columns `ips` and `hwids` of a select from the licenses. */
export const boundValues = { ips: bound('IP').as('ips'), hwids: bound('HWID').as('hwids') };
