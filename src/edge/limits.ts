import { BoundedMap } from './bounded-map';
import { inTime } from './in-time';

/** The period of the limiters in wrangler.toml. */
export const WINDOW_SECONDS = 60;

/**
 * So many a minute are let through without asking the platform: ordinary programs never meet the
 * limiter, and no answer waits for it. Whoever asks more is counted from its first request on.
 */
const UNCOUNTED = 10;
const MAX_REMEMBERED = 10_000;
const LIMITER_PATIENCE_MS = 1_000;

interface Count {
  window: number;
  asked: number;
  refused: number;
}

/** What is over a limit; `isFirst` for the first of its window, which is worth a record (1.6). */
export type Verdict = { isOver: false } | { isOver: true; isFirst: boolean };

/** One of the platform's rate limiters, with what this isolate counts before it (1.7). */
export class Limiter {
  readonly #limiter: RateLimit | undefined;
  readonly #counts = new BoundedMap<string, Count>(MAX_REMEMBERED);

  /** @param limiter undefined for no limit */
  constructor(limiter: RateLimit | undefined) {
    this.#limiter = limiter;
  }

  /** Counts one more under a key. A limiter that fails lets it through. */
  async count(key: string): Promise<Verdict> {
    const limiter = this.#limiter;
    if (!limiter) return { isOver: false };
    const count = this.#countOf(key);
    count.asked++;
    if (count.asked <= UNCOUNTED) return { isOver: false };
    const calls = count.asked === UNCOUNTED + 1 ? count.asked : 1;
    const ask = async () => {
      try {
        return (await inTime(limiter.limit({ key }), LIMITER_PATIENCE_MS)).success;
      } catch {
        return true;
      }
    };
    const answers = await Promise.all(Array.from({ length: calls }, ask));
    if (answers.at(-1)) return { isOver: false };
    count.refused++;
    return { isOver: true, isFirst: count.refused === 1 };
  }

  #countOf(key: string): Count {
    const window = Math.floor(Date.now() / (WINDOW_SECONDS * 1000));
    const known = this.#counts.get(key);
    if (known?.window === window) return known;
    const count = { window, asked: 0, refused: 0 };
    this.#counts.set(key, count);
    return count;
  }
}
