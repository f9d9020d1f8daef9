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
