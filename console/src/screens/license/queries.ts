import type { License } from '@licet/client';
import { queryOptions } from '@tanstack/react-query';
import { licet, queries } from '../../api.ts';

/** One license with its tag. */
export const licenseQuery = (id: number) =>
  queryOptions({
    queryKey: ['licenses', 'one', id],
    queryFn: ({ signal }) => licet.licenses.read(id, { signal }),
  });

/** Reads all data again that a change of a license may have changed. */
export async function refresh(): Promise<void> {
  await Promise.all(
    [['licenses'], ['history'], ['events']].map((queryKey) =>
      queries.invalidateQueries({ queryKey }),
    ),
  );
}

/** Changes a license depending on its current state. Resolves to the license before the change. */
export async function change(
  id: number,
  changesOf: (current: License) => Parameters<typeof licet.licenses.update>[1],
): Promise<License | undefined> {
  let before: License | undefined;
  await licet.licenses.change(id, (current) => {
    before = current;
    return changesOf(current);
  });
  await refresh();
  return before;
}
