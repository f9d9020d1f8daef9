import { type ExpectedAnswer, type Load, type Measured, send } from './load.ts';
import { progress } from './report.ts';
import type { RequestAt } from './requests.ts';
import { median } from './statistics.ts';
import { cpuSecondsOf, idle } from './workerd.ts';
import type { LicetService, RunningWorker } from './workers.ts';

/**
 * Several loads, turn by turn in short rounds: what disturbs the machine disturbs them all, and what
 * counts is the median of each round's ratio to its first one, the bare Worker.
 */

export interface Contestant {
  name: string;
  worker: RunningWorker;
  requestAt: RequestAt;
  expected: ExpectedAnswer;
  /** Where its answers are recorded; absent for the bare Worker. */
  records?: { service: LicetService; areKnown: boolean };
  /** Instead of its requests, to warm up with. */
  warmUpAt?: RequestAt;
  /** How many requests its turn is: for what cannot go on as long as others' turns. */
  turnRequests?: number;
}

export interface Rules {
  scenario: string;
  connections: number;
  rounds: number;
  turnSeconds: number;
  /** How many requests each contestant gets beforehand. */
  warmUpRequests: number;
  /** Before each round, and its warm-up then. */
  beforeRound?: () => Promise<void>;
}

export interface Result {
  name: string;
  connections: number;
  /** Until the last record is stored. */
  requestsPerSecond: number;
  requestsPerSecondInRounds: number[];
  /** To the first contestant's, in the same round. */
  throughputRatio: number;
  p50Ms: number;
  p99Ms: number;
  p99Ratio: number;
  /** What workerd computes for a request, with all that it does after the answer. */
  cpuMicroseconds: number | null;
  /** The throughput ratio as it were if nothing else ran on the machine. */
  cpuRatio: number | null;
  /** How long after the last answer the last record is stored. */
  storedAfterMs: number | null;
  requests: number;
  wrong: number;
  wrongAnswer: string | null;
  lost: number;
  loadCpuShare: number;
}

export interface Turn extends Measured {
  cpuMicroseconds: number | null;
  storedAfterMs: number | null;
  /** Until the last record is stored: what is answered quickly and written slowly is not quick. */
  storedPerSecond: number;
}

const WARM_UP_CONNECTIONS = 16;

/** Sends a load, and waits until nothing is left to be done for it: the next one shall not pay. */
export async function sendTo(
  { worker, expected, records, requestAt }: Contestant,
  load: Pick<Load, 'connections' | 'from' | 'until'> & Partial<Pick<Load, 'requestAt'>>,
): Promise<Turn> {
  const cpuBefore = cpuSecondsOf(worker.pid);
  const measured = await send({ url: worker.url, requestAt, expected, ...load });
  const answered = measured.requests - measured.lost;
  const storedAfterMs = records
    ? await records.service.awaitRecords(answered, records.areKnown)
    : null;
  if (records) await idle(worker.pid);
  const cpuAfter = cpuSecondsOf(worker.pid);
  const cpuSeconds = cpuBefore === null || cpuAfter === null ? 0 : cpuAfter - cpuBefore;
  return {
    ...measured,
    // Of a short turn the kernel may have counted nothing.
    cpuMicroseconds: cpuSeconds > 0 ? (cpuSeconds * 1_000_000) / answered : null,
    storedAfterMs,
    storedPerSecond: answered / (measured.seconds + (storedAfterMs ?? 0) / 1000),
  };
}

/** A contestant with what it has done so far: requests that never repeat go on where they were. */
class Entrant {
  readonly contestant: Contestant;
  readonly turns: Turn[] = [];
  readonly warmUps: Measured[] = [];
  #next = 0;

  constructor(contestant: Contestant) {
    this.contestant = contestant;
  }

  async warmUp(count: number): Promise<void> {
    const { warmUpAt } = this.contestant;
    const load = { connections: WARM_UP_CONNECTIONS, until: { count } };
    if (warmUpAt) {
      this.warmUps.push(await sendTo(this.contestant, { ...load, from: 0, requestAt: warmUpAt }));
    } else {
      this.warmUps.push(await this.#sendNext(load));
    }
  }

  async takeTurn({ connections, turnSeconds }: Rules): Promise<void> {
    const { turnRequests } = this.contestant;
    const until = turnRequests === undefined ? { seconds: turnSeconds } : { count: turnRequests };
    this.turns.push(await this.#sendNext({ connections, until }));
  }

  async #sendNext(load: Pick<Load, 'connections' | 'until'>): Promise<Turn> {
    const measured = await sendTo(this.contestant, { ...load, from: this.#next });
    this.#next += measured.requests;
    return measured;
  }
}

function resultOf(entrant: Entrant, first: Entrant, connections: number): Result {
  const { turns, warmUps, contestant } = entrant;
  const medianOf = (figureOf: (turn: Turn, round: number) => number | null): number | null => {
    const values = turns.map(figureOf).filter((value) => value !== null);
    return values.length === 0 ? null : median(values);
  };
  const ratioOf = (figureOf: (turn: Turn) => number | null): number | null =>
    medianOf((turn, round) => {
      const own = figureOf(turn);
      const ofFirst = first.turns.map(figureOf)[round] ?? null;
      return own === null || ofFirst === null ? null : own / ofFirst;
    });
  // More for a request is less throughput.
  const cpuShare = ratioOf((turn) => turn.cpuMicroseconds);
  const all: Measured[] = [...warmUps, ...turns];
  const sumOf = (figureOf: (turn: Measured) => number) =>
    all.reduce((sum, turn) => sum + figureOf(turn), 0);
  return {
    name: contestant.name,
    connections,
    requestsPerSecondInRounds: turns.map((turn) => turn.storedPerSecond),
    requestsPerSecond: medianOf((turn) => turn.storedPerSecond) ?? 0,
    throughputRatio: ratioOf((turn) => turn.storedPerSecond) ?? 0,
    p50Ms: medianOf((turn) => turn.p50Ms) ?? 0,
    p99Ms: medianOf((turn) => turn.p99Ms) ?? 0,
    p99Ratio: ratioOf((turn) => turn.p99Ms) ?? 0,
    cpuMicroseconds: medianOf((turn) => turn.cpuMicroseconds),
    cpuRatio: cpuShare === null ? null : 1 / cpuShare,
    storedAfterMs: medianOf((turn) => turn.storedAfterMs),
    requests: sumOf((turn) => turn.requests),
    wrong: sumOf((turn) => turn.wrong),
    wrongAnswer: all.find((turn) => turn.wrongAnswer !== null)?.wrongAnswer ?? null,
    lost: sumOf((turn) => turn.lost),
    loadCpuShare: medianOf((turn) => turn.ownCpuShare) ?? 0,
  };
}

/** The throughput of one to that of another in the same rounds. */
export const throughputRatio = (one: Result, other: Result): number =>
  median(
    one.requestsPerSecondInRounds.map(
      (throughput, round) => throughput / (other.requestsPerSecondInRounds[round] ?? 0),
    ),
  );

/** Lets contestants take turns; the first one is what the others are compared with. */
export async function compete(
  rules: Rules,
  contestants: readonly [Contestant, ...Contestant[]],
): Promise<Result[]> {
  const { scenario, connections, rounds, warmUpRequests, beforeRound } = rules;
  const [firstContestant, ...others] = contestants;
  const first = new Entrant(firstContestant);
  const entrants = [first, ...others.map((contestant) => new Entrant(contestant))];
  const warmUp = async () => {
    for (const entrant of entrants) await entrant.warmUp(warmUpRequests);
  };
  progress(`${scenario}, ${connections} connection${connections === 1 ? '' : 's'}`);
  if (!beforeRound) await warmUp();
  for (let round = 0; round < rounds; round++) {
    if (beforeRound) {
      await beforeRound();
      await warmUp();
    }
    // In turn forwards and backwards: nobody always comes after the same one.
    for (const entrant of round % 2 === 0 ? entrants : entrants.toReversed()) {
      await entrant.takeTurn(rules);
    }
  }
  return entrants.map((entrant) => resultOf(entrant, first, connections));
}
