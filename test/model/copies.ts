import type { Truth } from './truth.ts';

/**
 * Compares what KV holds with the database, after quiet: what is wrong, one line each.
 *
 * @param entries the keys of KV with what was written last
 */
export function findWrongCopies(entries: ReadonlyMap<string, string>, truth: Truth): string[] {
  // Nothing is published yet: what is held where, docs/edge.md will say.
  return entries.size > 0 && truth.licenses.size === 0 ? ['Copies of nothing'] : [];
}
