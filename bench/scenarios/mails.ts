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
import { boundRequests, buyerOf, licenseSale, validResponse } from '../requests.ts';
import { sendTo } from '../rounds.ts';
import { THRESHOLD_CONNECTIONS } from '../settings.ts';
import { median } from '../statistics.ts';
import { type Bench, shopOf } from './scenario.ts';

const LICENSES = 4_000;
const MAX_SERVERS = 2;
const SALES = 1_000;
const SELLING_CONNECTIONS = 4;
/** The validations do not take all of the time. */
const PAUSE_MS = 20;
/** Sales are as fast as two connections to a mail server that greets after 100 ms. */
const SELLING_PAUSE_MS = 230;
const MAX_SECONDS = 300;
const MAX_SLOWDOWN = 1.2;
const MAX_ROUNDS = 2;
/** The difference between the response times for e-mails of customers and for others. */
const MAX_DIFFERENCE = 0.05;
/** The work after one response must not delay the next one. */
const ASKING_PAUSE_MS = 10;

type Measurement = 'validations' | 'sales';

/** A mail server in a thread of its own: the one of the load measures response times. */
async function startMailServer() {
  const worker = new Worker(new URL('../worker/mail-server.ts', import.meta.url));
  const [port]: number[] = await once(worker, 'message');
  return {
    port,
    async taken(): Promise<number> {
      worker.postMessage('count');
      const [taken]: number[] = await once(worker, 'message');
      return taken ?? 0;
    },
    [Symbol.asyncDispose]: async () => {
      await worker.terminate();
    },
  };
}

/**
 * The response times of the form for links, for e-mails of customers and for others in turn. Each comes from an address of
 * its own, because five an hour from one address get mails.
 *
 * @param count how many e-mails of each kind
 */
async function askForLinks(url: URL, count: number): Promise<{ known: number; unknown: number }> {
  const timesMs = { known: [] as number[], unknown: [] as number[] };
  const ask = async (kind: 'known' | 'unknown', index: number): Promise<void> => {
    const asked = 2 * index + (kind === 'known' ? 0 : 1);
    const email = kind === 'known' ? buyerOf(index) : `nobody-${buyerOf(index)}`;
    const startedAt = performance.now();
    const response = await fetch(new URL('/my/link', url), {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        'CF-Connecting-IP': `198.51.${100 + (asked >> 8)}.${asked & 255}`,
      },
      body: JSON.stringify({ email }),
    });
    await response.text();
    timesMs[kind].push(performance.now() - startedAt);
    if (response.status !== 202) throw new Error(`The form returned ${response.status}`);
    await wait(ASKING_PAUSE_MS);
  };
  for (let index = 0; index < count; index++) {
    const isKnownFirst = Math.random() < 0.5;
    await ask(isKnownFirst ? 'known' : 'unknown', index);
    await ask(isKnownFirst ? 'unknown' : 'known', index);
  }
  return { known: median(timesMs.known), unknown: median(timesMs.unknown) };
}

/** Sales whose keys are mailed, beside validations; and the form for links. */
export async function mails({ settings }: Bench): Promise<Finding> {
  await using server = await startMailServer();
  const variables = [
    `MAIL:smtp://127.0.0.1:${server.port}`,
    'MAIL_FROM:keys@shop.example',
    'MAIL_DAILY_LIMIT:1000000',
    'TRUSTED_PROXIES:127.0.0.1',
  ];
  const options = variables.flatMap((one) => ['--var', one]);
  const population = { ...shopOf(LICENSES), maxServers: MAX_SERVERS };
  await using service = await LocalServiceProcess.start('start', population, { options });
  const requestAt = boundRequests(spreadIds(LICENSES, LICENSES));
  const expected = validResponse(MAX_SERVERS);
  const { witness, url } = service;
  progress('mails, warm-up');
  const target = {
    name: 'mails',
    worker: service,
    requestAt,
    expected,
    records: { witness, areKnown: true },
  };
  const warmUp = await sendTo(
    { ...target, backsOff: true },
    { connections: THRESHOLD_CONNECTIONS, from: 0, until: { count: 2 * LICENSES } },
  );
  const sales = Math.min(SALES, settings.countedRequests * 2);

  /** Validations beside sales, until all sales are made. */
  async function measure(from: number): Promise<Record<Measurement, Measured>> {
    const seconds = (sales / SELLING_CONNECTIONS) * (SELLING_PAUSE_MS / 1000);
    const [validations, sold] = await Promise.all([
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
        pauseMs: SELLING_PAUSE_MS,
        connections: SELLING_CONNECTIONS,
        requestAt: (index) => licenseSale(index, ROOT_TOKEN),
        until: { count: sales },
        expected: { status: 201, body: '{' },
      }),
    ]);
    return { validations, sales: sold };
  }

  const licet = new Licet({ url: url.href, token: ROOT_TOKEN });
  const without: Record<Measurement, Measured>[] = [];
  const beside: typeof without = [];
  const sentSeconds: number[] = [];
  const rounds = Math.min(settings.rounds, MAX_ROUNDS);
  const missing = async (expectedCount: number): Promise<number> =>
    expectedCount - (await server.taken());
  for (let round = 0; round < rounds; round++) {
    progress(`mails, round ${round + 1} of ${rounds}`);
    without.push(await measure(2 * round * sales));
    await licet.mailSettings.update({ kinds: ['key'] });
    const startedAt = performance.now();
    beside.push(await measure((2 * round + 1) * sales));
    const secondsSince = () => (performance.now() - startedAt) / 1000;
    while ((await missing((round + 1) * sales)) > 0 && secondsSince() < MAX_SECONDS) {
      await wait(100);
    }
    sentSeconds.push(secondsSince());
    await licet.mailSettings.update({ kinds: [] });
  }
  const unsent = await missing(rounds * sales);
  progress('mails, the form for links');
  await licet.mailSettings.update({ kinds: ['link'] });
  const medianMs = await askForLinks(url, sales);
  const validations = [...without, ...beside].map((one) => one.validations);
  const watched = await witness.watch(validations, true);

  const named = [
    { name: 'validations beside sales without mails', sent: without, kind: 'validations' },
    { name: 'validations beside sales with mails', sent: beside, kind: 'validations' },
    { name: 'sales without mails', sent: without, kind: 'sales' },
    { name: 'sales with mails', sent: beside, kind: 'sales' },
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
  const p99Of = (sent: typeof without) => median(sent.map((one) => one.validations.p99Ms));
  return {
    scenario: 'mails',
    title: `Mails: npm start, ${sales} sales whose keys are mailed`,
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
      exact(atMost('mails that are missing', unsent, 0)),
      atMost(
        'p99 of validations, of that without mails',
        p99Of(beside) / p99Of(without),
        MAX_SLOWDOWN,
      ),
      atMost(
        'difference of the form between e-mails of customers and others',
        Math.abs(medianMs.known / medianMs.unknown - 1),
        MAX_DIFFERENCE,
      ),
    ],
    faults: [
      ...faultsOf('mails', [{ ...warmUp, name: 'warm-up', connections: THRESHOLD_CONNECTIONS }]),
      ...faultsOf('mails', counted),
      ...service.log.faults('mails'),
    ],
    notes: [
      `${watched.due} responses, ${watched.stored} records`,
      `all mails after ${round(Math.max(...sentSeconds), 1)} s`,
      `the form responds within ${round(medianMs.known, 3)} ms for ${sales} customers, ${round(medianMs.unknown, 3)} ms for ${sales} others (medians)`,
      ...service.log.notes(),
    ],
  };
}
