import { LicetError } from '@licet/client';
import { type Move, moved } from '@licet/contract/expiries';
import { describe, expect, it } from 'vitest';
import {
  assign,
  inBulk,
  moveExpiry,
  nameOf,
  setStatus,
  type Work,
} from '../../console/src/screens/licenses/bulk.ts';
import { failure, json, serve } from './service.ts';

const NOW = Date.parse('2030-06-15T12:00:00Z');
const iso = (text: string): string => new Date(text).toISOString();

it.each<[string, string, Move, string]>([
  ['ten days from its end', '2030-07-01T00:00:00Z', { days: 10 }, '2030-07-11T00:00:00Z'],
  [
    'ten days from now, as it is over',
    '2030-01-01T00:00:00Z',
    { days: 10 },
    '2030-06-25T12:00:00Z',
  ],
  ['back from its end', '2030-07-01T00:00:00Z', { days: -10 }, '2030-06-21T00:00:00Z'],
  [
    'back from its end, though it is over',
    '2030-01-11T00:00:00Z',
    { days: -10 },
    '2030-01-01T00:00:00Z',
  ],
  ['nowhere by no days', '2030-07-01T00:00:00Z', { days: 0 }, '2030-07-01T00:00:00Z'],
  [
    'to a time',
    '2030-07-01T00:00:00Z',
    { until: '2031-01-01T00:00:00.000Z' },
    '2031-01-01T00:00:00Z',
  ],
  [
    'to the last time that is stored',
    '2030-07-01T00:00:00Z',
    { days: 9_999_999 },
    '9999-12-31T23:59:59.999Z',
  ],
  [
    'to the first time that is stored',
    '2030-07-01T00:00:00Z',
    { days: -9_999_999 },
    '0000-01-01T00:00:00Z',
  ],
])('an expiry moves %s', (_, expiry, move, expected) => {
  expect(moved(expiry, move, NOW)).toBe(iso(expected));
});

it.each<[Move, string]>([
  [{ days: 1 }, 'extend'],
  [{ days: 0 }, 'move'],
  [{ days: -1 }, 'move'],
  [{ until: '2031-01-01T00:00:00Z' }, 'move'],
])('the move %j is named %s', (move, name) => {
  expect(nameOf(move)).toBe(name);
});

describe('many changes', () => {
  const never = new AbortController().signal;
  const undo = async (): Promise<void> => {};

  it('six run at a time, and the progress counts each', async () => {
    let running = 0;
    let most = 0;
    const progress: number[] = [];
    const work: Work = async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 1));
      running--;
      return undo;
    };
    const ids = Array.from({ length: 20 }, (_, index) => index);
    const result = await inBulk(ids, work, (done) => progress.push(done), never);
    expect(most).toBe(6);
    expect(progress).toEqual(ids.map((id) => id + 1));
    expect(result).toMatchObject({ failed: [], firstError: undefined, left: [] });
    expect(result.undos).toHaveLength(20);
  });

  it('a license that needs no change has no undo', async () => {
    const work: Work = async (id) => (id === 2 ? undo : undefined);
    expect((await inBulk([1, 2, 3], work, () => {}, never)).undos).toEqual([undo]);
  });

  it('failures are counted, and the first error is kept', async () => {
    const work: Work = async (id) => {
      if (id > 1) throw new LicetError(409, `error ${id}`);
      return undo;
    };
    const { failed, firstError, left } = await inBulk([1, 2, 3], work, () => {}, never);
    expect([failed, String(firstError), left]).toEqual([[2, 3], 'LicetError: error 2', []]);
  });

  it('a stop begins no further change, and finishes those that have begun', async () => {
    const stop = new AbortController();
    const begun: number[] = [];
    const work: Work = async (id) => {
      begun.push(id);
      await Promise.resolve();
      stop.abort();
      return undo;
    };
    const ids = Array.from({ length: 20 }, (_, index) => index);
    const { undos, left } = await inBulk(ids, work, () => {}, stop.signal);
    expect(begun).toEqual([0, 1, 2, 3, 4, 5]);
    expect(undos).toHaveLength(6);
    expect(left).toEqual(ids.slice(6));
  });

  it('the end of the session ends the change of many', async () => {
    const work: Work = async () => {
      throw new LicetError(401, 'Unauthorized');
    };
    const ids = Array.from({ length: 20 }, (_, index) => index);
    const { failed, left } = await inBulk(ids, work, () => {}, never);
    expect(failed).toEqual([0, 1, 2, 3, 4, 5]);
    expect(left).toHaveLength(14);
  });
});

describe('a change of one of many', () => {
  /** A service with one license, whose version grows. @returns the bodies of its PUTs */
  function serveLicense(values: Record<string, unknown>) {
    let version = 1;
    let license: object = { id: 7, expiryDate: null, customer: null, ...values };
    const tag = () => ({ ETag: `"${version}"` });
    return serve({
      'GET /licenses/7': () => json(license, tag()),
      'PUT /licenses/7': ({ ifMatch, body }) => {
        if (ifMatch !== `"${version}"`) return failure(412);
        version++;
        license = { ...license, ...Object(body) };
        return json(license, tag());
      },
    });
  }
  const bodies = (sent: ReturnType<typeof serveLicense>) =>
    sent.flatMap(({ method, body }) => (method === 'PUT' ? [body] : []));

  it.each([
    ['ACTIVE', 'DEACTIVATED', [{ licenseStatus: 'DEACTIVATED' }]],
    ['EXPIRED', 'DEACTIVATED', [{ licenseStatus: 'DEACTIVATED' }]],
    ['EXPIRED', 'ACTIVE', []],
    ['ACTIVE', 'ACTIVE', []],
    ['DEACTIVATED', 'ACTIVE', [{ licenseStatus: 'ACTIVE' }]],
    ['DEACTIVATED', 'DELETED', [{ licenseStatus: 'DELETED' }]],
    ['DELETED', 'ACTIVE', [{ licenseStatus: 'ACTIVE' }]],
    ['DELETED', 'DEACTIVATED', []],
  ] as const)(
    'of a license that is %s, the change to %s sends %j',
    async (before, after, expected) => {
      const sent = serveLicense({ licenseStatus: before });
      const undo = await setStatus(after)(7);
      expect(bodies(sent)).toEqual(expected);
      expect(undo === undefined).toBe(expected.length === 0);
    },
  );

  it('the undo of a status restores the status before', async () => {
    const sent = serveLicense({ licenseStatus: 'DEACTIVATED' });
    await (await setStatus('DELETED')(7))?.();
    expect(bodies(sent).at(-1)).toEqual({ licenseStatus: 'DEACTIVATED' });
  });

  it('the undo leaves a license whose status somebody has changed since', async () => {
    const sent = serveLicense({ licenseStatus: 'ACTIVE' });
    const undo = await setStatus('DEACTIVATED')(7);
    await setStatus('DELETED')(7);
    await expect(undo?.()).rejects.toMatchObject({ status: 412 });
    expect(bodies(sent)).toHaveLength(2);
  });

  it('the expiry of a license that never expires does not move', async () => {
    const sent = serveLicense({ licenseStatus: 'ACTIVE' });
    expect(await moveExpiry({ days: 30 })(7)).toBeUndefined();
    expect(bodies(sent)).toEqual([]);
  });

  it('the undo of an expiry restores the very time', async () => {
    const expiryDate = '2099-01-01T00:00:00.000+00:00';
    const sent = serveLicense({ expiryDate });
    await (await moveExpiry({ until: '2098-06-30T23:59:59.000Z' })(7))?.();
    expect(bodies(sent)).toEqual([{ expiryDate: '2098-06-30T23:59:59.000Z' }, { expiryDate }]);
  });

  it.each([
    ['an e-mail', { id: 3, email: 'ada@shop.example' }, { customerEmail: 'ada@shop.example' }],
    ['no e-mail', { id: 3, email: null }, { customerId: 3 }],
    ['no customer', null, { customerEmail: null }],
  ])('the undo of a new owner names the one before, with %s', async (_, customer, expected) => {
    let current: unknown = customer;
    const sent = serve({
      'GET /licenses/7': () => json({ id: 7, customer: current }, { ETag: '"1"' }),
      'PUT /licenses/7': () => {
        current = { id: 9, email: 'new@shop.example' };
        return json({ id: 7, customer: current }, { ETag: '"1"' });
      },
    });
    await (await assign({ customerId: 9 })(7))?.();
    expect(bodies(sent)).toEqual([{ customerId: 9 }, expected]);
  });
});
