import { AsyncLocalStorage } from 'node:async_hooks';
import type { VirtualClock } from './clock.ts';
import type { Task } from './invariants.ts';
import type { Random } from './random.ts';

/** The faults of the way to a service of the platform. */
export type LinkFault =
  | 'is cut'
  | 'loses messages'
  | 'is slow'
  /** Writes fail, also after they were applied. */
  | 'fails writes'
  /** Writes are visible in other locations later than documented. */
  | 'shows writes late';

/** The chance that a message takes longer without a fault. */
const LATE_CHANCE = 0.04;
/** A slow link delays many messages by up to this long, and others overtake them. */
const SLOW_CHANCE = 0.25;
const MAX_SLOW_MS = 10_000;
/** A service that does not respond for this long counts as unreachable. */
const TIMEOUT_MS = 4_000;
/** The platform ends an invocation this long after its response. */
const AFTER_RESPONSE_MS = 30_000;

export const never = <Result>(): Promise<Result> => new Promise(() => undefined);

/** The way from one location to one service of the platform. */
export class Link {
  /** The name of the service in errors. */
  readonly service: string;
  /** When a sender last learnt that a message was lost or late. */
  failedAt = Number.NEGATIVE_INFINITY;
  readonly #random: Random;
  readonly #usualMs: number;
  readonly #lateMs: number;
  readonly #faults = new Map<LinkFault, number>();
  #isCalm = false;

  /** @param lateMs the time of some messages one way, without a fault */
  constructor(service: string, random: Random, usualMs: number, lateMs: number) {
    this.service = service;
    this.#random = random;
    this.#usualMs = usualMs;
    this.#lateMs = lateMs;
  }

  begin(fault: LinkFault, until: number): void {
    this.#faults.set(fault, Math.max(until, this.#faults.get(fault) ?? 0));
  }

  has(fault: LinkFault, now: number): boolean {
    return now < (this.#faults.get(fault) ?? 0);
  }

  endFaults(): void {
    this.#faults.clear();
    this.#isCalm = true;
  }

  /** The time of a message one way. */
  latencyMs(now: number): number {
    if (this.has('is slow', now) && this.#random.chance(SLOW_CHANCE)) {
      return Math.ceil(this.#random.next() ** 3 * MAX_SLOW_MS);
    }
    const isLate = !this.#isCalm && this.#random.chance(LATE_CHANCE);
    return Math.ceil(this.#random.next() * (isLate ? this.#lateMs : this.#usualMs));
  }

  /** Whether a link without an outage loses a message. */
  loses(now: number): boolean {
    return this.has('loses messages', now) && this.#random.chance(0.5);
  }

  /** One of two faults, at random. */
  chooses(): boolean {
    return this.#random.chance(0.5);
  }
}

/**
 * One event that an isolate handles: a request, a cron run. As on the platform, it ends
 * when it has responded and all promises of `waitUntil` are settled, at the latest 30 seconds after the
 * response. After that none of its timers fires and no call returns. A crash ends it at once.
 */
export class Invocation {
  readonly task: Task;
  readonly startedAt: number;
  respondedAt: number | null = null;
  /** The round trips until now. */
  readonly trips: { link: Link; isSuccess: boolean }[] = [];
  /** Whether a rate limiter limited it. */
  isLimited = false;
  isOver = false;
  /** Whether it ended before it was done. */
  isCutOff = false;
  /** A link loses no two messages of an invocation in a row, so that a repetition gets through. */
  hasLostLast = false;

  readonly #clock: VirtualClock;
  #pending = 0;

  constructor(clock: VirtualClock, task: Task) {
    this.#clock = clock;
    this.task = task;
    this.startedAt = clock.now;
  }

  readonly waitUntil = (work: Promise<unknown>): void => {
    this.#pending++;
    const done = (): void => {
      this.#pending--;
      if (this.#pending === 0 && this.respondedAt !== null) this.end();
    };
    work.then(done, done);
  };

  /** The handler has responded. The promises of `waitUntil` go on for a while. */
  respond(): void {
    this.respondedAt = this.#clock.now;
    if (this.#pending === 0) this.end();
    else this.#clock.at(this.#clock.now + AFTER_RESPONSE_MS, () => this.end());
  }

  end(): void {
    if (!this.isOver) this.isCutOff = this.#pending > 0 || this.respondedAt === null;
    this.isOver = true;
  }
}

const running = new AsyncLocalStorage<Invocation>();

/** Runs code as part of an invocation, with all promises that it awaits. */
export const runAs = <Result>(invocation: Invocation, code: () => Result): Result =>
  running.run(invocation, code);

/** The invocation of the running code. */
export function currentInvocation(): Invocation {
  const invocation = running.getStore();
  if (!invocation) throw new Error('The platform is called outside of a request');
  return invocation;
}

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
  if (invocation.isOver) return never();
  const fail = (): void => {
    link.failedAt = clock.now;
  };
  const cancelTimeout = clock.at(clock.now + TIMEOUT_MS, fail);

  await clock.wait(link.latencyMs(clock.now));
  const isLost = !invocation.hasLostLast && link.loses(clock.now);
  const hasArrived = !link.has('is cut', clock.now) && !(isLost && link.chooses());
  const result = hasArrived ? attempt(() => execute(invocation)) : null;

  await clock.wait(link.latencyMs(clock.now));
  const isSuccess = result !== null && !isLost && !link.has('is cut', clock.now);
  cancelTimeout();
  if (!isSuccess) fail();
  invocation.hasLostLast = !isSuccess;
  if (invocation.isOver) return never();
  invocation.trips.push({ link, isSuccess });
  if (!isSuccess) throw new Error(`${link.service}_ERROR: Network connection lost.`);
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
