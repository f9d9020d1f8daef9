import type { Tagged } from '@licet/client';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { texts } from '../texts.ts';
import { Dialog } from './dialog.tsx';
import { LoadFailure, Skeleton } from './page.tsx';

/**
 * The dialog of a list for the item that is open in the address, or for a new one. The item is read when the
 * dialog opens, with the tag that an update needs.
 */
export function ItemDialog<Item>({
  name,
  open,
  onClose,
  titleOf,
  read,
  isWide = false,
  isFirm = false,
  children,
}: {
  /** The key of the query. */
  name: string;
  open: number | 'new' | undefined;
  onClose: () => void;
  /** The title; of a new item without an argument. */
  titleOf: (item?: Item) => string;
  read: (id: number, signal?: AbortSignal) => Promise<Tagged<Item>>;
  isWide?: boolean;
  isFirm?: boolean;
  /** The content; of a new item without an argument. */
  children: (stored?: Tagged<Item> & { id: number }) => ReactNode;
}) {
  // The content stays while the dialog fades out. Each opening reads the item again.
  const [shown, setShown] = useState({ open, isOpen: open !== undefined, opening: 0 });
  const isOpen = open !== undefined;
  if (isOpen ? open !== shown.open || !shown.isOpen : shown.isOpen) {
    setShown({ open: open ?? shown.open, isOpen, opening: shown.opening + (isOpen ? 1 : 0) });
  }
  const id = typeof shown.open === 'number' ? shown.open : undefined;
  const stored = useQuery({
    queryKey: ['item', name, id, shown.opening],
    queryFn: ({ signal }) => read(id ?? 0, signal),
    enabled: isOpen && id !== undefined,
    // A form begins with the current values, and none of them changes while the viewer edits.
    staleTime: 'static',
    gcTime: 0,
  });
  const content = (): ReactNode => {
    if (id === undefined) return children();
    if (stored.data) return children({ ...stored.data, id });
    if (stored.error) return <LoadFailure error={stored.error} onRetry={stored.refetch} />;
    return <Skeleton />;
  };
  return (
    <Dialog
      title={id === undefined ? titleOf() : stored.data ? titleOf(stored.data.item) : texts.loading}
      isOpen={isOpen}
      onClose={onClose}
      isWide={isWide}
      isFirm={isFirm}
    >
      {content()}
    </Dialog>
  );
}
