import type { ApiIntent } from '@licet/client';
import { describe, expect, it } from 'vitest';
import { queries } from '../../console/src/api.ts';
import { lookUp } from '../../console/src/layout/lookup.ts';
import { failure, json, type Sent, serve } from './service.ts';

/** The search of the palette, over a service with a few objects. */

const KEY = 'PFHS-0Z2K-9QXA-77BC-T3MW';
const never = new AbortController().signal;

const license = (id: number, values: object = {}) => ({
  id,
  licenseKey: `KEY-${id}`,
  licenseStatus: 'ACTIVE',
  ips: [],
  maxIPs: 5,
  customer: null,
  ownerChatUsername: '',
  ownerChatId: '',
  ownerPlatformId: '',
  ...values,
});
const found =
  (...items: object[]) =>
  () =>
    json(items);
const nothing = found();
const asked = (...ids: (number | null)[]) =>
  found(...ids.map((licenseId, index) => ({ id: index + 1, licenseId })));

const EMPTY = {
  'GET /licenses': nothing,
  'GET /requests': nothing,
  'GET /customers': nothing,
  'GET /products': nothing,
  'GET /purchases': nothing,
  'GET /markets': nothing,
};

async function search(
  typed: string,
  responses: Parameters<typeof serve>[0] = {},
  intents: readonly ApiIntent[] = ['ALL_READ'],
) {
  queries.clear();
  const sent = serve({ ...EMPTY, ...responses });
  const hits = await lookUp(typed, intents, never);
  return {
    titles: hits.map(({ title }) => title),
    hits,
    sent: sent.map(({ path }) => path),
    requests: sent,
  };
}

describe('a pasted key', () => {
  it.each([
    ['as it is shown', KEY],
    ['without hyphens, in small letters', KEY.replaceAll('-', '').toLowerCase()],
    ['with blanks', KEY.replaceAll('-', ' ')],
  ])('a key %s finds its license and its history', async (_, typed) => {
    const { titles } = await search(typed, {
      [`GET /licenses/by-license-key/${KEY}`]: () => json(license(7, { licenseKey: KEY })),
    });
    expect(titles).toEqual([KEY, `History of ${KEY}`]);
  });

  it('a replaced key finds the license that had it', async () => {
    const { titles, sent } = await search(KEY, { 'GET /licenses': found(license(7)) });
    expect(titles).toEqual(['KEY-7', `History of ${KEY}`]);
    expect(sent).toEqual([`/licenses/by-license-key/${KEY}`, '/licenses']);
  });

  it('an unknown key without hyphens may be a hardware ID', async () => {
    const bare = KEY.replaceAll('-', '');
    const { titles } = await search(bare);
    expect(titles).toEqual([
      `History of ${bare}`,
      `Block ${bare}, or find its entry`,
      `History of ${KEY}`,
    ]);
  });

  it('an unknown key with hyphens is nothing else', async () => {
    expect((await search(KEY)).titles).toEqual([`History of ${KEY}`]);
  });

  it('a token that may read no licenses is led to the history alone', async () => {
    const { titles, sent } = await search(KEY, {}, ['REQUESTS_READ']);
    expect([titles, sent]).toEqual([[`History of ${KEY}`], []]);
  });

  it('a failure of the service fails the search', async () => {
    const path = `GET /licenses/by-license-key/${KEY}`;
    await expect(search(KEY, { [path]: () => failure(500) })).rejects.toMatchObject({
      status: 500,
    });
  });
});

describe('a pasted address', () => {
  it('an address finds the licenses that asked from there, each once', async () => {
    const { titles } = await search('192.0.2.7', {
      'GET /requests': asked(7, null, 7, 9),
      'GET /licenses/7': () => json(license(7)),
      'GET /licenses/9': () => json(license(9)),
    });
    expect(titles).toEqual([
      'KEY-7',
      'KEY-9',
      'History of 192.0.2.7',
      'Block 192.0.2.7, or find its entry',
    ]);
  });

  it('a license that is gone is left out', async () => {
    const { titles } = await search('192.0.2.7', { 'GET /requests': asked(7) });
    expect(titles).toEqual(['History of 192.0.2.7', 'Block 192.0.2.7, or find its entry']);
  });

  it('five licenses are read of an address that many share', async () => {
    const ids = Array.from({ length: 20 }, (_, index) => index + 1);
    const { sent } = await search('192.0.2.7', { 'GET /requests': asked(...ids) });
    expect(sent.filter((path) => path.startsWith('/licenses/'))).toHaveLength(5);
  });

  it('a range is sought nowhere, because the history has addresses alone', async () => {
    const { titles, sent } = await search('2001:db8::/48');
    expect(sent).toEqual([]);
    expect(titles).toEqual(['History of 2001:db8::/48', 'Block 2001:db8::/48, or find its entry']);
  });

  it.each<[ApiIntent, string[]]>([
    ['BLACKLISTS_READ', ['Block 192.0.2.7, or find its entry']],
    ['REQUESTS_READ', ['History of 192.0.2.7']],
    ['PRODUCTS_READ', []],
  ])('a token with %s is led where it may read', async (intent, titles) => {
    expect((await search('192.0.2.7', {}, [intent])).titles).toEqual(titles);
  });
});

describe('another pasted value', () => {
  const ada = { id: 3, firstName: 'Ada', lastName: null, email: 'ada@shop.example' };

  it('an e-mail finds the licenses of the customer, and the customer', async () => {
    const { titles } = await search('ada@shop.example', {
      'GET /licenses/by-customer-email/ada%40shop.example': found(license(7)),
      'GET /customers': found(ada),
    });
    expect(titles).toEqual(['KEY-7', 'Ada']);
  });

  it('an account finds its licenses, and no further search follows', async () => {
    const account = '123456789012345678';
    const { titles, sent } = await search(account, {
      [`GET /licenses/by-chat-id/${account}`]: found(license(7)),
    });
    expect(titles).toEqual(['KEY-7']);
    expect(sent).not.toContain('/customers');
  });

  it('a number finds the license with that id, deleted or not, and what has it as a text', async () => {
    const byId = ({ query }: Sent) =>
      json(
        query.q ? [license(9)] : query.licenseStatus === 'DELETED' ? [license(17)] : [license(18)],
      );
    const { titles } = await search('17', { 'GET /licenses': byId });
    expect(titles).toEqual(['KEY-17']);
    expect((await search('017', { 'GET /licenses': byId })).titles).toEqual(['KEY-17', 'KEY-9']);
  });

  it('0 is the id of no license', async () => {
    expect((await search('0')).sent).toEqual([]);
  });

  it('a hardware ID that never asked still leads to its history and the blacklist', async () => {
    const mac = '00:1A:2b:3C:4d:5E';
    expect((await search(mac)).titles).toEqual([
      `History of ${mac}`,
      `Block ${mac}, or find its entry`,
    ]);
  });

  it('a text finds licenses, customers and products, in this order', async () => {
    const { titles, hits } = await search('Ada', {
      'GET /licenses': found(license(7)),
      'GET /customers': found(ada),
      'GET /products': found({ id: 5, name: 'Shop of Ada', description: 'A shop' }),
    });
    expect(titles).toEqual(['KEY-7', 'Ada', 'Shop of Ada']);
    expect(hits.map(({ id }) => id)).toEqual(['license-7', 'customer-3', 'product-5']);
  });

  it('a text that only deleted licenses have finds these', async () => {
    const { titles } = await search('gone', {
      'GET /licenses': ({ query }) =>
        json(query.licenseStatus === 'DELETED' ? [license(7, { licenseStatus: 'DELETED' })] : []),
    });
    expect(titles).toEqual(['KEY-7']);
  });

  it('a short imported key is found before the many keys that contain it', async () => {
    const others = Array.from({ length: 5 }, (_, index) => license(index + 1));
    const { titles } = await search('abc', {
      'GET /licenses': found(...others),
      'GET /licenses/by-license-key/abc': () => json(license(9, { licenseKey: 'ABC' })),
    });
    expect(titles[0]).toBe('ABC');
    expect(titles).toHaveLength(6);
  });

  it('a license that has the text and asked with it as its hardware ID is one line', async () => {
    const { titles } = await search('pc-7', {
      'GET /requests': asked(7),
      'GET /licenses/7': () => json(license(7)),
      'GET /licenses': found(license(7)),
    });
    expect(titles.filter((title) => title === 'KEY-7')).toHaveLength(1);
  });

  it.each(['pi_3', 'tbx-101', 'inv-9001', 'ada.buyer@example.com', '540773'])(
    'the order or the buyer %s finds the purchase, and leads to it',
    async (typed) => {
      const sold = {
        id: 12,
        order: 'pi_3',
        buyerName: 'Ada',
        productName: 'Guard',
        marketName: 'Stripe',
      };
      const emails = { [`GET /licenses/by-customer-email/${encodeURIComponent(typed)}`]: nothing };
      const { hits, requests } = await search(typed, { ...emails, 'GET /purchases': found(sold) });
      expect(hits).toContainEqual({
        id: 'purchase-12',
        group: 'Purchases',
        title: 'pi_3',
        note: 'Ada · Guard · Stripe',
        link: { to: '/purchases', search: { open: 12 } },
      });
      const asked = requests.find(({ path }) => path === '/purchases');
      expect(asked?.query).toMatchObject({ q: typed, sort: '-id' });
    },
  );

  it('a text finds the market with it in its name', async () => {
    const markets = [
      { id: 3, name: 'Cards', kind: 'stripe' },
      { id: 4, name: 'Bits', kind: 'builtbybit' },
    ];
    const { titles } = await search('stripe', { 'GET /markets': found(...markets) });
    expect(titles).toEqual(['Cards']);
  });

  it('two characters are no text to search for', async () => {
    expect((await search('Ad')).sent).toEqual(['/products']);
  });

  it('a token that may read nothing finds nothing, and asks nothing', async () => {
    const { titles, sent } = await search('Ada', {}, []);
    expect([titles, sent]).toEqual([[], []]);
  });

  it('a hit has the status, the owner and the slots of a license', async () => {
    const { hits } = await search('Ada', {
      'GET /licenses': found(
        license(7, { licenseStatus: 'EXPIRED', maxIPs: -1, ips: ['192.0.2.7'], customer: ada }),
        license(8),
      ),
    });
    expect(hits.map(({ note }) => note)).toEqual(['Expired · Ada · 1 / ∞', 'Active · 0 / 5']);
    expect(hits[0]?.link).toEqual({ to: '/licenses/$licenseId', params: { licenseId: 7 } });
  });
});
