import { useEffect, useRef, useState } from 'react';
import { words } from './language.ts';
import { Failure } from './service.ts';

export const isOver = (error: unknown): boolean => error instanceof Failure && error.status === 401;

/** Why a request failed, and the next step. */
export function whyFailed(error: unknown): string {
  const status = error instanceof Failure ? error.status : 0;
  if (status === 429) return words.tooMany;
  return status === 404 ? words.notThere : words.failed;
}

/**
 * Runs the requests of a part of the page. The part itself shows why one failed, and all else stays.
 *
 * @param onOver called if the session is over
 */
export function useAct(onOver: () => void) {
  const [fault, setFault] = useState<string>();
  const [running, setRunning] = useState(0);
  const isGone = useRef(false);
  useEffect(
    () => () => {
      isGone.current = true;
    },
    [],
  );
  const act = async <Result>(request: () => Promise<Result>): Promise<Result | undefined> => {
    setFault(undefined);
    setRunning((count) => count + 1);
    try {
      const result = await request();
      // Another session may have begun since the part has gone.
      return isGone.current ? undefined : result;
    } catch (error) {
      if (isGone.current) return undefined;
      if (isOver(error)) onOver();
      else setFault(whyFailed(error));
      return undefined;
    } finally {
      setRunning((count) => count - 1);
    }
  };
  return { act, isBusy: running > 0, fault };
}
