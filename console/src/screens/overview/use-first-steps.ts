import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useMay } from '../../session.ts';
import { areDone, stepsQuery } from './queries.ts';

const DISMISSED = 'licet.first-steps.dismissed';

/**
 * The steps from an empty service to a running one. They are shown to viewers who may do all of them, and tick off by
 * themselves. `isShown` until all are done or dismissed.
 */
export function useFirstSteps() {
  const mayAll = useMay('everything');
  const [isDismissed, setDismissed] = useState(() => localStorage.getItem(DISMISSED) !== null);
  const { data: done } = useQuery({ ...stepsQuery, enabled: mayAll && !isDismissed });
  const isDone = done !== undefined && areDone(done);
  // A viewer who has seen open steps also sees the last one ticked off.
  const [wasSeen, setWasSeen] = useState(false);
  if (done && !isDone && !wasSeen) setWasSeen(true);
  const dismiss = (): void => {
    localStorage.setItem(DISMISSED, 'true');
    setDismissed(true);
  };
  return {
    done,
    isEmpty: mayAll && done?.product === false,
    isShown: mayAll && !isDismissed && done !== undefined && (!isDone || wasSeen),
    isDone,
    dismiss,
  };
}
