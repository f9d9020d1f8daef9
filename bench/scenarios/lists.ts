import { ROOT_TOKEN } from '../../test/support/root-token.ts';
import { faultsOf } from '../faults.ts';
import { send } from '../load.ts';
import { LocalServiceProcess } from '../local-service.ts';
import { spreadIds } from '../population.ts';
import { atMost, type Finding, progress, round, type TableRow, type Threshold } from '../report.ts';
import { boundRequests, validResponse } from '../requests.ts';
import { sendTo } from '../rounds.ts';
import { THRESHOLD_CONNECTIONS } from '../settings.ts';
import { type Bench, shopOf } from './scenario.ts';

/** Licenses in memory, which are validated. */
const HOT_LICENSES = 1_000;
const MAX_SERVERS = 2;
/** Together about 400 validations a second. */
const PACE = { connections: 10, pauseMs: 20 };
const LISTS = [0, 1, 3];
const MAX_P99_MS = 250;
const MAX_MS = 600;
const MAX_MEGABYTES = 500;

/** Reads complete lists of licenses, one after the other, until it is told to stop. @returns their number */
async function readLists(url: URL, isOver: () => boolean): Promise<number> {
  let lists = 0;
  while (!isOver()) {
    const response = await fetch(new URL('/api/v2/licenses', url), {
      headers: { TOKEN: ROOT_TOKEN },
    });
    if (!response.ok || !response.body) throw new Error(`A list returned ${response.status}`);
    for await (const _ of response.body) if (isOver()) return lists;
    lists++;
  }
  return lists;
}

/** Response times of validations, and the memory, beside complete lists of all licenses. */
export async function lists({ settings }: Bench): Promise<Finding> {
  const population = { ...shopOf(settings.manyLicenses), maxServers: MAX_SERVERS };
  await using service = await LocalServiceProcess.start('start', population);
  const { witness, url } = service;
  const ids = spreadIds(HOT_LICENSES, settings.manyLicenses);
  const [requestAt, expected] = [boundRequests(ids), validResponse(MAX_SERVERS)];
  progress('lists, warm-up');
  const target = { name: 'lists', worker: service, requestAt, expected };
  const warmUp = await sendTo(
    { ...target, records: { witness, areKnown: true }, backsOff: true },
    { connections: THRESHOLD_CONNECTIONS, from: 0, until: { count: 2 * HOT_LICENSES } },
  );
  const faults = faultsOf('lists', [
    { ...warmUp, name: 'warm-up', connections: THRESHOLD_CONNECTIONS },
  ]);
  const table: TableRow[] = [];
  const thresholds: Threshold[] = [];
  for (const count of LISTS) {
    progress(`lists, ${count} at once`);
    let isOver = false;
    const reading = Promise.all(Array.from({ length: count }, () => readLists(url, () => isOver)));
    const until = { seconds: settings.loadSeconds };
    const load = { url, requestAt, from: 0, until, expected, backsOff: true, ...PACE };
    const measured = await send(load).finally(() => {
      isOver = true;
    });
    await reading;
    const { node, workerd } = service.residentMegabytes();
    const megabytes = (node ?? 0) + (workerd ?? 0);
    const { lost, doubled } = await witness.watch([measured], true);
    const name = `beside ${count} lists`;
    faults.push(
      ...faultsOf('lists', [{ ...measured, name, connections: PACE.connections, lost, doubled }]),
    );
    table.push({
      lists: count,
      'req/s': round(measured.requests / settings.loadSeconds, 0),
      '503s': measured.backedOff,
      'p50 ms': round(measured.p50Ms),
      'p99 ms': round(measured.p99Ms),
      'max ms': round(measured.maxMs, 0),
      MB: round(megabytes, 0),
    });
    thresholds.push(
      atMost(`p99 in ms, ${name}`, measured.p99Ms, MAX_P99_MS),
      atMost(`worst response in ms, ${name}`, measured.maxMs, MAX_MS),
      atMost(`MB of memory, ${name}`, megabytes, MAX_MEGABYTES),
    );
  }
  return {
    scenario: 'lists',
    title: `Lists: npm start, ${settings.manyLicenses} licenses, ${PACE.connections} connections of validations, and complete lists`,
    results: [],
    table,
    thresholds,
    faults: [...faults, ...service.log.faults('lists')],
    notes: service.log.notes(),
  };
}
