import { afterEach, describe, expect, it, vi } from 'vitest';
import { readBody } from '../../src/body';
import { takeClock } from '../support/clock';

/** What else a body can do is in `../conformance/8-limits.test.ts`. */

afterEach(() => vi.restoreAllMocks());

describe('a body that arrives slowly', () => {
  /** A request whose body takes so long between its two parts. */
  function slowRequest(pauseMs: number): Request {
    const clock = takeClock();
    const parts = ['{"licenseKey":', '"A"}'];
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          const part = parts.shift();
          if (part === undefined) return controller.close();
          if (parts.length === 0) clock.elapse(pauseMs);
          controller.enqueue(new TextEncoder().encode(part));
        },
      },
      { highWaterMark: 0 },
    );
    return new Request('http://licet.test/', { method: 'POST', body });
  }

  it('is read for ten seconds', async () => {
    expect(await readBody(slowRequest(9_000), 100)).toBe('{"licenseKey":"A"}');
  });

  it('is dropped after that: by now its token may have been revoked for 60 seconds', async () => {
    expect(await readBody(slowRequest(11_000), 100)).toBe('');
  });
});
