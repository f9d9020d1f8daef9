import { beforeEach, describe, expect, it, vi } from 'vitest';
import { call, create, expectError, get, validate } from '../support/client.ts';
import { type AnyObject, customers, read, UPDATABLE, withoutChange } from '../support/resources.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: new Date('2026-03-01T00:00:00Z') });
});
const put = (path: string, body: object, headers: Record<string, string> = {}) =>
  call('PUT', path, { body, headers });

describe.each(UPDATABLE)('$name', (resource) => {
  const pathOf = (object: AnyObject) => `${resource.path}/${object.id}`;

  it('PUT of what GET gave returns 200 and changes nothing but the update time', async () => {
    const before = await resource.create();
    vi.setSystemTime(new Date('2026-03-01T00:01:00Z'));

    const response = await put(pathOf(before), before);

    expect(response.status, response.text).toBe(200);
    const expected = {
      ...before,
      ...(resource.updateTime in before && {
        [resource.updateTime]: '2026-03-01T00:01:00.000+00:00',
      }),
    };
    expect(response.json).toEqual(expected);
    expect(await read(pathOf(before))).toEqual(expected);
  });

  it('PUT without a body returns 400 and changes nothing', async () => {
    const path = pathOf(await resource.create());
    const response = await withoutChange(path, () => call('PUT', path));
    expectError(response, 400, 'Body is empty, JSON is required');
  });

  it('PUT changes the field that it names and keeps those that it leaves out', async () => {
    let current = await resource.create();
    const changes = Object.entries(resource.changes());
    const settable = (object: object) =>
      Object.fromEntries(Object.entries(object).filter(([name]) => name in resource.changes()));

    for (const [field, value] of changes) {
      const expected = { ...settable(current), [field]: value };
      const response = await put(pathOf(current), { [field]: value });
      expect(response.status, response.text).toBe(200);
      current = await read(pathOf(current));
      expect(settable(current)).toEqual(expected);
      expect(response.json).toEqual(current);
    }
  });

  it('null clears each field that may be null', async () => {
    const object = await resource.create();
    for (const [field, cleared] of Object.entries(resource.cleared)) {
      expect(object[field]).not.toEqual(cleared);
      const response = await put(pathOf(object), { [field]: null });
      expect(response.status, response.text).toBe(200);
      expect(await read(pathOf(object))).toMatchObject({ [field]: cleared });
    }
  });

  it('PUT accepts the system fields and does not change them', async () => {
    const before = await resource.create();
    const response = await put(pathOf(before), resource.systemFields);
    expect(response.status, response.text).toBe(200);
    expect(await read(pathOf(before))).toEqual(before);
  });

  it('PUT with an id unlike that of the path returns 400 and changes nothing', async () => {
    const object = await resource.create();
    const response = await withoutChange(pathOf(object), () =>
      put(pathOf(object), { ...resource.changes(), id: object.id + 1 }),
    );
    expectError(response, 400, `id must be ${object.id} as in the path`);
  });

  it('PUT with a field that the resource does not have returns 400 naming it', async () => {
    const object = await resource.create();
    const response = await withoutChange(pathOf(object), () =>
      put(pathOf(object), { ...resource.changes(), colour: 1, Shape: '' }),
    );
    expectError(response, 400, 'colour is not a known field; Shape is not a known field');
  });

  it('GET sends an ETag that changes with the object and fits If-Match until then', async () => {
    const path = pathOf(await resource.create());
    const etag = async () => (await call('GET', path)).headers.get('ETag') ?? '';
    const first = await etag();
    expect(first).toMatch(/^"[^"]+"$/);
    expect(await etag()).toBe(first);

    const response = await put(path, resource.changes(), { 'If-Match': first });

    expect(response.status, response.text).toBe(200);
    expect(await etag()).not.toBe(first);
    expect(response.headers.get('ETag')).toBe(await etag());
  });

  // Customers have no DELETE.
  it.each(resource === customers ? ['PUT'] : ['PUT', 'DELETE'])(
    '%s with an If-Match that no longer fits returns 412 and changes nothing',
    async (method) => {
      const path = pathOf(await resource.create());
      const stale = (await call('GET', path)).headers.get('ETag') ?? '';
      await put(path, {});

      const response = await withoutChange(path, () =>
        call(method, path, {
          headers: { 'If-Match': stale },
          ...(method === 'PUT' && { body: resource.changes() }),
        }),
      );

      expectError(response, 412, 'The object has changed since it was read');
    },
  );
});

it('PUT with another licenseKey returns 400 and changes nothing', async () => {
  const { id: productId } = await create.product();
  const path = `/api/v2/licenses/${(await create.license({ productId })).id}`;
  const response = await withoutChange(path, () =>
    put(path, { notes: 'changed', licenseKey: '0000-0000-0000-0000-0000' }),
  );
  expectError(response, 400, 'licenseKey cannot be changed');
});

it('a binding changes the ETag, so that a PUT cannot undo it unseen', async () => {
  const { id, licenseKey, productId } = await create.license();
  const path = `/api/v2/licenses/${id}`;
  const etag = (await call('GET', path)).headers.get('ETag') ?? '';
  expect((await validate({ licenseKey, productId, ip: '203.0.113.1' })).status).toBe(200);
  const response = await put(path, { ips: [] }, { 'If-Match': etag });
  expectError(response, 412, /changed/);
  expect((await get.license(id)).ips).toEqual(['203.0.113.1']);
});

it('If-Match takes a list of tags, a weak tag and *', async () => {
  const { id } = await create.product();
  const path = `/api/v2/products/${id}`;
  const etag = async () => (await call('GET', path)).headers.get('ETag') ?? '';
  expect((await put(path, {}, { 'If-Match': `"other", ${await etag()}` })).status).toBe(200);
  expect((await put(path, {}, { 'If-Match': `W/${await etag()}` })).status).toBe(200);
  expect((await put(path, {}, { 'If-Match': '*' })).status).toBe(200);
});

it('DELETE with an If-Match that fits deletes', async () => {
  const { id } = await create.product();
  const path = `/api/v2/products/${id}`;
  const etag = (await call('GET', path)).headers.get('ETag') ?? '';
  expect((await call('DELETE', path, { headers: { 'If-Match': etag } })).status).toBe(204);
  expectError(await call('GET', path), 404, 'Product not found');
});
