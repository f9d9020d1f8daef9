import { Toast } from '@base-ui/react/toast';
import { useEffect } from 'react';
import { texts } from '../texts.ts';
import { TextLink } from './button.tsx';
import { buttonClass, iconButtonClass } from './button-class.ts';
import { X } from './icons.tsx';

/** The queue of the messages of `toasts`. */
export const manager = Toast.createToastManager();

function ToastList() {
  return Toast.useToastManager().toasts.map((toast) => (
    <Toast.Root
      key={toast.id}
      toast={toast}
      className="mt-2 w-full rounded-xl border border-line bg-raised shadow-raised transition-opacity data-ending-style:opacity-0 data-starting-style:opacity-0"
    >
      <Toast.Content className="flex items-center gap-2 py-2 pr-2 pl-4">
        <div className="flex min-w-0 flex-1 flex-col py-1.5">
          <Toast.Title render={<p />} className={toast.type === 'error' ? 'text-bad' : ''} />
          {toast.type === 'undo' && (
            <p className="text-xs text-muted">
              {texts.undoLater.lasts}{' '}
              <TextLink to="/changes" className="underline" onClick={() => manager.close(toast.id)}>
                {texts.undoLater.changes}
              </TextLink>
            </p>
          )}
        </div>
        <Toast.Action className={buttonClass('plain')} />
        <Toast.Close aria-label={texts.actions.close} className={iconButtonClass()}>
          <X size={16} aria-hidden />
        </Toast.Close>
      </Toast.Content>
    </Toast.Root>
  ));
}

/** The place where the messages appear, loaded with the first one. */
export default function ToastHost({ onReady }: { onReady: () => void }) {
  // Messages sent before the provider listens would be lost.
  useEffect(onReady, [onReady]);
  return (
    <Toast.Provider toastManager={manager}>
      <Toast.Portal>
        <Toast.Viewport className="fixed right-4 bottom-20 left-4 z-50 mx-auto flex max-w-md flex-col lg:right-6 lg:bottom-6 lg:left-auto lg:w-96 [:root:has([data-bar])_&]:bottom-34 lg:[:root:has([data-bar])_&]:bottom-21">
          <ToastList />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  );
}
