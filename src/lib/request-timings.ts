import type { WaitUntil } from './async.ts';

/** The places of data, the nearest first. */
export const TIERS = ['memory', 'kv', 'd1'] as const;

export type Tier = (typeof TIERS)[number];

/** The duration of a request and the farthest tier that it read, for the log; and its `waitUntil`. */
export class RequestTimings {
  readonly waitUntil: WaitUntil;
  /** The response, which {@link keepAlive} completes. */
  responding: Promise<unknown> | undefined;
  readonly #startedAt = performance.now();
  #farthest = -1;

  constructor(waitUntil: WaitUntil) {
    this.waitUntil = waitUntil;
  }

  /** Lets the request run to its end, also if its client disconnects. */
  keepAlive(): void {
    if (this.responding) this.waitUntil(this.responding);
    this.responding = undefined;
  }

  /** Notes that a tier was read. */
  noteRead(tier: Tier): void {
    this.#farthest = Math.max(this.#farthest, TIERS.indexOf(tier));
  }

  /** The farthest tier that was read; null for none. */
  get tier(): Tier | null {
    return TIERS[this.#farthest] ?? null;
  }

  /** The milliseconds until now. */
  get durationMs(): number {
    return performance.now() - this.#startedAt;
  }
}
