import { MINUTE_MS } from '@licet/contract/durations';

/** Logs a failure with the name of the error. Never its text, which can hold SQL, license keys and tokens. */
export function logFailure(message: string, error: unknown): void {
  console.error(
    JSON.stringify({ message, error: error instanceof Error ? error.name : typeof error }),
  );
}

/** Logs the same failure at most once a minute, with the number of times since the line before. */
export class RepeatedFailure {
  readonly #message: (count: number) => string;
  #count = 0;
  #error: unknown;
  #loggedAt = Number.NEGATIVE_INFINITY;

  constructor(message: (count: number) => string) {
    this.#message = message;
  }

  count(error: unknown, times = 1): void {
    this.#count += times;
    this.#error = error;
    this.flushDue();
  }

  /** Logs the times since the line before, if that one is a minute old. */
  flushDue(): void {
    if (Math.abs(Date.now() - this.#loggedAt) >= MINUTE_MS) this.flush();
  }

  /** Logs the times since the line before, if there are any. */
  flush(): void {
    if (this.#count === 0) return;
    logFailure(this.#message(this.#count), this.#error);
    this.#loggedAt = Date.now();
    this.#count = 0;
  }
}
