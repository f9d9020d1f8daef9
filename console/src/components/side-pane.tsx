import { type ReactNode, useSyncExternalStore } from 'react';
import { texts } from '../texts.ts';
import { IconButton } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { X } from './icons.tsx';

/** The details of a row: in a pane over the right part of its table, or in a dialog where there is no room beside it. */

/** Whether the screen has room for a pane beside the table. */
function useIsWide(): boolean {
  const query = '(min-width: 64rem)';
  return useSyncExternalStore(
    (onChange) => {
      const list = matchMedia(query);
      list.addEventListener('change', onChange);
      return () => list.removeEventListener('change', onChange);
    },
    () => matchMedia(query).matches,
  );
}

/** A table with the pane of its open row; `children` without a row. */
export function WithPane({
  title,
  isOpen,
  onClose,
  pane,
  children,
}: {
  title: string;
  isOpen: boolean;
  onClose: () => void;
  pane: ReactNode;
  children: ReactNode;
}) {
  const isWide = useIsWide();
  return (
    <>
      <div className="relative">
        {children}
        {isOpen && isWide && (
          // Lies over the table and its head; the table keeps its width.
          <div className="pointer-events-none absolute top-12 right-0 bottom-0 z-10 w-96">
            <section
              aria-label={title}
              className="pointer-events-auto sticky top-20 max-h-[calc(100dvh-6rem)] overflow-y-auto rounded-xl border border-line bg-raised break-words shadow-raised"
            >
              <div className="flex items-center py-1.5 pr-2 pl-5">
                <h2 className="flex-1 font-semibold">{title}</h2>
                <IconButton label={texts.actions.close} onClick={onClose}>
                  <X size={18} aria-hidden />
                </IconButton>
              </div>
              {pane}
            </section>
          </div>
        )}
      </div>
      {!isWide && (
        <PaneDialog title={title} isOpen={isOpen} onClose={onClose}>
          {pane}
        </PaneDialog>
      )}
    </>
  );
}

/** A pane in a dialog. */
export const PaneDialog = ({
  title,
  isOpen,
  onClose,
  children,
}: {
  title: string;
  isOpen: boolean;
  onClose: () => void;
  children: ReactNode;
}) => (
  <Dialog title={title} isOpen={isOpen} onClose={onClose}>
    <div className="-mx-4 break-words sm:-mx-5">{isOpen && children}</div>
  </Dialog>
);
