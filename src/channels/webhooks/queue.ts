import { wait } from '../../lib/async.ts';

/** A sender without a sign of life for longer was cancelled: longer than the wait for its turn and an attempt. */
const CANCELLED_AFTER_MS = 30_000;
const POLL_MS = 20;
const MAX_SENDERS = 32;

/** The senders to a webhook in an isolate, each of which makes one attempt after the other. The first of them have their turn. */
export class Queue {
  /** The times of their last signs of life. */
  readonly #senders = new Map<symbol, number>();
  #closedUntil = 0;

  /** Whether so many wait that new deliveries are left to the scheduled handler. */
  get isFull(): boolean {
    this.#removeCancelled();
    return this.#senders.size >= MAX_SENDERS;
  }

  /** A new sender, the last one. It must leave. */
  join(): symbol {
    const sender = Symbol();
    this.#senders.set(sender, performance.now());
    return sender;
  }

  /**
   * Waits until a sender may begin an attempt.
   *
   * @param atOnce the attempts under way at once
   * @param until by `performance.now()`
   * @returns false if it may not until then
   */
  async hasTurn(sender: symbol, atOnce: number, until: number): Promise<boolean> {
    for (;;) {
      const now = performance.now();
      if (now >= until || this.#closedUntil >= until) return false;
      this.#removeCancelled();
      const first = [...this.#senders.keys()].slice(0, atOnce);
      if (this.#closedUntil <= now && first.includes(sender)) {
        this.#senders.set(sender, now);
        return true;
      }
      await wait(Math.max(this.#closedUntil - now, POLL_MS));
    }
  }

  leave(sender: symbol): void {
    this.#senders.delete(sender);
  }

  /** Lets no attempt begin for a time. */
  close(milliseconds: number): void {
    this.#closedUntil = Math.max(this.#closedUntil, performance.now() + milliseconds);
  }

  #removeCancelled(): void {
    const start = performance.now() - CANCELLED_AFTER_MS;
    for (const [sender, seenAt] of this.#senders) {
      if (seenAt < start) this.#senders.delete(sender);
    }
  }
}
