import type { LicenseRequest } from '@licet/client';
import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Block } from '../../components/block.tsx';
import { Button, ButtonLink } from '../../components/button.tsx';
import type { Look } from '../../components/button-class.ts';
import { toasts } from '../../components/toasts.tsx';
import { screenTexts } from '../../screen-texts.ts';
import { useMay, useRefusal } from '../../session.ts';
import { activate, extendExpired, findEntry, raiseLimit, unblock } from './fixes.ts';
import { GUESSED_KEYS } from './queries.ts';

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

  if (responseType === 'IP_BLACKLISTED' || responseType === 'HWID_BLACKLISTED') {
    if (!mayReadBlacklist) return null;
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
  if (responseType === 'LICENSE_NOT_FOUND') {
    if (ip === null || unknownKeys < GUESSED_KEYS) return null;
    return <Block look={look} type="IP" value={ip} reason={words.guessed(unknownKeys)} />;
  }
  if (licenseId === null || !mayReadLicenses) return null;
  const licenseLink = (label: string, hash?: string) => (
    <ButtonLink
      look={look}
      to="/licenses/$licenseId"
      params={{ licenseId }}
      {...(hash !== undefined && { hash })}
    >
      {label}
    </ButtonLink>
  );
  switch (responseType) {
    case 'LICENSE_EXPIRED':
      return (
        <Button look={look} refusal={refusal} onClick={() => extendExpired(licenseId, EXTEND_DAYS)}>
          {words.fixes.extend(EXTEND_DAYS)}
        </Button>
      );
    case 'LICENSE_DEACTIVATED':
      return (
        <Button look={look} refusal={refusal} onClick={() => activate(licenseId)}>
          {words.fixes.reactivate}
        </Button>
      );
    case 'LICENSE_DELETED':
      return (
        <Button look={look} refusal={refusal} onClick={() => activate(licenseId)}>
          {words.fixes.restore}
        </Button>
      );
    case 'MAX_IPS_REACHED':
    case 'MAX_HWIDS_REACHED':
      return (
        <>
          {refusal === undefined ? (
            licenseLink(words.fixes.free, 'slots')
          ) : (
            <Button look={look} refusal={refusal}>
              {words.fixes.free}
            </Button>
          )}
          {isFull && (
            <Button
              look={look}
              refusal={refusal}
              onClick={() =>
                raiseLimit(licenseId, responseType === 'MAX_IPS_REACHED' ? 'ips' : 'hwids')
              }
            >
              {words.fixes.raise}
            </Button>
          )}
        </>
      );
    case 'PRODUCT_MISMATCH':
      return isFull ? null : licenseLink(words.fixes.product);
    case 'VALID':
    case 'INVALID_REQUEST':
    case 'RATE_LIMITED':
    case 'ERROR':
      return null;
    default:
      // A newer service may have an outcome that this page does not know.
      responseType satisfies never;
      return null;
  }
}
