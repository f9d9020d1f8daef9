import type { Tagged } from '@licet/client';
import { queryOptions, type UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { hasStatus } from '../api.ts';
import { LoadFailure, Skeleton } from '../components/page.tsx';
import { NotFound } from './layout.tsx';

/** The screen of one object: grey lines while it is read, then its content, or why there is none. */
export function OneItem<Item>({
  query: { data, error, refetch },
  children,
}: {
  query: UseQueryResult<Item>;
  children: (item: Item) => ReactNode;
}) {
  if (hasStatus(error, 404) || hasStatus(error, 400)) return <NotFound />;
  if (data !== undefined) return children(data);
  if (error) return <LoadFailure error={error} onRetry={refetch} />;
  return <Skeleton lines={8} />;
}

/**
 * An object for a form. It is read when the form appears, and stays as it is while the viewer edits: its ETag detects
 * a change by somebody else.
 */
export const editedQuery = <Item,>(
  name: string,
  id: number,
  resource: { read: (id: number, options: { signal: AbortSignal }) => Promise<Tagged<Item>> },
) =>
  queryOptions({
    queryKey: ['item', name, id],
    queryFn: async ({ signal }) => ({ ...(await resource.read(id, { signal })), id }),
    staleTime: 'static',
    gcTime: 0,
  });
