import { beforeEach, expect, it, vi } from 'vitest';
import { LocalLimiter, PlatformLimiter } from '../../src/lib/rate-limiter.ts';

/** More keys than a limiter keeps. */
const MADE_UP = Array.from({ length: 20_000 }, (_, index) => `2001:db8:${index.toString(16)}::`);
const CLIENT = '198.51.100.1';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] });
});

it.each<[string, () => LocalLimiter | PlatformLimiter]>([
  ['by the isolate', () => new LocalLimiter(20)],
  [
    'by the platform',
    () => {
      const requests = new Map<string, number>();
      const limit = async ({ key }: RateLimitOptions) => {
        requests.set(key, (requests.get(key) ?? 0) + 1);
        return { success: (requests.get(key) ?? 0) <= 20 };
      };
      return new PlatformLimiter({ limit });
    },
  ],
])(
  'a client stays over a limit while others make up addresses, until the minute ends: %s [1.7.9]',
  async (_, newLimiter) => {
    const limiter = newLimiter();
    for (let request = 1; request <= 21; request++) {
      expect(await limiter.count(CLIENT)).toBe(request > 20);
    }
    for (const client of MADE_UP) await limiter.count(client);
    expect(limiter.isOver(CLIENT)).toBe(true);
    expect(await limiter.count(CLIENT)).toBe(true);

    vi.setSystemTime(Date.now() + 60_000);
    expect(limiter.isOver(CLIENT)).toBe(false);
  },
);
