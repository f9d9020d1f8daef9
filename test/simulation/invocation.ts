import { AsyncLocalStorage } from 'node:async_hooks';
import type { VirtualClock } from './clock.ts';
import type { Link } from './link.ts';
import type { Task } from './tasks.ts';

/** The platform ends an invocation this long after its response. */
const AFTER_RESPONSE_MS = 30_000;

const never = <Result>(): Promise<Result> => new Promise(() => undefined);

/** The sender of messages: an isolate. A disturbed link loses no two of its messages in a row. */
export interface Sender {
  hasLostLast: boolean;
}

/**
 * One event that an isolate handles: a request, a cron run, a batch of the queue. As on the platform, it ends
 * when it has responded and all promises of `waitUntil` are settled, at the latest 30 seconds after the
 * response. After that none of its timers fires and no call returns. A crash ends it at once.
 */
export class Invocation {
  readonly task: Task;
  readonly startedAt: number;
  respondedAt: number | null = null;
  /** Round trips that failed and that succeeded, until now. */
  readonly trips = new Map<Link, { failed: number; succeeded: number }>();
  /** Whether a rate limiter limited it. */
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
        if (this.#pending === 0 && this.respondedAt !== null) this.end();
      };
      work.then(done, done);
    },
    passThroughOnException: (): void => undefined,
    props: {},
  };

  /** The handler has responded. The promises of `waitUntil` go on for a while. */
  respond(): void {
    this.respondedAt = this.#clock.now;
    if (this.#pending === 0) this.end();
    else this.#clock.at(this.#clock.now + AFTER_RESPONSE_MS, () => this.end());
  }

  end(): void {
    if (!this.#isOver) this.isCutOff = this.#pending > 0 || this.respondedAt === null;
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

/** Runs code as part of an invocation, with all promises that it awaits. */
export const runAs = <Result>(invocation: Invocation, code: () => Result): Result =>
  running.run(invocation, code);

/** The invocation of the running code. */
export const currentInvocation = (): Invocation | undefined => running.getStore();

/**
 * A call of a service over a link: it executes at one moment, and time passes on both ways. It can get lost
 * on either way. A message that has left the isolate is executed even if the isolate crashes.
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
