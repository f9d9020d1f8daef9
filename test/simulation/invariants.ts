import { DAY_MS } from '@licet/contract/durations';
import { OUTCOMES, RESPONSE_TYPES } from '@licet/contract/outcomes';
import { RESPONSE_TYPE_CODES } from '../../src/db/codes.ts';
import type { VirtualClock } from './clock.ts';
import type { FakeD1, Statement } from './fake-d1.ts';
import type { FakeKv } from './fake-kv.ts';
import type { Isolate, JsonResponse } from './isolate.ts';
import type { Invocation, Link } from './network.ts';
import {
  blacklistOutcome,
  type History,
  type IsIdle,
  type LicenseState,
  licenseOutcome,
  SELF_RESETS,
  type Truth,
  tokenOutcome,
  type ValidationRequest,
  validMessage,
} from './truth.ts';

/** The invariants, which hold whatever commands and faults a run has. */

/** An isolate uses a snapshot in memory this long without reading KV again (1.5). */
const REUSED_MS = 30_000;
/** Requests of an isolate may share a call: a failure counts for all requests within this time. */
const SHARED_MS = 2_500;

/** The first invariant that a run broke. */
export class Violation extends Error {
  override name = 'Violation';
}

export interface ValidationTask {
  kind: 'validation';
  /** The `productVersion` of the request, and so of its record: identifies both. */
  marker: string;
  request: ValidationRequest;
  /** The subject of the license. Null for a key that no license has. */
  license: string | null;
  /** The subject of the token. Null for a request without one. */
  token: string | null;
  /** By subject: the number of the oldest state on which the response may be based. */
  oldest: ReadonlyMap<string, number>;
  /** After quiet only the current state is right. Bound values may be missing in KV until their next use. */
  quiet: 'no' | 'published' | 'repaired';
}

export interface AdminTask {
  kind: 'admin';
  /** Null for a creation. */
  subject: string | null;
  /** The fields that the request sets in the state of its subject; undefined for one that it removes. */
  wanted: Readonly<Record<string, unknown>>;
  /** The number of the state after its last write. */
  writtenIndex: number;
}

/** The task of an invocation, by which its effects are judged. Null for the scheduled handler. */
export type Task = ValidationTask | AdminTask | null;

/** A validation and its response. */
export interface Validation {
  task: ValidationTask;
  isolate: Isolate;
  invocation: Invocation;
  /** Null until it comes. */
  response: JsonResponse | null;
}

interface Observed {
  clock: VirtualClock;
  database: FakeD1;
  truth: Truth;
  kv: FakeKv;
  /** The link to the database from a location. */
  databaseLink: (location: string) => Link;
}

export class Invariants {
  readonly validations: Validation[] = [];
  readonly #observed: Observed;
  /** By isolate and subject: the number of the oldest state on which it may base a response. */
  readonly #known = new WeakMap<Isolate, Map<string, number>>();
  /** Validations whose snapshots were not compared with D1 yet. */
  readonly #uncompared = new Set<Validation>();
  /** The number of events of administrators and programs. */
  #events = 0;

  constructor(observed: Observed) {
    this.#observed = observed;
  }

  /** Checks a commit: no binding exceeds a limit, and only the requested fields change, with one event. */
  afterWrite({ task, startedAt }: Invocation): void {
    const { clock, database, truth } = this.#observed;
    const isIdle = truth.idleSlots(task?.kind === 'validation' ? task.license : null, startedAt);
    const changed = truth.observe(clock.now);
    const events = Number(
      database.read(`select count(*) as count from events
        where actor is null or actor = 'program'`)[0]?.count,
    );
    const isAdmins = task?.kind === 'admin' && changed.length > 0;
    const isMove = changed.some(isTakenOver);
    const expected = isAdmins || isMove ? 1 : 0;
    if (events - this.#events !== expected) throw new Violation('A change without its one event');
    this.#events = events;
    for (const history of changed) {
      const { subject, previous } = history;
      const isCreation = task?.kind === 'admin' && task.subject === null && !previous;
      const allowed = fieldsOf(task, subject);
      const other = history.changedFields().find((field) => !allowed.includes(field));
      if (!isCreation && other) throw new Violation(`${other} of ${subject} was not requested`);
      const license = truth.licenses.get(subject);
      if (license) {
        checkBindings(license, task, startedAt, isIdle);
        checkExpiry(license, task, startedAt);
      }
    }
    if (task?.kind === 'admin' && task.subject) {
      task.writtenIndex = truth.find(task.subject)?.index ?? 0;
    }
  }

  /**
   * The oldest states on which a validation that begins now may be based: the changes that the isolate has
   * made and confirmed, and its comparisons.
   */
  oldestStates(isolate: Isolate): ReadonlyMap<string, number> {
    return new Map(this.#known.get(isolate));
  }

  begin(validation: Validation): void {
    this.validations.push(validation);
    this.#uncompared.add(validation);
  }

  /**
   * An isolate has stored what statements contain. Each snapshot of KV that a validation among the records used has
   * been compared since it was loaded.
   */
  afterResult(isolate: Isolate, statements: readonly Statement[]): void {
    const stored = statements.flatMap(({ parameters }) => parameters.map(String)).join();
    for (const validation of this.#uncompared) {
      const { task, invocation, response } = validation;
      const isStored = stored.includes(`"${task.marker}"`);
      if (validation.isolate !== isolate || !isStored || !response) continue;
      this.#uncompared.delete(validation);
      // Without the database a snapshot of any age is used.
      if (![200, 400].includes(response.status) || this.#isCutOff(validation)) continue;
      const loadedAt = invocation.startedAt - REUSED_MS;
      for (const subject of [task.license, task.token, 'blacklist']) {
        const history = this.#observed.truth.find(subject ?? '');
        if (history) this.#know(isolate, history.subject, history.indexAt(loadedAt));
      }
    }
  }

  /** Checks the response to an administrator: a change with a success was in the database. */
  afterAdmin(
    isolate: Isolate,
    { startedAt, trips }: Invocation,
    { subject, wanted, writtenIndex }: AdminTask,
    { status, json }: JsonResponse,
  ): void {
    if (status >= 500) this.#checkExcuse(isolate, startedAt, trips, 'An administrator');
    if (status >= 500 || [404, 409].includes(status)) return;
    if (![200, 201, 204].includes(status)) {
      throw new Violation(`An administrator got ${status} ${JSON.stringify(json)}`);
    }
    if (subject === null) return;
    const states = this.#observed.truth.find(subject)?.since(startedAt) ?? [];
    if (!states.some((state) => hasFields(state, wanted))) {
      throw new Violation(`A change of ${subject} got a success response but was not made`);
    }
    this.#know(isolate, subject, writtenIndex);
  }

  /**
   * Checks a response: it follows from a state of the database, or from one that KV may have shown in the
   * isolate's location, within the last 30 seconds, and from none older than the isolate must know. It may be
   * older only while the request cannot reach the database at all.
   */
  afterValidation(validation: Validation, response: JsonResponse): void {
    validation.response = response;
    const { task, isolate, invocation } = validation;
    const { startedAt, trips, isLimited } = invocation;
    const actual = outcomeOf(response);
    if (actual === 'limited') {
      if (!isLimited) throw new Violation('A response 429 without a rate limit');
      return;
    }
    const isQuiet = task.quiet !== 'no';
    const right = isQuiet
      ? this.#outcomes(task, startedAt, startedAt, null)
      : this.#outcomes(task, startedAt, startedAt - REUSED_MS, isolate.location);
    const expected = [...right].join(' | ');
    if (actual === 'unavailable') {
      this.#checkExcuse(isolate, startedAt, trips, 'A validation');
      // Without the database, slots can be neither taken nor found full.
      const needsDatabase = task.quiet === 'published' ? /^$|Max|is valid/ : /^$|Max/;
      if (isQuiet && !needsDatabase.test(expected)) {
        throw new Violation(`After quiet: a snapshot is missing, for "${expected}"`);
      }
      return;
    }
    if (right.has(actual)) return;
    if (isQuiet) throw new Violation(`After quiet: returned "${actual}", not "${expected}"`);
    if (this.#isCutOff(validation) && this.#outcomes(task, startedAt, 0, null).has(actual)) return;
    throw new Violation(`Stale or wrong: returned "${actual}", which was not true: "${expected}"`);
  }

  #know(isolate: Isolate, subject: string, index: number): void {
    const known = this.#known.get(isolate) ?? new Map<string, number>();
    this.#known.set(isolate, known);
    known.set(subject, Math.max(known.get(subject) ?? 0, index));
  }

  /**
   * The outcomes that were right since a time, as messages and statuses.
   *
   * @param location also counts the states that KV may have shown there since then
   */
  #outcomes(
    { request, oldest, license, token }: ValidationTask,
    startedAt: number,
    since: number,
    location: string | null,
  ): Set<string> {
    const { truth, kv } = this.#observed;
    const statesOf = <State extends object>(history: History<State>): State[] => {
      const { kvKey, subject } = history;
      const shown = location === null ? [] : kv.visibleSince(location, kvKey, since);
      const revisions = shown.map((snapshot) => Number(JSON.parse(snapshot).revision));
      return history.since(since, oldest.get(subject), revisions);
    };
    const tokens = token === null ? undefined : truth.tokens.get(token);
    const licenses = license === null ? undefined : truth.licenses.get(license);
    // A later step decides only if some state of each step before lets the request pass.
    const steps = [
      () => (tokens ? statesOf(tokens).map(tokenOutcome) : [null]),
      () => statesOf(truth.blacklist).map((blacklist) => blacklistOutcome(blacklist, request)),
      () => {
        const states = licenses ? statesOf(licenses) : [null];
        const isIdle = truth.idleSlots(license, since);
        return states.map((state) => licenseOutcome(state, request, startedAt, isIdle));
      },
    ];
    const outcomes = new Set<string>();
    for (const step of steps) {
      const ofStep = step();
      for (const outcome of ofStep) if (outcome !== null) outcomes.add(outcome);
      if (!ofStep.includes(null)) break;
    }
    return outcomes;
  }

  /** Whether a call of the database has failed, of this request or of one that it may share. */
  #isCutOff({ isolate, invocation }: Validation): boolean {
    const { failedAt } = this.#observed.databaseLink(isolate.location);
    return failedAt >= invocation.startedAt - SHARED_MS;
  }

  /** A response that reports a failure needs a call that failed. */
  #checkExcuse(isolate: Isolate, startedAt: number, trips: Invocation['trips'], who: string): void {
    const { failedAt } = this.#observed.databaseLink(isolate.location);
    const hasFailed = trips.some(({ isSuccess }) => !isSuccess);
    if (!hasFailed && failedAt < startedAt - SHARED_MS) {
      throw new Violation(`${who} got a failure for no reason`);
    }
  }

  /** Checks the history after quiet: each validation has exactly one record, with its outcome. */
  checkRecords(): void {
    const records = new Map<string, number>();
    const rows = this.#observed.database.read(`
      select ifnull(c.product_version, r.details ->> 'productVersion') as marker, r.outcome
      from requests r left join installations c on c.id = r.installation_id`);
    for (const { marker, outcome } of rows) {
      if (records.has(String(marker))) throw new Violation(`${marker} was recorded twice`);
      records.set(String(marker), Number(outcome));
    }
    for (const { task, response, isolate } of this.validations) {
      const { marker, token } = task;
      if (!response && !isolate.hasCrashed) throw new Violation(`${marker} got no response`);
      if (!response) continue;
      const outcome = outcomeOf(response).replace(/ \(.*/, '');
      const recorded = records.get(marker);
      // No record is due without permission, with an unknown permission, and in a flood.
      const isOptional = /^status/.test(outcome) || (token && outcome === 'unavailable');
      if (recorded === undefined) {
        if (isOptional || outcome === 'limited' || isolate.hasCrashed) continue;
        throw new Violation(`${marker} was not recorded`);
      }
      const fitting = RESPONSE_TYPES.filter((type) => messageOf(type) === outcome);
      if (!fitting.some((type) => RESPONSE_TYPE_CODES[type] === recorded)) {
        throw new Violation(`${marker} returned "${outcome}", recorded as ${recorded}`);
      }
    }
  }
}

/** The outcome of a response that an outcome of the history has. */
function messageOf(type: (typeof RESPONSE_TYPES)[number]): string | null {
  if (type === 'RATE_LIMITED') return 'limited';
  return type === 'ERROR' ? 'unavailable' : OUTCOMES[type].message;
}

/** The outcome in a response. */
function outcomeOf({ status, json }: JsonResponse): string {
  if (status === 429) return 'limited';
  if (status === 503) return 'unavailable';
  const fields = new Map(Object.entries(json ?? {}));
  if (status === 400) return String(fields.get('message'));
  if (status === 200)
    return validMessage(Number(fields.get('maxIPs')), Number(fields.get('maxHWIDs')));
  return `status ${status}`;
}

/** The fields of a subject that a task may change. */
function fieldsOf(task: Task, subject: string): string[] {
  if (task?.kind === 'validation' && task.license === subject)
    return ['ips', 'hwids', 'expiresAt', 'expiresAfterDays', 'resets'];
  return task?.kind === 'admin' && task.subject === subject ? Object.keys(task.wanted) : [];
}

function hasFields(state: object, wanted: AdminTask['wanted']): boolean {
  const fields = new Map<string, unknown>(Object.entries(state));
  return Object.entries(wanted).every(
    ([name, value]) => JSON.stringify(fields.get(name)) === JSON.stringify(value),
  );
}

const KINDS = [
  { values: 'ips', limit: 'maxIPs', own: 'ip' },
  { values: 'hwids', limit: 'maxHWIDs', own: 'hwid' },
] as const;

/** Whether the last change has moved a license to the machine of a program. */
function isTakenOver(history: History): boolean {
  return history.changedFields().includes('resets') && history.previous !== undefined;
}

/**
 * Bound values are within the limit, which can be lowered later. A validation binds its own values only, and only if
 * all checks pass at that moment (1.4). Only idle values give way, while fewer than the limit are in use (7.2), and one
 * of each full kind where a person moves the license, as often as the product allows (1.8).
 *
 * @param isIdle of the slots before
 */
function checkBindings(
  history: History<LicenseState>,
  task: Task,
  now: number,
  isIdle: IsIdle,
): void {
  const { previous: before, current: after } = history;
  if (!before || !after) return;
  const isMove = task?.kind === 'validation' && isTakenOver(history);
  if (isMove && (!task.request.takesOver || after.resets !== before.resets + 1)) {
    throw new Violation('A validation moved a license that nobody wanted to move');
  }
  if (after.resets > SELF_RESETS) throw new Violation('A license was moved too often');
  for (const { values, limit, own } of KINDS) {
    const bound = after[values].filter((value) => !before[values].includes(value));
    const lost = before[values].filter((value) => !after[values].includes(value));
    const isExceeded = after[values].length > after[limit];
    // A take-over leaves the number of values as it is, which a lowered limit may be below.
    if (isExceeded && bound.length > lost.length) {
      throw new Violation(`${values} exceed ${limit}, ${after[limit]}: ${after[values].join()}`);
    }
    if (task?.kind !== 'validation') continue;
    const used = before[values].filter((value) => !isIdle(value));
    const isInUse = lost.some((value) => !isIdle(value));
    if (isMove) {
      const isFull = before[values].length === after[limit];
      if (lost.length > (isFull ? 1 : 0)) throw new Violation(`A move freed ${lost.join()}`);
    } else if (isInUse || (lost.length > 0 && used.length >= after[limit])) {
      throw new Violation(`A validation took over a slot in use: ${lost.join()}`);
    }
    if (lost.length > bound.length || bound.some((value) => value !== task.request[own])) {
      throw new Violation(`A validation changed others' ${values}`);
    }
  }
  if (task?.kind !== 'validation') return;
  const outcome = licenseOutcome(after, task.request, now);
  if (outcome !== validMessage(after.maxIPs, after.maxHWIDs)) {
    throw new Violation(`Bound, but refused: ${outcome}`);
  }
}

/** A validation starts an expiry that waits for it, once, with the days from the request (7). */
function checkExpiry(history: History<LicenseState>, task: Task, now: number): void {
  const { previous: before, current: after } = history;
  if (task?.kind !== 'validation' || !before || before.expiresAt === after?.expiresAt) return;
  const expected = {
    expiresAfterDays: null,
    expiresAt: now + (before.expiresAfterDays ?? NaN) * DAY_MS,
  };
  if (!after || !hasFields(after, expected)) throw new Violation('A validation moved an expiry');
}
