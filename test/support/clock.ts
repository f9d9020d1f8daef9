import { vi } from 'vitest';
import { isSending } from './d1-intercept.ts';

/** The service's clocks and pauses in the hands of a test. */
export interface TestClock {
  /** Lets time pass, by the wall clock and by `performance.now()`, in which nothing else happens. */
  elapse(milliseconds: number): void;
  /** Sets both clocks back, as a correction of the machine's clock does. */
  stepBack(milliseconds: number): void;
  /** The pauses that were skipped, in milliseconds. */
  readonly pausesMs: number[];
}

const [realPerformance, realNow] = [performance, Date.now];
const [realSetTimeout, realClearTimeout] = [setTimeout, clearTimeout];

/** Kept from one test to the next: the Worker lives on, and its clock does not go back by itself. */
let elapsedMs = 0;
Object.defineProperty(globalThis, 'performance', {
  value: { now: () => realPerformance.now() + elapsedMs },
  configurable: true,
});

/** A pause resolves a promise, by the function that the engine made for it; a timeout does more. */
const isPause = (callback: () => void): boolean =>
  Function.prototype.toString.call(callback).includes('[native code]');

/** After this time without a round trip only pauses are under way. */
const IDLE_MS = 3;

/**
 * Takes the clocks over, until `vi.unstubAllGlobals()` and `vi.restoreAllMocks()`. They run on, and
 * jump where the test lets time pass. Call `settled()` before, so that no write is left running.
 *
 * @param skipsPauses nobody waits for real seconds: when no round trip is under way, the clocks jump to
 * the end of the pause that ends first. Timeouts stay as long as they are.
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
    /** When each pause ends, by its timer. */
    const endsMs = new Map<unknown, number>();
    let busyAtMs = 0;
    vi.stubGlobal('setTimeout', (callback: () => void, delayMs: number) => {
      if (!isPause(callback)) return realSetTimeout(callback, delayMs);
      pausesMs.push(delayMs);
      const endMs = wallMs + delayMs;
      const poll = () => {
        if (!endsMs.has(timer)) return;
        const nowMs = realPerformance.now();
        // However slow this machine is, the database is quick.
        if (isSending()) busyAtMs = nowMs;
        if (nowMs - busyAtMs < IDLE_MS || endMs > Math.min(...endsMs.values())) {
          realSetTimeout(poll, 1);
          return;
        }
        busyAtMs = nowMs;
        endsMs.delete(timer);
        elapse(Math.max(0, endMs - wallMs));
        callback();
      };
      const timer = realSetTimeout(poll, 0);
      endsMs.set(timer, endMs);
      return timer;
    });
    vi.stubGlobal('clearTimeout', (timer: ReturnType<typeof setTimeout> | undefined) => {
      endsMs.delete(timer);
      realClearTimeout(timer);
    });
  }
  return { elapse, stepBack: (milliseconds) => elapse(-milliseconds), pausesMs };
}
