import type { Purchase } from '@licet/client';
import { queryOptions } from '@tanstack/react-query';
import { licet, queries } from '../../api.ts';

/** Requests of a market are looked for this often, while its screen is open. */
const LIVE_MS = 3_000;
const SHOWN = 20;
const OF_LICENSE = 3;

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
    queryFn: async ({ client, signal, queryKey }) => {
      const { items } = await licet.markets.deliveries(id).page({ limit: SHOWN }, { signal });
      const known = client.getQueryData<typeof items>(queryKey);
      // The state of the market follows from its last request.
      if (known && known[0]?.id !== items[0]?.id) {
        void client.invalidateQueries({ queryKey: ['markets', 'one', id] });
      }
      return items;
    },
    refetchInterval: LIVE_MS,
  });

/** One purchase; that of the list is shown until it is read again. */
export const purchaseQuery = (id: number, known: Purchase | undefined) =>
  queryOptions({
    queryKey: ['purchases', 'one', id],
    queryFn: ({ signal }) => licet.purchases.get(id, { signal }),
    ...(known && { placeholderData: known }),
  });

/** The purchases of a license: one, unless a person has bound others to it. */
export const purchasesOfQuery = (licenseId: number) =>
  queryOptions({
    queryKey: ['purchases', 'of', licenseId],
    queryFn: ({ signal }) =>
      licet.purchases.list({ licenseId, sort: '-id', limit: OF_LICENSE }, { signal }),
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
