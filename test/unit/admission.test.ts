import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Admission } from '../../src/lib/admission.ts';

/** Requests that begin in a turn of the event loop (1.6). */

const MAX_PER_TURN = 4;

let admission: Admission;
beforeEach(() => {
  vi.useFakeTimers();
  admission = new Admission({ maxPerTurn: MAX_PER_TURN });
});
afterEach(() => void vi.useRealTimers());

const enter = () => admission.enter(() => undefined);
const nextTurn = () => vi.advanceTimersByTimeAsync(2);

it('requests wait for nothing where each turn has room for them, however soon the turns follow', async () => {
  for (let turn = 0; turn < 10; turn++) {
    const entered = Array.from({ length: MAX_PER_TURN }, enter);
    expect(entered, `turn ${turn}`).toEqual(Array(MAX_PER_TURN).fill(true));
    await nextTurn();
  }
});

it('requests beyond those of a turn begin in the next ones, the oldest first', async () => {
  const begun: number[] = [];
  for (let request = 0; request < 10; request++) {
    void Promise.resolve(enter()).then(() => begun.push(request));
  }
  await vi.advanceTimersByTimeAsync(0);
  for (const count of [4, 8, 10]) {
    expect(begun).toEqual(Array.from({ length: count }, (_, request) => request));
    await nextTurn();
  }
});
