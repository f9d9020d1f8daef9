import type { VirtualClock } from './clock.ts';
import { type Link, roundTrip } from './network.ts';
import type { Random } from './random.ts';

interface Stored {
  /** As it is sent: without references to the sender's memory. */
  json: string;
  attempts: number;
}

/** A MessageBatch, and the function that ends its delivery. Only its first call counts. */
export interface Delivery {
  batch: object;
  finish: (hasSucceeded: boolean) => void;
}

const MAX_BATCH = 10;
const MAX_WAIT_MS = 5_000;
const MAX_LATE_MS = 60_000;
const LATE_CHANCE = 0.1;
const DUPLICATE_CHANCE = 0.15;

/**
 * A queue that delivers at least once: messages come in batches, late, in any order, and some of them twice.
 * A message that fails is delivered again, until it is acknowledged.
 */
export class FakeQueue {
  readonly #clock: VirtualClock;
  readonly #random: Random;
  readonly #deliver: (delivery: Delivery) => void;
  readonly #ready: Stored[] = [];
  #unfinished = 0;

  /** @param deliver gives a batch to a consumer, which then calls `finish` */
  constructor(clock: VirtualClock, random: Random, deliver: (delivery: Delivery) => void) {
    this.#clock = clock;
    this.#random = random;
    this.#deliver = deliver;
  }

  /** Whether no message is stored or under way. */
  get isEmpty(): boolean {
    return this.#unfinished === 0;
  }

  /** The producer binding of an isolate. */
  binding(link: Link) {
    return {
      send: (body: unknown) => {
        const json = JSON.stringify(body);
        return roundTrip(this.#clock, link, () => this.#store({ json, attempts: 1 }, 0));
      },
    };
  }

  #store(message: Stored, delayMs: number): void {
    this.#unfinished++;
    const lateMs = this.#random.chance(LATE_CHANCE) ? MAX_LATE_MS : MAX_WAIT_MS;
    this.#clock.at(this.#clock.now + delayMs + this.#random.below(lateMs), () => {
      // In any order. Messages that become ready meanwhile join the batch.
      this.#ready.splice(this.#random.below(this.#ready.length + 1), 0, message);
      this.#clock.at(this.#clock.now + this.#random.below(MAX_WAIT_MS), () => this.#sendOut());
    });
  }

  #sendOut(): void {
    const stored = this.#ready.splice(0, MAX_BATCH);
    if (stored.length === 0) return;
    /** Null for a message that is acknowledged. */
    const retryDelays = new Map<Stored, number | null>();
    const messages = stored.map((message) => ({
      attempts: message.attempts,
      body: JSON.parse(message.json),
      ack: () => retryDelays.set(message, null),
      retry: ({ delaySeconds = 0 } = {}) => retryDelays.set(message, delaySeconds * 1000),
    }));
    let isFinished = false;
    const finish = (hasSucceeded: boolean): void => {
      if (isFinished) return;
      isFinished = true;
      for (const message of stored) {
        const undecided = hasSucceeded ? null : 0;
        const delayMs = retryDelays.get(message);
        this.#settle(message, delayMs === undefined ? undecided : delayMs);
      }
    };
    this.#deliver({ batch: { queue: 'records', messages }, finish });
  }

  #settle({ json, attempts }: Stored, retryDelayMs: number | null): void {
    this.#unfinished--;
    const next = { json, attempts: attempts + 1 };
    if (retryDelayMs !== null) this.#store(next, retryDelayMs);
    else if (this.#random.chance(DUPLICATE_CHANCE)) this.#store(next, 0);
  }
}
