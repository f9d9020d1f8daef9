import type { Random } from './random.ts';

interface Period {
  from: number;
  until: number;
}

/** What becomes of a message on its way. */
export type Loss = 'before it arrives' | 'on the way back' | null;

/** Now and then a message takes longer, in fine weather too. */
const SLOW_CHANCE = 0.04;
/** In slow weather many take seconds, up to this; others overtake them. */
const CRAWL_CHANCE = 0.25;
const CRAWL_MS = 10_000;
/** After so long without an answer a service counts as out of reach. */
const PATIENCE_MS = 4_000;

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
  readonly #crawls: Period[] = [];
  #isFlakyUntil = 0;
  #refusesWritesUntil = 0;
  #isCalm = false;
  /** When the calls began that have not been answered yet. */
  readonly #waitingSince = new Set<{ since: number }>();
  /** When a sender last learned that a message had not got through, or not in time. */
  #failedAt = 0;

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

  /** Many messages take seconds. */
  slowDown(now: number, milliseconds: number): void {
    this.#crawls.push({ from: now, until: now + milliseconds });
  }

  /** Writes fail, or are applied and fail all the same. */
  refuseWrites(now: number, milliseconds: number): void {
    this.#refusesWritesUntil = now + milliseconds;
  }

  /** Fine weather from now on. */
  mend(now: number): void {
    for (const period of [...this.#outages, ...this.#crawls]) {
      period.until = Math.min(period.until, now);
    }
    this.#isFlakyUntil = 0;
    this.#refusesWritesUntil = 0;
    this.#isCalm = true;
  }

  /** How long a message takes one way. */
  latencyMs(now: number): number {
    const canCrawl = this.#crawls.some((crawl) => isWithin(now, crawl));
    if (canCrawl && this.#random.chance(CRAWL_CHANCE)) {
      return Math.ceil(this.#random.next() ** 3 * CRAWL_MS);
    }
    const isSlow = !this.#isCalm && this.#random.chance(SLOW_CHANCE);
    return Math.ceil(this.#random.next() * (isSlow ? this.#slowMs : this.#usualMs));
  }

  isDown(now: number): boolean {
    return this.#outages.some((outage) => isWithin(now, outage));
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

  /** A call begins; to be called when it ends. */
  beginCall(now: number): (end: number, isSuccess: boolean) => void {
    const call = { since: now };
    this.#waitingSince.add(call);
    return (end, isSuccess) => {
      this.#waitingSince.delete(call);
      // Who waited so long had given up, and told the others.
      if (!isSuccess || end - call.since > PATIENCE_MS) this.#failedAt = end;
    };
  }

  /**
   * Whether somebody found the service out of reach since a time: a call has failed, or has waited
   * for long.
   */
  hasFailedSince(time: number, now: number): boolean {
    if (this.#failedAt >= time) return true;
    if (this.#outages.some(({ from, until }) => from <= time && now < until)) return true;
    return [...this.#waitingSince].some(({ since }) => now - since > PATIENCE_MS);
  }

  /** For how long of a period next to nothing got through. What overlaps counts twice. */
  badTimeMs(from: number, to: number): number {
    return [...this.#outages, ...this.#crawls].reduce(
      (sum, period) => sum + Math.max(0, Math.min(period.until, to) - Math.max(period.from, from)),
      0,
    );
  }
}

const isWithin = (now: number, { from, until }: Period): boolean => from <= now && now < until;
