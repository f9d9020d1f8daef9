import { env } from 'cloudflare:workers';
import type { ImportKind } from '@licet/contract/enums';
import { importResponse, type importResult } from '@licet/contract/import';
import { expect } from 'vitest';
import type * as z from 'zod';
import { type CallOptions, call, restart, settled } from './client.ts';
import { emptyKv } from './published.ts';
import type { Fields } from './resources.ts';

/** Imports by the interface, and what a service has to show for it. */

export type ImportResponse = z.infer<typeof importResponse>;
export type ImportResult = z.infer<typeof importResult>;

export const postImport = (body: unknown, options: CallOptions = {}) =>
  call('POST', '/api/v2/import', { ...options, body });

/** Imports items of one kind; what became of them. */
export async function importItems(
  kind: ImportKind,
  items: readonly unknown[],
  options: object = {},
): Promise<ImportResponse> {
  const response = await postImport({ kind, items, ...options });
  expect(response.status, response.text).toBe(200);
  return importResponse.parse(response.json);
}

export async function importOne(
  kind: ImportKind,
  item: unknown,
  options: object = {},
): Promise<ImportResult> {
  const { results } = await importItems(kind, [item], options);
  expect(results).toHaveLength(1);
  return importResponse.shape.results.element.parse(results[0]);
}

const LISTS: Record<ImportKind, readonly string[]> = {
  products: ['/api/v2/products'],
  customers: ['/api/v2/customers'],
  licenses: ['/api/v2/licenses', '/api/v2/licenses?licenseStatus=DELETED'],
  blacklists: ['/api/v2/blacklists'],
};

export const KINDS: readonly ImportKind[] = ['products', 'customers', 'licenses', 'blacklists'];

/** All that GET shows of a kind. */
export async function listOf(kind: ImportKind): Promise<Fields[]> {
  const lists = await Promise.all(LISTS[kind].map((path) => call('GET', path)));
  return lists.flatMap(({ text }) => {
    const items: Fields[] = JSON.parse(text);
    return items;
  });
}

/** All that can be imported, as GET shows it. */
export async function everything(): Promise<Record<ImportKind, Fields[]>> {
  const [products = [], customers = [], licenses = [], blacklists = []] = await Promise.all(
    KINDS.map(listOf),
  );
  return { products, customers, licenses, blacklists };
}

/** Everything that an import stores, and the history of it. */
const TABLES = [
  ...['bindings', 'licenses', 'blacklists', 'customers', 'products'],
  ...['requests', 'buckets', 'installations', 'rollups', 'deleted_ids'],
];

/** Leaves a service as it is before its first use, but for its tokens. The Worker is a cold isolate. */
export async function emptyService(): Promise<void> {
  await settled();
  await env.DB.batch([
    ...TABLES.map((table) => env.DB.prepare(`delete from ${table}`)),
    env.DB.prepare(
      `delete from sqlite_sequence where name in ('licenses', 'customers', 'products')`,
    ),
    env.DB.prepare('delete from outbox'),
  ]);
  await emptyKv();
  restart();
}
