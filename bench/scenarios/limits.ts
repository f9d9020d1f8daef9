import { spreadIds } from '../population.ts';
import { boundRequests } from '../requests.ts';
import { TARGET_CONNECTIONS } from '../settings.ts';
import { LicetService } from '../workers.ts';
import { bareContestant, hotContestant, measure, type Scenario, shopOf } from './scenario.ts';

/** So many times a server asks during the warm-up, and in each round. */
const TIMES_WARM_UP = 10;
const TIMES_A_ROUND = 4;
/** More rounds would exceed the limit, should they all fall into one minute. */
const MAX_ROUNDS = 10;
/** Of those who ask rarely there are so many times as many: the platform's limiter is not needed. */
const RARELY = 8;

/**
 * Hot validation with the rate limiters bound, by servers that ask between 10 and 60 times a minute,
 * and by such as ask less often. No server exceeds a limit. The limiter costs more here, where it is
 * simulated, than at the platform.
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
    levels: [TARGET_CONNECTIONS],
    setUp: async () => {
      const population = shopOf(ids.length);
      const free = await LicetService.start(bench.script, { population });
      const turnRequests = licenses * TIMES_A_ROUND;
      const limited = await LicetService.start(bench.script, { population, isLimited: true });
      return {
        contestants: [
          bareContestant(bench, boundRequests(oftenIds)),
          hotContestant('without', free, oftenIds),
          { ...hotContestant('with, rarely', limited, rareIds), turnRequests },
          { ...hotContestant('with, often', limited, oftenIds), turnRequests },
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
