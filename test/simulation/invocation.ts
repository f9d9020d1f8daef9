import { AsyncLocalStorage } from 'node:async_hooks';
import type { VirtualClock } from './clock.ts';
import type { Link } from './link.ts';
import type { Task } from './tasks.ts';

/** What the platform lets run after an answer. */
const AFTER_ANSWER_MS = 30_000;

const never = <Result>(): Promise<Result> => new Promise(() => undefined);

/** Who sends: an isolate, of which a disturbed line loses no two messages in a row. */
export interface Sender {
  hasLostLast: boolean;
}

/**
 * One event that an isolate handles: a request, a cron run, a batch of the queue. As on the platform,
 * what it started belongs to it and ends with it: when it has answered and all that it gave to
 * `waitUntil` is done, at the latest 30 seconds after the answer, none of its timers fires any more and
 * no call returns. A crash ends it at once.
 */
export class Invocation {
  readonly task: Task;
  readonly startedAt: number;
  answeredAt: number | null = null;
  /** Round trips that failed, and that were answered, until now. */
  readonly trips = new Map<Link, { failed: number; succeeded: number }>();
  /** Whether a rate limiter said no. */
  isLimited = false;
  /** Whether it ended before it was done. */
  isCutOff = false;
  hasLostLast = false;
  readonly sender: Sender;

  readonly #clock: VirtualClock;
  #isOver = false;
  #pending = 0;

  constructor(clock: VirtualClock, sender: Sender, task: Task) {
    this.#clock = clock;
    this.sender = sender;
    this.task = task;
    this.startedAt = clock.now;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** The ExecutionContext that the service is given. */
  readonly context = {
    waitUntil: (work: Promise<unknown>): void => {
      this.#pending++;
      const done = (): void => {
        this.#pending--;
        if (this.#pending === 0 && this.answeredAt !== null) this.end();
      };
      work.then(done, done);
    },
    passThroughOnException: (): void => undefined,
    props: {},
  };

  /** The handler is done; what `waitUntil` holds may go on for a while. */
  answer(): void {
    this.answeredAt = this.#clock.now;
    if (this.#pending === 0) this.end();
    else this.#clock.at(this.#clock.now + AFTER_ANSWER_MS, () => this.end());
  }

  end(): void {
    if (!this.#isOver) this.isCutOff = this.#pending > 0 || this.answeredAt === null;
    this.#isOver = true;
  }

  count(link: Link, isSuccess: boolean): void {
    const counts = this.trips.get(link) ?? { failed: 0, succeeded: 0 };
    if (isSuccess) counts.succeeded++;
    else counts.failed++;
    this.trips.set(link, counts);
  }
}

const running = new AsyncLocalStorage<Invocation>();

/** Runs code as part of an invocation, with all that it awaits. */
export const runAs = <Result>(invocation: Invocation, code: () => Result): Result =>
  running.run(invocation, code);

/** The invocation that the running code belongs to. */
export const currentInvocation = (): Invocation | undefined => running.getStore();

/**
 * A call of a service of the platform over a link: there, executed at one moment, and back, with time
 * passing on both ways. It can get lost before or after; what has left the isolate is executed even
 * when the isolate crashes.
 */
export async function roundTrip<Result>(
  clock: VirtualClock,
  link: Link,
  execute: (invocation: Invocation) => Result,
): Promise<Result> {
  const invocation = currentInvocation();
  if (!invocation) throw new Error(`${link.service} is called outside of a request`);
  if (invocation.isOver) return never();

  const endCall = link.beginCall(clock.now);
  await clock.wait(link.latencyMs(clock.now));
  const isDown = link.isDown(clock.now);
  const canLose = !invocation.hasLostLast && !invocation.sender.hasLostLast;
  const loss = isDown ? null : link.lossOf(clock.now, canLose);
  invocation.hasLostLast = isDown || loss !== null;
  invocation.sender.hasLostLast = invocation.hasLostLast;
  const result = isDown || loss === 'before it arrives' ? null : attempt(() => execute(invocation));

  await clock.wait(link.latencyMs(clock.now));
  const isLost = result === null || loss !== null || link.isDown(clock.now);
  endCall(clock.now, !isLost);
  if (invocation.isOver) return never();
  invocation.count(link, !isLost);
  if (isLost) throw new Error(`${link.service}_ERROR: Network connection lost.`);
  if ('error' in result) throw result.error;
  return result.value;
}

function attempt<Result>(execute: () => Result): { value: Result } | { error: unknown } {
  try {
    return { value: execute() };
  } catch (error) {
    return { error };
  }
}
