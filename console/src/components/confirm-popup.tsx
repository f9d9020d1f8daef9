import { AlertDialog } from '@base-ui/react/alert-dialog';
import { useRef } from 'react';
import { texts } from '../texts.ts';
import { buttonClass } from './button-class.ts';
import type { Asked } from './confirm.tsx';
import { BACKDROP_CLASS, CENTRED_CLASS, POPUP_CLASS } from './dialog-popup.tsx';

/** The dialog of `confirm`, loaded for the first question. */
export default function ConfirmPopup({ question }: { question: Asked }) {
  const cancel = useRef<HTMLButtonElement>(null);
  return (
    <AlertDialog.Root
      open={question.isOpen}
      onOpenChange={(open) => !open && question.close(false)}
    >
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className={BACKDROP_CLASS} />
        <AlertDialog.Popup
          initialFocus={cancel}
          className={`${POPUP_CLASS} ${CENTRED_CLASS} overflow-auto p-4 sm:max-w-md sm:p-5`}
        >
          <AlertDialog.Title className="text-base font-semibold break-words">
            {question.title}
          </AlertDialog.Title>
          <AlertDialog.Description className="mt-2 text-muted">
            {question.lead}
          </AlertDialog.Description>
          <div className="mt-6 flex gap-2">
            <button
              type="button"
              className={buttonClass(question.look ?? 'danger')}
              onClick={() => question.close(true)}
            >
              {question.action}
            </button>
            <AlertDialog.Close ref={cancel} className={buttonClass('quiet')}>
              {texts.actions.cancel}
            </AlertDialog.Close>
          </div>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
