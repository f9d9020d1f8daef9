import type { ReactNode } from 'react';
import { LoadFailure, Skeleton } from './page.tsx';

/** Stands in a section that has no rows. */
export const Nothing = ({ children }: { children: ReactNode }) => (
  <p className="px-4 py-4 text-muted sm:px-5">{children}</p>
);

/** The rows of a query inside a section: grey lines while they load, the failure, or a text if there are none. */
export function SectionRows<Row>({
  query: { data, error, refetch },
  empty,
  lines = 4,
  children,
}: {
  query: { data: readonly Row[] | null | undefined; error: unknown; refetch: () => void };
  empty: string;
  /** The number of grey lines. */
  lines?: number;
  children: (rows: readonly Row[]) => ReactNode;
}) {
  if (data) return data.length === 0 ? <Nothing>{empty}</Nothing> : children(data);
  if (error) return <LoadFailure error={error} onRetry={refetch} />;
  return <Skeleton lines={lines} />;
}
