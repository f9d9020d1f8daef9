import { connect } from 'node:net';
import { faultsOf } from '../faults.ts';
import { send } from '../load.ts';
import { LocalServiceProcess } from '../local-service.ts';
import { spreadIds } from '../population.ts';
import { atLeast, atMost, type Finding, progress, round, type Threshold } from '../report.ts';
import { boundRequests } from '../requests.ts';
import { runRounds, sendTo, type Target, throughputRatio } from '../rounds.ts';
import { THRESHOLD_CONNECTIONS } from '../settings.ts';
import { LicetService } from '../workers.ts';
import { BESIDE, type Bench, bareTarget, hotTarget, shopOf } from './scenario.ts';

const MIN_OF_DIRECT_SOCKET = 0.8;
const MIN_OF_DEV = 10;
const MAX_P99_MS = 30;
const MAX_START_SECONDS = 5;
const MAX_MEGABYTES = 400;
const MAX_SLOWEST_MS = 1_000;
const CONNECTIONS_AT_ONCE = 50;
const REQUESTS_AFTER = 1_000;
/** Enough that no key reaches the limit of validations a minute. */
const LICENSES = 5_000;

/** The ways in which a client can go: at once, in the head, in the body, before the response. */
const BROKEN_OFF = [0, 20, -10, undefined];

/** Opens a connection, sends a part of a request, and resets the connection. */
const abort = (url: URL, request: Uint8Array, index: number): Promise<void> =>
  new Promise((resolve) => {
    const socket = connect(Number(url.port), url.hostname, () => {
      const part = request.subarray(0, BROKEN_OFF[index % BROKEN_OFF.length]);
      socket.write(part, () => socket.resetAndDestroy());
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve());
  });

/** `npm start`, with its log on: beside the same Worker on a socket, and `npm run dev`. */
export async function start(bench: Bench): Promise<Finding> {
  const { settings, scripts } = bench;
  const all = spreadIds(LICENSES, LICENSES);
  const ids = all.slice(0, settings.licenses);
  const population = shopOf(LICENSES);
  await using direct = await LicetService.start(scripts.service, { population, isLogged: true });
  await using started = await LocalServiceProcess.start('start', population);
  await using dev = await LocalServiceProcess.start('dev', population);
  const { checkout } = scripts.beside ?? {};
  await using beside = checkout
    ? await LocalServiceProcess.start('start', population, { checkout })
    : undefined;
  const local = (name: string, service: LocalServiceProcess): Target => ({
    ...hotTarget(name, direct, ids),
    worker: service,
    records: { witness: service.witness, areKnown: true },
    backsOff: true,
  });
  const { rounds, roundSeconds } = settings;
  const rules = { scenario: 'start', rounds, roundSeconds, warmUpRequests: 2 * ids.length };
  const results = await runRounds({ ...rules, connections: THRESHOLD_CONNECTIONS }, [
    bareTarget(bench, boundRequests(ids)),
    { ...hotTarget('direct socket', direct, ids), backsOff: true },
    local('npm start', started),
    local('npm run dev', dev),
    ...(beside ? [local(BESIDE, beside)] : []),
  ]);
  const [, ofDirect, ofStart, ofDev, ofBeside] = results;
  const thresholds: Threshold[] = [];
  if (ofDirect && ofStart && ofDev) {
    thresholds.push(
      atLeast(
        "throughput, in the direct socket's",
        throughputRatio(ofStart, ofDirect),
        MIN_OF_DIRECT_SOCKET,
      ),
      atLeast("throughput, in npm run dev's", throughputRatio(ofStart, ofDev), MIN_OF_DEV),
      atMost('p99 in ms', ofStart.p99Ms, MAX_P99_MS),
    );
  }

  progress(`start, ${settings.startRequests} requests`);
  const target = local('npm start', started);
  const connections = THRESHOLD_CONNECTIONS;
  const rest = settings.startRequests - (ofStart?.requests ?? 0);
  const last = await sendTo(target, {
    requestAt: boundRequests(all),
    from: 0,
    connections,
    until: { count: Math.max(0, rest) },
  });
  const { node, workerd } = started.residentMegabytes();
  const sum = node !== null && workerd !== null ? node + workerd : null;
  thresholds.push(
    atMost(`MB of memory after ${settings.startRequests} requests`, sum, MAX_MEGABYTES),
  );

  progress(`start, ${settings.abortedRequests} aborted connections`);
  const { requestAt, expected } = target;
  for (let from = 0; from < settings.abortedRequests; from += CONNECTIONS_AT_ONCE) {
    const indices = Array.from({ length: CONNECTIONS_AT_ONCE }, (_, index) => from + index);
    await Promise.all(indices.map((index) => abort(started.url, requestAt(index), index)));
  }
  const after = await send({
    requestAt,
    from: 0,
    until: { count: REQUESTS_AFTER },
    expected,
    url: started.url,
    connections,
    backsOff: true,
  });
  thresholds.push(atMost('ms of the slowest of the next 1000', after.maxMs, MAX_SLOWEST_MS));

  const seconds = await started.restart();
  thresholds.push(atMost('seconds to the first response', seconds, MAX_START_SECONDS));

  const tally = await direct.tally();
  return {
    scenario: 'start',
    title: `npm start: ${LICENSES} licenses in memory, with the log of requests`,
    results,
    thresholds,
    faults: [
      ...faultsOf(
        'start',
        results.filter((result) => result !== ofBeside),
        [tally],
      ),
      ...faultsOf('start', [
        { ...last, name: 'npm start', connections },
        // Aborted requests may leave records, so that those after them cannot be counted.
        { ...after, name: 'after aborted connections', connections, lost: 0, doubled: 0 },
      ]),
      ...[direct, started, dev].flatMap(({ log }) => log.faults('start')),
    ],
    notes: [
      ...(ofStart && ofBeside
        ? [`throughput, in that of ${checkout}: ${round(throughputRatio(ofStart, ofBeside))}`]
        : []),
      `node ${Math.round(node ?? 0)} MB, workerd ${Math.round(workerd ?? 0)} MB`,
      `${started.log.lines} lines in the log`,
      ...direct.log.notes(),
    ],
  };
}
