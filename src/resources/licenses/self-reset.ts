import { DAY_MS } from '@licet/contract/durations';
import type { LicenseDataType } from '@licet/contract/enums';
import { SELF_RESET_DAYS } from '@licet/contract/limits';
import type { ResetOutcome, Resets } from '@licet/contract/portal-page';
import { toTimestamp } from '@licet/contract/time';
import { and, eq, gt, isNull, lte, or, sql } from 'drizzle-orm';
import type { Sender } from '../../db/change.ts';
import { batch, type Database, type Statement } from '../../db/client.ts';
import { nextRevision } from '../../db/outbox.ts';
import { isOneOf } from '../../db/predicates.ts';
import { isInNetworks, parseNetworks } from '../../lib/networks.ts';
import { blacklists } from '../blacklists/schema.ts';
import { products } from '../products/schema.ts';
import { type Machine, machinesOf, selectPairs } from './machines.ts';
import type { Person } from './own.ts';
import { changeOwnLicense, updateLicense } from './queries.ts';
import { type LicenseRow, valuesOf } from './row.ts';
import { selfResets } from './schema.ts';

/** Slots that customers free themselves, within the budget of the product (10). */

const PERIOD_MS = SELF_RESET_DAYS * DAY_MS;

export interface SlotValue {
  type: LicenseDataType;
  value: string;
}

/** The slots that a customer wants free: all, those of a type, or those of a machine that no other machine needs. */
export type Wanted = 'all' | LicenseDataType | Machine;

/** Chooses among the machines of a license; undefined for one that it does not have. */
export type Choose = (
  machines: readonly Machine[],
) => Wanted | undefined | Promise<Wanted | undefined>;

const isWantedBy =
  (wanted: Wanted) =>
  ({ type, value }: SlotValue): boolean => {
    if (wanted === 'all') return true;
    if (typeof wanted === 'string') return type === wanted;
    const own = type === 'IP' ? wanted.ip : wanted.hwid;
    return own === value && !wanted.shared.includes(type);
  };

/** The resets of licenses that count. @param now milliseconds since 1970 */
const selectResets = (db: Database, ids: readonly number[], now: number) =>
  db
    .select({
      id: selfResets.licenseId,
      times: sql<string>`json_group_array(${selfResets.resetAt} order by ${selfResets.resetAt})`,
    })
    .from(selfResets)
    .where(and(isOneOf(selfResets.licenseId, ids), gt(selfResets.resetAt, now - PERIOD_MS)))
    .groupBy(selfResets.licenseId);

/** The budget of a license. @param used a JSON array of the times of its resets, if it has any */
function budgetOf(allowed: number, used = '[]'): Resets {
  const times: number[] = JSON.parse(used);
  // If more are used than are allowed now, some must return first.
  const next = times[Math.max(0, times.length - allowed)];
  const returnsAt = next === undefined ? null : toTimestamp(next + PERIOD_MS);
  return { allowed, left: Math.max(0, allowed - times.length), returnsAt };
}

/** The budgets of licenses, by id. @param now milliseconds since 1970 */
export async function resetsOf(
  db: Database,
  of: readonly { id: number; allowed: number }[],
  now: number,
): Promise<Map<number, Resets>> {
  const ids = of.map(({ id }) => id);
  const used = new Map((await selectResets(db, ids, now)).map(({ id, times }) => [id, times]));
  return new Map(of.map(({ id, allowed }) => [id, budgetOf(allowed, used.get(id))]));
}

/** The budget after one more reset. */
const without = ({ left, returnsAt, ...resets }: Resets, now: number): Resets => ({
  ...resets,
  left: left - 1,
  returnsAt: returnsAt ?? toTimestamp(now + PERIOD_MS),
});

/** The entries of the blacklist that can concern the slots of a license. */
const selectEntries = (db: Database, { productId, ips, hwids }: LicenseRow) =>
  db
    .select({ type: blacklists.licenseDataType, data: blacklists.data })
    .from(blacklists)
    .where(
      and(
        or(isNull(blacklists.productId), eq(blacklists.productId, productId)),
        or(isOneOf(blacklists.data, [...ips, ...hwids]), sql`${blacklists.data} like '%/%'`),
      ),
    );

/** The statements that read what a reset of a license depends on: its budget, and the blacklist. */
export const selectBudget = ({ db, now }: Sender, row: LicenseRow) => ({
  product: db
    .select({ allowed: products.selfResets })
    .from(products)
    .where(eq(products.id, row.productId)),
  used: selectResets(db, [row.id], now),
  entries: selectEntries(db, row),
});

/** The budget that these statements have read. */
export const readBudget = (read: {
  product: readonly { allowed: number }[];
  used: readonly { times: string }[];
}): Resets => budgetOf(read.product[0]?.allowed ?? 0, read.used[0]?.times);

/** Whether a value is on the blacklist: freeing it would dodge it. */
export function blockedBy(rows: readonly { type: LicenseDataType; data: string }[]) {
  const ofType = (wanted: LicenseDataType) =>
    rows.flatMap(({ type, data }) => (type === wanted ? data : []));
  const [addresses, hardwareIds] = [ofType('IP'), ofType('HWID')];
  const networks = parseNetworks(addresses.filter((data) => data.includes('/')).join(','));
  return ({ type, value }: SlotValue): boolean =>
    type === 'HWID'
      ? hardwareIds.includes(value)
      : addresses.includes(value) || isInNetworks(networks, value);
}

/** A reset, with the license as it was before. */
interface Reset {
  outcome: ResetOutcome;
  row: LicenseRow;
}

/**
 * Frees slots of a license for its owner: at most as often as the product allows, however many ask at once.
 *
 * @param newSender the sender of the change, for the customer of the license; its clock is read for each attempt
 * @returns undefined for a license that is not theirs
 * @throws DomainError if others change the license all the time
 */
export const resetSlots = (
  newSender: () => Sender,
  person: Person,
  licenseId: number,
  choose: Choose,
): Promise<Reset | undefined> =>
  changeOwnLicense(newSender, person, licenseId, async (sender, row) => ({
    outcome: await resetOnce(sender, row, choose),
    row,
  }));

/** The statements that count a reset, beside the change of the license that makes it. */
export function countReset({ db, now }: Sender, { id, revision }: LicenseRow): Statement[] {
  const isOld = lte(selfResets.resetAt, now - PERIOD_MS);
  return [
    db.delete(selfResets).where(and(eq(selfResets.licenseId, id), isOld)),
    db.insert(selfResets).values({ licenseId: id, resetAt: nextRevision(revision, now) }),
  ];
}

/** @param row read before the budget: another reset in between changes its revision, and this one begins again */
async function resetOnce(sender: Sender, row: LicenseRow, choose: Choose): Promise<ResetOutcome> {
  const { db, now } = sender;
  const { id } = row;
  const read = await batch(db, {
    ...selectBudget(sender, row),
    pairs: selectPairs(db, id, now),
  });
  const resets = readBudget(read);
  const isBlocked = blockedBy(read.entries);
  if (row.state !== 'ACTIVE') return { outcome: 'deactivated', resets };
  if (resets.allowed === 0) return { outcome: 'not allowed', resets };
  const slots = [
    ...row.ips.map((value) => ({ type: 'IP' as const, value })),
    ...row.hwids.map((value) => ({ type: 'HWID' as const, value })),
  ];
  const chosen = await choose(machinesOf(row, read.pairs));
  if (chosen === undefined) return { outcome: 'gone', resets };
  const wanted = slots.filter(isWantedBy(chosen));
  if (wanted.length === 0) return { outcome: 'empty', resets };
  const freed = wanted.filter((slot) => !isBlocked(slot));
  if (freed.length === 0) return { outcome: 'blocked', resets };
  if (resets.left === 0) return { outcome: 'used up', resets };
  const isKept = (type: LicenseDataType) => (value: string) =>
    !freed.some((slot) => slot.type === type && slot.value === value);
  const values = {
    ...valuesOf(row),
    ips: row.ips.filter(isKept('IP')),
    hwids: row.hwids.filter(isKept('HWID')),
  };
  await updateLicense(sender, row, values, undefined, countReset(sender, row));
  const kept = wanted.length - freed.length;
  const shared = typeof chosen === 'string' ? 0 : chosen.shared.length;
  return { outcome: 'freed', freed: freed.length, kept, shared, resets: without(resets, now) };
}
