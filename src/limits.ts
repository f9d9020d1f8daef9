/** The period of every limiter in wrangler.toml. */
export const WINDOW_SECONDS = 60;

const MAX_REMEMBERED = 10_000;

/** Counts one more; whether that is over the limit. A limiter that fails lets it through (1.7). */
export const isOverLimit = (limiter: RateLimit, key: string): Promise<boolean> =>
  Promise.resolve()
    .then(() => limiter.limit({ key }))
    .then(
      ({ success }) => !success,
      () => false,
    );

const lastWindows = new Map<string, number>();

/**
 * Whether this is the first time in this minute that this process meets a key: a flood of refusals
 * is not to become a flood of records (1.6).
 *
 * @param now milliseconds since 1970
 */
export function isFirstInWindow(key: string, now: number): boolean {
  const window = Math.floor(now / (WINDOW_SECONDS * 1000));
  if (lastWindows.get(key) === window) return false;
  // What was set longest ago goes first: a map keeps the order in which its keys came.
  lastWindows.delete(key);
  const [oldest] = lastWindows.keys();
  if (lastWindows.size >= MAX_REMEMBERED && oldest !== undefined) lastWindows.delete(oldest);
  lastWindows.set(key, window);
  return true;
}
