import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { licet } from './api.ts';
import { useMay } from './session.ts';

const NONE: ReadonlyMap<number, string> = new Map();

/** All products; none if the token may not read them. */
export function useProducts() {
  return useQuery({
    queryKey: ['products'],
    queryFn: ({ signal }) => licet.products.list({}, { signal }),
    staleTime: 60_000,
    placeholderData: keepPreviousData,
    enabled: useMay('readProducts'),
  });
}

/** The names of all products by their ids. */
export function useProductNames(): ReadonlyMap<number, string> {
  const { data } = useProducts();
  return data ? new Map(data.map(({ id, name }) => [id, name])) : NONE;
}
