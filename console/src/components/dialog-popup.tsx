import { Dialog as BaseDialog } from '@base-ui/react/dialog';
import { useRef } from 'react';
import { texts } from '../texts.ts';
import { iconButtonClass } from './button-class.ts';
import type { DialogProps } from './dialog.tsx';
import { X } from './icons.tsx';

export const BACKDROP_CLASS =
  'dialog-backdrop fixed inset-0 z-40 bg-shade transition-opacity data-ending-style:opacity-0 data-starting-style:opacity-0';
export const POPUP_CLASS =
  'fixed z-40 border border-line bg-raised shadow-raised transition-opacity data-ending-style:opacity-0 data-starting-style:opacity-0';
/** In the middle of a wide screen, and at the bottom of a phone, where the thumb is. */
export const CENTRED_CLASS =
  'inset-x-0 bottom-0 max-h-[90dvh] rounded-t-2xl sm:inset-x-auto sm:top-1/2 sm:bottom-auto sm:left-1/2 sm:w-full sm:-translate-x-1/2 sm:-translate-y-1/2 sm:rounded-2xl';

/** The `Dialog` itself, loaded when the first one opens. */
export default function DialogPopup({
  title,
  lead,
  isOpen,
  onClose,
  isWide = false,
  isFirm = false,
  children,
}: DialogProps) {
  const popup = useRef<HTMLDivElement>(null);
  return (
    <BaseDialog.Root open={isOpen} onOpenChange={(open) => !open && !isFirm && onClose()}>
      <BaseDialog.Portal>
        <BaseDialog.Backdrop className={BACKDROP_CLASS} />
        <BaseDialog.Popup
          ref={popup}
          // The first field gets the focus, except by touch, where it would open the keyboard.
          initialFocus={(interaction) =>
            interaction === 'touch'
              ? popup.current
              : (popup.current?.querySelector<HTMLElement>('input, select, textarea') ?? true)
          }
          className={`${POPUP_CLASS} ${CENTRED_CLASS} flex flex-col overflow-hidden ${isWide ? 'sm:max-w-2xl' : 'sm:max-w-md'}`}
        >
          <div className="flex shrink-0 items-start gap-4 border-b border-line py-2.5 pr-2 pl-4 sm:pl-5">
            <BaseDialog.Title className="min-w-0 flex-1 py-1.5 text-base font-semibold break-words pointer-coarse:py-2.5">
              {title}
            </BaseDialog.Title>
            {!isFirm && (
              <BaseDialog.Close aria-label={texts.actions.close} className={iconButtonClass()}>
                <X size={18} aria-hidden />
              </BaseDialog.Close>
            )}
          </div>
          {/* The buttons of a form stay below what scrolls: see `Form`. */}
          <div
            data-dialog
            className="scroll-pb-24 overflow-y-auto overscroll-contain px-4 pt-5 not-has-[form]:pb-5 sm:px-5"
          >
            {lead && (
              <BaseDialog.Description className="mb-4 text-muted">{lead}</BaseDialog.Description>
            )}
            {children}
          </div>
        </BaseDialog.Popup>
      </BaseDialog.Portal>
    </BaseDialog.Root>
  );
}
