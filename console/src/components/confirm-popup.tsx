import { AlertDialog } from '@base-ui/react/alert-dialog';
import { texts } from '../texts';
import { buttonClass } from './button';
import type { Asked } from './confirm';
import { BACKDROP_CLASS, CENTRED_CLASS, POPUP_CLASS } from './dialog-popup';

/** The question of `confirm`, loaded with the first one. */
export default function ConfirmPopup({ question }: { question: Asked }) {
  return (
    <AlertDialog.Root
      open={question.isOpen}
      onOpenChange={(open) => !open && question.answer(false)}
    >
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className={BACKDROP_CLASS} />
        <AlertDialog.Popup className={`${POPUP_CLASS} ${CENTRED_CLASS} sm:max-w-md`}>
          <AlertDialog.Title className="text-base font-semibold">
            {question.title}
          </AlertDialog.Title>
          <AlertDialog.Description className="mt-2 text-muted">
            {question.lead}
          </AlertDialog.Description>
          <div className="mt-6 flex justify-end gap-2">
            <AlertDialog.Close className={buttonClass('plain')}>
              {texts.actions.cancel}
            </AlertDialog.Close>
            <button
              type="button"
              className={buttonClass('danger')}
              onClick={() => question.answer(true)}
            >
              {question.action}
            </button>
          </div>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
