import type { VirtualClock } from './clock.ts';
import { type Link, roundTrip } from './network.ts';
import type { Random } from './random.ts';

interface Version {
  writtenAt: number;
  /** Null after a delete. */
  value: string | null;
  /** When each other location sees it at the latest. The location of the writer sees it at once. */
  visibleAt: ReadonlyMap<string, number>;
}

interface Cached {
  value: string | null;
  until: number;
}

const MIN_CACHE_SECONDS = 30;
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
  onWrite: (key: string, value: string | null) => void = () => undefined;

  readonly #clock: VirtualClock;
  readonly #random: Random;
  readonly #locations: readonly string[];
  readonly #versions = new Map<string, Version[]>();
  /** By location and key. */
  readonly #caches = new Map<string, Cached>();

  constructor(clock: VirtualClock, random: Random, locations: readonly string[]) {
    this.#clock = clock;
    this.#random = random;
    this.#locations = locations;
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

  /** The binding of an isolate in a location. */
  binding(location: string, link: Link) {
    const write = (key: string, value: string | null) =>
      roundTrip(this.#clock, link, () => {
        const isFailing = link.has('fails writes', this.#clock.now);
        if (!isFailing || link.chooses()) this.#write(location, link, key, value);
        if (isFailing) throw new Error('KV PUT failed: 500 Internal Server Error');
      });
    return {
      get: async (key: string, { cacheTtl }: { cacheTtl: number }) => {
        if (cacheTtl < MIN_CACHE_SECONDS) throw new Error('KV GET failed: 400 Invalid cache_ttl');
        return roundTrip(this.#clock, link, () => this.#read(location, key, cacheTtl));
      },
      put: (key: string, value: string) => write(key, value),
      delete: (key: string) => write(key, null),
    };
  }

  #read(location: string, key: string, cacheTtl: number): string | null {
    const { now } = this.#clock;
    const place = `${location} ${key}`;
    const cached = this.#caches.get(place);
    if (cached && now < cached.until) return cached.value;
    const visible = this.#versions
      .get(key)
      ?.findLast(({ visibleAt }) => (visibleAt.get(location) ?? 0) <= now);
    const value = visible?.value ?? null;
    this.#caches.set(place, { value, until: now + cacheTtl * 1000 });
    return value;
  }

  #write(location: string, link: Link, key: string, value: string | null): void {
    const { now } = this.#clock;
    const versions = this.#versions.get(key) ?? [];
    if (now - (versions.at(-1)?.writtenAt ?? 0) < WRITE_INTERVAL_MS) {
      throw new Error('KV PUT failed: 429 Too Many Requests');
    }
    const others = this.#locations.filter((other) => other !== location);
    const isLate = link.has('shows writes late', now);
    const visibleAt = new Map(
      others.map((other) => {
        // Mostly soon, as in reality, and sometimes as late as documented.
        const documentedMs = this.#random.chance(0.5) ? VISIBILITY_MS : 1_000;
        const maxMs = isLate ? LATE_VISIBILITY_MS : documentedMs;
        return [other, now + this.#random.next() * maxMs];
      }),
    );
    this.#versions.set(key, [...versions, { writtenAt: now, value, visibleAt }]);
    this.#caches.delete(`${location} ${key}`);
    this.onWrite(key, value);
  }
}
