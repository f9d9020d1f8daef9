import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isLong } from '../support/long.ts';
import { type Command, commands, sceneAlone } from './commands.ts';
import { Violation } from './invariants.ts';
import { loadService, type StartService } from './modules.ts';
import { SEEDED_FAULTS } from './seeded-faults.ts';
import { Simulation } from './simulation.ts';

/** `SIMULATION_RUNS` and `SIMULATION_SEED` try more runs than all tests have the time for. */
const RUNS = Number(process.env.SIMULATION_RUNS ?? (isLong ? 60 : 1));
const SEED = Number(process.env.SIMULATION_SEED ?? 1);
/** Runs in which a seeded fault must be caught. */
const FAULT_RUNS = Number(process.env.SIMULATION_RUNS ?? (isLong ? 60 : 8));

interface Run {
  seed: number;
  commands: readonly Command[];
}

/** Runs of the simulation in which no invariant may break, each with a seed of its own. */
const runs = (start: StartService, commandsToRun: fc.Arbitrary<readonly Command[]>) =>
  fc.asyncProperty(
    fc.record({
      seed: fc.noShrink(fc.nat()),
      commands: commandsToRun,
    }),
    async ({ commands: chosen, seed }: Run) => {
      const simulation = new Simulation(start, seed);
      try {
        await simulation.run(chosen);
      } catch (error) {
        if (!(error instanceof Violation)) throw error;
        throw new Violation(`${error.message}\n${simulation.trace()}`);
      }
    },
  );

it('the invariants hold with any commands and faults in any order', {
  timeout: 600_000,
}, async () => {
  await fc.assert(runs(await loadService(), commands), { numRuns: RUNS, seed: SEED });
});

it('a run repeats exactly with its seed', { tags: 'long' }, async () => {
  const start = await loadService();
  const [all = []] = fc.sample(commands, { seed: SEED, numRuns: 1 });
  const chosen = isLong ? all : all.slice(0, 6);
  const run = async (): Promise<string> => {
    const simulation = new Simulation(start, SEED);
    await simulation.run(chosen);
    return simulation.trace(Number.POSITIVE_INFINITY);
  };
  const first = await run();
  expect(first).toContain('All is quiet');
  expect(await run()).toBe(first);
});

// A $name would be cut.
const faults = SEEDED_FAULTS.filter((_, index) => isLong || index % 3 === 0).map(
  (fault) => [fault.name, fault] as const,
);

it.each(faults)('the invariants catch %s', { timeout: 600_000 }, async (_, fault) => {
  const { replacements, broken, seed = SEED, scene, revocation } = fault;
  const start = await loadService(replacements);
  const chosen = scene ? fc.constant(sceneAlone(scene, revocation)) : commands;
  const { failed, errorInstance } = await fc.check(runs(start, chosen), {
    numRuns: FAULT_RUNS,
    seed: process.env.SIMULATION_SEED === undefined ? seed : SEED,
    endOnFailure: true,
  });
  expect(failed, 'It was not caught').toBe(true);
  expect(errorInstance).toBeInstanceOf(Violation);
  expect(String(errorInstance).split('\n')[0]).toMatch(broken);
});
