import { createExecutionContext, createMessageBatch, getQueueResult } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { expect, it } from 'vitest';
import worker from '../../src/index.ts';
import type { Bindings } from '../../src/services.ts';
import { get, type License } from '../support/client.ts';
import { unreachable } from '../support/faults.ts';
import { recordAt } from '../support/history.ts';
import { askFor, openShop } from '../support/shop.ts';

/** Records that an earlier version has left in its queue (1.6). */

const shop = openShop();

/** Hands messages to the Worker, each with a record, as the queue does. @returns the ids of those that are done */
async function deliver(licenses: readonly License[], bindings: Partial<Bindings> = {}) {
  const messages = licenses.map((license, index) => ({
    id: String(index),
    timestamp: new Date(),
    attempts: 1,
    body: [
      recordAt(license.id * 1_000 + Date.UTC(2026, 0, 1), {
        ...askFor(license),
        licenseId: license.id,
      }),
    ],
  }));
  const batch = createMessageBatch('licet-records', [...messages, ...messages]);
  const context = createExecutionContext();
  await worker.queue(batch, { ...env, ...bindings }, context);
  return getQueueResult(batch, context);
}

it('records in the queue of an earlier version are stored once, and the queue is empty then [1.6.24]', async () => {
  const licenses = [await shop.newLicense(), await shop.newLicense()];
  for (const license of licenses) expect(license.totalRequests).toBe(0);
  expect(await deliver(licenses)).toMatchObject({ outcome: 'ok', retryMessages: [] });
  for (const { id } of licenses) expect((await get.license(id)).totalRequests).toBe(1);
});

it('records that cannot be stored stay in the queue of an earlier version', async () => {
  const license = await shop.newLicense();
  await expect(deliver([license], { DB: unreachable(env.DB) })).rejects.toThrow();
  expect((await get.license(license.id)).totalRequests).toBe(0);
});
