import { queryOptions } from '@tanstack/react-query';
import { licet, queries } from '../../api.ts';

/** Requests of a market are looked for this often, while its screen is open. */
const LIVE_MS = 3_000;
const SHOWN = 20;

export const marketsQuery = queryOptions({
  queryKey: ['markets'],
  queryFn: ({ signal }) => licet.markets.list({}, { signal }),
});

export const marketQuery = (id: number) =>
  queryOptions({
    queryKey: ['markets', 'one', id],
    queryFn: ({ signal }) => licet.markets.get(id, { signal }),
  });

/** The latest requests of a market. */
export const arrivedQuery = (id: number) =>
  queryOptions({
    queryKey: ['markets', 'arrived', id],
    queryFn: async ({ signal }) => {
      const { items } = await licet.markets.deliveries(id).page({ limit: SHOWN }, { signal });
      return items;
    },
    refetchInterval: LIVE_MS,
  });

/**
 * Reads all data again that a change of a market may have changed.
 *
 * @param deleted the id of a deleted market, for which the screen that is left must not ask
 */
export const refreshMarkets = (deleted?: number) =>
  Promise.all(
    [['markets'], ['purchases'], ['events']].map((queryKey) =>
      queries.invalidateQueries({
        queryKey,
        predicate: ({ queryKey: [, , id] }) => deleted === undefined || id !== deleted,
      }),
    ),
  );
