import { lazy, Suspense, useState } from 'react';
import { licet } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { toasts } from '../../components/toasts.tsx';
import { screenTexts } from '../../screen-texts.ts';

const words = screenTexts.customers;
const CustomerLink = lazy(() => import('./link.tsx'));

/** A button that makes a link to the page of a customer, and shows it. */
export function LinkButton({ of }: { of: { customerId: number } | { licenseId: number } }) {
  const [link, setLink] = useState<Awaited<ReturnType<typeof licet.portalLink>>>();
  const make = async (): Promise<void> => {
    try {
      setLink(await licet.portalLink(of));
    } catch (error) {
      toasts.fail(error);
    }
  };
  return (
    <>
      <Button onClick={make}>{words.makeLink}</Button>
      <Dialog title={words.link} isOpen={link !== undefined} onClose={() => setLink(undefined)}>
        <Suspense>{link !== undefined && <CustomerLink {...link} />}</Suspense>
      </Dialog>
    </>
  );
}
