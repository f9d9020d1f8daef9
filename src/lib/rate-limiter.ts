import { MINUTE_MS } from '@licet/contract/durations';
import { withTimeout } from './async.ts';
import { BoundedMap } from './bounded-map.ts';

/** The period of the limiters in wrangler.toml. */
export const WINDOW_SECONDS = MINUTE_MS / 1000;

const MAX_KEYS = 10_000;
const LIMITER_TIMEOUT_MS = 1_000;

const windowNow = (windowMs = MINUTE_MS): number => Math.floor(Date.now() / windowMs);

/** A rate limit (1.7) that this isolate counts alone. */
export class LocalLimiter {
  readonly #limit: number;
  readonly #windowMs: number;
  #window = Number.NEGATIVE_INFINITY;
  readonly #requests = new BoundedMap<string, number>(MAX_KEYS);
  /** A map of its own: a client that makes up thousands of addresses pushes out only keys that are not over the limit. */
  readonly #over = new BoundedMap<string, true>(MAX_KEYS);

  /** @param limit the requests that pass in a window, which is a minute unless set */
  constructor(limit: number, windowMs = MINUTE_MS) {
    this.#limit = limit;
    this.#windowMs = windowMs;
  }

  /** Whether a request under a key was limited in this window. Counts nothing. */
  isOver(key: string): boolean {
    const window = windowNow(this.#windowMs);
    if (window !== this.#window) {
      this.#window = window;
      this.#requests.clear();
      this.#over.clear();
    }
    return this.#over.has(key);
  }

  /** Counts a request under a key. @returns whether it is over the limit */
  count(key: string): boolean {
    if (this.isOver(key)) return true;
    const requests = (this.#requests.get(key) ?? 0) + 1;
    this.#requests.set(key, requests);
    if (requests <= this.#limit) return false;
    this.#requests.delete(key);
    this.#over.set(key, true);
    return true;
  }
}

/** A rate limit (1.7) that the platform counts, for all isolates of a location. */
export class PlatformLimiter {
  readonly #limiter: RateLimit;
  /** The keys that the platform has limited. */
  readonly #limited = new LocalLimiter(0);

  constructor(limiter: RateLimit) {
    this.#limiter = limiter;
  }

  /** Whether a request under a key was limited in this minute. Neither counts nor calls the platform. */
  isOver(key: string): boolean {
    return this.#limited.isOver(key);
  }

  /** Counts a request under a key. @returns whether it is over the limit. A limiter that fails lets it pass */
  async count(key: string): Promise<boolean> {
    const window = windowNow();
    try {
      const { success } = await withTimeout(this.#limiter.limit({ key }), LIMITER_TIMEOUT_MS);
      if (!success && window === windowNow()) this.#limited.count(key);
      return !success;
    } catch {
      return false;
    }
  }
}

export type RateLimiter = LocalLimiter | PlatformLimiter;
