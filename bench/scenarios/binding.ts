import { spreadIds } from '../population.ts';
import { newServerRequests, validAnswer } from '../requests.ts';
import { LicetService } from '../workers.ts';
import { bareContestant, measure, type Scenario, shopOf } from './scenario.ts';

const MAX_SERVERS = 1_000;
/** An address and a hardware ID. */
const BINDINGS_A_SERVER = 2;

/** Servers that are new to their license, and take a free slot of its addresses and hardware IDs. */
export const binding: Scenario = (bench) => {
  const { countedRequests, connections } = bench.settings;
  const ids = spreadIds(countedRequests, countedRequests);
  const requestAt = newServerRequests(ids);
  return measure({
    bench,
    scenario: 'binding',
    title: `First binding: a new server of each of ${ids.length} licenses with free slots`,
    levels: connections,
    setUp: async () => {
      const service = await LicetService.start(bench.script, {
        population: { ...shopOf(ids.length), maxServers: MAX_SERVERS },
      });
      const before = await service.bindings();
      const records = { service, areKnown: true };
      const expected = validAnswer(MAX_SERVERS);
      return {
        contestants: [
          bareContestant(bench, requestAt),
          {
            ...{ name: 'binding', worker: service, requestAt, expected, records },
            turnRequests: countedRequests,
          },
        ],
        services: [service],
        rules: { warmUpRequests: countedRequests },
        inspect: async () => {
          const { answered } = await service.tally();
          const bound = (await service.bindings()) - before;
          const expectedToBeBound = answered * BINDINGS_A_SERVER;
          return bound === expectedToBeBound
            ? {}
            : { faults: [`${bound} values were bound, not ${expectedToBeBound}`] };
        },
      };
    },
  });
};
