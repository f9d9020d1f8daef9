import { ROOT_TOKEN } from '../../test/support/root-token.ts';
import { faultsOf } from '../faults.ts';
import { type Load, type Measured, send } from '../load.ts';
import { LocalServiceProcess } from '../local-service.ts';
import { spreadIds } from '../population.ts';
import { atMost, type Finding, progress, round } from '../report.ts';
import { boundRequests, licenseRequest, newServerRequests, validResponse } from '../requests.ts';
import { sendTo } from '../rounds.ts';
import { THRESHOLD_CONNECTIONS } from '../settings.ts';
import { type Bench, shopOf } from './scenario.ts';

const HOT_CONNECTIONS = 200;
/** Licenses in memory. The others get their first bindings, each once. */
const HOT_LICENSES = 4_000;
const LICENSES = 20_000;
const MAX_SERVERS = 3;
const MAX_P95_MS = 500;

/** Response times of a new server and of an administrator beside many connections that never pause. */
export async function fairness({ settings }: Bench): Promise<Finding> {
  const population = { ...shopOf(LICENSES), maxServers: MAX_SERVERS };
  await using service = await LocalServiceProcess.start('start', population);
  const ids = spreadIds(LICENSES, LICENSES);
  const hotRequests = boundRequests(ids.slice(0, HOT_LICENSES));
  const expected = validResponse(MAX_SERVERS);
  const { witness, url } = service;
  progress('fairness, warm-up');
  const target = { name: 'fairness', worker: service, requestAt: hotRequests, expected };
  const warmUp = await sendTo(
    { ...target, records: { witness, areKnown: true }, backsOff: true },
    { connections: THRESHOLD_CONNECTIONS, from: 0, until: { count: 2 * HOT_LICENSES } },
  );

  progress(`fairness, ${HOT_CONNECTIONS} connections and 2`);
  const until = { seconds: settings.loadSeconds };
  const common = { url, from: 0, until, expected, backsOff: true };
  const kinds: (Load & { name: string })[] = [
    {
      ...common,
      name: 'hot validations',
      connections: HOT_CONNECTIONS,
      requestAt: hotRequests,
    },
    {
      ...common,
      name: 'first bindings',
      connections: 1,
      requestAt: newServerRequests(ids.slice(HOT_LICENSES)),
    },
    {
      ...common,
      name: "an administrator's look at a license",
      ...{
        connections: 1,
        requestAt: (index) => licenseRequest(1 + (index % LICENSES), ROOT_TOKEN),
      },
      expected: { status: 200, body: '{' },
      backsOff: false,
    },
  ];
  const measured = await Promise.all(kinds.map(send));
  const [hot, bindings] = measured;
  const validations = [hot, bindings].filter((one): one is Measured => one !== undefined);
  const { storedAfterMs, lost, doubled, due, stored } = await witness.watch(validations, true);

  const named = measured.map((one, index) => {
    const { name = '', connections = 0 } = kinds[index] ?? {};
    return { ...one, name, connections, lost: 0, doubled: 0 };
  });
  const records = {
    wrong: 0,
    wrongResponse: null,
    withoutResponse: 0,
    failedConnects: 0,
    failure: null,
  };
  return {
    scenario: 'fairness',
    title: `Fairness: npm start, ${HOT_CONNECTIONS} connections of hot validations without a pause, and two others`,
    results: [],
    table: named.map(({ name, connections, ...figures }) => ({
      requests: name,
      connections,
      responses: figures.requests - figures.withoutResponse,
      '503s': figures.backedOff,
      'p50 ms': round(figures.p50Ms),
      'p95 ms': round(figures.p95Ms),
      'max ms': round(figures.maxMs, 0),
    })),
    thresholds: named.map(({ name, p95Ms }) => atMost(`p95 in ms, ${name}`, p95Ms, MAX_P95_MS)),
    faults: [
      ...faultsOf('fairness', [{ ...warmUp, name: 'warm-up', connections: THRESHOLD_CONNECTIONS }]),
      ...faultsOf('fairness', named),
      ...faultsOf('fairness', [
        { ...records, name: 'fairness', connections: HOT_CONNECTIONS, lost, doubled },
      ]),
      ...service.log.faults('fairness'),
    ],
    notes: [
      `${due} responses, ${stored} records, the last one stored after ${round(storedAfterMs, 0)} ms`,
      ...service.log.notes(),
    ],
  };
}
