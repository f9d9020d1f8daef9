import { RESPONSE_TYPE_CODES } from '../../src/lib/enums.ts';
import type { VirtualClock } from './clock.ts';
import { blacklistCopy, type CopyType, licenseCopy, statesOfCopies, tokenCopy } from './copies.ts';
import type { FakeD1 } from './fake-d1.ts';
import type { FakeKv } from './fake-kv.ts';
import type { Invocation } from './invocation.ts';
import type { Answer, Isolate } from './isolate.ts';
import type { Link } from './link.ts';
import type { AdminTask, Floors, Validation, ValidationTask } from './tasks.ts';
import {
  type Asked,
  blacklistVerdict,
  type Change,
  type History,
  type LicenseState,
  licenseVerdict,
  type Truth,
  tokenVerdict,
  validMessage,
} from './truth.ts';

/** What must never happen, whatever else does. */

/** An isolate that syncs at least this often sees every change within it (1.5). */
const SYNCED_MS = 50_000;
/** How long an isolate that does not sync may use a snapshot without asking KV again. */
const REUSED_MS = 50_000;
/** Records that waited for longer may have been given up. */
const COMPARED_MS = 20_000;
/** What the platform lets run after an answer: within it a record is written. */
const RECORDING_MS = 30_000;
/** A database that cannot be reached for less than this costs no record (1.6). */
const SHORT_OUTAGE_MS = 3_000;

/** Requests of an isolate may share a call: what one learned a moment ago others need not ask again. */
const SHARED_MS = 2_500;

/** The syncs of an isolate, without a long pause between them: when the first and last were executed. */
interface Syncs {
  firstAt: number;
  lastAt: number;
}

/** The first invariant that a run broke. */
export class Violation extends Error {
  override name = 'Violation';
}

export interface Observed {
  clock: VirtualClock;
  database: FakeD1;
  truth: Truth;
  kv: FakeKv;
  /** Whether another isolate writes the records: then nobody knows which comparison has come back. */
  hasQueue: boolean;
  /** The way to the database from a location. */
  databaseLink: (location: string) => Link;
  /** Messages of the queue that were given up, as JSON. */
  deadLetters: readonly string[];
}

export class Invariants {
  readonly #world: Observed;
  /** By isolate what it must know: the number of the oldest state that it may answer from. */
  readonly #known = new WeakMap<Isolate, Map<string, number>>();
  readonly #syncs = new WeakMap<Isolate, Syncs>();
  /** Validations whose snapshots have not been compared with the database. */
  readonly #uncompared = new WeakMap<Isolate, Set<Validation>>();

  constructor(world: Observed) {
    this.#world = world;
  }

  /** Judges a commit: bindings never exceed a limit, and nothing changes but what was asked for. */
  afterWrite(invocation: Invocation): void {
    const { clock, truth } = this.#world;
    const { task } = invocation;
    for (const change of truth.observe(clock.now)) {
      if (change.kind === 'license') checkBindings(change.before, change.after);
      if (task.kind === 'admin') checkAdminChange(task, change);
      else if (task.kind === 'validation') checkBinding(task, change, invocation.startedAt);
      else throw new Violation(`The scheduled handler changed a ${change.kind}`);
    }
    if (task.kind === 'admin') task.writtenIndex = this.#historyOf(task)?.index ?? null;
  }

  #historyOf({ id, change }: AdminTask): History<unknown> | undefined {
    const { truth } = this.#world;
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
   * What a validation that this isolate begins now must know at least: the changes that it has made and
   * answered itself; what its syncs have told; and of what it has compared what the database said then.
   */
  floorsOf(isolate: Isolate, licenseId: number | null, tokenId: number | null): Floors {
    const { truth } = this.#world;
    const { firstAt, lastAt } = this.#syncs.get(isolate) ?? { firstAt: 0, lastAt: 0 };
    const floorOf = (subject: string, history: History<unknown> | undefined): number =>
      Math.max(this.#known.get(isolate)?.get(subject) ?? 0, history?.indexAt(lastAt, firstAt) ?? 0);
    return {
      license: floorOf(`license ${licenseId}`, truth.licenses.get(licenseId ?? 0)),
      token: floorOf(`token ${tokenId}`, truth.tokens.get(tokenId ?? 0)),
      blacklist: floorOf('blacklist', truth.blacklist),
    };
  }

  #know(isolate: Isolate, subject: string, index: number): void {
    const known = this.#known.get(isolate) ?? new Map<string, number>();
    this.#known.set(isolate, known);
    known.set(subject, Math.max(known.get(subject) ?? 0, index));
  }

  /** A validation begins: nothing has compared its snapshots yet. */
  begin(validation: Validation): void {
    const { isolate } = validation;
    const uncompared = this.#uncompared.get(isolate) ?? new Set<Validation>();
    this.#uncompared.set(isolate, uncompared);
    uncompared.add(validation);
  }

  /** An isolate reads the change log now. @returns what it knows once it has the result */
  afterSync(isolate: Isolate, sentAt: number): () => void {
    const { clock, database, truth, hasQueue } = this.#world;
    // What is committed in the same millisecond may come later.
    const now = clock.now - 1;
    const stored = new Set(
      database.read('select product_version as marker from callers').map((row) => row.marker),
    );
    const compared = [...(this.#uncompared.get(isolate) ?? [])].filter(
      ({ task, answer, invocation }) =>
        answer !== null &&
        stored.has(task.marker) &&
        now - (invocation.answeredAt ?? 0) < COMPARED_MS,
    );
    return () => {
      const syncs = this.#syncs.get(isolate);
      const isInTime = syncs !== undefined && sentAt - syncs.lastAt <= SYNCED_MS;
      this.#syncs.set(isolate, {
        firstAt: isInTime ? syncs.firstAt : now,
        lastAt: Math.max(syncs?.lastAt ?? 0, now),
      });
      if (hasQueue) return;
      for (const validation of compared) {
        const { licenseId, tokenId } = validation.task;
        this.#uncompared.get(isolate)?.delete(validation);
        if (![200, 400].includes(validation.answer?.status ?? 0)) continue;
        const knowNow = (subject: string, history: History<unknown> | undefined) =>
          history && this.#know(isolate, subject, history.indexAt(now, Number.NEGATIVE_INFINITY));
        knowNow(`license ${licenseId}`, truth.licenses.get(licenseId ?? 0));
        knowNow(`token ${tokenId}`, truth.tokens.get(tokenId ?? 0));
        knowNow('blacklist', truth.blacklist);
      }
    };
  }

  /** Judges what an administrator was told: what is done has been in the database. */
  afterAdmin(isolate: Isolate, invocation: Invocation, task: AdminTask, answer: Answer): void {
    if (answer.status >= 500) {
      this.#checkExcuse(isolate, invocation, `${task.change.of}: status ${answer.status}`);
      return;
    }
    if ([404, 409].includes(answer.status)) return;
    if (![200, 201, 204].includes(answer.status)) {
      throw new Violation(`An administrator got ${answer.status} ${JSON.stringify(answer.json)}`);
    }
    if (!this.#isDone(task, invocation.startedAt)) {
      throw new Violation(`A change of a ${task.change.of} was answered and not made`);
    }
    const subject = task.change.of === 'blacklist' ? 'blacklist' : `${task.change.of} ${task.id}`;
    this.#know(isolate, subject, task.writtenIndex ?? 0);
  }

  #isDone({ id, change }: AdminTask, since: number): boolean {
    const { truth } = this.#world;
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
   * Judges an answer: it must be what the truth said, or what KV may have shown in the isolate's location,
   * at some moment of the last 50 seconds; and in either case nothing older than what the isolate must
   * know. Only while the asker cannot reach the database at all may it be older.
   */
  afterValidation(validation: Validation, answer: Answer): void {
    const { task, isolate, invocation } = validation;
    const given = verdictOf(answer);
    if (given === 'limited') {
      if (!invocation.isLimited) throw new Violation('An answer 429 without a rate limit');
      return;
    }
    const { startedAt } = invocation;
    const right = task.isAfterQuiet
      ? this.#verdicts(task, startedAt, this.#world.clock.now, null)
      : this.#verdicts(task, startedAt, startedAt - REUSED_MS, isolate.location);
    if (given === 'unavailable') {
      this.#checkExcuse(isolate, invocation, 'A validation answered 503');
      const isBound = [...right].some((verdict) => verdict.startsWith('License is valid'));
      if (task.isAfterQuiet && isBound) {
        throw new Violation('Without the database a copy is missing: 503 and not 200');
      }
      return;
    }
    if (right.has(given)) return;
    const mayBeOld = !task.isAfterQuiet && this.#isCutOff(isolate, invocation);
    if (mayBeOld && this.#verdicts(task, startedAt, 0, null).has(given)) return;
    const expected = [...right].join(' | ');
    throw new Violation(`Stale or wrong: answered "${given}", which was not true: "${expected}"`);
  }

  /**
   * What the truth said since a time, in messages and statuses.
   *
   * @param location what KV may have shown there since then counts, too
   */
  #verdicts(
    { asked, floors, licenseId, tokenId }: ValidationTask,
    startedAt: number,
    since: number,
    location: string | null,
  ): Set<string> {
    const { truth, kv } = this.#world;
    const statesOf = <State>(
      type: CopyType<State>,
      history: History<State> | undefined,
      floor: number,
    ): (State | null)[] => {
      if (!history) return [];
      const states = history.since(since, floor);
      const [known] = history.entries();
      if (location === null || !known) return states;
      const copies = kv.visibleSince(location, type.key(known.state), since);
      const older = statesOfCopies(type, history, copies).filter(({ index }) => index >= floor);
      return [...states, ...older.map(({ state }) => state)];
    };
    const verdicts = new Set<string>();
    if (tokenId !== null) {
      const tokens = statesOf(tokenCopy, truth.tokens.get(tokenId), floors.token);
      const statuses = tokens.map((token) => tokenVerdict(token, startedAt));
      for (const status of statuses) if (status !== null) verdicts.add(`status ${status}`);
      if (!statuses.includes(null)) return verdicts;
    }
    const blocks = statesOf(blacklistCopy, truth.blacklist, floors.blacklist).map((entries) =>
      blacklistVerdict(entries ?? [], asked),
    );
    for (const block of blocks) if (block !== null) verdicts.add(block);
    if (!blocks.includes(null)) return verdicts;
    const history = licenseId === null ? undefined : truth.licenses.get(licenseId);
    const licenses = history ? statesOf(licenseCopy, history, floors.license) : [null];
    for (const license of licenses) {
      const verdict = licenseVerdict(license, asked, startedAt);
      if (verdict !== null) verdicts.add(verdict);
    }
    return verdicts;
  }

  /** Whether nothing of the database has reached the asker since it began, and it or others tried. */
  #isCutOff(isolate: Isolate, { trips, startedAt }: Invocation): boolean {
    const link = this.#world.databaseLink(isolate.location);
    const { failed, succeeded } = trips.get(link) ?? { failed: 0, succeeded: 0 };
    if (succeeded > 0) return false;
    return failed > 0 || link.hasFailedSince(startedAt - SHARED_MS, this.#world.clock.now);
  }

  /** An answer that says no more than that something failed needs something that did. */
  #checkExcuse(isolate: Isolate, { trips, startedAt }: Invocation, what: string): void {
    const hasFailed = [...trips.values()].some(({ failed }) => failed > 0);
    const link = this.#world.databaseLink(isolate.location);
    if (!hasFailed && !link.hasFailedSince(startedAt - SHARED_MS, this.#world.clock.now)) {
      throw new Violation(`${what} for no reason`);
    }
  }

  /** Judges the history, after quiet: each validation is in it exactly once, and counted. */
  checkRecords(validations: readonly Validation[]): void {
    const { database } = this.#world;
    const rows = database
      .read(`select ifnull(c.product_version, r.details ->> 'productVersion') as marker, r.outcome
        from requests r left join callers c on c.id = r.caller_id`)
      .map(({ marker, outcome }) => [String(marker), outcomeName(Number(outcome))] as const);
    const records = new Map(rows);
    const doubled = rows.find(
      ([marker], index) => rows.findIndex((row) => row[0] === marker) < index,
    );
    if (doubled) throw new Violation(`A validation was recorded twice: ${doubled[0]}`);
    for (const validation of validations) this.#checkRecord(validation, records);

    // Nothing is folded in so short a time.
    const [miscounted] = database.read(`
      select l.id, c.requests from licenses l join callers c on c.license_id = l.id
      where c.requests <> 0 or c.license_key_normalized <> l.license_key_normalized`);
    if (miscounted) throw new Violation(`A caller of license ${miscounted.id} is wrong`);
  }

  #checkRecord(validation: Validation, records: ReadonlyMap<string, string>): void {
    const { task, answer, isolate } = validation;
    const recorded = records.get(task.marker);
    if (answer === null) {
      if (isolate.crashedAt === null) throw new Violation(`${task.marker} was never answered`);
      return;
    }
    const fitting = RESPONSE_TYPES[verdictOf(answer).replace(/ \(.*/, '')];
    if (recorded === undefined) {
      // Not recorded are who may not ask, or of whom that is not known, and all of a flood.
      const isUnknown = answer.status === 503 && task.tokenId !== null;
      const isOptional = fitting === undefined || answer.status === 429 || isUnknown;
      if (isOptional || this.#mayBeUnrecorded(validation)) return;
      throw new Violation(`${task.marker} was not recorded`);
    }
    if (!fitting?.includes(recorded)) {
      throw new Violation(`${task.marker} was answered ${answer.status}, recorded as ${recorded}`);
    }
  }

  /** A record is lost with its isolate, or when the database stays away for long. */
  #mayBeUnrecorded({ task, isolate, invocation }: Validation): boolean {
    const { startedAt, answeredAt } = invocation;
    if (answeredAt === null) return true;
    const until = answeredAt + RECORDING_MS;
    if (isolate.crashedAt !== null && isolate.crashedAt <= until) return true;
    if (this.#world.deadLetters.some((letter) => letter.includes(`"${task.marker}"`))) return true;
    const link = this.#world.databaseLink(isolate.location);
    return link.badTimeMs(startedAt, until) >= SHORT_OUTAGE_MS;
  }
}

const outcomeName = (code: number): string =>
  Object.entries(RESPONSE_TYPE_CODES).find(([, other]) => other === code)?.[0] ?? String(code);

const NOT_FOUND = ['LICENSE_NOT_FOUND', 'PRODUCT_MISMATCH', 'LICENSE_DELETED'];

/** How the history calls what was answered. */
const RESPONSE_TYPES: Record<string, readonly string[]> = {
  'IP address is blacklisted': ['IP_BLACKLISTED'],
  'Hardware ID is blacklisted': ['HWID_BLACKLISTED'],
  'License not found or invalid': NOT_FOUND,
  'License is deactivated': ['LICENSE_DEACTIVATED'],
  'License has expired': ['LICENSE_EXPIRED'],
  'Max IPs reached': ['MAX_IPS_REACHED'],
  'Max HWIDs reached': ['MAX_HWIDS_REACHED'],
  'License is valid': ['VALID'],
  limited: ['RATE_LIMITED'],
  unavailable: ['ERROR'],
};

/** What an answer says, in the words of the truth. */
function verdictOf({ status, json }: Answer): string {
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

/** Values that one state has and an earlier one has not. */
const added = (before: readonly string[], after: readonly string[]): string[] =>
  after.filter((value) => !before.includes(value));

/** More than the limit may be bound only where the limit was lowered below. */
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

/** Nobody loses what others have changed: only what was asked for changes. */
function checkAdminChange({ id, change: asked }: AdminTask, change: Change): void {
  if (change.kind !== asked.of) throw new Violation(`A ${change.kind} changed with a ${asked.of}`);
  if (change.kind === 'blacklist' || change.kind !== asked.of) return;
  if (id !== null && id !== change.id) throw new Violation(`Another ${change.kind} changed`);
  if (change.kind !== 'license' || asked.of !== 'license') return;
  const { before, after } = change;
  if (!before) return;
  const fields = after ? changedFields(before, after) : ['state'];
  const lost = fields.find((field) => !asked.fields.some((name) => name === field));
  if (lost) throw new Violation(`${lost} of license ${change.id} was not asked to change`);
}

/** A validation binds its own values, where all checks pass at that very moment (1.4). */
function checkBinding({ asked, licenseId }: ValidationTask, change: Change, now: number): void {
  if (change.kind !== 'license' || change.id !== licenseId || !change.before || !change.after) {
    throw new Violation(`A validation changed a ${change.kind}`);
  }
  const { before, after } = change;
  const other = changedFields(before, after).find((field) => !['ips', 'hwids'].includes(field));
  if (other) throw new Violation(`A validation changed ${other}`);
  const own = { ips: asked.ip, hwids: asked.hwid };
  for (const { values, limit } of KINDS) {
    const bound = added(before[values], after[values]);
    const isOwn = bound.every((value) => value === own[values]);
    const isLost = added(after[values], before[values]).length > 0;
    if (!isOwn || isLost) throw new Violation(`A validation changed others' ${values}`);
    if (bound.length > 0 && after[limit] === -1) {
      throw new Violation(`${values} were bound though they are unlimited`);
    }
  }
  const verdict = licenseVerdict(after, asked, now);
  if (!isValid(after, asked, now)) throw new Violation(`Bound, but refused: ${verdict}`);
}

const isValid = (license: LicenseState, asked: Asked, now: number): boolean =>
  licenseVerdict(license, asked, now) === validMessage(license.maxIPs, license.maxHWIDs);
