import type { License } from '@licet/client';
import type { Move } from '@licet/contract/expiries';
import { useState } from 'react';
import { Button } from '../../components/button.tsx';
import type { Look } from '../../components/button-class.ts';
import { toasts } from '../../components/toasts.tsx';
import { screenTexts } from '../../screen-texts.ts';
import { refresh } from '../license/queries.ts';
import { moveExpiry, nameOf } from './bulk.ts';
import { ExtendDialog } from './extend-dialog.tsx';

/** A button that extends one license, by days or to a date. */
export function ExtendButton({
  license,
  refusal,
  look,
}: {
  license: License;
  refusal: string | undefined;
  look?: Look;
}) {
  const [isOpen, setOpen] = useState(false);
  const moveBy = async (move: Move): Promise<void> => {
    try {
      const undo = await moveExpiry(move)(license.id);
      await refresh();
      const { done } = screenTexts.licenses.bulk;
      toasts.done(done[nameOf(move)](1), undo && (() => undo().then(refresh)));
    } catch (error) {
      toasts.fail(error);
    }
  };
  return (
    <>
      <Button look={look} refusal={refusal} onClick={() => setOpen(true)}>
        {screenTexts.license.extend}
      </Button>
      <ExtendDialog
        licenses={[license]}
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        onMove={moveBy}
      />
    </>
  );
}
