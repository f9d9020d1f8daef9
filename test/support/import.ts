import { Import } from '@licet/cli/import/importer';
import type { Result } from '@licet/cli/import/results';
import type { ImportKind } from '@licet/contract/enums';
import { importResponse, type importResult } from '@licet/contract/import';
import { expect } from 'vitest';
import type * as z from 'zod';
import { type CallOptions, call } from './client.ts';

/** Imports by the interface. */

export type ImportResponse = z.infer<typeof importResponse>;
export type ImportResult = z.infer<typeof importResult>;

export const postImport = (body: unknown, options: CallOptions = {}) =>
  call('POST', '/api/v2/import', { ...options, body });

async function send(body: unknown): Promise<ImportResponse> {
  const response = await postImport(body);
  expect(response.status, response.text).toBe(200);
  return importResponse.parse(response.json);
}

/** Imports items of one kind; what became of them. */
export const importItems = (
  kind: ImportKind,
  items: readonly unknown[],
  options: object = {},
): Promise<ImportResponse> => send({ kind, items, ...options });

export async function importOne(
  kind: ImportKind,
  item: unknown,
  options: object = {},
): Promise<ImportResult> {
  const { results } = await importItems(kind, [item], options);
  expect(results).toHaveLength(1);
  return importResponse.shape.results.element.parse(results[0]);
}

async function* products(): AsyncGenerator<unknown> {
  const { json } = await call('GET', '/api/v2/products');
  if (Array.isArray(json)) yield* json;
}

async function timeZone(): Promise<string> {
  const { text } = await call('GET', '/api/v2/address');
  return JSON.parse(text).timeZone;
}

/** Imports items as the command line and the console do. @returns their results, and the ignored fields */
export async function importForeign(
  kind: ImportKind,
  items: readonly unknown[],
): Promise<{ results: Result[]; ignored: string[] }> {
  const results: Result[] = [];
  const ignored: string[] = [];
  const source = {
    counts: { [kind]: items.length },
    async *read(wanted: ImportKind) {
      if (wanted !== kind) return;
      for (const [index, item] of items.entries()) yield { item, where: `${kind}[${index}]` };
    },
  };
  const report = {
    add: (_kind: ImportKind, _named: unknown, result: Result) => results.push(result),
    ignore: (_kind: ImportKind, names: readonly string[]) => ignored.push(...names),
    addOwners() {},
  };
  await new Import(source, { import: send, products, timeZone }, report, false).run();
  return { results, ignored };
}
