import { env } from 'cloudflare:workers';
import { expect } from 'vitest';
import { routes } from '../../src/routes/app.ts';
import {
  blacklists,
  type CreatableResource,
  customers,
  type Fields,
  licenses,
  markets,
  newPurchase,
  post,
  products,
  type Resource,
  tokens,
  webhooks,
} from './resources.ts';

/** A request that writes, ready to be sent. */
export interface Write {
  path: string;
  body?: Fields;
}

const create = (resource: CreatableResource) => async (): Promise<Write> => ({
  path: resource.path,
  body: await resource.fullBody(),
});
const remove = (resource: Resource) => async (): Promise<Write> => ({
  path: `${resource.path}/${(await resource.create()).id}`,
});
const update = (resource: Resource) => async (): Promise<Write> => ({
  ...(await remove(resource)()),
  body: resource.changes(),
});

/** A successful request to every route of management that writes. */
export const WRITES: Readonly<Record<string, () => Promise<Write>>> = {
  'POST /api/v2/products': create(products),
  'PUT /api/v2/products/:id': update(products),
  'DELETE /api/v2/products/:id': remove(products),
  'POST /api/v2/licenses': create(licenses),
  'POST /api/v2/licenses/batch': async () => ({
    path: `${licenses.path}/batch`,
    body: { ...(await licenses.fullBody()), ips: [], hwids: [], count: 3 },
  }),
  'PUT /api/v2/licenses/:id': update(licenses),
  'DELETE /api/v2/licenses/:id': remove(licenses),
  'POST /api/v2/licenses/:id/rotate': async () => ({
    path: `${(await remove(licenses)()).path}/rotate`,
    body: {},
  }),
  'POST /api/v2/licenses/:id/transfer': async () => ({
    path: `${(await remove(licenses)()).path}/transfer`,
    body: { customerEmail: `${crypto.randomUUID()}@shop.example` },
  }),
  'POST /api/v2/blacklists': create(blacklists),
  'PUT /api/v2/blacklists/:id': update(blacklists),
  'DELETE /api/v2/blacklists/:id': remove(blacklists),
  'POST /api/v2/customers': create(customers),
  'PUT /api/v2/customers/:id': update(customers),
  'DELETE /api/v2/customers/:id': remove(customers),
  'POST /api/v2/tokens': create(tokens),
  'PUT /api/v2/tokens/:id': update(tokens),
  'DELETE /api/v2/tokens/:id': remove(tokens),
  'POST /api/v2/webhooks': create(webhooks),
  'PUT /api/v2/webhooks/:id': update(webhooks),
  'DELETE /api/v2/webhooks/:id': remove(webhooks),
  'POST /api/v2/webhooks/:id/rotate-secret': async () => ({
    path: `${(await remove(webhooks)()).path}/rotate-secret`,
    body: {},
  }),
  'POST /api/v2/markets': create(markets),
  'PUT /api/v2/markets/:id': update(markets),
  'DELETE /api/v2/markets/:id': remove(markets),
  'POST /api/v2/portal-links': async () => ({
    path: '/api/v2/portal-links',
    body: { customerId: (await customers.create()).id },
  }),
  'PUT /api/v2/settings/portal': async () => ({
    path: '/api/v2/settings/portal',
    body: {
      name: `Shop ${crypto.randomUUID()}`,
      colour: '#2f4fbf',
      contact: 'https://discord.gg/example',
      logo: 'data:image/png;base64,iVBORw0KGgo=',
    },
  }),
  'PUT /api/v2/settings/discord': async () => ({
    path: '/api/v2/settings/discord',
    body: {
      applicationId: '1100000000000000001',
      publicKey: '8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c',
      guildId: String(10n ** 17n + BigInt(Math.floor(Math.random() * 1e9))),
      adminRoleId: '1100000000000000003',
      botToken: `bot-token-${crypto.randomUUID()}`,
    },
  }),
  'PUT /api/v2/settings/mail': async () => ({
    path: '/api/v2/settings/mail',
    body: { kinds: ['key'], texts: { en: { key: { subject: `Key ${crypto.randomUUID()}` } } } },
  }),
  'POST /api/v2/purchases': async () => ({ path: '/api/v2/purchases', body: await newPurchase() }),
  'POST /api/v2/purchases/:id/ignore': async () => {
    const { id } = await post('/api/v2/purchases', await newPurchase());
    await env.DB.prepare(`update purchases set state = 'UNMATCHED', license_id = null where id = ?`)
      .bind(id)
      .run();
    return { path: `/api/v2/purchases/${id}/ignore`, body: {} };
  },
  'POST /api/v2/purchases/:id/grant': async () => {
    const { id } = await post('/api/v2/purchases', await newPurchase());
    const { licenseId } = await newPurchase();
    return { path: `/api/v2/purchases/${id}/grant`, body: { licenseId } };
  },
  'POST /api/v2/import': async () => {
    const { createdDate, ...product } = await products.create();
    const id = product.id + 1_000_000;
    return { path: '/api/v2/import', body: { kind: 'products', items: [{ ...product, id }] } };
  },
};

/**
 * Expects these to be all routes of management that write. A validation is none: programs may be slow. A test, or sending
 * again, changes nothing but a delivery.
 */
export function expectEveryWritingRoute(names: readonly string[]): void {
  const writing = routes
    .filter(
      ({ method, path }) => /^(POST|PUT|PATCH|DELETE)$/.test(method) && path.startsWith('/api/v2'),
    )
    .map(({ method, path }) => `${method} ${path}`)
    .filter((route) => !/\/(validate|test|resend|preview|send-key)$/.test(route));
  expect(new Set(writing)).toEqual(new Set(names));
}
