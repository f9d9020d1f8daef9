import type { VirtualClock } from './clock.ts';
import { roundTrip } from './invocation.ts';
import type { Link } from './link.ts';
import type { Random } from './random.ts';

interface Stored {
  id: string;
  /** As it is sent: nothing of the sender's memory. */
  json: string;
  sentAt: number;
  attempts: number;
}

interface SendOptions {
  delaySeconds?: number;
}

/** What becomes of a message after its batch. */
type Verdict = { ack: boolean; delaySeconds: number };

/** The MessageBatch that a consumer is given, and what it said of the messages. */
export interface Delivery {
  batch: object;
  /**
   * Every message is acknowledged or to be repeated as said, the others as the batch ended. Only the
   * first call counts.
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
 * A queue with the platform's promise, at least once: messages come in batches, late, in any order,
 * and some of them twice. What fails is repeated; after too many times it is a dead letter.
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

  /** Whether nothing is stored and nothing being delivered. */
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
      // Others that become ready meanwhile join the batch.
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
    const verdicts = new Map<Stored, Verdict>();
    const judge = (message: Stored, ack: boolean, { delaySeconds = 0 }: SendOptions = {}): void => {
      // The first word counts, as on the platform.
      if (!verdicts.has(message)) verdicts.set(message, { ack, delaySeconds });
    };
    const judgeAll = (ack: boolean, options?: SendOptions): void => {
      for (const message of stored) judge(message, ack, options);
    };
    const batch = {
      queue: 'records',
      messages: stored.map((message) => ({
        id: message.id,
        timestamp: new Date(message.sentAt),
        attempts: message.attempts + 1,
        body: JSON.parse(message.json),
        ack: () => judge(message, true),
        retry: (options?: SendOptions) => judge(message, false, options),
      })),
      ackAll: () => judgeAll(true),
      retryAll: (options?: SendOptions) => judgeAll(false, options),
    };
    let isFinished = false;
    const finish = (hasSucceeded: boolean): void => {
      if (isFinished) return;
      isFinished = true;
      judgeAll(hasSucceeded);
      for (const [message, verdict] of verdicts) this.#settle(message, verdict);
    };
    return { batch, finish };
  }

  #settle(message: Stored, { ack, delaySeconds }: Verdict): void {
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
