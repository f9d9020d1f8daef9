import { BoundedMap } from './bounded-map';
import { withTimeout } from './timeout';

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
  limited: number;
}

/** `isFirst` marks the first limited request of a window, which is recorded (1.6). */
export type LimitResult = { isLimited: false } | { isLimited: true; isFirst: boolean };

const NOT_LIMITED: LimitResult = { isLimited: false };

function limited(count: Count): LimitResult {
  count.limited++;
  return { isLimited: true, isFirst: count.limited === 1 };
}

/** A rate limit (1.7), counted by this isolate, and above a number also by the platform if it has a limiter. */
export class RateLimiter {
  readonly #limiter: RateLimit | number;
  readonly #counts = new BoundedMap<string, Count>(MAX_KEYS);

  /** @param limiter of the platform; or the requests a minute that pass, where there is only one isolate */
  constructor(limiter: RateLimit | number) {
    this.#limiter = limiter;
  }

  /** Counts a request under a key. A limiter that fails lets it pass. */
  count(key: string): LimitResult | Promise<LimitResult> {
    const count = this.#countOf(key);
    count.requests++;
    if (typeof this.#limiter === 'number') {
      return count.requests <= this.#limiter ? NOT_LIMITED : limited(count);
    }
    return count.requests <= UNCOUNTED ? NOT_LIMITED : this.#ask(this.#limiter, key, count);
  }

  async #ask(limiter: RateLimit, key: string, count: Count): Promise<LimitResult> {
    const calls = count.requests === UNCOUNTED + 1 ? count.requests : 1;
    const ask = async () => {
      try {
        return (await withTimeout(limiter.limit({ key }), LIMITER_TIMEOUT_MS)).success;
      } catch {
        return true;
      }
    };
    const results = await Promise.all(Array.from({ length: calls }, ask));
    return results.at(-1) ? NOT_LIMITED : limited(count);
  }

  #countOf(key: string): Count {
    const window = Math.floor(Date.now() / (WINDOW_SECONDS * 1000));
    const known = this.#counts.get(key);
    if (known?.window === window) return known;
    const count = { window, requests: 0, limited: 0 };
    this.#counts.set(key, count);
    return count;
  }
}
