import type { BlacklistEntry } from '@licet/client';
import { licet, queries } from '../../api.ts';
import { toasts } from '../../components/toasts.tsx';
import { screenTexts } from '../../screen-texts.ts';

/** The changes of the blacklist that need no form. */

const words = screenTexts.blacklist;

/** Reads all data again that a change of the blacklist may have changed. */
export const changed = () => queries.invalidateQueries({ queryKey: ['blacklist'] });

/** Removes an entry. Undo creates the same entry again, with another id. */
export async function removeEntry({ id, ...entry }: BlacklistEntry): Promise<void> {
  const { licenseDataType, data, isForAllProducts, productId, reason } = entry;
  await licet.blacklists.delete(id);
  await changed();
  toasts.done(words.removed(data), async () => {
    await licet.blacklists.create({ licenseDataType, data, isForAllProducts, productId, reason });
    await changed();
  });
}
