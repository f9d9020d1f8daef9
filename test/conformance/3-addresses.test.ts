import { env } from 'cloudflare:test';
import { customerFields } from '@licet/contract/customers';
import { productFields } from '@licet/contract/products';
import { describe, expect, it } from 'vitest';
import { call, expectError } from '../support/client.ts';
import { importOne } from '../support/import.ts';
import {
  customers,
  type Fields,
  isWebAddress,
  products,
  read,
  withoutChange,
} from '../support/resources.ts';

/** Addresses that shops may show as links and pictures (3). */

const MESSAGE = 'must be an address that begins with http:// or https://';
const REFUSED = [
  'javascript:alert(1)',
  'JavaScript://example.com/%0aalert(1)',
  ' javascript:alert(1)',
  'data:text/html,<script>alert(1)</script>',
  '//example.com/picture.png',
  'https://',
];

const bodyOf = async (resource: typeof products): Promise<Record<string, unknown>> =>
  resource.fullBody();
const put = (path: string, body: object) => call('PUT', path, { body });

const addressesOf = (fields: Fields): string[] => Object.keys(fields).filter(isWebAddress);

describe.each([
  ...addressesOf(productFields).map((field) => [products, 'products', field] as const),
  ...addressesOf(customerFields).map((field) => [customers, 'customers', field] as const),
])('of a $name', (resource, kind, field) => {
  it(`POST, PUT and import refuse a ${field} that is neither http nor https [3.13]`, async () => {
    const { id } = await resource.create();
    const path = `${resource.path}/${id}`;
    const body = await bodyOf(resource);
    for (const value of REFUSED) {
      const message = `${field} ${MESSAGE}`;
      const posted = await call('POST', resource.path, { body: { ...body, [field]: value } });
      expectError(posted, 400, message);
      expectError(await withoutChange(path, () => put(path, { [field]: value })), 400, message);
      const item = { ...body, id: 500_000, [field]: value };
      expect(await importOne(kind, item)).toMatchObject({
        outcome: 'refused',
        reason: `${field} "${value}" ${MESSAGE}`,
      });
    }
    for (const value of ['http://example.com', 'HTTPS://example.com/a b.png?c#d', '', null]) {
      expect((await put(path, { [field]: value })).json).toMatchObject({ [field]: value });
    }
  });

  it(`PUT takes a stored ${field} of an earlier version unchanged, and another one in its place [3.14]`, async () => {
    const { id } = await resource.create();
    const path = `${resource.path}/${id}`;
    const column = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    await env.DB.prepare(`update ${kind} set ${column} = ? where id = ?`)
      .bind('javascript:alert(1)', id)
      .run();
    const stored = await read(path);
    expect(stored).toMatchObject({ [field]: 'javascript:alert(1)' });
    const again = await put(path, stored);
    expect(again.status, again.text).toBe(200);
    expect(again.json).toMatchObject({ [field]: 'javascript:alert(1)' });
    const value = 'https://example.com/new.png';
    expect((await put(path, { [field]: value })).json).toMatchObject({ [field]: value });
  });
});
