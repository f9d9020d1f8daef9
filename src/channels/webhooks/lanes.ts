import { wait } from '../../lib/async.ts';

/** A holder older than this was cancelled: longer than any attempt. */
const CANCELLED_AFTER_MS = 15_000;
const MAX_WAITING = 100;
const MAX_WAITING_MS = 10_000;
/** Interval at which a waiting attempt looks for cancelled holders, which wake nobody. */
const TICK_MS = 1_000;

interface Lane {
  /** The attempts under way, with the times at which they began. */
  holders: Map<symbol, number>;
  /** The functions that wake the waiting attempts, the oldest first. */
  waiting: Set<() => void>;
  /** No attempt begins before this time. */
  closedUntil: number;
}

/** Bounds the attempts under way at once for each webhook in an isolate, so that a slow receiver delays no other. */
export class Lanes {
  readonly #lanes = new Map<number, Lane>();

  /**
   * Waits for room in the lane of a webhook.
   *
   * @param max the attempts at once
   * @returns the function that leaves the lane; undefined if there is no room for ten seconds
   */
  async enter(webhookId: number, max: number): Promise<(() => void) | undefined> {
    const lane = this.#laneOf(webhookId);
    const until = performance.now() + MAX_WAITING_MS;
    for (;;) {
      const now = performance.now();
      for (const [holder, startedAt] of lane.holders) {
        if (now - startedAt > CANCELLED_AFTER_MS) lane.holders.delete(holder);
      }
      if (lane.closedUntil > until || now >= until) return undefined;
      if (lane.closedUntil > now) {
        await wait(lane.closedUntil - now);
      } else if (lane.holders.size < max) {
        const holder = Symbol();
        lane.holders.set(holder, now);
        return () => this.#leave(webhookId, lane, holder);
      } else if (lane.waiting.size >= MAX_WAITING) {
        return undefined;
      } else {
        await waitIn(lane);
      }
    }
  }

  /** Lets no attempt begin for a time. */
  close(webhookId: number, milliseconds: number): void {
    if (milliseconds === 0) return;
    const lane = this.#laneOf(webhookId);
    lane.closedUntil = Math.max(lane.closedUntil, performance.now() + milliseconds);
  }

  #laneOf(webhookId: number): Lane {
    let lane = this.#lanes.get(webhookId);
    if (!lane) {
      lane = { holders: new Map(), waiting: new Set(), closedUntil: 0 };
      this.#lanes.set(webhookId, lane);
    }
    return lane;
  }

  #leave(webhookId: number, lane: Lane, holder: symbol): void {
    lane.holders.delete(holder);
    const [wake] = lane.waiting;
    if (wake) {
      // Another that leaves wakes another one.
      lane.waiting.delete(wake);
      wake();
    }
    const isIdle = lane.holders.size + lane.waiting.size === 0;
    if (isIdle && lane.closedUntil <= performance.now()) this.#lanes.delete(webhookId);
  }
}

async function waitIn(lane: Lane): Promise<void> {
  // Made and awaited by the same request; another request may settle it.
  const { promise, resolve } = Promise.withResolvers<void>();
  lane.waiting.add(resolve);
  await Promise.race([promise, wait(TICK_MS)]);
  lane.waiting.delete(resolve);
}
