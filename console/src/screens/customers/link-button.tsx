import { lazy, Suspense, useState } from 'react';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { screenTexts } from '../../screen-texts.ts';
import type { LinkOf } from './link.tsx';

const words = screenTexts.customers;
const CustomerLink = lazy(() => import('./link.tsx'));

/** A button that makes a link to the page of a customer, and shows it. */
export function LinkButton({ of }: { of: LinkOf }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button onClick={() => setOpen(true)}>{words.makeLink}</Button>
      <Dialog title={words.link} isOpen={isOpen} onClose={() => setOpen(false)}>
        <Suspense>{isOpen && <CustomerLink of={of} />}</Suspense>
      </Dialog>
    </>
  );
}
