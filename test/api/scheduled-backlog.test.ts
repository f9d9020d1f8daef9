import { env } from 'cloudflare:workers';
import { marketProduct } from '@licet/contract/markets';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { discordInteractions } from '../../src/channels/discord/schema.ts';
import { NO_DISCORD } from '../../src/channels/discord/settings.ts';
import { purchases } from '../../src/channels/markets/schema.ts';
import { settings } from '../../src/channels/settings/schema.ts';
import { openDatabase } from '../../src/db/client.ts';
import { bucketOf, firstIdAt } from '../../src/lib/time-id.ts';
import { settled } from '../support/app.ts';
import { spyOnDatabase } from '../support/d1-spy.ts';
import { GUILD } from '../support/fake-discord.ts';
import {
  DAY_MS,
  emptyHistory,
  HOUR_MS,
  MINUTE_MS,
  recordAt,
  setNow,
  write,
} from '../support/history.ts';
import { spyOnKv } from '../support/kv-spy.ts';
import { emptyMails, MailService } from '../support/mails.ts';
import { emptyOutbox } from '../support/published.ts';
import { MarketService } from '../support/shop-market.ts';

/** The scheduled handler at Cloudflare, while more is due than its runs can do. */

const db = openDatabase(env.DB);
const NOW = Date.UTC(2027, 0, 10, 12);
const LISTED =
  'https://api.builtbybit.com/v2/resources/creator/licenses?resource_ids=62494&page=1&per_page=100';
const ROLE = '1100000000000000009';

beforeEach(async () => {
  setNow(NOW);
  await emptyHistory();
  await emptyMails();
  await emptyOutbox();
});
afterEach(async () => {
  await settled();
  vi.useRealTimers();
});

const countOf = async (rows: string): Promise<number> =>
  (await env.DB.prepare(`select count(*) as count from ${rows}`).first<number>('count')) ?? 0;

/** The work that is due. */
const readBacklog = async () => ({
  changes: await countOf('outbox'),
  records: await countOf('buckets'),
  deliveries: await countOf('deliveries where next_at is not null'),
  mails: await countOf("mails where state = 'WAITING'"),
  roles: await countOf('discord_roles'),
  missing: await countOf("purchases where state = 'GRANTED'"),
});

/** Inserts rows into a table by a select, which has the numbers up to a count as `i`. */
const insertMany = (into: string, count: number, select: string) =>
  env.DB.prepare(
    `insert into ${into} with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
      select ${select} from n`,
  ).run();

it('no backlog of the scheduled handler holds up another, and no run makes more than 50 queries and requests [8.5.12, 8.5.14]', async () => {
  const { spy: DB, roundTrips } = spyOnDatabase(env.DB);
  const { spy: SNAPSHOTS, operations } = spyOnKv(env.SNAPSHOTS);
  const service = new MailService({ DB, SNAPSHOTS, REQUEST_RETENTION_DAYS: '9' });
  const { isolate, receivers } = service;
  await service.switchOn('key');

  // Seven of fifteen purchases are missing for the second time.
  const shop = new MarketService(service.bindings);
  const { productId } = await service.license({ customerEmail: null });
  const products = [marketProduct.parse({ item: '62494', productId })];
  const market = await shop.create({ products, apiToken: 'api-token-1' });
  for (let buyer = 1; buyer <= 15; buyer++) await shop.bought(market, { user_id: String(buyer) });
  await db.update(purchases).set({ misses: 1 });
  const licenses = Array.from({ length: 8 }, (_, id) => ({ content_id: 62494, buyer_id: id + 1 }));
  const stats = { max_page: 1 };
  receivers.at(LISTED, () => Response.json({ result: 'success', data: { licenses, stats } }));

  for (let count = 0; count < 20; count++) await service.license();
  await service.isolate.call('POST', '/api/v2/webhooks', {
    body: { url: 'https://shop.example/hook' },
  });
  await settled();
  await emptyOutbox();
  await env.DB.batch(
    ['deliveries', 'discord_roles'].map((table) => env.DB.prepare(`delete from ${table}`)),
  );
  await insertMany('outbox (subject, revision)', 900, `'license:NONE-' || i, ${NOW} + i`);
  await insertMany(
    'deliveries (webhook_id, id, type, attempts, step, next_at)',
    100,
    `(select max(id) from webhooks), ${firstIdAt(NOW - HOUR_MS)} + i, 'ping', 1, 0, ${NOW}`,
  );
  await insertMany(
    'discord_roles (chat_id, role_id, due_at)',
    20,
    `22000000000000000 + i, '${ROLE}', ${NOW}`,
  );
  await env.DB.prepare(
    `update mails set state = 'WAITING', attempts = 0, sent_at = null, next_at = ${NOW}`,
  ).run();
  const set = { ...NO_DISCORD, applicationId: '1', publicKey: 'a', guildId: GUILD, botToken: 'b' };
  const value = JSON.stringify(set);
  await db.insert(settings).values({ name: 'discord', value, updatedAt: NOW, revision: NOW });
  await write(
    ...Array.from({ length: 60 }, (_, hour) => recordAt(NOW - 20 * DAY_MS + hour * HOUR_MS)),
  );
  const counted = "name in ('rolled_up_bucket', 'aggregated_bucket')";
  await env.DB.prepare(`update counters set value = ? where ${counted}`)
    .bind(bucketOf(firstIdAt(NOW)))
    .run();

  const atFirst = await readBacklog();
  const requests: number[] = [];
  const made = () => roundTrips.flat().length + operations.length + receivers.received.length;
  for (let minute = 1; minute <= 30; minute++) {
    setNow(NOW + minute * MINUTE_MS);
    await db.insert(discordInteractions).values({ id: `${minute}`, handledAt: NOW - HOUR_MS });
    const before = made();
    await isolate.runScheduled();
    await settled();
    requests.push(made() - before);
  }
  const atLast = await readBacklog();
  expect(atFirst).toMatchObject({ deliveries: 100, mails: 20, roles: 20, missing: 15 });
  expect(atLast).toMatchObject({ deliveries: 0, mails: 0, roles: 0, missing: 8 });
  // A part of each longer queue.
  expect(atLast.changes).toBeLessThan(atFirst.changes - 60);
  expect(atLast.records).toBeLessThan(atFirst.records - 15);
  expect(Math.max(...requests)).toBeLessThanOrEqual(50);
});
