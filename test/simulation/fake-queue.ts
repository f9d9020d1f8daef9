import type { VirtualClock } from './clock.ts';
import { roundTrip } from './invocation.ts';
import type { Link } from './link.ts';
import type { Random } from './random.ts';

interface Stored {
  id: string;
  /** As it is sent: without references to the sender's memory. */
  json: string;
  sentAt: number;
  attempts: number;
}

interface SendOptions {
  delaySeconds?: number;
}

/** The end of a delivery. */
type Acknowledgement = { ack: boolean; delaySeconds: number };

/** A MessageBatch, and the function that ends its delivery. */
export interface Delivery {
  batch: object;
  /**
   * Messages are acknowledged or repeated as the consumer decided, and those without a decision as the batch
   * ended. Only the first call counts.
   */
  finish: (hasSucceeded: boolean) => void;
}

const MAX_BATCH = 10;
const MAX_WAIT_MS = 5_000;
const MAX_RETRIES = 10;
const MAX_RETRY_MS = 15_000;
const MAX_LATE_MS = 60_000;
const LATE_CHANCE = 0.1;
const DUPLICATE_CHANCE = 0.15;

/**
 * A queue that delivers at least once: messages come in batches, late, in any order, and some of them twice.
 * A message that fails is repeated, and after the last retry becomes a dead letter.
 */
export class FakeQueue {
  /** Messages given up, as JSON. */
  readonly deadLetters: string[] = [];

  readonly #clock: VirtualClock;
  readonly #random: Random;
  readonly #deliver: (delivery: Delivery) => void;
  #ready: Stored[] = [];
  #unfinished = 0;
  #sent = 0;

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
  binding(link: Link): object {
    const send = (messages: readonly { body: unknown; delaySeconds?: number }[]) => {
      const stored = messages.map(({ body, delaySeconds = 0 }) => ({
        json: JSON.stringify(body),
        delaySeconds,
      }));
      return roundTrip(this.#clock, link, () => {
        for (const { json, delaySeconds } of stored) {
          const id = String(this.#sent++);
          this.#store({ id, json, sentAt: this.#clock.now, attempts: 0 }, delaySeconds * 1000);
        }
      });
    };
    return {
      send: (body: unknown, options: SendOptions = {}) => send([{ ...options, body }]),
      sendBatch: (
        messages: Iterable<{ body: unknown; delaySeconds?: number }>,
        options: SendOptions = {},
      ) => send([...messages].map((message) => ({ ...options, ...message }))),
    };
  }

  #store(message: Stored, delayMs: number): void {
    this.#unfinished++;
    const lateMs = this.#random.chance(LATE_CHANCE) ? MAX_LATE_MS : MAX_WAIT_MS;
    this.#clock.at(this.#clock.now + delayMs + this.#random.below(lateMs), () => {
      this.#ready.push(message);
      // Messages that become ready meanwhile join the batch.
      this.#clock.at(this.#clock.now + this.#random.below(MAX_WAIT_MS), () => this.#sendOut());
    });
  }

  #sendOut(): void {
    if (this.#ready.length === 0) return;
    const shuffled = this.#random.shuffle(this.#ready);
    this.#ready = shuffled.slice(MAX_BATCH);
    this.#deliver(this.#delivery(shuffled.slice(0, MAX_BATCH)));
    this.#sendOut();
  }

  #delivery(stored: readonly Stored[]): Delivery {
    const results = new Map<Stored, Acknowledgement>();
    const settleOne = (
      message: Stored,
      ack: boolean,
      { delaySeconds = 0 }: SendOptions = {},
    ): void => {
      // The first call counts, as on the platform.
      if (!results.has(message)) results.set(message, { ack, delaySeconds });
    };
    const settleAll = (ack: boolean, options?: SendOptions): void => {
      for (const message of stored) settleOne(message, ack, options);
    };
    const batch = {
      queue: 'records',
      messages: stored.map((message) => ({
        id: message.id,
        timestamp: new Date(message.sentAt),
        attempts: message.attempts + 1,
        body: JSON.parse(message.json),
        ack: () => settleOne(message, true),
        retry: (options?: SendOptions) => settleOne(message, false, options),
      })),
      ackAll: () => settleAll(true),
      retryAll: (options?: SendOptions) => settleAll(false, options),
    };
    let isFinished = false;
    const finish = (hasSucceeded: boolean): void => {
      if (isFinished) return;
      isFinished = true;
      settleAll(hasSucceeded);
      for (const [message, result] of results) this.#settle(message, result);
    };
    return { batch, finish };
  }

  #settle(message: Stored, { ack, delaySeconds }: Acknowledgement): void {
    this.#unfinished--;
    const next = { ...message, attempts: message.attempts + 1 };
    if (ack) {
      if (this.#random.chance(DUPLICATE_CHANCE)) this.#store(next, 0);
    } else if (next.attempts > MAX_RETRIES) {
      this.deadLetters.push(message.json);
    } else {
      this.#store(next, delaySeconds * 1000 + this.#random.below(MAX_RETRY_MS));
    }
  }
}
