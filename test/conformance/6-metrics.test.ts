import { env } from 'cloudflare:workers';
import { RESPONSE_TYPES } from '@licet/contract/outcomes';
import { beforeEach, expect, it } from 'vitest';
import { newIsolate } from '../support/app.ts';
import { call, create, expectError } from '../support/client.ts';
import { spyOnDatabase, sumRows } from '../support/d1-spy.ts';
import {
  emptyHistory,
  HOUR_MS,
  MINUTE_MS,
  recordAt,
  runToTheEnd,
  setNow,
  write,
} from '../support/history.ts';
import { type Metrics, metricsIn } from '../support/metrics.ts';
import { markets, webhooks } from '../support/resources.ts';
import { askForUnknown } from '../support/shop.ts';

/** The metrics for Prometheus (6). */

const NOW = Date.UTC(2026, 5, 2, 12, 30);
const READERS = ['REQUESTS_READ', 'ALL_READ', 'ALL_READ_WRITE'] as const;

/** The first id of a millisecond, as in docs/history.md. */
const idAt = (time: number): number => (time - Date.UTC(2025, 0, 1)) * 4096;

beforeEach(async () => {
  setNow(NOW);
  await emptyHistory();
  await env.DB.batch(
    ['webhooks', 'deliveries', 'markets', 'market_deliveries'].map((table) =>
      env.DB.prepare(`delete from ${table}`),
    ),
  );
});

async function scrape(isolate = newIsolate()): Promise<Metrics> {
  const { status, headers, text } = await isolate.call('GET', '/metrics');
  expect(status, text).toBe(200);
  expect(headers.get('Content-Type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  return metricsIn(text);
}

async function addWebhook(): Promise<number> {
  const { id } = await webhooks.create();
  await env.DB.prepare(
    `update webhooks set is_enabled = 1, types = '["purchase.revoked"]' where id = ?`,
  )
    .bind(id)
    .run();
  return Number(id);
}

/** Deliveries to a webhook, each with the time of its event and of its next attempt. */
const addDeliveries = (
  webhookId: unknown,
  rows: readonly { at: number; nextAt: number | null; error?: string }[],
) =>
  env.DB.batch(
    rows.map(({ at, nextAt, error = null }, index) =>
      env.DB.prepare(
        `insert into deliveries (webhook_id, id, type, attempts, step, next_at, error)
         values (?, ?, 'product.created', 1, 0, ?, ?)`,
      ).bind(webhookId, idAt(at) + index, nextAt, error),
    ),
  );

it('a token comes as Bearer or in TOKEN, and a session or a wrong scheme opens nothing [6.28]', async () => {
  const { token } = await create.token(['REQUESTS_READ']);
  const withScheme = (Authorization: string) =>
    call('GET', '/metrics', { token: null, headers: { Authorization } });
  for (const header of [`Bearer ${token}`, `bearer  ${token} `]) {
    expect((await withScheme(header)).status, header).toBe(200);
  }
  expect((await call('GET', '/metrics', { token })).status).toBe(200);
  for (const header of [`Basic ${token}`, token, 'Bearer', 'Bearer x', `Bearer ${token} x`]) {
    expectError(
      await withScheme(header),
      401,
      'Token is missing, unknown, expired or revoked',
      READERS,
    );
  }
  const elsewhere = await call('GET', '/api/v2/ping', {
    token: null,
    headers: { Authorization: `Bearer ${token}` },
  });
  expect(elsewhere.status).toBe(401);

  const isOwn = { 'Sec-Fetch-Site': 'same-origin' };
  const started = await call('POST', '/console/session', { token, headers: isOwn });
  const Cookie = started.headers.get('Set-Cookie')?.split(';')[0] ?? '';
  const withSession = { token: null, headers: { ...isOwn, Cookie } };
  expect((await call('GET', '/api/v2/ping', withSession)).status).toBe(200);
  expect((await call('GET', '/metrics', withSession)).status).toBe(401);
});

it('validations are counted by outcome, in the last hour and the last day with roll-ups [6.29]', async () => {
  const hour = Date.UTC(2026, 5, 2, 11);
  await write(
    recordAt(hour, { outcome: 'VALID' }),
    recordAt(hour + 1, { outcome: 'VALID' }),
    recordAt(hour + 2, { outcome: 'LICENSE_EXPIRED' }),
    recordAt(hour - 23 * HOUR_MS, { outcome: 'VALID' }),
    recordAt(hour - 24 * HOUR_MS, { outcome: 'VALID' }),
    // The hour is not over.
    recordAt(NOW, { outcome: 'VALID' }),
  );
  await runToTheEnd(NOW);
  const metrics = await scrape();
  expect(metrics.of('licet_validations_last_hour')).toEqual({
    ...Object.fromEntries(RESPONSE_TYPES.map((type) => [`outcome="${type}"`, 0])),
    'outcome="VALID"': 2,
    'outcome="LICENSE_EXPIRED"': 1,
  });
  expect(metrics.of('licet_validations_last_day')).toMatchObject({
    'outcome="VALID"': 3,
    'outcome="LICENSE_EXPIRED"': 1,
    'outcome="LICENSE_NOT_FOUND"': 0,
  });
  // The hour before stays the last one until this one has its roll-up.
  setNow(Date.UTC(2026, 5, 2, 13, 19, 59));
  expect((await scrape()).of('licet_validations_last_hour')['outcome="VALID"']).toBe(2);
  setNow(Date.UTC(2026, 5, 2, 13, 20));
  await runToTheEnd(Date.now());
  expect((await scrape()).of('licet_validations_last_hour')['outcome="VALID"']).toBe(1);
});

it('records that were given up in the last day are counted [6.29]', async () => {
  await env.DB.batch(
    [
      [NOW - 23 * HOUR_MS, 5],
      [NOW - MINUTE_MS, 2],
      [NOW - 25 * HOUR_MS, 100],
    ].map(([at = 0, requests]) =>
      env.DB.prepare('insert into gaps (id, requests) values (?, ?)').bind(idAt(at), requests),
    ),
  );
  expect((await scrape()).value('licet_records_given_up_last_day')).toBe(7);
});

it('deliveries are counted by state, with the age of the oldest that waits [6.29]', async () => {
  expect((await scrape()).value('licet_webhook_oldest_pending_age_seconds')).toBe(0);
  const failing = await addWebhook();
  const { id: off } = await webhooks.create();
  await env.DB.prepare('update webhooks set failing_since = ? where id = ?')
    .bind(NOW, failing)
    .run();
  await addDeliveries(failing, [
    { at: NOW - 5 * HOUR_MS, nextAt: NOW + HOUR_MS, error: 'fetch failed' },
    { at: NOW - MINUTE_MS, nextAt: NOW },
    { at: NOW - MINUTE_MS, nextAt: null },
    { at: NOW - 2 * MINUTE_MS, nextAt: null, error: 'HTTP 410' },
    { at: NOW - 2 * HOUR_MS, nextAt: null },
  ]);
  await addDeliveries(off, [{ at: NOW - 9 * HOUR_MS, nextAt: NOW }]);
  const metrics = await scrape();
  expect(metrics.of('licet_webhook_deliveries_last_hour')).toEqual({
    'state="PENDING"': 1,
    'state="DELIVERED"': 1,
    'state="FAILED"': 1,
  });
  expect(metrics.value('licet_webhook_deliveries_pending')).toBe(2);
  expect(metrics.value('licet_webhook_oldest_pending_age_seconds')).toBe(5 * 60 * 60);
  expect(metrics.value('licet_webhooks_failing')).toBe(1);
});

it('requests of markets are counted by effect [6.29]', async () => {
  const { id: marketId } = await markets.create();
  const effects = ['CHANGED', 'CHANGED', 'NOTHING', 'NEEDS_PERSON', null];
  const add = (at: number, effect: string | null) =>
    env.DB.prepare(
      `insert into market_deliveries (market_id, id, is_accepted, status, result, effect)
       values (?, ?, 1, 200, '', ?)`,
    ).bind(marketId, at, effect);
  await env.DB.batch([
    ...effects.map((effect, index) => add(idAt(NOW - MINUTE_MS) + index, effect)),
    add(idAt(NOW - 2 * HOUR_MS), 'CHANGED'),
  ]);
  expect((await scrape()).of('licet_market_notices_last_hour')).toEqual({
    'effect="CHANGED"': 2,
    'effect="NOTHING"': 1,
    'effect="NEEDS_PERSON"': 1,
    'effect="REJECTED"': 1,
  });
});

it('a scrape is one batch, and reads no more rows of a long history or many deliveries [6.30]', async () => {
  const { spy, roundTrips } = spyOnDatabase(env.DB);
  const isolate = newIsolate({ DB: spy });
  const id = await addWebhook();
  const { id: marketId } = await markets.create();
  const fill = async (count: number) => {
    const rows = Array.from({ length: count }, (_, index) => ({ at: NOW - index, nextAt: NOW }));
    await addDeliveries(id, rows);
    await addDeliveries(
      id,
      rows.map(({ at }) => ({ at: at - 5_000, nextAt: null })),
    );
    const firstId = idAt(NOW - MINUTE_MS);
    await env.DB.prepare(
      `with recursive n(i) as (select ?2 union all select i + 1 from n where i < ?3)
       insert into market_deliveries (market_id, id, is_accepted, status, result, effect)
       select ?1, i, 1, 200, '', 'CHANGED' from n where true on conflict do nothing`,
    )
      .bind(marketId, firstId, firstId + count - 1)
      .run();
    await env.DB.prepare(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < ?1)
       insert into rollups (bucket, product_id, outcome, requests)
       select 12000 - i, -1, 0, 1 from n where true on conflict do nothing`,
    )
      .bind(count)
      .run();
  };
  const readRows = async () => {
    roundTrips.length = 0;
    await isolate.call('GET', '/metrics');
    expect(roundTrips).toHaveLength(1);
    const { read, written } = await sumRows(roundTrips.flat());
    expect(written).toBe(0);
    return read;
  };
  expect(await readRows()).toBeLessThan(30);
  await fill(120);
  const many = await readRows();
  expect(many).toBeLessThan(1_500);
  await env.DB.prepare('delete from deliveries').run();
  await fill(400);
  expect(await readRows()).toBeLessThanOrEqual(many);
});

it('on one machine the process counts its validations and durations, elsewhere it does not [6.31]', async () => {
  expect((await scrape()).names().filter((name) => name.includes('process'))).toEqual([]);
  const isolate = newIsolate({ ONE_MACHINE: 'true' });
  const before = await scrape(isolate);
  expect(before.value('licet_process_records_pending')).toBe(0);
  await (await isolate.validate(askForUnknown())).recorded;
  await (await isolate.validate('no JSON')).recorded;
  await (await isolate.validate({}, { version: 'v2' })).recorded;
  const metrics = await scrape(isolate);
  expect(metrics.of('licet_process_validations_total')).toEqual({
    ...Object.fromEntries([...RESPONSE_TYPES, 'NONE'].map((type) => [`outcome="${type}"`, 0])),
    'outcome="LICENSE_NOT_FOUND"': 1,
    'outcome="INVALID_REQUEST"': 1,
    'outcome="NONE"': 1,
  });
  const counts = metrics.of('licet_process_request_duration_seconds_count');
  expect(counts).toEqual({ 'kind="validation"': 3, 'kind="other"': 1 });
});
