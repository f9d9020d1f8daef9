import { useSyncExternalStore } from 'react';
import { texts } from '../texts.ts';
import { Button } from './button.tsx';

/** The progress of each task that is not done at once, with a button that stops it. */

interface Running {
  id: number;
  title: string;
  done: number;
  /** Undefined if it is not known. */
  total: number | undefined;
  stop: () => void;
}

const SHOWN_AFTER_MS = 400;
let lastId = 0;
/** The tasks that are shown, in the order in which they started. */
let running: readonly Running[] = [];
const listeners = new Set<() => void>();

function show(next: readonly Running[]): void {
  running = next;
  for (const listener of listeners) listener();
}

/**
 * Runs a task and shows the progress that it reports. Resolves to undefined if the task ends with the signal's
 * error, because the viewer has stopped it.
 */
export async function runWithProgress<Result>(
  title: string,
  task: (progress: (done: number) => void, signal: AbortSignal) => Promise<Result>,
  total?: number,
): Promise<Result | undefined> {
  const controller = new AbortController();
  const id = ++lastId;
  let done = 0;
  const timer = setTimeout(
    () => show([...running, { id, title, done, total, stop: () => controller.abort() }]),
    SHOWN_AFTER_MS,
  );
  try {
    return await task((value) => {
      done = value;
      show(running.map((one) => (one.id === id ? { ...one, done } : one)));
    }, controller.signal);
  } catch (error) {
    if (controller.signal.aborted) return undefined;
    throw error;
  } finally {
    clearTimeout(timer);
    show(running.filter((one) => one.id !== id));
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The place where the progress appears; once in the page. */
export function ProgressHost() {
  const now = useSyncExternalStore(subscribe, () => running);
  if (now.length === 0) return null;
  return (
    <div className="fixed inset-x-4 bottom-20 z-30 mx-auto flex max-w-md flex-col gap-2 lg:bottom-6">
      {now.map(({ id, title, done, total, stop }) => (
        <div
          key={id}
          role="status"
          className="flex items-center gap-4 rounded-xl border border-line bg-raised p-4 shadow-raised"
        >
          <div className="min-w-0 flex-1">
            <p className="mb-2 flex justify-between gap-4">
              <span>{title}</span>
              <span className="text-muted">
                {total === undefined ? texts.counted(done) : texts.done(done, total)}
              </span>
            </p>
            <progress
              aria-label={title}
              className="block h-1.5 w-full"
              {...(total !== undefined && { value: done, max: total })}
            />
          </div>
          <Button onClick={stop}>{texts.actions.stop}</Button>
        </div>
      ))}
    </div>
  );
}
