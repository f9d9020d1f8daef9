/** A smaller step back is a correction of the clock. It extends each bound by at most this. */
const STEP_TOLERANCE_MS = 1_000;

/**
 * Milliseconds that never run backwards. On Workers `performance.now()` is the wall clock and can step
 * back. The time that has passed is unknown then: `onStepBack` must drop all that depends on it.
 */
export class MonotonicClock {
  onStepBack: () => void = () => undefined;
  #lastMs = Number.NEGATIVE_INFINITY;
  #offsetMs = 0;

  now(): number {
    const ms = performance.now() + this.#offsetMs;
    const stepMs = this.#lastMs - ms;
    if (stepMs <= 0) {
      this.#lastMs = ms;
      return ms;
    }
    this.#offsetMs += stepMs;
    if (stepMs > STEP_TOLERANCE_MS) this.onStepBack();
    return this.#lastMs;
  }
}
