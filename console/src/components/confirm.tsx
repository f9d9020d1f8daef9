import { lazy, Suspense, useSyncExternalStore } from 'react';

const ConfirmPopup = lazy(() => import('./confirm-popup'));

interface Question {
  title: string;
  lead: string;
  /** The words of the button that does it. */
  action: string;
}

export interface Asked extends Question {
  isOpen: boolean;
  answer: (isConfirmed: boolean) => void;
}

let asked: Asked | undefined;
const listeners = new Set<() => void>();

function show(next: Asked): void {
  asked = next;
  for (const listener of listeners) listener();
}

/** Asks before something that cannot be undone. Resolves to whether it is to be done. */
export const confirm = (question: Question): Promise<boolean> =>
  new Promise((resolve) => {
    asked?.answer(false);
    show({
      ...question,
      isOpen: true,
      answer(isConfirmed) {
        // Its words stay while it fades out.
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
