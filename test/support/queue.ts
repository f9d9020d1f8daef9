import { createExecutionContext, createMessageBatch, getQueueResult } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { expect, vi } from 'vitest';
import worker from '../../src/index.ts';
import type { Bindings } from '../../src/services.ts';

interface Redelivery {
  /** Which of the messages comes again. */
  index: number;
  delaySeconds: number;
}

/** Hands messages to the Worker, as the queue does. @returns the messages that are to come again */
export type Deliver = (bodies: readonly unknown[], attempts?: number) => Promise<Redelivery[]>;

/** One isolate of the queue's consumer: what it remembers, it remembers from one delivery to the next. */
export function newConsumer(bindings: Partial<Bindings> = {}): Deliver {
  const isolateEnv = { ...env, ...bindings };
  return async function deliver(bodies, attempts = 1) {
    const batch = createMessageBatch(
      'records',
      bodies.map((body, index) => ({
        id: String(index),
        timestamp: new Date(),
        attempts,
        body: structuredClone(body),
      })),
    );
    const retries = batch.messages.map((message) => vi.spyOn(message, 'retry'));
    const context = createExecutionContext();
    await worker.queue(batch, isolateEnv);
    const { retryMessages, explicitAcks } = await getQueueResult(batch, context);
    expect(explicitAcks.length + retryMessages.length).toBe(bodies.length);
    return retryMessages.map(({ msgId }) => {
      const index = Number(msgId);
      return { index, delaySeconds: retries[index]?.mock.lastCall?.[0]?.delaySeconds ?? 0 };
    });
  };
}

/** Hands messages to an isolate of its own with other bindings than the Worker's. */
export const deliver = (
  bodies: readonly unknown[],
  bindings: Partial<Bindings> = {},
  attempts?: number,
): Promise<Redelivery[]> => newConsumer(bindings)(bodies, attempts);

/**
 * The binding of a queue that has taken a message when the Worker has, with these bindings, however
 * often it has to come again.
 */
export function queueTo(bindings: Partial<Bindings>): NonNullable<Bindings['RECORDS']> {
  const consume = newConsumer(bindings);
  return {
    ...env.TEST_RECORDS,
    async send(body) {
      for (let attempts = 1; ; attempts++) {
        const [redelivery] = await consume([JSON.parse(JSON.stringify(body))], attempts);
        if (!redelivery) return { metadata: { metrics: { backlogCount: 0, backlogBytes: 0 } } };
        const { delaySeconds } = redelivery;
        await new Promise((resolve) => setTimeout(resolve, delaySeconds * 1_000));
      }
    },
  };
}
