/** Longer names are compared with none, so that the work is bounded whatever a client sends. */
const MAX_LENGTH = 40;
const MAX_EDITS = 2;
const LETTERS_PER_EDIT = 3;

const folded = (name: string): string => name.replaceAll(/[\s_-]/g, '').toLowerCase();

/** The letters to insert, remove or replace (Levenshtein). */
function editsBetween(one: string, other: string): number {
  let previous = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [row, letter] of [...one].entries()) {
    const edits = [row + 1];
    for (const [column, otherLetter] of [...other].entries()) {
      const replaced = (previous[column] ?? 0) + (letter === otherLetter ? 0 : 1);
      const changed = Math.min(previous[column + 1] ?? 0, edits[column] ?? 0) + 1;
      edits.push(Math.min(replaced, changed));
    }
    previous = edits;
  }
  return previous.at(-1) ?? 0;
}

/** Swapped letters count as one edit, because they are a common typing error. */
const isReordered = (one: string, other: string): boolean =>
  [...one].toSorted().join('') === [...other].toSorted().join('');

/**
 * The name that an unknown one means: the one with the fewest edits, in any case, or the only one that begins or ends
 * with it, such as `customerEmail` for `email`. Undefined if none is near.
 */
export function nearestName(unknown: string, names: readonly string[]): string | undefined {
  if (unknown.length > MAX_LENGTH) return undefined;
  const text = folded(unknown);
  if (text.length < LETTERS_PER_EDIT) return undefined;
  const maxEdits = Math.min(MAX_EDITS, Math.floor(text.length / LETTERS_PER_EDIT));
  const [nearest] = names
    .filter((name) => Math.abs(name.length - text.length) <= MAX_EDITS)
    .map((name) => ({
      name,
      edits: isReordered(text, folded(name)) ? 1 : editsBetween(text, folded(name)),
    }))
    .filter(({ edits }) => edits <= maxEdits)
    .toSorted((one, other) => one.edits - other.edits);
  if (nearest) return nearest.name;
  const longer = names.filter(
    (name) => folded(name).startsWith(text) || folded(name).endsWith(text),
  );
  return longer.length === 1 ? longer[0] : undefined;
}
