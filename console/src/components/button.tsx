import { Link, type LinkComponentProps } from '@tanstack/react-router';
import type { ComponentProps } from 'react';

export type Look = 'plain' | 'primary' | 'danger' | 'quiet' | 'link';

const BASE =
  'inline-flex min-h-9 items-center justify-center gap-1.5 rounded-lg text-sm font-medium whitespace-nowrap transition-colors select-none aria-disabled:cursor-not-allowed aria-disabled:opacity-50 disabled:cursor-not-allowed disabled:opacity-50 pointer-coarse:min-h-11';

const LOOKS: Record<Look, string> = {
  plain: 'border border-line bg-surface text-ink hover:bg-hover',
  primary: 'bg-accent text-on-accent hover:bg-accent-strong',
  danger: 'bg-bad-soft text-bad hover:outline-1 hover:outline-bad',
  quiet: 'text-muted hover:bg-hover hover:text-ink',
  link: 'text-accent hover:bg-accent-soft',
};

/** The classes of a button, for elements of other libraries. */
export const buttonClass = (look: Look = 'plain', more = ''): string =>
  `${BASE} px-3 ${LOOKS[look]} ${more}`;

/** The classes of a small square button with an icon alone. */
export const iconButtonClass = (more = ''): string =>
  `${BASE} w-9 pointer-coarse:w-11 ${LOOKS.quiet} ${more}`;

interface ButtonProps extends ComponentProps<'button'> {
  look?: Look | undefined;
  /** The reason why it cannot be used now: shown on hover, and read out. */
  refusal?: string | undefined;
}

/** A button. With a `refusal` it can have the focus, says the reason, and does nothing. */
export function Button({ look, refusal, className, onClick, type, ...props }: ButtonProps) {
  return (
    <button
      {...props}
      type={type ?? 'button'}
      className={buttonClass(look, className)}
      title={refusal ?? props.title}
      aria-disabled={refusal === undefined ? undefined : true}
      aria-description={refusal}
      onClick={refusal === undefined ? onClick : (event) => event.preventDefault()}
    />
  );
}

/** A small square button with an icon alone; `label` is its name. */
export function IconButton({
  label,
  className,
  ...props
}: Omit<ButtonProps, 'look' | 'refusal'> & { label: string }) {
  return (
    <button
      type="button"
      {...props}
      aria-label={label}
      title={label}
      className={iconButtonClass(className)}
    />
  );
}

/** A link that looks like a button. */
export function ButtonLink({
  look,
  className,
  ...props
}: LinkComponentProps & { look?: Look | undefined; className?: string }) {
  return <Link {...props} className={buttonClass(look, className)} />;
}

/** A link inside text or a table. */
export function TextLink({
  className = '',
  ...props
}: LinkComponentProps & { className?: string }) {
  return (
    <Link
      {...props}
      className={`rounded-sm text-accent underline-offset-2 hover:underline ${className}`}
    />
  );
}
