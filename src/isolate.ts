import { Caches } from './cache/caches';
import { type Database, openDatabase } from './db/client';
import { Recorder, type RecordQueue } from './history/recorder';
import { BoundedMap } from './lib/bounded-map';
import { MonotonicClock } from './lib/clock';
import { RateLimiter } from './lib/rate-limiter';
import type { LicenseSnapshot } from './licenses/snapshot';

const MAX_COUNTED = 10_000;

/** The bindings of the Worker, with the queue that wrangler.toml has in comments. */
export type Bindings = Env & { RECORDS?: RecordQueue };

/** State of an isolate between requests. */
export class Isolate {
  readonly db: Database;
  readonly caches: Caches;
  readonly recorder: Recorder;
  readonly limits: Record<'validations' | 'failedLookups' | 'failedTokens', RateLimiter>;
  /** Requests of each license, by id. */
  readonly #totals = new BoundedMap<number, number>(MAX_COUNTED);
  /** When each token was last used, by id. */
  readonly #tokenUses = new BoundedMap<number, number>(MAX_COUNTED);

  constructor(env: Bindings) {
    const clock = new MonotonicClock();
    this.db = openDatabase(env.DB);
    this.caches = new Caches(this.db, env.SNAPSHOTS, clock);
    this.recorder = new Recorder(this.db, this.caches, clock, env.RECORDS);
    this.limits = {
      validations: new RateLimiter(env.VALIDATION_LIMITER),
      failedLookups: new RateLimiter(env.FAILED_LOOKUP_LIMITER),
      failedTokens: new RateLimiter(env.FAILED_TOKEN_LIMITER),
    };
  }

  /** Counts a request for a license. @returns its total, as far as this isolate knows (1.1) */
  countRequest({ id, totalRequests }: LicenseSnapshot): number {
    const total = Math.max(this.#totals.get(id) ?? 0, totalRequests) + 1;
    this.#totals.set(id, total);
    return total;
  }

  /** Whether the last known use of a token is some time ago. Counts as a use. */
  shouldMarkUsed(token: { id: number; lastUsedAt: number | null }, now: number, withinMs: number) {
    const lastUse = Math.max(token.lastUsedAt ?? 0, this.#tokenUses.get(token.id) ?? 0);
    if (Math.abs(now - lastUse) < withinMs) return false;
    this.#tokenUses.set(token.id, now);
    return true;
  }
}

const isolates = new WeakMap<object, Isolate>();

/** The state of this isolate: the platform gives all requests of an isolate the same bindings. */
export function isolateOf(env: Bindings): Isolate {
  const known = isolates.get(env);
  if (known) return known;
  const isolate = new Isolate(env);
  isolates.set(env, isolate);
  return isolate;
}
