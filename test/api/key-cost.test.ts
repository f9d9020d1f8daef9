import { afterEach, expect, it } from 'vitest';
import { settled } from '../support/app.ts';
import { takeClock } from '../support/clock.ts';
import { sumRows } from '../support/d1-spy.ts';
import { isAllPublished } from '../support/published.ts';
import { openShop } from '../support/shop.ts';
import { newWarmIsolate, type WatchedIsolate } from '../support/watched-isolate.ts';

/** The cost of a key that is read as a person reads it (1.2), in round trips and rows. */

const shop = openShop();
afterEach(settled);

/** A validation to the end of its record, with its cost. */
async function ask(isolate: WatchedIsolate, licenseKey: string) {
  isolate.reset();
  const asked = { licenseKey, productId: shop.productId };
  const { status, recorded } = await isolate.validate(asked);
  await recorded;
  const lookUps = isolate.roundTrips.flat().filter(({ sql }) => /^select "license_key_n/.test(sql));
  return {
    status,
    steps: isolate.steps().filter((step) => step === 'license'),
    rowsRead: (await sumRows(lookUps)).read,
    rowsWritten: (await sumRows(isolate.roundTrips.flat())).written,
    kvReads: isolate.kvNames().filter((name) => name === 'get').length,
  };
}

it.each([
  ['as the service makes keys', 'AAAA-BBBB-CCCC-DDDD-0001', 0],
  ['of another form', 'shop_77', 0],
  ['with blanks around it', ' AAAA-BBBB-CCCC-DDDD-0002 ', 0],
  ['with another reading', 'AAAA-BBBB-CCCC-DDDD-OOOO', 1],
  ['with two other readings', 'AAAA–BBBB–CCCC–DDDD–OOOO', 2],
])('an unknown key %s costs at most one look-up more [1.2.26]', async (_, key, readings) => {
  const more = Math.min(readings, 1);
  const clock = takeClock();
  const isolate = await newWarmIsolate();
  expect(await ask(isolate, key)).toEqual({
    status: 400,
    steps: ['license', ...Array(more).fill('license')],
    // Each key is an element of JSON and a seek in the index.
    rowsRead: 2 * (1 + readings),
    rowsWritten: 1,
    kvReads: 1 + readings,
  });
  const again = { status: 400, steps: [], rowsRead: 0, rowsWritten: 1, kvReads: 0 };
  expect(await ask(isolate, key)).toEqual(again);
  clock.elapse(30_000);
  expect((await ask(isolate, key)).steps).toHaveLength(1 + more);
});

it('a key that was read as a person reads it is valid from memory the next time [1.2.26]', async () => {
  const { licenseKey } = await shop.newLicense();
  await isAllPublished();
  const isolate = await newWarmIsolate();
  const sent = `“${licenseKey}”.`;
  const first = await ask(isolate, sent);
  // The license itself is in KV.
  expect(first).toMatchObject({ status: 200, steps: ['license'], kvReads: 2 });
  expect(await ask(isolate, sent)).toEqual({
    status: 200,
    steps: [],
    rowsRead: 0,
    rowsWritten: 1,
    kvReads: 0,
  });
  // Its snapshot is that of the key itself.
  expect(await ask(isolate, licenseKey)).toMatchObject({ status: 200, steps: [], kvReads: 0 });
});

it('while D1 cannot be reached, a reading of a key that KV knows counts [1.2.26]', async () => {
  const { licenseKey } = await shop.newLicense();
  await isAllPublished();
  const isolate = await newWarmIsolate();
  isolate.conditions.database = () => 'fails';
  const asked = { licenseKey: `${licenseKey}.`, productId: shop.productId };
  expect((await isolate.validate(asked)).status).toBe(200);
  isolate.conditions.database = () => null;
});
