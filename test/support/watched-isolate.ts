import { env } from 'cloudflare:workers';
import type { Bindings } from '../../src/isolate';
import { type Isolate, newIsolate } from './app';
import { interceptDatabase, type SentStatement } from './d1-intercept';
import type { RoundTrips } from './d1-spy';
import { databaseError, type Fault } from './faults';
import { type KvOperation, spyOnKv } from './kv-spy';
import { askForUnknown } from './shop';
import { type Step, stepOf } from './steps';

/** What reaches the database and KV, and how. A test changes it while the isolate runs. */
export interface Conditions {
  /** What becomes of a round trip, from its step and its statements. */
  database: (step: Step, trip: readonly SentStatement[]) => Fault | Promise<Fault>;
  /** What an answer of the database waits for on its way. */
  answer?: ((step: Step) => Promise<void> | undefined) | undefined;
  /** Whether an operation of KV fails. */
  kv: (operation: KvOperation) => boolean | Promise<boolean>;
}

/** An isolate whose every round trip to the database and to KV is seen, and can be disturbed. */
export interface WatchedIsolate extends Isolate {
  conditions: Conditions;
  /** Those that reached the database, to the end or not. */
  roundTrips: RoundTrips;
  /** What they were for, in the order in which they were sent. */
  steps(): Step[];
  /** What was asked of KV. */
  operations: KvOperation[];
  kvNames(): KvOperation['name'][];
  /** Counts from here on. */
  reset(): void;
}

/** One that has heard from the database a moment ago, and knows the blacklist. */
export async function newIsolateInTouch(bindings: Partial<Bindings> = {}): Promise<WatchedIsolate> {
  const isolate = newWatchedIsolate(bindings);
  await (await isolate.validate(askForUnknown())).recorded;
  isolate.reset();
  return isolate;
}

export function newWatchedIsolate(bindings: Partial<Bindings> = {}): WatchedIsolate {
  const conditions: Conditions = { database: () => null, kv: () => false };
  const roundTrips: RoundTrips = [];
  const DB = interceptDatabase(env.DB, async (statements, send) => {
    const sql = statements.map((statement) => statement.sql).join(';\n');
    const fault = await conditions.database(stepOf(statements), statements);
    if (fault === 'fails') throw databaseError(sql);
    roundTrips.push(statements);
    const { answer } = conditions;
    const result = await send();
    await answer?.(stepOf(statements));
    if (fault === 'answer is lost') throw databaseError(sql);
    return result;
  });
  const { spy: SNAPSHOTS, operations } = spyOnKv(env.SNAPSHOTS, (operation) =>
    conditions.kv(operation),
  );
  return {
    ...newIsolate({ ...bindings, DB, SNAPSHOTS }),
    conditions,
    roundTrips,
    steps: () => roundTrips.map(stepOf),
    operations,
    kvNames: () => operations.map(({ name }) => name),
    reset() {
      roundTrips.length = 0;
      operations.length = 0;
    },
  };
}
