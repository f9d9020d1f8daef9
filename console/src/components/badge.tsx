import type { LicenseStatus } from '@licet/client';
import type { ReactNode } from 'react';
import { texts } from '../texts.ts';
import { badgeClass, type Tone } from './tones.ts';

/** A word in a colour. The colour adds nothing to the meaning of the word. */
export function Badge({ tone = 'neutral', children }: { tone?: Tone; children: ReactNode }) {
  return <span className={badgeClass(tone)}>{children}</span>;
}

const STATUS_TONES: Record<LicenseStatus, Tone> = {
  ACTIVE: 'good',
  EXPIRED: 'warn',
  DEACTIVATED: 'bad',
  DELETED: 'neutral',
};

/** The status of a license. */
export const StatusBadge = ({ status }: { status: LicenseStatus }) => (
  <Badge tone={STATUS_TONES[status]}>{texts.statuses[status]}</Badge>
);

/** The outcome of a validation, by its `responseType`. */
export const OutcomeBadge = ({ outcome }: { outcome: string }) => (
  <Badge tone={outcome === 'VALID' ? 'good' : outcome === 'RATE_LIMITED' ? 'warn' : 'bad'}>
    {texts.outcomes[outcome]?.name ?? outcome}
  </Badge>
);
