/** Milliseconds that never run backwards. On Workers `performance.now()` is the wall clock, and can step back. */
export class MonotonicClock {
  #lastMs = Number.NEGATIVE_INFINITY;
  #offsetMs = 0;

  now(): number {
    const ms = performance.now() + this.#offsetMs;
    this.#offsetMs += Math.max(0, this.#lastMs - ms);
    this.#lastMs = Math.max(this.#lastMs, ms);
    return this.#lastMs;
  }
}
