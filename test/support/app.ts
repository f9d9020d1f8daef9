import { createExecutionContext, createScheduledController } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import worker from '../../src/index.ts';
import { app } from '../../src/routes/app.ts';
import type { Bindings } from '../../src/services.ts';
import { type CallOptions, finish, type ReadResponse, readResponse, requestTo } from './client.ts';

export { settled } from './client.ts';

export interface ValidationOptions {
  version?: 'v1' | 'v2';
  headers?: Record<string, string>;
}

/** `recorded` resolves when all that was left running after the response is done. */
export interface ValidationResponse {
  status: number;
  json: unknown;
  recorded: Promise<void>;
}

/** `finished` resolves when all that was left running after the response is done. */
export interface SentResponse extends ReadResponse {
  finished: Promise<void>;
}

/** An isolate of the service: what it remembers, it remembers from one of its requests to the next. */
export interface Isolate {
  /** A request to any path, to its response. */
  send(method: string, path: string, options?: CallOptions): Promise<SentResponse>;
  /** A request to any path, to the end of all that it does. */
  call(method: string, path: string, options?: CallOptions): Promise<ReadResponse>;
  /** One validation, to its response. */
  validate(body: unknown, options?: ValidationOptions): Promise<ValidationResponse>;
  /** Runs the scheduled handler, as of now. */
  runScheduled(): Promise<void>;
}

/** Bindings of a test, and secrets that the service finds by their names. */
export type TestBindings = Partial<Bindings> & { [secret: `SIGNING_KEY_${number}`]: string };

/** A cold isolate with other bindings than the Worker's: the service keeps its state by them. */
export function newIsolate(bindings: TestBindings = {}): Isolate {
  const isolateEnv = { ...env, ...bindings };
  async function send(method: string, path: string, options?: CallOptions): Promise<SentResponse> {
    const context = createExecutionContext();
    const request = requestTo(method, path, options);
    const response = await readResponse(request, await app.fetch(request, isolateEnv, context));
    return { ...response, finished: finish(context) };
  }
  return {
    send,
    async call(method, path, options) {
      const { finished, ...response } = await send(method, path, options);
      await finished;
      return response;
    },
    async validate(body, { version = 'v1', headers = {} } = {}) {
      const path = `/api/${version}/validate`;
      const { status, json, finished } = await send('POST', path, { body, token: null, headers });
      return { status, json, recorded: finished };
    },
    async runScheduled() {
      const controller = createScheduledController({ scheduledTime: Date.now() });
      await worker.scheduled(controller, isolateEnv, createExecutionContext());
    },
  };
}
