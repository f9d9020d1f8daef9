import { AsyncLocalStorage } from 'node:async_hooks';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { BatchWriter } from '../../src/history/batch-writer.ts';
import { MonotonicClock } from '../../src/lib/clock.ts';
import { VirtualClock } from './clock.ts';

/** The BatchWriter of the history in virtual time (docs/history.md). */

/** The platform ends a request this long after its response. */
const REQUEST_MS = 30_000;
/** A record is given up after this. */
const WAITING_MS = 23_000;
const LONG_MS = 60_000;
/** A step of the wall clock. */
const STEP_MS = 10 * 60_000;

/** A request with a record. After its cancellation no timer of it fires and no write returns. */
class Request {
  isCancelled = false;
  /** Promises that keep it alive. */
  staying = 0;
  readonly #startedAt = clock.now;
  stayedMs = 0;

  constructor() {
    // The platform ends it.
    clock.at(this.#startedAt + REQUEST_MS, () => {
      if (this.staying > 0 && !this.isCancelled) this.stayedMs = REQUEST_MS;
      this.cancel();
    });
  }

  waitUntil = (work: Promise<unknown>): void => {
    this.staying++;
    void work.finally(() => {
      this.staying--;
      this.stayedMs = clock.now - this.#startedAt;
    });
  };

  cancel(): void {
    this.isCancelled = true;
  }
}

let clock: VirtualClock;
/** The error of the wall clock, which `performance.now()` is on Workers. */
let wallMs: number;
const requests = new AsyncLocalStorage<Request>();

/** Binds a callback to the current request: after its cancellation it does nothing. */
function ofThisRequest<Parameters extends unknown[]>(
  callback: (...parameters: Parameters) => void,
): (...parameters: Parameters) => void {
  const request = requests.getStore();
  if (!request) return callback;
  return (...parameters) => {
    if (!request.isCancelled) requests.run(request, () => callback(...parameters));
  };
}

beforeEach(() => {
  clock = new VirtualClock(0);
  wallMs = 0;
  vi.stubGlobal('performance', { now: () => clock.now + wallMs });
  vi.stubGlobal('setTimeout', (done: () => void, ms: number) =>
    clock.at(clock.now + ms, ofThisRequest(done)),
  );
  vi.stubGlobal('clearTimeout', (cancel?: () => void) => cancel?.());
  const { withResolvers } = Promise;
  vi.spyOn(Promise, 'withResolvers').mockImplementation(<Result>() => {
    const resolvers = withResolvers.call<PromiseConstructor, [], PromiseWithResolvers<Result>>(
      Promise,
    );
    return { ...resolvers, resolve: ofThisRequest(resolvers.resolve) };
  });
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const pass = (milliseconds: number) => clock.pass(milliseconds);
const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
const intervalsOf = (times: readonly number[]): number[] =>
  times.slice(1).map((time, index) => time - (times[index] ?? 0));
const never = () => new Promise<void>(() => undefined);
/** A pause in a write. */
const pause = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms));

/** A BatchWriter with writes that a test observes and decides. */
function newWriter(
  write: (batch: readonly number[]) => Promise<void>,
  { maxBatch = 1_000 }: { maxBatch?: number } = {},
) {
  const batches: { items: readonly number[]; startedAt: number; by: Request | undefined }[] = [];
  const failures: unknown[] = [];
  const lost: { count: number; error: unknown; at: number }[] = [];
  const all: Request[] = [];
  const writer = new BatchWriter<number>({
    clock: new MonotonicClock(),
    maxBatch,
    write: async (items) => {
      expect(items.length).toBeGreaterThan(0);
      expect(items.length).toBeLessThanOrEqual(maxBatch);
      batches.push({ items, startedAt: clock.now, by: requests.getStore() });
      await write(items);
    },
    onFailure: (error) => failures.push(error),
    onLost: (count, error) => lost.push({ count, error, at: clock.now }),
  });
  return {
    batches,
    failures,
    lost,
    written: () => batches.flatMap(({ items }) => items),
    startedAt: () => batches.map(({ startedAt }) => startedAt),
    lostCount: () => lost.reduce((sum, { count }) => sum + count, 0),
    /** The requests that `waitUntil` keeps alive. */
    staying: () => all.filter(({ staying, isCancelled }) => staying > 0 && !isCancelled),
    longestStayMs: () => Math.max(...all.map(({ stayedMs }) => stayedMs)),
    /** Adds an item in a request of its own. */
    add(item: number): Request {
      const request = new Request();
      all.push(request);
      requests.run(request, () => writer.add(item, request.waitUntil));
      return request;
    },
  };
}

type Writer = ReturnType<typeof newWriter>;

/** Adds items, one every `everyMs`. */
async function flood({ add }: Writer, count: number, everyMs: number): Promise<void> {
  for (const item of numbers(count)) {
    add(item);
    await pass(everyMs);
  }
}

describe('batches', () => {
  it('a batch has all records that arrived during the flush before', async () => {
    const writer = newWriter(() => pause(100));
    writer.add(-1);
    await pass(2);
    for (const item of numbers(100)) writer.add(item);
    // One flushes, and three stand by.
    expect(writer.staying()).toHaveLength(4);
    await pass(LONG_MS);
    expect(writer.batches.map(({ items }) => items)).toEqual([[-1], numbers(100)]);
    expect(writer.staying()).toEqual([]);
  });

  it('batches begin 100 ms after each other', async () => {
    const writer = newWriter(() => pause(5));
    await flood(writer, 1_000, 1);
    await pass(LONG_MS);
    const intervals = intervalsOf(writer.startedAt());
    expect(Math.min(...intervals)).toBeGreaterThanOrEqual(100);
    expect(Math.max(...intervals)).toBeLessThan(110);
  });

  it('a batch that hangs fails after five seconds, and is repeated', async () => {
    let hangs = true;
    const writer = newWriter(() => (hangs ? never() : pause(1)));
    writer.add(1);
    await pass(4_990);
    expect(writer.batches).toHaveLength(1);
    hangs = false;
    await pass(500);
    expect(writer.written()).toEqual([1, 1]);
    expect(writer.startedAt()[1]).toBeGreaterThan(5_000);
    expect(writer.failures).toHaveLength(1);
  });

  it('a batch that fails once is repeated within 200 ms, also after earlier failures', async () => {
    let failing = 6;
    const writer = newWriter(async () => {
      if (failing-- > 0) throw new Error('down');
    });
    writer.add(1);
    await pass(10_000);
    failing = 1;
    writer.add(2);
    await pass(10_000);
    const [failedAt = 0, againAt = 0] = writer.startedAt().slice(-2);
    expect(againAt - failedAt).toBeLessThan(200);
  });

  it('a batch whose response is lost is repeated without other records', async () => {
    let losing = 3;
    const writer = newWriter(async () => {
      await pause(20);
      if (losing-- > 0) throw new Error('The response was lost');
    });
    for (const item of numbers(10)) writer.add(item);
    await pass(LONG_MS);
    expect(writer.batches.map(({ items }) => items)).toEqual(Array(4).fill(numbers(10)));
    expect(writer.lostCount()).toBe(0);
  });

  it('a batch that fails is given up after 23 seconds, and no request stays for 30', async () => {
    for (const fate of ['fails', 'hangs']) {
      const writer = newWriter(() =>
        fate === 'hangs' ? never() : Promise.reject(new RangeError('down')),
      );
      const from = clock.now;
      for (const item of numbers(30)) writer.add(item);
      await pass(LONG_MS);
      expect(writer.lost).toEqual([
        { count: 30, error: expect.any(Error), at: expect.any(Number) },
      ]);
      const [{ at, error } = { at: 0, error: null }] = writer.lost;
      expect(at - from).toBeGreaterThan(WAITING_MS);
      expect(at - from).toBeLessThan(REQUEST_MS);
      // The last failure says why.
      if (fate === 'fails') expect(error).toBeInstanceOf(RangeError);
      expect(writer.longestStayMs()).toBeLessThan(REQUEST_MS);
      expect(writer.staying()).toEqual([]);
    }
  });
});

describe('requests that stand by', () => {
  it('one more request stands by for each half second of a flush', async () => {
    const writer = newWriter(() => pause(4_000));
    writer.add(-1);
    await pass(2);
    await flood(writer, 31, 100);
    expect(writer.staying()).toHaveLength(1 + 3 + 4);
    await pass(LONG_MS);
    expect(writer.written()).toEqual([-1, ...numbers(31)]);
  });

  it('a flusher hands over to a younger request after half a second', async () => {
    const writer = newWriter(() => pause(50));
    await flood(writer, 2_000, 10);
    await pass(LONG_MS);
    expect(writer.written()).toEqual(numbers(2_000));
    const handedOverAt = writer.batches
      .filter(({ by }, index) => by !== writer.batches[index - 1]?.by)
      .map(({ startedAt }) => startedAt);
    // 20 seconds, and no more changes than it takes.
    const flushers = new Set(writer.batches.map(({ by }) => by)).size;
    expect(handedOverAt).toHaveLength(flushers);
    expect(flushers).toBeGreaterThan(20);
    expect(Math.max(...intervalsOf(handedOverAt))).toBeLessThan(500 + 300);
    expect(Math.max(...intervalsOf(writer.startedAt()))).toBeLessThan(200);
    expect(writer.longestStayMs()).toBeLessThan(10_000);
  });
});

it('no request stays for 30 seconds in a flood while writes fail and then hang', async () => {
  for (const hangsFromMs of numbers(160).map((nth) => nth * 200)) {
    const hangsAt = clock.now + hangsFromMs;
    const writer = newWriter(async () => {
      if (clock.now >= hangsAt) return never();
      await pause(10);
      throw new Error('down');
    });
    await flood(writer, 180, 250);
    await pass(LONG_MS);
    expect(writer.lostCount()).toBe(180);
    expect(writer.longestStayMs()).toBeGreaterThan(WAITING_MS);
    expect(writer.longestStayMs(), `from ${hangsFromMs} ms on`).toBeLessThan(REQUEST_MS);
  }
});

describe('cancelled requests', () => {
  it.each([
    { maxBatch: 1, stepMs: 0 },
    { maxBatch: 1_000, stepMs: 0 },
    { maxBatch: 1_000, stepMs: STEP_MS },
  ])(
    'another request flushes within seven seconds after a flusher of batches of $maxBatch is cancelled, also with a clock that steps back $stepMs ms',
    async ({ maxBatch, stepMs }) => {
      const writer = newWriter(() => pause(20), { maxBatch });
      const flusher = writer.add(-1);
      await pass(5);
      for (const item of numbers(20)) writer.add(item);
      flusher.cancel();
      await pass(1_000);
      wallMs -= stepMs;
      await pass((stepMs > 0 ? 2 : 1) * 7_000 + 20 * 100);
      expect(new Set(writer.written().slice(1))).toEqual(new Set([-1, ...numbers(20)]));
      if (stepMs === 0) expect(writer.startedAt()[1]).toBeLessThan(7_000);
      expect(writer.lostCount()).toBe(0);
      expect(writer.failures).toEqual([]);
    },
  );

  it('other requests stand by after standbys are cancelled', async () => {
    const writer = newWriter(() => pause(20));
    writer.add(-1);
    await pass(5);
    for (const item of numbers(3)) writer.add(item).cancel();
    await pass(LONG_MS);
    writer.add(3);
    await pass(5);
    for (const item of [4, 5, 6, 7]) writer.add(item);
    expect(writer.staying()).toHaveLength(4);
    await pass(LONG_MS);
    expect(writer.written()).toEqual([-1, ...numbers(8)]);
  });

  it('the next request flushes after all requests are cancelled', async () => {
    const writer = newWriter(() => pause(20));
    writer.add(-1);
    await pass(5);
    for (const item of numbers(20)) writer.add(item);
    for (const request of writer.staying()) request.cancel();
    await pass(LONG_MS);
    expect(writer.written()).toEqual([-1]);
    writer.add(20);
    await pass(1_000);
    expect(new Set(writer.written().slice(1))).toEqual(new Set([-1, ...numbers(21)]));
    expect(writer.lostCount()).toBe(0);
  });

  it('the last flusher writes the records of flushers that were cancelled one after the other', async () => {
    const writer = newWriter(() => pause(20));
    writer.add(-1);
    await pass(5);
    for (const item of numbers(4)) writer.add(item);
    for (const count of [1, 2]) {
      writer.batches.at(-1)?.by?.cancel();
      // Another one has begun to write, and is cancelled, too.
      for (let tries = 0; tries < 1_000 && writer.batches.length <= count; tries++) await pass(10);
    }
    await pass(LONG_MS);
    expect(new Set(writer.written())).toEqual(new Set([-1, ...numbers(4)]));
    expect(writer.lostCount()).toBe(0);
  });
});

it.each(['is written', 'fails'])(
  'a flusher that was slow and not cancelled gives way when its write %s in the end',
  async (end) => {
    let writes = 0;
    let others = 0;
    const writer = newWriter(async () => {
      if (++writes === 1) {
        await pause(6_500);
        if (end === 'fails') throw new Error(end);
        return;
      }
      expect(++others).toBe(1);
      await pause(2_000);
      others--;
    });
    // Its own timeout is late.
    const { setTimeout } = globalThis;
    vi.stubGlobal('setTimeout', (done: () => void, ms: number) =>
      setTimeout(done, ms === 5_000 ? 8_000 : ms),
    );
    for (const item of [-1, ...numbers(3)]) writer.add(item);
    await pass(6_100);
    for (const item of [3, 4]) writer.add(item);
    await pass(LONG_MS);
    const again = writer.batches.slice(1).flatMap(({ items }) => items);
    expect(new Set(writer.written())).toEqual(new Set([-1, ...numbers(5)]));
    expect(again).toHaveLength(new Set(again).size);
    expect(writer.lostCount()).toBe(0);
  },
);

describe('clock steps of ten minutes', () => {
  it.each([0, 5, 60])(
    'a clock that steps back %i ms after the start of a write loses no record',
    async (afterMs) => {
      const writer = newWriter(() => pause(50));
      const addedAt = new Map<number, number>();
      for (const item of numbers(540)) {
        if (item === 20) {
          await pass(afterMs);
          wallMs -= STEP_MS;
        }
        addedAt.set(item, clock.now);
        writer.add(item);
        await pass(20);
      }
      await pass(LONG_MS);
      expect(writer.written()).toEqual(numbers(540));
      expect(writer.lostCount()).toBe(0);
      for (const { items, startedAt } of writer.batches) {
        for (const item of items) expect(startedAt - (addedAt.get(item) ?? 0)).toBeLessThan(300);
      }
      expect(writer.longestStayMs()).toBeLessThan(REQUEST_MS);
    },
  );

  it('a clock that steps back does not extend the life of a record or a request', async () => {
    const writer = newWriter(() => Promise.reject(new Error('down')));
    for (const item of numbers(5)) writer.add(item);
    await pass(10_000);
    wallMs -= STEP_MS;
    await pass(LONG_MS);
    const [{ at, count } = { at: 0, count: 0 }] = writer.lost;
    expect(count).toBe(5);
    expect(at).toBeGreaterThan(WAITING_MS - 1_000);
    expect(at).toBeLessThan(WAITING_MS + 2_000);
    expect(writer.longestStayMs()).toBeLessThan(REQUEST_MS);
  });
});

describe('outages', () => {
  it('one failure a minute is logged in an outage', async () => {
    let isDown = true;
    const writer = newWriter(async () => {
      await pause(5);
      if (isDown) throw new Error('down');
    });
    // 150 seconds.
    await flood(writer, 1_500, 100);
    expect(writer.failures).toHaveLength(3);
    isDown = false;
    await pass(LONG_MS);
    expect(writer.failures).toHaveLength(3);
  });

  it('at most 10,000 records wait in an outage, and the oldest behind the batch under way are given up', async () => {
    let isDown = true;
    const writer = newWriter(async () => {
      await pause(1);
      if (isDown) throw new Error('down');
    });
    for (const item of numbers(10_050)) writer.add(item);
    expect(writer.lost).toEqual([{ count: 100, error: expect.any(Error), at: clock.now }]);
    isDown = false;
    await pass(LONG_MS);
    const kept = numbers(10_050).filter((item) => item < 1_000 || item >= 1_100);
    expect(new Set(writer.written())).toEqual(new Set(kept));
    expect(writer.lostCount()).toBe(100);
  });

  it('no record is lost in an outage of 19 seconds with slow writes after it', async () => {
    const writer = newWriter(async () => {
      await pause(300);
      if (clock.now > 1_000 && clock.now < 20_000) throw new Error('down');
    });
    await flood(writer, 1_500, 20);
    await pass(LONG_MS);
    expect(writer.lostCount()).toBe(0);
    expect(new Set(writer.written()).size).toBe(1_500);
  });
});

describe('any faults', () => {
  const episodes = fc.array(
    fc.record({
      forMs: fc.integer({ min: 10, max: 12_000 }),
      fate: fc.constantFrom('works', 'is slow', 'fails', 'response is lost', 'hangs'),
    }),
    { maxLength: 6 },
  );
  const arrivals = fc.array(
    fc.record({
      count: fc.integer({ min: 1, max: 12 }),
      pauseMs: fc.integer({ min: 0, max: 3_000 }),
      /** Every nth of the requests that stay is cancelled; 0 for none. */
      cancelsEvery: fc.constantFrom(0, 0, 0, 1, 2, 3),
      stepsBackMs: fc.constantFrom(0, 0, 0, 900, 600_000),
    }),
    { minLength: 1, maxLength: 12 },
  );

  it('each record is written or reported as lost, and no request stays for 30 seconds', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 40 }),
        episodes,
        arrivals,
        fc.boolean(),
        async (maxBatch, faults, bursts, hasCancellations) => {
          const start = clock.now;
          const ends = faults.map((_, index) =>
            faults.slice(0, index + 1).reduce((end, { forMs }) => end + forMs, start),
          );
          /** The fate of a write that begins now. */
          const fateNow = () => faults[ends.findIndex((end) => clock.now < end)]?.fate ?? 'works';
          const upFrom = ends.at(-1) ?? start;
          const written = new Map<number, number>();
          const acknowledged = new Set<number>();
          const writer = newWriter(
            async (items) => {
              const fate = fateNow();
              // A record whose write has succeeded is never written again.
              for (const item of items) expect(acknowledged.has(item)).toBe(false);
              if (fate === 'hangs') return never();
              await pause(fate === 'is slow' ? 1_500 : 20);
              if (fate === 'fails') throw new Error(fate);
              for (const item of items) if (!written.has(item)) written.set(item, clock.now);
              if (fate === 'response is lost') throw new Error(fate);
              for (const item of items) acknowledged.add(item);
            },
            { maxBatch },
          );
          /** The number of records that are written or reported as lost, unless a response was lost. */
          const settled = () => acknowledged.size + writer.lostCount();
          const addedAt: number[] = [];
          const addOne = () => {
            writer.add(addedAt.length);
            addedAt.push(clock.now);
          };
          for (const { count, pauseMs, cancelsEvery, stepsBackMs } of bursts) {
            for (const _ of numbers(count)) addOne();
            await pass(pauseMs);
            wallMs -= stepsBackMs;
            if (!hasCancellations || cancelsEvery === 0) continue;
            for (const [nth, request] of writer.staying().entries()) {
              if (nth % cancelsEvery === 0) request.cancel();
            }
          }
          await pass(LONG_MS);
          // A clock that steps back hides for how long a request has stayed: the platform ends it.
          const stepsBack = bursts.some(({ stepsBackMs }) => stepsBackMs > 0);
          if (!hasCancellations && !stepsBack) expect(settled()).toBe(addedAt.length);
          // Where all requests were cancelled, the next ones go on for them.
          for (const _ of numbers(2)) {
            addOne();
            await pass(LONG_MS);
          }
          expect(writer.staying()).toEqual([]);
          if (!stepsBack) expect(writer.longestStayMs()).toBeLessThan(REQUEST_MS);
          // A record whose response was lost to the last may be told as lost, and is written.
          const unwritten = addedAt.length - written.size;
          expect(writer.lostCount()).toBeGreaterThanOrEqual(unwritten);
          const isAmbiguous =
            hasCancellations || faults.some(({ fate }) => fate === 'response is lost');
          if (!isAmbiguous) expect(writer.lostCount()).toBe(unwritten);
          if (hasCancellations) return;
          for (const [item, at] of addedAt.entries()) {
            // A write that hangs, and a pause.
            if (at + WAITING_MS > upFrom + 12_000) expect(written.get(item)).toBeDefined();
            if (at > upFrom + 12_000) expect(written.get(item)).toBeLessThan(at + 2_000);
          }
        },
      ),
      { numRuns: 100 },
    );
  });
});
