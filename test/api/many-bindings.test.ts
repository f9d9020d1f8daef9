import { expect, it } from 'vitest';
import { newIsolate } from '../support/app.ts';
import { call, create, expectError, get } from '../support/client.ts';

/** A license with as many and as long bound values as it can have. */

const MAX_VALUES = 1_000;
const valuesOf = (count: number) =>
  Array.from({ length: count }, (_, index) => `${'é'.repeat(253)}-${index}`);

it('a license with 1,000 of the longest hardware IDs is listed, read, validated, freed and deleted [1.4.4]', async () => {
  const { id: productId } = await create.product();
  const hwids = valuesOf(MAX_VALUES);
  const body = { productId, licenseType: 'PERMANENT', maxIPs: -1, maxHWIDs: MAX_VALUES };
  const created = await call('POST', '/api/v2/licenses', {
    body: { ...body, hwids: hwids.slice(1) },
  });
  expect(created.status, created.text).toBe(201);
  const { id, licenseKey } = JSON.parse(created.text);
  const path = `/api/v2/licenses/${id}`;
  // The last slot, from an isolate without the license in memory.
  const validated = await newIsolate().validate({ licenseKey, productId, hwid: hwids[0] });
  expect(validated.status).toBe(200);
  const list = await call('GET', `/api/v2/licenses?productId=${productId}`);
  expect(JSON.parse(list.text)).toMatchObject([{ id, hwids: [...hwids.slice(1), hwids[0]] }]);

  const more = await call('PUT', path, { body: { hwids: valuesOf(MAX_VALUES + 1) } });
  expectError(more, 400, 'hwids must be at most 1000 in number');
  expect((await call('PUT', path, { body: { hwids: [] } })).status).toBe(200);
  expect((await get.license(id)).hwids).toEqual([]);
  expect((await call('PUT', path, { body: { hwids } })).status).toBe(200);
  expect((await call('DELETE', path)).status).toBe(204);
});
