import { lazy, Suspense, useSyncExternalStore } from 'react';
import { describe } from '../api.ts';
import { texts } from '../texts.ts';

const load = () => import('./toast-host.tsx');
const LazyHost = lazy(load);

const UNDO_MS = 10_000;
let isWanted = false;
const ready = Promise.withResolvers<void>();
const listeners = new Set<() => void>();

type Message = Parameters<Awaited<ReturnType<typeof load>>['manager']['add']>[0];

/** Shows a message. The host is mounted with the first one. */
async function add(messageOf: (close: () => void) => Message): Promise<void> {
  // A host that cannot be loaded is not mounted, because it would break the page.
  const { manager } = await load();
  isWanted = true;
  for (const listener of listeners) listener();
  await ready.promise;
  const id = manager.add(messageOf(() => manager.close(id)));
}

/** Short messages at the edge of the screen. */
export const toasts = {
  /** Reports a finished action. With `restore` it offers to undo it, and leads to the undo of later. */
  done(title: string, restore?: () => Promise<unknown>): void {
    void add((close) => ({
      title,
      ...(restore && {
        timeout: UNDO_MS,
        type: 'undo',
        actionProps: {
          children: texts.actions.undo,
          onClick() {
            close();
            restore().catch(toasts.fail);
          },
        },
      }),
    }));
  },

  /** Reports a failure: an error, or a text. */
  fail(error: unknown): void {
    void add(() => ({
      title: typeof error === 'string' ? error : describe(error),
      type: 'error',
      priority: 'high',
      timeout: UNDO_MS,
    }));
  },
};

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The place where the messages appear; once in the page. */
export function ToastHost() {
  const isMounted = useSyncExternalStore(subscribe, () => isWanted);
  return <Suspense>{isMounted && <LazyHost onReady={ready.resolve} />}</Suspense>;
}
