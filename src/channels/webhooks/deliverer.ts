import type { StoredDelivery } from '../../db/change.ts';
import type { Database } from '../../db/client.ts';
import type { Task } from '../../db/task.ts';
import { wait } from '../../lib/async.ts';
import { BoundedMap } from '../../lib/bounded-map.ts';
import { logFailure } from '../../lib/log.ts';
import type { Outbound } from '../../lib/outbound.ts';
import type { AddressSettings } from '../../lib/public-url.ts';
import { attempt, unsendable } from './attempt.ts';
import { FORMATS } from './formats.ts';
import { type Group, readMessages } from './messages.ts';
import { LEASE_MS } from './outgoing.ts';
import { Queue } from './queue.ts';
import {
  type Attempted,
  claimDue,
  DISABLE_QUERIES,
  deliveriesDueSince,
  disableWebhooks,
  findDisabled,
  releaseDeliveries,
  storeOutcomes,
} from './store.ts';

/** The queries of a round, at most: its claim, its messages, their names, outcomes stored twice, and what it gives back. */
const ROUND_QUERIES = 11;
const MAX_IN_ROUND = 100;
/** The scheduled handler begins no round after this time. */
const MAX_RUN_MS = 25_000;
/** The attempts of a run of the scheduled handler, or of a request, where the platform counts queries and requests. */
const AT_CLOUDFLARE = { attempts: 20, gatheringMs: 0, storesEachSecond: false };
/** First attempts wait for each other: together they need a fraction of the queries. */
const ON_ONE_MACHINE = { attempts: 5_000, gatheringMs: 250, storesEachSecond: true };
/** Attempts begin within this time of their lease, so that its rest is enough for one and for its outcome. */
const MAX_WAITING_MS = 15_000;
/** The time between the beginnings of two attempts. Together, they would hold up a validation. */
const SPACING_MS = 2;
/** After this time a round stores its first outcomes. Slow receivers have not responded yet. */
const STORING_MS = 1_000;
/** The wait for attempts under way at the stop. The lease of a slower one ends by itself. */
const MAX_DRAIN_MS = 5_000;
const DRAIN_POLL_MS = 20;
/** There are ten webhooks at a time. */
const MAX_QUEUES = 100;
const NOT_KEPT = 'The event is no longer kept';

/** A round of deliveries to several webhooks. */
interface Round {
  db: Database;
  /** The number of queries and requests that remain, where the database counts queries. */
  left: () => number;
  /** Called for each webhook when its attempts have ended. @param isWorking whether it can take more */
  onEnd: (webhookId: number, isWorking: boolean) => void;
}

/** Delivers events to webhooks (8). */
export class Deliverer {
  readonly #db: Database;
  readonly #outbound: Outbound;
  readonly #settings: AddressSettings;
  readonly #limits: typeof AT_CLOUDFLARE;
  /** By the ids of the webhooks. */
  readonly #queues = new BoundedMap<number, Queue>(MAX_QUEUES);
  /** New deliveries, for the request that gathers them. */
  #gathered: StoredDelivery[] = [];
  #gatheringUntil = 0;
  #nextBeginning = 0;
  /** Rounds whose outcomes are not stored yet. */
  #underWay = 0;
  #isStopping = false;

  constructor(
    db: Database,
    outbound: Outbound,
    settings: AddressSettings,
    isOnOneMachine: boolean,
  ) {
    this.#db = db;
    this.#outbound = outbound;
    this.#settings = settings;
    this.#limits = isOnOneMachine ? ON_ONE_MACHINE : AT_CLOUDFLARE;
  }

  get task(): Task {
    return {
      failure: 'Events were not delivered',
      most: 0,
      dueSince: deliveriesDueSince,
      run: async ({ db, left, spend }) => spend(await this.#deliverDue(db, left)),
    };
  }

  /** The ids of webhooks to which so much is under way that the scheduled handler makes further attempts. */
  get full(): number[] {
    return [...this.#queues].flatMap(([webhookId, queue]) => (queue.isFull ? webhookId : []));
  }

  /**
   * Makes the first attempts of new deliveries: these, and those of other requests that come meanwhile. It may leave them to
   * another request. A request that is cancelled leaves leases that end.
   */
  async gather(leased: readonly StoredDelivery[]): Promise<void> {
    this.#gathered.push(...leased);
    const now = performance.now();
    if (now < this.#gatheringUntil) return;
    this.#gatheringUntil = now + this.#limits.gatheringMs;
    await wait(this.#limits.gatheringMs);
    await this.deliver(this.#gathered.splice(0));
  }

  /** Attempts deliveries with a lease, and stores the outcomes. It never rejects: the lease ends otherwise. */
  async deliver(
    leased: readonly StoredDelivery[],
    round: Round = { db: this.#db, left: () => Number.POSITIVE_INFINITY, onEnd: () => undefined },
  ): Promise<void> {
    if (leased.length === 0) return;
    this.#underWay++;
    try {
      await this.#attemptAll(leased, round);
    } catch (error) {
      logFailure('Deliveries were cut off, and are repeated', error);
    } finally {
      this.#underWay--;
    }
  }

  /** Begins no more attempts, and resolves when the outcomes of those under way are stored. Part of the stop. */
  async drain(): Promise<void> {
    this.#isStopping = true;
    for (const queue of this.#queues.values()) queue.close(Number.POSITIVE_INFINITY);
    const until = performance.now() + MAX_DRAIN_MS;
    // Their leases are given back.
    await this.deliver(this.#gathered.splice(0));
    while (this.#underWay > 0 && performance.now() < until) await wait(DRAIN_POLL_MS);
  }

  /**
   * Attempts deliveries that are due, in rounds. A webhook gets more when its attempts have ended: a slow one leaves the
   * rounds to the others. One that fails gets no more in this run.
   *
   * @returns the number of attempts
   */
  async #deliverDue(db: Database, left: () => number): Promise<number> {
    const until = performance.now() + MAX_RUN_MS;
    const rounds = new Set<Promise<void>>();
    const underWay = new Set<number>();
    const failing = new Set<number>();
    let made = 0;
    let ended = Promise.withResolvers<void>();
    const onEnd = (webhookId: number, isWorking: boolean): void => {
      underWay.delete(webhookId);
      if (!isWorking) failing.add(webhookId);
      ended.resolve();
    };
    try {
      while (!this.#isStopping && performance.now() < until) {
        ended = Promise.withResolvers();
        const pending = underWay.size > 0 ? rounds.size : 0;
        const free = left() - made - ROUND_QUERIES * (pending + 1);
        const room = Math.min(this.#limits.attempts - made, MAX_IN_ROUND, free);
        if (room <= 0) break;
        const busy = [...underWay, ...failing, ...this.full];
        const claimed = await claimDue(db, room, busy, Date.now());
        made += claimed.length;
        for (const { webhookId } of claimed) underWay.add(webhookId);
        if (claimed.length > 0) {
          const round = this.deliver(claimed, { db, left, onEnd }).finally(() => {
            rounds.delete(round);
            ended.resolve();
          });
          rounds.add(round);
        } else if (underWay.size === 0 || rounds.size === 0) break;
        await ended.promise;
      }
    } finally {
      await Promise.all(rounds);
    }
    return made;
  }

  async #attemptAll(leased: readonly StoredDelivery[], { db, left, onEnd }: Round): Promise<void> {
    const groups = await readMessages(db, this.#settings, leased.slice(0, this.#limits.attempts));
    const leasedAt = Math.min(...leased.map(({ leaseUntil }) => leaseUntil ?? 0)) - LEASE_MS;
    const waitMs = this.#isStopping ? 0 : leasedAt + MAX_WAITING_MS - Date.now();
    const until = performance.now() + waitMs;
    const attempted: Attempted[] = [];
    const ended: { webhookId: number; isWorking: boolean }[] = [];
    const released = leased.slice(this.#limits.attempts);
    let hasEnded = false;
    const sending = Promise.all(
      groups.map(async (group) => {
        const { rest, isWorking } = await this.#send(group, until, attempted);
        released.push(...rest);
        ended.push({ webhookId: group.webhook.id, isWorking });
      }),
    ).then(() => {
      hasEnded = true;
    });
    const store = async (): Promise<void> => {
      const [some, finished] = [attempted.splice(0), ended.splice(0)];
      const now = Date.now();
      await storeOutcomes(db, some, now);
      const off = findDisabled(some, now);
      // With too few queries left, the next failure switches off.
      if (off.length > 0 && off.length + DISABLE_QUERIES <= left()) {
        await disableWebhooks(db, off, now);
      }
      for (const { webhookId, isWorking } of finished) onEnd(webhookId, isWorking);
    };
    do {
      await Promise.race([sending, wait(STORING_MS)]);
      await store();
    } while (this.#limits.storesEachSecond && !hasEnded);
    await sending;
    await releaseDeliveries(db, released, Date.now());
    await store();
  }

  /**
   * Makes the attempts of a group, some at once.
   *
   * @param attempted gets the outcomes
   * @returns the deliveries without an attempt, and whether the webhook can take more
   */
  async #send({ webhook, messages }: Group<StoredDelivery>, until: number, attempted: Attempted[]) {
    const { atOnce } = FORMATS[webhook.format];
    const queue = this.#queueOf(webhook.id);
    const waiting = [...messages];
    let hasSuccess = false;
    let isStopped = false;
    const send = async (): Promise<void> => {
      const place = queue.join();
      try {
        while (waiting.length > 0 && (await queue.isAtFront(place, atOnce, until)) && !isStopped) {
          const next = waiting.shift();
          if (!next) return;
          const { delivery, body } = next;
          await this.#takeBeginning();
          const outcome =
            body === null
              ? unsendable(NOT_KEPT, delivery.step)
              : await attempt(this.#outbound, webhook, { ...delivery, body }, Date.now());
          attempted.push({ delivery, webhook, outcome });
          queue.close(outcome.closedMs);
          if (outcome.isWorking) hasSuccess = true;
          if (outcome.pausedUntil !== null || outcome.goneReason !== null) isStopped = true;
        }
      } finally {
        queue.leave(place);
      }
    };
    await Promise.all(Array.from({ length: Math.min(atOnce, waiting.length) }, send));
    const rest = waiting.map(({ delivery }) => delivery);
    return { rest, isWorking: hasSuccess && !isStopped && rest.length === 0 };
  }

  #queueOf(webhookId: number): Queue {
    const queue = this.#queues.get(webhookId) ?? new Queue();
    // The one that was used longest ago is removed first.
    this.#queues.set(webhookId, queue);
    return queue;
  }

  /** Waits until another attempt may begin in this isolate. */
  async #takeBeginning(): Promise<void> {
    const now = performance.now();
    const beginning = Math.max(now, this.#nextBeginning);
    this.#nextBeginning = beginning + SPACING_MS;
    if (beginning > now) await wait(beginning - now);
  }
}
