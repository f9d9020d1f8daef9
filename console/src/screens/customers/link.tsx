import { DAY_MS, HOUR_MS, MINUTE_MS } from '@licet/contract/durations';
import { DEFAULT_LINK_MINUTES } from '@licet/contract/limits';
import { useState } from 'react';
import { encode } from 'uqr';
import { licet } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Form, SelectField } from '../../components/form.tsx';
import { AddressMark, Notice } from '../../components/page.tsx';
import { formatTime } from '../../format.ts';
import { screenTexts } from '../../screen-texts.ts';

const words = screenTexts.customers;

const PERIODS_MS = { hour: HOUR_MS, day: DAY_MS, week: 7 * DAY_MS } as const;
/** Modules of white around the code, which scanners need. */
const BORDER = 4;

type Link = Awaited<ReturnType<typeof licet.portalLink>>;

/** The customer of a link, or a license of theirs. */
export type LinkOf = { customerId: number } | { licenseId: number };

/** Makes a link to the page of a customer, and shows it. */
export default function CustomerLink({ of }: { of: LinkOf }) {
  const [link, setLink] = useState<Link>();
  if (link) return <MadeLink {...link} />;
  return (
    <Form
      onSubmit={async (data) => {
        const validMinutes = Number(data.get('validMinutes'));
        setLink(await licet.portalLink({ ...of, validMinutes }));
      }}
      buttons={(isBusy) => (
        <Button type="submit" look="primary" disabled={isBusy}>
          {words.linkCreate}
        </Button>
      )}
    >
      <SelectField
        label={words.linkValid}
        name="validMinutes"
        defaultValue={String(DEFAULT_LINK_MINUTES)}
        options={(['hour', 'day', 'week'] as const).map((period) => [
          String(PERIODS_MS[period] / MINUTE_MS),
          words.linkPeriods[period],
        ])}
      />
    </Form>
  );
}

/** A link, to copy, or to scan with a phone. */
function MadeLink({ url, expiresAt, isPublic }: Link) {
  const [isShown, setShown] = useState(false);
  return (
    <div className="flex flex-col gap-4">
      <Notice tone="warn">{words.linkLead(formatTime(expiresAt))}</Notice>
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
