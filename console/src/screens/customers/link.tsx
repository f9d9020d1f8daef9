import { useState } from 'react';
import { encode } from 'uqr';
import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { AddressMark, Notice } from '../../components/page.tsx';
import { screenTexts } from '../../screen-texts.ts';

const words = screenTexts.customers;

/** Modules of white around the code, which scanners need. */
const BORDER = 4;

/** A link to the customer's page, to copy, or to scan with a phone. */
export default function CustomerLink({ url, isPublic }: { url: string; isPublic: boolean }) {
  const [isShown, setShown] = useState(false);
  return (
    <div className="flex flex-col gap-4">
      <Notice tone="warn">{words.linkLead}</Notice>
      <div className="flex items-center gap-2">
        <output
          aria-label={words.link}
          className="min-w-0 flex-1 rounded-lg border border-line bg-surface px-3 py-2 font-mono text-[0.8125rem] break-all select-all"
        >
          {url}
        </output>
        <CopyButton value={url} />
      </div>
      {!isPublic && <AddressMark />}
      {isShown ? (
        <QrCode text={url} />
      ) : (
        <div>
          <Button onClick={() => setShown(true)}>{words.linkAsQr}</Button>
        </div>
      )}
    </div>
  );
}

function QrCode({ text }: { text: string }) {
  const { data, size } = encode(text, { border: BORDER });
  const dark = data.flatMap((row, y) =>
    row.flatMap((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : [])),
  );
  return (
    <svg
      role="img"
      aria-label={words.linkQr}
      viewBox={`0 0 ${size} ${size}`}
      className="size-64 max-w-full self-center rounded-lg"
    >
      <rect width={size} height={size} fill="#ffffff" />
      <path d={dark.join('')} fill="#000000" shapeRendering="crispEdges" />
    </svg>
  );
}
