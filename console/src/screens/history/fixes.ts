import type { LicenseRequest } from '@licet/client';
import { licet } from '../../api.ts';
import { toasts } from '../../components/toasts.tsx';
import { screenTexts } from '../../screen-texts.ts';
import { removeEntry } from '../blacklist/entries.ts';
import { change, refresh } from '../license/queries.ts';
import { extend, setStatus, type Work } from '../licenses/bulk.ts';

/** The changes that fix the cause of a refusal with one click. Each can be undone. */

const words = screenTexts.history;

async function fix(
  id: number,
  work: Work,
  /** The message of success, read after the change. */
  done: string | (() => string),
  /** The message if the cause is gone already. */
  notNeeded: string,
): Promise<void> {
  try {
    const undo = await work(id);
    await refresh();
    if (undo) toasts.done(typeof done === 'string' ? done : done(), () => undo().then(refresh));
    else toasts.done(notNeeded);
  } catch (error) {
    toasts.fail(error);
  }
}

/** Activates a license that is deactivated or deleted. */
export const activate = (id: number): Promise<void> =>
  fix(id, setStatus('ACTIVE'), screenTexts.license.statusDone.ACTIVE, words.alreadyActive);

/** Extends a license, unless somebody has done so since the refusal. */
export const extendExpired = (id: number, days: number): Promise<void> =>
  fix(
    id,
    async (licenseId) => {
      const { licenseStatus } = await licet.licenses.get(licenseId);
      return licenseStatus === 'EXPIRED' ? extend(days)(licenseId) : undefined;
    },
    words.extended(days),
    words.notExpired,
  );

/** Raises the limit of addresses or hardware IDs by one, if it is still reached. */
export const raiseLimit = (id: number, kind: 'ips' | 'hwids'): Promise<void> => {
  const limit = kind === 'ips' ? 'maxIPs' : 'maxHWIDs';
  let done = '';
  return fix(
    id,
    async () => {
      let isRaised = false;
      const before = await change(id, (current) => {
        isRaised = current[limit] >= 0 && current[kind].length >= current[limit];
        done = words.limitRaised[kind](current.licenseKey, current[limit] + 1);
        return isRaised ? { [limit]: current[limit] + 1 } : {};
      });
      return before && isRaised
        ? () => licet.licenses.update(id, { [limit]: before[limit] })
        : undefined;
    },
    () => done,
    words.slotFree,
  );
};

/** Moves a license to the product that the program has sent. */
export const moveToProduct = (id: number, productId: number, name: string): Promise<void> =>
  fix(
    id,
    async () => {
      const before = await change(id, () => ({ productId }));
      return before && before.productId !== productId
        ? () => licet.licenses.update(id, { productId: before.productId })
        : undefined;
    },
    words.moved(name),
    words.alreadyMoved(name),
  );

/** The entries of the blacklist that may be those of a refusal, and the search that finds them. */
async function findEntries({ responseType, ip, hwid, blockReason }: LicenseRequest) {
  const isAddress = responseType === 'IP_BLACKLISTED';
  const licenseDataType = isAddress ? ('IP' as const) : ('HWID' as const);
  const value = isAddress ? ip : hwid;
  // The entry can be a range, whose text does not contain the address: then the reason finds it.
  for (const text of [value, blockReason]) {
    const q = text?.slice(0, 40);
    if (!q || q.length < 3) continue;
    const found = await licet.blacklists.list({ licenseDataType, q, limit: 2 });
    if (found.length > 0) return { q, value, found };
  }
  return { q: undefined, value, found: [] };
}

/** The search in the blacklist that finds the entry of a refusal. */
export async function findEntry(
  record: LicenseRequest,
): Promise<{ q?: string | undefined; open?: number | undefined }> {
  const { q, found } = await findEntries(record);
  const [entry, other] = found;
  return { q, open: other ? undefined : entry?.id };
}

/**
 * Removes the entry of a refusal if it is certainly the one: that of the value itself, and no range.
 *
 * @returns whether the blacklist has other entries that the viewer must choose from
 */
export async function unblock(record: LicenseRequest): Promise<boolean> {
  const { value, found } = await findEntries(record);
  const [entry, other] = found;
  if (!entry) toasts.done(words.notBlocked);
  else if (other || entry.data !== value) return true;
  else await removeEntry(entry);
  return false;
}
