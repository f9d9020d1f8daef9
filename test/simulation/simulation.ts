import { MINUTE_MS } from '@licet/contract/durations';
import * as z from 'zod';
import { ROOT_TOKEN } from '../support/root-token.ts';
import { VirtualClock } from './clock.ts';
import type { Command, Fault, LicenseChange } from './commands.ts';
import { FakeD1, PristineDatabase } from './fake-d1.ts';
import { FakeKv } from './fake-kv.ts';
import { FakeLimiter } from './fake-limiter.ts';
import { type Delivery, FakeQueue } from './fake-queue.ts';
import { Invariants, Violation } from './invariants.ts';
import { currentInvocation, type Invocation } from './invocation.ts';
import { Isolate, type JsonResponse } from './isolate.ts';
import { Link } from './link.ts';
import type { StartService } from './modules.ts';
import { boundInSnapshot, findWrongSnapshots } from './published.ts';
import { Random } from './random.ts';
import type { AdminTask, Task, Validation } from './tasks.ts';
import { type LicenseState, Truth, type ValidationRequest } from './truth.ts';

/** The options of a run. */
export interface SimulationOptions {
  /** The seed of all random choices. */
  seed: number;
  /** Whether the queue `RECORDS` is bound. */
  hasQueue: boolean;
}

const LOCATIONS = ['Paris', 'Osaka', 'Lima'] as const;
type Location = (typeof LOCATIONS)[number];
/** The locations of the isolates. Two share a location. */
const PLACES: readonly Location[] = ['Paris', 'Osaka', 'Paris', 'Lima'];

const START = Date.UTC(2026, 10, 20, 12);
/** Longer than any repair may take. */
const QUIET_MS = 9 * MINUTE_MS;
const MAX_DELIVERY_MINUTES = 60;

const ADDRESSES = [
  '192.0.2.1',
  '192.0.2.2',
  '198.51.100.3',
  '198.51.100.4',
  '2001:db8::5',
  '203.0.113.6',
];
const HWIDS = ['HW-A', 'HW-B', 'HW-C'];
const BLOCKED = [
  { licenseDataType: 'IP', data: '192.0.2.1' },
  { licenseDataType: 'IP', data: '192.0.2.0/24' },
  { licenseDataType: 'IP', data: '198.51.100.0/24' },
  { licenseDataType: 'IP', data: '2001:db8::/32' },
  { licenseDataType: 'HWID', data: 'HW-A' },
  { licenseDataType: 'HWID', data: 'HW-B' },
];
const UNKNOWN_KEY = 'NOBODY-HAS-THIS-KEY';

const createdLicense = z.looseObject({ id: z.int(), licenseKey: z.string(), productId: z.int() });
const createdToken = z.looseObject({ id: z.int(), token: z.string() });
const created = z.looseObject({ id: z.int() });
const written = z.looseObject({ revision: z.int().default(0) });

/** An item of a list, by a number modulo the length of the list. */
function at<Item>(items: readonly Item[], number: number): Item | undefined {
  return items[number % items.length];
}

interface Links {
  database: Link;
  kv: Link;
  queue: Link;
}

let pristine: PristineDatabase | undefined;

/**
 * The whole service in virtual time: isolates in several locations, services of the platform behind links that
 * fail, clients and administrators. It runs commands, waits until everything is quiet, and throws the first
 * {@link Violation}.
 */
export class Simulation {
  readonly #options: SimulationOptions;
  readonly #start: StartService;
  readonly #random: Random;
  readonly #clock = new VirtualClock(START);
  readonly #database: FakeD1;
  readonly #kv: FakeKv;
  readonly #queue: FakeQueue;
  readonly #limiters: Record<string, FakeLimiter>;
  readonly #links: Record<Location, Links>;
  readonly #truth: Truth;
  readonly #invariants: Invariants;
  readonly #isolates: Isolate[];

  readonly #products: number[] = [];
  readonly #licenses: z.infer<typeof createdLicense>[] = [];
  readonly #tokens: z.infer<typeof createdToken>[] = [];
  readonly #blocks: number[] = [];
  readonly #validations: Validation[] = [];
  /** The highest revision that was put into KV under each key. */
  readonly #revisions = new Map<string, number>();
  /** Keys of KV with an older revision than they had before, and the invocation that wrote it. */
  readonly #overwritten = new Map<string, Invocation>();
  #violation: unknown;
  #requests = 0;
  readonly #trace: string[] = [];

  constructor(start: StartService, options: SimulationOptions) {
    this.#options = options;
    this.#start = start;
    this.#random = new Random(options.seed);
    const clock = this.#clock;
    const link = (service: string, usualMs: number, slowMs: number) =>
      new Link(service, this.#random.fork(), usualMs, slowMs);
    const newLinks = (): Links => ({
      database: link('D1', 30, 1_500),
      kv: link('KV', 10, 800),
      queue: link('QUEUE', 10, 800),
    });
    this.#links = { Paris: newLinks(), Osaka: newLinks(), Lima: newLinks() };
    pristine ??= new PristineDatabase('drizzle');
    pristine.restore();
    this.#database = new FakeD1(clock, pristine);
    this.#kv = new FakeKv(clock, this.#random.fork(), LOCATIONS);
    this.#kv.onWrite = (key, value, location) => {
      this.#note(`KV has ${key} = ${value ?? 'nothing'} from ${location}`);
      const { revision } = written.parse(JSON.parse(value ?? '{}'));
      const writer = currentInvocation();
      if (revision < (this.#revisions.get(key) ?? 0) && writer) this.#overwritten.set(key, writer);
      else this.#overwritten.delete(key);
      this.#revisions.set(key, Math.max(this.#revisions.get(key) ?? 0, revision));
    };
    this.#queue = new FakeQueue(clock, this.#random.fork(), (delivery) => this.#deliver(delivery));
    this.#limiters = {
      VALIDATION_LIMITER: new FakeLimiter(clock, 120),
      REFUSED_LIMITER: new FakeLimiter(clock, 100),
      FAILED_TOKEN_LIMITER: new FakeLimiter(clock, 60),
    };
    this.#truth = new Truth(this.#database, clock.now);
    this.#invariants = new Invariants({
      clock,
      database: this.#database,
      truth: this.#truth,
      kv: this.#kv,
      hasQueue: options.hasQueue,
      databaseLink: (location) => this.#linksOf(location).database,
      deadLetters: this.#queue.deadLetters,
    });
    this.#database.onWrite = (invocation) =>
      this.#guard(() => this.#invariants.afterWrite(invocation));
    this.#database.onRecords = ({ sender }) => {
      const isolate = this.#isolates.find((candidate) => candidate === sender);
      return isolate ? this.#invariants.afterRecords(isolate) : () => undefined;
    };
    this.#isolates = PLACES.map((location) => this.#startIsolate(location));
  }

  /** Runs the commands, each a while after the one before, and waits until everything has settled. */
  async run(commands: readonly Command[]): Promise<void> {
    await this.#setUp();
    this.#planCron();
    for (const command of commands) {
      await this.#pass(command.pauseMs);
      this.#perform(command);
    }
    await this.#becomeQuiet();
  }

  /** The last events, one line each. */
  trace(lines = 80): string {
    return this.#trace.slice(-lines).join('\n');
  }

  #linksOf(location: string): Links {
    const name = LOCATIONS.find((candidate) => candidate === location);
    if (!name) throw new Error(`Nowhere: ${location}`);
    return this.#links[name];
  }

  #startIsolate(location: Location): Isolate {
    const { database, kv, queue } = this.#links[location];
    const limiters = Object.entries(this.#limiters).map(([name, limiter]) => [
      name,
      limiter.binding(location),
    ]);
    const env = {
      DB: this.#database.binding(database),
      SNAPSHOTS: this.#kv.binding(location, kv),
      ...Object.fromEntries(limiters),
      ...(this.#options.hasQueue && { RECORDS: this.#queue.binding(queue) }),
      ROOT_TOKEN,
      REQUIRE_HWID: 'false',
      REQUEST_RETENTION_DAYS: '90',
      EVENT_RETENTION_DAYS: '365',
    };
    const isolate: Isolate = new Isolate(location, this.#start, {
      clock: this.#clock,
      random: this.#random.fork(),
      env,
      log: (line) => this.#note(`${location} logs ${line}`),
    });
    if (!isolate.hasQueueHandler) Reflect.deleteProperty(env, 'RECORDS');
    return isolate;
  }

  #isolate(number: number): Isolate {
    const isolate = at(this.#isolates, number);
    if (!isolate) throw new Error('There is no isolate');
    return isolate;
  }

  #name(isolate: Isolate): string {
    return `${isolate.location}#${this.#isolates.indexOf(isolate)}`;
  }

  #note(line: string): void {
    this.#trace.push(`+${((this.#clock.now - START) / 1000).toFixed(3)} ${line}`);
  }

  /** Keeps the first violation. It is not thrown, because code of the service could catch it. */
  #guard(check: () => void): void {
    try {
      check();
    } catch (error) {
      this.#violation ??= error;
    }
  }

  async #pass(milliseconds: number): Promise<void> {
    await this.#clock.pass(milliseconds);
    if (this.#violation) throw this.#violation;
  }

  /** Lets work go on by itself. Its failure is a violation. */
  #leave(work: Promise<unknown>): void {
    work.catch((error) => {
      this.#violation ??= error;
    });
  }

  async #setUp(): Promise<void> {
    const isolate = this.#isolate(0);
    for (const name of ['Plugin', 'Mod']) {
      const body = { name, productType: 'OTHER', defaultMaxIPs: 2, defaultMaxHWIDs: 2 };
      const task = newTask(null, { of: 'product' });
      const response = await this.#clock.until(
        this.#administer(isolate, task, 'POST', '/products', body),
      );
      this.#products.push(created.parse(response.json).id);
    }
    await this.#clock.until(this.#createLicense(isolate, 0, { maxIPs: 1, maxHWIDs: 1 }));
    await this.#clock.until(this.#createLicense(isolate, 0, { maxIPs: 2, maxHWIDs: -1 }));
    await this.#clock.until(this.#createToken(isolate));
  }

  /** Runs the scheduled handler each minute in some isolate. */
  #planCron(): void {
    const minute = Math.ceil((this.#clock.now + 1) / MINUTE_MS) * MINUTE_MS;
    this.#clock.at(minute + this.#random.below(2_000), () => {
      this.#runCron(this.#random.pick(this.#isolates), minute);
      this.#planCron();
    });
  }

  #runCron(isolate: Isolate, scheduledTime: number): void {
    this.#note(`${this.#name(isolate)} runs the scheduled handler`);
    this.#leave(isolate.scheduled({ kind: 'platform' }, scheduledTime));
  }

  #deliver({ batch, finish }: Delivery): void {
    const isolate = this.#random.pick(this.#isolates);
    isolate.queue({ kind: 'platform' }, batch).then(
      () => finish(true),
      () => finish(false),
    );
    // A batch is delivered again after a crash.
    this.#clock.at(this.#clock.now + MINUTE_MS, () => {
      if (isolate.crashedAt !== null) finish(false);
    });
  }

  #perform(command: Command): void {
    const isolate = this.#isolate(command.isolate);
    this.#note(`${this.#name(isolate)}: ${JSON.stringify({ ...command, pauseMs: undefined })}`);
    switch (command.type) {
      case 'validate':
        this.#validate(isolate, this.#requestOf(command), command.license, command.token);
        return;
      case 'validate in a burst':
        for (let number = 0; number < command.count; number++) {
          const request = this.#requestOf({ ...command, ip: null, connectingAddress: number });
          this.#validate(this.#isolate(command.isolate + number), request, command.license, null);
        }
        return;
      case 'create a license':
        this.#leave(this.#createLicense(isolate, command.product, command));
        return;
      case 'change a license':
        this.#changeLicense(isolate, command.license, command.change);
        return;
      case 'delete a license':
        this.#deleteLicense(isolate, command.license);
        return;
      case 'block':
        this.#leave(this.#block(isolate, command.value, command.product));
        return;
      case 'unblock':
        this.#unblock(isolate, command.entry);
        return;
      case 'create a token':
        this.#leave(this.#createToken(isolate));
        return;
      case 'change a token':
        this.#changeToken(isolate, command.token, command.canValidate);
        return;
      case 'revoke a token':
        this.#revokeToken(isolate, command.token);
        return;
      case 'fault':
        this.#beginFault(command.fault, command.location, command.seconds * 1000);
        return;
      case 'crash':
        this.#crash(command.isolate);
        return;
      case 'run the scheduled handler':
        this.#runCron(isolate, this.#clock.now);
        return;
    }
  }

  #crash(number: number): void {
    const index = number % this.#isolates.length;
    const isolate = this.#isolate(index);
    isolate.crash();
    const location = PLACES[index];
    if (location) this.#isolates[index] = this.#startIsolate(location);
  }

  #beginFault(fault: Fault, location: number, milliseconds: number): void {
    const { now } = this.#clock;
    const { database, kv, queue } = this.#linksOf(at(PLACES, location) ?? '');
    const begin: Record<Fault, () => void> = {
      'the database cannot be reached': () => database.cut(now, milliseconds),
      'messages of the database get lost': () => database.disturb(now, milliseconds),
      'the database is slow': () => database.slowDown(now, milliseconds),
      'KV cannot be reached': () => kv.cut(now, milliseconds),
      'messages of KV get lost': () => kv.disturb(now, milliseconds),
      'KV is slow': () => kv.slowDown(now, milliseconds),
      'KV fails writes': () => kv.rejectWrites(now, milliseconds),
      'KV shows writes late': () => this.#kv.delayVisibility(milliseconds),
      'the queue cannot be reached': () => queue.cut(now, milliseconds),
      'messages of the queue get lost': () => queue.disturb(now, milliseconds),
      'rate limiters fail': () => {
        for (const limiter of Object.values(this.#limiters)) limiter.fail(milliseconds);
      },
    };
    begin[fault]();
  }

  #requestOf(command: {
    license: number | null;
    isForOtherProduct?: boolean;
    ip: number | null;
    connectingAddress: number;
    hwid: number | null;
  }): ValidationRequest & { hasIp: boolean } {
    const license = command.license === null ? undefined : at(this.#licenses, command.license);
    const productId = license?.productId ?? this.#products[0] ?? 0;
    const other = this.#products.find((id) => id !== productId) ?? 0;
    const connectingAddress = at(ADDRESSES, command.connectingAddress) ?? '';
    return {
      licenseKey: license?.licenseKey ?? UNKNOWN_KEY,
      productId: command.isForOtherProduct ? other : productId,
      ip: command.ip === null ? connectingAddress : (at(ADDRESSES, command.ip) ?? ''),
      hasIp: command.ip !== null,
      connectingAddress,
      hwid: command.hwid === null ? null : (at(HWIDS, command.hwid) ?? null),
    };
  }

  #validate(
    isolate: Isolate,
    request: ValidationRequest & { hasIp: boolean },
    licenseNumber: number | null,
    tokenNumber: number | null,
    isAfterQuiet = false,
  ): void {
    const license = licenseNumber === null ? undefined : at(this.#licenses, licenseNumber);
    const token = tokenNumber === null ? undefined : at(this.#tokens, tokenNumber);
    const licenseId = license?.id ?? null;
    const tokenId = token?.id ?? null;
    const task = {
      kind: 'validation' as const,
      marker: `v${this.#requests++}`,
      request,
      licenseId,
      tokenId,
      oldest: this.#invariants.oldestStates(isolate, licenseId, tokenId),
      isAfterQuiet,
    };
    const { licenseKey, productId, hwid } = request;
    const body = {
      licenseKey,
      productId,
      productVersion: task.marker,
      ...(hwid !== null && { hwid }),
      ...(request.hasIp && { ip: request.ip }),
    };
    const { invocation, response } = this.#send(
      isolate,
      task,
      'POST',
      token ? '/api/v2/validate' : '/api/v1/validate',
      body,
      { 'CF-Connecting-IP': request.connectingAddress, ...(token && { TOKEN: token.token }) },
    );
    const validation: Validation = { task, isolate, invocation, response: null };
    this.#validations.push(validation);
    this.#invariants.begin(validation);
    this.#leave(
      response.then((actual) => {
        this.#note(
          `${this.#name(isolate)} responds to ${task.marker} ${actual.status} ${JSON.stringify(actual.json)}`,
        );
        validation.response = actual;
        this.#invariants.afterValidation(validation, actual);
      }),
    );
  }

  #send(
    isolate: Isolate,
    task: Task,
    method: string,
    path: string,
    body: object | undefined,
    headers: Record<string, string>,
  ): { invocation: Invocation; response: Promise<JsonResponse> } {
    const request = new Request(`http://licet.test${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    return isolate.request(task, request);
  }

  async #administer(
    isolate: Isolate,
    task: AdminTask,
    method: string,
    path: string,
    body?: object,
  ): Promise<JsonResponse> {
    const headers = { TOKEN: ROOT_TOKEN };
    const { invocation, response } = this.#send(
      isolate,
      task,
      method,
      `/api/v2${path}`,
      body,
      headers,
    );
    const actual = await response;
    this.#note(`${this.#name(isolate)} responds to ${method} ${path} ${actual.status}`);
    this.#invariants.afterAdmin(isolate, invocation, task, actual);
    return actual;
  }

  async #createLicense(
    isolate: Isolate,
    product: number,
    values: { maxIPs: number; maxHWIDs: number; lifeSeconds?: number | null },
  ): Promise<void> {
    const productId = at(this.#products, product);
    const { maxIPs, maxHWIDs, lifeSeconds } = values;
    const body = {
      productId,
      maxIPs,
      maxHWIDs,
      ...(lifeSeconds == null ? { licenseType: 'PERMANENT' } : this.#life(lifeSeconds)),
    };
    const task = newTask(null, { of: 'license', fields: [], isDone: () => true });
    const response = await this.#administer(isolate, task, 'POST', '/licenses', body);
    if (response.status === 201) this.#licenses.push(createdLicense.parse(response.json));
  }

  #life(seconds: number): object {
    const expiryDate = new Date(this.#clock.now + seconds * 1000).toISOString();
    return { licenseType: 'TEMPORARY', expiryDate };
  }

  #changeLicense(isolate: Isolate, number: number, change: LicenseChange): void {
    const license = at(this.#licenses, number);
    if (!license) return;
    const { body, fields, isDone } = this.#licenseChange(change);
    const task = newTask(license.id, {
      of: 'license',
      fields,
      isDone: (state) => state !== null && isDone(state),
    });
    this.#leave(this.#administer(isolate, task, 'PUT', `/licenses/${license.id}`, body));
  }

  #licenseChange(change: LicenseChange): {
    body: object;
    fields: (keyof LicenseState)[];
    isDone: (license: LicenseState) => boolean;
  } {
    if ('free' in change) {
      const { free } = change;
      return {
        body: { [free]: [] },
        fields: [free],
        isDone: (license) => license[free].length === 0,
      };
    }
    if ('isRestored' in change) {
      return {
        body: { licenseStatus: 'ACTIVE', licenseType: 'PERMANENT', maxIPs: 3 },
        fields: ['state', 'expiresAt', 'maxIPs'],
        isDone: ({ state, expiresAt, maxIPs }) =>
          state === 'ACTIVE' && expiresAt === null && maxIPs === 3,
      };
    }
    if ('lifeSeconds' in change) {
      const expiresAt = this.#clock.now + change.lifeSeconds * 1000;
      return {
        body: this.#life(change.lifeSeconds),
        fields: ['expiresAt'],
        isDone: (license) => license.expiresAt === expiresAt,
      };
    }
    if ('licenseStatus' in change) {
      const { licenseStatus } = change;
      return { body: change, fields: ['state'], isDone: ({ state }) => state === licenseStatus };
    }
    const [name, value] =
      'maxIPs' in change
        ? (['maxIPs', change.maxIPs] as const)
        : (['maxHWIDs', change.maxHWIDs] as const);
    return { body: change, fields: [name], isDone: (license) => license[name] === value };
  }

  #deleteLicense(isolate: Isolate, number: number): void {
    const license = at(this.#licenses, number);
    if (!license) return;
    const task = newTask(license.id, {
      of: 'license',
      fields: ['state'],
      isDone: (state) => state?.state === 'DELETED',
    });
    this.#leave(this.#administer(isolate, task, 'DELETE', `/licenses/${license.id}`));
  }

  async #block(isolate: Isolate, value: number, product: number | null): Promise<void> {
    const blocked = at(BLOCKED, value);
    if (!blocked) return;
    const productId = product === null ? null : (at(this.#products, product) ?? null);
    const task = newTask(null, {
      of: 'blacklist',
      isDone: (entries) =>
        entries.some((entry) => entry.data === blocked.data && entry.productId === productId),
    });
    const body = { ...blocked, reason: 'Leaked', isForAllProducts: productId === null, productId };
    const response = await this.#administer(isolate, task, 'POST', '/blacklists', body);
    if (response.status === 201) this.#blocks.push(created.parse(response.json).id);
  }

  #unblock(isolate: Isolate, number: number): void {
    const entryId = at(this.#blocks, number);
    if (entryId === undefined) return;
    const task = newTask(null, {
      of: 'blacklist',
      isDone: (entries) => entries.every(({ id }) => id !== entryId),
    });
    this.#leave(this.#administer(isolate, task, 'DELETE', `/blacklists/${entryId}`));
  }

  async #createToken(isolate: Isolate): Promise<void> {
    const task = newTask(null, { of: 'token', isDone: () => true });
    const body = { name: 'Panel', intents: ['LICENSE_VALIDATE'] };
    const response = await this.#administer(isolate, task, 'POST', '/tokens', body);
    if (response.status === 201) this.#tokens.push(createdToken.parse(response.json));
  }

  #changeToken(isolate: Isolate, number: number, canValidate: boolean): void {
    const token = at(this.#tokens, number);
    if (!token) return;
    const intents = [canValidate ? 'LICENSE_VALIDATE' : 'PRODUCTS_READ'];
    const task = newTask(token.id, {
      of: 'token',
      isDone: (state) => state?.intents.join() === intents.join(),
    });
    this.#leave(this.#administer(isolate, task, 'PUT', `/tokens/${token.id}`, { intents }));
  }

  #revokeToken(isolate: Isolate, number: number): void {
    const token = at(this.#tokens, number);
    if (!token) return;
    const task = newTask(token.id, { of: 'token', isDone: (state) => state?.isRevoked === true });
    this.#leave(this.#administer(isolate, task, 'DELETE', `/tokens/${token.id}`));
  }

  /** Ends all faults and lets time pass. After that no record may be missing and no snapshot wrong. */
  async #becomeQuiet(): Promise<void> {
    this.#note('All is quiet');
    this.#endFaults();
    await this.#pass(QUIET_MS);
    for (let minutes = 0; !this.#queue.isEmpty; minutes++) {
      if (minutes > MAX_DELIVERY_MINUTES) throw new Violation('The queue does not become empty');
      await this.#pass(MINUTE_MS);
    }
    // Records of an outage may wait in an isolate that gets no more requests.
    for (const isolate of this.#isolates) this.#runCron(isolate, this.#clock.now);
    await this.#pass(MINUTE_MS);
    this.#guard(() => this.#invariants.checkRecords(this.#validations));
    // Before any isolate asks the database, which repairs wrong snapshots.
    // A late put of a publisher that was cut off may leave a wrong snapshot, which its next use repairs.
    if (![...this.#overwritten.values()].some(({ isCutOff }) => isCutOff)) {
      this.#checkSnapshots(false);
      await this.#withoutDatabase(LOCATIONS.map((location) => this.#startIsolate(location)));
    }
    // Each bound value is used in new isolates, which repairs wrong snapshots in KV.
    for (const location of LOCATIONS) {
      await this.#ask([this.#startIsolate(location)], 'all values', false);
    }
    await this.#pass(QUIET_MS);
    await this.#ask(this.#isolates, 'a value');
    // New values have been bound by that, which is a change again.
    await this.#pass(QUIET_MS);
    this.#checkSnapshots(true);
    await this.#withoutDatabase(this.#isolates);
  }

  #checkSnapshots(isRepaired: boolean): void {
    const [wrong] = findWrongSnapshots(this.#kv.entries(), this.#truth, isRepaired);
    if (wrong !== undefined) throw new Violation(wrong);
  }

  /** Validates in isolates that have nothing but snapshots. */
  async #withoutDatabase(isolates: readonly Isolate[]): Promise<void> {
    this.#note('The database cannot be reached');
    for (const { database } of Object.values(this.#links)) database.cut(this.#clock.now, QUIET_MS);
    await this.#ask(isolates, 'a copied value');
    this.#note('The database can be reached again');
    this.#endFaults();
  }

  #endFaults(): void {
    const { now } = this.#clock;
    for (const links of Object.values(this.#links)) {
      for (const link of Object.values(links)) link.endFaults(now);
    }
    for (const limiter of Object.values(this.#limiters)) limiter.endFaults();
    this.#kv.endFaults();
  }

  /** Validates every license in isolates, with bound values: the responses must be right. */
  async #ask(
    isolates: readonly Isolate[],
    which: 'a value' | 'a copied value' | 'all values',
    isAfterQuiet = true,
  ): Promise<void> {
    for (const isolate of isolates) {
      for (const [number, { id, licenseKey, productId }] of this.#licenses.entries()) {
        const license = this.#truth.licenses.get(id)?.current ?? null;
        const bound =
          which === 'a copied value' ? license && this.#boundInSnapshot(license) : license;
        const { ips = [], hwids = [] } = bound ?? {};
        const count = which === 'all values' ? Math.max(1, ips.length, hwids.length) : 1;
        for (let nth = 0; nth < count; nth++) {
          // A new address, if none is bound: a bound value that the snapshot lacks needs the database.
          const other = ADDRESSES.find((address) => !license?.ips.includes(address));
          const connectingAddress = at(ips, nth) ?? other ?? '';
          const hwid = at(hwids, nth) ?? null;
          const request = { licenseKey, productId, ip: connectingAddress, connectingAddress, hwid };
          this.#validate(isolate, { ...request, hasIp: false }, number, null, isAfterQuiet);
          // One after the other, for each validation to see the snapshot that KV lacks.
          if (which === 'all values') await this.#pass(MINUTE_MS);
        }
      }
    }
    await this.#pass(MINUTE_MS / 2);
  }

  #boundInSnapshot(license: LicenseState): { ips: string[]; hwids: string[] } {
    return boundInSnapshot(this.#kv.entries(), license) ?? { ips: [], hwids: [] };
  }
}

const newTask = (id: number | null, change: AdminTask['change']): AdminTask => ({
  kind: 'admin',
  id,
  change,
  writtenIndex: null,
});
