import { useEffect, useState } from 'react';
import { texts } from '../texts.ts';
import { Button, IconButton } from './button.tsx';
import { Check, Copy } from './icons.tsx';
import { toasts } from './toasts.tsx';

const SHOWN_MS = 2_000;

/** Copies a text. Shows its `children`, or without any an icon with `label` as its name. */
export function CopyButton({
  value,
  label = texts.actions.copy,
  isIcon = false,
}: {
  value: string;
  label?: string;
  isIcon?: boolean;
}) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(value);
      setCopied(true);
    } catch {
      // A page without https has no clipboard.
      toasts.fail(texts.errors.noClipboard);
    }
  };
  const Icon = isCopied ? Check : Copy;
  const icon = <Icon size={16} aria-hidden />;
  if (isIcon) {
    return (
      <IconButton label={isCopied ? texts.actions.copied : label} onClick={copy}>
        {icon}
      </IconButton>
    );
  }
  return (
    <Button onClick={copy}>
      {icon}
      {isCopied ? texts.actions.copied : label}
    </Button>
  );
}
