import { spreadIds } from '../population.ts';
import { atLeast, atMost, exact } from '../report.ts';
import { boundRequests, newServerRequests, validResponse } from '../requests.ts';
import { countRowsWritten } from '../rows.ts';
import { LicetService } from '../workers.ts';
import { bareTarget, measure, type Scenario, shopOf } from './scenario.ts';

const MAX_SERVERS = 1_000;
/** An address and a hardware ID. */
const BINDINGS_PER_SERVER = 2;
/** The design before had 136 on the machine that these figures are for. */
const MIN_BINDINGS_PER_SECOND = 2 * 136;
const MAX_ROWS_WRITTEN = 7;

/** Servers that are new to their license, and take a free slot of its addresses and hardware IDs. */
export const binding: Scenario = async (bench) => {
  const { countedRequests, connections } = bench.settings;
  const ids = spreadIds(countedRequests, countedRequests);
  const requestAt = newServerRequests(ids);
  const population = { ...shopOf(ids.length), maxServers: MAX_SERVERS };
  const finding = await measure({
    bench,
    scenario: 'binding',
    title: `First binding: a new server of each of ${ids.length} licenses with free slots`,
    levels: connections,
    setUp: async () => {
      const service = await LicetService.start(bench.scripts.service, { population });
      const before = await service.bindings();
      const records = { witness: service.witness, areKnown: true };
      const expected = validResponse(MAX_SERVERS);
      return {
        targets: [
          bareTarget(bench, requestAt),
          {
            name: 'binding',
            worker: service,
            requestAt,
            expected,
            records,
            roundRequests: countedRequests,
          },
        ],
        services: [service],
        rules: { warmUpRequests: countedRequests },
        inspect: async () => {
          const { responses } = await service.tally();
          const bound = (await service.bindings()) - before;
          const expectedToBeBound = responses * BINDINGS_PER_SERVER;
          return bound === expectedToBeBound
            ? {}
            : {
                faults: [
                  {
                    kind: 'total',
                    count: 1,
                    where: 'binding',
                    details: `${bound} values were bound, not ${expectedToBeBound}`,
                  },
                ],
              };
        },
      };
    },
    thresholds: (resultOf) => [
      atLeast('bindings a second', resultOf('binding').requestsPerSecond, MIN_BINDINGS_PER_SECOND),
    ],
  });
  const count = async (hasHardwareId: boolean): Promise<number> => {
    const { perRequest, faults } = await countRowsWritten('binding', bench.scripts.counting, {
      population,
      warmUpAt: boundRequests(ids),
      warmUpRequests: ids.length,
      requestAt: newServerRequests(ids, { hasHardwareId }),
      requests: ids.length,
    });
    finding.faults.push(...faults);
    return perRequest;
  };
  const ofAddress = await count(false);
  const ofBoth = await count(true);
  finding.thresholds.push(
    exact(atMost('rows written per first binding of an address', ofAddress, MAX_ROWS_WRITTEN)),
  );
  finding.notes.push(`rows written per first binding of an address and a hardware ID: ${ofBoth}`);
  return finding;
};
