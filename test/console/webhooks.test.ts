import { EVENT_GROUPS, SERVICE_EVENT_TYPES } from '@licet/contract/enums';
import { expect, it } from 'vitest';
import { eventsOf, typesOf } from '../../console/src/screens/webhooks/choice.ts';
import { failureOf } from '../../console/src/screens/webhooks/failure.ts';
import { eventOf } from '../../console/src/screens/webhooks/message.ts';

it('the choice of events is sent in as few types as possible, and read back alike', () => {
  expect(typesOf(eventsOf([]))).toEqual([]);
  expect(typesOf(eventsOf([...EVENT_GROUPS]))).toEqual([]);
  expect(typesOf(eventsOf(['license.*', 'license.created', 'product.created']))).toEqual([
    'product.created',
    'license.*',
  ]);
  const alerts = typesOf(new Set(SERVICE_EVENT_TYPES));
  expect(alerts.toSorted()).toEqual(SERVICE_EVENT_TYPES.toSorted());
  expect(eventsOf(alerts)).toEqual(new Set(SERVICE_EVENT_TYPES));
});

it.each([
  [null, 'The receiver did not respond within 10 seconds', 'did not respond within 10 seconds'],
  [null, 'The receiver could not be reached: it refused', 'open to the internet'],
  [null, 'The receiver could not be reached: its name leads to no', 'name in the address'],
  [null, 'The address must begin with https://', 'The address must begin with https://.'],
  [301, 'The receiver returned 301, a redirect', 'Enter the final address'],
  [401, 'The receiver returned 401', 'refused access'],
  [404, 'The receiver returned 404', 'nothing at this address'],
  [405, 'The receiver returned 405', 'accepts no POST'],
  [410, 'The receiver returned 410', 'wants no more events'],
  [413, 'The receiver returned 413', 'refused the message'],
  [429, 'The receiver returned 429', 'fewer messages'],
  [503, 'The receiver returned 503', 'The server failed'],
  [503, 'The receiver returned 503. The webhook was switched off', 'switched off'],
])('a delivery with the status %s and the error “%s” says: %s', (status, error, text) => {
  expect(failureOf({ status, error }, 'standard')).toContain(text);
});

it('a message for Discord leads to the object that it links to', () => {
  const delivered = {
    id: 1,
    type: 'license.created',
    time: '2026-11-21T12:00:00.000+00:00',
    state: 'DELIVERED',
    attempts: 1,
    attemptedAt: null,
    status: 200,
    error: null,
    durationMs: 3,
    nextAttemptAt: null,
    response: null,
  } as const;
  const message = {
    url: 'https://shop.example/console/licenses/5',
    fields: ['…T3MW', 'A\\-B\\_C', 'root'].map((value) => ({ name: 'License', value })),
  };
  const of = (embed: object) =>
    eventOf({ ...delivered, request: JSON.stringify({ embeds: [embed] }) });
  expect(of(message)).toEqual({
    type: 'license.created',
    resourceType: 'license',
    resourceId: 5,
    changes: { name: { before: null, after: '…T3MW, A-B_C' } },
  });
  // The console is not public.
  expect(of({ ...message, url: undefined })).toBeUndefined();
  expect(eventOf({ ...delivered, request: null })).toBeUndefined();
});

it('Discord has failures of its own', () => {
  const of = (status: number) => failureOf({ status, error: `It returned ${status}` }, 'discord');
  expect(of(404)).toContain('Make a new one there');
  expect(of(400)).toContain('Discord refused the message');
  expect(failureOf({ status: 204, error: null }, 'discord')).toBeUndefined();
});
