import { event } from '@licet/contract/events';
import { expect, it } from 'vitest';
import { call, create, expectError, get, updateLicense, validate } from '../support/client.ts';
import { importOne } from '../support/import.ts';
import { customers, idsOf, licenses, post, read, withoutChange } from '../support/resources.ts';

/** The texts that shops and scripts keep with licenses and customers (3). */

const METADATA = { 'a.b-c_D1': 'x'.repeat(500), order: '4711', plan: 'gold "2" \\ é' };

const RESOURCES = [licenses, customers];

it.each(RESOURCES)(
  'PUT of a $name with metadata replaces all of it, and one without it changes none [3.95, 3.96]',
  async (resource) => {
    const { id } = await resource.create();
    const path = `${resource.path}/${id}`;
    const put = async (body: object) => {
      const response = await call('PUT', path, { body });
      expect(response.status, response.text).toBe(200);
      return (await read(path)).metadata;
    };
    expect(await put({ metadata: METADATA })).toEqual(METADATA);
    expect(await put(resource === licenses ? { notes: 'Other' } : { role: 'Other' })).toEqual(
      METADATA,
    );
    expect(await put({ metadata: { plan: 'silver', trial: '' } })).toEqual({ plan: 'silver' });
    for (const empty of [null, {}, { plan: '' }]) {
      await put({ metadata: METADATA });
      expect(await put({ metadata: empty })).toEqual({});
    }
  },
);

it.each(RESOURCES)(
  'metadata of a $name that cannot be stored returns 400 and names the field [3.95]',
  async (resource) => {
    const { id } = await resource.create();
    const path = `${resource.path}/${id}`;
    const names = Array.from({ length: 21 }, (_, index) => [`n${index}`, 'x']);
    for (const [metadata, message] of [
      [Object.fromEntries(names), 'metadata must have at most 20 names'],
      [{ plan: 'x'.repeat(501) }, 'metadata.plan must be at most 500 characters'],
      [{ plan: 7 }, 'metadata.plan must be a string'],
      [{ plan: null }, 'metadata.plan must be a string'],
      [{ plan: 'a\0' }, 'metadata.plan must not contain NUL or unpaired surrogates'],
      [
        { 'my plan': 'gold' },
        'metadata.my plan must have a name of 1 to 40 letters, digits and signs "_", "." and "-", other than "__proto__"',
      ],
      [
        { ['n'.repeat(300)]: 'gold' },
        `metadata.${'n'.repeat(100)} must have a name of 1 to 40 letters, digits and signs "_", "." and "-", other than "__proto__"`,
      ],
      [
        JSON.parse('{"plan":"gold","__proto__":"x"}'),
        'metadata.__proto__ must have a name of 1 to 40 letters, digits and signs "_", "." and "-", other than "__proto__"',
      ],
      ['gold', 'metadata must be an object'],
      [['gold'], 'metadata must be an object'],
    ] as const) {
      const response = await withoutChange(path, () => call('PUT', path, { body: { metadata } }));
      expectError(response, 400, message);
      expect(response.headers.get('Error-Field')).toBe('metadata');
    }
    // Names that each object has.
    const own = {
      metadata: { constructor: 'own', toJSON: 'own', toString: 'own', valueOf: 'own' },
    };
    expect((await call('PUT', path, { body: own })).json).toMatchObject(own);
  },
);

it.each(RESOURCES)(
  'the list of a $name finds exactly the text under a name of its metadata, and q a part of any [3.97]',
  async (resource) => {
    const made: number[] = [];
    for (const metadata of [{ plan: 'gold' }, { plan: 'gold:2' }, { tier: 'gold' }, {}]) {
      const { id } = await resource.create();
      await call('PUT', `${resource.path}/${id}`, { body: { metadata } });
      made.push(id);
    }
    const [gold, two, tier] = made;
    const found = async (query: string) =>
      (await idsOf(`${resource.path}?${query}`)).filter((id) => made.includes(id));
    expect(await found('metadata=plan:gold')).toEqual([gold]);
    expect(await found('metadata=plan:gold:2&limit=1')).toEqual([two]);
    expect(await found('metadata=plan:GOLD')).toEqual([]);
    expect(await found('metadata=constructor:gold')).toEqual([]);
    expect(await found('q=GOLD')).toEqual([gold, two, tier]);
    expect(await found('q=plan')).toEqual([]);
    for (const wrong of ['gold', ':gold', 'plan:', 'my%20plan:gold', '__proto__:gold', '']) {
      expectError(
        await call('GET', `${resource.path}?metadata=${wrong}`),
        400,
        'metadata must be a name and a text, such as plan:gold',
      );
    }
  },
);

it('each license of a batch has the metadata, and an import keeps that of a known one [3.95, 3.98]', async () => {
  const { id: productId } = await create.product();
  const metadata = { order: '4711' };
  const batch = { productId, licenseType: 'PERMANENT', count: 2, metadata };
  const made = await call('POST', '/api/v2/licenses/batch', { body: batch });
  expect(made.json).toMatchObject([{ metadata }, { metadata }]);

  const item = {
    licenseKey: 'METADATA-KEY',
    productId,
    licenseType: 'PERMANENT',
    metadata: { plan: 'gold', order: '1' },
    customer: { email: 'metadata@example.com', metadata: { crm: 'acct_1' } },
  };
  const { id } = await importOne('licenses', item);
  expect(await get.license(id ?? 0)).toMatchObject({
    metadata: item.metadata,
    customer: { metadata: { crm: 'acct_1' } },
  });
  expect(await importOne('licenses', item)).toMatchObject({ outcome: 'unchanged' });
  const other = { ...item, metadata: { plan: 'silver' } };
  expect(await importOne('licenses', other)).toMatchObject({
    outcome: 'kept',
    differences: ['metadata'],
  });
  const buyer = { email: 'metadata@example.com', metadata: { crm: 'acct_2' } };
  expect(await importOne('customers', buyer)).toMatchObject({
    outcome: 'kept',
    differences: ['metadata'],
  });
});

it('events have metadata before and after, and no validation shows it [3.99]', async () => {
  const license = await create.license({ metadata: { plan: 'gold' } });
  await updateLicense(license.id, { metadata: { plan: 'silver' } });
  await updateLicense(license.id, { metadata: null });
  const { json } = await call(
    'GET',
    `/api/v2/events?resourceType=license&resourceId=${license.id}`,
  );
  expect(
    event
      .array()
      .parse(json)
      .map(({ changes }) => changes?.metadata),
  ).toEqual([
    { before: { plan: 'silver' }, after: null },
    { before: { plan: 'gold' }, after: { plan: 'silver' } },
    { before: null, after: { plan: 'gold' } },
  ]);
  await updateLicense(license.id, { metadata: { plan: 'secret-plan' } });
  const response = await validate({
    licenseKey: license.licenseKey,
    productId: license.productId,
  });
  expect(response.status).toBe(200);
  expect(response.text).not.toContain('secret-plan');
});

it('a forgotten customer loses the metadata, and licenses keep theirs like their notes [6.18, 6.19]', async () => {
  const { id } = await post(customers.path, {
    email: 'forgotten-metadata@example.com',
    metadata: { crm: 'crm-of-ada' },
  });
  const license = await create.license({ customerId: id, metadata: { order: 'order-of-ada' } });
  const eventsText = async () =>
    (await call('GET', `/api/v2/events?resourceType=license&resourceId=${license.id}`)).text +
    (await call('GET', `/api/v2/events?resourceType=customer&resourceId=${id}`)).text;
  const before = await eventsText();
  expect(before).toContain('crm-of-ada');
  expect(before).toContain('order-of-ada');
  expect((await call('DELETE', `${customers.path}/${id}`)).status).toBe(204);
  expect((await read(`${customers.path}/${id}`)).metadata).toEqual({});
  expect((await get.license(license.id)).metadata).toEqual({ order: 'order-of-ada' });
  expect(await eventsText()).not.toMatch(/crm-of-ada|order-of-ada/);
});
