import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bundleService, type StartService } from './bundle.ts';
import { type Command, commands } from './commands.ts';
import { Violation } from './invariants.ts';
import { SEEDED_FAULTS } from './seeded-faults.ts';
import { World } from './world.ts';

/** `SIMULATION_RUNS` and `SIMULATION_SEED` look further than a run of all tests has the time to. */
const RUNS = Number(process.env.SIMULATION_RUNS ?? 12);
const SEED = Number(process.env.SIMULATION_SEED ?? 1);
/** How many runs a seeded fault has to be caught in. */
const FAULT_RUNS = Number(process.env.SIMULATION_RUNS ?? 60);

/** Worlds in which no invariant may break, each with a seed of its own for what is left to chance. */
const worlds = (start: StartService, whatHappens: fc.Arbitrary<readonly Command[]> = commands) =>
  fc.asyncProperty(
    fc.record({
      seed: fc.noShrink(fc.integer({ min: 0, max: 2 ** 32 - 1 })),
      hasQueue: fc.boolean(),
      commands: whatHappens,
    }),
    async ({
      commands: happening,
      ...options
    }: {
      seed: number;
      hasQueue: boolean;
      commands: readonly Command[];
    }) => {
      const world = new World(start, options);
      try {
        await world.run(happening);
      } catch (error) {
        if (!(error instanceof Violation)) throw error;
        throw new Violation(`${error.message}\n${world.trace()}`);
      }
    },
  );

it('keeps the invariants, whatever happens in whichever order', { timeout: 600_000 }, async () => {
  await fc.assert(worlds(await bundleService()), { numRuns: RUNS, seed: SEED });
});

it('repeats what happened, from the seed', async () => {
  const start = await bundleService();
  const [happening = []] = fc.sample(commands, { seed: SEED, numRuns: 1 });
  const run = async (): Promise<string> => {
    const options = { seed: SEED, hasQueue: true };
    const world = new World(start, options);
    await world.run(happening);
    return world.trace(Number.POSITIVE_INFINITY);
  };
  const first = await run();
  expect(first).toContain('All is quiet');
  expect(await run()).toBe(first);
});

describe('the invariants catch', () => {
  for (const { name, replacements, broken, seed, commands: own } of SEEDED_FAULTS) {
    it(name, { timeout: 600_000 }, async () => {
      const start = await bundleService(replacements);
      const { failed, errorInstance } = await fc.check(worlds(start, own && fc.constant(own)), {
        numRuns: FAULT_RUNS,
        seed: process.env.SIMULATION_SEED === undefined ? (seed ?? SEED) : SEED,
        endOnFailure: true,
      });
      expect(failed, 'It was not caught').toBe(true);
      expect(errorInstance).toBeInstanceOf(Violation);
      const message = errorInstance instanceof Error ? errorInstance.message : '';
      expect(message.split('\n')[0]).toMatch(broken);
    });
  }
});
