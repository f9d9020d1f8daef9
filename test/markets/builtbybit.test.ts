import { describe, expect, it } from 'vitest';
import { builtbybit } from '../../src/channels/markets/adapters/builtbybit.ts';
import { accepted, incoming, readBy, SECRET, settingsOf } from './samples.ts';

/** BuiltByBit: its placeholder and its webhook, from the samples of its documents. */

const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' };
const placeholder = `builtbybit=true&steam_id=&user_id=540773&resource_id=62494&version_id=1001&version_number=1.4.0&secret=${SECRET}`;
const purchase = {
  secret: SECRET,
  user_id: '540773',
  username: 'kas',
  resource_id: '62494',
  addon_id: '0',
  bundle_id: '0',
  renewal: 'none',
  final_price: '9.99',
  purchase_date: '1790000000',
};
const read = (body: string, headers: Record<string, string> = FORM) =>
  readBy(builtbybit, incoming(body, headers), settingsOf('builtbybit'));

describe('the placeholder', () => {
  const grant = {
    do: 'grant',
    item: '62494',
    reference: '540773',
    order: null,
    buyer: { id: '540773', name: null, email: null },
    quantity: 1,
    isTest: false,
    facts: {},
    about: [],
  };

  it('a download grants, and its response is the bare key', async () => {
    const { notices, needsKey, respond, type } = accepted(await read(placeholder));
    expect({ notices, needsKey, type }).toEqual({
      notices: [grant],
      needsKey: true,
      type: 'placeholder',
    });
    expect(respond?.(['KEY-1'])).toEqual({
      body: 'KEY-1',
      contentType: 'text/plain; charset=utf-8',
    });
  });

  it('a multipart form says the same', async () => {
    const form = new FormData();
    for (const [name, value] of new URLSearchParams(placeholder)) form.append(name, value);
    const sent = new Response(form);
    const headers = { 'Content-Type': sent.headers.get('Content-Type') ?? '' };
    const bytes = new Uint8Array(await sent.arrayBuffer());
    const result = await readBy(builtbybit, incoming(bytes, headers), settingsOf('builtbybit'));
    expect(accepted(result).notices).toEqual([grant]);
  });
});

describe('the webhook', () => {
  const JSON_TYPE = { 'Content-Type': 'application/json' };

  it('a purchase grants, with the name of the buyer and the time', async () => {
    const { notices, needsKey } = accepted(await read(JSON.stringify(purchase), JSON_TYPE));
    expect(needsKey).toBeUndefined();
    expect(notices).toMatchObject([
      {
        item: '62494',
        buyer: { id: '540773', name: 'kas' },
        facts: { boughtAt: 1_790_000_000_000 },
      },
    ]);
  });

  it.each([
    { addon_id: '', bundle_id: '', renewal: '' },
    { addon_id: undefined },
    { addon_id: 0, user_id: 540773, resource_id: 62494, purchase_date: 1790000000 },
  ])('other spellings of the same say the same: %j', async (fields) => {
    const body = JSON.stringify({ ...purchase, ...fields });
    const [usual, other] = [JSON.stringify(purchase), body].map((text) => read(text, JSON_TYPE));
    expect(accepted((await other) ?? expect.fail())).toEqual(
      accepted((await usual) ?? expect.fail()),
    );
  });

  it('an add-on is an item of its own', async () => {
    const { notices } = accepted(
      await read(JSON.stringify({ ...purchase, addon_id: '77' }), JSON_TYPE),
    );
    expect(notices).toMatchObject([{ item: 'addon-77' }]);
  });
});

it.each([
  ['no secret', placeholder.replace(/&secret=.*/, ''), 401],
  ['an empty secret', placeholder.replace(SECRET, ''), 401],
  ['another secret', placeholder.replace(SECRET, `${SECRET}x`), 401],
  ['a secret in upper case', placeholder.replace(SECRET, SECRET.toUpperCase()), 401],
  ['a cut secret', placeholder.replace(SECRET, SECRET.slice(0, -1)), 401],
  ['no buyer', placeholder.replace('user_id=540773', 'user_id='), 400],
  ['no resource', placeholder.replace('62494', '0'), 400],
  ['no form and no JSON', 'hello', 400],
  ['an empty body', '', 400],
])('a request with %s is rejected [9.2.2]', async (_, body, status) => {
  expect(await read(body, {})).toMatchObject({ status });
});

it('a market without a secret accepts none', async () => {
  const result = await readBy(
    builtbybit,
    incoming(placeholder, FORM),
    settingsOf('builtbybit', []),
  );
  expect(result).toMatchObject({ status: 401 });
});
