import { env } from 'cloudflare:workers';
import { expect, it } from 'vitest';
import { newIsolate } from '../support/app';
import { call, createLicense, createProduct, getLicense } from '../support/client';

/** A license with more bound values than D1 returns as one text. */

const MAX_SHOWN = 1_000;

it('a license with 5,000 bound values is listed, read, validated, freed and deleted', async () => {
  const { id: productId } = await createProduct();
  const { id, licenseKey } = await createLicense({ productId, maxHWIDs: 1_000 });
  // Of an older version, whose limits had no end.
  const insert = env.DB.prepare(
    `insert into bindings (license_id, type, value, position)
     select ?1, 'HWID', value || substr(hex(zeroblob(600)), 1, 500), value
     from (with recursive n(value) as (select 1 union all select value + 1 from n limit 5000)
           select value from n)`,
  );
  await insert.bind(id).run();
  await env.DB.prepare('update licenses set max_hwids = 9999 where id = ?1').bind(id).run();

  const path = `/api/v2/licenses/${id}`;
  const { hwids } = await getLicense(id);
  expect(hwids).toHaveLength(MAX_SHOWN);
  expect((await call('GET', `/api/v2/licenses?productId=${productId}`)).status).toBe(200);
  const known = { licenseKey, productId, hwid: hwids[0] };
  expect((await newIsolate().validate(known)).status).toBe(200);

  const freed = await call('PUT', path, { body: { hwids: [] } });
  expect(freed.status, freed.text).toBe(200);
  const left = await env.DB.prepare('select count(*) as n from bindings where license_id = ?1')
    .bind(id)
    .first('n');
  expect(left).toBe(0);
  expect((await getLicense(id)).hwids).toEqual([]);

  await insert.bind(id).run();
  expect((await call('DELETE', path)).status).toBe(204);
});
