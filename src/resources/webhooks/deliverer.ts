import { DAY_MS } from '@licet/contract/durations';
import type { Database } from '../../db/client.ts';
import type { StoredDelivery } from '../../db/deliveries.ts';
import { logFailure } from '../../lib/log.ts';
import type { Outbound } from '../../lib/outbound.ts';
import { attempt, type Outcome, type Sending } from './attempt.ts';
import { Lanes } from './lanes.ts';
import { type BodyOf, readBodies } from './messages.ts';
import {
  type Claimed,
  claimDue,
  disableWebhook,
  findClaimed,
  releaseDeliveries,
  storeOutcomes,
} from './store.ts';

/** Attempts under way at once for a webhook in an isolate. Discord counts them: one after the other. */
const MAX_AT_ONCE = { standard: 20, discord: 1 } as const;
const MAX_FAILING_MS = 5 * DAY_MS;
const FAILED_TOO_LONG = 'No delivery has succeeded for five days';
const NOT_KEPT = 'The event is no longer kept';

/** The work of one run of the scheduled handler. */
interface RunLimits {
  attempts: number;
  rounds: number;
  durationMs: number;
}
/** The queries of a round, at most: its claim, its deliveries, their names, and the outcomes. */
const ROUND_QUERIES = 8;
const RUN_AT_CLOUDFLARE: RunLimits = { attempts: 20, rounds: 2, durationMs: 25_000 };
const RUN_ON_ONE_MACHINE: RunLimits = { attempts: 5_000, rounds: 200, durationMs: 25_000 };
/** Attempts of a round. */
const MAX_IN_ROUND = 100;

/** Delivers events to webhooks (8). */
export class Deliverer {
  readonly #db: Database;
  readonly #outbound: Outbound;
  readonly #run: RunLimits;
  readonly #lanes = new Lanes();

  constructor(db: Database, outbound: Outbound, isOnOneMachine: boolean) {
    this.#db = db;
    this.#outbound = outbound;
    this.#run = isOnOneMachine ? RUN_ON_ONE_MACHINE : RUN_AT_CLOUDFLARE;
  }

  /** Attempts deliveries with a lease, and stores the outcomes. It never rejects: the lease ends otherwise. */
  async deliver(leased: readonly StoredDelivery[]): Promise<void> {
    try {
      await this.#attemptAll(this.#db, leased);
    } catch (error) {
      logFailure('Deliveries were cut off, and are repeated', error);
    }
  }

  /**
   * Attempts deliveries that are due, a bounded number of them.
   *
   * @param left the number of queries and requests that remain, where the database counts queries
   */
  async deliverDue(db: Database, left: () => number): Promise<void> {
    const { attempts, rounds, durationMs } = this.#run;
    const startedAt = Date.now();
    let made = 0;
    for (let round = 0; round < rounds; round++) {
      const now = Date.now();
      const room = Math.min(attempts - made, MAX_IN_ROUND, left() - made - ROUND_QUERIES);
      if (room <= 0 || now - startedAt > durationMs) return;
      const claimed = await claimDue(db, room, now);
      if (claimed.length === 0) return;
      await this.#attemptAll(db, claimed);
      made += claimed.length;
    }
  }

  async #attemptAll(db: Database, leased: readonly StoredDelivery[]): Promise<void> {
    const claimed = await findClaimed(db, leased);
    const bodyOf = await readBodies(db, claimed);
    const results = await Promise.all(
      claimed.map(async (one) => ({ ...one, outcome: await this.#attempt(one, bodyOf) })),
    );
    const attempted = results.flatMap(({ outcome, ...one }) =>
      outcome ? { ...one, outcome } : [],
    );
    const now = Date.now();
    await storeOutcomes(db, attempted, now);
    await releaseDeliveries(
      db,
      results.filter(({ outcome }) => outcome === undefined),
      now,
    );
    for (const [webhookId, reason] of reasonsToDisable(attempted, now)) {
      await disableWebhook(db, webhookId, reason, now);
    }
  }

  /** @returns undefined if the webhook has too many attempts under way */
  async #attempt(claimed: Claimed, bodyOf: BodyOf): Promise<Outcome | undefined> {
    const { webhookId, id, step, url, format } = claimed;
    const body = bodyOf(claimed);
    if (body === null) return failedForGood(NOT_KEPT, step);
    const leave = await this.#lanes.enter(webhookId, MAX_AT_ONCE[format]);
    if (!leave) return undefined;
    try {
      const sending: Sending = { id, step, url, format, secrets: secretsOf(claimed), body };
      const outcome = await attempt(this.#outbound, sending, Date.now());
      if (outcome.closedMs > 0) this.#lanes.close(webhookId, outcome.closedMs);
      return outcome;
    } finally {
      leave();
    }
  }
}

function secretsOf({ secret, previousSecret, previousSecretUntil }: Claimed): string[] {
  const isOld = previousSecretUntil === null || previousSecretUntil <= Date.now();
  return previousSecret === null || isOld ? [secret] : [secret, previousSecret];
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
function reasonsToDisable(
  attempted: readonly (Claimed & { outcome: Outcome })[],
  now: number,
): Map<number, string> {
  const working = new Set(
    attempted.flatMap(({ webhookId, outcome }) => (outcome.isWorking ? webhookId : [])),
  );
  const reasons = new Map<number, string>();
  for (const { webhookId, failingSince, outcome } of attempted) {
    const isFailing = outcome.isWorking === false && !working.has(webhookId);
    const isTooLong = failingSince !== null && now - failingSince >= MAX_FAILING_MS;
    const reason = outcome.goneReason ?? (isFailing && isTooLong ? FAILED_TOO_LONG : null);
    if (reason !== null) reasons.set(webhookId, reason);
  }
  return reasons;
}
