import { OUTCOMES, RESPONSE_TYPES } from '@licet/contract/outcomes';
import { RESPONSE_TYPE_CODES } from '../../src/db/codes.ts';
import type { VirtualClock } from './clock.ts';
import type { FakeD1 } from './fake-d1.ts';
import type { FakeKv } from './fake-kv.ts';
import type { Invocation } from './invocation.ts';
import type { Isolate, JsonResponse } from './isolate.ts';
import type { Link } from './link.ts';
import {
  type PublishedType,
  publishedBlacklist,
  publishedLicense,
  publishedToken,
  statesOfSnapshots,
} from './published.ts';
import type { AdminTask, OldestStates, Task, Validation, ValidationTask } from './tasks.ts';
import {
  blacklistOutcome,
  type Change,
  type History,
  type LicenseState,
  licenseOutcome,
  type Truth,
  tokenOutcome,
  type ValidationRequest,
  validMessage,
} from './truth.ts';

/** The invariants, which hold whatever commands and faults a run has. */

/** An isolate uses a snapshot in memory this long without reading KV again (1.5). */
const REUSED_MS = 30_000;
/** The platform ends a request this long after its response, and with it the write of its record. */
const RECORDING_MS = 30_000;
/** An outage of D1 that is shorter than this costs no record (1.6). */
const SHORT_OUTAGE_MS = 3_000;

/** Requests of an isolate may share a call: a failure counts for all requests within this time. */
const SHARED_MS = 2_500;

/** The first invariant that a run broke. */
export class Violation extends Error {
  override name = 'Violation';
}

export interface Observed {
  clock: VirtualClock;
  database: FakeD1;
  truth: Truth;
  kv: FakeKv;
  /** Whether another isolate writes the records. The ends of comparisons are then unknown. */
  hasQueue: boolean;
  /** The link to the database from a location. */
  databaseLink: (location: string) => Link;
  /** Messages that the queue has given up, as JSON. */
  deadLetters: readonly string[];
}

export class Invariants {
  readonly #observed: Observed;
  /** By isolate and subject: the number of the oldest state on which it may base a response. */
  readonly #known = new WeakMap<Isolate, Map<string, number>>();
  /** Validations whose snapshots were not compared with D1 yet. */
  readonly #uncompared = new WeakMap<Isolate, Set<Validation>>();
  /** The number of events in the database. */
  #events = 0;

  constructor(observed: Observed) {
    this.#observed = observed;
  }

  /** Checks a commit: no binding exceeds a limit, only the requested fields change, and with one event. */
  afterWrite(invocation: Invocation): void {
    const { clock, truth } = this.#observed;
    const { task } = invocation;
    const changes = truth.observe(clock.now);
    this.#checkEvents(task, changes.length);
    for (const change of changes) {
      if (change.kind === 'license') checkBindings(change.before, change.after);
      if (task.kind === 'admin') checkAdminChange(task, change);
      else if (task.kind === 'validation') checkBinding(task, change, invocation.startedAt);
      else throw new Violation(`The scheduled handler changed a ${change.kind}`);
    }
    if (task.kind === 'admin') task.writtenIndex = this.#historyOf(task)?.index ?? null;
  }

  /** A change of an administrator and its event are written together (5). */
  #checkEvents(task: Task, changes: number): void {
    const [row] = this.#observed.database.read('select count(*) as events from events');
    const written = Number(row?.events) - this.#events;
    this.#events += written;
    if (task.kind !== 'admin') {
      if (written > 0) throw new Violation(`An event of a ${task.kind}`);
      return;
    }
    // The truth has no products.
    if (task.change.of === 'product') return;
    if (written !== Math.min(changes, 1)) {
      throw new Violation(`${written} events of a ${task.change.of} with ${changes} changes`);
    }
  }

  #historyOf({ id, change }: AdminTask): History<unknown> | undefined {
    const { truth } = this.#observed;
    switch (change.of) {
      case 'license':
        return id === null ? undefined : truth.licenses.get(id);
      case 'token':
        return id === null ? undefined : truth.tokens.get(id);
      case 'blacklist':
        return truth.blacklist;
      case 'product':
        return undefined;
    }
  }

  /**
   * The oldest states on which a validation that begins now may be based: the changes that the isolate has
   * made and confirmed, and its comparisons.
   */
  oldestStates(isolate: Isolate, licenseId: number | null, tokenId: number | null): OldestStates {
    const indexOf = (subject: string): number => this.#known.get(isolate)?.get(subject) ?? 0;
    return {
      license: indexOf(`license ${licenseId}`),
      token: indexOf(`token ${tokenId}`),
      blacklist: indexOf('blacklist'),
    };
  }

  #know(isolate: Isolate, subject: string, index: number): void {
    const known = this.#known.get(isolate) ?? new Map<string, number>();
    this.#known.set(isolate, known);
    known.set(subject, Math.max(known.get(subject) ?? 0, index));
  }

  /** A validation begins. Its snapshots are not compared yet. */
  begin(validation: Validation): void {
    const { isolate } = validation;
    const uncompared = this.#uncompared.get(isolate) ?? new Set<Validation>();
    this.#uncompared.set(isolate, uncompared);
    uncompared.add(validation);
  }

  /**
   * An isolate stores records. Each snapshot of KV that a stored validation used has been compared since it was loaded.
   * @returns a function to call when the isolate has the result
   */
  afterRecords(isolate: Isolate): () => void {
    const { database, truth, hasQueue } = this.#observed;
    if (hasQueue) return () => undefined;
    const stored = new Set(
      database.read('select product_version as marker from installations').map((row) => row.marker),
    );
    const compared = [...(this.#uncompared.get(isolate) ?? [])].filter(
      ({ task, response }) => response !== null && stored.has(task.marker),
    );
    return () => {
      for (const validation of compared) {
        this.#uncompared.get(isolate)?.delete(validation);
        const { task, response, invocation } = validation;
        const isDecided = [200, 400].includes(response?.status ?? 0);
        // Without the database a snapshot of any age is used.
        if (!isDecided || this.#isCutOff(isolate, invocation)) continue;
        const loadedAt = invocation.startedAt - REUSED_MS;
        const know = (subject: string, history: History<unknown> | undefined) =>
          history && this.#know(isolate, subject, history.indexAt(loadedAt));
        know(`license ${task.licenseId}`, truth.licenses.get(task.licenseId ?? 0));
        know(`token ${task.tokenId}`, truth.tokens.get(task.tokenId ?? 0));
        know('blacklist', truth.blacklist);
      }
    };
  }

  /** Checks the response to an administrator: a change with a success was in the database. */
  afterAdmin(
    isolate: Isolate,
    invocation: Invocation,
    task: AdminTask,
    response: JsonResponse,
  ): void {
    if (response.status >= 500) {
      this.#checkExcuse(isolate, invocation, `${task.change.of}: status ${response.status}`);
      return;
    }
    if ([404, 409].includes(response.status)) return;
    if (![200, 201, 204].includes(response.status)) {
      throw new Violation(
        `An administrator got ${response.status} ${JSON.stringify(response.json)}`,
      );
    }
    if (!this.#isDone(task, invocation.startedAt)) {
      throw new Violation(
        `A change of a ${task.change.of} got a success response but was not made`,
      );
    }
    const subject = task.change.of === 'blacklist' ? 'blacklist' : `${task.change.of} ${task.id}`;
    this.#know(isolate, subject, task.writtenIndex ?? 0);
  }

  #isDone({ id, change }: AdminTask, since: number): boolean {
    const { truth } = this.#observed;
    switch (change.of) {
      case 'license': {
        const histories = id === null ? truth.licenses.values() : [truth.licenses.get(id)];
        return [...histories].some((history) => history?.since(since).some(change.isDone));
      }
      case 'token': {
        const histories = id === null ? truth.tokens.values() : [truth.tokens.get(id)];
        return [...histories].some((history) => history?.since(since).some(change.isDone));
      }
      case 'blacklist':
        return truth.blacklist.since(since).some((entries) => change.isDone(entries ?? []));
      case 'product':
        return true;
    }
  }

  /**
   * Checks a response: it follows from a state of the database, or from one that KV may have shown in the
   * isolate's location, within the last 30 seconds, and from none older than the isolate must know. It may be
   * older only while the request cannot reach the database at all.
   */
  afterValidation(validation: Validation, response: JsonResponse): void {
    const { task, isolate, invocation } = validation;
    const actual = outcomeOf(response);
    if (actual === 'limited') {
      if (!invocation.isLimited) throw new Violation('A response 429 without a rate limit');
      return;
    }
    const { startedAt } = invocation;
    const right = task.isAfterQuiet
      ? this.#outcomes(task, startedAt, this.#observed.clock.now, null)
      : this.#outcomes(task, startedAt, startedAt - REUSED_MS, isolate.location);
    if (actual === 'unavailable') {
      this.#checkExcuse(isolate, invocation, 'A validation returned 503');
      const isBound = [...right].some((outcome) => outcome.startsWith('License is valid'));
      if (task.isAfterQuiet && isBound) {
        throw new Violation('Without the database a snapshot is missing: 503 instead of 200');
      }
      return;
    }
    if (right.has(actual)) return;
    const mayBeOld = !task.isAfterQuiet && this.#isCutOff(isolate, invocation);
    if (mayBeOld && this.#outcomes(task, startedAt, 0, null).has(actual)) return;
    const expected = [...right].join(' | ');
    throw new Violation(`Stale or wrong: returned "${actual}", which was not true: "${expected}"`);
  }

  /**
   * The outcomes that were right since a time, as messages and statuses.
   *
   * @param location also counts the states that KV may have shown there since then
   */
  #outcomes(
    { request, oldest, licenseId, tokenId }: ValidationTask,
    startedAt: number,
    since: number,
    location: string | null,
  ): Set<string> {
    const { truth, kv } = this.#observed;
    const statesOf = <State>(
      type: PublishedType<State>,
      history: History<State> | undefined,
      oldest: number,
    ): (State | null)[] => {
      if (!history) return [];
      const states = history.since(since, oldest);
      const [known] = history.entries();
      if (location === null || !known) return states;
      const snapshots = kv.visibleSince(location, type.key(known.state), since);
      const older = statesOfSnapshots(type, history, snapshots).filter(
        ({ index }) => index >= oldest,
      );
      return [...states, ...older.map(({ state }) => state)];
    };
    const outcomes = new Set<string>();
    if (tokenId !== null) {
      const tokens = statesOf(publishedToken, truth.tokens.get(tokenId), oldest.token);
      const statuses = tokens.map((token) => tokenOutcome(token, startedAt));
      for (const status of statuses) if (status !== null) outcomes.add(`status ${status}`);
      if (!statuses.includes(null)) return outcomes;
    }
    const blocks = statesOf(publishedBlacklist, truth.blacklist, oldest.blacklist).map((entries) =>
      blacklistOutcome(entries ?? [], request),
    );
    for (const block of blocks) if (block !== null) outcomes.add(block);
    if (!blocks.includes(null)) return outcomes;
    const history = licenseId === null ? undefined : truth.licenses.get(licenseId);
    const licenses = history ? statesOf(publishedLicense, history, oldest.license) : [null];
    for (const license of licenses) {
      const outcome = licenseOutcome(license, request, startedAt);
      if (outcome !== null) outcomes.add(outcome);
    }
    return outcomes;
  }

  /** Whether no call of the database has succeeded since the request began, and some call has failed. */
  #isCutOff(isolate: Isolate, { trips, startedAt }: Invocation): boolean {
    const link = this.#observed.databaseLink(isolate.location);
    const { failed, succeeded } = trips.get(link) ?? { failed: 0, succeeded: 0 };
    if (succeeded > 0) return false;
    return failed > 0 || link.hasFailedSince(startedAt - SHARED_MS, this.#observed.clock.now);
  }

  /** A response that reports a failure needs a call that failed. */
  #checkExcuse(isolate: Isolate, { trips, startedAt }: Invocation, what: string): void {
    const hasFailed = [...trips.values()].some(({ failed }) => failed > 0);
    const link = this.#observed.databaseLink(isolate.location);
    if (!hasFailed && !link.hasFailedSince(startedAt - SHARED_MS, this.#observed.clock.now)) {
      throw new Violation(`${what} for no reason`);
    }
  }

  /** Checks the history after quiet: each validation has exactly one record, and is counted. */
  checkRecords(validations: readonly Validation[]): void {
    const { database } = this.#observed;
    const rows = database
      .read(`select ifnull(c.product_version, r.details ->> 'productVersion') as marker, r.outcome
        from requests r left join installations c on c.id = r.installation_id`)
      .map(({ marker, outcome }) => [String(marker), outcomeName(Number(outcome))] as const);
    const records = new Map(rows);
    const doubled = rows.find(
      ([marker], index) => rows.findIndex((row) => row[0] === marker) < index,
    );
    if (doubled) throw new Violation(`A validation was recorded twice: ${doubled[0]}`);
    for (const validation of validations) this.#checkRecord(validation, records);

    // A run is too short for an aggregation.
    const [miscounted] = database.read(`
      select l.id, c.requests from licenses l join installations c on c.license_id = l.id
      where c.requests <> 0 or c.license_key_normalized <> l.license_key_normalized`);
    if (miscounted) throw new Violation(`An installation of license ${miscounted.id} is wrong`);
  }

  #checkRecord(validation: Validation, records: ReadonlyMap<string, string>): void {
    const { task, response, isolate } = validation;
    const recorded = records.get(task.marker);
    if (response === null) {
      if (isolate.crashedAt === null) throw new Violation(`${task.marker} never got a response`);
      return;
    }
    const fitting = RESPONSE_TYPES_BY_RESPONSE.get(outcomeOf(response).replace(/ \(.*/, ''));
    if (recorded === undefined) {
      // No record is due without permission, with an unknown permission, and in a flood.
      const isUnknown = response.status === 503 && task.tokenId !== null;
      const isOptional = fitting === undefined || response.status === 429 || isUnknown;
      if (isOptional || this.#mayBeUnrecorded(validation)) return;
      throw new Violation(`${task.marker} was not recorded`);
    }
    if (!fitting?.some((type) => type === recorded)) {
      throw new Violation(
        `${task.marker} was returned ${response.status}, recorded as ${recorded}`,
      );
    }
  }

  /** A record may be lost with its isolate, before it is written or in a long outage of D1. */
  #mayBeUnrecorded({ task, isolate, invocation }: Validation): boolean {
    const { startedAt, respondedAt } = invocation;
    if (respondedAt === null) return true;
    if (this.#observed.deadLetters.some((letter) => letter.includes(`"${task.marker}"`)))
      return true;
    const { crashedAt } = isolate;
    if (crashedAt === null) return false;
    const link = this.#observed.databaseLink(isolate.location);
    return (
      crashedAt <= respondedAt + RECORDING_MS ||
      link.badTimeMs(startedAt, crashedAt) >= SHORT_OUTAGE_MS
    );
  }
}

const outcomeName = (code: number): string =>
  Object.entries(RESPONSE_TYPE_CODES).find(([, other]) => other === code)?.[0] ?? String(code);

/** The outcomes in the history for each outcome of a response. */
const RESPONSE_TYPES_BY_RESPONSE = Map.groupBy(RESPONSE_TYPES, (type): string | null => {
  if (type === 'RATE_LIMITED') return 'limited';
  if (type === 'ERROR') return 'unavailable';
  return OUTCOMES[type].message;
});

/** The outcome in a response. */
function outcomeOf({ status, json }: JsonResponse): string {
  if (status === 401 || status === 403) return `status ${status}`;
  if (status === 429) return 'limited';
  if (status === 503) return 'unavailable';
  if (typeof json === 'object' && json !== null && 'message' in json) {
    if (status === 400) return String(json.message);
    if (status === 200 && 'maxIPs' in json && 'maxHWIDs' in json) {
      return validMessage(Number(json.maxIPs), Number(json.maxHWIDs));
    }
  }
  return `status ${status} ${JSON.stringify(json)}`;
}

const KINDS = [
  { values: 'ips', limit: 'maxIPs' },
  { values: 'hwids', limit: 'maxHWIDs' },
] as const;

/** Values that a state has and an earlier one has not. */
const added = (before: readonly string[], after: readonly string[]): string[] =>
  after.filter((value) => !before.includes(value));

/** More values than the limit are right only after the limit was lowered. */
function checkBindings(before: LicenseState | null, after: LicenseState | null): void {
  if (!after) return;
  for (const { values, limit } of KINDS) {
    const isOver = after[limit] !== -1 && after[values].length > after[limit];
    if (isOver && added(before?.[values] ?? [], after[values]).length > 0) {
      throw new Violation(`${values} exceed ${limit}, ${after[limit]}: ${after[values].join()}`);
    }
  }
}

function changedFields(before: LicenseState, after: LicenseState): string[] {
  const then = new Map<string, unknown>(Object.entries(before));
  return Object.entries(after)
    .filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(then.get(name)))
    .map(([name]) => name);
}

/** A change overwrites no other change: only the requested fields change. */
function checkAdminChange({ id, change: request }: AdminTask, change: Change): void {
  if (change.kind !== request.of)
    throw new Violation(`A ${change.kind} changed with a ${request.of}`);
  if (change.kind === 'blacklist' || change.kind !== request.of) return;
  if (id !== null && id !== change.id) throw new Violation(`Another ${change.kind} changed`);
  if (change.kind !== 'license' || request.of !== 'license') return;
  const { before, after } = change;
  if (!before) return;
  const fields = after ? changedFields(before, after) : ['state'];
  const lost = fields.find((field) => !request.fields.some((name) => name === field));
  if (lost) throw new Violation(`${lost} of license ${change.id} was not requested`);
}

/** A validation binds its own values only, and only if all checks pass at that moment (1.4). */
function checkBinding({ request, licenseId }: ValidationTask, change: Change, now: number): void {
  if (change.kind !== 'license' || change.id !== licenseId || !change.before || !change.after) {
    throw new Violation(`A validation changed a ${change.kind}`);
  }
  const { before, after } = change;
  const other = changedFields(before, after).find((field) => !['ips', 'hwids'].includes(field));
  if (other) throw new Violation(`A validation changed ${other}`);
  const own = { ips: request.ip, hwids: request.hwid };
  for (const { values, limit } of KINDS) {
    const bound = added(before[values], after[values]);
    const isOwn = bound.every((value) => value === own[values]);
    const isLost = added(after[values], before[values]).length > 0;
    if (!isOwn || isLost) throw new Violation(`A validation changed others' ${values}`);
    if (bound.length > 0 && after[limit] === -1) {
      throw new Violation(`${values} were bound though they are unlimited`);
    }
  }
  const outcome = licenseOutcome(after, request, now);
  if (!isValid(after, request, now)) throw new Violation(`Bound, but refused: ${outcome}`);
}

const isValid = (license: LicenseState, request: ValidationRequest, now: number): boolean =>
  licenseOutcome(license, request, now) === validMessage(license.maxIPs, license.maxHWIDs);
