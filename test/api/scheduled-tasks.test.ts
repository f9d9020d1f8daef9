import { env } from 'cloudflare:workers';
import { marketProduct } from '@licet/contract/markets';
import { eq } from 'drizzle-orm';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { sessions } from '../../src/auth/schema.ts';
import { discordInteractions, discordLinkCodes } from '../../src/channels/discord/schema.ts';
import { LOOK_AFTER_MARKETS } from '../../src/channels/markets/scheduled.ts';
import {
  marketDeliveries,
  markets,
  purchases,
  subjects,
} from '../../src/channels/markets/schema.ts';
import { pageLinks, pageSessions } from '../../src/channels/portal/schema.ts';
import { deliveries } from '../../src/channels/webhooks/schema.ts';
import { openDatabase } from '../../src/db/client.ts';
import { SERVICE } from '../../src/db/events.ts';
import { events, idempotencyKeys, outbox } from '../../src/db/schema.ts';
import type { Run, Task } from '../../src/db/task.ts';
import { bucketOf, firstIdAt } from '../../src/lib/time-id.ts';
import { dailyCounts, gaps } from '../../src/requests/schema.ts';
import { grants } from '../../src/resources/tokens/schema.ts';
import { tasksOf } from '../../src/scheduled.ts';
import { senderOf, servicesOf } from '../../src/services.ts';
import { settled } from '../support/app.ts';
import { create, type License } from '../support/client.ts';
import { spyOnDatabase } from '../support/d1-spy.ts';
import {
  DAY_MS,
  emptyHistory,
  HOUR_MS,
  MINUTE_MS,
  recordAt,
  runScheduled,
  setNow,
  write,
} from '../support/history.ts';
import { spyOnKv } from '../support/kv-spy.ts';
import { emptyOutbox } from '../support/published.ts';

/** Each task of the scheduled handler with all the work that a run of it can have, and its queries and requests. */

const db = openDatabase(env.DB);
const NOW = Date.UTC(2026, 5, 10, 12);
const LONG_AGO = NOW - 1_000 * DAY_MS;
const SETTINGS = { MANY_ADDRESSES: '1', REQUEST_RETENTION_DAYS: '9', EVENT_RETENTION_DAYS: '9' };

let license: License;

beforeEach(async () => {
  setNow(NOW);
  await emptyHistory();
  license = await create.license();
  await settled();
  await emptyOutbox();
  await db.delete(events);
  // The service makes events from its first run on.
  await env.DB.prepare(
    `insert into counters values ('alerts_since', 0), ('expiries_checked_at', ?)`,
  )
    .bind(NOW - HOUR_MS)
    .run();
});

afterEach(async () => {
  await settled();
  vi.useRealTimers();
});

const record = (time: number, ip: string) =>
  recordAt(time, {
    licenseId: license.id,
    licenseKey: license.licenseKey,
    productId: license.productId,
    outcome: 'LICENSE_EXPIRED',
    ip,
  });

/** Records of hours on several days, from two addresses. */
const writeDays = (...days: readonly number[]) =>
  write(
    ...days.flatMap((day) => {
      const time = NOW - day * DAY_MS;
      return [record(time, '192.0.2.1'), record(time, '192.0.2.2')];
    }),
  );

async function createMarket(): Promise<number> {
  const rows = await db
    .insert(markets)
    .values({
      kind: 'dynamic',
      name: 'Shop',
      isEnabled: true,
      path: crypto.randomUUID(),
      products: [],
      onRefund: 'deactivate',
      onDispute: 'deactivate',
      secrets: [],
      createdAt: NOW,
      updatedAt: NOW,
      revision: NOW,
    })
    .returning();
  return rows[0]?.id ?? 0;
}

/** Makes all the work that a run of a task can have, by the line of the log if it fails. */
const WORK: Readonly<Record<string, () => Promise<unknown>>> = {
  'Changes were not published': async () => {
    const created = await Promise.all(Array.from({ length: 6 }, () => create.license()));
    await settled();
    await emptyOutbox();
    await db.insert(outbox).values(
      created.map(({ licenseKey }) => ({
        subject: `license:${licenseKey.toUpperCase()}`,
        revision: 1,
      })),
    );
  },
  'Old events were not removed': () =>
    db.insert(events).values({
      id: firstIdAt(NOW - 20 * DAY_MS),
      type: 'license.deleted',
      isConsole: false,
      resourceType: 'license',
    }),
  'Records were not rolled up': () => writeDays(3, 2, 1),
  'Records were not aggregated': () => writeDays(4, 3, 2),
  'Old records were not removed': async () => {
    await writeDays(20);
    await env.DB.prepare(
      `update counters set value = ? where name in ('rolled_up_bucket', 'aggregated_bucket')`,
    )
      .bind(bucketOf(firstIdAt(NOW)))
      .run();
    await db.insert(gaps).values({ id: firstIdAt(NOW - 20 * DAY_MS), requests: 1 });
  },
  'Old sessions were not removed': () =>
    db.insert(sessions).values({
      sessionHash: crypto.randomUUID(),
      tokenHash: 'token',
      createdAt: LONG_AGO,
      lastUsedAt: LONG_AGO,
    }),
  'Old grants were not removed': async () => {
    const { id } = await create.token(['LICENSES_READ']);
    await env.DB.prepare("update tokens set client = 'assistant.example' where id = ?")
      .bind(id)
      .run();
    await db.insert(grants).values({
      tokenId: id,
      consenterHash: 'consenter',
      clientHash: 'client',
      redirectUri: 'https://assistant.example/',
      codeHash: 'code',
      codeChallenge: 'challenge',
      codeExpiresAt: LONG_AGO,
    });
  },
  'The licenses were not counted': () =>
    db.insert(dailyCounts).values({ day: 1, productId: 1, status: 'ACTIVE', count: 1 }),
  'Idempotency keys were not removed': () =>
    db
      .insert(idempotencyKeys)
      .values({ tokenId: 0, keyHash: 'key', requestHash: 'request', createdAt: LONG_AGO }),
  'Old deliveries were not removed': () =>
    db.insert(deliveries).values({
      webhookId: 999,
      id: firstIdAt(NOW),
      type: 'ping',
      attempts: 1,
      step: 0,
    }),
  'Markets were not looked after': async () => {
    const marketId = await createMarket();
    await db.insert(marketDeliveries).values(
      [0, 1, 2, 3, 4, 40].map((day) => ({
        marketId,
        id: firstIdAt(NOW - day * DAY_MS),
        isAccepted: false,
        status: 400,
        result: 'Wrong',
      })),
    );
    await db
      .insert(subjects)
      .values({ marketId, id: 'A', facts: {}, revision: 1, expiresAt: LONG_AGO });
    await db.insert(purchases).values({
      ...{ marketId, item: 'A', reference: 'A', unit: 0, quantity: 1, isTest: false },
      ...{ state: 'REVOKED', reason: 'removed', facts: {}, revision: 1 },
      ...{ createdAt: LONG_AGO, updatedAt: LONG_AGO },
    });
  },
  'Links, sessions, mails and interactions of customers were not looked after': async () => {
    const hash = crypto.randomUUID();
    await db.insert(pageLinks).values({ codeHash: hash, customerId: 1, expiresAt: LONG_AGO });
    await db.insert(pageSessions).values({ sessionHash: hash, customerId: 1, createdAt: LONG_AGO });
    await db
      .insert(discordLinkCodes)
      .values({ customerId: 1, codeHash: hash, expiresAt: LONG_AGO });
    await db.insert(discordInteractions).values({ id: hash, handledAt: LONG_AGO });
  },
  'Events about expiries were not made': () =>
    create.license({
      licenseType: 'TEMPORARY',
      expiryDate: new Date(NOW + 7 * DAY_MS - MINUTE_MS).toISOString(),
    }),
};

/** Bindings that count the queries and the operations of KV. */
function newCounted() {
  const { spy: DB, roundTrips } = spyOnDatabase(env.DB);
  const { spy: SNAPSHOTS, operations } = spyOnKv(env.SNAPSHOTS);
  const made = () => roundTrips.flat().length + operations.length;
  return { bindings: { ...env, ...SETTINGS, DB, SNAPSHOTS }, made };
}

/** Those that send make as many attempts as remain, and are tested with their channels. */
const listed = tasksOf(servicesOf(env)).filter(({ most }) => most > 0);

it.each(listed.map(({ failure, most }) => ({ failure, most })))(
  'a run of a task with all its work makes $most queries and requests at most: $failure',
  async ({ failure, most }) => {
    const makeWork = WORK[failure] ?? expect.fail(`WORK lacks the task: ${failure}`);
    await makeWork();
    const { bindings, made } = newCounted();
    const services = servicesOf(bindings);
    const task = tasksOf(services).find((one) => one.failure === failure);
    await task?.run({
      db: services.db,
      now: NOW,
      settings: SETTINGS,
      outbound: services.outbound,
      newSender: () => senderOf(services, SERVICE, () => undefined),
      left: () => most,
      spend: () => undefined,
      add: () => undefined,
    });
    expect(made()).toBe(most);
  },
);

it('the requests of a list that fails count for the run [8.5.12]', async () => {
  const id = await createMarket();
  const products = [{ item: '1', productId: license.productId }].map((one) =>
    marketProduct.parse(one),
  );
  await db
    .update(markets)
    .set({ kind: 'voxel', apiToken: 'token', products })
    .where(eq(markets.id, id));
  const { bindings } = newCounted();
  let asked = 0;
  const fetch = async () => {
    asked++;
    const response = { more: asked < 3, next_start: String(asked), buyers: [] };
    return Response.json(asked < 3 ? { response } : {}, { status: asked < 3 ? 200 : 500 });
  };
  vi.spyOn(console, 'error').mockImplementation(() => undefined);
  const services = servicesOf({ ...bindings, OUTBOUND: { fetch } });
  const due: Task[] = [LOOK_AFTER_MARKETS];
  let spent = 0;
  const run: Run = {
    db: services.db,
    now: NOW,
    settings: SETTINGS,
    outbound: services.outbound,
    newSender: () => senderOf(services, SERVICE, () => undefined),
    left: () => 50 - spent,
    spend: (requests) => {
      spent += requests;
    },
    add: (task) => due.push(task),
  };
  for (const task of due) await task.run(run).catch(() => undefined);
  expect([asked, spent]).toEqual([3, 3]);
});

it('a run of all tasks with all their work makes at most 50 queries and requests, and later runs do the rest', {
  tags: 'long',
}, async () => {
  expect(Object.keys(WORK)).toHaveLength(listed.length);
  for (const fill of Object.values(WORK)) await fill();
  const { bindings, made } = newCounted();
  const counts: number[] = [];
  for (let run = 0; run < 8; run++) {
    const before = made();
    await runScheduled(NOW, bindings);
    counts.push(made() - before);
  }
  expect(Math.max(...counts)).toBeLessThanOrEqual(50);
  // The last run finds nothing to do.
  const idle = counts.at(-1) ?? 0;
  expect(idle).toBeLessThanOrEqual(21);
  expect(await db.$count(outbox)).toBe(0);
  expect(await db.$count(sessions)).toBe(0);
  expect(await db.$count(grants)).toBe(0);
});
