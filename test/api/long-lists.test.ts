import { createExecutionContext } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { MAX_METADATA_LENGTH, MAX_METADATA_NAMES } from '@licet/contract/limits';
import { beforeAll, expect, it } from 'vitest';
import { app } from '../../src/routes/app.ts';
import { newIsolate } from '../support/app.ts';
import { create, requestTo } from '../support/client.ts';
import { interceptDatabase } from '../support/d1-intercept.ts';

/** Long lists and wide rows: they keep no other request from being served, and take little memory. */

const LICENSES = 1_600;
const WIDE = 12;
const VALUES = 1_000;
const VALUE_LENGTH = 500;
const LISTS = '/api/v2/licenses';

let wideProductId: number;

beforeAll(async () => {
  const { id: productId } = await create.product();
  ({ id: wideProductId } = await create.product());
  const addLicenses = env.DB.prepare(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < ?2)
     insert into licenses (license_key, license_key_normalized, product_id, license_type, max_ips, max_hwids,
       created_at, updated_at, revision)
     select 'KEY-' || ?1 || '-' || i, 'KEY-' || ?1 || '-' || i, ?1, 'PERMANENT', -1, ${VALUES}, 0, 0, 1 from n`,
  );
  await env.DB.batch([
    addLicenses.bind(productId, LICENSES),
    addLicenses.bind(wideProductId, WIDE),
    env.DB.prepare(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${VALUES})
       insert into bindings (license_id, type, value, position) select id, 'HWID', printf('%0${VALUE_LENGTH}d', ${VALUES} - i), i
       from licenses, n where product_id = ?`,
    ).bind(wideProductId),
  ]);
});

const isListRead = (statements: readonly { sql: string }[]): boolean =>
  statements.some(({ sql }) => /^select .* from "licenses" .* limit /s.test(sql));

const list = (DB: D1Database) =>
  app.fetch(requestTo('GET', LISTS), { ...env, DB }, createExecutionContext());

it('timers of other requests run between two chunks of a list that is read at full speed [3.26]', {
  tags: 'long',
}, async () => {
  let ticks = 0;
  const ticking = setInterval(() => ticks++, 0);
  const ticksAtReads: number[] = [];
  const DB = interceptDatabase(env.DB, (statements, send) => {
    if (isListRead(statements)) ticksAtReads.push(ticks);
    return send();
  });
  const rows: unknown[] = await (await list(DB)).json();
  clearInterval(ticking);
  expect(rows).toHaveLength(LICENSES + WIDE);
  expect(ticksAtReads.length).toBe(2);
  expect(ticksAtReads).toEqual([...new Set(ticksAtReads)]);
});

it('on one machine a list is read in chunks of 250 rows, and of 256 KB of long values [3.25]', async () => {
  const sizes: number[] = [];
  const DB = interceptDatabase(env.DB, async (statements, send) => {
    const result = await send();
    if (isListRead(statements)) sizes.push(JSON.stringify(result).length);
    return result;
  });
  const response = await newIsolate({ DB, ONE_MACHINE: 'true' }).call('GET', LISTS);
  const rows: { id: number }[] = JSON.parse(response.text);
  expect(rows).toHaveLength(LICENSES + WIDE);
  const ids = rows.map(({ id }) => id);
  expect(ids).toEqual([...new Set(ids)].toSorted((one, other) => one - other));
  expect(sizes).toHaveLength(7);
});

it('three lists at once read one chunk at a time, and each is complete [3.26]', {
  tags: 'long',
}, async () => {
  let reading = 0;
  const atOnce: number[] = [];
  const DB = interceptDatabase(env.DB, async (statements, send) => {
    if (!isListRead(statements)) return send();
    atOnce.push(++reading);
    const result = await send();
    reading--;
    return result;
  });
  const responses = await Promise.all([list(DB), list(DB), list(DB)]);
  const lists = await Promise.all(responses.map((response) => response.json<unknown[]>()));
  expect(lists.map(({ length }) => length)).toEqual(Array(3).fill(LICENSES + WIDE));
  expect(atOnce.length).toBe(6);
  expect(Math.max(...atOnce)).toBe(1);
});

it('a list that is cancelled while a chunk is read reads no further, and the next list is complete [3.26]', {
  tags: 'long',
}, async () => {
  const cancelling = Promise.withResolvers<void>();
  let reads = 0;
  const DB = interceptDatabase(env.DB, async (statements, send) => {
    if (isListRead(statements) && ++reads === 2) cancelling.resolve();
    return send();
  });
  const response = await list(DB);
  const reader = response.body?.getReader();
  const reading = reader?.read().then(() => reader.read());
  await cancelling.promise;
  await reader?.cancel();
  await reading;
  const next: unknown[] = await (await list(env.DB)).json();
  expect(next).toHaveLength(LICENSES + WIDE);
  expect(reads).toBeLessThanOrEqual(3);
});

it.each(['', '&limit=1000'])(
  'no read of licenses with 500 KB each returns more than 2 MB: ?productId=…%s [3.25]',
  async (more) => {
    let longest = 0;
    const DB = interceptDatabase(env.DB, async (_, send) => {
      const result = await send();
      longest = Math.max(longest, JSON.stringify(result)?.length ?? 0);
      return result;
    });
    const path = `${LISTS}?productId=${wideProductId}${more}`;
    const response = await newIsolate({ DB }).call('GET', path);
    const rows: { hwids: string[] }[] = JSON.parse(response.text);
    expect(rows.map(({ hwids }) => hwids.length)).toEqual(Array(WIDE).fill(VALUES));
    const inOrder = Array.from({ length: VALUES }, (_, index) =>
      String(VALUES - 1 - index).padStart(VALUE_LENGTH, '0'),
    );
    expect(rows.at(-1)?.hwids).toEqual(inOrder);
    expect(longest).toBeGreaterThan(VALUES * VALUE_LENGTH);
    expect(longest).toBeLessThan(2_000_000);
  },
);

it.each(['licenses', 'customers'])(
  'no read of %s with long metadata returns more than 2 MB [3.25]',
  async (name) => {
    const rows = 200;
    const text = 'x'.repeat(MAX_METADATA_LENGTH);
    const metadata = Object.fromEntries(
      Array.from({ length: MAX_METADATA_NAMES }, (_, index) => [`n${index}`, text]),
    );
    const { id: productId } = await create.product();
    const role = `of ${name}`;
    const of = `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${rows})`;
    await env.DB.batch([
      env.DB.prepare(
        `${of} insert into customers (role, metadata, created_at) select ?, ?, 0 from n`,
      ).bind(role, JSON.stringify(metadata)),
      env.DB.prepare(
        `insert into licenses (license_key, license_key_normalized, product_id, license_type, max_ips, max_hwids,
           created_at, updated_at, revision, metadata, customer_id)
         select 'M-' || id, 'M-' || id, ?1, 'PERMANENT', 1, 1, 0, 0, 1, metadata, id from customers where role = ?2`,
      ).bind(productId, role),
    ]);
    let longest = 0;
    const DB = interceptDatabase(env.DB, async (_, send) => {
      const result = await send();
      longest = Math.max(longest, JSON.stringify(result)?.length ?? 0);
      return result;
    });
    const query = name === 'licenses' ? `?productId=${productId}` : '';
    const response = await newIsolate({ DB }).call('GET', `/api/v2/${name}${query}`);
    const read: { metadata: object; customer?: { metadata: object } }[] = JSON.parse(response.text);
    expect(read.length).toBeGreaterThanOrEqual(rows);
    for (const { metadata: its, customer } of read) {
      expect([its, customer?.metadata ?? metadata]).toEqual([metadata, metadata]);
    }
    expect(longest).toBeLessThan(2_000_000);
  },
);
