import { AsyncLocalStorage } from 'node:async_hooks';
import type { Admission } from '../../src/lib/admission.ts';
import type { BatchWriter, MonotonicClock } from '../../src/requests/batch-writer.ts';
import { VirtualClock } from './clock.ts';
import { GLOBALS, loadModules, type Replacements } from './modules.ts';

/** A tenth of the numbers of the service, for a run to take a tenth of the time. */
export const MAX_BATCH = 100;
export const MAX_PENDING = 300;
/** Half of the number of the service. */
export const MAX_PER_TURN = 16;
/** A write that takes longer has failed. */
const TIMEOUT_MS = 5_000;

interface Modules {
  BatchWriter: typeof BatchWriter<number>;
  Admission: typeof Admission;
  MonotonicClock: typeof MonotonicClock;
}

const hasModules = (value: object): value is Modules =>
  ['BatchWriter', 'Admission', 'MonotonicClock'].every((name) => name in value);

/** A request. After its cancellation no timer of it fires, and no write returns. */
class FloodRequest {
  readonly startedAt: number;
  isCancelled = false;
  /** Promises that keep it alive. */
  staying = 0;

  constructor(startedAt: number) {
    this.startedAt = startedAt;
  }
}

export interface Write {
  items: readonly number[];
  startedAt: number;
  by: FloodRequest | undefined;
}

/** The admission of an isolate and its writer, in virtual time. Each request that is admitted adds its number. */
export class Flood {
  readonly clock = new VirtualClock(0);
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
  readonly longest = { waitedMs: 0, stayedMs: 0, pending: 0, writes: 0 };

  /** The time that a write takes, or its fault. */
  database: (clock: VirtualClock) => number | 'fails' | 'hangs' = () => 20;

  readonly #writer: BatchWriter<number>;
  readonly #admission: Admission;
  readonly #running = new AsyncLocalStorage<FloodRequest>();
  readonly #requests = new Set<FloodRequest>();
  #items = 0;
  readonly #underWay = new Set<Write>();

  private constructor(start: Awaited<ReturnType<typeof loadModules>>) {
    const { clock } = this;
    const clear = (cancel?: () => void): void => cancel?.();
    const load = start({
      ...Object.fromEntries(GLOBALS.map((name) => [name, Reflect.get(globalThis, name)])),
      performance: { now: () => clock.now },
      setTimeout: (callback: () => void, ms: number) => this.#plan(callback, ms),
      setInterval: (callback: () => void, ms: number) => {
        let cancel = (): void => undefined;
        const repeat = (): void => {
          cancel = this.#plan(repeat, ms);
          callback();
        };
        cancel = this.#plan(repeat, ms);
        return () => cancel();
      },
      clearTimeout: clear,
      clearInterval: clear,
    });
    const modules = {
      ...load('src/requests/batch-writer.ts'),
      ...load('src/lib/admission.ts'),
    };
    if (!hasModules(modules)) throw new Error('The modules have other exports');
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
    return new Flood(await loadModules(replacements));
  }

  /** Sends a request, which adds an item when it is admitted. Resolves with the response. */
  send(): Promise<void> {
    const request = new FloodRequest(this.clock.now);
    return this.#running.run(request, async () => {
      const waitUntil = (work: Promise<unknown>): void => {
        request.staying++;
        this.#requests.add(request);
        work.finally(() => {
          request.staying--;
          if (request.staying > 0) return;
          this.#requests.delete(request);
          const { stayedMs } = this.longest;
          this.longest.stayedMs = Math.max(stayedMs, this.clock.now - request.startedAt);
        });
      };
      const isAdmitted = await this.#admission.enter(waitUntil);
      if (request.isCancelled) return;
      const waitedMs = this.clock.now - request.startedAt;
      this.longest.waitedMs = Math.max(this.longest.waitedMs, waitedMs);
      if (!isAdmitted) {
        this.rejectedAfterMs.push(waitedMs);
        return;
      }
      const item = this.#items++;
      this.addedAt.set(item, this.clock.now);
      this.wasStuck ||= this.#writer.isStuck();
      this.#writer.add(item, waitUntil);
      this.longest.pending = Math.max(this.longest.pending, this.#writer.size());
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

  /** Cancels some of the requests that are kept alive. */
  cancel(isChosen: (index: number) => boolean): void {
    for (const [index, request] of [...this.#requests].entries()) {
      if (!isChosen(index)) continue;
      request.isCancelled = true;
      this.#requests.delete(request);
    }
  }

  /** The number of items that were added, and neither written nor given up. */
  get missing(): number {
    const gone = new Set(this.givenUp);
    return [...this.addedAt.keys()].filter((item) => !this.writtenAt.has(item) && !gone.has(item))
      .length;
  }

  #plan(callback: () => void, ms: number): () => void {
    const request = this.#running.getStore();
    return this.clock.at(this.clock.now + Math.max(1, Math.ceil(ms)), () => {
      if (!request) callback();
      else if (!request.isCancelled) this.#running.run(request, callback);
    });
  }

  async #write(items: readonly number[]): Promise<void> {
    const by = this.#running.getStore();
    const write = { items, startedAt: this.clock.now, by };
    const others = [...this.#underWay].filter(
      (other) => !other.by?.isCancelled && write.startedAt - other.startedAt < TIMEOUT_MS,
    );
    const held = new Set(others.flatMap((other) => other.items));
    this.writtenByTwo += items.filter((item) => held.has(item)).length;
    this.writes.push(write);
    this.#underWay.add(write);
    this.longest.writes = Math.max(this.longest.writes, others.length + 1);
    const fate = this.database(this.clock);
    if (fate === 'hangs') return new Promise(() => undefined);
    await this.clock.wait(fate === 'fails' ? 10 : fate);
    this.#underWay.delete(write);
    if (by?.isCancelled) return new Promise(() => undefined);
    if (fate === 'fails') throw new Error('down');
    for (const item of items) {
      if (!this.writtenAt.has(item)) this.writtenAt.set(item, this.clock.now);
    }
  }
}
