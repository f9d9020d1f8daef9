import { env } from 'cloudflare:workers';
import { type Isolate, newIsolate, type TestBindings } from './app.ts';
import { interceptDatabase, type SentStatement } from './d1-intercept.ts';
import type { RoundTrips } from './d1-spy.ts';
import { databaseError, type Fault } from './faults.ts';
import { type KvOperation, spyOnKv } from './kv-spy.ts';
import { askForUnknown } from './shop.ts';

/** The purposes of round trips to D1, and the statement that tells each of them. */
const STEPS = {
  record: 'insert into "requests"',
  bind: 'insert into "bindings"',
  'check revision': 'as "isCurrent"',
  'token used': 'update "tokens" set "last_used_at"',
  policy: '"offline_days" > 0',
  token: '"token_hash" in',
  license: '"license_key_normalized" in',
};

export type Step = keyof typeof STEPS | 'other';

const isStep = (name: string): name is keyof typeof STEPS => name in STEPS;
const NAMES = Object.keys(STEPS).filter(isStep);

/** The purpose of a round trip of a validation or a publisher. */
const stepOf = (trip: readonly Pick<SentStatement, 'sql'>[]): Step =>
  NAMES.find((name) => trip.some(({ sql }) => sql.includes(STEPS[name]))) ?? 'other';

/** How D1 and KV behave towards an isolate. A test changes it while the isolate runs. */
export interface Conditions {
  /** The fault of a round trip to D1, by its step and its statements. */
  database: (step: Step, trip: readonly SentStatement[]) => Fault | Promise<Fault>;
  /** Delays a response of D1 until a promise is settled. */
  response?: ((step: Step) => Promise<void> | undefined) | undefined;
  /** Whether an operation of KV fails. */
  kv: (operation: KvOperation) => boolean | Promise<boolean>;
  /** All that this location of KV shows; undefined for the current contents. */
  location?: ReadonlyMap<string, string> | undefined;
}

/** An isolate whose every round trip to D1 and KV is listed, and can be disturbed. */
export interface WatchedIsolate extends Isolate {
  conditions: Conditions;
  /** Those that reached D1, in the order in which they were sent. */
  roundTrips: RoundTrips;
  steps(): Step[];
  /** All operations that were sent to KV. */
  operations: KvOperation[];
  kvNames(): KvOperation['name'][];
  reset(): void;
}

/** An isolate that knows the policy, and no license. */
export async function newWarmIsolate(bindings: TestBindings = {}): Promise<WatchedIsolate> {
  const isolate = newWatchedIsolate(bindings);
  await (await isolate.validate(askForUnknown())).recorded;
  isolate.reset();
  return isolate;
}

export function newWatchedIsolate(bindings: TestBindings = {}): WatchedIsolate {
  const conditions: Conditions = { database: () => null, kv: () => false };
  const roundTrips: RoundTrips = [];
  const DB = interceptDatabase(env.DB, async (statements, send) => {
    const sql = statements.map((statement) => statement.sql).join(';\n');
    const fault = await conditions.database(stepOf(statements), statements);
    if (fault === 'fails') throw databaseError(sql);
    roundTrips.push(statements);
    const { response } = conditions;
    const result = await send();
    await response?.(stepOf(statements));
    if (fault === 'response is lost') throw databaseError(sql);
    return result;
  });
  const { spy: SNAPSHOTS, operations } = spyOnKv(
    env.SNAPSHOTS,
    (operation) => conditions.kv(operation),
    (key) => conditions.location && (conditions.location.get(key) ?? null),
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
