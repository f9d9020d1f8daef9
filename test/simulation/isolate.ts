import { createHash, timingSafeEqual } from 'node:crypto';
import type { VirtualClock } from './clock.ts';
import type { Task } from './invariants.ts';
import type { Service, StartService } from './modules.ts';
import { currentInvocation, Invocation, never, runAs } from './network.ts';
import type { Random } from './random.ts';

/** A response, read to its end. */
export interface JsonResponse {
  status: number;
  json: unknown;
}

interface Sent<Result> {
  invocation: Invocation;
  response: Promise<Result>;
}

interface Environment {
  clock: VirtualClock;
  random: Random;
  env: object;
  /** Called with each line that the service logs. */
  log: (line: string) => void;
}

/** An instance of the service in a location, with module state of its own. It can crash at any moment. */
export class Isolate {
  readonly location: string;
  hasCrashed = false;

  readonly #service: Service;
  readonly #environment: Environment;
  readonly #invocations: Invocation[] = [];

  constructor(location: string, start: StartService, environment: Environment) {
    this.location = location;
    this.#environment = environment;
    this.#service = start(globalsFor(environment));
  }

  /** Sends a request to the isolate. The response never comes if it crashes before. */
  request(request: Request, task: Task = null): Sent<JsonResponse> {
    return this.#invoke(task, async (env, context) => {
      const response = await this.#service.fetch(request, env, context);
      const text = await response.text();
      return { status: response.status, json: text === '' ? null : JSON.parse(text) };
    });
  }

  /** Runs the scheduled handler, for a minute in milliseconds since 1970. */
  scheduled(scheduledTime: number): Promise<unknown> {
    const controller = { scheduledTime, cron: '* * * * *' };
    return this.#invoke(null, async (env, context) =>
      this.#service.scheduled(controller, env, context),
    ).response;
  }

  /** Ends all invocations. The isolate handles no more. */
  crash(): void {
    this.hasCrashed = true;
    for (const invocation of this.#invocations) invocation.end();
  }

  #invoke<Result>(
    task: Task,
    handle: (env: object, context: object) => Promise<Result>,
  ): Sent<Result> {
    const { clock, env } = this.#environment;
    const invocation = new Invocation(clock, task);
    this.#invocations.push(invocation);
    const { waitUntil } = invocation;
    const context = { waitUntil, passThroughOnException: () => undefined, props: {} };
    const handled = runAs(invocation, () => handle(env, context));
    const response = handled.finally(() => {
      if (this.hasCrashed) return never();
      invocation.respond();
    });
    return { invocation, response };
  }
}

/** Few values, so that isolates draw the same ids. Two draws that collide, of an id and of its nonce, are too rare. */
const RANDOM_VALUES = 256;

/** The globals of the platform, in virtual time and repeatable. */
export function globalsFor({
  clock,
  random,
  log,
}: Omit<Environment, 'env'>): Record<string, unknown> {
  class VirtualDate extends Date {
    constructor(value: number | string | Date = clock.now) {
      super(value);
    }

    static override now(): number {
      return clock.now;
    }
  }

  /** As on the platform, a timer belongs to the invocation that has set it. */
  const setTimeout = (callback: () => void, ms = 0) => {
    const invocation = currentInvocation();
    // Never at once: a loop that waits for a moment must get beyond it.
    const cancel = clock.at(clock.now + Math.max(1, Math.ceil(ms)), () => {
      if (!invocation.isOver) runAs(invocation, callback);
    });
    return { cancel };
  };
  const setInterval = (callback: () => void, ms: number) => {
    const timer = { cancel: () => undefined };
    const plan = (): void => {
      const next = setTimeout(() => {
        plan();
        callback();
      }, ms);
      Object.assign(timer, next);
    };
    plan();
    return timer;
  };
  const clearTimer = (timer?: { cancel: () => void }): void => timer?.cancel();
  const fill = (bytes: Uint8Array): Uint8Array => bytes.map(() => random.below(256));
  const print = (...values: unknown[]): void => log(values.map(String).join(' '));

  return {
    Date: VirtualDate,
    Math: Object.create(Math, {
      random: { value: () => random.below(RANDOM_VALUES) / RANDOM_VALUES },
    }),
    Blob: MemoryBlob,
    // `log` has the event of each request, for which the trace has a line of its own.
    console: { debug: print, error: print, info: print, log: () => undefined, warn: print },
    crypto: {
      getRandomValues: (bytes: Uint8Array) => {
        bytes.set(fill(bytes));
        return bytes;
      },
      randomUUID: () => Buffer.from(fill(new Uint8Array(16))).toString('hex'),
      subtle: {
        // At once, because the real one runs in another thread, which no seed repeats.
        digest: async (_: string, bytes: Uint8Array) =>
          new Uint8Array(createHash('sha256').update(bytes).digest()).buffer,
        // Signatures are tested elsewhere.
        importKey: async () => ({}),
        sign: async () => new ArrayBuffer(32),
        timingSafeEqual: (one: ArrayBuffer, other: ArrayBuffer) =>
          timingSafeEqual(new Uint8Array(one), new Uint8Array(other)),
      },
    },
    performance: { now: () => clock.now },
    setTimeout,
    clearTimeout: clearTimer,
    setInterval,
    clearInterval: clearTimer,
    // Not modelled.
    fetch: null,
    scheduler: null,
  };
}

/** Node's Blob reads its text in more than one turn of the event loop. */
class MemoryBlob {
  readonly #parts: readonly Uint8Array[];

  constructor(parts: readonly Uint8Array[]) {
    this.#parts = parts;
  }

  text = async (): Promise<string> => new TextDecoder().decode(Buffer.concat(this.#parts));
}

/** Methods of the platform's Uint8Array that Node 24 lacks. */
Object.assign(Uint8Array, { fromBase64: (text: string) => Buffer.from(text, 'base64') });
Object.assign(Uint8Array.prototype, {
  toHex(this: Uint8Array): string {
    return Buffer.from(this).toString('hex');
  },
  /** As the service calls it: base64url without padding. */
  toBase64(this: Uint8Array): string {
    return Buffer.from(this).toString('base64url');
  },
});
