import type { VirtualClock } from './clock.ts';
import { currentInvocation, type Link } from './network.ts';

const PERIOD_MS = 60_000;

/** The binding of a rate limiter in a location, which counts by the minute. It fails while its link is cut. */
export function limiterBinding(clock: VirtualClock, link: Link, limit: number) {
  const counts = new Map<string, number>();
  return {
    limit: async ({ key }: { key: string }) => {
      if (link.has('is cut', clock.now)) throw new Error('Rate limiter unavailable');
      const name = `${Math.floor(clock.now / PERIOD_MS)} ${key}`;
      const count = (counts.get(name) ?? 0) + 1;
      counts.set(name, count);
      const success = count <= limit;
      if (!success) currentInvocation().isLimited = true;
      return { success };
    },
  };
}
