import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { Licet } from '@licet/client';
import { ROOT_TOKEN } from '../../test/support/root-token.ts';
import { faultsOf } from '../faults.ts';
import { type Measured, send } from '../load.ts';
import { LocalServiceProcess } from '../local-service.ts';
import { spreadIds } from '../population.ts';
import { atMost, exact, type Finding, progress, round } from '../report.ts';
import { boundRequests, productChange, validResponse } from '../requests.ts';
import { sendTo } from '../rounds.ts';
import { THRESHOLD_CONNECTIONS } from '../settings.ts';
import { median } from '../statistics.ts';
import { type Bench, shopOf } from './scenario.ts';

const LICENSES = 4_000;
const MAX_SERVERS = 2;
const CHANGES = 1_000;
const CHANGING_CONNECTIONS = 4;
/** Neither the validations nor the changes take all of the time. */
const PAUSE_MS = 20;
const LIVE = ['/first', '/second'];
const MAX_DELIVERY_SECONDS = 90;
const MAX_SLOWDOWN = 1.2;
const MAX_ROUNDS = 3;

type Measurement = 'validations' | 'changing';

/** Receivers in a thread of their own: the one of the load measures response times. */
async function startReceivers() {
  const worker = new Worker(new URL('../worker/receivers.ts', import.meta.url), {
    workerData: LIVE,
  });
  const [port]: number[] = await once(worker, 'message');
  return {
    origin: `http://127.0.0.1:${port}`,
    /** The number of different deliveries that each live receiver got. */
    async counts(): Promise<number[]> {
      worker.postMessage('count');
      const [counts]: number[][] = await once(worker, 'message');
      return counts ?? [];
    },
    [Symbol.asyncDispose]: async () => {
      await worker.terminate();
    },
  };
}

/** Changes with three webhooks, one of which is dead, beside validations. */
export async function webhooks({ settings }: Bench): Promise<Finding> {
  const population = { ...shopOf(LICENSES), maxServers: MAX_SERVERS };
  await using receivers = await startReceivers();
  const options = ['--var', 'OUTBOUND_PRIVATE:true'];
  await using service = await LocalServiceProcess.start('start', population, { options });
  const requestAt = boundRequests(spreadIds(LICENSES, LICENSES));
  const expected = validResponse(MAX_SERVERS);
  const { witness, url } = service;
  progress('webhooks, warm-up');
  const records = { witness, areKnown: true };
  const target = { name: 'webhooks', worker: service, requestAt, expected, records };
  const warmUp = await sendTo(
    { ...target, backsOff: true },
    { connections: THRESHOLD_CONNECTIONS, from: 0, until: { count: 2 * LICENSES } },
  );
  const changes = Math.min(CHANGES, settings.countedRequests * 2);

  /** Validations beside changes, until all changes are made. */
  async function measure(from: number): Promise<Record<Measurement, Measured>> {
    const seconds = (changes / CHANGING_CONNECTIONS) * ((2 * PAUSE_MS) / 1000);
    const [validations, changing] = await Promise.all([
      send({
        url,
        from: 0,
        pauseMs: PAUSE_MS,
        connections: THRESHOLD_CONNECTIONS,
        requestAt,
        until: { seconds },
        expected,
        backsOff: true,
      }),
      send({
        url,
        from,
        pauseMs: PAUSE_MS,
        connections: CHANGING_CONNECTIONS,
        requestAt: (index) => productChange(index, ROOT_TOKEN),
        until: { count: changes },
        expected: { status: 201, body: '{' },
      }),
    ]);
    return { validations, changing };
  }

  const licet = new Licet({ url: url.href, token: ROOT_TOKEN });
  const webhooks = await Promise.all(
    [...LIVE, '/dead'].map((path) =>
      licet.webhooks.create({
        url: receivers.origin + path,
        types: ['product.created'],
        enabled: false,
      }),
    ),
  );
  const setEnabled = async (enabled: boolean): Promise<void> => {
    for (const { id } of webhooks) await licet.webhooks.update(id, { enabled });
  };
  const missing = async (expectedCount: number): Promise<number> =>
    (await receivers.counts()).reduce((sum, count) => sum + expectedCount - count, 0);

  const without: Record<Measurement, Measured>[] = [];
  const beside: typeof without = [];
  const deliveredSeconds: number[] = [];
  const rounds = Math.min(settings.rounds, MAX_ROUNDS);
  for (let round = 0; round < rounds; round++) {
    progress(`webhooks, round ${round + 1} of ${rounds}`);
    without.push(await measure(2 * round * changes));
    await setEnabled(true);
    const startedAt = performance.now();
    beside.push(await measure((2 * round + 1) * changes));
    const secondsSince = () => (performance.now() - startedAt) / 1000;
    while (
      (await missing((round + 1) * changes)) > 0 &&
      secondsSince() < 2 * MAX_DELIVERY_SECONDS
    ) {
      await wait(100);
    }
    deliveredSeconds.push(secondsSince());
    // The dead receiver must not slow the next round without webhooks.
    await setEnabled(false);
  }
  const validations = [...without, ...beside].map((one) => one.validations);
  const watched = await witness.watch(validations, true);

  const named = [
    { name: 'validations beside changes without webhooks', sent: without, kind: 'validations' },
    { name: 'validations beside changes with three webhooks', sent: beside, kind: 'validations' },
    { name: 'changes without webhooks', sent: without, kind: 'changing' },
    { name: 'changes with three webhooks, one of them dead', sent: beside, kind: 'changing' },
  ] as const;
  const all = named.flatMap(({ name, sent, kind }) =>
    sent.map((round) => ({
      ...round[kind],
      name,
      connections: THRESHOLD_CONNECTIONS,
      lost: 0,
      doubled: 0,
    })),
  );
  // The records of all loads of validations are counted together.
  const [first, ...others] = all;
  const counted = first ? [{ ...first, ...watched }, ...others] : [];
  const undelivered = await missing(rounds * changes);
  const p99Of = (sent: typeof without) => median(sent.map((one) => one.validations.p99Ms));
  return {
    scenario: 'webhooks',
    title: `Webhooks: npm start, ${changes} changes with three webhooks, one of which is dead`,
    results: [],
    table: named.map(({ name, sent, kind }) => {
      const measured = sent.map((round) => round[kind]);
      return {
        requests: name,
        count: measured.reduce((sum, { requests }) => sum + requests, 0),
        'a second': round(median(measured.map((one) => one.requests / one.seconds)), 0),
        'p50 ms': round(median(measured.map(({ p50Ms }) => p50Ms))),
        'p99 ms': round(median(measured.map(({ p99Ms }) => p99Ms))),
      };
    }),
    thresholds: [
      atMost(
        'seconds until the last delivery',
        Math.max(...deliveredSeconds),
        MAX_DELIVERY_SECONDS,
      ),
      exact(atMost('deliveries that are missing', undelivered, 0)),
      atMost(
        'p99 of validations, of that without webhooks',
        p99Of(beside) / p99Of(without),
        MAX_SLOWDOWN,
      ),
    ],
    faults: [
      ...faultsOf('webhooks', [{ ...warmUp, name: 'warm-up', connections: THRESHOLD_CONNECTIONS }]),
      ...faultsOf('webhooks', counted),
      ...service.log.faults('webhooks'),
    ],
    notes: [
      `${watched.due} responses, ${watched.stored} records`,
      `all deliveries of the live ones after ${round(Math.max(...deliveredSeconds), 1)} s`,
      ...service.log.notes(),
    ],
  };
}
