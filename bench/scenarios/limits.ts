import { spreadIds } from '../population.ts';
import { boundRequests } from '../requests.ts';
import { THRESHOLD_CONNECTIONS } from '../settings.ts';
import { LicetService } from '../workers.ts';
import { bareTarget, hotTarget, measure, type Scenario, shopOf } from './scenario.ts';

/** Requests of a server during the warm-up, and in each round. */
const TIMES_WARM_UP = 10;
const TIMES_A_ROUND = 4;
/** With more rounds a server would exceed the limit if they all fell into one minute. */
const MAX_ROUNDS = 10;
/** Servers that ask rarely for each one that asks often. They do not reach the platform's limiter. */
const RARELY = 8;

/**
 * Hot validation with the rate limiters bound, by servers that ask between 10 and 60 times a minute, and by
 * servers that ask less often. No server exceeds a limit. The limiter is simulated here, and costs more than
 * on the platform.
 */
export const limits: Scenario = (bench) => {
  const { licenses, rounds } = bench.settings;
  // With two servers each.
  const oftenAsked = licenses / 2;
  const rarelyAsked = oftenAsked * RARELY;
  const ids = spreadIds(oftenAsked + rarelyAsked, oftenAsked + rarelyAsked);
  const oftenIds = ids.slice(0, oftenAsked);
  const rareIds = ids.slice(oftenAsked);
  return measure({
    bench,
    scenario: 'limits',
    title: `Rate limiters: hot validation without them and with them, by ${licenses} servers that ask often, and by ${licenses * RARELY} that ask rarely`,
    levels: [THRESHOLD_CONNECTIONS],
    setUp: async () => {
      const population = shopOf(ids.length);
      const free = await LicetService.start(bench.scripts.service, { population });
      const roundRequests = licenses * TIMES_A_ROUND;
      const limited = await LicetService.start(bench.scripts.service, {
        population,
        isLimited: true,
      });
      return {
        targets: [
          bareTarget(bench, boundRequests(oftenIds)),
          hotTarget('without', free, oftenIds),
          { ...hotTarget('with, rarely', limited, rareIds), roundRequests },
          { ...hotTarget('with, often', limited, oftenIds), roundRequests },
        ],
        services: [free, limited],
        rules: {
          rounds: Math.min(rounds, MAX_ROUNDS),
          warmUpRequests: licenses * TIMES_WARM_UP,
        },
      };
    },
  });
};
