import type { Random } from './random.ts';

interface Period {
  from: number;
  until: number;
}

/** What becomes of a message on its way. */
export type Loss = 'before it arrives' | 'on the way back' | null;

const SLOW_CHANCE = 0.04;

/**
 * The way from one location to one service of the platform, and its weather: how long messages take,
 * whether they get through. All times are milliseconds, those of periods since 1970.
 */
export class Link {
  /** How errors call the service, and what names the link in a trace. */
  readonly service: string;
  readonly #random: Random;
  readonly #usualMs: number;
  readonly #slowMs: number;
  readonly #outages: Period[] = [];
  #isFlakyUntil = 0;
  #refusesWritesUntil = 0;
  /** When a sender last learned that a message had not got through. */
  failedAt = 0;

  constructor(service: string, random: Random, usualMs: number, slowMs: number) {
    this.service = service;
    this.#random = random;
    this.#usualMs = usualMs;
    this.#slowMs = slowMs;
  }

  /** Nothing gets through. */
  cut(now: number, milliseconds: number): void {
    this.#outages.push({ from: now, until: now + milliseconds });
  }

  /** Single messages get lost; see {@link lossOf}. */
  disturb(now: number, milliseconds: number): void {
    this.#isFlakyUntil = now + milliseconds;
  }

  /** Writes fail, or are applied and fail all the same. */
  refuseWrites(now: number, milliseconds: number): void {
    this.#refusesWritesUntil = now + milliseconds;
  }

  /** Fine weather from now on. */
  mend(now: number): void {
    for (const outage of this.#outages) outage.until = Math.min(outage.until, now);
    this.#isFlakyUntil = 0;
    this.#refusesWritesUntil = 0;
  }

  /** How long a message takes one way. */
  latencyMs(): number {
    const limit = this.#random.chance(SLOW_CHANCE) ? this.#slowMs : this.#usualMs;
    return Math.ceil(this.#random.next() * limit);
  }

  isDown(now: number): boolean {
    return this.#outages.some(({ from, until }) => from <= now && now < until);
  }

  refusesWrites(now: number): boolean {
    return this.#refusesWritesUntil > now;
  }

  /**
   * Whether a message gets lost, without an outage.
   *
   * @param canLose a disturbed line loses no two messages of one sender in a row, so that whoever
   *   repeats gets through
   */
  lossOf(now: number, canLose: boolean): Loss {
    if (now >= this.#isFlakyUntil || !canLose || !this.#random.chance(0.5)) return null;
    return this.#random.chance(0.5) ? 'before it arrives' : 'on the way back';
  }

  /** Whether nothing could get through from one moment to another, both inclusive. */
  wasDownThroughout(from: number, to: number): boolean {
    return this.#outages.some((outage) => outage.from <= from && to < outage.until);
  }

  /** For how long of a period nothing could get through. Overlapping outages count twice. */
  downTimeMs(from: number, to: number): number {
    return this.#outages.reduce(
      (sum, outage) => sum + Math.max(0, Math.min(outage.until, to) - Math.max(outage.from, from)),
      0,
    );
  }
}
