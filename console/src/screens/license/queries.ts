import type { License, LicenseRequest } from '@licet/client';
import { queryOptions } from '@tanstack/react-query';
import { licet, queries } from '../../api.ts';

/** One license with its tag. */
export const licenseQuery = (id: number) =>
  queryOptions({
    queryKey: ['licenses', 'one', id],
    queryFn: ({ signal }) => licet.licenses.read(id, { signal }),
  });

/** Enough to have the latest request of each installation, probably. */
const REQUESTS = 30;

/** The latest requests with a key. */
export const requestsQuery = (licenseKey: string) =>
  queryOptions({
    queryKey: ['history', 'of', licenseKey],
    queryFn: ({ signal }): Promise<LicenseRequest[]> =>
      licet.requests.list({ licenseKey, limit: REQUESTS }, { signal }),
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
