import type { LicenseRequest } from '@licet/client';
import type { Fix as FixKind } from '@licet/contract/outcomes';
import { explainRefusal } from '@licet/contract/refusals';
import { useNavigate } from '@tanstack/react-router';
import { Fragment, type ReactNode } from 'react';
import { Block } from '../../components/block.tsx';
import { Button, ButtonLink } from '../../components/button.tsx';
import type { Look } from '../../components/button-class.ts';
import { toasts } from '../../components/toasts.tsx';
import { screenTexts } from '../../screen-texts.ts';
import { useMay, useRefusal } from '../../session.ts';
import { activate, extendExpired, findEntry, raiseLimit, unblock } from './fixes.ts';

const words = screenTexts.history;
const EXTEND_DAYS = 30;

/** The button that fixes the cause of a refusal; nothing if no button can. */
export function Fix({
  record,
  unknownKeys = 0,
  isFull = false,
}: {
  record: LicenseRequest;
  /** The number of unknown keys that the same address has sent. */
  unknownKeys?: number;
  /** For the pane: also shows the second way to fix it, if there is one. */
  isFull?: boolean;
}): ReactNode {
  const { licenseId, ip, responseType } = record;
  const navigate = useNavigate();
  const refusal = useRefusal('writeLicenses');
  const mayReadLicenses = useMay('readLicenses');
  const mayUnblock = useMay('writeBlacklists');
  const mayReadBlacklist = useMay('readBlacklists');
  const look: Look = isFull ? 'plain' : 'link';

  const show = async (): Promise<void> => {
    try {
      await navigate({ to: '/blacklist', search: await findEntry(record) });
    } catch (error) {
      toasts.fail(error);
    }
  };
  const remove = async (): Promise<void> => {
    try {
      const isUnclear = await unblock(record);
      if (isUnclear) await show();
    } catch (error) {
      toasts.fail(error);
    }
  };
  const licenseLink = (id: number, label: string, hash?: string) => (
    <ButtonLink
      look={look}
      to="/licenses/$licenseId"
      params={{ licenseId: id }}
      {...(hash !== undefined && { hash })}
    >
      {label}
    </ButtonLink>
  );
  /** The button of a change of the license. */
  const act = (label: string, onClick?: () => Promise<void>) => (
    <Button look={look} refusal={refusal} onClick={onClick}>
      {label}
    </Button>
  );

  const buttonOf = (fix: FixKind): ReactNode => {
    if (fix === 'unblock') {
      if (!mayReadBlacklist) return null;
      return (
        <>
          {isFull && mayUnblock && (
            <Button look={look} onClick={remove}>
              {screenTexts.blacklist.unblock}
            </Button>
          )}
          <Button look={look} onClick={show}>
            {words.fixes.entry}
          </Button>
        </>
      );
    }
    if (fix === 'block') {
      return <Block look={look} type="IP" value={ip ?? ''} reason={words.guessed(unknownKeys)} />;
    }
    if (licenseId === null || !mayReadLicenses) return null;
    switch (fix) {
      case 'extend':
        return act(words.fixes.extend(EXTEND_DAYS), () => extendExpired(licenseId, EXTEND_DAYS));
      case 'reactivate':
        return act(words.fixes.reactivate, () => activate(licenseId));
      case 'restore':
        return act(words.fixes.restore, () => activate(licenseId));
      case 'freeSlot':
        return refusal === undefined
          ? licenseLink(licenseId, words.fixes.free, 'slots')
          : act(words.fixes.free);
      case 'raiseLimit':
        return act(words.fixes.raise, () =>
          raiseLimit(licenseId, responseType === 'MAX_IPS_REACHED' ? 'ips' : 'hwids'),
        );
      case 'moveProduct':
        return isFull ? null : licenseLink(licenseId, words.fixes.product);
    }
  };
  const { fixes } = explainRefusal(record, { unknownKeys });
  return (isFull ? fixes : fixes.slice(0, 1)).map((fix) => (
    <Fragment key={fix}>{buttonOf(fix)}</Fragment>
  ));
}
