import { faultsOf } from '../faults.ts';
import { LocalServiceProcess } from '../local-service.ts';
import { spreadIds } from '../population.ts';
import {
  atLeast,
  atMost,
  type Finding,
  progress,
  round,
  roundOrDash,
  type TableRow,
  type Threshold,
} from '../report.ts';
import { boundRequests, validResponse } from '../requests.ts';
import { type Round, sendTo, type Target } from '../rounds.ts';
import { THRESHOLD_CONNECTIONS } from '../settings.ts';
import { median } from '../statistics.ts';
import { BESIDE, type Bench, shopOf } from './scenario.ts';

/** Fewer than the service keeps in memory, and enough that no license reaches its limit a minute. */
const LICENSES = 8_000;
const MIN_OF_FEW_CONNECTIONS = 0.9;
const P99_CONNECTIONS = 256;
const MAX_P99_MS = 150;
const MAX_STORED_AFTER_MS = 2_000;
const MEMORY_CONNECTIONS = 1_024;
const MAX_MEGABYTES = 450;
const MEMORY_INTERVAL_MS = 250;

/** A round, and the most memory of node and workerd during it. */
interface Watched extends Round {
  megabytes: number | null;
}

/** A service with its target. */
interface Loaded {
  service: LocalServiceProcess;
  target: Target;
  /** The requests so far. */
  sent: number;
}

/** The rounds of a service at a number of connections. */
interface Level {
  loaded: Loaded;
  connections: number;
  rounds: Watched[];
}

const medianOf = ({ rounds }: Level, figureOf: (round: Watched) => number | null): number =>
  median(rounds.map((one) => figureOf(one) ?? 0));
const maxOf = ({ rounds }: Level, figureOf: (round: Watched) => number | null): number =>
  Math.max(...rounds.map((one) => figureOf(one) ?? 0));
const sumOf = ({ rounds }: Level, figureOf: (round: Watched) => number): number =>
  rounds.reduce((sum, one) => sum + figureOf(one), 0);

const throughputOf = (level: Level): number => medianOf(level, (one) => one.storedPerSecond);

async function watchMemory(
  service: LocalServiceProcess,
  send: () => Promise<Round>,
): Promise<Watched> {
  let megabytes: number | null = null;
  const look = () => {
    const { node, workerd } = service.residentMegabytes();
    if (node !== null && workerd !== null) megabytes = Math.max(megabytes ?? 0, node + workerd);
  };
  const timer = setInterval(look, MEMORY_INTERVAL_MS);
  try {
    const sent = await send();
    look();
    return { ...sent, megabytes };
  } finally {
    clearInterval(timer);
  }
}

function rowOf(level: Level): TableRow {
  const statusOf = (status: number) => sumOf(level, ({ statuses }) => statuses.get(status) ?? 0);
  const [ok, overloaded] = [statusOf(200), statusOf(503)];
  const responded = sumOf(level, ({ requests, withoutResponse }) => requests - withoutResponse);
  return {
    service: level.loaded.target.name,
    connections: level.connections,
    'req/s': round(throughputOf(level), 0),
    'p50 ms': round(medianOf(level, ({ p50Ms }) => p50Ms)),
    'p99 ms': round(medianOf(level, ({ p99Ms }) => p99Ms)),
    'max ms': round(
      maxOf(level, ({ maxMs }) => maxMs),
      0,
    ),
    '200s': ok,
    '503s': overloaded,
    'other statuses': responded - ok - overloaded,
    'no response': sumOf(level, ({ withoutResponse }) => withoutResponse),
    'failed connects': sumOf(level, ({ failedConnects }) => failedConnects),
    'records due': sumOf(level, ({ due }) => due),
    stored: sumOf(level, ({ stored }) => stored),
    'stored after ms': round(
      maxOf(level, ({ storedAfterMs }) => storedAfterMs),
      0,
    ),
    MB: roundOrDash(maxOf(level, ({ megabytes }) => megabytes) || null, 0),
  };
}

function thresholdsOf(levels: readonly Level[]): Threshold[] {
  const few = levels.find(({ connections }) => connections === THRESHOLD_CONNECTIONS);
  return levels.flatMap((level) => {
    const { connections } = level;
    const at = `at ${connections} connections`;
    const ratio = few && throughputOf(level) / throughputOf(few);
    const storedAfterMs = maxOf(level, (one) => one.storedAfterMs);
    const p99Ms = medianOf(level, (one) => one.p99Ms);
    const megabytes = maxOf(level, (one) => one.megabytes) || null;
    return [
      ...(ratio === undefined || level === few
        ? []
        : [
            atLeast(
              `throughput ${at}, in that at ${THRESHOLD_CONNECTIONS}`,
              ratio,
              MIN_OF_FEW_CONNECTIONS,
            ),
          ]),
      ...(connections === P99_CONNECTIONS ? [atMost(`p99 in ms ${at}`, p99Ms, MAX_P99_MS)] : []),
      atMost(`ms until the last record is stored, ${at}`, storedAfterMs, MAX_STORED_AFTER_MS),
      ...(connections === MEMORY_CONNECTIONS
        ? [atMost(`MB of memory ${at}`, megabytes, MAX_MEGABYTES)]
        : []),
    ];
  });
}

/** Starts a service, and fills its memory. @returns it with the faults of the warm-up */
async function startLoaded(
  name: string,
  checkout?: string,
): Promise<{ loaded: Loaded; warmUp: Round }> {
  const population = shopOf(LICENSES);
  const service = await LocalServiceProcess.start('start', population, { checkout });
  const target: Target = {
    name,
    worker: service,
    requestAt: boundRequests(spreadIds(LICENSES, LICENSES)),
    expected: validResponse(population.maxServers),
    records: { witness: service.witness, areKnown: true },
    backsOff: true,
  };
  progress(`${name}, warm-up`);
  const warmUp = await sendTo(target, {
    connections: THRESHOLD_CONNECTIONS,
    from: 0,
    // Each license by both of its servers.
    until: { count: 2 * LICENSES },
  });
  return { loaded: { service, target, sent: warmUp.requests }, warmUp };
}

/** Hot validations by `npm start` at more connections than it can serve at once: no record may be lost. */
export async function load({ settings, scripts }: Bench): Promise<Finding> {
  const { loadConnections, loadSeconds, rounds } = settings;
  const { checkout } = scripts.beside ?? {};
  const { loaded, warmUp } = await startLoaded('load');
  await using service = loaded.service;
  const other = checkout === undefined ? undefined : await startLoaded(BESIDE, checkout);
  await using _ = other?.loaded.service;
  const services = [loaded, ...(other ? [other.loaded] : [])];
  const levels = loadConnections.flatMap((connections) =>
    services.map((one): Level => ({ loaded: one, connections, rounds: [] })),
  );
  for (let number = 0; number < rounds; number++) {
    // Forwards and backwards: no level always comes after the same one.
    for (const { loaded: one, ...level } of number % 2 === 0 ? levels : levels.toReversed()) {
      const { connections } = level;
      progress(`${one.target.name}, ${connections} connections, round ${number + 1} of ${rounds}`);
      const watched = await watchMemory(one.service, () =>
        sendTo(one.target, { connections, from: one.sent, until: { seconds: loadSeconds } }),
      );
      one.sent += watched.requests;
      level.rounds.push(watched);
    }
  }
  const own = levels.filter((level) => level.loaded === loaded);
  const ofLoads = own.flatMap(({ connections, rounds: ofLevel }) =>
    ofLevel.flatMap((one) => faultsOf('load', [{ ...one, name: 'load', connections }])),
  );
  const ofWarmUp = { ...warmUp, name: 'warm-up', connections: THRESHOLD_CONNECTIONS };
  const loadCpuShare = Math.max(...levels.map((level) => maxOf(level, (one) => one.ownCpuShare)));
  return {
    scenario: 'load',
    title: `Load: npm start, ${LICENSES} licenses in memory, with the log of requests`,
    results: [],
    table: levels.map(rowOf),
    thresholds: thresholdsOf(own),
    faults: [...faultsOf('load', [ofWarmUp]), ...ofLoads, ...service.log.faults('load')],
    notes: [
      ...own.flatMap((level) => {
        const { connections } = level;
        const before = levels.find((one) => one !== level && one.connections === connections);
        return before
          ? `throughput at ${connections} connections, in that of ${checkout}: ${round(throughputOf(level) / throughputOf(before))}`
          : [];
      }),
      `the load itself took ${round(loadCpuShare * 100, 0)} % of one core at most`,
      ...service.log.notes(),
    ],
  };
}
