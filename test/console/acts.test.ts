import type { Event } from '@licet/client';
import { describe, expect, it } from 'vitest';
import { actsOf, daysOf, readActs } from '../../console/src/screens/events/acts.ts';
import { json, serve } from './service.ts';

const START = Date.parse('2030-01-01T00:00:00Z');
const MINE = 4;

/** An event of the own token, some seconds after the start. Newer ones come first in a list. */
const event = (seconds: number, resourceId: number | null, values: Partial<Event> = {}): Event => ({
  id: seconds * 100 + (resourceId ?? 0),
  time: new Date(START + seconds * 1000).toISOString(),
  type: 'license.updated',
  actor: { tokenId: MINE, tokenName: 'Ada', customerId: null, isConsole: true, isMcp: false },
  ip: '203.0.113.7',
  resourceType: 'license',
  resourceId,
  changes: { notes: { before: '', after: 'x' } },
  ...values,
});
const by = (tokenId: number | null, tokenName = 'Bob') => ({
  actor: { tokenId, tokenName, customerId: null, isConsole: false, isMcp: false },
});
const moved = (before: string | null, after: string) => ({
  changes: { expiryDate: { before, after } },
});

describe('the events of one act', () => {
  const sizes = (events: readonly Event[], tokenId: number | null = MINE) =>
    actsOf(events, tokenId).map((act) => [act.events.length, act.current.length]);

  it('equal changes of several objects are one act', () => {
    expect(sizes([event(2, 3), event(1, 2), event(0, 1)])).toEqual([[3, 3]]);
  });

  it.each<[string, Event]>([
    ['more than three seconds before', event(0, 1)],
    ['of the same object', event(3, 2)],
    ['of another type', event(3, 1, { type: 'license.deleted' })],
    ['of other fields', event(3, 1, { changes: { maxIPs: { before: 1, after: 2 } } })],
    ['from another address', event(3, 1, { ip: '198.51.100.7' })],
    ['without an object, as a batch is', event(3, null)],
  ])('an event %s is an act of its own', (_, other) => {
    expect(sizes([event(4, 2), other])).toHaveLength(2);
  });

  it('licenses that become DEACTIVATED and DELETED are two acts', () => {
    const status = (after: string) => ({ changes: { licenseStatus: { before: 'ACTIVE', after } } });
    expect(
      sizes([event(1, 2, status('DELETED')), event(1, 1, status('DEACTIVATED'))]),
    ).toHaveLength(2);
  });

  it('the pause is between one event and the next, not from the first', () => {
    expect(sizes([6, 4, 2, 0].map((seconds) => event(seconds, seconds + 1)))).toEqual([[4, 4]]);
  });

  it('acts of others are left out, but overtake the own', () => {
    expect(sizes([event(9, 1, by(5)), event(1, 2), event(0, 1)])).toEqual([[2, 1]]);
  });

  it('a later change of another field overtakes nothing', () => {
    const other = event(9, 1, { ...by(5), changes: { maxIPs: { before: 1, after: 2 } } });
    expect(sizes([other, event(0, 1)])).toEqual([[1, 1]]);
  });

  it.each([['service'], ['customer'], ['discord:42']])(
    'events of %s are none of the root token',
    (name) => {
      expect(sizes([event(0, 1, by(null, name))], null)).toEqual([]);
      expect(sizes([event(0, 1, by(null, 'root'))], null)).toEqual([[1, 1]]);
    },
  );

  it('a log-in is no act', () => {
    expect(sizes([event(0, null, { type: 'session.created', changes: null })])).toEqual([]);
  });
});

describe('the days of an act', () => {
  const daysOfAll = (...changes: ReturnType<typeof moved>[]) =>
    actsOf(
      changes.map((change, index) => event(0, index + 1, change)),
      MINE,
    ).map(daysOf);

  it.each<[string, [string | null, string][], number | undefined]>([
    [
      'later',
      [
        ['2030-01-01T00:00:00Z', '2030-01-31T00:00:00Z'],
        ['2031-01-01T05:00:00Z', '2031-01-31T05:00:00Z'],
      ],
      30,
    ],
    ['earlier', [['2030-01-31T00:00:00Z', '2030-01-01T00:00:00Z']], -30],
    [
      'by different days',
      [
        ['2030-01-01T00:00:00Z', '2030-01-31T00:00:00Z'],
        ['2030-01-01T00:00:00Z', '2030-01-30T00:00:00Z'],
      ],
      undefined,
    ],
    ['by no whole days', [['2030-01-01T00:00:00Z', '2030-01-31T00:00:01Z']], undefined],
    ['from no expiry', [[null, '2030-01-31T00:00:00Z']], undefined],
  ])('expiries that move %s', (_, moves, days) => {
    expect(daysOfAll(...moves.map(([before, after]) => moved(before, after)))).toEqual([days]);
  });
});

describe('the reading of acts', () => {
  const never = new AbortController().signal;

  it.each([
    [true, undefined],
    [false, String(MINE)],
  ])('a token that may read all events (%s) asks for those of %s', async (mayReadAll, tokenId) => {
    const sent = serve({ 'GET /events': () => json([event(0, 1)]) });
    expect(await readActs(MINE, mayReadAll, never)).toHaveLength(1);
    expect(sent[0]?.query.tokenId).toBe(tokenId);
    expect(Date.now() - Date.parse(sent[0]?.query.from ?? '')).toBeLessThan(86_410_000);
  });

  it('the act in which the newest 2,000 events end is read to its end', async () => {
    const events = Array.from({ length: 2_100 }, (_, index) => event(100, index + 1));
    serve({ 'GET /events': () => json([...events, event(0, 1)]) });
    const acts = await readActs(MINE, true, never);
    expect(acts.map((act) => act.events.length)).toEqual([2_100]);
  });
});
