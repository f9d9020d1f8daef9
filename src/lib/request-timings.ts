import type { WaitUntil } from './async.ts';

/** The places of data, the nearest first. */
export const TIERS = ['memory', 'kv', 'd1'] as const;

export type Tier = (typeof TIERS)[number];

/** Where a request spent its time, and its `waitUntil`. */
export class RequestTimings {
  readonly waitUntil: WaitUntil;
  /** The response, which {@link keepAlive} completes. */
  responding: Promise<unknown> | undefined;
  readonly #startedAt = performance.now();
  readonly #spentMs: Partial<Record<Tier, number>> = {};
  #databaseSince: number | undefined;

  constructor(waitUntil: WaitUntil) {
    this.waitUntil = waitUntil;
  }

  /** Lets the request run to its end, also if its client disconnects. */
  keepAlive(): void {
    if (this.responding) this.waitUntil(this.responding);
    this.responding = undefined;
  }

  /** Records a look-up in a tier, successful or not, and how long it took. */
  record(tier: Tier, milliseconds: number): void {
    this.#spentMs[tier] = (this.#spentMs[tier] ?? 0) + milliseconds;
  }

  /** From now on the request waits for the database alone. */
  startDatabase(): void {
    this.#databaseSince ??= performance.now();
  }

  /** Ends the request. @returns the milliseconds since its start */
  stop(): number {
    const now = performance.now();
    if (this.#databaseSince !== undefined) this.record('d1', now - this.#databaseSince);
    return now - this.#startedAt;
  }

  /** The farthest tier that was used; null for none. */
  get tier(): Tier | null {
    return TIERS.findLast((tier) => this.#spentMs[tier] !== undefined) ?? null;
  }

  /** The tiers and the milliseconds spent there, the nearest first. */
  get spentMs(): [Tier, number][] {
    return TIERS.flatMap((tier) => {
      const milliseconds = this.#spentMs[tier];
      return milliseconds === undefined ? [] : [[tier, milliseconds]];
    });
  }
}
