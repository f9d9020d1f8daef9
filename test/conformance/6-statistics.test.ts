import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { installation } from '../../src/history/installations';
import type { HistoryRecord } from '../../src/history/record';
import { type Answer, call, expectError, getLicense, type License } from '../support/client';
import {
  DAY_MS,
  emptyHistory,
  HOUR_MS,
  type RecordFields,
  recordAt,
  runToTheEnd,
  setNow,
  write,
} from '../support/history';
import { openShop } from '../support/shop';

const NOW = Date.UTC(2026, 5, 2, 12, 30);

const shop = openShop();

beforeEach(async () => {
  setNow(NOW);
  await emptyHistory();
});

afterEach(() => {
  vi.useRealTimers();
});

const timestampOf = (time: number): string => new Date(time).toISOString().replace('Z', '+00:00');

const recordOf = (license: License, time: number, fields: RecordFields = {}): HistoryRecord =>
  recordAt(time, {
    licenseId: license.id,
    licenseKey: license.licenseKey,
    productId: license.productId,
    ...fields,
  });

describe('GET licenses/{id}/installations', () => {
  const ask = (license: { id: number }, query = ''): Promise<Answer> =>
    call('GET', `/api/v2/licenses/${license.id}/installations${query}`);

  async function installationsOf(license: License, query = '') {
    const answer = await ask(license, query);
    expect(answer.status, answer.text).toBe(200);
    return z.array(installation).parse(answer.json);
  }

  it('installations have all that a program sent, when it was seen, and how often', async () => {
    const license = await shop.newLicense();
    const sent = {
      ip: '192.0.2.10',
      hwid: 'HW',
      productVersion: '1.4.2',
      operatingSystem: 'Linux',
      operatingSystemVersion: '6.1.0',
      operatingSystemArchitecture: 'amd64',
      javaVersion: '21.0.5',
      macAddress: '00-00-5E-00-53-01',
    };
    await write(recordOf(license, NOW - 30 * DAY_MS, sent), recordOf(license, NOW, sent));
    expect(await installationsOf(license)).toEqual([
      {
        id: expect.any(Number),
        ...sent,
        firstSeen: timestampOf(NOW - 30 * DAY_MS),
        lastSeen: timestampOf(NOW),
        requests: 2,
      },
    ]);
  });

  it('installations are exact before and after the fold, and the last seen comes first', async () => {
    const license = await shop.newLicense();
    const other = await shop.newLicense();
    const first = NOW - 3 * DAY_MS;
    const at = (hours: number, fields: RecordFields) =>
      recordOf(license, first + hours * HOUR_MS, fields);
    await write(
      at(0, { hwid: 'often' }),
      at(1, { hwid: 'often' }),
      at(5, { hwid: 'limited', outcome: 'MAX_HWIDS_REACHED' }),
      at(6, { hwid: 'limited', outcome: 'RATE_LIMITED' }),
      recordOf(other, NOW, { hwid: 'of another license' }),
    );
    const shown = async () =>
      (await installationsOf(license)).map(({ hwid, lastSeen, requests }) => ({
        hwid,
        lastSeen: (Date.parse(lastSeen) - first) / HOUR_MS,
        requests,
      }));
    const expected = [
      // A request over a rate limit is no validation, but it shows that the program runs.
      { hwid: 'limited', lastSeen: 6, requests: 1 },
      { hwid: 'often', lastSeen: 1, requests: 2 },
    ];
    expect(await shown()).toEqual(expected);
    await runToTheEnd(NOW);
    expect(await shown()).toEqual(expected);
    await write(at(70, { hwid: 'often' }));
    expect(await shown()).toEqual([
      { hwid: 'often', lastSeen: 70, requests: 3 },
      { hwid: 'limited', lastSeen: 6, requests: 1 },
    ]);
    expect((await getLicense(license.id)).totalRequests).toBe(4);
  });

  it('installations come in pages, each linked to the next', async () => {
    const license = await shop.newLicense();
    const names = Array.from({ length: 5 }, (_, index) => `HW-${index}`);
    await write(...names.map((hwid, index) => recordOf(license, NOW - index * HOUR_MS, { hwid })));
    const seen: (string | null)[] = [];
    let path: string | undefined = `/api/v2/licenses/${license.id}/installations?limit=2`;
    let pages = 0;
    while (path !== undefined) {
      const answer = await call('GET', path);
      expect(answer.status, answer.text).toBe(200);
      seen.push(
        ...z
          .array(installation)
          .parse(answer.json)
          .map(({ hwid }) => hwid),
      );
      pages++;
      const [, link] = /^<([^>]+)>; rel="next"$/.exec(answer.headers.get('Link') ?? '') ?? [];
      path = link && new URL(link).href.slice(new URL(link).origin.length);
    }
    expect(seen).toEqual(names);
    expect(pages).toBe(3);
  });

  it('a license without a validation has no installation, and an unknown one answers 404', async () => {
    expect(await installationsOf(await shop.newLicense())).toEqual([]);
    expectError(await ask({ id: 999_999_999 }), 404, 'License not found');
  });
});
