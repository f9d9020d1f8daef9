import type { Schema } from '@cfworker/json-schema';
import { API_INTENTS } from '@licet/contract/enums';
import { ERROR_CODES, errorResponse } from '@licet/contract/errors';
import { expect, it } from 'vitest';
import * as z from 'zod';
import decisions from '../../docs/decisions.md?raw';
import committed from '../../docs/openapi.json?raw';
import { declaredRoutes, openApiDocument, templateOf } from '../../openapi/document.ts';
import { parseRequest } from '../../src/validation/request.ts';
import { call, create } from '../support/client.ts';
import { ENDPOINTS } from '../support/endpoints.ts';
import { document, misfitsOf, resolved } from '../support/openapi.ts';
import { blacklists, customers, products } from '../support/resources.ts';

/** The OpenAPI document and the service are one: every response of the other tests is held against it. */

const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({
    endpoint: `${method.toUpperCase()} ${path}`,
    operation,
  })),
);

it('the OpenAPI document is committed as it is made', () => {
  const made = `${JSON.stringify(openApiDocument(), null, 2)}\n`;
  expect(committed === made, 'Run npm run openapi').toBe(true);
});

it('the codes of errors are those of the decisions [3.1.5]', () => {
  const listed = [...decisions.matchAll(/^\| `([A-Z_]+)` \| [45]\d\d \|/gm)].map(
    ([, code]) => code,
  );
  expect(Object.keys(ERROR_CODES)).toEqual(listed);
});

it('the operations are the routes of the service, with the intents that guard them', () => {
  const declared = declaredRoutes().map(({ method, path, intents }) => [
    `${method} ${templateOf(path)}`,
    intents ?? [],
  ]);
  const listed = operations.map(({ endpoint, operation }) => [endpoint, operation['x-intents']]);
  expect(Object.fromEntries(listed)).toEqual(Object.fromEntries(declared));
  expect(listed.length).toBeGreaterThan(Object.keys(ENDPOINTS).length);
});

it('each route declares an operation of its own', () => {
  const ids = declaredRoutes().map(({ operation }) => operation?.operationId);
  expect(ids).not.toContain(undefined);
  expect([...new Set(ids)]).toEqual(ids);
  expect(operations.map(({ operation }) => operation.operationId).toSorted()).toEqual(
    ids.toSorted(),
  );
});

it('operations need the token wherever they have intents, and nowhere else', () => {
  for (const { endpoint, operation } of operations) {
    const needsToken = operation['x-intents'].length > 0;
    expect(operation.security, endpoint).toEqual(needsToken ? [{ TOKEN: [] }] : []);
  }
});

it('every body in the OpenAPI document has an example that fits [interface 1]', () => {
  let examples = 0;
  for (const { endpoint, operation } of operations) {
    const { requestBody, responses } = operation;
    const bodies = [requestBody, ...Object.values(responses).map(resolved)];
    for (const part of bodies.flatMap((body) => Object.values(body?.content ?? {}))) {
      expect(misfitsOf(part.example, part.schema), endpoint).toEqual([]);
      examples++;
    }
  }
  expect(examples).toBeGreaterThan(200);
});

it('each POST of management takes an Idempotency-Key, or says that it has no effect [3.67]', () => {
  const posts = operations.filter(
    ({ endpoint, operation }) => endpoint.startsWith('POST ') && operation.security.length > 0,
  );
  expect(posts.length).toBeGreaterThan(15);
  for (const { endpoint, operation } of posts) {
    const isTaken = operation.parameters.some(
      (parameter) => '$ref' in parameter && parameter.$ref.endsWith('/IdempotencyKey'),
    );
    const isIgnored = operation.description.includes('`Idempotency-Key` has no effect');
    expect([isTaken, isIgnored].toSorted(), endpoint).toEqual([false, true]);
  }
});

/** The example of an error of an operation. */
const exampleOf = (id: string, status: number) => {
  const found = operations.find(({ operation }) => operation.operationId === id);
  const response = found?.operation.responses[status];
  return response && resolved(response)?.content?.['application/json']?.example;
};

it('an operation begins with the intents that open it, and its errors name no others [3.1.5]', () => {
  let errors = 0;
  for (const { endpoint, operation } of operations) {
    const { 'x-intents': intents, description, responses } = operation;
    const [first = ''] = description.split('\n');
    const named = API_INTENTS.filter((intent) => first.includes(`\`${intent}\``));
    const isForAny = first === 'Needs a token with any intent.';
    expect(isForAny ? API_INTENTS : named, endpoint).toEqual(intents);
    if (intents.length === 0) expect(first, endpoint).toBe('Needs no token.');
    for (const response of Object.values(responses).map(resolved)) {
      const example = errorResponse.safeParse(response?.content?.['application/json']?.example);
      if (!example.success) continue;
      expect(example.data.accepted_intents, endpoint).toEqual(intents);
      errors++;
    }
  }
  expect(errors).toBeGreaterThan(200);
});

it('the example of a 404 is the response to an id that nothing has [3.1.5]', async () => {
  const gets = operations.filter(
    ({ endpoint, operation }) => endpoint.endsWith('/{id}') && '404' in operation.responses,
  );
  expect(gets.length).toBeGreaterThan(15);
  for (const { endpoint, operation } of gets) {
    const [method = '', path = ''] = endpoint.replace('{id}', '999999').split(' ');
    const { json } = await call(method, path, method === 'PUT' ? { body: {} } : {});
    expect(exampleOf(operation.operationId, 404), endpoint).toEqual(json);
  }
});

it('the example of a 400 is the response to an empty body, or to a limit of 0 [3.1.5]', async () => {
  const lists = operations.filter(({ operation: { parameters } }) =>
    parameters.some((parameter) => 'name' in parameter && parameter.name === 'limit'),
  );
  expect(lists.length).toBeGreaterThan(10);
  for (const { endpoint, operation } of lists) {
    const path = endpoint.replace('GET ', '').replaceAll(/\{\w+\}/g, '1');
    const { json } = await call(
      'GET',
      `${path.replace('/by-platform/1', '/by-platform/CHAT')}?limit=0`,
    );
    expect(exampleOf(operation.operationId, 400), endpoint).toEqual(json);
  }
  for (const [id, path] of [
    ['createProduct', products.path],
    ['createLicenses', '/api/v2/licenses/batch'],
    ['importItems', '/api/v2/import'],
  ] as const) {
    const { json } = await call('POST', path, { body: {} });
    expect(exampleOf(id, 400)).toEqual(json);
  }
});

it('the example of a 409 is the response to a conflict [3.1.5]', async () => {
  const { productId } = await create.license();
  const entry = await blacklists.fullBody();
  const { id: entryId } = await blacklists.create();
  await call('POST', blacklists.path, { body: entry });
  const email = 'taken@shop.example';
  await call('POST', customers.path, { body: { email } });
  const { id: customerId } = await customers.create();
  const conflicts: [id: string, ...Parameters<typeof call>][] = [
    ['deleteProduct', 'DELETE', `${products.path}/${productId}`],
    ['createBlacklistEntry', 'POST', blacklists.path, { body: entry }],
    ['updateBlacklistEntry', 'PUT', `${blacklists.path}/${entryId}`, { body: entry }],
    ['createCustomer', 'POST', customers.path, { body: { email } }],
    ['updateCustomer', 'PUT', `${customers.path}/${customerId}`, { body: { email } }],
  ];
  for (const [id, ...sent] of conflicts) {
    const { status, json } = await call(...sent);
    expect([id, status, json]).toEqual([id, 409, exampleOf(id, 409)]);
  }
});

/** The fields of a body, or of the objects in a list. */
function fieldsOf(schema: Schema['items']): string[] {
  if (typeof schema !== 'object' || Array.isArray(schema)) return [];
  const { $ref, items, properties = {} } = schema;
  if ($ref === undefined) return items ? fieldsOf(items) : Object.keys(properties);
  return fieldsOf(document.components.schemas[$ref.split('/').at(-1) ?? '']);
}

it('PUT knows each field of the objects that GET and the lists return [3.9]', () => {
  const puts = Object.entries(document.paths).filter(([, item]) => 'put' in item);
  expect(puts.length).toBeGreaterThan(8);
  for (const [path, { put }] of puts) {
    const collection = path.replace('/{id}', '');
    const known = fieldsOf(put?.requestBody?.content['application/json']?.schema);
    for (const [other, { get }] of Object.entries(document.paths)) {
      const isOfObject =
        [path, collection].includes(other) || other.startsWith(`${collection}/by-`);
      if (!isOfObject || !get) continue;
      const response = get.responses[200] && resolved(get.responses[200]);
      const returned = fieldsOf(response?.content?.['application/json']?.schema);
      expect(returned.length, other).toBeGreaterThan(0);
      expect(known, other).toEqual(expect.arrayContaining(returned));
    }
  }
});

it('every required parameter in the OpenAPI document has an example that fits', () => {
  const required = operations.flatMap(({ operation }) =>
    operation.parameters.flatMap((parameter) =>
      'required' in parameter && parameter.required ? [parameter] : [],
    ),
  );
  expect(required.length).toBeGreaterThan(15);
  for (const { name, schema, example } of required) {
    expect(misfitsOf(example, schema), name).toEqual([]);
  }
});

it('every optional parameter has an example that fits, and with which /docs fills no form', () => {
  const optional = [
    ...operations.flatMap(({ operation }) =>
      operation.parameters.flatMap((parameter) =>
        'name' in parameter && !parameter.required && parameter.name !== 'limit' ? [parameter] : [],
      ),
    ),
    ...Object.values(document.components.parameters),
  ];
  expect(optional.length).toBeGreaterThan(40);
  for (const { name, schema, example } of optional) {
    const examples = z.array(z.unknown()).parse(schema.examples ?? []);
    expect(example, name).toBeUndefined();
    for (const each of examples) expect(misfitsOf(each, schema), name).toEqual([]);
    // Where there are few values, the schema has them all.
    if (!('$ref' in schema || 'const' in schema)) expect(examples, name).not.toEqual([]);
  }
});

const { properties = {}, required = [] } = document.components.schemas.ValidationRequest ?? {};
const nonce = 'a'.repeat(22);
const minimum: Record<string, unknown> = { licenseKey: 'A-KEY', productId: 602 };
const parse = (body: object) =>
  parseRequest(JSON.stringify(body), null, true, { isUnknown: () => false });

it.each(Object.keys(properties))('the body of a validation is read with its %s', (name) => {
  const values = { productId: 603, ip: '192.0.2.7', nonce, lease: true, takeOver: true };
  const value = new Map<string, unknown>(Object.entries(values)).get(name) ?? `the ${name}`;
  const parsed = parse({ ...minimum, nonce, [name]: value });
  expect(parsed).toMatchObject({ ok: true });
  expect(JSON.stringify(parsed)).toContain(JSON.stringify(value));
});

it('the body of a validation is rejected without a required field', () => {
  expect(required).toEqual(Object.keys(minimum));
  for (const name of required) {
    expect(parse({ ...minimum, [name]: undefined }).ok, name).toBe(false);
  }
});
