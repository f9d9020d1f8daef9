/** The looks of buttons. This module imports nothing: the customer's page needs it alone. */

export type Look = 'plain' | 'primary' | 'danger' | 'quiet' | 'link' | 'chip';

const BASE =
  'text-baseline inline-flex min-h-9 items-center justify-center gap-1.5 rounded-lg text-sm font-medium whitespace-nowrap transition-colors select-none aria-disabled:cursor-not-allowed aria-disabled:opacity-50 disabled:cursor-not-allowed disabled:opacity-50 pointer-coarse:min-h-11';

const LOOKS: Record<Look, string> = {
  plain: 'border border-line bg-surface text-ink hover:bg-hover',
  primary: 'bg-accent text-on-accent hover:bg-accent-strong',
  danger: 'bg-bad-soft text-bad hover:outline-1 hover:outline-bad',
  quiet: 'text-muted hover:bg-hover hover:text-ink',
  link: 'text-accent hover:bg-accent-soft',
  chip: 'border border-line text-muted hover:bg-hover hover:text-ink aria-pressed:border-accent aria-pressed:bg-accent-soft aria-pressed:text-accent',
};

/** The classes of a button, for elements of other libraries. */
export const buttonClass = (look: Look = 'plain', more = ''): string =>
  `${BASE} px-3 ${LOOKS[look]} ${more}`;

/** The classes of a small square button with an icon alone. */
export const iconButtonClass = (more = ''): string =>
  `${BASE} w-9 pointer-coarse:w-11 ${LOOKS.quiet} ${more}`;
