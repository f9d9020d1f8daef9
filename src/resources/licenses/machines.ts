import type { LicenseDataType } from '@licet/contract/enums';
import { sql } from 'drizzle-orm';
import type { Database } from '../../db/client.ts';
import type { LicenseRow } from './row.ts';
import { slotsOf } from './slot-uses.ts';

/**
 * The machines of a license, as its customer knows them (10): an address and a hardware ID that came together, or a bound
 * value without a known other one.
 */

export interface Machine {
  ip: string | null;
  hwid: string | null;
  /** The types of its values that another machine has, too: they stay while that one does. */
  shared: LicenseDataType[];
  /** When both values last came together, in milliseconds since 1970; null for one value. */
  usedAt: number | null;
}

interface Pair {
  ip: string;
  hwid: string;
  usedAt: number;
}

/**
 * A select of the bound addresses and hardware IDs that requests sent together, the latest first: for each value the pair
 * in which it was used last. There are at most as many as bound values, although a key holder can send any two of them.
 *
 * @param now milliseconds since 1970
 */
export const selectPairs = (db: Database, licenseId: number, now: number) =>
  db
    .select({
      ip: sql<string>`p.ip`.as('ip'),
      hwid: sql<string>`p.hwid`.as('hwid'),
      usedAt: sql<number>`p.used_at`.as('used_at'),
    })
    .from(
      sql`(
        with ${slotsOf(db, sql`${licenseId}`, now)}
        select *, row_number() over (partition by ip order by used_at desc, hwid) as of_ip,
          row_number() over (partition by hwid order by used_at desc, ip) as of_hwid
        from (
          select s.value as ip, u.hwid, max(u.used_at) as used_at
          from uses u join slots s on s.type = 'IP' and s.slot = u.ip
            join slots h on h.type = 'HWID' and h.slot = u.hwid
          where not u.is_shared group by 1, 2)) p`,
    )
    .where(sql`1 in (p.of_ip, p.of_hwid)`)
    .orderBy(sql`p.used_at desc, p.ip, p.hwid`);

/**
 * The machines of a license. Each has a value that no other one has, so that freeing it frees a slot: a pair is none if
 * later pairs have both of its values.
 */
export function machinesOf(
  { ips, hwids }: Pick<LicenseRow, 'ips' | 'hwids'>,
  pairs: readonly Pair[],
): Machine[] {
  const bound = new Set([...ips, ...hwids.map((hwid) => `HWID ${hwid}`)]);
  const counts = new Map<string, number>();
  const namesOf = ({ ip, hwid }: Pair): string[] => [ip, `HWID ${hwid}`];
  const count = (pair: Pair, change: number): void => {
    for (const name of namesOf(pair)) counts.set(name, (counts.get(name) ?? 0) + change);
  };
  const isShared = (name: string): boolean => (counts.get(name) ?? 0) > 1;
  let kept = pairs.filter((pair) => namesOf(pair).every((name) => bound.has(name)));
  for (const pair of kept) count(pair, 1);
  for (const pair of kept.toReversed()) {
    if (!namesOf(pair).every(isShared)) continue;
    count(pair, -1);
    kept = kept.filter((one) => one !== pair);
  }
  const alone = { shared: [], usedAt: null };
  return [
    ...kept.map(({ ip, hwid, usedAt }) => ({
      ip,
      hwid,
      shared: [
        ...(isShared(ip) ? ['IP' as const] : []),
        ...(isShared(`HWID ${hwid}`) ? ['HWID' as const] : []),
      ],
      usedAt,
    })),
    ...ips.filter((ip) => !counts.has(ip)).map((ip) => ({ ip, hwid: null, ...alone })),
    ...hwids
      .filter((hwid) => !counts.has(`HWID ${hwid}`))
      .map((hwid) => ({ ip: null, hwid, ...alone })),
  ];
}
