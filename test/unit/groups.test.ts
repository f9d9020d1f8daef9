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
const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** A writer whose writes a test sees, and answers. */
function newWriter(maxGroup: number, write: (group: readonly number[]) => Promise<void>) {
  const groups: (readonly number[])[] = [];
  const writer = new GroupWriter<number>(maxGroup, async (group) => {
    groups.push(group);
    await write(group);
  });
  /** How many of the requests that brought an item still stay. */
  let staying = 0;
  const add = async (item: number): Promise<void> => {
    staying++;
    await writer.add(item, afterAnswer).finally(() => staying--);
  };
  return { groups, add, staying: () => staying };
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

  it('is written by the next that comes when all who stayed for it were cut off', async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const { groups, add, staying } = newWriter(1_000, () => released);
    const first = add(-1);
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

  it('is written whole, whatever fails on the way', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 12 }),
        fc.array(fc.constantFrom('written', 'fails', 'answer is lost'), { maxLength: 6 }),
        fc.array(fc.integer({ min: 0, max: 20 }), { minLength: 1, maxLength: 3 }),
        async (maxGroup, fates, waves) => {
          const left = [...fates];
          const written = new Set<number>();
          const { add, staying } = newWriter(maxGroup, async (group) => {
            const fate = left.shift();
            if (fate === 'fails') throw new Error(fate);
            for (const item of group) written.add(item);
            if (fate === 'answer is lost') throw new Error(fate);
          });
          let items = 0;
          const added: Promise<void>[] = [];
          for (const wave of waves) {
            for (let count = 0; count < wave; count++) added.push(add(items++));
            await new Promise((resolve) => setTimeout(resolve, 30));
          }
          await Promise.all(added);
          expect(written).toEqual(new Set(numbers(items)));
          expect(staying()).toBe(0);
        },
      ),
      { numRuns: 25 },
    );
  });
});
