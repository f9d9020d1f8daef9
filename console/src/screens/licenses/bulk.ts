import type { License } from '@licet/client';
import { DAY_MS } from '@licet/contract/durations';
import { hasStatus, licet } from '../../api.ts';
import { customerText, ownerOfText } from '../customers/field.tsx';

/** Changes of many licenses. */

const PARALLEL = 6;

/** Undoes the change of a license; undefined if nothing was changed. */
type Undo = (() => Promise<unknown>) | undefined;

/** A change of one license. */
export type Work = (id: number) => Promise<Undo>;

export interface BulkResult {
  undos: (() => Promise<unknown>)[];
  /** Licenses that could not be changed, and the first error. */
  failed: number[];
  firstError: unknown;
  /** Licenses that were not reached before the stop. */
  left: number[];
}

/**
 * Changes several licenses at a time. After the signal, or after the end of the session, it begins no further change,
 * but finishes those that have begun.
 */
export async function inBulk(
  ids: readonly number[],
  work: Work,
  onProgress: (done: number) => void,
  signal: AbortSignal,
): Promise<BulkResult> {
  const queue = ids.values();
  const undos: BulkResult['undos'] = [];
  const failed: number[] = [];
  let firstError: unknown;
  let isOver = false;
  let done = 0;
  const worker = async (): Promise<void> => {
    for (const id of queue) {
      try {
        const undo = await work(id);
        if (undo) undos.push(undo);
      } catch (error) {
        firstError ??= error;
        failed.push(id);
        isOver ||= hasStatus(error, 401);
      }
      done++;
      onProgress(done);
      if (signal.aborted || isOver) return;
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, worker));
  return { undos, failed, firstError, left: [...queue] };
}

/** Sets the status, unless the license already has it. */
export const setStatus =
  (status: 'ACTIVE' | 'DEACTIVATED' | 'DELETED'): Work =>
  async (id) => {
    let before: License | undefined;
    await licet.licenses.change(id, (current) => {
      before = current;
      return { licenseStatus: status };
    });
    const old = before?.licenseStatus;
    // The service stores an EXPIRED license as ACTIVE.
    if (!old || old === status || (old === 'EXPIRED' && status === 'ACTIVE')) return undefined;
    return () => licet.licenses.update(id, { licenseStatus: old });
  };

/** Gives the license to a customer; the undo returns it to the one before. */
export const assign =
  (owner: ReturnType<typeof ownerOfText>): Work =>
  async (id) => {
    let before: License | undefined;
    const { customer } = await licet.licenses.change(id, (current) => {
      before = current;
      return owner;
    });
    const old = before?.customer ?? null;
    return old?.id === customer?.id
      ? undefined
      : () => licet.licenses.update(id, ownerOfText(customerText(old)));
  };

/** A change of the expiry: by days of either sign, or to a time. */
export type Move = { days: number } | { until: string };

/** The moved expiry. Days are added to the current time if the expiry has passed. */
export function moved(expiryDate: string, move: Move, now = Date.now()): string {
  if ('until' in move) return move.until;
  const expiry = Date.parse(expiryDate);
  const start = move.days > 0 ? Math.max(expiry, now) : expiry;
  return new Date(start + move.days * DAY_MS).toISOString();
}

/** Moves the expiry of a license that expires. */
export const moveExpiry =
  (move: Move): Work =>
  async (id) => {
    let before: string | null = null;
    await licet.licenses.change(id, ({ expiryDate }) => {
      before = expiryDate;
      return expiryDate === null ? {} : { expiryDate: moved(expiryDate, move) };
    });
    if (before === null) return undefined;
    const expiryDate = before;
    return () => licet.licenses.update(id, { expiryDate });
  };

export const extend = (days: number): Work => moveExpiry({ days });

/** The name of a move in the texts. */
export const nameOf = (move: Move): 'extend' | 'move' =>
  'days' in move && move.days > 0 ? 'extend' : 'move';
