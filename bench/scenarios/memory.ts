import { type Contestant, sendTo, type Turn } from '../contest.ts';
import { faultsOf } from '../faults.ts';
import { spreadIds } from '../population.ts';
import { atMost, type Finding, progress, roundOrDash } from '../report.ts';
import { boundRequests } from '../requests.ts';
import { TARGET_CONNECTIONS } from '../settings.ts';
import { median } from '../statistics.ts';
import { residentMegabytesOf } from '../workerd.ts';
import { LicetService } from '../workers.ts';
import { type Bench, bareContestant, describeTally, hotContestant, shopOf } from './scenario.ts';

/** In how many portions the requests are sent, with a look at the memory after each. */
const PORTIONS = 10;
/** So many after the first, which warms up, and so many in the end are compared. */
const COMPARED = 3;
/** What grows by less is flat. */
const MAX_GROWTH = 1.1;

/** What is held before a portion, or after the last one. */
interface Look {
  sent: number;
  /** By workerd: the Worker, and the database and KV that are simulated for it. */
  residentMegabytes: number | null;
  /** By the Worker's own objects; null for the bare one. */
  heapMegabytes: number | null;
  /** The portion that was sent before it. */
  portion: Turn | null;
}

async function watch(contestant: Contestant, requests: number): Promise<Look[]> {
  const { name, worker, records } = contestant;
  const count = Math.round(requests / PORTIONS);
  const looks: Look[] = [];
  const look = async (portion: Turn | null): Promise<void> => {
    const sent = looks.length * count;
    const residentMegabytes = residentMegabytesOf(worker.pid);
    const heapMegabytes = (await records?.service.heapMegabytes()) ?? null;
    looks.push({ sent, residentMegabytes, heapMegabytes, portion });
    progress(`memory, ${name}: ${sent} requests, ${roundOrDash(residentMegabytes, 1)} MB`);
  };
  await look(null);
  for (let index = 0; index < PORTIONS; index++) {
    const load = { connections: TARGET_CONNECTIONS, from: index * count, until: { count } };
    const portion = await sendTo(contestant, load);
    // As the platform does, beside the requests.
    await records?.service.runScheduled();
    await look(portion);
  }
  return looks;
}

/** How much more is held in the end than after the warm-up; null where it cannot be told. */
function growthOf(figures: readonly (number | null)[]): number | null {
  const known = figures.slice(2).filter((figure) => figure !== null);
  if (known.length < COMPARED) return null;
  return median(known.slice(-COMPARED)) / median(known.slice(0, COMPARED));
}

/** What a million validations leave in memory. */
export async function memory(bench: Bench): Promise<Finding> {
  const { licenses, memoryRequests } = bench.settings;
  const ids = spreadIds(licenses, licenses);
  await using service = await LicetService.start(bench.script, {
    population: shopOf(licenses),
    isInspected: true,
  });
  const bare = await watch(bareContestant(bench, boundRequests(ids)), memoryRequests);
  const hot = await watch(hotContestant('hot', service, ids), memoryRequests);

  const tally = await service.tally();
  const portionsOf = (name: string, looks: readonly Look[]) =>
    looks.flatMap(({ portion }) =>
      portion ? [{ ...portion, name, connections: TARGET_CONNECTIONS }] : [],
    );
  return {
    scenario: 'memory',
    title: `Memory over ${memoryRequests} hot validations at ${TARGET_CONNECTIONS} connections`,
    results: [],
    table: hot.map((look, index) => ({
      requests: look.sent,
      'bare req/s': roundOrDash(bare[index]?.portion?.storedPerSecond ?? null, 0),
      'bare workerd MB': roundOrDash(bare[index]?.residentMegabytes ?? null, 1),
      'hot req/s': roundOrDash(look.portion?.storedPerSecond ?? null, 0),
      'hot workerd and D1 MB': roundOrDash(look.residentMegabytes, 1),
      'hot Worker alone MB': roundOrDash(look.heapMegabytes, 1),
    })),
    targets: [
      atMost(
        "the Worker's memory in the end, to that after the warm-up",
        growthOf(hot.map(({ heapMegabytes }) => heapMegabytes)),
        MAX_GROWTH,
      ),
      atMost(
        'the memory of workerd with its simulated D1, likewise',
        growthOf(hot.map(({ residentMegabytes }) => residentMegabytes)),
        MAX_GROWTH,
      ),
    ],
    faults: faultsOf([...portionsOf('bare', bare), ...portionsOf('hot', hot)], [tally]),
    notes: [describeTally(tally), ...service.logs()],
  };
}
