import { afterEach, expect, it } from 'vitest';
import { settled } from '../support/app.ts';
import { call } from '../support/client.ts';
import {
  customers,
  type Fields,
  licenses,
  newPurchase,
  read,
  readList,
  UPDATABLE,
} from '../support/resources.ts';

/** Fields that only the service sets, in the body of a POST (3). */

afterEach(settled);

it.each([
  ...UPDATABLE.map(({ path, fullBody }) => ({ path, list: path, bodyOf: fullBody })),
  {
    path: `${licenses.path}/batch`,
    list: licenses.path,
    bodyOf: async () => ({ ...(await licenses.fullBody()), ips: [], hwids: [], count: 1 }),
  },
  { path: '/api/v2/purchases', list: '/api/v2/purchases', bodyOf: newPurchase },
])(
  'POST $path takes null for each field of its objects that only the service sets',
  async ({ path, list, bodyOf }) => {
    expect((await call('POST', path, { body: await bodyOf() })).status).toBe(201);
    // A list of customers can show one field more.
    const query = path === customers.path ? '?licenseCount=true' : '';
    const [one = expect.fail()] = await readList(`${list}${query}`);
    const body: Fields = await bodyOf();
    const nulls = Object.keys(one).flatMap((name) => (name in body ? [] : [[name, null]]));
    const { status, text, json } = await call('POST', path, {
      body: { ...Object.fromEntries(nulls), ...body },
    });
    expect(status, text).toBe(201);
    const [created] = [json].flat().map(Object);
    expect(await read(`${list}/${created.id}`)).toMatchObject({ id: created.id });
  },
);
