import { env } from 'cloudflare:workers';
import { describe, expect, it } from 'vitest';
import { newIsolate } from '../support/app.ts';
import {
  call,
  create,
  expectError,
  get,
  type License,
  type ReadResponse,
  updateLicense,
} from '../support/client.ts';
import { beforeFirstWrite } from '../support/faults.ts';
import {
  blacklists,
  CREATABLE,
  customers,
  licenses,
  products,
  read,
  UPDATABLE,
} from '../support/resources.ts';

/**
 * Races that are made to happen: something else happens between what a request has read and what it writes. Each
 * case tells the response, and that nothing is stored that the response does not tell.
 */

/** All that administrators and bindings can change. */
const TABLES = ['products', 'customers', 'licenses', 'bindings', 'blacklists', 'tokens'];

async function readStored(): Promise<unknown> {
  const selects = TABLES.map((table) => env.DB.prepare(`select * from ${table} order by 1, 2, 3`));
  return (await env.DB.batch(selects)).map(({ results }) => results);
}

interface Raced {
  response: ReadResponse;
  /** The rows right after the other change, and those in the end. */
  stored: { before: unknown; after: unknown };
}

/** Sends a request, and makes a change once it has read and before it writes. */
async function race(
  change: () => Promise<unknown>,
  method: string,
  path: string,
  options: { body?: object; headers?: Record<string, string> } = {},
): Promise<Raced> {
  let before: unknown;
  const DB = beforeFirstWrite(env.DB, async () => {
    await change();
    before = await readStored();
  });
  const response = await newIsolate({ DB }).call(method, path, options);
  expect(before, 'the change was made').toBeDefined();
  return { response, stored: { before, after: await readStored() } };
}

const expectNothingStored = ({ stored }: Raced) => expect(stored.after).toEqual(stored.before);

const etagOf = async (path: string) => (await call('GET', path)).headers.get('ETag') ?? '';

async function put(path: string, body: object): Promise<void> {
  const response = await call('PUT', path, { body });
  expect(response.status, response.text).toBe(200);
}

async function remove(path: string): Promise<void> {
  const response = await call('DELETE', path);
  expect(response.status, response.text).toBe(204);
}

const licensePath = ({ id }: { id: number }) => `${licenses.path}/${id}`;
const productPath = ({ productId }: License) => `${products.path}/${productId}`;

const newLicense = (fields: object = {}): Promise<License> =>
  create.license({ maxIPs: 1, maxHWIDs: 1, ...fields });

const VISITOR = { ip: '11.70.0.1', hwid: 'HW-1' };

/** The first validation of a license, which changes while it is decided. */
const raceValidation = ({ licenseKey, productId }: License, change: () => Promise<unknown>) =>
  race(change, 'POST', '/api/v1/validate', { body: { licenseKey, productId, ...VISITOR } });

/** Only a DELETED license goes with its product. */
async function removeWithProduct(license: License): Promise<void> {
  await remove(licensePath(license));
  await remove(productPath(license));
}

it.each<[string, (license: License) => Promise<unknown>]>([
  [
    'moves to another product',
    async ({ id }) => updateLicense(id, { productId: (await create.product()).id }),
  ],
  ['goes with its product', removeWithProduct],
])(
  'a first validation is rejected and stores nothing when the license %s [1.4.7]',
  async (_, change) => {
    const license = await newLicense();
    const raced = await raceValidation(license, () => change(license));
    expect(raced.response.status).toBe(400);
    expect(raced.response.json).toEqual({ valid: false, message: 'License not found or invalid' });
    expectNothingStored(raced);
  },
);

it.each([
  ['maxIPs', { maxIPs: -1 }, { ips: [], hwids: ['HW-1'] }],
  ['maxHWIDs', { maxHWIDs: -1 }, { ips: ['11.70.0.1'], hwids: [] }],
  ['each limit', { maxIPs: -1, maxHWIDs: -1 }, { ips: [], hwids: [] }],
])(
  'a first validation binds nothing where %s becomes unlimited [1.4.8]',
  async (_, limits, bound) => {
    const license = await newLicense();
    const { response } = await raceValidation(license, () => updateLicense(license.id, limits));
    expect(response.status).toBe(200);
    expect(response.json).toMatchObject(limits);
    expect(await get.license(license.id)).toMatchObject({ ...limits, ...bound });
  },
);

/** Another value for all of a license that is written to other tables. */
const OURS = { notes: 'ours', ips: ['11.71.0.9'], hwids: ['HW-9'] };
const LIMITS = { maxIPs: 5, maxHWIDs: 5, ips: ['11.71.0.1'], hwids: ['HW-1'] };

it('a PUT of a license that goes with its product gets 404, and nothing is stored', async () => {
  const license = await newLicense(LIMITS);
  const path = licensePath(license);
  const body = { ...OURS, ownerChatId: 'nobody', licenseStatus: 'ACTIVE' };
  const raced = await race(() => removeWithProduct(license), 'PUT', path, { body });
  expectError(raced.response, 404, 'License not found');
  expectNothingStored(raced);
});

it('a PUT of a license gets 400 when the product that it moves to goes, and nothing is stored', async () => {
  const license = await newLicense(LIMITS);
  const { id: productId } = await create.product();
  const raced = await race(
    () => remove(`${products.path}/${productId}`),
    'PUT',
    licensePath(license),
    { body: { ...OURS, ownerChatId: 'nobody', productId } },
  );
  expectError(raced.response, 400, `productId ${productId} does not exist`);
  expectNothingStored(raced);
});

it('a license whose product goes while it is created is not stored, nor is its owner', async () => {
  const { id: productId } = await create.product();
  const body = { productId, licenseType: 'PERMANENT', ownerChatId: 'nobody', ips: ['11.72.0.1'] };
  const change = () => remove(`${products.path}/${productId}`);
  const raced = await race(change, 'POST', licenses.path, { body });
  expectError(raced.response, 400, `productId ${productId} does not exist`);
  expectNothingStored(raced);
});

it.each<[string, (license: License) => Promise<unknown>]>([
  ['a license is created in it', ({ productId }) => create.license({ productId })],
  [
    'a license in it is restored',
    (license) => updateLicense(license.id, { licenseStatus: 'ACTIVE' }),
  ],
  [
    'a license moves into it',
    async ({ productId }) => updateLicense((await newLicense()).id, { productId }),
  ],
])('DELETE of a product gets 409 and deletes nothing when %s [3.21]', async (_, change) => {
  const license = await newLicense({ ips: ['11.73.0.1'], hwids: ['HW-1'] });
  const { productId } = license;
  await remove(licensePath(license));
  const entry = { ...(await blacklists.fullBody()), productId };
  expect((await call('POST', blacklists.path, { body: entry })).status).toBe(201);

  const raced = await race(() => change(license), 'DELETE', productPath(license));

  expectError(raced.response, 409, 'Product has licenses, cannot delete');
  expectNothingStored(raced);
});

describe.each(UPDATABLE)('while a $name is put', (resource) => {
  async function setUp() {
    const path = `${resource.path}/${(await resource.create()).id}`;
    const fields = Object.entries(resource.changes()).map(([name, value]) => ({ [name]: value }));
    return { path, ours: fields.at(0) ?? {}, theirs: fields.at(-1) ?? {} };
  }

  it('a PUT with If-Match gets 412 and changes nothing when another PUT comes [3.11]', async () => {
    const { path, ours, theirs } = await setUp();
    const headers = { 'If-Match': await etagOf(path) };
    const raced = await race(() => put(path, theirs), 'PUT', path, { body: ours, headers });
    expectError(raced.response, 412, 'The object has changed since it was read');
    expectNothingStored(raced);
  });

  it('two PUTs at once without If-Match are both kept [3.6]', async () => {
    const { path, ours, theirs } = await setUp();
    const tags = new Set<string>();
    const change = async () => {
      tags.add(await etagOf(path));
      await put(path, theirs);
      tags.add(await etagOf(path));
    };
    const { response } = await race(change, 'PUT', path, { body: ours });
    expect(response.status, response.text).toBe(200);
    expect(await read(path)).toMatchObject({ ...ours, ...theirs });
    expect(tags.add(await etagOf(path)).size, 'each has an ETag of its own').toBe(3);
  });
});

describe.each(CREATABLE)('while a $name is deleted', (resource) => {
  const isLicense = resource === licenses;

  async function setUp() {
    const path = `${resource.path}/${(await resource.create()).id}`;
    const [[name, value] = ['', '']] = Object.entries(resource.changes());
    return { path, theirs: { [name]: value } };
  }

  it('a DELETE with If-Match gets 412 and changes nothing when a PUT comes [3.11]', async () => {
    const { path, theirs } = await setUp();
    const headers = { 'If-Match': await etagOf(path) };
    const raced = await race(() => put(path, theirs), 'DELETE', path, { headers });
    expectError(raced.response, 412, 'The object has changed since it was read');
    expectNothingStored(raced);
  });

  it('an object that two DELETEs meet is deleted once', async () => {
    const { path } = await setUp();
    const raced = await race(() => remove(path), 'DELETE', path);
    // A DELETE of what is DELETED is no error (decisions 3).
    if (isLicense) expect(raced.response.status).toBe(204);
    else expectError(raced.response, 404, `${resource.name} not found`);
    expectNothingStored(raced);
  });
});

it.each(CREATABLE.filter((resource) => resource !== licenses))(
  'a $name that is deleted while it is put returns 404, and nothing is stored',
  async (resource) => {
    const path = `${resource.path}/${(await resource.create()).id}`;
    const raced = await race(() => remove(path), 'PUT', path, { body: resource.changes() });
    expectError(raced.response, 404, `${resource.name} not found`);
    expectNothingStored(raced);
  },
);

it('an e-mail that another customer takes meanwhile returns 409, and nothing is stored', async () => {
  const [one, other] = [await customers.create(), await customers.create()];
  const email = 'wanted@example.com';
  const raced = await race(
    () => put(`${customers.path}/${other.id}`, { email }),
    'PUT',
    `${customers.path}/${one.id}`,
    {
      body: { firstName: 'Eve', email },
    },
  );
  expectError(raced.response, 409, 'The e-mail or an account belongs to another customer');
  expectNothingStored(raced);
});
