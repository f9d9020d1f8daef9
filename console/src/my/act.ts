import { useState } from 'react';
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
 * Runs the requests of a part of the page, one at a time. The part itself shows why one failed, and all else stays.
 *
 * @param onOver called if the session is over
 */
export function useAct(onOver: () => void) {
  const [fault, setFault] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const act = async <Result>(request: () => Promise<Result>): Promise<Result | undefined> => {
    setFault(undefined);
    setBusy(true);
    try {
      return await request();
    } catch (error) {
      if (isOver(error)) onOver();
      else setFault(whyFailed(error));
      return undefined;
    } finally {
      setBusy(false);
    }
  };
  return { act, isBusy, fault };
}
