import type { LicenseDataType } from '@licet/client';
import { lazy, Suspense, useState } from 'react';
import { screenTexts } from '../screen-texts.ts';
import { useMay } from '../session.ts';
import { Button, IconButton } from './button.tsx';
import type { Look } from './button-class.ts';
import { Dialog } from './dialog.tsx';
import { Ban } from './icons.tsx';

const EntryForm = lazy(async () => ({
  default: (await import('../screens/blacklist/form.tsx')).EntryForm,
}));

const words = screenTexts.blacklist;

/**
 * A button that blocks an address or a hardware ID from any screen: it opens the form of a new blacklist entry
 * with the known fields. Shows nothing if the session's token may not block.
 */
export function Block({
  type,
  value,
  productId,
  reason,
  isIcon = false,
  look,
}: {
  type: LicenseDataType;
  value: string;
  productId?: number;
  reason?: string;
  /** An icon alone, for rows. */
  isIcon?: boolean;
  look?: Look;
}) {
  const mayBlock = useMay('writeBlacklists');
  const [isOpen, setOpen] = useState(false);
  if (!mayBlock) return null;
  const shared = { 'aria-haspopup': 'dialog', onClick: () => setOpen(true) } as const;
  return (
    <>
      {isIcon ? (
        <IconButton label={words.blockValue(value)} {...shared}>
          <Ban size={16} aria-hidden />
        </IconButton>
      ) : (
        <Button look={look} aria-label={words.blockValue(value)} {...shared}>
          <Ban size={16} aria-hidden />
          {words.new}
        </Button>
      )}
      <Dialog title={words.newTitle} isOpen={isOpen} onClose={() => setOpen(false)}>
        <Suspense>
          <EntryForm
            start={{ licenseDataType: type, data: value, productId, reason }}
            onDone={() => setOpen(false)}
          />
        </Suspense>
      </Dialog>
    </>
  );
}
