import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isLong } from '../support/long.ts';
import { Flood, MAX_BATCH, MAX_PENDING, MAX_PER_TURN } from './flood.ts';
import type { Replacements } from './modules.ts';

/** A flood of validations: the admission, and the writer of the history (docs/history.md). */

const LONG_MS = 60_000;
const MAX_WAITING_MS = 2_000;

describe('batches', () => {
  it('requests that arrive during a write go together into the next batch', async () => {
    const flood = await Flood.start();
    flood.send();
    await flood.clock.pass(2);
    for (let count = 0; count < 10; count++) flood.send();
    await flood.clock.pass(LONG_MS);
    expect(flood.writes.map(({ items }) => items.length)).toEqual([1, 10]);
  });

  it('batches that are not full begin 100 ms after each other, and full ones at once', async () => {
    const flood = await Flood.start();
    await flood.sendFor(2_000, 800);
    const starts = flood.writes.map(({ startedAt }) => startedAt);
    const intervals = starts.slice(1).map((start, index) => start - (starts[index] ?? 0));
    expect(Math.min(...intervals)).toBeGreaterThanOrEqual(100);
    expect(Math.max(...intervals)).toBeLessThan(110);
    flood.database = 400;
    await flood.sendFor(2_000, 500);
    expect(flood.writes.some(({ items }) => items.length === MAX_BATCH)).toBe(true);
    await flood.clock.pass(LONG_MS);
    expect(flood.missing).toBe(0);
  });

  it('a slow batch does not keep the next from starting, and at most three are under way', async () => {
    const flood = await Flood.start();
    flood.database = 3_000;
    await flood.sendFor(1_000, 100);
    expect(flood.writes).toHaveLength(3);
    await flood.clock.pass(LONG_MS);
    expect(flood.longest.writes).toBe(3);
    expect(flood.missing).toBe(0);
    // Each item was written once.
    expect(flood.writes.flatMap(({ items }) => items)).toHaveLength(flood.addedAt.size);
  });
});

describe('a full list', () => {
  it('waiting clients are admitted as soon as there is room, also after the admitting request is cancelled [1.6.4]', async () => {
    const flood = await Flood.start();
    flood.database = 300;
    await flood.keepSending(400, 15_000);
    expect(flood.longest.waitedMs).toBeLessThan(MAX_WAITING_MS / 2);
    await flood.clock.pass(LONG_MS);
    await flood.keepSending(400, 1_000);
    flood.cancelEvery(1);
    await flood.clock.pass(5_000);
    expect(flood.rejectedAfterMs).toEqual([]);
  });

  it('a request is rejected after two seconds without room, and at once beside 2,000 that wait [1.6.4, 1.6.5, 1.6.15]', async () => {
    const flood = await Flood.start();
    flood.database = 4_000;
    await flood.sendFor(3_500, 1_500);
    const late = flood.rejectedAfterMs.filter((ms) => ms > 0);
    expect(Math.min(...late)).toBeGreaterThanOrEqual(MAX_WAITING_MS);
    expect(Math.max(...late)).toBeLessThan(MAX_WAITING_MS + 10);
    expect(flood.rejectedAfterMs.length).toBeGreaterThan(late.length);
    await flood.clock.pass(LONG_MS);
    expect([flood.givenUp.length, flood.missing]).toEqual([0, 0]);
  });

  it('requests wait no longer, and the oldest are given up, once nothing was written for five seconds [1.6.7, 1.6.8]', async () => {
    const flood = await Flood.start();
    flood.database = 'hangs';
    await flood.sendFor(4_900, 1_000);
    expect(flood.addedAt.size).toBeLessThan(MAX_PENDING + MAX_PER_TURN);
    await flood.sendFor(5_000, 1_000);
    const before = flood.rejectedAfterMs.length;
    expect(flood.givenUp).toEqual([]);
    await flood.sendFor(5_000, 1_000);
    expect(flood.rejectedAfterMs).toHaveLength(before);
    expect(flood.givenUp.length).toBeGreaterThan(1_000);
    // The oldest behind the batches under way, and no more than necessary.
    expect(Math.min(...flood.givenUp)).toBe(MAX_PENDING);
    expect(flood.addedAt.size - flood.givenUp.length).toBeGreaterThan(9_900);
    flood.database = 20;
    await flood.clock.pass(LONG_MS);
    expect(flood.missing).toBe(0);
  });

  it('a database that needs six seconds for a batch loses nothing [1.6.6, 1.6.7]', async () => {
    // A tenth, as the other bounds.
    const flood = await Flood.start({
      'src/requests/batch-writer.ts': [['const MAX_ITEMS = 10_000;', 'const MAX_ITEMS = 1_000;']],
    });
    flood.database = 6_000;
    await flood.sendFor(60_000, 200);
    expect(flood.addedAt.size).toBeGreaterThan(1_500);
    for (const _ of [1, 2, 3]) {
      await flood.clock.pass(LONG_MS);
      flood.send();
    }
    await flood.clock.pass(LONG_MS);
    expect([flood.givenUp.length, flood.missing]).toEqual([0, 0]);
  });
});

/** An invariant that a flood with any faults of the database and any cancellations must keep. */
const anyFlood = (replacements: Replacements) =>
  fc.asyncProperty(
    fc.array(
      fc.record({
        forMs: fc.integer({ min: 50, max: 3_000 }),
        requestsPerSecond: fc.constantFrom(5, 100, 400, 900),
        database: fc.constantFrom<number | 'fails' | 'hangs'>(5, 40, 300, 1_500, 'fails', 'hangs'),
        /** Every nth of the requests that are kept alive is cancelled; 0 for none. */
        cancelsEvery: fc.constantFrom(0, 0, 1, 2, 3),
      }),
      { minLength: 1, maxLength: 5 },
    ),
    async (episodes) => {
      const flood = await Flood.start(replacements);
      for (const { forMs, requestsPerSecond, database, cancelsEvery } of episodes) {
        flood.database = database;
        await flood.sendFor(forMs, requestsPerSecond);
        if (cancelsEvery > 0) flood.cancelEvery(cancelsEvery);
      }
      flood.database = 20;
      const worksFrom = flood.clock.now;
      // Requests come for some time, because all before may be cancelled.
      await flood.sendFor(8_000, 100);
      await flood.clock.pass(LONG_MS);
      expect(flood.missing, 'Lost').toBe(0);
      expect(flood.cutOff, 'Stayed too long').toBe(0);
      expect(flood.longest.waitedMs, 'Waited too long').toBeLessThan(MAX_WAITING_MS + 50);
      if (!flood.wasStuck) {
        expect(flood.longest.pending, 'Too many').toBeLessThan(MAX_PENDING + MAX_PER_TURN);
      }
      const hasHung = episodes.some(({ database }) => database === 'hangs');
      for (const [item, addedAt] of flood.addedAt) {
        // A batch that hangs takes five seconds, and a cancelled writer is noticed after one.
        const from = Math.max(addedAt, worksFrom) + (hasHung ? 5_500 : 0);
        expect(flood.writtenAt.get(item) ?? 0, 'Late').toBeLessThan(from + 2_000);
      }
      expect(flood.writtenByTwo, 'Written by two').toBe(0);
      expect(flood.longest.writes, 'Too many writes').toBeLessThanOrEqual(3);
    },
  );

it('a flood loses nothing with any faults of the database and any cancelled requests [1.6.1]', {
  timeout: 120_000,
}, async () => {
  await fc.assert(anyFlood({}), { numRuns: isLong ? 25 : 3, seed: 1 });
});

const FAULTS: { name: string; broken: RegExp; replacements: Replacements }[] = [
  {
    name: 'backpressure left out',
    broken: /Too many/,
    replacements: {
      'src/lib/admission.ts': [['return this.#options.isFull?.() ?? false;', 'return false;']],
    },
  },
  {
    name: 'a cancelled writer that nobody replaces',
    broken: /Lost|Late/,
    replacements: {
      'src/requests/batch-writer.ts': [['now - tickedAt > CANCELLED_AFTER_MS;', 'now < 0;']],
    },
  },
  {
    name: 'two writers with the same items',
    broken: /Written by two/,
    replacements: {
      'src/requests/batch-writer.ts': [
        [
          'if (holder === null || isCancelled(holder, writer.tickedAt)) items.push(item);',
          'items.push(item);',
        ],
      ],
    },
  },
];

it.each(FAULTS)('a flood shows $name', { timeout: 120_000 }, async ({ broken, replacements }) => {
  const { failed, errorInstance } = await fc.check(anyFlood(replacements), {
    numRuns: 25,
    seed: 1,
    endOnFailure: true,
  });
  expect(failed, 'It was not noticed').toBe(true);
  expect(String(errorInstance)).toMatch(broken);
});
