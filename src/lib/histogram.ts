import type { Sample } from './exposition.ts';

/** The upper ends of the buckets. The clock has milliseconds, and stands still while nothing is awaited. */
const BOUNDS_MS = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000];

/** The durations of requests since the start of the process. */
export class DurationHistogram {
  /** One more than the bounds, for all that took longer. */
  readonly #counts = new Array<number>(BOUNDS_MS.length + 1).fill(0);
  #sumMs = 0;

  add(durationMs: number): void {
    let bucket = 0;
    while (durationMs > (BOUNDS_MS[bucket] ?? Number.POSITIVE_INFINITY)) bucket++;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#sumMs += durationMs;
  }

  /** The samples of a histogram in seconds. */
  samples(labels: Readonly<Record<string, string>>): Sample[] {
    let count = 0;
    const buckets = this.#counts.map((added, index): Sample => {
      const bound = BOUNDS_MS[index];
      count += added;
      const le = bound === undefined ? '+Inf' : String(bound / 1_000);
      return { suffix: '_bucket', labels: { ...labels, le }, value: count };
    });
    return [
      ...buckets,
      { suffix: '_sum', labels, value: this.#sumMs / 1_000 },
      { suffix: '_count', labels, value: count },
    ];
  }
}
