import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useMay } from '../../session';
import { STEPS, stepsQuery } from './queries';

const DISMISSED = 'licet.first-steps.dismissed';

/**
 * The steps from an empty service to a running one, which tick off by themselves; only for those who may do them
 * all. `isNeeded` until all are done or somebody has dismissed them.
 */
export function useFirstSteps() {
  const mayAll = useMay('everything');
  const [isDismissed, setDismissed] = useState(() => localStorage.getItem(DISMISSED) !== null);
  const { data: done } = useQuery({ ...stepsQuery, enabled: mayAll && !isDismissed });
  const isDone = done !== undefined && STEPS.every((step) => done[step]);
  // They stay to show the last tick to those who have seen the first.
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
