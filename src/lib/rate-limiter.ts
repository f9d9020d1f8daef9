import { BoundedMap } from './bounded-map';
import { withTimeout } from './timeout';

/** The period of the limiters in wrangler.toml. */
export const WINDOW_SECONDS = 60;

/**
 * Requests a minute that pass without asking the platform: ordinary programs never wait for the
 * limiter. Beyond that the platform counts them from the first one on.
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

/** One of the platform's rate limiters, with the count that this isolate keeps in front of it (1.7). */
export class RateLimiter {
  readonly #limiter: RateLimit | undefined;
  readonly #counts = new BoundedMap<string, Count>(MAX_KEYS);

  /** @param limiter undefined for no limit */
  constructor(limiter: RateLimit | undefined) {
    this.#limiter = limiter;
  }

  /** Counts one request under a key. A failing limiter lets it through. */
  count(key: string): LimitResult | Promise<LimitResult> {
    if (!this.#limiter) return NOT_LIMITED;
    const count = this.#countOf(key);
    count.requests++;
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
    if (results.at(-1)) return NOT_LIMITED;
    count.limited++;
    return { isLimited: true, isFirst: count.limited === 1 };
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
