/** So long a group gathers: next to nothing beside a round trip to the database. */
const GATHER_MS = 1;
/** Who gathers for longer was cut off with its request. */
const CUT_OFF_MS = 100;
/** How often who waits for another request's read looks whether it is over: ever less often. */
const FIRST_LOOK_MS = 2;
const MAX_LOOK_MS = 32;
const PATIENCE_MS = 1_000;
/** How many keys go together into one read: a parameter of D1 takes 2 MB. */
const MAX_KEYS = 100;

type Outcome<Result> = { ok: true; result: Result | null } | { ok: false; error: unknown };

interface Waiting<Result> {
  key: string;
  outcome?: Outcome<Result>;
}

const wait = (milliseconds: number) => new Promise<void>((done) => setTimeout(done, milliseconds));

/**
 * Looks keys up in groups: those that are asked for at the same moment are one round trip, so that a
 * flood of keys is no flood for the database. A Worker must not await what another request does: the
 * first of a group reads for all, and the others wait for timers of their own until the outcome, a
 * plain value, is there.
 */
export class GroupReader<Result> {
  readonly #read: (keys: readonly string[]) => Promise<ReadonlyMap<string, Result>>;
  #gathering: Waiting<Result>[] = [];
  #gatheringSince = 0;

  constructor(read: (keys: readonly string[]) => Promise<ReadonlyMap<string, Result>>) {
    this.#read = read;
  }

  /**
   * What a key leads to, read after this call; null for nothing.
   *
   * @throws what the read threw
   */
  async find(key: string): Promise<Result | null> {
    const own: Waiting<Result> = { key };
    // Again where the read is slow, or its request was cut off: in the next group, not alone.
    while (!own.outcome) await this.#join(own);
    if (!own.outcome.ok) throw own.outcome.error;
    return own.outcome.result;
  }

  /** Until there is an outcome, or it was waited for long enough. */
  async #join(own: Waiting<Result>): Promise<void> {
    const now = performance.now();
    const isFirst = this.#gathering.push(own) === 1;
    if (isFirst || now - this.#gatheringSince > CUT_OFF_MS) {
      this.#gatheringSince = now;
      await wait(GATHER_MS);
      await this.#readGathered();
    }
    for (let lookMs = FIRST_LOOK_MS; !own.outcome; lookMs = Math.min(MAX_LOOK_MS, lookMs * 2)) {
      if (performance.now() - now > PATIENCE_MS) return;
      await wait(lookMs);
    }
  }

  async #readGathered(): Promise<void> {
    const groups: Waiting<Result>[][] = [];
    while (this.#gathering.length > 0) groups.push(this.#gathering.splice(0, MAX_KEYS));
    await Promise.all(groups.map((group) => this.#readGroup(group)));
  }

  async #readGroup(group: readonly Waiting<Result>[]): Promise<void> {
    try {
      const found = await this.#read(group.map(({ key }) => key));
      for (const waiting of group) {
        waiting.outcome = { ok: true, result: found.get(waiting.key) ?? null };
      }
    } catch (error) {
      for (const waiting of group) waiting.outcome = { ok: false, error };
    }
  }
}
