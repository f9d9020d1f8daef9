interface Share {
  /** Attempts without an outcome. */
  open: number;
  /** Attempts with one. */
  ended: number;
}

/**
 * The attempts of a run of the scheduled handler, for each webhook: a few at first, and one more for each that ends. A slow
 * receiver gets no more than it can take, and leaves the rounds to the others.
 */
export class Shares {
  /** The room of a webhook that has had no attempts in this run. */
  readonly first: number;
  readonly #shares = new Map<number, Share>();

  constructor(first: number) {
    this.first = first;
  }

  /** The room of the other webhooks, by their ids. */
  rooms(): Record<number, number> {
    const rooms = [...this.#shares].map(([webhookId, { open, ended }]) => [
      webhookId,
      Math.max(this.first + ended - open, 0),
    ]);
    return Object.fromEntries(rooms);
  }

  begin(webhookId: number): void {
    const share = this.#shares.get(webhookId) ?? { open: 0, ended: 0 };
    share.open++;
    this.#shares.set(webhookId, share);
  }

  /** @param isAttempted whether it had room in its lane */
  end(webhookId: number, isAttempted: boolean): void {
    const share = this.#shares.get(webhookId);
    if (!share) return;
    share.open--;
    if (isAttempted) share.ended++;
  }
}
