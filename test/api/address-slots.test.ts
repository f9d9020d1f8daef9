import { env } from 'cloudflare:workers';
import { canonicalAddress, isGlobal, slotOf } from '@licet/contract/addresses';
import { sql } from 'drizzle-orm';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openDatabase } from '../../src/db/client.ts';
import { slotKind, valueSlot } from '../../src/resources/licenses/address-slots.ts';

/** The slots of addresses in SQL and in JavaScript: both decide, so they must agree. */

/** Few hextets, so that addresses meet often, and those at the edges of ranges. */
const hextet = fc.constantFrom(...['0', '0', '1', '9', 'a0', '1ff', '200', '2001', '2002', '2a01']);
const first = fc.oneof(hextet, fc.constantFrom(...['2001', '2a01', '64', 'fe80', 'fd00', 'ff02']));
const ipv6 = fc
  .tuple(first, fc.array(hextet, { minLength: 7, maxLength: 7 }))
  .map(([begin, rest]) => canonicalAddress([begin, ...rest].join(':')) ?? '');
const octet = fc.constantFrom(
  ...[0, 1, 10, 100, 127, 128, 172, 192, 168, 16, 31, 32, 63, 64, 224, 255],
);
const ipv4 = fc.array(octet, { minLength: 4, maxLength: 4 }).map((parts) => parts.join('.'));

it('SQL finds the slots and the kinds of addresses that JavaScript finds [1.4.15]', async () => {
  const prefix = fc.integer({ min: 48, max: 128 });
  const addresses = fc.uniqueArray(fc.oneof(ipv6, ipv6, ipv4), { minLength: 50, maxLength: 200 });
  await fc.assert(
    fc.asyncProperty(addresses, prefix, async (values, bits) => {
      const db = openDatabase(env.DB, bits);
      const rows = await db.all<{ value: string; slot: string; kind: string }>(
        sql`select t.value, ${valueSlot(db, "'IP'", 't.value')} as slot, ${slotKind("'IP'", 't.value')} as kind
          from json_each(${JSON.stringify(values)}) t`,
      );
      const groups = (nameOf: (value: string) => string | undefined) =>
        [...Map.groupBy(values, nameOf).values()].map((group) => group.join(' ')).sort();
      const slots = new Map(rows.map(({ value, slot }) => [value, slot]));
      expect(groups((value) => slots.get(value))).toEqual(groups((value) => slotOf(value, bits)));
      for (const { value, kind } of rows)
        expect(kind, value).toBe(isGlobal(value) ? 'IP' : 'LOCAL');
    }),
    { numRuns: 60 },
  );
});

it('SQL takes a hardware ID for its own slot, whatever it looks like', async () => {
  const db = openDatabase(env.DB);
  const values = ['2a01::1', '10.0.0.1', 'a:"b', "it's"];
  const rows = await db.all<{ slot: string; kind: string }>(
    sql`select ${valueSlot(db, "'HWID'", 't.value')} as slot, ${slotKind("'HWID'", 't.value')} as kind
      from json_each(${JSON.stringify(values)}) t`,
  );
  expect(rows).toEqual(values.map((slot) => ({ slot, kind: 'HWID' })));
});
