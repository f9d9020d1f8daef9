import { faultsOf } from '../faults.ts';
import { spreadIds } from '../population.ts';
import { atLeast, atMost, exact } from '../report.ts';
import {
  boundRequests,
  neverRepeatedRequests,
  type RequestAt,
  UNKNOWN_RESPONSE,
  unknownRequests,
} from '../requests.ts';
import { sendTo, throughputRatio } from '../rounds.ts';
import { THRESHOLD_CONNECTIONS } from '../settings.ts';
import { LicetService } from '../workers.ts';
import { startCold } from './cold.ts';
import { bareTarget, hotTarget, measure, type Scenario, shopOf } from './scenario.ts';

/** Two loads of the same speed differ by less. */
const NOISE = 0.05;

/**
 * Keys that no license has: guessed ones, and those of removed licenses. Keys that come again are compared with
 * known ones that come again; keys that never come again with known ones that are asked for the first time.
 */
export const unknown: Scenario = (bench) => {
  const { licenses } = bench.settings;
  const ids = spreadIds(licenses, licenses);
  const connections = THRESHOLD_CONNECTIONS;
  return measure({
    bench,
    scenario: 'unknown',
    title: `Unknown keys: ${licenses} over and over beside known ones, and keys that never come again beside cold ones`,
    levels: [connections],
    setUp: async () => {
      const service = await LicetService.start(bench.scripts.service, {
        population: shopOf(licenses),
      });
      const unknownTarget = (name: string, worker: LicetService, requestAt: RequestAt) => ({
        name,
        worker,
        requestAt,
        expected: UNKNOWN_RESPONSE,
        records: { witness: worker.witness, areKnown: false },
      });
      const known = hotTarget('known', service, ids);
      // All known licenses are published before.
      const asked = await sendTo(known, { connections, from: 0, until: { count: licenses } });
      const before = service.kvValues();
      const cold = await startCold(bench);
      return {
        targets: [
          bareTarget(bench, boundRequests(ids)),
          known,
          unknownTarget('unknown', service, unknownRequests(licenses)),
          cold.target,
          {
            ...unknownTarget('never again', cold.service, neverRepeatedRequests),
            roundRequests: bench.settings.countedRequests,
          },
        ],
        services: [service, cold.service],
        rules: cold.rules,
        inspect: async () => {
          const { faults, notes } = cold.inspect('unknown');
          const written = [...service.kvValues()].filter((name) => !before.has(name)).length;
          return {
            faults: [...faultsOf('unknown', [{ ...asked, name: 'known', connections }]), ...faults],
            notes,
            thresholds: [exact(atMost('values written to KV', written, 0))],
          };
        },
      };
    },
    thresholds: (resultOf) =>
      [
        ['unknown', 'known'],
        ['never again', 'cold'],
      ].map(([name = '', other = '']) =>
        atLeast(
          `throughput of keys: ${name}, in that of ${other} ones`,
          throughputRatio(resultOf(name), resultOf(other)),
          1 - NOISE,
        ),
      ),
  });
};
