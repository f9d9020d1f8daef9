import type { PortalLicense } from '@licet/contract/portal-page';
import { badgeClass, type Tone } from '../components/tones.ts';
import { Key } from './key.tsx';
import { endOf, words } from './language.ts';
import { Machines, takenOf } from './machines.tsx';
import { Notice } from './notice.tsx';

const TONES: Record<PortalLicense['status'], Tone> = {
  ACTIVE: 'good',
  EXPIRED: 'warn',
  DEACTIVATED: 'bad',
  DELETED: 'neutral',
};

function expiryText({ status, expiryDate, expiresAfterDays }: PortalLicense): string {
  if (expiresAfterDays !== null) return words.fromFirstUse(expiresAfterDays);
  if (expiryDate === null) return words.forever;
  return status === 'EXPIRED' ? words.expired(endOf(expiryDate)) : words.until(endOf(expiryDate));
}

/** Why the license does not work, or frees no slot, and the next step; undefined unless that is so. */
function refusalOf(license: PortalLicense): string | undefined {
  const { status, resets } = license;
  if (status === 'DEACTIVATED') return words.outcomes.deactivated;
  if (status === 'EXPIRED') return words.hasExpired;
  const isClosed = resets.allowed === 0 && takenOf(license) > 0;
  return isClosed ? words.outcomes['not allowed'] : undefined;
}

/** A license: its key, its end, its machines. */
export function License({
  license,
  contact,
  onOver,
  onChange,
}: {
  license: PortalLicense;
  /** The address of the seller for help; undefined for none. */
  contact: string | undefined;
  /** Called if the session is over. */
  onOver: () => void;
  /** Called when the license has changed. */
  onChange: () => Promise<void>;
}) {
  const { product, status, url } = license;
  const refusal = refusalOf(license);
  const isUnused = !license.isUsed && takenOf(license) === 0;
  return (
    <article className="rounded-xl border border-line bg-surface p-4 sm:p-5">
      <header className="flex items-baseline justify-between gap-3">
        <h2 className="min-w-0 text-base font-semibold [overflow-wrap:anywhere]">{product}</h2>
        <span className={`${badgeClass(TONES[status])} shrink-0`}>{words.statuses[status]}</span>
      </header>
      <p className="text-muted">
        {expiryText(license)}
        {isUnused && ` · ${words.notUsed}`}
      </p>
      {refusal !== undefined && (
        <Notice url={status === 'EXPIRED' ? url : null} contact={contact}>
          {refusal}
        </Notice>
      )}
      <Key license={license} onOver={onOver} onChange={onChange} />
      <Machines license={license} contact={contact} onOver={onOver} onChange={onChange} />
    </article>
  );
}
