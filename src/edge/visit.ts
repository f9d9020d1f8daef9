/** Where a request has looked for what it needed, the nearest place first. */
export const TIERS = ['memory', 'kv', 'd1'] as const;

export type Tier = (typeof TIERS)[number];

/** Keeps a promise alive after the answer. */
export type AfterAnswer = (work: Promise<unknown>) => void;

/** One request as the edge sees it: where it had to look, and what it leaves to be done. */
export class Visit {
  readonly afterAnswer: AfterAnswer;
  readonly #spentMs = new Map<Tier, number>();
  #inDatabaseSince: number | undefined;

  constructor(afterAnswer: AfterAnswer) {
    this.afterAnswer = afterAnswer;
  }

  /** Notes that something was found, or found missing, at a place, and how long that took. */
  note(tier: Tier, milliseconds: number): void {
    this.#spentMs.set(tier, (this.#spentMs.get(tier) ?? 0) + milliseconds);
  }

  /** From here on the request waits for the database alone, until it leaves. */
  enterDatabase(): void {
    this.#inDatabaseSince ??= performance.now();
  }

  leave(): void {
    if (this.#inDatabaseSince === undefined) return;
    this.note('d1', performance.now() - this.#inDatabaseSince);
  }

  /** The farthest place; null for a request that needed none. */
  get tier(): Tier | null {
    return TIERS.findLast((tier) => this.#spentMs.has(tier)) ?? null;
  }

  /** The places and the milliseconds spent there, the nearest first. */
  get spentMs(): [Tier, number][] {
    return TIERS.flatMap((tier) => {
      const milliseconds = this.#spentMs.get(tier);
      return milliseconds === undefined ? [] : [[tier, milliseconds]];
    });
  }
}
