import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { Licet } from '@licet/client';
import { ROOT_TOKEN } from '../../test/support/root-token.ts';
import { faultsOf } from '../faults.ts';
import { type Load, type Measured, send } from '../load.ts';
import { LocalServiceProcess } from '../local-service.ts';
import { spreadIds } from '../population.ts';
import { atMost, exact, type Finding, progress, round } from '../report.ts';
import { boundRequests, productChange, validResponse } from '../requests.ts';
import { sendTo } from '../rounds.ts';
import { THRESHOLD_CONNECTIONS } from '../settings.ts';
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

/** Receivers: some respond at once, and any other path never does. */
async function startReceivers() {
  const arrived = new Map(LIVE.map((path) => [path, new Set<string>()]));
  const server = createServer((request, response) => {
    const ids = arrived.get(request.url ?? '');
    request.resume().on('end', () => {
      if (!ids) return;
      ids.add(String(request.headers['webhook-id']));
      response.writeHead(204).end();
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  return {
    origin: `http://127.0.0.1:${port}`,
    arrived,
    [Symbol.dispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Changes with three webhooks, one of which is dead, beside validations. */
export async function webhooks({ settings }: Bench): Promise<Finding> {
  const population = { ...shopOf(LICENSES), maxServers: MAX_SERVERS };
  using receivers = await startReceivers();
  const options = ['--var', 'OUTBOUND_PRIVATE:true'];
  await using service = await LocalServiceProcess.start('start', population, options);
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
  async function measure(name: string): Promise<{ validations: Measured; changing: Measured }> {
    progress(name);
    const seconds = (changes / CHANGING_CONNECTIONS) * ((2 * PAUSE_MS) / 1000);
    const common = { url, from: 0, pauseMs: PAUSE_MS };
    const kinds: [Load, Load] = [
      {
        ...common,
        connections: THRESHOLD_CONNECTIONS,
        requestAt,
        until: { seconds },
        expected,
        backsOff: true,
      },
      {
        ...common,
        connections: CHANGING_CONNECTIONS,
        requestAt: (index) => productChange(index, ROOT_TOKEN),
        until: { count: changes },
        expected: { status: 201, body: '{' },
      },
    ];
    const [validations, changing] = await Promise.all([send(kinds[0]), send(kinds[1])]);
    return { validations, changing };
  }

  const without = await measure('webhooks, changes without webhooks');
  const licet = new Licet({ url: url.href, token: ROOT_TOKEN });
  for (const path of [...LIVE, '/dead']) {
    await licet.webhooks.create({ url: receivers.origin + path, types: ['product.created'] });
  }
  const startedAt = performance.now();
  const beside = await measure('webhooks, changes with three webhooks');
  const secondsSince = () => (performance.now() - startedAt) / 1000;
  const missing = () => [...receivers.arrived.values()].some(({ size }) => size < changes);
  while (missing() && secondsSince() < 2 * MAX_DELIVERY_SECONDS) await wait(100);
  const deliveredSeconds = secondsSince();
  const watched = await witness.watch([without.validations, beside.validations], true);
  const undelivered = [...receivers.arrived.values()].reduce(
    (sum, { size }) => sum + changes - size,
    0,
  );

  const named = [
    { ...without.validations, name: 'validations beside changes without webhooks' },
    { ...beside.validations, name: 'validations beside changes with three webhooks' },
    { ...without.changing, name: 'changes without webhooks' },
    { ...beside.changing, name: 'changes with three webhooks, one of them dead' },
  ].map((one, index) => ({
    ...one,
    connections: THRESHOLD_CONNECTIONS,
    // The records of both loads of validations are counted together.
    lost: index === 0 ? watched.lost : 0,
    doubled: index === 0 ? watched.doubled : 0,
  }));
  return {
    scenario: 'webhooks',
    title: `Webhooks: npm start, ${changes} changes with three webhooks, one of which is dead`,
    results: [],
    table: named.map(({ name, requests, seconds, p50Ms, p99Ms }) => ({
      requests: name,
      count: requests,
      'a second': round(requests / seconds, 0),
      'p50 ms': round(p50Ms),
      'p99 ms': round(p99Ms),
    })),
    thresholds: [
      atMost('seconds until the last delivery', deliveredSeconds, MAX_DELIVERY_SECONDS),
      exact(atMost('deliveries that are missing', undelivered, 0)),
      atMost(
        'p99 of validations, of that without webhooks',
        beside.validations.p99Ms / without.validations.p99Ms,
        MAX_SLOWDOWN,
      ),
    ],
    faults: [
      ...faultsOf('webhooks', [{ ...warmUp, name: 'warm-up', connections: THRESHOLD_CONNECTIONS }]),
      ...faultsOf('webhooks', named),
      ...service.log.faults('webhooks'),
    ],
    notes: [
      `${watched.due} responses, ${watched.stored} records`,
      `all deliveries of the live ones after ${round(deliveredSeconds, 1)} s`,
      ...service.log.notes(),
    ],
  };
}
