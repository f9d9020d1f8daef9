import { useState } from 'react';
import { buttonClass } from '../components/button-class.ts';
import { words } from './language.ts';

const COPIED_MS = 2_000;

/**
 * A button that copies a text.
 *
 * @param load reads the text; undefined if that failed
 * @param onDenied called with the text where the browser has no clipboard, such as without https
 */
export function CopyButton({
  load,
  onDenied,
}: {
  load: () => Promise<string | undefined>;
  onDenied?: (text: string) => void;
}) {
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    const text = await load();
    if (text === undefined) return;
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      setTimeout(() => setCopied(false), COPIED_MS);
    } catch {
      onDenied?.(text);
    }
  };
  return (
    <button type="button" className={buttonClass()} onClick={copy}>
      <span aria-live="polite">{isCopied ? words.copied : words.copy}</span>
    </button>
  );
}
