import { DAY_MS } from '@licet/contract/durations';
import type { Database } from '../../db/client.ts';
import type { StoredDelivery } from '../../db/deliveries.ts';
import { wait } from '../../lib/async.ts';
import { logFailure } from '../../lib/log.ts';
import type { Outbound } from '../../lib/outbound.ts';
import type { AddressSettings } from '../../lib/public-url.ts';
import { attempt, type Outcome, type Sending } from './attempt.ts';
import { Lanes } from './lanes.ts';
import { type BodyOf, readBodies } from './messages.ts';
import { Shares } from './shares.ts';
import {
  type Attempted,
  type Claimed,
  claimDue,
  DISABLE_QUERIES,
  type DisabledWebhook,
  disableWebhooks,
  findClaimed,
  releaseDeliveries,
  storeOutcomes,
} from './store.ts';

/** Attempts under way at once for a webhook in an isolate. Discord counts them: one after the other. */
const MAX_AT_ONCE = { standard: 8, discord: 1 } as const;
const MAX_FAILING_MS = 5 * DAY_MS;
const FAILED_TOO_LONG = 'No delivery has succeeded for five days';
const NOT_KEPT = 'The event is no longer kept';

/** The work of one run of the scheduled handler, and of one request for the changes of others. */
interface RunLimits {
  attempts: number;
  rounds: number;
  durationMs: number;
  /** The first attempts for each webhook. */
  share: number;
  group: number;
  gatherMs: number;
}
/** The queries of a round, at most: its claim, its deliveries, their names, and the outcomes. */
const ROUND_QUERIES = 8;
const RUN_AT_CLOUDFLARE: RunLimits = {
  attempts: 20,
  rounds: 2,
  durationMs: 25_000,
  share: 20,
  group: 10,
  gatherMs: 0,
};
/** One isolate makes all first attempts: together, they cost the validations beside them a third of the queries. */
const RUN_ON_ONE_MACHINE: RunLimits = {
  attempts: 5_000,
  rounds: 200,
  durationMs: 25_000,
  share: MAX_AT_ONCE.standard,
  group: 100,
  gatherMs: 50,
};
/** A request that gathers for longer was cancelled. */
const CANCELLED_AFTER_MS = 1_000;
/** The time between the beginnings of two attempts. */
const SPACING_MS = 2;
/** After this time a round stores its first outcomes, and the next round begins. Slow receivers are stored at its end. */
const FIRST_OUTCOMES_MS = 1_000;

/** Attempts of a round. */
const MAX_IN_ROUND = 100;
/** The wait for attempts under way at the stop. The lease of a slower one ends by itself. */
const MAX_DRAIN_MS = 5_000;
const DRAIN_POLL_MS = 20;

/** Delivers events to webhooks (8). */
export class Deliverer {
  readonly #db: Database;
  readonly #outbound: Outbound;
  readonly #settings: AddressSettings;
  readonly #run: RunLimits;
  readonly #lanes = new Lanes();
  /** New deliveries, which the request that gathers attempts. */
  #gathered: StoredDelivery[] = [];
  #gatheringSince = Number.NEGATIVE_INFINITY;
  /** Groups of attempts whose outcomes are not stored yet. */
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
    this.#run = isOnOneMachine ? RUN_ON_ONE_MACHINE : RUN_AT_CLOUDFLARE;
  }

  /**
   * Makes the first attempts of new deliveries: these, and those of other requests that come within some milliseconds.
   * It may leave them to another request. A request that is cancelled leaves leases that end.
   */
  async gather(leased: readonly StoredDelivery[]): Promise<void> {
    this.#gathered.push(...leased);
    const now = performance.now();
    const isGathering = now - this.#gatheringSince < CANCELLED_AFTER_MS;
    if (isGathering && this.#gathered.length < this.#run.group) return;
    this.#gatheringSince = now;
    await wait(this.#run.gatherMs);
    if (this.#gatheringSince === now) this.#gatheringSince = Number.NEGATIVE_INFINITY;
    await this.deliver(this.#gathered.splice(0));
  }

  /**
   * Attempts deliveries with a lease, and stores the outcomes. It never rejects: the lease ends otherwise.
   *
   * @param left the number of queries and requests that remain, where the database counts queries
   */
  async deliver(
    leased: readonly StoredDelivery[],
    db = this.#db,
    left = () => Number.POSITIVE_INFINITY,
    shares?: Shares,
  ): Promise<void> {
    if (leased.length === 0) return;
    this.#underWay++;
    try {
      await this.#attemptAll(db, leased, left, shares);
    } catch (error) {
      logFailure('Deliveries were cut off, and are repeated', error);
    } finally {
      this.#underWay--;
    }
  }

  /**
   * Attempts deliveries that are due, a bounded number of them. A round begins while slow receivers of the one before have
   * not responded yet.
   *
   * @param left see {@link deliver}
   */
  async deliverDue(db: Database, left: () => number): Promise<void> {
    const { attempts, rounds, durationMs, share } = this.#run;
    const startedAt = Date.now();
    const shares = new Shares(share);
    const underWay = new Set<Promise<void>>();
    let made = 0;
    try {
      for (let round = 0; round < rounds && !this.#isStopping; round++) {
        const now = Date.now();
        const reserved = ROUND_QUERIES * (underWay.size + 1);
        const room = Math.min(attempts - made, MAX_IN_ROUND, left() - made - reserved);
        if (room <= 0 || now - startedAt > durationMs) break;
        const claimed = await claimDue(db, room, shares, now);
        if (claimed.length === 0 && underWay.size === 0) break;
        made += claimed.length;
        const delivering = this.deliver(claimed, db, left, shares).finally(() =>
          underWay.delete(delivering),
        );
        underWay.add(delivering);
        // Without new deliveries, slow receivers have as many as they can take.
        const first = claimed.length === 0 ? [] : [delivering];
        await Promise.race([...first, wait(FIRST_OUTCOMES_MS)]);
      }
    } finally {
      await Promise.all(underWay);
    }
  }

  /** Begins no more attempts, and resolves when the outcomes of those under way are stored. Part of the stop. */
  async drain(): Promise<void> {
    this.#isStopping = true;
    const until = performance.now() + MAX_DRAIN_MS;
    // Their leases are given back.
    await this.deliver(this.#gathered.splice(0));
    while (this.#underWay > 0 && performance.now() < until) await wait(DRAIN_POLL_MS);
  }

  async #attemptAll(
    db: Database,
    leased: readonly StoredDelivery[],
    left: () => number,
    shares: Shares | undefined,
  ): Promise<void> {
    const claimed = await findClaimed(db, leased);
    const bodyOf = await readBodies(db, this.#settings, claimed);
    let finished: Attempted[] = [];
    const released: Claimed[] = [];
    const stopped = new Set<number>();
    const attempting = Promise.all(
      claimed.map(async (one, index) => {
        shares?.begin(one.webhookId);
        // One after the other: together, they would hold up a validation.
        await wait(index * SPACING_MS);
        const outcome = await this.#attempt(one, bodyOf, stopped);
        shares?.end(one.webhookId, outcome !== undefined);
        if (outcome) finished.push({ ...one, outcome });
        else released.push(one);
      }),
    );
    const store = async (): Promise<void> => {
      const attempted = finished;
      finished = [];
      const now = Date.now();
      await storeOutcomes(db, attempted, now);
      const off = reasonsToDisable(attempted, now);
      // With too few queries left, the next failure switches off.
      if (off.length > 0 && off.length + DISABLE_QUERIES <= left()) {
        await disableWebhooks(db, off, now);
      }
    };
    await Promise.race([attempting, wait(FIRST_OUTCOMES_MS)]);
    await store();
    await attempting;
    await store();
    await releaseDeliveries(db, released, Date.now());
  }

  /**
   * @param stopped the webhooks that want no more attempts
   * @returns undefined for one of them, for one that has too many attempts under way, and at the stop
   */
  async #attempt(
    claimed: Claimed,
    bodyOf: BodyOf,
    stopped: Set<number>,
  ): Promise<Outcome | undefined> {
    const { webhookId, id, step, url, format } = claimed;
    const body = bodyOf(claimed);
    if (body === null) return failedForGood(NOT_KEPT, step);
    const leave = this.#isStopping
      ? undefined
      : await this.#lanes.enter(webhookId, MAX_AT_ONCE[format]);
    if (!leave) return undefined;
    try {
      if (stopped.has(webhookId) || this.#isStopping) return undefined;
      const sending: Sending = { id, step, url, format, secrets: secretsOf(claimed), body };
      const outcome = await attempt(this.#outbound, sending, Date.now());
      if (outcome.pausedUntil !== null || outcome.goneReason !== null) stopped.add(webhookId);
      this.#lanes.close(webhookId, outcome.closedMs);
      return outcome;
    } finally {
      leave();
    }
  }
}

function secretsOf({ secret, previousSecret, previousSecretUntil }: Claimed): string[] {
  const isOld = previousSecretUntil === null || previousSecretUntil <= Date.now();
  return previousSecret === null || isOld ? [secret] : [secret, ...previousSecret.split(' ')];
}

const failedForGood = (error: string, step: number): Outcome => ({
  status: null,
  error,
  response: null,
  durationMs: null,
  step,
  nextAt: null,
  pausedUntil: null,
  goneReason: null,
  isWorking: null,
  closedMs: 0,
});

/** The webhooks to switch off, with the reasons. */
function reasonsToDisable(attempted: readonly Attempted[], now: number): DisabledWebhook[] {
  const working = new Set(
    attempted.flatMap(({ webhookId, outcome }) => (outcome.isWorking ? webhookId : [])),
  );
  const reasons = new Map<number, DisabledWebhook>();
  for (const { webhookId, url, failingSince, outcome } of attempted) {
    const isFailing = outcome.isWorking === false && !working.has(webhookId);
    const isTooLong = failingSince !== null && now - failingSince >= MAX_FAILING_MS;
    const reason = outcome.goneReason ?? (isFailing && isTooLong ? FAILED_TOO_LONG : null);
    if (reason === null) continue;
    const isGone = outcome.goneReason !== null;
    reasons.set(webhookId, {
      id: webhookId,
      url,
      failingSince: isGone ? null : failingSince,
      reason,
    });
  }
  return [...reasons.values()];
}
