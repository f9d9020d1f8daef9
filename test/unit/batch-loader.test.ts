import { beforeEach, expect, it, vi } from 'vitest';
import { BatchLoader, SingleFlight } from '../../src/cache/batch-loader.ts';
import { TimeoutError } from '../../src/lib/async.ts';

/** How long a request waits for the load of another one, and a little more. */
const JOINED_MS = 8_000 + 10;

/** Keeps what a request hands over to be kept alive. */
const kept: Promise<unknown>[] = [];
const waitUntil = (work: Promise<unknown>): void => {
  kept.push(work);
};

beforeEach(() => {
  kept.length = 0;
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});

/** Lets time pass, and all that it sets off. */
const pass = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);

/** Loses the next pause, as if the request that began it were cancelled. */
function cancelNextPause(): void {
  const { setTimeout } = globalThis;
  vi.spyOn(globalThis, 'setTimeout').mockImplementationOnce(() => setTimeout(() => undefined, 0));
}

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `key ${index}`);

/** A read that ends when the test says so. Each key has itself as value, but for `unknown`. */
function controlledRead() {
  const reads: {
    keys: readonly string[];
    succeed: () => void;
    fail: (error: Error) => void;
  }[] = [];
  const loader = new BatchLoader(
    (keys) =>
      new Promise<ReadonlyMap<string, string>>((resolve, reject) => {
        const known = keys.filter((key) => key !== 'unknown');
        const succeed = () => resolve(new Map(known.map((key) => [key, key])));
        reads.push({ keys, succeed, fail: reject });
      }),
  );
  return { reads, load: (key: string) => loader.load(key, waitUntil) };
}

it('keys that are loaded at the same moment are one read', async () => {
  const { reads, load } = controlledRead();
  const loaded = Promise.all(['A', 'unknown', 'B', 'A'].map(load));
  await pass(1);
  expect(reads.map(({ keys }) => keys)).toEqual([['A', 'unknown', 'B']]);
  reads[0]?.succeed();
  expect(await loaded).toEqual(['A', null, 'B', 'A']);
});

it('a read takes at most as many keys as it may, of any type', async () => {
  const sizes: number[] = [];
  const loader = new BatchLoader<number, object>(async (keys) => {
    sizes.push(keys.length);
    return new Map(keys.map((key, index) => [key, index]));
  }, 2);
  const loaded = Promise.all([{}, {}, {}].map((key) => loader.load(key, waitUntil)));
  await pass(1);
  expect(sizes).toEqual([2, 1]);
  expect(await loaded).toEqual([0, 1, 0]);
});

it('a read takes at most a hundred keys', async () => {
  const { reads, load } = controlledRead();
  const loaded = Promise.all(numbered(250).map(load));
  await pass(1);
  expect(reads.map(({ keys }) => keys.length)).toEqual([100, 100, 50]);
  for (const { succeed } of reads) succeed();
  expect(await loaded).toEqual(numbered(250));
});

it('a key that is loaded during a read is read after it was asked for', async () => {
  const { reads, load } = controlledRead();
  const first = load('A');
  await pass(1);
  const second = load('A');
  await pass(1);
  expect(reads).toHaveLength(2);
  reads[1]?.succeed();
  expect(await second).toBe('A');
  reads[0]?.succeed();
  expect(await first).toBe('A');
});

it('one bad key fails no other key of its batch', async () => {
  const { reads, load } = controlledRead();
  const loaded = Promise.allSettled(['A', 'bad', 'B'].map(load));
  await pass(1);
  reads[0]?.fail(new Error('A parameter is bad'));
  await pass(0);
  expect(reads.slice(1).map(({ keys }) => keys)).toEqual([['A'], ['bad'], ['B']]);
  for (const { keys, succeed, fail } of reads.slice(1)) {
    if (keys[0] === 'bad') fail(new Error('The parameter is bad'));
    else succeed();
  }
  expect(await loaded).toEqual([
    { status: 'fulfilled', value: 'A' },
    { status: 'rejected', reason: new Error('The parameter is bad') },
    { status: 'fulfilled', value: 'B' },
  ]);
});

it.each([
  { why: 'times out', keys: ['A', 'B'], error: new TimeoutError('No result') },
  { why: 'was for one key', keys: ['A'], error: new Error('No result') },
])('a failed read that $why is not repeated', async ({ keys, error }) => {
  const { reads, load } = controlledRead();
  const loaded = Promise.allSettled(keys.map(load));
  await pass(1);
  reads[0]?.fail(error);
  expect(await loaded).toEqual(keys.map(() => ({ status: 'rejected', reason: error })));
  expect(reads).toHaveLength(1);
});

it('a batch outlives the request that opened it', async () => {
  const { reads, load } = controlledRead();
  const loaded = load('A');
  expect(kept).toHaveLength(1);
  let isOver = false;
  void kept[0]?.then(() => {
    isOver = true;
  });
  await pass(1);
  expect(isOver).toBe(false);
  reads[0]?.succeed();
  await loaded;
  await pass(0);
  expect(isOver).toBe(true);
});

it('keys of a batch that was cancelled before its read are read together 8 seconds later', async () => {
  const { reads, load } = controlledRead();
  cancelNextPause();
  const loaded = Promise.all(numbered(50).map(load));
  await pass(JOINED_MS);
  expect(reads.map(({ keys }) => keys.length)).toEqual([50]);
  reads[0]?.succeed();
  expect(await loaded).toEqual(numbered(50));
});

it('keys that come 100 milliseconds after a cancelled batch do not wait for it', async () => {
  const { reads, load } = controlledRead();
  cancelNextPause();
  void load('A');
  await pass(100);
  const loaded = load('B');
  await pass(1);
  expect(reads.map(({ keys }) => keys)).toEqual([['B']]);
  reads[0]?.succeed();
  expect(await loaded).toBe('B');
});

it('keys of a read that was cancelled are read again together 8 seconds later', async () => {
  const { reads, load } = controlledRead();
  const loaded = Promise.all(numbered(50).map(load));
  await pass(JOINED_MS);
  expect(reads.map(({ keys }) => keys.length)).toEqual([50, 50]);
  reads[1]?.succeed();
  expect(await loaded).toEqual(numbered(50));
});

/** Loads that end when the test says so. */
function controlledLoads() {
  const loads: PromiseWithResolvers<string>[] = [];
  const flights = new SingleFlight<string>();
  const load = () => {
    const own = Promise.withResolvers<string>();
    loads.push(own);
    return own.promise;
  };
  return { loads, run: (key: string) => flights.run(key, load, waitUntil) };
}

it('requests that miss a key at the same moment share one load', async () => {
  const { loads, run } = controlledLoads();
  const found = Promise.all([run('A'), run('B'), run('A'), run('A')]);
  expect(loads).toHaveLength(2);
  loads[0]?.resolve('first');
  loads[1]?.resolve('other');
  expect(await found).toEqual(['first', 'other', 'first', 'first']);
  const later = run('A');
  loads[2]?.resolve('second');
  expect(await later).toBe('second');
});

it('the error of a load reaches all that share it, and nobody later', async () => {
  const { loads, run } = controlledLoads();
  const found = Promise.allSettled([run('A'), run('A')]);
  const reason = new Error('No result');
  loads[0]?.reject(reason);
  expect(await found).toEqual(Array(2).fill({ status: 'rejected', reason }));
  const later = run('A');
  loads[1]?.resolve('second');
  expect(await later).toBe('second');
});

it('a load that was cancelled is begun again 8 seconds later, once for all', async () => {
  const { loads, run } = controlledLoads();
  const found = Promise.all(numbered(50).map(() => run('A')));
  await pass(JOINED_MS);
  expect(loads).toHaveLength(2);
  loads[1]?.resolve('second');
  expect(await found).toEqual(Array(50).fill('second'));
});
