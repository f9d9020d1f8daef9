import { lazy, type ReactNode, Suspense, useState } from 'react';

const DialogPopup = lazy(() => import('./dialog-popup.tsx'));

export interface DialogProps {
  title: string;
  lead?: string;
  isOpen: boolean;
  /** Called for Escape, the button and a click beside the dialog. */
  onClose: () => void;
  isWide?: boolean;
  /** Only the buttons of its content close it. */
  isFirm?: boolean;
  children: ReactNode;
}

/** A dialog with a title, in the middle of a wide screen and at the bottom of a phone. */
export function Dialog(props: DialogProps) {
  const [wasOpen, setWasOpen] = useState(false);
  if (props.isOpen && !wasOpen) setWasOpen(true);
  // It stays mounted once it was open, so that it can fade out.
  return <Suspense>{wasOpen && <DialogPopup {...props} />}</Suspense>;
}
