import { createExecutionContext, createMessageBatch, getQueueResult } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { expect, vi } from 'vitest';
import type { Bindings } from '../../src/isolate';
import worker from '../../src/index';

interface Redelivery {
  /** Which of the messages comes again. */
  index: number;
  delaySeconds: number;
}

/** Hands messages to the Worker, as the queue does; which of them are to come again. */
export async function deliver(
  bodies: readonly unknown[],
  bindings: Partial<Bindings> = {},
  attempts = 1,
): Promise<Redelivery[]> {
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
  await worker.queue(batch, { ...env, ...bindings });
  const { retryMessages, explicitAcks } = await getQueueResult(batch, context);
  expect(explicitAcks.length + retryMessages.length).toBe(bodies.length);
  return retryMessages.map(({ msgId }) => {
    const index = Number(msgId);
    return { index, delaySeconds: retries[index]?.mock.lastCall?.[0]?.delaySeconds ?? 0 };
  });
}

/**
 * The binding of a queue that has taken a message when the Worker has, with these bindings, however
 * often it has to come again.
 */
export const queueTo = (bindings: Partial<Bindings>): NonNullable<Bindings['RECORDS']> => ({
  ...env.TEST_RECORDS,
  async send(body) {
    for (let attempts = 1; ; attempts++) {
      const [redelivery] = await deliver([JSON.parse(JSON.stringify(body))], bindings, attempts);
      if (!redelivery) return { metadata: { metrics: { backlogCount: 0, backlogBytes: 0 } } };
      const { delaySeconds } = redelivery;
      await new Promise((resolve) => setTimeout(resolve, delaySeconds * 1_000));
    }
  },
});
