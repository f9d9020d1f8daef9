import { clockTime, dayUntil, endOfDay, isTimeZone, timeZoneOf } from '@licet/contract/time-zone';
import fc from 'fast-check';
import { expect, it } from 'vitest';

const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'America/Sao_Paulo',
  'Asia/Kolkata',
  'Asia/Tokyo',
  'Australia/Lord_Howe',
  'Pacific/Kiritimati',
  'Pacific/Marquesas',
];

it.each([
  ['2027-06-26', 'UTC', '2027-06-26T23:59:59.000Z'],
  ['2027-06-26', 'Europe/Berlin', '2027-06-26T21:59:59.000Z'],
  ['2027-12-26', 'Europe/Berlin', '2027-12-26T22:59:59.000Z'],
  ['2027-03-28', 'Europe/Berlin', '2027-03-28T21:59:59.000Z'],
  ['2027-10-31', 'Europe/Berlin', '2027-10-31T22:59:59.000Z'],
  ['2027-06-26', 'America/New_York', '2027-06-27T03:59:59.000Z'],
  ['2027-06-26', 'Pacific/Kiritimati', '2027-06-26T09:59:59.000Z'],
])('the day %s ends in %s at %s [3.81]', (day, zone, end) => {
  expect(new Date(endOfDay(day, zone)).toISOString()).toBe(end);
});

it.each(['2027-02-29', '2027-02-30', '2027-04-31', '2027-13-01', '2027-00-10', '2027-01-00'])(
  'the day %s does not exist and has no end [3.81]',
  (day) => {
    expect(endOfDay(day, 'UTC')).toBeNaN();
    expect(endOfDay(day, 'Pacific/Kiritimati')).toBeNaN();
  },
);

it('the end of any day is the last second of that day in any zone, also where clocks change [3.81]', () => {
  fc.assert(
    fc.property(
      fc.date({ min: new Date('2000-01-02'), max: new Date('2099-12-30'), noInvalidDate: true }),
      fc.constantFrom(...ZONES),
      (date, zone) => {
        const day = date.toISOString().slice(0, 10);
        const end = endOfDay(day, zone);
        expect(clockTime(end, zone)).toBe(`${day} 23:59:59`);
        expect(dayUntil(end, zone)).toBe(day);
        expect(dayUntil(end + 1000, zone)).toMatch(/ \d\d:\d\d$/);
      },
    ),
  );
});

it.each(['2027-02-29', '2027-04-31', '2027-02-32', '2027-13-01'])(
  'the day %s does not exist, and has no end [3.81]',
  (day) => {
    for (const zone of ZONES) expect(endOfDay(day, zone)).toBeNaN();
  },
);

it('a time zone that does not exist counts as UTC', () => {
  expect(['Europe/Berlin', 'Mars/Base', '', 'utc'].map(isTimeZone)).toEqual([
    true,
    false,
    false,
    true,
  ]);
  expect(['Asia/Tokyo', 'Mars/Base', '', undefined].map(timeZoneOf)).toEqual([
    'Asia/Tokyo',
    'UTC',
    'UTC',
    'UTC',
  ]);
});
