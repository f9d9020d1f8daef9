/** Logs a failure with the name of the error. Never its text, which can hold SQL, license keys and tokens. */
export function logFailure(message: string, error: unknown): void {
  console.error(
    JSON.stringify({ message, error: error instanceof Error ? error.name : typeof error }),
  );
}

const INTERVAL_MS = 60_000;

/** Logs the same failure at most once a minute, with the number of times since the line before. */
export class RepeatedFailure {
  readonly #message: (count: number) => string;
  #count = 0;
  #loggedAt = Number.NEGATIVE_INFINITY;

  constructor(message: (count: number) => string) {
    this.#message = message;
  }

  count(error: unknown, times = 1): void {
    this.#count += times;
    const now = Date.now();
    if (Math.abs(now - this.#loggedAt) < INTERVAL_MS) return;
    logFailure(this.#message(this.#count), error);
    this.#loggedAt = now;
    this.#count = 0;
  }
}
