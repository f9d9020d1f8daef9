import { type Contestant, sendTo, type Turn } from '../contest.ts';
import { faultsOf } from '../faults.ts';
import { spreadIds } from '../population.ts';
import { atMost, type Finding, progress, round } from '../report.ts';
import { boundRequests } from '../requests.ts';
import { TARGET_CONNECTIONS } from '../settings.ts';
import { median } from '../statistics.ts';
import { residentMegabytesOf } from '../workerd.ts';
import { LicetService } from '../workers.ts';
import { type Bench, bareContestant, describeTally, hotContestant, shopOf } from './scenario.ts';

/** In how many portions the requests are sent, with a look at the memory after each. */
const PORTIONS = 10;
/** How many of them count as warm-up. */
const WARM_UP_PORTIONS = 1;
/** So many at the beginning and at the end are compared by their medians. */
const COMPARED = 3;
/** Flat is what grows by less. */
const MAX_GROWTH = 1.1;

interface Watched {
  /** Before the first request and after each portion; empty where memory cannot be told. */
  megabytes: number[];
  portions: Turn[];
}

async function watch(contestant: Contestant, requests: number): Promise<Watched> {
  const { name, worker } = contestant;
  const count = Math.round(requests / PORTIONS);
  const watched: Watched = { megabytes: [], portions: [] };
  const look = (sent: number): void => {
    const megabytes = residentMegabytesOf(worker.pid);
    if (megabytes !== null) watched.megabytes.push(round(megabytes, 1));
    progress(`memory, ${name}: ${sent} requests, ${round(megabytes ?? 0, 1)} MB`);
  };
  look(0);
  for (let sent = 0; sent < count * PORTIONS; sent += count) {
    const load = { connections: TARGET_CONNECTIONS, from: sent, until: { count } };
    watched.portions.push(await sendTo(contestant, load));
    await contestant.records?.service.runScheduled();
    look(sent + count);
  }
  return watched;
}

/** How much more is held in the end than after the warm-up; null where too little is known. */
function growthOf({ megabytes }: Watched): number | null {
  const warm = megabytes.slice(1 + WARM_UP_PORTIONS);
  if (warm.length < COMPARED) return null;
  return median(warm.slice(-COMPARED)) / median(warm.slice(0, COMPARED));
}

/** The memory of the Worker, its database and the rest of its workerd over a million validations. */
export async function memory(bench: Bench): Promise<Finding> {
  const { licenses, memoryRequests } = bench.settings;
  const ids = spreadIds(licenses, licenses);
  await using service = await LicetService.start(bench.script, { population: shopOf(licenses) });
  const bare = await watch(bareContestant(bench, boundRequests(ids)), memoryRequests);
  const hot = await watch(hotContestant('hot', service, ids), memoryRequests);

  const tally = await service.tally();
  const results = [
    ...bare.portions.map((portion) => ({ ...portion, name: 'bare' })),
    ...hot.portions.map((portion) => ({ ...portion, name: 'hot' })),
  ].map((portion) => ({ ...portion, connections: TARGET_CONNECTIONS }));
  const describe = (name: string, { megabytes, portions }: Watched): string[] => [
    `${name}: MB before and after each ${memoryRequests / PORTIONS}: ${megabytes.join(' ')}`,
    `${name}: requests/s in each: ${portions.map((one) => round(one.storedPerSecond, 0)).join(' ')}`,
  ];
  return {
    scenario: 'memory',
    title: `Memory of workerd over ${memoryRequests} hot validations`,
    results: [],
    targets: [atMost('memory in the end to that after the warm-up', growthOf(hot), MAX_GROWTH)],
    faults: faultsOf(results, [tally]),
    notes: [
      describeTally(tally),
      ...service.logs(),
      ...describe('bare', bare),
      ...describe('hot', hot),
    ],
    memory: { bareMegabytes: bare.megabytes, hotMegabytes: hot.megabytes },
  };
}
