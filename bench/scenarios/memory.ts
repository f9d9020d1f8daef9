import { faultsOf } from '../faults.ts';
import { spreadIds } from '../population.ts';
import { atMost, type Finding, progress, roundOrDash } from '../report.ts';
import { boundRequests } from '../requests.ts';
import { type Round, sendTo, type Target } from '../rounds.ts';
import { THRESHOLD_CONNECTIONS } from '../settings.ts';
import { median } from '../statistics.ts';
import { residentMegabytesOf } from '../workerd.ts';
import { LicetService } from '../workers.ts';
import { type Bench, bareTarget, describeTally, hotTarget, shopOf } from './scenario.ts';

/** The requests are sent in so many portions, with a look at the memory after each. */
const PORTIONS = 10;
/** Looks after the first portion, which warms up, and looks in the end: so many of each are compared. */
const COMPARED = 3;
/** Memory that grows by less is flat. */
const MAX_GROWTH = 1.1;

/** The memory before a portion, or after the last one. */
interface Look {
  sent: number;
  /** The memory of workerd: the Worker, and its simulated database and KV. */
  residentMegabytes: number | null;
  /** The heap of the Worker; null for the bare one. */
  heapMegabytes: number | null;
  /** The portion before it. */
  portion: Round | null;
}

async function watch(target: Target, requests: number, service?: LicetService): Promise<Look[]> {
  const { name, worker } = target;
  const count = Math.round(requests / PORTIONS);
  const looks: Look[] = [];
  const look = async (portion: Round | null): Promise<void> => {
    const sent = looks.length * count;
    const residentMegabytes = residentMegabytesOf(worker.pid);
    const heapMegabytes = (await service?.heapMegabytes()) ?? null;
    looks.push({ sent, residentMegabytes, heapMegabytes, portion });
    progress(`memory, ${name}: ${sent} requests, ${roundOrDash(residentMegabytes, 1)} MB`);
  };
  await look(null);
  for (let index = 0; index < PORTIONS; index++) {
    const load = { connections: THRESHOLD_CONNECTIONS, from: index * count, until: { count } };
    const portion = await sendTo(target, load);
    // As the platform does, beside the requests.
    await service?.runScheduled();
    await look(portion);
  }
  return looks;
}

/** The memory in the end, in that after the warm-up; null where it is not known. */
function growthOf(figures: readonly (number | null)[]): number | null {
  const known = figures.slice(2).filter((figure) => figure !== null);
  if (known.length < COMPARED) return null;
  return median(known.slice(-COMPARED)) / median(known.slice(0, COMPARED));
}

/** The memory that a million validations leave behind. */
export async function memory(bench: Bench): Promise<Finding> {
  const { licenses, memoryRequests } = bench.settings;
  const ids = spreadIds(licenses, licenses);
  await using service = await LicetService.start(bench.scripts.service, {
    population: shopOf(licenses),
    isInspected: true,
  });
  const bare = await watch(bareTarget(bench, boundRequests(ids)), memoryRequests);
  const hot = await watch(hotTarget('hot', service, ids), memoryRequests, service);

  const tally = await service.tally();
  const portionsOf = (name: string, looks: readonly Look[]) =>
    looks.flatMap(({ portion }) =>
      portion ? [{ ...portion, name, connections: THRESHOLD_CONNECTIONS }] : [],
    );
  return {
    scenario: 'memory',
    title: `Memory over ${memoryRequests} hot validations at ${THRESHOLD_CONNECTIONS} connections`,
    results: [],
    table: hot.map((look, index) => ({
      requests: look.sent,
      'bare req/s': roundOrDash(bare[index]?.portion?.storedPerSecond ?? null, 0),
      'bare workerd MB': roundOrDash(bare[index]?.residentMegabytes ?? null, 1),
      'hot req/s': roundOrDash(look.portion?.storedPerSecond ?? null, 0),
      'hot workerd and D1 MB': roundOrDash(look.residentMegabytes, 1),
      'hot Worker alone MB': roundOrDash(look.heapMegabytes, 1),
    })),
    thresholds: [
      atMost(
        "the Worker's heap in the end, in that after the warm-up",
        growthOf(hot.map(({ heapMegabytes }) => heapMegabytes)),
        MAX_GROWTH,
      ),
      atMost(
        'the memory of workerd with its simulated D1, likewise',
        growthOf(hot.map(({ residentMegabytes }) => residentMegabytes)),
        MAX_GROWTH,
      ),
    ],
    faults: [
      ...faultsOf('memory', [...portionsOf('bare', bare), ...portionsOf('hot', hot)], [tally]),
      ...service.log.faults('memory'),
    ],
    notes: [describeTally(tally), ...service.log.notes()],
  };
}
