import { Link, type LinkComponentProps } from '@tanstack/react-router';
import { type ComponentProps, type MouseEvent, useRef } from 'react';
import { buttonClass, iconButtonClass, type Look } from './button-class.ts';

interface ButtonProps extends Omit<ComponentProps<'button'>, 'onClick'> {
  /** If it returns a promise, clicks are ignored until that settles. */
  onClick?: OnClick | undefined;
  look?: Look | undefined;
  /** The reason why it cannot be used now: shown on hover, and read out. */
  refusal?: string | undefined;
}

type OnClick = (event: MouseEvent<HTMLButtonElement>) => unknown;

/** Calls a function for a click, and for no further click until its promise is settled. */
function useOnce(onClick: OnClick | undefined) {
  const isBusy = useRef(false);
  return async (event: MouseEvent<HTMLButtonElement>): Promise<void> => {
    if (isBusy.current) return;
    isBusy.current = true;
    try {
      await onClick?.(event);
    } finally {
      isBusy.current = false;
    }
  };
}

/**
 * A button. With a `refusal` it can still have the focus; it shows the reason, and does nothing. A second click is
 * ignored while the promise of the first is pending.
 */
export function Button({ look, refusal, className, onClick, type, ...props }: ButtonProps) {
  const click = useOnce(onClick);
  return (
    <button
      {...props}
      type={type ?? 'button'}
      className={buttonClass(look, className)}
      title={refusal ?? props.title}
      aria-disabled={refusal === undefined ? undefined : true}
      aria-description={refusal}
      onClick={refusal === undefined ? click : (event) => event.preventDefault()}
    />
  );
}

/** A small square button with an icon alone; `label` is its name. */
export function IconButton({
  label,
  className,
  onClick,
  ...props
}: Omit<ButtonProps, 'look' | 'refusal'> & { label: string }) {
  const click = useOnce(onClick);
  return (
    <button
      type="button"
      {...props}
      onClick={click}
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

/** A link inside text or a table. Its padding makes it a target of enough height, and moves nothing. */
export function TextLink({
  className = '',
  ...props
}: LinkComponentProps & { className?: string }) {
  return (
    <Link
      {...props}
      className={`-my-1.25 rounded-sm py-1.25 text-accent underline-offset-4 hover:underline pointer-coarse:-my-3.5 pointer-coarse:py-3.5 ${className}`}
    />
  );
}
