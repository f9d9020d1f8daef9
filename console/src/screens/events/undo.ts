import type { Event } from '@licet/client';
import { describe, queries } from '../../api.ts';
import { runWithProgress } from '../../components/progress.tsx';
import { toasts } from '../../components/toasts.tsx';
import { screenTexts } from '../../screen-texts.ts';
import { inBulk } from '../licenses/bulk.ts';
import { putBack } from './restore.ts';

const words = screenTexts.events.restore;

/** Undoes the events of an act, with progress, and says how many were undone. */
export async function undoEvents(events: readonly Event[]): Promise<void> {
  let overtaken = 0;
  const result = await runWithProgress(
    words.running,
    (progress, signal) =>
      inBulk(
        [...events.keys()],
        async (index) => {
          const event = events[index];
          if (event && (await putBack(event)).overtaken.length > 0) overtaken++;
          return undefined;
        },
        progress,
        signal,
      ),
    events.length,
  );
  await queries.invalidateQueries();
  if (!result) return;
  const { failed, firstError, left } = result;
  if (failed.length > 0) toasts.fail(words.failed(failed.length, describe(firstError)));
  const done = events.length - overtaken - failed.length - left.length;
  toasts.done(words.undone(done, overtaken, left.length));
}
