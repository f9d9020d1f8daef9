import { MINUTE_MS } from '@licet/contract/durations';
import * as z from 'zod';
import { ROOT_TOKEN } from '../support/root-token.ts';
import { at, CHANGES, type ChangeName, type Items, type MakeRequest } from './changes.ts';
import { VirtualClock } from './clock.ts';
import type { Command, Service } from './commands.ts';
import { FakeD1 } from './fake-d1.ts';
import { FakeKv } from './fake-kv.ts';
import { limiterBinding } from './fake-limiter.ts';
import { FakeReceivers } from './fake-receiver.ts';
import { type AdminTask, Invariants, type ValidationTask, Violation } from './invariants.ts';
import { Isolate } from './isolate.ts';
import type { StartService } from './modules.ts';
import { currentInvocation, type Invocation, Link } from './network.ts';
import { Random } from './random.ts';
import { blockedName, Truth, type ValidationRequest } from './truth.ts';

/** The locations of the isolates. Two share a location. */
const PLACES = ['Paris', 'Osaka', 'Paris', 'Lima'];
const LOCATIONS = [...new Set(PLACES)];

const START = Date.UTC(2026, 10, 20, 12);
/** Longer than any repair may take. */
const QUIET_MS = 9 * MINUTE_MS;
const ADDRESSES = [
  '192.0.2.1',
  '192.0.2.2',
  '198.51.100.3',
  '198.51.100.4',
  '2001:db8::5',
  '203.0.113.6',
];
const HWIDS = ['HW-A', 'HW-B', 'HW-C'];
const UNKNOWN_KEY = 'NOBODY-HAS-THIS-KEY';

const created = z.looseObject({
  id: z.int(),
  licenseKey: z.string().optional(),
  token: z.string().optional(),
  productId: z.int().nullable().default(null),
  licenseDataType: z.string().default(''),
  data: z.string().default(''),
});
const snapshot = z.looseObject({ revision: z.int().default(0) });

type Links = Record<Service, Link>;

/**
 * The whole service in virtual time: isolates in several locations, services of the platform behind links that
 * fail, clients and administrators. It runs commands, waits until everything is quiet, and throws the first
 * {@link Violation}.
 */
export class Simulation {
  readonly #start: StartService;
  readonly #random: Random;
  readonly #clock = new VirtualClock(START);
  readonly #database = new FakeD1(this.#clock);
  readonly #kv: FakeKv;
  readonly #receivers: FakeReceivers;
  readonly #web: ReadonlyMap<string, Link>;
  readonly #links: ReadonlyMap<string, Links>;
  readonly #truth = new Truth(this.#database);
  readonly #invariants: Invariants;
  readonly #isolates: Isolate[];
  readonly #items: Items = { products: [], licenses: [], tokens: [], blacklists: [] };
  /** The highest revision that was put into KV under each key. */
  readonly #revisions = new Map<string, number>();
  /** Keys of KV with an older revision than they had before, and the invocation that wrote it. */
  readonly #overwritten = new Map<string, Invocation>();
  readonly #trace: string[] = [];
  #violation: unknown;

  /** @param seed that of all random choices */
  constructor(start: StartService, seed: number) {
    this.#start = start;
    this.#random = new Random(seed);
    const link = (service: Service, usualMs: number, lateMs: number): Link =>
      new Link(service, this.#random.fork(), usualMs, lateMs);
    this.#links = new Map(
      LOCATIONS.map((location) => [
        location,
        {
          D1: link('D1', 30, 1_500),
          KV: link('KV', 10, 800),
          LIMITER: link('LIMITER', 0, 0),
        },
      ]),
    );
    this.#web = new Map(
      LOCATIONS.map((location) => [location, new Link('WEB', this.#random.fork(), 40, 2_000)]),
    );
    const forReceivers = this.#random.fork();
    this.#receivers = new FakeReceivers(this.#clock, this.#database, forReceivers, (violation) => {
      this.#violation ??= violation;
    });
    this.#kv = new FakeKv(this.#clock, this.#random.fork(), LOCATIONS);
    this.#kv.onWrite = (key, value) => this.#notePut(key, value);
    this.#invariants = new Invariants({
      clock: this.#clock,
      database: this.#database,
      truth: this.#truth,
      kv: this.#kv,
      databaseLink: (location) => this.#linksOf(location).D1,
    });
    this.#database.onWrite = (invocation) =>
      this.#guard(() => this.#invariants.afterWrite(invocation));
    this.#isolates = PLACES.map((location) => this.#startIsolate(location));
  }

  /** Runs the commands, each a while after the one before, and waits until everything has settled. */
  async run(commands: readonly Command[]): Promise<void> {
    const changes: [ChangeName, target: number, value: number][] = [
      ['create a product', 0, 0],
      ['create a product', 1, 0],
      ['create a license', 0, 0],
      ['create a license', 0, 1],
      ['create a license', 1, 1],
      ['create a token', 0, 0],
    ];
    for (const [change, target, value] of changes) {
      await this.#clock.until(this.#administer(this.#isolate(0), change, target, value));
    }
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
    const links = this.#links.get(location);
    if (!links) throw new Error(`Nowhere: ${location}`);
    return links;
  }

  #webOf(location: string): Link {
    const link = this.#web.get(location);
    if (!link) throw new Error(`Nowhere: ${location}`);
    return link;
  }

  #startIsolate(location: string): Isolate {
    const { D1, KV, LIMITER } = this.#linksOf(location);
    const limiter = (limit: number) => limiterBinding(this.#clock, LIMITER, limit);
    const isolate: Isolate = new Isolate(location, this.#start, {
      clock: this.#clock,
      random: this.#random.fork(),
      env: {
        DB: this.#database.binding(D1, (statements) =>
          this.#invariants.afterResult(isolate, statements),
        ),
        SNAPSHOTS: this.#kv.binding(location, KV),
        OUTBOUND: this.#receivers.binding(this.#webOf(location)),
        VALIDATION_LIMITER: limiter(120),
        REFUSED_LIMITER: limiter(100),
        FAILED_TOKEN_LIMITER: limiter(60),
        ROOT_TOKEN,
        REQUIRE_HWID: 'false',
        REQUEST_RETENTION_DAYS: '90',
        EVENT_RETENTION_DAYS: '365',
        MANY_ADDRESSES: '10',
      },
      log: (line) => this.#note(`${location} logs ${line}`),
    });
    return isolate;
  }

  #isolate(number: number): Isolate {
    const isolate = at(this.#isolates, number);
    if (!isolate) throw new Error('There is no isolate');
    return isolate;
  }

  #note(line: string): void {
    this.#trace.push(`+${((this.#clock.now - START) / 1000).toFixed(3)} ${line}`);
  }

  #notePut(key: string, value: string | null): void {
    this.#note(`KV has ${key} = ${value}`);
    const { revision } = snapshot.parse(JSON.parse(value ?? '{}'));
    const highest = this.#revisions.get(key) ?? 0;
    if (revision < highest) this.#overwritten.set(key, currentInvocation());
    else this.#overwritten.delete(key);
    this.#revisions.set(key, Math.max(highest, revision));
  }

  /** Keeps the first violation. It is not thrown, because code of the service could catch it. */
  #guard(check: () => void): void {
    try {
      check();
    } catch (error) {
      this.#violation ??= error;
    }
  }

  /** Lets work go on by itself. Its failure is a violation. */
  #leave(work: Promise<unknown>): void {
    work.catch((error) => {
      this.#violation ??= error;
    });
  }

  async #pass(milliseconds: number): Promise<void> {
    await this.#clock.pass(milliseconds);
    if (this.#violation) throw this.#violation;
  }

  /** Runs the scheduled handler each minute in some isolate. */
  #planCron(): void {
    const minute = Math.ceil((this.#clock.now + 1) / MINUTE_MS) * MINUTE_MS;
    this.#clock.at(minute + this.#random.below(2_000), () => {
      this.#leave(this.#random.pick(this.#isolates).scheduled(minute));
      this.#planCron();
    });
  }

  #perform(command: Command): void {
    const number = command.isolate % PLACES.length;
    const isolate = this.#isolate(number);
    this.#note(`${isolate.location}#${number}: ${JSON.stringify(command)}`);
    switch (command.type) {
      case 'validate':
        for (let nth = 0; nth < command.count; nth++) {
          const request = this.#requestOf({ ...command, address: command.address + nth });
          const { license, token } = command;
          this.#validate(this.#isolate(number + nth), request, license, token, 'no');
        }
        return;
      case 'change':
        this.#leave(this.#administer(isolate, command.change, command.target, command.value));
        return;
      case 'fault': {
        const [service, fault] = command.fault;
        const until = this.#clock.now + command.seconds * 1_000;
        this.#linksOf(isolate.location)[service].begin(fault, until);
        return;
      }
      case 'crash':
        isolate.crash();
        this.#isolates[number] = this.#startIsolate(isolate.location);
        return;
      case 'run the scheduled handler':
        this.#leave(isolate.scheduled(this.#clock.now));
        return;
    }
  }

  #requestOf(command: Command & { type: 'validate' }): ValidationRequest {
    const license =
      command.license === null ? undefined : at(this.#items.licenses, command.license);
    const products = this.#items.products.map(({ id }) => id);
    const productId = license?.productId ?? products[0] ?? 0;
    const other = products.find((id) => id !== productId) ?? 0;
    const connectingAddress = at(ADDRESSES, command.address) ?? '';
    return {
      licenseKey: license?.secret ?? UNKNOWN_KEY,
      productId: command.isForOtherProduct ? other : productId,
      ip: at(ADDRESSES, command.ip ?? command.address) ?? '',
      connectingAddress,
      hwid: command.hwid === null ? null : (at(HWIDS, command.hwid) ?? null),
      takesOver: command.takesOver ?? false,
    };
  }

  #validate(
    isolate: Isolate,
    request: ValidationRequest,
    licenseNumber: number | null,
    tokenNumber: number | null,
    quiet: ValidationTask['quiet'],
  ): void {
    const license = licenseNumber === null ? undefined : at(this.#items.licenses, licenseNumber);
    const token = tokenNumber === null ? undefined : at(this.#items.tokens, tokenNumber);
    const task: ValidationTask = {
      kind: 'validation',
      marker: `v${this.#invariants.validations.length}`,
      request,
      license: license ? `license ${license.id}` : null,
      token: token ? `token ${token.id}` : null,
      oldest: this.#invariants.oldestStates(isolate),
      quiet,
    };
    const { licenseKey, productId, ip, connectingAddress, hwid, takesOver } = request;
    const body = {
      licenseKey,
      productId,
      productVersion: task.marker,
      ...(hwid !== null && { hwid }),
      ...(ip !== connectingAddress && { ip }),
      ...(takesOver && { takeOver: true }),
    };
    const { invocation, response } = isolate.request(
      new Request(`http://licet.test/api/${token ? 'v2' : 'v1'}/validate`, {
        method: 'POST',
        headers: { 'CF-Connecting-IP': connectingAddress, ...(token && { TOKEN: token.secret }) },
        body: JSON.stringify(body),
      }),
      task,
    );
    const validation = { task, isolate, invocation, response: null };
    this.#invariants.begin(validation);
    this.#leave(
      response.then((actual) => {
        const { marker } = task;
        this.#note(`${isolate.location} responds to ${marker} ${JSON.stringify(actual)}`);
        this.#invariants.afterValidation(validation, actual);
      }),
    );
  }

  async #administer(
    isolate: Isolate,
    change: ChangeName,
    target: number,
    value: number,
  ): Promise<void> {
    const makeRequest: MakeRequest = CHANGES[change];
    const request = makeRequest(this.#items, target, value, this.#clock.now);
    if (!request) return;
    const { method, path, body, subject, wanted } = request;
    const task: AdminTask = { kind: 'admin', subject, wanted, writtenIndex: 0 };
    const { invocation, response } = isolate.request(
      new Request(`http://licet.test/api/v2${path}`, {
        method,
        headers: { TOKEN: ROOT_TOKEN },
        ...(body && { body: JSON.stringify(body) }),
      }),
      task,
    );
    const actual = await response;
    this.#note(`${isolate.location} responds to ${method} ${path} ${actual.status}`);
    this.#invariants.afterAdmin(isolate, invocation, task, actual);
    if (actual.status !== 201) return;
    const { id, licenseKey, token, productId, licenseDataType, data } = created.parse(actual.json);
    const item = { id, secret: licenseKey ?? token ?? '', productId };
    const list = Object.entries(this.#items).find(([name]) => path === `/${name}`);
    list?.[1].push({ ...item, blockedName: blockedName(licenseDataType, data, productId) });
  }

  /** Ends all faults and lets time pass. After that no record may be missing and no snapshot wrong. */
  async #becomeQuiet(): Promise<void> {
    this.#note('All is quiet');
    this.#endFaults();
    await this.#pass(QUIET_MS);
    // Records of an outage may wait in an isolate that gets no more requests.
    for (const isolate of this.#isolates) this.#leave(isolate.scheduled(this.#clock.now));
    await this.#pass(MINUTE_MS);
    this.#invariants.checkRecords();
    this.#receivers.check();
    const newIsolates = (): Isolate[] => LOCATIONS.map((location) => this.#startIsolate(location));
    // Before any isolate asks the database, which repairs wrong snapshots. A late put of a publisher that was cut off
    // may leave a wrong snapshot, which its next use repairs.
    if (![...this.#overwritten.values()].some(({ isCutOff }) => isCutOff)) {
      await this.#askWithoutDatabase(newIsolates(), 'published');
    }
    // Each bound value is used in new isolates, one after the other, which repairs the snapshots in KV.
    for (const isolate of newIsolates()) await this.#ask(isolate, 'no', MINUTE_MS);
    await this.#pass(QUIET_MS);
    for (const isolate of this.#isolates) await this.#ask(isolate, 'repaired', 0);
    // New values have been bound by that, which is a change again.
    await this.#pass(QUIET_MS);
    await this.#askWithoutDatabase([...this.#isolates, ...newIsolates()], 'repaired');
  }

  /** Validates in isolates that have nothing but snapshots. */
  async #askWithoutDatabase(
    isolates: readonly Isolate[],
    quiet: ValidationTask['quiet'],
  ): Promise<void> {
    this.#note('The database cannot be reached');
    for (const { D1 } of this.#links.values()) D1.begin('is cut', this.#clock.now + QUIET_MS);
    for (const isolate of isolates) await this.#ask(isolate, quiet, 0);
    this.#endFaults();
    this.#note('The database can be reached again');
  }

  #endFaults(): void {
    this.#receivers.calm();
    for (const link of this.#web.values()) link.endFaults();
    for (const links of this.#links.values()) {
      for (const link of Object.values(links)) link.endFaults();
    }
  }

  /** Validates in an isolate: each license with each bound value, each token, and values that may be blocked. */
  async #ask(isolate: Isolate, quiet: ValidationTask['quiet'], pauseMs: number): Promise<void> {
    const ask = async (
      license: number,
      address = '',
      hwid: string | null,
      token: number | null,
    ) => {
      const { secret = '', productId } = this.#items.licenses[license] ?? {};
      const addresses = { ip: address, connectingAddress: address };
      const machine = { hwid, takesOver: false, ...addresses };
      const request = { licenseKey: secret, productId: productId ?? 0, ...machine };
      this.#validate(isolate, request, license, token, quiet);
      await this.#pass(pauseMs);
    };
    for (const [number, { id }] of this.#items.licenses.entries()) {
      const { ips = [], hwids = [] } = this.#truth.licenses.get(`license ${id}`)?.current ?? {};
      for (let nth = 0; nth < Math.max(1, ips.length, hwids.length); nth++) {
        await ask(number, at(ips, nth) ?? ADDRESSES[0], at(hwids, nth) ?? null, null);
      }
    }
    if (quiet !== 'no') {
      for (const token of this.#items.tokens.keys()) await ask(1, ADDRESSES[5], null, token);
      for (const address of ADDRESSES) await ask(1, address, null, null);
      for (const hwid of HWIDS) await ask(1, ADDRESSES[5], hwid, null);
    }
    await this.#pass(MINUTE_MS / 2);
  }
}
