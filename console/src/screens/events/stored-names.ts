import { MINUTE_MS } from '@licet/contract/durations';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useMay } from '../../session.ts';
import { marketsQuery } from '../markets/queries.ts';
import { nameOf, webhooksQuery } from '../webhooks/queries.ts';

/** The present names of markets and webhooks: `market 2`. None if the token may not read them. */
export function useStoredNames(): ReadonlyMap<string, string> {
  const lately = { staleTime: MINUTE_MS, enabled: useMay('everything') };
  const { data: markets } = useQuery({ ...marketsQuery, ...lately });
  const { data: webhooks } = useQuery({ ...webhooksQuery, ...lately });
  return useMemo(
    () =>
      new Map([
        ...(markets ?? []).map(({ id, name }) => [`market ${id}`, name] as const),
        ...(webhooks ?? []).map((one) => [`webhook ${one.id}`, nameOf(one)] as const),
      ]),
    [markets, webhooks],
  );
}
