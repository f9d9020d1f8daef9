import type { VirtualClock } from './clock.ts';
import { roundTrip } from './invocation.ts';
import type { Link } from './link.ts';
import type { Random } from './random.ts';

interface Version {
  writtenAt: number;
  /** Null after a delete. */
  value: string | null;
  metadata: unknown;
  expiresAt: number;
  /** The latest time at which each other location sees it. The location of the writer sees it at once. */
  visibleAt: ReadonlyMap<string, number>;
}

interface Cached {
  version: Version | null;
  until: number;
}

interface ReadOptions {
  type?: string;
  cacheTtl?: number;
}

interface PutOptions {
  expiration?: number;
  expirationTtl?: number;
  metadata?: unknown;
}

const DEFAULT_CACHE_SECONDS = 60;
const MIN_CACHE_SECONDS = 30;
const MIN_EXPIRATION_SECONDS = 60;
const VISIBILITY_MS = 60_000;
/** Later than documented, as has been observed. */
const LATE_VISIBILITY_MS = 300_000;
const WRITE_INTERVAL_MS = 1_000;

/**
 * A KV namespace with the documented faults of the platform:
 * - a location caches each value that it has read for `cacheTtl` seconds, a miss as well;
 * - a write is visible at once in its own location, and in any other one up to 60 seconds later, but not
 *   before the cached value there has expired: "60 seconds or more";
 * - a second write of a key within a second fails;
 * - a write can fail, also after it was applied.
 */
export class FakeKv {
  /** Called with each write that is applied. */
  onWrite: (key: string, value: string | null, location: string) => void = () => undefined;

  readonly #clock: VirtualClock;
  readonly #random: Random;
  readonly #locations: readonly string[];
  readonly #versions = new Map<string, Version[]>();
  readonly #caches = new Map<string, Map<string, Cached>>();
  readonly #writtenAt = new Map<string, number>();
  #lateUntil = 0;

  constructor(clock: VirtualClock, random: Random, locations: readonly string[]) {
    this.#clock = clock;
    this.#random = random;
    this.#locations = locations;
  }

  /** The last value of each key, wherever it is visible: for the checks of a test. */
  entries(): Map<string, string> {
    const entries = new Map<string, string>();
    for (const [key, versions] of this.#versions) {
      const value = this.#alive(versions.at(-1))?.value ?? null;
      if (value !== null) entries.set(key, value);
    }
    return entries;
  }

  /** The values that a location may have read under a key since a time, however late it saw the writes. */
  visibleSince(location: string, key: string, time: number): string[] {
    const versions = this.#versions.get(key) ?? [];
    return versions.flatMap(({ value }, index) => {
      const later = versions.slice(index + 1);
      const replacedAt = Math.min(
        ...later.map((next) => next.visibleAt.get(location) ?? next.writtenAt),
      );
      // A location may have cached it just before.
      return value === null || replacedAt + MIN_CACHE_SECONDS * 1000 < time ? [] : [value];
    });
  }

  /** Delays the visibility of writes in other locations. */
  delayVisibility(milliseconds: number): void {
    this.#lateUntil = this.#clock.now + milliseconds;
  }

  /** Ends all faults. */
  endFaults(): void {
    this.#lateUntil = 0;
  }

  /** The binding of an isolate in a location. */
  binding(location: string, link: Link): object {
    const read = (key: string, options: ReadOptions | string = {}) => {
      const { type = 'text', cacheTtl = DEFAULT_CACHE_SECONDS } =
        typeof options === 'string' ? { type: options } : options;
      if (cacheTtl < MIN_CACHE_SECONDS) {
        throw new Error(`KV GET failed: 400 Invalid cache_ttl of ${cacheTtl}`);
      }
      return roundTrip(this.#clock, link, () => {
        const version = this.#read(location, key, cacheTtl);
        return { value: parse(version?.value ?? null, type), metadata: version?.metadata ?? null };
      });
    };
    const write = async (key: string, version: Pick<Version, 'value' | 'metadata' | 'expiresAt'>) =>
      roundTrip(this.#clock, link, () => {
        const isRejected = link.rejectsWrites(this.#clock.now);
        if (!isRejected || this.#random.chance(0.5)) this.#write(location, key, version);
        if (isRejected) throw new Error('KV PUT failed: 500 Internal Server Error');
      });
    return {
      get: async (key: string, options?: ReadOptions | string) => (await read(key, options)).value,
      getWithMetadata: async (key: string, options?: ReadOptions | string) => ({
        ...(await read(key, options)),
        cacheStatus: null,
      }),
      put: async (key: string, value: unknown, options: PutOptions = {}) => {
        if (typeof value !== 'string') throw new Error('Not modelled: KV values but strings');
        const { metadata = null } = options;
        await write(key, { value, metadata, expiresAt: this.#expiryOf(options) });
      },
      delete: (key: string) =>
        write(key, { value: null, metadata: null, expiresAt: Number.POSITIVE_INFINITY }),
      list: () => {
        throw new Error("Not modelled: KV's list");
      },
    };
  }

  #expiryOf({ expiration, expirationTtl }: PutOptions): number {
    if (expiration !== undefined) return expiration * 1000;
    if (expirationTtl === undefined) return Number.POSITIVE_INFINITY;
    if (expirationTtl < MIN_EXPIRATION_SECONDS) {
      throw new Error(`KV PUT failed: 400 Invalid expiration_ttl of ${expirationTtl}`);
    }
    return this.#clock.now + expirationTtl * 1000;
  }

  #alive(version: Version | null | undefined): Version | null {
    return version && version.value !== null && version.expiresAt > this.#clock.now
      ? version
      : null;
  }

  #cacheOf(location: string): Map<string, Cached> {
    const cache = this.#caches.get(location) ?? new Map<string, Cached>();
    this.#caches.set(location, cache);
    return cache;
  }

  #read(location: string, key: string, cacheTtl: number): Version | null {
    const { now } = this.#clock;
    const cache = this.#cacheOf(location);
    const cached = cache.get(key);
    // Caches outlive an expiry as they outlive a delete.
    if (cached && now < cached.until) return cached.version;
    const visible = this.#versions
      .get(key)
      ?.findLast(({ visibleAt }) => (visibleAt.get(location) ?? 0) <= now);
    const version = this.#alive(visible);
    cache.set(key, { version, until: now + cacheTtl * 1000 });
    return version;
  }

  #visibilityMs(): number {
    if (this.#clock.now < this.#lateUntil) return LATE_VISIBILITY_MS;
    return this.#random.chance(0.5) ? VISIBILITY_MS : 1_000;
  }

  #write(
    location: string,
    key: string,
    version: Pick<Version, 'value' | 'metadata' | 'expiresAt'>,
  ): void {
    const { now } = this.#clock;
    if (now - (this.#writtenAt.get(key) ?? 0) < WRITE_INTERVAL_MS) {
      throw new Error('KV PUT failed: 429 Too Many Requests');
    }
    this.#writtenAt.set(key, now);
    const others = this.#locations.filter((other) => other !== location);
    const visibleAt = new Map(
      // Mostly soon, as in reality, and sometimes as late as documented.
      others.map((other) => [other, now + this.#random.next() * this.#visibilityMs()]),
    );
    const written = { ...version, writtenAt: now, visibleAt };
    this.#versions.set(key, [...(this.#versions.get(key) ?? []), written]);
    this.#cacheOf(location).delete(key);
    this.onWrite(key, version.value, location);
  }
}

function parse(value: string | null, type: string): unknown {
  if (value === null || type === 'text') return value;
  if (type === 'json') return JSON.parse(value);
  throw new Error(`Not modelled: KV values as ${type}`);
}
