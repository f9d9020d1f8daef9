/** How often who waits for another request's load looks for its outcome. */
const LOOK_EVERY_MS = 3;
/** How long a load is waited for: it may have been cut off with its request. */
const PATIENCE_MS = 1_000;

type Outcome<Result> = { ok: true; result: Result } | { ok: false; error: unknown };

/** The loads under way; an outcome comes once. */
export type Loads<Result> = Map<string, { outcome?: Outcome<Result> }>;

/**
 * One load for all who miss the same key at once. A Worker must not await what another request does:
 * who comes later waits for timers of its own, and takes the outcome, a plain value, when it is there.
 *
 * @returns undefined where none came in time: then the caller has to load by itself
 * @throws what the load threw
 */
export async function share<Result>(
  loads: Loads<Result>,
  key: string,
  load: () => Promise<Result>,
): Promise<{ result: Result; isOwn: boolean } | undefined> {
  const other = loads.get(key);
  if (other) {
    const giveUpAt = performance.now() + PATIENCE_MS;
    while (!other.outcome && performance.now() < giveUpAt) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
    if (!other.outcome && loads.get(key) === other) loads.delete(key);
    if (other.outcome?.ok === false) throw other.outcome.error;
    return other.outcome && { result: other.outcome.result, isOwn: false };
  }

  const own: { outcome?: Outcome<Result> } = {};
  loads.set(key, own);
  try {
    const result = await load();
    own.outcome = { ok: true, result };
    return { result, isOwn: true };
  } catch (error) {
    own.outcome = { ok: false, error };
    throw error;
  } finally {
    if (loads.get(key) === own) loads.delete(key);
  }
}
