import type { Delivery, Webhook } from '@licet/client';
import { isDiscordWebhook } from '@licet/contract/discord';
import { MINUTE_MS } from '@licet/contract/durations';
import type { DeliveryState } from '@licet/contract/enums';
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { licet, queries } from '../../api.ts';
import { screenTexts } from '../../screen-texts.ts';

const words = screenTexts.webhooks;
const REFRESH_MS = 30_000;
const PENDING_MS = 3_000;
const PAGE_ROWS = 20;

export const webhooksQuery = queryOptions({
  queryKey: ['webhooks'],
  queryFn: ({ signal }) => licet.webhooks.list({}, { signal }),
});

export const webhookQuery = (id: number) =>
  queryOptions({
    queryKey: ['webhooks', 'one', id],
    queryFn: ({ signal }) => licet.webhooks.get(id, { signal }),
    refetchInterval: REFRESH_MS,
  });

/** The milliseconds until deliveries are read again: few while an attempt is under way or near. */
function intervalOf(deliveries: readonly Delivery[]): number {
  const soon = Date.now() + MINUTE_MS;
  const isNear = deliveries.some(
    ({ nextAttemptAt }) => nextAttemptAt !== null && Date.parse(nextAttemptAt) <= soon,
  );
  return isNear ? PENDING_MS : REFRESH_MS;
}

/** The deliveries to a webhook, newest first, in pages. */
export const deliveriesQuery = (id: number, state: DeliveryState | undefined) =>
  infiniteQueryOptions({
    queryKey: ['webhooks', 'deliveries', id, state],
    queryFn: ({ signal, pageParam }) =>
      licet.webhooks
        .deliveries(id)
        .page({ state, after: pageParam || undefined, limit: PAGE_ROWS }, { signal }),
    initialPageParam: 0,
    getNextPageParam: ({ after }) => after,
    refetchInterval: ({ state: { data } }) =>
      intervalOf(data?.pages.flatMap(({ items }) => items) ?? []),
  });

/** One delivery; undefined if it is no longer kept. */
export const deliveryQuery = (webhookId: number, id: number) =>
  queryOptions({
    queryKey: ['webhooks', 'delivery', webhookId, id],
    queryFn: async ({ signal }): Promise<Delivery | null> => {
      const query = { after: id + 1, limit: 1 };
      const [found] = await licet.webhooks.deliveries(webhookId).list(query, { signal });
      return found?.id === id ? found : null;
    },
    refetchInterval: ({ state: { data } }) => (data ? intervalOf([data]) : false),
  });

/**
 * Reads all data again that a change of a webhook may have changed.
 *
 * @param deleted the id of a deleted webhook, for which the screen that is left must not ask
 */
export const refreshWebhooks = (deleted?: number) =>
  Promise.all(
    [['webhooks'], ['events']].map((queryKey) =>
      queries.invalidateQueries({
        queryKey,
        predicate: ({ queryKey: [, , id] }) => deleted === undefined || id !== deleted,
      }),
    ),
  );

/** Reads a webhook and its deliveries again, after an attempt. */
export const refreshDeliveries = (id: number) =>
  queries.invalidateQueries({
    queryKey: ['webhooks'],
    predicate: ({ queryKey: [, , of] }) => of === undefined || of === id,
  });

/** Whether events arrive in a channel of Discord: at an address that the viewer has typed, or at the stored one. */
export const formatOf = (url: string, stored?: Pick<Webhook, 'url' | 'format'>) =>
  stored && url === stored.url ? stored.format : isDiscordWebhook(url) ? 'discord' : 'standard';

/** The host of an address; the text itself if it is no address. */
const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : url);

/** The description of a webhook, or what it is without one. */
export const nameOf = ({
  description,
  url,
  format,
}: Pick<Webhook, 'description' | 'url' | 'format'>): string =>
  description || (format === 'discord' ? words.formats.discord : hostOf(url));
