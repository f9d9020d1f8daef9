import { type ExpectedResponse, type Load, type Measured, send } from './load.ts';
import { progress } from './report.ts';
import type { RequestAt } from './requests.ts';
import { median } from './statistics.ts';
import type { Witness, Witnessed } from './witness.ts';
import { cpuSecondsOf, idle } from './workerd.ts';
import type { RunningWorker } from './workers.ts';

/**
 * Several targets, each in every one of a few short rounds: a disturbance of the machine disturbs them
 * all. The figure that counts is the median of each round's ratio to the first target, the bare Worker.
 */

/** A load and the Worker that takes it. */
export interface Target {
  name: string;
  worker: RunningWorker;
  requestAt: RequestAt;
  expected: ExpectedResponse;
  /** The service that records the requests; absent for the bare Worker. */
  records?: { witness: Witness; areKnown: boolean };
  /** See `Load`. */
  backsOff?: boolean;
  /** Other requests to warm up with. */
  warmUpAt?: RequestAt;
  /** Requests in a round, for a load that cannot go on as long as the others. */
  roundRequests?: number;
}

export interface Rules {
  scenario: string;
  connections: number;
  rounds: number;
  /** How long a target takes its load in a round. */
  roundSeconds: number;
  /** Requests that each target gets beforehand. */
  warmUpRequests: number;
  /** Before each round; its warm-up follows. */
  beforeRound?: () => Promise<void>;
}

export interface Result {
  name: string;
  connections: number;
  /** Until the last record is stored. */
  requestsPerSecond: number;
  requestsPerSecondInRounds: number[];
  /** To that of the first target in the same round. */
  throughputRatio: number;
  p50Ms: number;
  p99Ms: number;
  p99Ratio: number;
  /** CPU time of workerd for a request, with the work after its response. */
  cpuMicroseconds: number | null;
  /** The throughput ratio on a machine that does nothing else. */
  cpuRatio: number | null;
  /** Time from the last response until the last record is stored. */
  storedAfterMs: number | null;
  requests: number;
  wrong: number;
  wrongResponse: string | null;
  backedOff: number;
  withoutResponse: number;
  failedConnects: number;
  failure: string | null;
  /** Records that are missing, and records beyond one for each response. */
  lost: number;
  doubled: number;
  loadCpuShare: number;
}

/** One round of one target. */
export interface Round extends Measured, Pick<Witnessed, 'due' | 'stored' | 'lost' | 'doubled'> {
  cpuMicroseconds: number | null;
  storedAfterMs: number | null;
  /**
   * Records until the last one is stored, and of a bare Worker responses: a quick response that is stored slowly
   * is not quick.
   */
  storedPerSecond: number;
}

const WARM_UP_CONNECTIONS = 16;
/** The records of a bare Worker. */
const NOT_RECORDED = { due: 0, stored: 0, lost: 0, doubled: 0, storedAfterMs: null };

/** Sends a load, and waits until the Worker has done all of its work: the next load must not pay. */
export async function sendTo(
  { worker, expected, records, requestAt, backsOff = false }: Target,
  load: Pick<Load, 'connections' | 'from' | 'until'> & Partial<Pick<Load, 'requestAt'>>,
): Promise<Round> {
  const cpuBefore = cpuSecondsOf(worker.pid);
  const measured = await send({ url: worker.url, requestAt, expected, backsOff, ...load });
  const responses = measured.requests - measured.withoutResponse - measured.backedOff;
  let cpuAfter = cpuSecondsOf(worker.pid);
  const witnessed = await records?.witness.watch([measured], records.areKnown, async () => {
    await idle(worker.pid);
    cpuAfter = cpuSecondsOf(worker.pid);
  });
  const { storedAfterMs, ...counts } = witnessed ?? NOT_RECORDED;
  const cpuSeconds = cpuBefore === null || cpuAfter === null ? 0 : cpuAfter - cpuBefore;
  return {
    ...measured,
    ...counts,
    // The kernel may have counted nothing in a short round.
    cpuMicroseconds: cpuSeconds > 0 ? (cpuSeconds * 1_000_000) / responses : null,
    storedAfterMs,
    storedPerSecond:
      (records ? counts.stored : responses) / (measured.seconds + (storedAfterMs ?? 0) / 1000),
  };
}

/** A target and its rounds so far: requests that never repeat go on after the last one. */
class TargetRun {
  readonly target: Target;
  readonly rounds: Round[] = [];
  readonly warmUps: Round[] = [];
  #next = 0;

  constructor(target: Target) {
    this.target = target;
  }

  async warmUp(count: number): Promise<void> {
    const { warmUpAt } = this.target;
    const load = { connections: WARM_UP_CONNECTIONS, until: { count } };
    if (warmUpAt) {
      this.warmUps.push(await sendTo(this.target, { ...load, from: 0, requestAt: warmUpAt }));
    } else {
      this.warmUps.push(await this.#sendNext(load));
    }
  }

  async runRound({ connections, roundSeconds }: Rules): Promise<void> {
    const { roundRequests } = this.target;
    const until =
      roundRequests === undefined ? { seconds: roundSeconds } : { count: roundRequests };
    this.rounds.push(await this.#sendNext({ connections, until }));
  }

  async #sendNext(load: Pick<Load, 'connections' | 'until'>): Promise<Round> {
    const measured = await sendTo(this.target, { ...load, from: this.#next });
    this.#next += measured.requests;
    return measured;
  }
}

function resultOf(run: TargetRun, first: TargetRun, connections: number): Result {
  const { rounds, warmUps, target } = run;
  const medianOf = (figureOf: (round: Round, index: number) => number | null): number | null => {
    const values = rounds.map(figureOf).filter((value) => value !== null);
    return values.length === 0 ? null : median(values);
  };
  const ratioOf = (figureOf: (round: Round) => number | null): number | null =>
    medianOf((round, index) => {
      const own = figureOf(round);
      const ofFirst = first.rounds.map(figureOf)[index] ?? null;
      return own === null || ofFirst === null ? null : own / ofFirst;
    });
  // More CPU time for a request is less throughput.
  const cpuShare = ratioOf((round) => round.cpuMicroseconds);
  const all = [...warmUps, ...rounds];
  const sumOf = (figureOf: (round: Round) => number) =>
    all.reduce((sum, round) => sum + figureOf(round), 0);
  return {
    name: target.name,
    connections,
    requestsPerSecondInRounds: rounds.map((round) => round.storedPerSecond),
    requestsPerSecond: medianOf((round) => round.storedPerSecond) ?? 0,
    throughputRatio: ratioOf((round) => round.storedPerSecond) ?? 0,
    p50Ms: medianOf((round) => round.p50Ms) ?? 0,
    p99Ms: medianOf((round) => round.p99Ms) ?? 0,
    p99Ratio: ratioOf((round) => round.p99Ms) ?? 0,
    cpuMicroseconds: medianOf((round) => round.cpuMicroseconds),
    cpuRatio: cpuShare === null ? null : 1 / cpuShare,
    storedAfterMs: medianOf((round) => round.storedAfterMs),
    requests: sumOf((round) => round.requests),
    wrong: sumOf((round) => round.wrong),
    wrongResponse: all.find((round) => round.wrongResponse !== null)?.wrongResponse ?? null,
    backedOff: sumOf((round) => round.backedOff),
    withoutResponse: sumOf((round) => round.withoutResponse),
    failedConnects: sumOf((round) => round.failedConnects),
    failure: all.find(({ failure }) => failure !== null)?.failure ?? null,
    lost: sumOf((round) => round.lost),
    doubled: sumOf((round) => round.doubled),
    loadCpuShare: medianOf((round) => round.ownCpuShare) ?? 0,
  };
}

/** The throughput of one target to that of another in the same rounds. */
export const throughputRatio = (one: Result, other: Result): number =>
  median(
    one.requestsPerSecondInRounds.map(
      (throughput, round) => throughput / (other.requestsPerSecondInRounds[round] ?? 0),
    ),
  );

/** Runs the rounds of all targets. The others are compared with the first one. */
export async function runRounds(
  rules: Rules,
  targets: readonly [Target, ...Target[]],
): Promise<Result[]> {
  const { scenario, connections, rounds, warmUpRequests, beforeRound } = rules;
  const [firstTarget, ...others] = targets;
  const first = new TargetRun(firstTarget);
  const runs = [first, ...others.map((target) => new TargetRun(target))];
  const warmUp = async () => {
    for (const run of runs) await run.warmUp(warmUpRequests);
  };
  progress(`${scenario}, ${connections} connection${connections === 1 ? '' : 's'}`);
  if (!beforeRound) await warmUp();
  for (let round = 0; round < rounds; round++) {
    if (beforeRound) {
      await beforeRound();
      await warmUp();
    }
    // Forwards and backwards: no target always comes after the same one.
    for (const run of round % 2 === 0 ? runs : runs.toReversed()) await run.runRound(rules);
  }
  return runs.map((run) => resultOf(run, first, connections));
}
