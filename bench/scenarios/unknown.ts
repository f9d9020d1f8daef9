import { sendTo, throughputRatio } from '../contest.ts';
import { faultsOf } from '../faults.ts';
import { spreadIds } from '../population.ts';
import { atLeast, atMost } from '../report.ts';
import {
  boundRequests,
  neverRepeatedRequests,
  type RequestAt,
  UNKNOWN_ANSWER,
  unknownRequests,
} from '../requests.ts';
import { TARGET_CONNECTIONS } from '../settings.ts';
import { LicetService } from '../workers.ts';
import { startCold } from './cold.ts';
import { bareContestant, hotContestant, measure, type Scenario, shopOf } from './scenario.ts';

/** What "no slower" leaves to chance. */
const NOISE = 0.05;

/**
 * Keys that no license has: somebody tries keys out, or runs a copy whose license is gone. Like is
 * compared with like: keys that come again with known ones that do, and keys that never come again with
 * known ones that are asked for the first time.
 */
export const unknown: Scenario = (bench) => {
  const { licenses } = bench.settings;
  const ids = spreadIds(licenses, licenses);
  const connections = TARGET_CONNECTIONS;
  return measure({
    bench,
    scenario: 'unknown',
    title: `Unknown keys: ${licenses} over and over beside known ones, and such as never come again beside cold ones`,
    levels: [connections],
    setUp: async () => {
      const service = await LicetService.start(bench.script, { population: shopOf(licenses) });
      const unknownContestant = (name: string, worker: LicetService, requestAt: RequestAt) => ({
        name,
        worker,
        requestAt,
        expected: UNKNOWN_ANSWER,
        records: { service: worker, areKnown: false },
      });
      const known = hotContestant('known', service, ids);
      // What is published for the known ones is published before.
      const asked = await sendTo(known, { connections, from: 0, until: { count: licenses } });
      const before = service.kvValues();
      const cold = await startCold(bench);
      return {
        contestants: [
          bareContestant(bench, boundRequests(ids)),
          known,
          unknownContestant('unknown', service, unknownRequests(licenses)),
          cold.contestant,
          {
            ...unknownContestant('never again', cold.service, neverRepeatedRequests),
            turnRequests: bench.settings.countedRequests,
          },
        ],
        services: [service, cold.service],
        rules: cold.rules,
        inspect: async () => {
          const { faults, notes } = cold.inspect();
          const written = [...service.kvValues()].filter((name) => !before.has(name)).length;
          return {
            faults: [...faultsOf([{ ...asked, name: 'known', connections }], []), ...faults],
            notes,
            targets: [atMost('values written to KV', written, 0)],
          };
        },
      };
    },
    targets: (resultOf) =>
      [
        ['unknown', 'known'],
        ['never again', 'cold'],
      ].map(([name = '', other = '']) =>
        atLeast(
          `throughput of keys that are ${name}, to that of ${other} ones`,
          throughputRatio(resultOf(name), resultOf(other)),
          1 - NOISE,
        ),
      ),
  });
};
