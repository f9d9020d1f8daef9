import { beforeEach, describe, expect, it, vi } from 'vitest';
import { call, create, expectError, get, validate } from '../support/client.ts';
import { document } from '../support/openapi.ts';
import { type AnyObject, read, UPDATABLE, withoutChange } from '../support/resources.ts';
import { WRITES } from '../support/writes.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: new Date('2026-03-01T00:00:00Z') });
});
const put = (path: string, body: object, headers: Record<string, string> = {}) =>
  call('PUT', path, { body, headers });

const etagOf = async (path: string) => (await call('GET', path)).headers.get('ETag') ?? '';

/** The paths of the document that are read and changed: the rules hold for those of a new resource, too. */
const CHANGEABLE = Object.entries(document.paths).flatMap(([path, operations]) =>
  'get' in operations && 'put' in operations ? path : [],
);

describe.each(CHANGEABLE)('%s', (template) => {
  /** An object at the path, and a PUT that changes it. */
  async function newWrite() {
    const write = WRITES[`PUT ${template.replaceAll(/\{(\w+)\}/g, ':$1')}`];
    if (!write) throw new Error(`test/support/writes.ts has no PUT of ${template}`);
    const { path, body = {} } = await write();
    return { path, body };
  }

  const readObject = async (path: string): Promise<object> =>
    Object((await call('GET', path)).json);

  async function expectRoundTrip(path: string): Promise<void> {
    const before = await readObject(path);
    vi.setSystemTime(Date.now() + 60_000);
    const response = await put(path, before);
    expect(response.status, response.text).toBe(200);
    const now = new Date().toISOString().replace('Z', '+00:00');
    const updateTimes = ['updatedDate', 'updatedAt'].filter((name) => name in before);
    const expected = {
      ...before,
      ...Object.fromEntries(updateTimes.map((name) => [name, now])),
    };
    expect(response.json).toEqual(expected);
    expect(await readObject(path)).toEqual(expected);
  }

  it('PUT of what GET gave returns 200 and changes nothing but the update time [3.9, 3.12, 10.3.13, interface 4.3, interface 4.4, interface 4.8]', async () => {
    const { path, body } = await newWrite();
    await expectRoundTrip(path);
    const changed = await put(path, body);
    expect(changed.status, changed.text).toBe(200);
    await expectRoundTrip(path);
  });

  it('PUT with a field that the resource does not have returns 400 naming it [3.5]', async () => {
    const { path, body } = await newWrite();
    const response = await withoutChange(path, () => put(path, { ...body, Hue: 1, Shape: '' }));
    expectError(response, 400, 'Hue is not a known field; Shape is not a known field');
  });

  it('GET sends an ETag that changes with the object and fits If-Match until then [3.10]', async () => {
    const { path, body } = await newWrite();
    const first = await etagOf(path);
    expect(first).toMatch(/^"[^"]+"$/);
    expect(await etagOf(path)).toBe(first);

    const response = await put(path, body, { 'If-Match': first });

    expect(response.status, response.text).toBe(200);
    expect(await etagOf(path)).not.toBe(first);
    expect(response.headers.get('ETag')).toBe(await etagOf(path));
  });

  it('PUT with an If-Match that no longer fits returns 412 and changes nothing [3.1.3, 3.11, 3.12, 10.3.13]', async () => {
    const { path, body } = await newWrite();
    const stale = await etagOf(path);
    await put(path, {});
    const response = await withoutChange(path, () => put(path, body, { 'If-Match': stale }));
    expectError(response, 412, 'The object has changed since it was read');
  });
});

describe.each(UPDATABLE)('$name', (resource) => {
  const pathOf = (object: AnyObject) => `${resource.path}/${object.id}`;

  it('PUT without a body returns 400 and changes nothing [3.1.4]', async () => {
    const path = pathOf(await resource.create());
    const response = await withoutChange(path, () => call('PUT', path));
    expectError(response, 400, 'Body is empty, JSON is required');
  });

  it('PUT changes the field that it names and keeps those that it leaves out [3.2, 3.2.8, 3.6, interface 1, interface 4.2, interface 4.3, interface 4.8, interface 4.9]', async () => {
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

  it('null clears each field that may be null [3.6]', async () => {
    const object = await resource.create();
    for (const [field, cleared] of Object.entries(resource.cleared)) {
      expect(object[field]).not.toEqual(cleared);
      const response = await put(pathOf(object), { [field]: null });
      expect(response.status, response.text).toBe(200);
      expect(await read(pathOf(object))).toMatchObject({ [field]: cleared });
    }
  });

  it('PUT accepts the system fields and does not change them [3.7]', async () => {
    const before = await resource.create();
    const response = await put(pathOf(before), resource.systemFields);
    expect(response.status, response.text).toBe(200);
    expect(await read(pathOf(before))).toEqual(before);
  });

  it('PUT with an id unlike that of the path returns 400 and changes nothing [3.8]', async () => {
    const object = await resource.create();
    const response = await withoutChange(pathOf(object), () =>
      put(pathOf(object), { ...resource.changes(), id: object.id + 1 }),
    );
    expectError(response, 400, `id must be ${object.id} as in the path`);
  });

  it('DELETE with an If-Match that no longer fits returns 412 and changes nothing [3.1.3, 3.11]', async () => {
    const path = pathOf(await resource.create());
    const stale = await etagOf(path);
    await put(path, {});
    const response = await withoutChange(path, () =>
      call('DELETE', path, { headers: { 'If-Match': stale } }),
    );
    expectError(response, 412, 'The object has changed since it was read');
  });
});

it('PUT with another licenseKey returns 400 and changes nothing [3.8]', async () => {
  const { id: productId } = await create.product();
  const path = `/api/v2/licenses/${(await create.license({ productId })).id}`;
  const response = await withoutChange(path, () =>
    put(path, { notes: 'changed', licenseKey: '0000-0000-0000-0000-0000' }),
  );
  expectError(response, 400, 'licenseKey cannot be changed');
});

it('a binding changes the ETag, so that a PUT cannot undo it unseen [3.11]', async () => {
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

it('DELETE with an If-Match that fits deletes [3.11]', async () => {
  const { id } = await create.product();
  const path = `/api/v2/products/${id}`;
  const etag = (await call('GET', path)).headers.get('ETag') ?? '';
  expect((await call('DELETE', path, { headers: { 'If-Match': etag } })).status).toBe(204);
  expectError(await call('GET', path), 404, 'Product not found');
});
