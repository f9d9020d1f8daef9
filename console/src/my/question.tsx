import { useEffect, useRef } from 'react';
import { buttonClass } from '../components/button-class.ts';
import { words } from './language.ts';

/** A question in its place. The focus goes to the answer that changes nothing. */
export function Question({
  text,
  yes,
  isBusy,
  onYes,
  onNo,
}: {
  text: string;
  yes: string;
  isBusy: boolean;
  onYes: () => void;
  onNo: () => void;
}) {
  const no = useRef<HTMLButtonElement>(null);
  useEffect(() => no.current?.focus(), []);
  return (
    <fieldset className="flex w-full flex-wrap items-center gap-2 rounded-lg bg-warn-soft p-3">
      <legend className="sr-only">{text}</legend>
      <p className="w-full" aria-hidden="true">
        {text}
      </p>
      <button
        type="button"
        className={buttonClass('danger', 'border border-current')}
        disabled={isBusy}
        onClick={onYes}
      >
        {yes}
      </button>
      <button ref={no} type="button" className={buttonClass()} disabled={isBusy} onClick={onNo}>
        {words.cancel}
      </button>
    </fieldset>
  );
}
