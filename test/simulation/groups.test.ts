import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { GroupWriter } from '../../src/edge/groups.ts';
import { VirtualClock } from './clock.ts';
import { Random } from './random.ts';

/** Items written in groups by a few of the requests that bring them (docs/edge.md), in virtual time. */

let clock: VirtualClock;

beforeEach(() => {
  clock = new VirtualClock(0);
  vi.stubGlobal('performance', { now: () => clock.now });
  vi.stubGlobal('setTimeout', (done: () => void, ms: number) => clock.at(clock.now + ms, done));
  vi.stubGlobal('clearTimeout', (cancel?: () => void) => cancel?.());
});

afterEach(() => {
  vi.unstubAllGlobals();
});

/** The platform ends a request so long after its answer. */
const REQUEST_MS = 30_000;
const LONG_MS = 60_000;

const pass = (milliseconds: number) => clock.pass(milliseconds);
const pause = (milliseconds: number) => clock.wait(milliseconds);
const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
const intervalsOf = (times: readonly number[]): number[] =>
  times.slice(1).map((time, index) => time - (times[index] ?? 0));
const never = () => new Promise<void>(() => undefined);

/** Adds items, with so many milliseconds from one to the next. */
async function flood(add: (item: number) => Promise<void>, count: number, everyMs: number) {
  for (const item of numbers(count)) {
    void add(item);
    await pass(everyMs);
  }
}

/** Does something whose timers never fire: the platform cuts it off. */
function cutOff(work: () => void): void {
  const { setTimeout } = globalThis;
  vi.stubGlobal('setTimeout', () => 0);
  work();
  vi.stubGlobal('setTimeout', setTimeout);
}

/** The database has refused something in a group. */
class Refusal extends Error {}

/** A writer whose writes a test sees, and answers. */
function newWriter(
  maxGroup: number,
  write: (group: readonly number[]) => Promise<void>,
  onFailure: () => void = () => undefined,
) {
  const groups: (readonly number[])[] = [];
  const startedAt: number[] = [];
  const failures: unknown[] = [];
  const lost: { count: number; error: unknown }[] = [];
  const addedAt = new Map<number, number>();
  const writer = new GroupWriter<number>({
    maxGroup,
    write: async (group) => {
      expect(group).not.toEqual([]);
      for (const item of group) expect(clock.now - (addedAt.get(item) ?? 0)).toBeLessThan(23_001);
      groups.push(group);
      startedAt.push(clock.now);
      await write(group);
    },
    isRefusal: (error) => error instanceof Refusal,
    onFailure: (error) => {
      failures.push(error);
      onFailure();
    },
    onLost: (count, error) => lost.push({ count, error }),
  });
  /** For how long the requests stayed that have ended. */
  const stayedMs: number[] = [];
  let staying = 0;
  return {
    groups,
    startedAt,
    failures,
    lost,
    stayedMs,
    staying: () => staying,
    lostCount: () => lost.reduce((sum, { count }) => sum + count, 0),
    async add(item: number): Promise<void> {
      const from = clock.now;
      addedAt.set(item, from);
      staying++;
      await writer.add(item, () => undefined);
      staying--;
      stayedMs.push(clock.now - from);
    },
  };
}

describe('a group of items', () => {
  it('is written by one of the few requests that stay for it', async () => {
    const { groups, add, staying } = newWriter(1_000, () => pause(100));
    void add(-1);
    for (const item of numbers(100)) void add(item);
    await pass(1);
    // One that writes, and four for what comes meanwhile.
    expect(staying()).toBe(5);
    await pass(LONG_MS);
    expect(groups).toEqual([[-1], numbers(100)]);
    expect(staying()).toBe(0);
  });

  it('has one more that stays each second: it will be there when the others have to end', async () => {
    const { groups, add, staying } = newWriter(1_000, () => pause(4_000));
    void add(-1);
    await flood(add, 31, 100);
    expect(staying()).toBe(1 + 4 + 2);
    await pass(LONG_MS);
    expect(groups).toEqual([[-1], numbers(31)]);
  });

  it('that is too large is several, and none of its items is left behind', async () => {
    const { groups, add, staying } = newWriter(10, () => Promise.resolve());
    for (const item of numbers(96)) void add(item);
    await pass(LONG_MS);
    expect(groups.map(({ length }) => length)).toEqual([1, ...Array(9).fill(10), 5]);
    expect(groups.flat()).toEqual(numbers(96));
    expect(staying()).toBe(0);
  });

  it('is not begun sooner than 50 ms after the one before', async () => {
    const { startedAt, add } = newWriter(1_000, () => pause(5));
    await flood(add, 400, 1);
    await pass(LONG_MS);
    const intervals = intervalsOf(startedAt);
    expect(Math.min(...intervals)).toBeGreaterThanOrEqual(50);
    // Nor much later.
    expect(Math.max(...intervals)).toBeLessThan(80);
  });

  it('has failed after five seconds, and is written again', async () => {
    let hangs = true;
    const { groups, startedAt, failures, add } = newWriter(1_000, () =>
      hangs ? never() : Promise.resolve(),
    );
    void add(-1);
    await pass(4_990);
    expect(groups).toHaveLength(1);
    hangs = false;
    await pass(500);
    expect(groups).toEqual([[-1], [-1]]);
    expect(startedAt[1]).toBeGreaterThan(5_000);
    expect(failures).toHaveLength(1);
  });

  it.each([1, 1_000])(
    'of up to %i is written by another when its writer was cut off',
    async (maxGroup) => {
      let hangs = true;
      const { groups, add } = newWriter(maxGroup, () => (hangs ? never() : Promise.resolve()));
      cutOff(() => void add(-1));
      for (const item of numbers(20)) void add(item);
      hangs = false;
      await pass(8_000);
      expect(groups[0]).toEqual([-1]);
      expect(new Set(groups.slice(1).flat())).toEqual(new Set([-1, ...numbers(20)]));
    },
  );

  it('that fails once is written again at once, whatever failed before', async () => {
    let failing = 6;
    const { startedAt, add } = newWriter(1_000, async () => {
      if (failing-- > 0) throw new Error('down');
    });
    void add(1);
    await pass(10_000);
    failing = 1;
    void add(2);
    await pass(10_000);
    const [failedAt = 0, againAt = 0] = startedAt.slice(-2);
    expect(againAt - failedAt).toBeLessThan(200);
  });

  it.each(['is written', 'fails'])(
    'that was taken over and %s late after all disturbs no other',
    async (end) => {
      let writes = 0;
      let others = 0;
      const { add, groups, failures } = newWriter(1_000, async () => {
        if (++writes === 1) {
          await pause(6_500);
          if (end === 'fails') throw new Error(end);
          return;
        }
        expect(++others).toBe(1);
        await pause(2_000);
        others--;
      });
      // Its own time limit is late.
      const { setTimeout } = globalThis;
      vi.stubGlobal('setTimeout', (done: () => void, ms: number) =>
        setTimeout(done, ms === 5_000 ? 8_000 : ms),
      );
      for (const item of [-1, ...numbers(3)]) void add(item);
      await pass(6_000);
      for (const item of [3, 4]) void add(item);
      await pass(LONG_MS);
      expect(
        groups
          .slice(1)
          .flat()
          .filter((item) => item !== -1),
      ).toEqual(numbers(5));
      expect(groups.flat().filter((item) => item === -1).length).toBeLessThanOrEqual(2);
      expect(failures).toHaveLength(1);
    },
  );

  it('is written, or told as lost, also when those that stayed for it have ended before it failed', async () => {
    for (const lead of numbers(60)) {
      const restsAt = clock.now + 3_000;
      let hangs = true;
      const { add, groups, lostCount } = newWriter(1, async ([item = 0]) => {
        await pause(20);
        if (item === 0 && clock.now < restsAt) throw new Error('bad');
        if (item === 99 && hangs) {
          hangs = false;
          await never();
        }
      });
      void add(0);
      await pass(lead);
      for (const item of [1, 2, 3, 4, 99]) void add(item);
      await pass(LONG_MS);
      expect(groups.filter(([item]) => item === 99).length + lostCount()).toBeGreaterThan(1);
    }
  });

  it('keeps no request for 30 seconds, whenever a write hangs', async () => {
    for (const hangsFromMs of numbers(30).map((nth) => 22_000 + nth * 100)) {
      const hangsAt = clock.now + hangsFromMs;
      const { add, stayedMs, lostCount } = newWriter(1, async () => {
        if (clock.now >= hangsAt) return never();
        throw new Error('down');
      });
      for (const item of numbers(5)) void add(item);
      await pass(950);
      void add(5);
      await pass(LONG_MS);
      expect(lostCount()).toBe(6);
      expect(Math.max(...stayedMs)).toBeLessThan(REQUEST_MS);
    }
  });

  it('is written by the next that comes when all who stayed for it were cut off', async () => {
    const { groups, add, staying } = newWriter(1_000, () => pause(10));
    void add(-1);
    cutOff(() => {
      for (const item of numbers(20)) void add(item);
    });
    await pass(1);
    expect(staying()).toBe(5);
    await pass(100);
    expect(groups).toEqual([[-1]]);
    void add(20);
    await pass(100);
    expect(groups).toEqual([[-1], numbers(21)]);
  });

  it.each([1, 12])(
    'that is refused for %i bad items is written in halves, and they are lost alone',
    async (count) => {
      const isBad = (item: number) => item % 13 === 7 && item < 13 * count;
      const { add, lost, lostCount, groups, startedAt, failures } = newWriter(
        1_000,
        async (group) => {
          await pause(30);
          if (group.some(isBad)) throw new Refusal();
        },
      );
      for (const item of numbers(600)) void add(item);
      await pass(LONG_MS);
      const written = groups.filter((group) => !group.some(isBad)).flat();
      expect(new Set(written)).toEqual(new Set(numbers(600).filter((item) => !isBad(item))));
      expect(startedAt.at(-1)).toBeLessThan(count * 2_000);
      expect(Math.min(...intervalsOf(startedAt))).toBeGreaterThanOrEqual(50);
      expect(lostCount()).toBe(count);
      expect(lost.every(({ error }) => error instanceof Refusal)).toBe(true);
      // The database answers: that is no failure of its own.
      expect(failures).toEqual([]);
    },
  );

  it('that fails for one bad item, nobody knows why, does not take the others with it', async () => {
    const writtenAt = new Map<number, number>();
    const { add, lostCount, failures } = newWriter(1_000, async (group) => {
      await pause(30);
      if (group.includes(105)) throw new Error('bad');
      for (const item of group) writtenAt.set(item, clock.now);
    });
    await flood(add, 2_000, 20);
    await pass(LONG_MS);
    expect(lostCount()).toBe(1);
    expect(writtenAt.size).toBe(1_999);
    // Once a minute at most, in 100 seconds.
    expect(failures.length).toBeLessThanOrEqual(2);
  });

  it.each([0.5, 0.7])(
    'is not lost to a fault that comes and goes, with chance %f',
    async (chance) => {
      const random = new Random(7);
      const writtenAt = new Map<number, number>();
      const { add, lostCount } = newWriter(1_000, async (group) => {
        const fails = clock.now < 20_000 && random.chance(chance);
        await pause(60);
        if (fails) throw new Error('down');
        for (const item of group) writtenAt.set(item, clock.now);
      });
      for (const item of numbers(3_000)) {
        void add(item);
        await pass(10);
      }
      await pass(LONG_MS);
      expect(lostCount()).toBe(0);
      expect(writtenAt.size).toBe(3_000);
    },
  );

  it('is not lost when the database was away for 19 seconds, and is slow then', async () => {
    const { add, lostCount, groups } = newWriter(1_000, async () => {
      await pause(300);
      if (clock.now > 1_000 && clock.now < 20_000) throw new Error('down');
    });
    await flood(add, 1_500, 20);
    await pass(LONG_MS);
    expect(lostCount()).toBe(0);
    expect(new Set(groups.flat()).size).toBe(1_500);
  });

  it('tells once when writes begin to fail, and how many it has lost with the last failure', async () => {
    const { add, lost, failures } = newWriter(1_000, () => Promise.reject(new RangeError('down')));
    for (const item of numbers(30)) void add(item);
    await pass(LONG_MS);
    expect(failures).toHaveLength(1);
    expect(lost).toEqual([{ count: 30, error: expect.any(RangeError) }]);
  });

  it('is tried for 23 seconds, and whoever stays ends within the 30 of a request', async () => {
    for (const fate of ['fails', 'hangs'] as const) {
      const { add, startedAt, stayedMs, lostCount } = newWriter(1_000, () =>
        fate === 'hangs' ? never() : Promise.reject(new Error('down')),
      );
      const from = clock.now;
      void add(1);
      await pass(LONG_MS);
      expect(lostCount()).toBe(1);
      expect((startedAt.at(-1) ?? 0) - from).toBeGreaterThan(18_000);
      expect((startedAt.at(-1) ?? 0) - from).toBeLessThan(24_000);
      expect(Math.max(...stayedMs)).toBeLessThan(REQUEST_MS);
    }
  });

  it('is bounded: of too many the oldest are given up, and what comes is still written', async () => {
    let isDown = true;
    const { add, lost, groups } = newWriter(1_000, async () => {
      await pause(1);
      if (isDown) throw new Error('down');
    });
    for (const item of numbers(10_050)) void add(item);
    // The very first is being written.
    expect(lost).toEqual([{ count: 100, error: expect.any(Error) }]);
    isDown = false;
    await pass(LONG_MS);
    expect(new Set(groups.flat())).toEqual(new Set([0, ...numbers(10_050).slice(101)]));
  });

  const episodes = fc.array(
    fc.record({
      forMs: fc.integer({ min: 10, max: 12_000 }),
      fate: fc.constantFrom('works', 'is slow', 'fails', 'answer is lost', 'hangs'),
    }),
    { maxLength: 6 },
  );
  const arrivals = fc.array(
    fc.record({
      count: fc.integer({ min: 1, max: 12 }),
      pauseMs: fc.integer({ min: 0, max: 3_000 }),
    }),
    { minLength: 1, maxLength: 12 },
  );

  it('is written, or told as lost, within the time of a request, whatever fails and for however long', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 40 }),
        episodes,
        arrivals,
        async (maxGroup, faults, bursts) => {
          const start = clock.now;
          const ends = faults.map((_, index) =>
            faults.slice(0, index + 1).reduce((end, { forMs }) => end + forMs, start),
          );
          /** What becomes of a write that begins now. */
          const fateNow = () => faults[ends.findIndex((end) => clock.now < end)]?.fate ?? 'works';
          const upFrom = ends.at(-1) ?? start;
          const written = new Map<number, number>();
          const { add, lostCount, stayedMs, staying } = newWriter(maxGroup, async (group) => {
            const fate = fateNow();
            if (fate === 'hangs') return never();
            await pause(fate === 'is slow' ? 1_500 : 20);
            if (fate === 'fails') throw new Error(fate);
            for (const item of group) written.set(item, clock.now);
            if (fate === 'answer is lost') throw new Error(fate);
          });
          const addedAt: number[] = [];
          for (const { count, pauseMs } of bursts) {
            for (let nth = 0; nth < count; nth++) {
              void add(addedAt.length);
              addedAt.push(clock.now);
            }
            await pass(pauseMs);
          }
          await pass(LONG_MS);
          expect(staying()).toBe(0);
          expect(Math.max(...stayedMs)).toBeLessThan(REQUEST_MS);
          // Whose answer was lost to the last may be told as lost, and is written.
          const unwritten = addedAt.length - written.size;
          expect(lostCount()).toBeGreaterThanOrEqual(unwritten);
          if (!faults.some(({ fate }) => fate === 'answer is lost'))
            expect(lostCount()).toBe(unwritten);
          for (const [item, at] of addedAt.entries()) {
            // A write that hangs, a pause, and the halves of at most 40.
            if (at + 23_000 > upFrom + 12_000) expect(written.get(item)).toBeDefined();
            if (at > upFrom + 12_000) expect(written.get(item)).toBeLessThan(at + 2_000);
          }
        },
      ),
      { numRuns: 100 },
    );
  });
});
