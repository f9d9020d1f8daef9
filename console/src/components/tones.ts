/** The colours of badges. This module imports nothing: the customer's page needs it alone. */

export type Tone = 'good' | 'warn' | 'bad' | 'neutral' | 'accent';

const TONES: Record<Tone, string> = {
  good: 'bg-good-soft text-good',
  warn: 'bg-warn-soft text-warn',
  bad: 'bg-bad-soft text-bad',
  neutral: 'bg-hover text-muted',
  accent: 'bg-accent-soft text-accent',
};

/** The classes of a badge. */
export const badgeClass = (tone: Tone): string =>
  `inline-flex rounded-md px-1.5 py-0.5 text-xs font-medium tracking-normal whitespace-nowrap ${TONES[tone]}`;
