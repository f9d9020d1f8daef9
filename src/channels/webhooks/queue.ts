import { wait } from '../../lib/async.ts';

/** A place without a sign of life for longer is one of a cancelled request: longer than its wait and an attempt. */
const CANCELLED_AFTER_MS = 30_000;
const POLL_MS = 20;
const MAX_PLACES = 32;

/** The queue of a webhook in an isolate. Each place makes attempts one after the other, when it is at the front. */
export class Queue {
  /** The times of their last signs of life. */
  readonly #places = new Map<symbol, number>();
  #closedUntil = 0;

  get isFull(): boolean {
    this.#removeCancelled();
    return this.#places.size >= MAX_PLACES;
  }

  /** A new place at the end. It must be left. */
  join(): symbol {
    const place = Symbol();
    this.#places.set(place, performance.now());
    return place;
  }

  leave(place: symbol): void {
    this.#places.delete(place);
  }

  /** Lets no attempt begin for a time. */
  close(milliseconds: number): void {
    this.#closedUntil = Math.max(this.#closedUntil, performance.now() + milliseconds);
  }

  /**
   * Waits until a place may make an attempt.
   *
   * @param atOnce the places at the front
   * @param until by `performance.now()`
   * @returns false if it may not until then
   */
  async isAtFront(place: symbol, atOnce: number, until: number): Promise<boolean> {
    for (;;) {
      const now = performance.now();
      if (now >= until || this.#closedUntil >= until) return false;
      this.#removeCancelled();
      const front = [...this.#places.keys()].slice(0, atOnce);
      if (this.#closedUntil <= now && front.includes(place)) {
        this.#places.set(place, now);
        return true;
      }
      await wait(Math.max(this.#closedUntil - now, POLL_MS));
    }
  }

  #removeCancelled(): void {
    const start = performance.now() - CANCELLED_AFTER_MS;
    for (const [place, seenAt] of this.#places) {
      if (seenAt < start) this.#places.delete(place);
    }
  }
}
