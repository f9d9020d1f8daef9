import { LOCAL_PATTERNS } from '@licet/contract/addresses';
import type { LicenseDataType } from '@licet/contract/enums';
import { type SQL, sql } from 'drizzle-orm';
import type { Database } from '../../db/client.ts';

/**
 * The slots of bound values in SQL (1.4), as `slotOf` and `isGlobal` of the contract find them. Concurrent requests from
 * one IPv6 network must find the same slot in the database.
 */

/** Whether a text matches one of some patterns: as a balanced tree, because D1 limits the depth of an expression. */
function matchesOne(text: string, patterns: readonly string[]): string {
  if (patterns.length === 1) return `${text} glob '${patterns.join()}'`;
  const middle = patterns.length / 2;
  const [begin, end] = [patterns.slice(0, middle), patterns.slice(middle)];
  return `(${matchesOne(text, begin)} or ${matchesOne(text, end)})`;
}

/** Whether an address does not say where a machine is. */
const isLocal = (address: string): string => matchesOne(address, LOCAL_PATTERNS);
const LOCAL_IPV6 = LOCAL_PATTERNS.filter((pattern) => pattern.includes(':'));

const GROUP_BITS = 16;

/** The eight groups of a canonical IPv6 address as JSON: `::` stands for the missing ones. */
function groupsOf(address: string): string {
  const missing = `8 - length(${address}) + length(replace(${address}, ':', ''))`;
  const groups = `replace(${address}, '::', ':' || substr('0:0:0:0:0:0:0:0:', 1, 2 * (${missing})))`;
  return `'["' || replace(${groups}, ':', '","') || '"]'`;
}

/**
 * The 32 hexadecimal digits of groups. It is a select, because D1 limits the depth of an expression. No parameter may be
 * named like a column of `json_each`.
 */
const hexOf = (groups: string): string =>
  `(select group_concat(substr('0000' || g.value, -4), '') from json_each(${groups}) g)`;

/** The first bits of hexadecimal digits. */
function beginning(hex: string, bits: number): string {
  const digits = Math.floor(bits / 4);
  const whole = `substr(${hex}, 1, ${digits})`;
  if (bits % 4 === 0) return whole;
  const next = `instr('123456789abcdef', substr(${hex}, ${digits + 1}, 1))`;
  return `${whole} || (${next} >> ${4 - (bits % 4)})`;
}

/**
 * The first bits of a canonical IPv6 address. Those of whole groups, as by default, take a third of the time: a license can
 * have ten thousand addresses.
 */
function networkOf(address: string, bits: number): string {
  const groups = groupsOf(address);
  if (bits % GROUP_BITS > 0) return beginning(hexOf(groups), bits);
  const paths = Array.from({ length: bits / GROUP_BITS }, (_, index) => `'$[${index}]'`);
  return `json_extract(${groups}, ${paths.join(', ')})`;
}

/** The slot of an address; null for null. */
export const addressSlot = ({ ipv6SlotPrefix }: Database, address: string): SQL =>
  sql.raw(`case when instr(${address}, ':') and ${address} not glob '*[^0-9a-f:]*'
      and not ${matchesOne(address, LOCAL_IPV6)}
    then ${networkOf(address, ipv6SlotPrefix)} else ${address} end`);

/** The slot of a value of a type. */
export const valueSlot = (db: Database, type: string, value: string): SQL =>
  sql`case ${sql.raw(type)} when 'IP' then ${addressSlot(db, value)} else ${sql.raw(value)} end`;

export type SlotKind = LicenseDataType | 'LOCAL';

/**
 * The kind of a slot: the type of its value, or `LOCAL`. Each kind has its own limit, because an address that does not say
 * where a machine is counts only beside others like it.
 */
export const slotKind = (type: string, value: string): SQL =>
  sql.raw(`iif(${type} = 'IP' and ${isLocal(value)}, 'LOCAL', ${type})`);

/**
 * Whether all slots of a type are taken in a license of the row. Addresses that do not say where a machine is count if there
 * are no others. Most licenses have fewer values, which are counted first.
 */
export function isFullOf(db: Database, type: LicenseDataType): SQL {
  const limit = sql.raw(type === 'IP' ? 'licenses.max_ips' : 'licenses.max_hwids');
  const bound = sql.raw(`from bindings b where b.license_id = licenses.id and b.type = '${type}'`);
  const isAtLimit = sql`${limit} >= 0 and ${limit} <= (select count(*) ${bound})`;
  if (type === 'HWID') return sql`(${isAtLimit})`;
  const slots = sql`count(distinct ${addressSlot(db, 'b.value')}) filter`;
  const isLocalSlot = sql.raw(isLocal('b.value'));
  return sql`(${isAtLimit} and ${limit} <= (
    select ifnull(nullif(${slots} (where not ${isLocalSlot}), 0), ${slots} (where ${isLocalSlot})) ${bound}))`;
}
