import { expect, it } from 'vitest';
import { DAYS, endOfDay } from '../../console/src/dates.ts';
import { screenTexts } from '../../console/src/screen-texts.ts';
import { PRESETS } from '../../console/src/screens/tokens/presets.ts';
import guide from '../../docs/console.md?raw';

/** The choices that the console's forms offer. */

it.each([
  // A month and a year that end, and a day that the next year does not have.
  ['2027-12-15T23:30:00', ['', '2028-01-14', '2028-12-15', '2027-12-31']],
  ['2028-02-29T00:10:00', ['', '2028-03-30', '2029-03-01', '2028-02-29']],
])('the usual days of an expiry, seen from %s', (now, expected) => {
  expect(DAYS.map(([, dayOf]) => dayOf(new Date(now)))).toEqual(expected);
});

it('a chosen day ends with its last second, and the stored day keeps its time', () => {
  const stored = new Date('2035-05-05T10:20:30').toISOString();
  expect(endOfDay('2035-05-06', stored)).toBe(new Date('2035-05-06T23:59:59').toISOString());
  expect(endOfDay('2035-05-05', stored)).toBe(stored);
  expect(endOfDay('', stored)).toBeNull();
});

it('the usual tokens have the permissions that the guide names', () => {
  const rows = [...guide.matchAll(/^\| (\w+) \| ([A-Z_, ]+) \|/gm)];
  const documented = rows.map(([, name, intents]) => [name, intents?.split(', ')]);
  const { presets } = screenTexts.tokens;
  expect(documented).toEqual([
    [presets.support.name, PRESETS.support],
    [presets.shop.name, PRESETS.shop],
    [presets.reports.name, PRESETS.reports],
    [presets.administrator.name, PRESETS.administrator],
  ]);
});
