import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { MonotonicClock } from '../../src/requests/batch-writer.ts';

/** On Workers `performance.now()` is the wall clock, which can step back. */

/** A clock over a wall clock that a test moves. */
function newClock() {
  let wallMs = 1_000_000;
  vi.stubGlobal('performance', { now: () => wallMs });
  const clock = new MonotonicClock();
  clock.now();
  return {
    /** Moves the wall clock. @returns how far the clock goes */
    move(milliseconds: number): number {
      const before = clock.now();
      wallMs += milliseconds;
      return clock.now() - before;
    },
  };
}

it('a monotonic clock goes on with the wall clock and stands still while that steps back', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -3_600_000, max: 3_600_000 })), (moves) => {
      const { move } = newClock();
      for (const milliseconds of moves) {
        expect(move(milliseconds)).toBe(Math.max(0, milliseconds));
      }
    }),
  );
});
