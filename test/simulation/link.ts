import type { Random } from './random.ts';

interface Period {
  from: number;
  until: number;
}

/** The loss of a message. */
export type Loss = 'before it arrives' | 'on the way back' | null;

/** The chance that a message takes longer without a fault. */
const SLOW_CHANCE = 0.04;
/** While the service is slow many messages take up to this long, and others overtake them. */
const SLOWED_CHANCE = 0.25;
const MAX_SLOWED_MS = 10_000;
/** A service that does not respond for this long counts as unreachable. */
const TIMEOUT_MS = 4_000;

/**
 * The way from one location to one service of the platform: the time that messages take, and their loss. All
 * times are milliseconds, those of periods since 1970.
 */
export class Link {
  /** The name of the service in errors and in a trace. */
  readonly service: string;
  readonly #random: Random;
  readonly #usualMs: number;
  readonly #slowMs: number;
  readonly #outages: Period[] = [];
  readonly #slowPeriods: Period[] = [];
  #isFlakyUntil = 0;
  #rejectsWritesUntil = 0;
  #isCalm = false;
  /** The start of each call under way. */
  readonly #waitingSince = new Set<{ since: number }>();
  /** When a sender last learnt that a message was lost or late. */
  #failedAt = 0;

  constructor(service: string, random: Random, usualMs: number, slowMs: number) {
    this.service = service;
    this.#random = random;
    this.#usualMs = usualMs;
    this.#slowMs = slowMs;
  }

  /** Begins an outage. */
  cut(now: number, milliseconds: number): void {
    this.#outages.push({ from: now, until: now + milliseconds });
  }

  /** Begins to lose single messages; see {@link lossOf}. */
  disturb(now: number, milliseconds: number): void {
    this.#isFlakyUntil = now + milliseconds;
  }

  /** Makes many messages take seconds. */
  slowDown(now: number, milliseconds: number): void {
    this.#slowPeriods.push({ from: now, until: now + milliseconds });
  }

  /** Makes writes fail, also after they were applied. */
  rejectWrites(now: number, milliseconds: number): void {
    this.#rejectsWritesUntil = now + milliseconds;
  }

  /** Ends all faults. */
  endFaults(now: number): void {
    for (const period of [...this.#outages, ...this.#slowPeriods]) {
      period.until = Math.min(period.until, now);
    }
    this.#isFlakyUntil = 0;
    this.#rejectsWritesUntil = 0;
    this.#isCalm = true;
  }

  /** The time of a message one way. */
  latencyMs(now: number): number {
    const canBeSlow = this.#slowPeriods.some((period) => isWithin(now, period));
    if (canBeSlow && this.#random.chance(SLOWED_CHANCE)) {
      return Math.ceil(this.#random.next() ** 3 * MAX_SLOWED_MS);
    }
    const isSlow = !this.#isCalm && this.#random.chance(SLOW_CHANCE);
    return Math.ceil(this.#random.next() * (isSlow ? this.#slowMs : this.#usualMs));
  }

  isDown(now: number): boolean {
    return this.#outages.some((outage) => isWithin(now, outage));
  }

  rejectsWrites(now: number): boolean {
    return this.#rejectsWritesUntil > now;
  }

  /**
   * The loss of a message without an outage.
   *
   * @param canLose a disturbed link loses no two messages of a sender in a row, so that a repetition gets
   *   through
   */
  lossOf(now: number, canLose: boolean): Loss {
    if (now >= this.#isFlakyUntil || !canLose || !this.#random.chance(0.5)) return null;
    return this.#random.chance(0.5) ? 'before it arrives' : 'on the way back';
  }

  /** Begins a call. @returns a function that ends it */
  beginCall(now: number): (end: number, isSuccess: boolean) => void {
    const call = { since: now };
    this.#waitingSince.add(call);
    return (end, isSuccess) => {
      this.#waitingSince.delete(call);
      // A sender that waited so long had given up.
      if (!isSuccess || end - call.since > TIMEOUT_MS) this.#failedAt = end;
    };
  }

  /**
   * Whether a sender found the service unreachable since a time: a call has failed, or has waited too
   * long.
   */
  hasFailedSince(time: number, now: number): boolean {
    if (this.#failedAt >= time) return true;
    if (this.#outages.some(({ from, until }) => from <= time && now < until)) return true;
    return [...this.#waitingSince].some(({ since }) => now - since > TIMEOUT_MS);
  }

  /** The time within a period in which next to no message got through. Overlaps count twice. */
  badTimeMs(from: number, to: number): number {
    return [...this.#outages, ...this.#slowPeriods].reduce(
      (sum, period) => sum + Math.max(0, Math.min(period.until, to) - Math.max(period.from, from)),
      0,
    );
  }
}

const isWithin = (now: number, { from, until }: Period): boolean => from <= now && now < until;
