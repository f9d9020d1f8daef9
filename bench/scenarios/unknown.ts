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
import { bareContestant, hotContestant, measure, type Scenario, shopOf } from './scenario.ts';

/** What "no slower" leaves to chance. */
const NOISE = 0.05;

/** Keys that no license has: somebody tries keys out, or runs a copy whose license is gone. */
export const unknown: Scenario = (bench) => {
  const { licenses } = bench.settings;
  const ids = spreadIds(licenses, licenses);
  const connections = TARGET_CONNECTIONS;
  return measure({
    bench,
    scenario: 'unknown',
    title: `Unknown keys: ${licenses} over and over, and such as never come again, beside known ones`,
    levels: [connections],
    setUp: async () => {
      const service = await LicetService.start(bench.script, { population: shopOf(licenses) });
      const unknownContestant = (name: string, requestAt: RequestAt) => ({
        name,
        worker: service,
        requestAt,
        expected: UNKNOWN_ANSWER,
        records: { service, areKnown: false },
      });
      const known = hotContestant('known', service, ids);
      // What is published for the known ones is published before.
      const asked = await sendTo(known, { connections, from: 0, until: { count: licenses } });
      const before = service.kvValues();
      return {
        contestants: [
          bareContestant(bench, boundRequests(ids)),
          known,
          unknownContestant('unknown', unknownRequests(licenses)),
          unknownContestant('never again', neverRepeatedRequests),
        ],
        services: [service],
        inspect: async () => {
          const written = [...service.kvValues()].filter((name) => !before.has(name)).length;
          return {
            faults: faultsOf([{ ...asked, name: 'known', connections }], []),
            targets: [atMost('values written to KV', written, 0)],
          };
        },
      };
    },
    targets: (resultOf) =>
      ['unknown', 'never again'].map((name) =>
        atLeast(
          `throughput of keys that are ${name}, to that of known ones`,
          throughputRatio(resultOf(name), resultOf('known')),
          1 - NOISE,
        ),
      ),
  });
};
