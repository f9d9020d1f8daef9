import { queryOptions } from '@tanstack/react-query';
import { licet } from './api.ts';

export type ServiceAddress = Awaited<ReturnType<typeof licet.address>>;

/** The address of the service for programs, and whether others can open it (3.3). */
export const addressQuery = queryOptions({
  queryKey: ['address'],
  queryFn: ({ signal }) => licet.address({ signal }),
  staleTime: Number.POSITIVE_INFINITY,
});
