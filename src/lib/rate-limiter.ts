import { withTimeout } from './async';
import { BoundedMap } from './bounded-map';

/** The period of the limiters in wrangler.toml. */
export const WINDOW_SECONDS = 60;

/**
 * Requests a minute that pass without asking the platform, because ordinary programs shall not wait for it.
 * After them the platform counts them all, from the first one on.
 */
const UNCOUNTED = 10;
const MAX_KEYS = 10_000;
const LIMITER_TIMEOUT_MS = 1_000;

const windowNow = (): number => Math.floor(Date.now() / (WINDOW_SECONDS * 1000));

/**
 * The requests of each key in the current minute. Keys over the limit are kept apart: a client that makes up
 * thousands of addresses pushes out only keys that are not over it.
 */
class WindowCounts {
  #window = windowNow();
  readonly #requests = new BoundedMap<string, number>(MAX_KEYS);
  readonly #over = new BoundedMap<string, number>(MAX_KEYS);

  isOver(key: string): boolean {
    this.startWindow();
    return this.#over.has(key);
  }

  /** @returns the requests under a key, with this one */
  add(key: string): number {
    this.startWindow();
    const over = this.#over.get(key);
    const requests = (over ?? this.#requests.get(key) ?? 0) + 1;
    (over === undefined ? this.#requests : this.#over).set(key, requests);
    return requests;
  }

  /** Marks a key as over the limit, unless the minute of the request has ended. */
  setOver(key: string, requests: number, window: number): void {
    if (this.startWindow() !== window || this.#over.has(key)) return;
    this.#requests.delete(key);
    this.#over.set(key, requests);
  }

  /** Forgets the minutes before this one. @returns the current minute */
  startWindow(): number {
    const window = windowNow();
    if (window !== this.#window) {
      this.#window = window;
      this.#requests.clear();
      this.#over.clear();
    }
    return window;
  }
}

/** A rate limit (1.7) that this isolate counts alone. */
export class LocalLimiter {
  readonly #limit: number;
  readonly #counts = new WindowCounts();

  /** @param limit the requests that pass in a minute */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Whether a request under a key was limited in this minute. Counts nothing. */
  isOver(key: string): boolean {
    return this.#counts.isOver(key);
  }

  /** Counts a request under a key. @returns whether it is over the limit */
  count(key: string): boolean {
    const window = this.#counts.startWindow();
    const requests = this.#counts.add(key);
    const isOver = requests > this.#limit;
    if (isOver) this.#counts.setOver(key, requests, window);
    return isOver;
  }
}

/** A rate limit (1.7) that the platform counts. The isolate alone counts the first requests of a minute. */
export class PlatformLimiter {
  readonly #limiter: RateLimit;
  readonly #counts = new WindowCounts();

  constructor(limiter: RateLimit) {
    this.#limiter = limiter;
  }

  /** Whether a request under a key was limited in this minute. Neither counts nor calls the platform. */
  isOver(key: string): boolean {
    return this.#counts.isOver(key);
  }

  /** Counts a request under a key. @returns whether it is over the limit. A limiter that fails lets it pass */
  count(key: string): boolean | Promise<boolean> {
    const window = this.#counts.startWindow();
    const requests = this.#counts.add(key);
    return requests > UNCOUNTED && this.#ask(key, requests, window);
  }

  async #ask(key: string, requests: number, window: number): Promise<boolean> {
    const calls = requests === UNCOUNTED + 1 ? requests : 1;
    const ask = async () => {
      try {
        return (await withTimeout(this.#limiter.limit({ key }), LIMITER_TIMEOUT_MS)).success;
      } catch {
        return true;
      }
    };
    const results = await Promise.all(Array.from({ length: calls }, ask));
    const isOver = !results.at(-1);
    if (isOver) this.#counts.setOver(key, requests, window);
    return isOver;
  }
}

export type RateLimiter = LocalLimiter | PlatformLimiter;
