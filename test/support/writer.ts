import { createExecutionContext } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import type { HistoryRecord } from '../../src/requests/record.ts';
import { type Bindings, servicesOf } from '../../src/services.ts';
import { finish } from './client.ts';

/** Writes records, together and to the end of all that follows. */
export type Writer = (...records: readonly HistoryRecord[]) => Promise<void>;

/** An isolate that writes records of any time: what it remembers, it remembers from one write to the next. */
export function newWriter(bindings: Partial<Bindings> = {}): Writer {
  const { recorder } = servicesOf({ ...env, ...bindings });
  return async function write(...records) {
    const context = createExecutionContext();
    await recorder.store(records, (work) => context.waitUntil(work));
    await finish(context);
  };
}
