import { createHash, createHmac } from 'node:crypto';
import { Licet } from '@licet/client';
import { ROOT_TOKEN } from '../../test/support/root-token.ts';
import { faultsOf } from '../faults.ts';
import { type Measured, send } from '../load.ts';
import { LocalServiceProcess } from '../local-service.ts';
import { spreadIds } from '../population.ts';
import { atMost, exact, type Finding, progress, round } from '../report.ts';
import { boundRequests, validResponse } from '../requests.ts';
import { sendTo } from '../rounds.ts';
import { THRESHOLD_CONNECTIONS } from '../settings.ts';
import { type Bench, shopOf } from './scenario.ts';

const LICENSES = 4_000;
const MAX_SERVERS = 2;
const SECRET = 'secret-of-the-bench';
/** About 1,000 validations a second. */
const VALIDATION_PAUSE_MS = 9;
const DOWNLOADING_CONNECTIONS = 4;
const DOWNLOAD_PAUSE_MS = 30;
const DOWNLOADS = 1_000;
const BURST_CONNECTIONS = 64;
const BURST = 10_000;
const MAX_PLACEHOLDER_MS = 300;
/** A share of the memory after the first burst. */
const MAX_GROWTH = 1.15;

function toBytes(path: string, type: string, headers: readonly string[], body: string): Uint8Array {
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: licet.example',
    `Content-Type: ${type}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...headers,
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
}

/** A download from BuiltByBit: each buyer twice, one after the other. */
const download = (path: string, index: number): Uint8Array =>
  toBytes(
    path,
    'application/x-www-form-urlencoded',
    [],
    `builtbybit=true&user_id=${1 + (index >> 1)}&resource_id=1&secret=${SECRET}`,
  );

/** A payment at Tebex, signed. */
function payment(path: string, index: number): Uint8Array {
  const body = JSON.stringify({
    id: `event-${index}`,
    type: 'payment.completed',
    date: '2026-08-04T07:23:03Z',
    subject: {
      transaction_id: `tbx-${index}`,
      created_at: '2026-08-04T07:00:00Z',
      customer: {
        email: `buyer${index}@shop.example`,
        username: { id: String(index), username: `buyer${index}` },
      },
      products: [{ id: 1, quantity: 1 }],
    },
  });
  const hash = createHash('sha256').update(body).digest('hex');
  const signature = createHmac('sha256', SECRET).update(hash).digest('hex');
  return toBytes(path, 'application/json', [`X-Signature: ${signature}`], body);
}

/** Downloads beside validations, then two bursts of payments. */
export async function markets({ settings }: Bench): Promise<Finding> {
  const population = { ...shopOf(LICENSES), maxServers: MAX_SERVERS };
  await using service = await LocalServiceProcess.start('start', population);
  const { url, witness } = service;
  const isQuick = settings.rounds === 1;
  const [downloads, burst] = isQuick ? [100, 500] : [DOWNLOADS, BURST];
  const licet = new Licet({ url: url.href, token: ROOT_TOKEN });
  const products = [{ item: '1', productId: 1 }];
  const pathOf = async (kind: 'builtbybit' | 'tebex') => {
    const { id, addresses } = await licet.markets.create({
      kind,
      name: kind,
      secrets: [SECRET],
      products,
    });
    return { id, path: new URL(addresses[0] ?? url).pathname };
  };
  const [builtbybit, tebex] = [await pathOf('builtbybit'), await pathOf('tebex')];
  const requestAt = boundRequests(spreadIds(LICENSES, LICENSES));
  const expected = validResponse(MAX_SERVERS);
  progress('markets, warm-up');
  const target = { name: 'markets', worker: service, requestAt, expected };
  const records = { witness, areKnown: true };
  const warmUp = await sendTo(
    { ...target, records, backsOff: true },
    { connections: THRESHOLD_CONNECTIONS, from: 0, until: { count: 2 * LICENSES } },
  );

  progress('markets, downloads');
  const seconds = (downloads / DOWNLOADING_CONNECTIONS) * ((DOWNLOAD_PAUSE_MS + 10) / 1000);
  const [validations, placeholders] = await Promise.all([
    send({
      url,
      from: 0,
      requestAt,
      expected,
      connections: THRESHOLD_CONNECTIONS,
      pauseMs: VALIDATION_PAUSE_MS,
      until: { seconds },
      backsOff: true,
    }),
    send({
      url,
      from: 0,
      requestAt: (index) => download(builtbybit.path, index),
      expected: { status: 200, body: '' },
      connections: DOWNLOADING_CONNECTIONS,
      pauseMs: DOWNLOAD_PAUSE_MS,
      until: { count: downloads },
    }),
  ]);

  const payments = async (from: number): Promise<Measured> => {
    progress(`markets, ${burst} notices from ${from}`);
    return send({
      url,
      from,
      requestAt: (index) => payment(tebex.path, index),
      expected: { status: 200, body: '' },
      connections: BURST_CONNECTIONS,
      until: { count: burst },
      backsOff: true,
    });
  };
  const megabytes = (): number => service.residentMegabytes().workerd ?? 0;
  const before = megabytes();
  const first = await payments(0);
  const afterFirst = megabytes();
  const second = await payments(burst);
  const afterSecond = megabytes();
  const { total } = await licet.purchases.page({ marketId: tebex.id, limit: 1 });
  const backedOff = first.backedOff + second.backedOff;
  const lost = 2 * burst - backedOff - (total ?? 0);
  const watched = await witness.watch([validations], true);
  const named = [
    { name: 'validations beside downloads', ...validations },
    { name: 'downloads', ...placeholders },
    { name: 'first burst of notices', ...first },
    { name: 'second burst of notices', ...second },
  ];
  const all = named.map((one) => ({
    ...one,
    connections: THRESHOLD_CONNECTIONS,
    lost: 0,
    doubled: 0,
  }));
  const [counted, ...others] = all;
  return {
    scenario: 'markets',
    title: `Markets: npm start, ${downloads} downloads beside validations, then two bursts of ${burst} notices`,
    results: [],
    table: named.map(({ name, requests, seconds: took, p50Ms, p99Ms, maxMs }) => ({
      requests: name,
      count: requests,
      'a second': round(requests / took, 0),
      'p50 ms': round(p50Ms),
      'p99 ms': round(p99Ms),
      'max ms': round(maxMs),
    })),
    thresholds: [
      atMost('p99 of a download in ms', placeholders.p99Ms, MAX_PLACEHOLDER_MS),
      exact(atMost('notices that are neither a purchase nor told to come again', lost, 0)),
      atMost(
        'memory after the second burst, of that after the first',
        afterSecond / afterFirst,
        MAX_GROWTH,
      ),
    ],
    faults: [
      ...faultsOf('markets', [{ ...warmUp, name: 'warm-up', connections: THRESHOLD_CONNECTIONS }]),
      ...faultsOf('markets', counted ? [{ ...counted, ...watched }, ...others] : []),
      ...service.log.faults('markets'),
    ],
    notes: [
      `${watched.due} responses, ${watched.stored} records`,
      `${total} purchases; ${backedOff} notices were told to come again`,
      `workerd: ${round(before, 0)} MB before, ${round(afterFirst, 0)} MB after the first burst, ${round(afterSecond, 0)} MB after the second`,
      ...service.log.notes(),
    ],
  };
}
