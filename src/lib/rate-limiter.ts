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

interface Count {
  window: number;
  requests: number;
  isOver: boolean;
}

const windowNow = (): number => Math.floor(Date.now() / (WINDOW_SECONDS * 1000));

/** A rate limit (1.7), counted by this isolate, and above a number also by the platform if it has a limiter. */
export class RateLimiter {
  readonly #limiter: RateLimit | number;
  readonly #counts = new BoundedMap<string, Count>(MAX_KEYS);

  /** @param limiter of the platform; for a single isolate the number of requests that pass in a minute */
  constructor(limiter: RateLimit | number) {
    this.#limiter = limiter;
  }

  /** Whether a request under a key was limited in this window. Neither counts nor calls the platform. */
  isOver(key: string): boolean {
    const count = this.#counts.get(key);
    return count?.window === windowNow() && count.isOver;
  }

  /** Counts a request under a key. @returns whether it is over the limit. A limiter that fails lets it pass */
  count(key: string): boolean | Promise<boolean> {
    const count = this.#countOf(key);
    count.requests++;
    if (typeof this.#limiter === 'number') {
      count.isOver = count.requests > this.#limiter;
      return count.isOver;
    }
    return count.requests > UNCOUNTED && this.#ask(this.#limiter, key, count);
  }

  async #ask(limiter: RateLimit, key: string, count: Count): Promise<boolean> {
    const calls = count.requests === UNCOUNTED + 1 ? count.requests : 1;
    const ask = async () => {
      try {
        return (await withTimeout(limiter.limit({ key }), LIMITER_TIMEOUT_MS)).success;
      } catch {
        return true;
      }
    };
    const results = await Promise.all(Array.from({ length: calls }, ask));
    const isOver = !results.at(-1);
    count.isOver ||= isOver;
    return isOver;
  }

  #countOf(key: string): Count {
    const window = windowNow();
    const known = this.#counts.get(key);
    if (known?.window === window) return known;
    const count = { window, requests: 0, isOver: false };
    this.#counts.set(key, count);
    return count;
  }
}
