import { env } from 'cloudflare:workers';
import { canonicalAddress, isGlobal, slotOf } from '@licet/contract/addresses';
import { sql } from 'drizzle-orm';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openDatabase } from '../../src/db/client.ts';
import { slotKind, valueSlot } from '../../src/resources/licenses/address-slots.ts';
import { newIsolate } from '../support/app.ts';
import { create } from '../support/client.ts';
import { spyOnDatabase, sumRows } from '../support/d1-spy.ts';

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

it('the slots of many IPv6 installations read as many rows as those of IPv4 [1.4.15]', async () => {
  const INSTALLATIONS = 500;
  const { id: productId } = await create.product({ ipIdleDays: 7 });
  const rowsFor = async (address: string): Promise<number> => {
    const { id, licenseKey } = await create.license({ productId });
    await env.DB.prepare(
      `insert into installations (license_key_normalized, fingerprint, license_id, license_key, product_id, ip,
          first_seen_at, last_seen_at, requests, aggregated_bucket)
        select ?1, 'f' || key, ?2, ?1, ?3, ${address}, 0, 0, 1, 0 from json_each(?4)`,
    )
      .bind(licenseKey, id, productId, JSON.stringify(Array(INSTALLATIONS).fill(0)))
      .run();
    await env.DB.prepare(
      `insert into bindings (license_id, type, value, position, used_at)
        select license_id, 'IP', ip, id, 0 from installations where license_id = ? limit 5`,
    )
      .bind(id)
      .run();
    const { spy, roundTrips } = spyOnDatabase(env.DB);
    const { json } = await newIsolate({ DB: spy }).call('GET', `/api/v2/licenses/${id}/slots`);
    expect(json).toHaveLength(5);
    return (await sumRows(roundTrips.flat())).read;
  };
  const ipv4 = await rowsFor("printf('198.51.%d.%d', key / 256, key % 256)");
  expect(await rowsFor("printf('2a01:4f8:%x::%x', key + 1, key + 1)")).toBe(ipv4);
});
