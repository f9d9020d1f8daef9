import { describe, expect, it } from 'vitest';
import { call, create, expectError, readPagesFrom } from '../support/client.ts';
import {
  CREATABLE,
  type Fields,
  idsOf,
  licenses,
  products,
  read,
  readList,
  UPDATABLE,
  withoutChange,
} from '../support/resources.ts';

/** Responses of all resources, and all lists [4.9]. */

describe.each(UPDATABLE)('$name', (resource) => {
  const post = (body: unknown) => call('POST', resource.path, { body });

  it('create returns 201, the object, its Location and its ETag [3.1, 3.2.8, 3.53, interface 1, interface 4.9, interface 5]', async () => {
    const body = await resource.fullBody();
    const response = await post(body);
    expect(response.status, response.text).toBe(201);
    expect(response.json).toMatchObject(body);

    const location = response.headers.get('Location') ?? '';
    const stored = await call('GET', location);
    expect(location).toMatch(new RegExp(`^${resource.path}/\\d+$`));
    expect(response.json).toMatchObject(await read(location));
    expect(stored.headers.get('ETag')).toBe(response.headers.get('ETag'));
  });

  it('create with a field that must not be sent returns 400 naming it and creates nothing [3.4, interface 2.1, interface 2.2, interface 4.2, interface 4.3, interface 4.4]', async () => {
    const good = await resource.fullBody();
    for (const [field, value] of Object.entries(resource.forbidden)) {
      const body = { ...good, [field]: value };
      const response = await withoutChange(resource.path, () => post(body));
      expectError(response, 400, new RegExp(`^${field} must not be sent`));
    }
  });

  it('a field that must not be sent counts as absent when it is null [3.4]', async () => {
    const nulls = Object.fromEntries(Object.keys(resource.forbidden).map((name) => [name, null]));
    const body = await resource.fullBody();
    const response = await post({ ...body, ...nulls });
    expect(response.status, response.text).toBe(201);
    expect(response.json).toMatchObject(body);
    expect(response.json).not.toMatchObject({ id: null });
  });

  it('create with a field that the resource does not have returns 400 naming it [3.5]', async () => {
    const body = { ...(await resource.fullBody()), colour: 3, Shape: '' };
    const response = await withoutChange(resource.path, () => post(body));
    expectError(response, 400, 'colour is not a known field; Shape is not a known field');
  });
});

// A license's DELETE only marks it [3]; how its id stays used is shown in 4.3.
describe.each(CREATABLE.filter((resource) => resource !== licenses))('Deleted: $name', (one) => {
  it('a deleted object is found no more, and deleted again returns 404 [3.2.8, 3.3, interface 1, interface 4.2, interface 4.4, interface 4.9]', async () => {
    const path = `${one.path}/${(await one.create()).id}`;
    const { status, text } = await call('DELETE', path);
    expect([status, text]).toEqual([204, '']);
    expectError(await call('GET', path), 404, `${one.name} not found`);
    expectError(await call('PUT', path, { body: {} }), 404, `${one.name} not found`);
    expectError(await call('DELETE', path), 404, `${one.name} not found`);
    expect(await idsOf(one.path)).not.toContain(Number(path.split('/').at(-1)));
  });

  it('the id of a deleted object is never used again [3.20]', async () => {
    const { id: first } = await one.create();
    const { id: last } = await one.create();
    expect((await call('DELETE', `${one.path}/${last}`)).status).toBe(204);
    expect((await call('DELETE', `${one.path}/${first}`)).status).toBe(204);
    expect((await one.create()).id).toBeGreaterThan(last);
  });
});

describe.each([...UPDATABLE, { name: 'License request', path: '/api/v2/requests' }])(
  'Paths of: $name',
  ({ name, path }) => {
    it('GET, PUT and DELETE of what does not exist return 404 [3.1.3]', async () => {
      for (const method of name === 'License request' ? ['GET'] : ['GET', 'PUT', 'DELETE']) {
        const body = method === 'PUT' ? {} : undefined;
        expectError(await call(method, `${path}/999999`, { body }), 404, `${name} not found`);
      }
    });

    it('an id that is no positive integer returns 400 [3.44]', async () => {
      for (const id of ['0', '-1', '1.5', '1e3', 'abc', '9007199254740993', '%00']) {
        expectError(await call('GET', `${path}/${id}`), 400, 'id must be a positive integer');
      }
    });
  },
);

describe.each(UPDATABLE)('List of: $name', (resource) => {
  const createSome = async (count: number) => {
    for (let i = 0; i < count; i++) await resource.create();
  };

  it('a list is a bare array, complete and sorted by id [3.2.8, 3.25, interface 1, interface 4.2, interface 4.3, interface 4.4, interface 4.5, interface 4.9]', async () => {
    const { id } = await resource.create();
    await createSome(2);
    const list = await readList(resource.path);
    const ids = list.map((object) => object.id);
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
    expect(ids.slice(ids.indexOf(id))).toHaveLength(3);
    for (const object of list) expect(object).toEqual(await read(`${resource.path}/${object.id}`));
  });

  it('a list comes in pages by limit, each linked to the next, with X-Total-Count [3.27, interface 4.9]', async () => {
    await createSome(3);
    const all = await readList(resource.path);
    const pages = await readPagesFrom(`${resource.path}?limit=2`);
    const parts = Array.from(pages, (_, index) => all.slice(2 * index, 2 * index + 2));
    expect(pages.map(({ json }) => json)).toEqual(parts);
    expect(parts.flat()).toEqual(all);
    for (const { headers } of pages) expect(headers.get('X-Total-Count')).toBe(String(all.length));
  });

  it('a list begins behind the id in after, with a limit and without [3.27]', async () => {
    await createSome(3);
    const ids = await idsOf(resource.path);
    const after = ids[1];
    expect(await idsOf(`${resource.path}?after=${after}`)).toEqual(ids.slice(2));
    expect(await idsOf(`${resource.path}?after=${after}&limit=1`)).toEqual(ids.slice(2, 3));
    expect(await idsOf(`${resource.path}?after=0&limit=2`)).toEqual(ids.slice(0, 2));
    expect(await idsOf(`${resource.path}?after=${ids.at(-1)}`)).toEqual([]);
  });

  it('a bad limit or after returns 400 naming the parameter [3.27]', async () => {
    for (const limit of ['0', '1001', '2.5', '']) {
      const response = await call('GET', `${resource.path}?limit=${limit}`);
      expectError(response, 400, 'limit must be an integer from 1 to 1000');
    }
    for (const after of ['-1', 'x', '']) {
      const response = await call('GET', `${resource.path}?after=${after}`);
      expectError(response, 400, /^after must be the id/);
    }
  });

  it('a list rejects a query parameter that it does not know', async () => {
    const response = await call('GET', `${resource.path}?colour=DELETED`);
    expectError(response, 400, 'colour is not a known query parameter');
  });
});

it('a page links to the next with its filters, and X-Total-Count counts what they leave [3.27]', async () => {
  const name = crypto.randomUUID();
  for (let i = 0; i < 3; i++)
    await create.product({ name: `${name} & more`, productType: 'OTHER' });
  await create.product({ name, productType: 'OTHER' });

  const q = encodeURIComponent(`${name} &`);
  const pages = await readPagesFrom(`${products.path}?q=${q}&productType=OTHER&limit=1`);

  expect(pages.map(({ json }) => json)).toEqual(Array(3).fill([expect.anything()]));
  expect(pages.map(({ headers }) => headers.get('X-Total-Count'))).toEqual(['3', '3', '3']);
});

it.each<[string, Fields]>([
  ['a NUL', { name: 'a\0b' }],
  ['an unpaired surrogate', { name: 'a\ud800b' }],
])('text with %s, which would not be stored as it is, returns 400', async (_, field) => {
  const body = { productType: 'OTHER', ...field };
  const response = await withoutChange(products.path, () => call('POST', products.path, { body }));
  expectError(response, 400, 'name must not contain NUL or unpaired surrogates');
});
