import { type License, type LicenseUpdate, LicetError } from '@licet/client';
import { type Move, moved } from '@licet/contract/expiries';
import { hasStatus, licet } from '../../api.ts';
import { customerText, ownerOfText } from '../customers/owner.ts';

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

/**
 * Changes a value of a license. The undo restores it, unless somebody has changed it since.
 *
 * @param changesOf the changes; undefined for a license that is left alone
 * @param undoOf the changes that restore the value
 */
const changing =
  (
    fieldOf: (license: License) => unknown,
    changesOf: (license: License) => LicenseUpdate | undefined,
    undoOf: (before: License) => LicenseUpdate,
  ): Work =>
  async (id) => {
    let before: License | undefined;
    const after = await licet.licenses.change(id, (current) => {
      before = current;
      return changesOf(current);
    });
    if (!before || fieldOf(before) === fieldOf(after)) return undefined;
    const changes = undoOf(before);
    return () =>
      licet.licenses.change(id, (current) => {
        if (fieldOf(current) === fieldOf(after)) return changes;
        throw new LicetError(412, 'Somebody has changed it since');
      });
  };

/** The status that is stored: an EXPIRED license is an ACTIVE one. */
const stateOf = ({ licenseStatus }: License) =>
  licenseStatus === 'EXPIRED' ? 'ACTIVE' : licenseStatus;

/** Sets the status. A DELETED license is not restored by its deactivation. */
export const setStatus = (status: 'ACTIVE' | 'DEACTIVATED' | 'DELETED'): Work =>
  changing(
    stateOf,
    (license) => {
      const state = stateOf(license);
      const isLeft = state === status || (state === 'DELETED' && status === 'DEACTIVATED');
      return isLeft ? undefined : { licenseStatus: status };
    },
    ({ licenseStatus }) => ({ licenseStatus }),
  );

/** Gives the license to a customer; the undo returns it to the one before. */
export const assign = (owner: ReturnType<typeof ownerOfText>): Work =>
  changing(
    ({ customer }) => customer?.id,
    () => owner,
    ({ customer }) => ownerOfText(customerText(customer)),
  );

/** Moves the expiry of a license that expires. */
export const moveExpiry = (move: Move): Work =>
  changing(
    ({ expiryDate }) => expiryDate,
    ({ expiryDate }) => (expiryDate === null ? undefined : { expiryDate: moved(expiryDate, move) }),
    ({ expiryDate }) => ({ expiryDate }),
  );

export const extend = (days: number): Work => moveExpiry({ days });

/** The name of a move in the texts. */
export const nameOf = (move: Move): 'extend' | 'move' =>
  'days' in move && move.days > 0 ? 'extend' : 'move';
