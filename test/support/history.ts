import { createExecutionContext, createScheduledController } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { type InstallationFields, request } from '@licet/contract/requests';
import { expect, vi } from 'vitest';
import * as z from 'zod';
import worker from '../../src/index.ts';
import { type HistoryRecord, newRecord } from '../../src/requests/record.ts';
import type { Bindings } from '../../src/services.ts';
import { call, readPagesFrom, type HistoryRecord as WireRecord } from './client.ts';
import { newWriter } from './writer.ts';

/** Records of the history by the hundred, at any time. */

export { DAY_MS, HOUR_MS, MINUTE_MS } from '@licet/contract/durations';

export type RecordFields = Partial<Omit<HistoryRecord, 'installation' | 'id' | 'nonce'>> &
  Partial<InstallationFields>;

/** A valid request, but for the fields that are given. */
export function recordAt(requestedAt: number, fields: RecordFields = {}): HistoryRecord {
  const { type, outcome, licenseId, licenseKeyNormalized, details, ...installation } = fields;
  const { licenseKey = null } = installation;
  return newRecord(
    {
      type: type ?? 'V1_VALIDATE',
      outcome: outcome ?? 'VALID',
      licenseId: 'licenseId' in fields ? licenseId : null,
      licenseKeyNormalized: licenseKeyNormalized ?? licenseKey?.toUpperCase() ?? null,
      installation: {
        productId: null,
        productVersion: null,
        ip: null,
        hwid: null,
        macAddress: null,
        operatingSystem: null,
        operatingSystemVersion: null,
        operatingSystemArchitecture: null,
        javaVersion: null,
        ...installation,
        licenseKey,
      },
      details: details ?? {},
    },
    requestedAt,
  );
}

/** A record as the interface shows it [2.4]. */
export const wireOf = (
  { id, type, outcome, installation, details }: HistoryRecord,
  licenseId: number | null,
): WireRecord => ({
  id,
  licenseId,
  ...installation,
  requestDate: new Date(Math.floor(id / 4096) + Date.UTC(2025, 0, 1))
    .toISOString()
    .replace('Z', '+00:00'),
  requestType: type,
  responseType: outcome,
  blockReason: details.blockReason ?? null,
  notes: null,
  remarks: details.remarks ?? null,
  valid: outcome === 'VALID',
  successful: outcome !== 'ERROR',
  rateLimited: outcome === 'RATE_LIMITED',
  blocked: outcome === 'IP_BLACKLISTED' || outcome === 'HWID_BLACKLISTED',
  spam: details.spam ?? false,
});

/** Sets the wall clock, until `vi.useRealTimers()`. */
export const setNow = (now: number): void => {
  vi.useFakeTimers({ toFake: ['Date'], now });
};

/** Writes records by an isolate of its own. */
export const write = (...records: readonly HistoryRecord[]): Promise<void> =>
  newWriter()(...records);

export const runScheduled = (now: number, bindings: Partial<Bindings> = {}) =>
  worker.scheduled(
    createScheduledController({ scheduledTime: now }),
    { ...env, ...bindings },
    createExecutionContext(),
  );

/** Runs the scheduled handler until it leaves the history as it is. */
export async function runToTheEnd(now: number, bindings: Partial<Bindings> = {}): Promise<void> {
  for (let before = '', after = await progress(); after !== before; after = await progress()) {
    before = after;
    await runScheduled(now, bindings);
  }
}

/** The progress of the scheduled handler, which each run changes until all is done. */
async function progress(): Promise<string> {
  const { results } = await env.DB.prepare(
    `select (select json_group_array(value) from counters) counters,
       (select count(*) from buckets) buckets, (select sum(aggregated_bucket) from installations) aggregated`,
  ).all();
  return JSON.stringify(results);
}

/** Removes all records, and what was counted of them. */
export async function emptyHistory(): Promise<void> {
  const tables = [
    'gaps',
    'requests',
    'buckets',
    'installations',
    'rollups',
    'daily_rollups',
    'daily_counts',
    'alerts',
  ];
  await env.DB.batch([
    ...tables.map((table) => env.DB.prepare(`delete from ${table}`)),
    env.DB.prepare(
      `update counters set value = 0 where name in ('rolled_up_bucket', 'aggregated_bucket')`,
    ),
    // The next run begins with the events of the service.
    env.DB.prepare(`delete from counters where name like 'alert%' or name = 'expiries_checked_at'`),
    env.DB.prepare('update licenses set past_requests = 0'),
  ]);
}

export type Filter = Record<string, string>;

/** The records that a filter finds: all pages of the list, each linked to the next. */
export async function readPages(filter: Filter, limit: number): Promise<WireRecord[]> {
  const query = new URLSearchParams({ ...filter, limit: String(limit) });
  const pages = await readPagesFrom(`/api/v2/requests?${query}`, async (path) => {
    const response = await call('GET', path);
    // A page without a record that is linked to another would have no end.
    expect(response.text === '[]' && response.headers.has('Link'), path).toBe(false);
    return response;
  });
  return pages.flatMap(({ json }) => z.array(request).parse(json));
}
