import { vi } from 'vitest';
import { isSending } from './d1-intercept';

/** The service's clocks and pauses in the hands of a test. */
export interface TestClock {
  /** Lets time pass, by the wall clock and by the isolate's own, in which nothing else happens. */
  elapse(milliseconds: number): void;
  /** The pauses that were skipped, in milliseconds. */
  readonly pausesMs: number[];
}

const [realPerformance, realSetTimeout, realNow] = [performance, setTimeout, Date.now];

/** The isolate's own clock never goes back, from one test to the next either: the Worker lives on. */
let elapsedMs = 0;
Object.defineProperty(globalThis, 'performance', {
  value: { now: () => realPerformance.now() + elapsedMs },
  configurable: true,
});

/** A pause resolves a promise, by the function that the engine made for it; a time limit does more. */
const isPause = (callback: () => void): boolean =>
  Function.prototype.toString.call(callback).includes('[native code]');

/**
 * Takes the clocks over, until `vi.unstubAllGlobals()` and `vi.restoreAllMocks()`. They run on, and
 * jump where the test lets time pass. What is still being written should be `settled()` before.
 *
 * @param skipsPauses nobody waits for real seconds: what is put off is done as soon as no round trip to
 * the database is under way, and the clocks say that the time has passed. Pauses overlap as they
 * would. Time limits stay as long as they are.
 */
export function takeClock({ skipsPauses = false } = {}): TestClock {
  const pausesMs: number[] = [];
  let wallMs = 0;
  const elapse = (milliseconds: number) => {
    elapsedMs += milliseconds;
    wallMs += milliseconds;
  };

  vi.spyOn(Date, 'now').mockImplementation(() => realNow() + wallMs);
  if (skipsPauses) {
    vi.stubGlobal('setTimeout', (callback: () => void, delayMs: number) => {
      if (!isPause(callback)) return realSetTimeout(callback, delayMs);
      pausesMs.push(delayMs);
      const endMs = wallMs + delayMs;
      const end = () => {
        // However slow this machine is, the database is quick.
        if (isSending()) {
          realSetTimeout(end, 1);
          return;
        }
        elapse(Math.max(0, endMs - wallMs));
        callback();
      };
      return realSetTimeout(end, 0);
    });
  }
  return { elapse, pausesMs };
}
