import { createHash, timingSafeEqual } from 'node:crypto';
import type { VirtualClock } from './clock.ts';
import { currentInvocation, Invocation, runAs, type Sender } from './invocation.ts';
import type { Service, StartService } from './modules.ts';
import type { Random } from './random.ts';
import type { Task } from './tasks.ts';

/** A response, read to its end. */
export interface JsonResponse {
  status: number;
  json: unknown;
}

export interface Environment {
  clock: VirtualClock;
  random: Random;
  env: object;
  /** Called with each line that the service logs. */
  log: (line: string) => void;
}

const never = <Result>(): Promise<Result> => new Promise(() => undefined);

/**
 * An instance of the service in a location: with module state of its own, in virtual time. It can crash at
 * any moment.
 */
export class Isolate implements Sender {
  readonly location: string;
  hasLostLast = false;
  /** Null while it lives. */
  crashedAt: number | null = null;

  readonly #service: Service;
  readonly #environment: Environment;
  readonly #invocations = new Set<Invocation>();

  constructor(location: string, start: StartService, environment: Environment) {
    this.location = location;
    this.#environment = environment;
    this.#service = start(globalsFor(environment));
  }

  get hasQueueHandler(): boolean {
    return this.#service.queue !== undefined;
  }

  /** Sends a request to the isolate. The response never comes if it crashes before. */
  request(
    task: Task,
    request: Request,
  ): { invocation: Invocation; response: Promise<JsonResponse> } {
    return this.#invoke(task, async (env, context) => {
      const response = await this.#service.fetch(request, env, context);
      return { status: response.status, json: parse(await response.text()) };
    });
  }

  /** Runs the scheduled handler, for a minute in milliseconds since 1970. */
  scheduled(task: Task, scheduledTime: number): Promise<unknown> {
    const controller = { scheduledTime, cron: '* * * * *', noRetry: () => undefined };
    return this.#invoke(task, async (env, context) =>
      this.#service.scheduled(controller, env, context),
    ).response;
  }

  /** Delivers a batch of the queue to the isolate. */
  queue(task: Task, batch: object): Promise<unknown> {
    return this.#invoke(task, async (env, context) => this.#service.queue?.(batch, env, context))
      .response;
  }

  /** Ends all invocations. The isolate handles no more. */
  crash(): void {
    this.crashedAt = this.#environment.clock.now;
    for (const invocation of this.#invocations) invocation.end();
  }

  #invoke<Result>(
    task: Task,
    handle: (env: object, context: object) => Promise<Result>,
  ): { invocation: Invocation; response: Promise<Result> } {
    const { clock, env } = this.#environment;
    const invocation = new Invocation(clock, this, task);
    this.#invocations.add(invocation);
    const handled = runAs(invocation, () => handle(env, invocation.context));
    const response = (async () => {
      try {
        return await handled;
      } finally {
        if (this.crashedAt === null) invocation.respond();
        else await never();
      }
    })();
    return { invocation, response };
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Few values, because independent draws must collide: uniqueness must not depend on luck. */
const RANDOM_VALUES = 16;

/** The globals of the platform, in virtual time and repeatable. */
function globalsFor({ clock, random, log }: Environment): Record<string, unknown> {
  class VirtualDate extends Date {
    constructor(value: number | string | Date = clock.now) {
      super(value);
    }

    static override now(): number {
      return clock.now;
    }
  }

  const setTimeout = (callback: (...values: unknown[]) => void, ms = 0, ...values: unknown[]) => {
    const invocation = currentInvocation();
    if (!invocation) throw new Error('A timer is set outside of a request');
    // Never at once: a loop that waits for a moment must get beyond it.
    const cancel = clock.at(clock.now + Math.max(1, Math.ceil(ms)), () => {
      if (!invocation.isOver) runAs(invocation, () => callback(...values));
    });
    return { cancel };
  };
  const clearTimeout = (timer?: { cancel: () => void }): void => timer?.cancel();
  const setInterval = (callback: () => void, ms: number) => {
    const timer = { cancel: () => undefined };
    const plan = () => {
      Object.assign(
        timer,
        setTimeout(() => {
          plan();
          callback();
        }, ms),
      );
    };
    plan();
    return timer;
  };
  const notModelled = (what: string) => (): never => {
    throw new Error(`Not modelled: ${what}`);
  };
  const fill = (bytes: Uint8Array): Uint8Array => {
    bytes.forEach((_, index) => {
      bytes[index] = random.below(256);
    });
    return bytes;
  };
  const print = (...values: unknown[]): void => log(values.map((value) => show(value)).join(' '));

  return {
    Date: VirtualDate,
    Math: Object.create(Math, {
      random: { value: () => random.below(RANDOM_VALUES) / RANDOM_VALUES },
    }),
    Blob: MemoryBlob,
    // `log` has the event of each request, for which the trace has a line of its own.
    console: { debug: print, error: print, info: print, log: () => undefined, warn: print },
    crypto: {
      getRandomValues: fill,
      randomUUID: () =>
        Buffer.from(fill(new Uint8Array(16)))
          .toString('hex')
          .replace(/^(.{8})(.{4}).(.{3}).(.{3})/, '$1-$2-4$3-8$4-'),
      subtle: {
        // At once, because the real one runs in another thread, which no seed repeats.
        digest: async (_: string, bytes: Uint8Array) =>
          new Uint8Array(createHash('sha256').update(bytes).digest()).buffer,
        timingSafeEqual: (one: ArrayBuffer, other: ArrayBuffer) =>
          timingSafeEqual(new Uint8Array(one), new Uint8Array(other)),
      },
    },
    fetch: notModelled('fetch'),
    performance: { now: () => clock.now },
    scheduler: { wait: (ms: number) => new Promise<void>((done) => setTimeout(() => done(), ms)) },
    setTimeout,
    clearTimeout,
    setInterval,
    clearInterval: clearTimeout,
  };
}

const show = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value);

/** Node's Blob reads its text in more than one turn of the event loop. */
class MemoryBlob {
  readonly #parts: readonly Uint8Array[];

  constructor(parts: readonly Uint8Array[]) {
    this.#parts = parts;
  }

  text = async (): Promise<string> => new TextDecoder().decode(Buffer.concat(this.#parts));
}

const ALPHABETS = { base64: 'base64', base64url: 'base64url' } as const;

/** Adds a method of the platform's Uint8Array that Node 24 lacks. */
function addMissing(name: string, method: (this: Uint8Array, options?: object) => string): void {
  if (name in Uint8Array.prototype) return;
  Object.defineProperty(Uint8Array.prototype, name, { value: method, configurable: true });
}

addMissing('toHex', function toHex() {
  return Buffer.from(this).toString('hex');
});
addMissing('toBase64', function toBase64(options = {}) {
  const isUrl = 'alphabet' in options && options.alphabet === ALPHABETS.base64url;
  const text = Buffer.from(this).toString(isUrl ? ALPHABETS.base64url : ALPHABETS.base64);
  const isBare = 'omitPadding' in options && options.omitPadding === true;
  return isBare ? text.replace(/=+$/, '') : text;
});
