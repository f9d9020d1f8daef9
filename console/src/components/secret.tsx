import type { ReactNode } from 'react';
import { CopyButton } from './copy-button.tsx';
import { Notice } from './page.tsx';

/** A secret that the service shows once, such as a new token. */
export const Secret = ({
  label,
  lead,
  secret,
  children,
}: {
  label: string;
  /** Why it must be copied now. */
  lead: string;
  secret: string;
  /** Below it, such as the button that closes the dialog. */
  children: ReactNode;
}) => (
  <div className="flex flex-col gap-5">
    <Notice tone="warn">{lead}</Notice>
    <div className="flex items-center gap-2">
      <output
        aria-label={label}
        className="min-w-0 flex-1 rounded-lg border border-line bg-surface px-3 py-2 font-mono text-[0.8125rem] break-all select-all"
      >
        {secret}
      </output>
      <CopyButton value={secret} />
    </div>
    {children}
  </div>
);
