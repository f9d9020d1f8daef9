import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { spreadIds } from '../population.ts';
import { atLeast, atMost, exact } from '../report.ts';
import { boundRequests } from '../requests.ts';
import { throughputRatio } from '../rounds.ts';
import { countRowsWritten } from '../rows.ts';
import { THRESHOLD_CONNECTIONS } from '../settings.ts';
import { LicetService } from '../workers.ts';
import { bareTarget, hotTarget, measure, type Scenario, shopOf } from './scenario.ts';

/** The throughput with ES256, as a fraction of that without a signature. */
const MIN_SIGNED_RATIO = 0.8;
/** The throughput without a nonce of a service with keys, as a fraction of that of a service without keys. */
const MIN_UNSIGNED_RATIO = 0.95;
const MAX_ROWS_WRITTEN = 1;

const newKey = (kid: string, pair: { privateKey: KeyObject }): string =>
  JSON.stringify({ ...pair.privateKey.export({ format: 'jwk' }), kid });

/** Compares hot validation with signatures, without a nonce, and without signing keys. */
export const signed: Scenario = async (bench) => {
  const { licenses, warmUpRequests } = bench.settings;
  const ids = spreadIds(licenses, licenses);
  const population = shopOf(licenses);
  const secrets = {
    SIGNING_KEY_1: newKey('ES256', generateKeyPairSync('ec', { namedCurve: 'P-256' })),
    SIGNING_KEY_2: newKey('RS256', generateKeyPairSync('rsa', { modulusLength: 2048 })),
  };
  const finding = await measure({
    bench,
    scenario: 'signed',
    title: 'Signed responses: hot validation without keys, without a nonce, and with a nonce',
    levels: [THRESHOLD_CONNECTIONS],
    setUp: async () => {
      const keyless = await LicetService.start(bench.scripts.service, { population });
      const signing = await LicetService.start(bench.scripts.service, { population, secrets });
      return {
        targets: [
          bareTarget(bench, boundRequests(ids)),
          hotTarget('no keys', keyless, ids),
          hotTarget('no nonce', signing, ids),
          hotTarget('ES256', signing, ids, { kid: 'ES256' }),
          hotTarget('RS256', signing, ids, { kid: 'RS256' }),
        ],
        services: [keyless, signing],
      };
    },
    thresholds: (resultOf) => {
      const unsigned = resultOf('no nonce');
      return [
        atLeast(
          'throughput with ES256, in that without a nonce',
          throughputRatio(resultOf('ES256'), unsigned),
          MIN_SIGNED_RATIO,
        ),
        atLeast(
          'throughput without a nonce, in that without keys',
          throughputRatio(unsigned, resultOf('no keys')),
          MIN_UNSIGNED_RATIO,
        ),
      ];
    },
  });
  const requestAt = boundRequests(ids, { kid: 'ES256' });
  const { perRequest, faults } = await countRowsWritten('signed', bench.scripts.counting, {
    population,
    secrets,
    warmUpAt: requestAt,
    // Each license is validated by both of its servers.
    warmUpRequests: 2 * licenses,
    requestAt,
    requests: warmUpRequests,
  });
  finding.faults.push(...faults);
  finding.thresholds.push(
    exact(atMost('rows written per signed validation', perRequest, MAX_ROWS_WRITTEN)),
  );
  return finding;
};
