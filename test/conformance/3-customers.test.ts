import { describe, expect, it } from 'vitest';
import { call, create, expectError, get, updateLicense } from '../support/client.ts';
import { customers, idsOf, licenses, read, readList, withoutChange } from '../support/resources.ts';

/** Customers of a web shop, which knows an e-mail and nothing else (3). */

const DUPLICATE = 'The e-mail or an account belongs to another customer';

let emails = 0;
const nextEmail = () => `Buyer.${++emails}@Example.com`;

const post = (body: object) => call('POST', customers.path, { body });

async function createCustomer(fields: object): Promise<number> {
  const response = await post(fields);
  expect(response.status, response.text).toBe(201);
  return Number(response.headers.get('Location')?.split('/').at(-1));
}

it('POST of a customer with an e-mail that another one has, in any case, returns 409 and creates nothing [3.53]', async () => {
  const email = nextEmail();
  await createCustomer({ email });
  for (const again of [email, email.toLowerCase(), ` ${email.toUpperCase()} `]) {
    const response = await withoutChange(customers.path, () => post({ email: again }));
    expectError(response, 409, DUPLICATE);
  }
});

it('POST of a customer with an account that another one has returns 409 and creates nothing', async () => {
  await createCustomer({ chatId: 'taken' });
  const response = await withoutChange(customers.path, () => post({ chatId: 'taken' }));
  expectError(response, 409, DUPLICATE);
});

it('a list of customers has the number of their licenses that are not DELETED if asked for, and only then [3.54]', async () => {
  const lastName = 'With a count';
  const [two, none] = [await createCustomer({ lastName }), await createCustomer({ lastName })];
  const [deleted] = await Promise.all([1, 2, 3].map(() => create.license({ customerId: two })));
  await call('DELETE', `${licenses.path}/${deleted?.id}`);
  const list = `${customers.path}?q=${encodeURIComponent(lastName)}`;
  for (const page of ['', '&limit=2']) {
    expect(await readList(`${list}&licenseCount=true${page}`)).toMatchObject([
      { id: two, licenseCount: 2 },
      { id: none, licenseCount: 0 },
    ]);
    const [listed] = await readList(`${list}&licenseCount=true${page}`);
    const put = await call('PUT', `${customers.path}/${two}`, { body: listed });
    expect(put.status, put.text).toBe(200);
    for (const without of ['', '&licenseCount=false']) {
      for (const customer of await readList(list + without + page)) {
        expect(customer).not.toHaveProperty('licenseCount');
      }
    }
  }
});

it('ten POSTs of a customer in parallel with one e-mail create one', async () => {
  const email = nextEmail();
  const responses = await Promise.all(Array.from({ length: 10 }, () => post({ email })));
  expect(responses.map(({ status }) => status).toSorted()).toEqual([201, ...Array(9).fill(409)]);
});

describe.each(['POST', 'PUT'])('%s of a license', (method) => {
  /** Sends the fields in a create, or in a change of a license that has another owner. */
  async function send(fields: object) {
    const { id: productId } = await create.product();
    if (method === 'POST') {
      const body = { productId, licenseType: 'PERMANENT', ownerChatId: 'not-the-owner', ...fields };
      return call('POST', licenses.path, { body });
    }
    const { id } = await create.license({ productId, ownerChatId: 'not-the-owner' });
    return call('PUT', `${licenses.path}/${id}`, { body: fields });
  }
  const customerOf = async (fields: object) => {
    const response = await send(fields);
    expect(response.status, response.text).toBe(method === 'POST' ? 201 : 200);
    expect(response.json).not.toHaveProperty('customerId');
    expect(response.json).not.toHaveProperty('customerEmail');
    const { id = 0 } = Object(response.json);
    return (await get.license(id)).customer;
  };

  it('a license that is sent with the e-mail of a customer belongs to that customer, without regard to case [3.55]', async () => {
    const email = nextEmail();
    const id = await createCustomer({ email });
    const customer = await customerOf({ customerEmail: email.toUpperCase() });
    expect(customer).toEqual(await read(`${customers.path}/${id}`));
    expect(customer).toMatchObject({ email });
  });

  it('a license that is sent with a new e-mail creates the customer with it [3.55]', async () => {
    const email = nextEmail();
    const before = await idsOf(customers.path);
    const customer = await customerOf({ customerEmail: ` ${email} ` });
    expect(customer).toMatchObject({ email, chatId: null, firstName: null });
    expect(before).not.toContain(customer?.id);
  });

  it('a license that is sent with the id of a customer belongs to that customer [3.55]', async () => {
    const id = await createCustomer({ firstName: 'Ada' });
    expect(await customerOf({ customerId: id })).toMatchObject({ id, firstName: 'Ada' });
  });

  it('a license that is sent with an id and its e-mail belongs to that customer', async () => {
    const email = nextEmail();
    const id = await createCustomer({ email });
    expect(await customerOf({ customerId: id, customerEmail: email })).toMatchObject({ id });
    expect(await customerOf({ customerId: id, customerEmail: null })).toMatchObject({ id });
  });

  it.each([
    ['customerId', 999_999, 'customerId 999999 does not exist'],
    ['customerId', '1', 'customerId must be an integer'],
    ['customerEmail', 'nobody', 'customerEmail must be an e-mail address'],
  ])(
    'a license with a %s of %j returns 400 and changes nothing [3.56]',
    async (field, value, message) => {
      const before = await idsOf(customers.path);
      expectError(await send({ [field]: value }), 400, message);
      const added = (await idsOf(customers.path)).filter((id) => !before.includes(id));
      // The owner of the license to change.
      expect(added.length).toBeLessThanOrEqual(method === 'PUT' ? 1 : 0);
    },
  );

  it('a license that is sent with an id and the e-mail of another customer returns 400 and changes nothing [3.56]', async () => {
    const id = await createCustomer({ email: nextEmail() });
    const email = nextEmail();
    const response = await send({ customerId: id, customerEmail: email });
    expectError(
      response,
      400,
      `customerEmail is not the e-mail of customer ${id}: send customerId or customerEmail`,
    );
    expect(await idsOf(`${customers.path}?q=${email}`)).toEqual([]);
  });
});

const NOT_SHOWN = /^customerId must be a customer with a license, unless the token may read/;
const secretOf = async (intents: Parameters<typeof create.token>[0]) =>
  (await create.token(intents)).token;

it('a token that may not read customers cannot name a customer without a license by the id [3.58]', async () => {
  const token = await secretOf(['LICENSES_READ_WRITE']);
  const id = await createCustomer({ email: nextEmail(), phoneNumber: '+44 20 7946 0000' });
  const license = await create.license({ ownerChatId: 'its owner' });
  const { productId } = license;
  const path = `${licenses.path}/${license.id}`;
  const body = { productId, licenseType: 'PERMANENT' };
  for (const customerId of [id, 999_999]) {
    const refusals = await withoutChange(path, () =>
      Promise.all([
        call('POST', licenses.path, { token, body: { ...body, customerId } }),
        call('POST', `${licenses.path}/batch`, {
          token,
          body: { ...body, customerId, count: 2 },
        }),
        call('PUT', path, { token, body: { customerId } }),
      ]),
    );
    for (const refusal of refusals) expectError(refusal, 403, NOT_SHOWN);
  }
  expect(await idsOf(`${licenses.path}/by-customer-id/${id}`)).toEqual([]);
});

it('a token that may not read customers names those with a license by the id, and all by the e-mail [3.57, 3.58, 3.59]', async () => {
  const token = await secretOf(['LICENSES_READ_WRITE']);
  const customerEmail = nextEmail();
  const customerId = await createCustomer({ email: customerEmail });
  const { id: productId } = await create.product();
  for (const owner of [{ customerEmail }, { customerId }]) {
    const body = { productId, licenseType: 'PERMANENT', ...owner };
    const response = await call('POST', licenses.path, { token, body });
    expect(response.status, response.text).toBe(201);
    expect(response.json).toMatchObject({ customer: { id: customerId } });
  }
});

it('a token that may not read customers sees those of licenses, in each way to a license [3.57]', async () => {
  const customerEmail = nextEmail();
  const { id, licenseKey, productId, customer } = await create.license({ customerEmail });
  expect(customer).toMatchObject({ email: customerEmail });
  const token = await secretOf(['LICENSES_READ']);
  for (const way of [
    `/${id}`,
    `/by-license-key/${licenseKey}`,
    `/by-customer-email/${customerEmail}`,
    `/by-product-id/${productId}`,
    `?productId=${productId}`,
  ]) {
    const { json } = await call('GET', `${licenses.path}${way}`, { token });
    expect([json].flat(), way).toMatchObject([{ id, customer }]);
  }
  for (const path of [customers.path, `${customers.path}/${customer?.id}`]) {
    expect((await call('GET', path, { token })).status).toBe(403);
  }
});

it.each(['CUSTOMERS_READ', 'ALL_READ'] as const)(
  'a token that also has %s names any customer of a license by the id [3.58]',
  async (intent) => {
    const token = await secretOf(['LICENSES_READ_WRITE', intent]);
    const customerId = await createCustomer({ email: nextEmail() });
    const { id } = await create.license();
    const body = { customerId };
    const response = await call('PUT', `${licenses.path}/${id}`, { token, body });
    expect(response.json).toMatchObject({ customer: { id: customerId } });
  },
);

it('the customer of a license is the owner that its fields name where customerId and customerEmail are null', async () => {
  const { id: productId } = await create.product();
  const nulls = { customerId: null, customerEmail: null };
  const { customer } = await create.license({ productId, ownerChatId: 'named', ...nulls });
  expect(customer).toMatchObject({ chatId: 'named' });
});

it('a license has no customer after a PUT with customerId null [3.55]', async () => {
  const { id } = await create.license({ customerEmail: nextEmail() });
  expect((await updateLicense(id, { customerId: null })).customer).toBeNull();
});

it('the customer of a license stays when other fields change, and when what GET returned is put', async () => {
  const { id, customer } = await create.license({ customerEmail: nextEmail() });
  expect(customer?.id).toBeGreaterThan(0);
  expect((await updateLicense(id, { notes: 'Changed' })).customer).toEqual(customer);
  expect((await updateLicense(id, await get.license(id))).customer).toEqual(customer);
});

it('ten parallel licenses with one new e-mail have one customer [3.55]', async () => {
  const { id: productId } = await create.product();
  const customerEmail = nextEmail();
  const created = await Promise.all(
    Array.from({ length: 10 }, () => create.license({ productId, customerEmail })),
  );
  expect(new Set(created.map(({ customer }) => customer?.id)).size).toBe(1);
  expect(await idsOf(`${licenses.path}/by-customer-email/${customerEmail}`)).toHaveLength(10);
});

it('all licenses of a batch have one customer', async () => {
  const { id: productId } = await create.product();
  const customerEmail = nextEmail();
  const body = { productId, licenseType: 'PERMANENT', customerEmail, count: 3 };
  expect((await call('POST', `${licenses.path}/batch`, { body })).status).toBe(201);
  expect(await idsOf(`${licenses.path}/by-customer-email/${customerEmail}`)).toHaveLength(3);
});

it.each(['half.an', 'AN-EMAIL@', 'lovel', 'augusta lovelace', 'ada-on-chat'])(
  'q=%s finds a customer, and the licenses of the customer [3.62]',
  async (q) => {
    const { id: productId } = await create.product();
    const customerId = await createCustomer({
      email: `${productId}.half.an-email@example.com`,
      firstName: 'Augusta',
      lastName: 'Lovelace',
      chatUsername: 'ada-on-chat',
    });
    const { id } = await create.license({ productId, customerId });
    const query = new URLSearchParams({ q });
    expect(await idsOf(`${customers.path}?${query}`)).toContain(customerId);
    expect(await idsOf(`${licenses.path}?${query}&productId=${productId}`)).toEqual([id]);
  },
);
