import { countGlobal, isGlobal, slotOf } from '@licet/contract/addresses';
import type { LicenseDataType } from '@licet/contract/enums';
import { sql } from 'drizzle-orm';
import { type Sender, untilNotOvertaken } from '../../db/change.ts';
import { batch, type Database } from '../../db/client.ts';
import type { SlotKind } from './address-slots.ts';
import { findLicense, moveLicense } from './queries.ts';
import { type LicenseRow, valuesOf } from './row.ts';
import { startedExpiryOf, statusAt } from './rules.ts';
import { blockedBy, countReset, readBudget, selectBudget } from './self-reset.ts';
import { slotsOf } from './slot-uses.ts';

/** A license that its program moves to another machine, within the budget of the product (1.8, 10). */

/** The values that a program wants bound, and the license that it means. */
export interface Move {
  key: string;
  productId: number;
  ip: string | null;
  hwid: string | null;
}

/** `remarks` are for administrators. */
export type MoveResult =
  | { result: 'moved'; license: LicenseRow; remarks: string }
  /** A slot is free by now. */
  | { result: 'free' }
  | { result: 'refused'; remarks: string | null };

/** The value of each kind of slot that was used longest ago. */
const selectOldest = (db: Database, id: number, now: number) =>
  db
    .select({
      kind: sql<SlotKind>`s.kind`.as('kind'),
      value: sql<string>`s.value`.as('value'),
      usedAt: sql<number>`s.used_at`.as('used_at'),
    })
    .from(sql`(with ${slotsOf(db, sql`${id}`, now)} select * from slots where place = 1) s`);

/** A wanted value that is not bound yet. */
interface Missing {
  type: LicenseDataType;
  kind: SlotKind;
  value: string;
  /** The slots of its kind that are taken, and their limit. */
  count: number;
  max: number;
}

function missingOf(
  { ips, hwids, maxIPs, maxHWIDs }: LicenseRow,
  { ip, hwid }: Move,
  ipv6SlotPrefix: number,
): Missing[] {
  const missing: Missing[] = [];
  const slot = (address: string) => slotOf(address, ipv6SlotPrefix);
  if (ip !== null && maxIPs !== -1 && !ips.some((one) => slot(one) === slot(ip))) {
    const global = countGlobal(ips);
    const kind = isGlobal(ip) ? 'IP' : 'LOCAL';
    const count = kind === 'IP' ? global : ips.length - global;
    missing.push({ type: 'IP', kind, value: ip, count, max: maxIPs });
  }
  if (hwid !== null && maxHWIDs !== -1 && !hwids.includes(hwid)) {
    missing.push({ type: 'HWID', kind: 'HWID', value: hwid, count: hwids.length, max: maxHWIDs });
  }
  return missing;
}

/** Such as `2026-10-01`: in UTC. */
const dayOf = (time: number | string): string => new Date(time).toISOString().slice(0, 10);

/**
 * Frees the slots of a license that were used longest ago, of each kind of which none is free, and binds the values of a
 * program in the same transaction. It counts as one self-reset, however many programs ask at once.
 *
 * @param newSender its clock is read for each attempt
 * @throws DomainError if others change the license all the time
 */
export const takeOver = (
  newSender: () => Sender,
  licenseId: number,
  move: Move,
): Promise<MoveResult> => untilNotOvertaken(() => takeOverOnce(newSender(), licenseId, move));

async function takeOverOnce(sender: Sender, licenseId: number, move: Move): Promise<MoveResult> {
  const { db, now } = sender;
  const stays = (remarks: string | null): MoveResult => ({ result: 'refused', remarks });
  const row = await findLicense(db, licenseId);
  const isMeant =
    row?.licenseKeyNormalized === move.key &&
    row.productId === move.productId &&
    statusAt(row, now) === 'ACTIVE';
  if (!row || !isMeant) return stays(null);
  const read = await batch(db, {
    ...selectBudget(sender, row),
    oldest: selectOldest(db, licenseId, now),
  });
  const missing = missingOf(row, move, db.ipv6SlotPrefix);
  const full = missing.filter(({ count, max }) => count >= max);
  const freed = full.flatMap(({ type, kind, count, max }) => {
    const oldest = read.oldest.find((one) => one.kind === kind);
    // Beyond a lowered limit no slot becomes free by freeing one.
    return oldest && count === max ? [{ ...oldest, type }] : [];
  });
  if (freed.length < full.length) return stays(null);
  if (freed.length === 0) return { result: 'free' };
  const { allowed, left, returnsAt } = readBudget(read);
  if (allowed === 0) return stays('takeOver needs selfResets of the product, which are 0');
  if (freed.some(blockedBy(read.entries))) {
    return stays('takeOver would free a value that is on the blacklist');
  }
  if (left === 0) {
    return stays(`takeOver is possible again on ${dayOf(returnsAt ?? now)}`);
  }
  const valuesAfter = (type: LicenseDataType, bound: readonly string[]): string[] => [
    ...bound.filter((value) => !freed.some((one) => one.type === type && one.value === value)),
    ...missing.flatMap((one) => (one.type === type ? one.value : [])),
  ];
  const values = {
    ...valuesOf(row),
    ips: valuesAfter('IP', row.ips),
    hwids: valuesAfter('HWID', row.hwids),
    ...startedExpiryOf(row, now),
  };
  const license = await moveLicense(sender, row, values, countReset(sender, row));
  const remarks = freed.map(
    ({ value, usedAt }) => `Took over the slot of ${value}, last used on ${dayOf(usedAt)}`,
  );
  return { result: 'moved', license, remarks: remarks.join('. ') };
}
