import { lazy, Suspense, useSyncExternalStore } from 'react';
import type { Look } from './button-class.ts';

const ConfirmPopup = lazy(() => import('./confirm-popup.tsx'));

interface Question {
  title: string;
  lead: string;
  /** The label of the button that confirms. */
  action: string;
  /** Dangerous by default. */
  look?: Look;
}

export interface Asked extends Question {
  isOpen: boolean;
  close: (isConfirmed: boolean) => void;
}

let asked: Asked | undefined;
const listeners = new Set<() => void>();

function show(next: Asked): void {
  asked = next;
  for (const listener of listeners) listener();
}

/** Asks before an action that cannot be undone, or that changes much. Resolves to true if the viewer confirms it. */
export const confirm = (question: Question): Promise<boolean> =>
  new Promise((resolve) => {
    asked?.close(false);
    show({
      ...question,
      isOpen: true,
      close(isConfirmed) {
        // The text stays while the dialog fades out.
        if (asked) show({ ...asked, isOpen: false });
        resolve(isConfirmed);
      },
    });
  });

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The place where `confirm` asks; once in the page. */
export function ConfirmHost() {
  const question = useSyncExternalStore(subscribe, () => asked);
  return <Suspense>{question && <ConfirmPopup question={question} />}</Suspense>;
}
