import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { GroupWriter } from '../../src/edge/groups';
import { type TestClock, takeClock } from '../support/clock';

/** Items written in groups by a few of the requests that bring them (docs/edge.md). */

let clock: TestClock;

beforeEach(() => {
  clock = takeClock({ skipsPauses: true });
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const afterAnswer = () => undefined;
const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** A writer whose writes a test sees, and answers. */
function newWriter(maxGroup: number, write: (group: readonly number[]) => Promise<void>) {
  const groups: (readonly number[])[] = [];
  const lost: number[] = [];
  const writer = new GroupWriter<number>(
    maxGroup,
    async (group) => {
      groups.push(group);
      await write(group);
    },
    (item) => lost.push(item),
  );
  /** How many of the requests that brought an item still stay. */
  let staying = 0;
  const add = async (item: number): Promise<void> => {
    staying++;
    await writer.add(item, afterAnswer).finally(() => staying--);
  };
  return { groups, lost, add, staying: () => staying };
}

/** What is on its way without a pause gets there. */
async function passOn(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await undefined;
}

describe('a group of items', () => {
  it('is written by one of the few requests that stay for it', async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const { groups, add, staying } = newWriter(1_000, () => released);
    const first = add(-1);
    const others = numbers(100).map(add);
    await passOn();
    // One that writes, and four for what comes meanwhile.
    expect(staying()).toBe(5);
    release();
    await Promise.all([first, ...others]);
    expect(groups).toEqual([[-1], numbers(100)]);
    expect(staying()).toBe(0);
  });

  it('has one more that stays each second: it will be there when the others have to end', async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const { groups, add, staying } = newWriter(1_000, () => released);
    const added = [add(-1)];
    for (const item of numbers(31)) {
      added.push(add(item));
      clock.elapse(100);
    }
    await passOn();
    expect(staying()).toBe(1 + 4 + 2);
    release();
    await Promise.all(added);
    expect(groups).toEqual([[-1], numbers(31)]);
  });

  it('that is too large is several, and none of its items is left behind', async () => {
    const { groups, add } = newWriter(10, () => Promise.resolve());
    await Promise.all(numbers(96).map(add));
    expect(groups.map(({ length }) => length)).toEqual([1, ...Array(9).fill(10), 5]);
    expect(groups.flat()).toEqual(numbers(96));
  });

  it('keeps every request that comes while writes fail', async () => {
    let isDown = true;
    const { groups, add, staying } = newWriter(1_000, async () => {
      if (isDown) throw new Error('down');
    });
    const first = add(-1);
    await passOn();
    const others = numbers(20).map(add);
    await passOn();
    expect(staying()).toBe(21);
    isDown = false;
    await Promise.all([first, ...others]);
    expect(new Set(groups.flat())).toEqual(new Set([-1, ...numbers(20)]));
  });

  it('is written by another when its writer was cut off', async () => {
    let hangs = true;
    const { groups, add } = newWriter(1_000, () =>
      hangs ? new Promise<void>(() => undefined) : Promise.resolve(),
    );
    void add(-1);
    const others = numbers(20).map(add);
    await passOn();
    hangs = false;
    // Longer than a write may take: what it had is written again, with what came meanwhile.
    await Promise.all(others);
    expect(groups).toEqual([[-1], [-1, ...numbers(20)]]);
  });

  it('that was taken over, and is written late after all, is not written once more', async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    let writes = 0;
    const { add, groups } = newWriter(1_000, async () => {
      const nth = ++writes;
      if (nth === 1) await released;
      if (nth === 2) {
        release();
        await pause(1);
        throw new Error('down');
      }
    });
    await Promise.all([-1, ...numbers(3)].map(add));
    expect(groups[0]).toEqual([-1]);
    expect(groups.slice(2).flat()).not.toContain(-1);
  });

  it('is written by the next that comes when all who stayed for it were cut off', async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const { groups, add, staying } = newWriter(1_000, () => released);
    const first = add(-1);
    clock.elapse(5);
    // Their timers never fire again.
    vi.stubGlobal('setTimeout', () => 0);
    for (const item of numbers(20)) void add(item);
    await passOn();
    expect(staying()).toBe(5);
    vi.unstubAllGlobals();
    release();
    await first;
    expect(groups).toEqual([[-1]]);

    clock.elapse(100);
    await add(20);
    expect(groups).toEqual([[-1], numbers(21)]);
  });

  it('is written as soon as it can be, or given up, whatever fails and for however long', async () => {
    const arrivals = fc.array(fc.integer({ min: 0, max: 1_500 }), { minLength: 1, maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 40 }),
        fc.constantFrom('fails', 'answer is lost', 'hangs'),
        fc.integer({ min: 0, max: 35_000 }),
        fc.array(arrivals, { minLength: 1, maxLength: 3 }),
        async (maxGroup, fate, downMs, bursts) => {
          const upAt = performance.now() + downMs;
          const written = new Set<number>();
          const { add, lost, staying } = newWriter(maxGroup, async (group) => {
            const isUp = performance.now() >= upAt;
            if (isUp || fate === 'answer is lost') for (const item of group) written.add(item);
            if (isUp) return;
            // So long is waited for it.
            if (fate === 'hangs') await pause(7_000);
            throw new Error(fate);
          });
          const mustBeWritten = new Set<number>();
          const added: Promise<void>[] = [];
          for (const pauses of bursts) {
            for (const pauseMs of pauses) {
              // After seven seconds a write has failed, and after three more it is repeated.
              if (performance.now() + 25_000 > upAt + 12_000) mustBeWritten.add(added.length);
              added.push(add(added.length));
              if (pauseMs > 500) await pause(pauseMs);
            }
          }
          await Promise.all(added);
          expect(new Set([...written, ...lost])).toEqual(new Set(numbers(added.length)));
          expect([...mustBeWritten].filter((item) => !written.has(item))).toEqual([]);
          expect(staying()).toBe(0);
        },
      ),
      { numRuns: 40 },
    );
  });

  it('is given up item by item, and keeps up nobody for longer than that', async () => {
    const bad = 7;
    const { add, lost, groups } = newWriter(1_000, async (group) => {
      if (group.includes(bad)) throw new Error('bad');
    });
    await Promise.all(numbers(50).map(add));
    expect(lost).toContain(bad);
    const before = groups.length;
    await add(50);
    expect(groups.slice(before)).toEqual([[50]]);
  });

  it('is bounded: of too many the oldest are given up, and what comes is still written', async () => {
    let isDown = true;
    const { add, lost, groups } = newWriter(1_000, async () => {
      if (isDown) throw new Error('down');
    });
    const added = numbers(10_050).map(add);
    await passOn();
    // The very first is being written.
    expect(lost).toEqual(numbers(101).slice(1));
    isDown = false;
    await Promise.all(added);
    expect(new Set(groups.slice(1).flat()).size).toBe(9_950);
  });
});
