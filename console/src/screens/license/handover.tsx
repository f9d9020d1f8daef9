import type { License } from '@licet/client';
import { useState } from 'react';
import { licet } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { confirm } from '../../components/confirm.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Form } from '../../components/form.tsx';
import { toasts } from '../../components/toasts.tsx';
import { screenTexts } from '../../screen-texts.ts';
import { CustomerField, findOwner } from '../customers/field.tsx';
import { LinkButton } from '../customers/link-button.tsx';
import { refresh } from './queries.ts';

const words = screenTexts.license.handover;

/** Buttons that replace the key of a license, and that give it to another owner. Neither can be undone. */
export function Handover({ license, refusal }: { license: License; refusal: string | undefined }) {
  const { id, licenseKey } = license;
  const [isOpen, setOpen] = useState(false);
  const rotate = async (): Promise<void> => {
    const question = { title: words.rotateTitle, lead: words.rotateLead, action: words.rotate };
    if (!(await confirm(question))) return;
    try {
      await licet.licenses.rotate(id);
      await refresh();
      toasts.done(words.rotated);
    } catch (error) {
      toasts.fail(error);
    }
  };
  if (license.licenseStatus === 'DELETED') return null;
  return (
    <>
      {license.customer && refusal === undefined && <LinkButton of={{ licenseId: id }} />}
      <Button refusal={refusal} onClick={rotate}>
        {words.rotate}
      </Button>
      <Button refusal={refusal} onClick={() => setOpen(true)}>
        {words.transfer}
      </Button>
      <Dialog
        title={words.transferTitle(licenseKey.slice(-4))}
        lead={words.transferLead}
        isOpen={isOpen}
        onClose={() => setOpen(false)}
      >
        <Form
          onSubmit={async (data) => {
            const { customerId, customerEmail } = await findOwner(
              String(data.get('customerEmail')).trim(),
            );
            await licet.licenses.transfer(id, {
              ...(customerId !== undefined && { customerId }),
              ...(customerEmail && { customerEmail }),
            });
            setOpen(false);
            await refresh();
            toasts.done(words.transferred);
          }}
          buttons={(isBusy) => (
            <Button type="submit" look="danger" disabled={isBusy}>
              {words.transfer}
            </Button>
          )}
        >
          <CustomerField hint={screenTexts.licenseForm.customerHint} required />
        </Form>
      </Dialog>
    </>
  );
}
