import type { Admission } from '../../src/lib/admission.ts';
import type { BatchWriter, MonotonicClock } from '../../src/requests/batch-writer.ts';
import { VirtualClock } from './clock.ts';
import { globalsFor } from './isolate.ts';
import { loadModules, type Replacements } from './modules.ts';
import { currentInvocation, Invocation, never, runAs } from './network.ts';
import { Random } from './random.ts';

/** A tenth of the numbers of the service, for a run to take a tenth of the time. */
export const MAX_BATCH = 100;
export const MAX_PENDING = 300;
/** Half of the number of the service. */
export const MAX_PER_TURN = 16;
/** A write that takes longer has failed. */
const TIMEOUT_MS = 5_000;

const MODULES = ['requests/batch-writer', 'lib/admission'];

interface Modules {
  BatchWriter: typeof BatchWriter<number>;
  Admission: typeof Admission;
  MonotonicClock: typeof MonotonicClock;
}

const hasModules = (value: object): value is Modules =>
  ['BatchWriter', 'Admission', 'MonotonicClock'].every((name) => name in value);

interface Write {
  items: readonly number[];
  startedAt: number;
  by: Invocation;
}

/** The admission of an isolate and its writer, in virtual time. Each request that is admitted adds its number. */
export class Flood {
  readonly clock: VirtualClock;
  readonly writes: Write[] = [];
  /** When each item was written first. */
  readonly writtenAt = new Map<number, number>();
  readonly addedAt = new Map<number, number>();
  readonly rejectedAfterMs: number[] = [];
  readonly givenUp: number[] = [];
  /** Whether nothing was written for five seconds. */
  wasStuck = false;
  /** Items that two writers wrote at the same time. */
  writtenByTwo = 0;
  readonly longest = { waitedMs: 0, pending: 0, writes: 0 };

  /** The time that a write takes, or its fault. */
  database: number | 'fails' | 'hangs' = 20;

  readonly #writer: BatchWriter<number>;
  readonly #admission: Admission;
  /** Requests that went on after their response, without those that were cancelled. */
  readonly #kept = new Set<Invocation>();
  readonly #underWay = new Set<Write>();

  private constructor(modules: Modules, clock: VirtualClock) {
    this.clock = clock;
    const writer = new modules.BatchWriter({
      clock: new modules.MonotonicClock(),
      maxBatch: MAX_BATCH,
      write: (items) => this.#write(items),
      onFailure: () => undefined,
      onGivenUp: (items) => this.givenUp.push(...items),
    });
    this.#writer = writer;
    this.#admission = new modules.Admission({
      maxPerTurn: MAX_PER_TURN,
      isFull: () => writer.size() >= MAX_PENDING && !writer.isStuck(),
      makeRoom: (waitUntil) => writer.keepWriting(waitUntil),
    });
  }

  static async start(replacements: Replacements = {}): Promise<Flood> {
    const contents = MODULES.map((name) => `export * from './src/${name}.ts';`).join('\n');
    const load = await loadModules(contents, replacements);
    const clock = new VirtualClock(0);
    const modules = load(globalsFor({ clock, random: new Random(1), log: () => undefined }));
    if (!hasModules(modules)) throw new Error('The modules have other exports');
    return new Flood(modules, clock);
  }

  /** Sends a request, which adds an item when it is admitted. Resolves with the response. */
  send(): Promise<void> {
    const request = new Invocation(this.clock, null);
    const waitUntil = (work: Promise<unknown>): void => {
      this.#kept.add(request);
      request.waitUntil(work);
    };
    return runAs(request, async () => {
      const isAdmitted = await this.#admission.enter(waitUntil);
      if (request.isOver) return;
      const waitedMs = this.clock.now - request.startedAt;
      this.longest.waitedMs = Math.max(this.longest.waitedMs, waitedMs);
      if (isAdmitted) this.#add(waitUntil);
      else this.rejectedAfterMs.push(waitedMs);
      request.respond();
    });
  }

  /** Sends requests for a time, with the same pauses between them. */
  async sendFor(milliseconds: number, requestsPerSecond: number): Promise<void> {
    const end = this.clock.now + milliseconds;
    for (let due = 0; this.clock.now < end; await this.clock.pass(1)) {
      for (due += requestsPerSecond / 1_000; due >= 1; due--) this.send();
    }
  }

  /** Lets clients send for a time. Each sends its next request 5 ms after a response. */
  async keepSending(clients: number, milliseconds: number): Promise<void> {
    const end = this.clock.now + milliseconds;
    const client = async (): Promise<void> => {
      while (this.clock.now < end) {
        await this.send();
        await this.clock.wait(5);
      }
    };
    for (let count = 0; count < clients; count++) client();
    await this.clock.pass(milliseconds);
  }

  /** Cancels every nth of the requests that are kept alive. */
  cancelEvery(nth: number): void {
    const alive = [...this.#kept].filter(({ isOver }) => !isOver);
    for (const request of alive.filter((_, index) => index % nth === 0)) {
      this.#kept.delete(request);
      request.end();
    }
  }

  /** The number of requests that the platform has ended before they were done. */
  get cutOff(): number {
    return [...this.#kept].filter(({ isCutOff }) => isCutOff).length;
  }

  /** The number of items that were added, and neither written nor given up. */
  get missing(): number {
    const gone = new Set(this.givenUp);
    return [...this.addedAt.keys()].filter((item) => !this.writtenAt.has(item) && !gone.has(item))
      .length;
  }

  #add(waitUntil: Invocation['waitUntil']): void {
    const item = this.addedAt.size;
    this.addedAt.set(item, this.clock.now);
    this.wasStuck ||= this.#writer.isStuck();
    this.#writer.add(item, waitUntil);
    this.longest.pending = Math.max(this.longest.pending, this.#writer.size());
  }

  async #write(items: readonly number[]): Promise<void> {
    const write = { items, startedAt: this.clock.now, by: currentInvocation() };
    const others = [...this.#underWay].filter(
      (other) => !other.by.isCutOff && write.startedAt - other.startedAt < TIMEOUT_MS,
    );
    const held = new Set(others.flatMap((other) => other.items));
    this.writtenByTwo += items.filter((item) => held.has(item)).length;
    this.writes.push(write);
    this.#underWay.add(write);
    this.longest.writes = Math.max(this.longest.writes, others.length + 1);
    const fate = this.database;
    if (fate === 'hangs') return never();
    await this.clock.wait(fate === 'fails' ? 10 : fate);
    this.#underWay.delete(write);
    if (write.by.isOver) return never();
    if (fate === 'fails') throw new Error('down');
    for (const item of items) {
      if (!this.writtenAt.has(item)) this.writtenAt.set(item, this.clock.now);
    }
  }
}
