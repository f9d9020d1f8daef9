import type { LicenseRequest } from '@licet/client';
import type { LinkProps } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { OutcomeBadge } from '../../components/badge.tsx';
import { TextLink } from '../../components/button.tsx';
import { Hwid } from '../../components/hwid.tsx';
import { Section } from '../../components/page.tsx';
import { SectionRows } from '../../components/section-rows.tsx';
import { type SimpleColumn, SimpleTable } from '../../components/simple-table.tsx';
import { Time } from '../../components/time.tsx';
import { shortenKey } from '../../format.ts';
import { screenTexts } from '../../screen-texts.ts';
import { PaneDialog } from './pane.tsx';

const words = screenTexts.history;

/** A value of a request, whole on a phone. The dialog of the request shows it too. */
const mono = (value: string | null, shown = value) =>
  value && (
    <span
      title={value}
      className="font-mono text-[0.8125rem] max-sm:break-all sm:block sm:max-w-32 sm:truncate lg:max-w-40"
    >
      {shown}
    </span>
  );

/** The latest requests on the screen of another object. A row opens its request in a dialog. */
export function HistorySection({
  query,
  hasKeys = false,
  open,
  linkOf,
  onClose,
  actions,
}: {
  query: {
    data: readonly LicenseRequest[] | undefined;
    error: unknown;
    refetch: () => void;
  };
  /** Whether the requests are about several keys. */
  hasKeys?: boolean;
  /** The request in the dialog. */
  open: number | undefined;
  /** The address of the screen with a request in the dialog. */
  linkOf: (id: number) => LinkProps;
  onClose: () => void;
  actions?: ReactNode;
}) {
  const { columns: headers } = words;
  const columns: readonly SimpleColumn<LicenseRequest>[] = [
    [
      headers.time,
      ({ id, requestDate }) => (
        <TextLink {...linkOf(id)}>
          <Time value={requestDate} />
        </TextLink>
      ),
    ],
    [headers.outcome, ({ responseType }) => <OutcomeBadge outcome={responseType} />],
    ...(hasKeys
      ? [
          [
            headers.key,
            ({ licenseKey }: LicenseRequest) =>
              mono(licenseKey, licenseKey && shortenKey(licenseKey)),
          ] as const,
        ]
      : []),
    [headers.ip, ({ ip }) => mono(ip)],
    [
      headers.hwid,
      ({ hwid }) =>
        hwid && (
          // Beside the column of keys there is less room.
          <span
            className={`sm:block ${hasKeys ? 'sm:max-w-32 lg:max-w-40' : 'sm:max-w-56 lg:max-w-64'}`}
          >
            <Hwid value={hwid} />
          </span>
        ),
    ],
    [
      headers.version,
      ({ productVersion }) =>
        productVersion && (
          <span title={productVersion} className="sm:block sm:max-w-40 sm:truncate">
            {productVersion}
          </span>
        ),
      'wide',
    ],
  ];
  return (
    <Section title={words.title} actions={actions}>
      <SectionRows query={query} empty={words.noneOfKey}>
        {(rows) => <SimpleTable rows={rows} label={words.title} columns={columns} />}
      </SectionRows>
      <PaneDialog open={open} known={query.data?.find(({ id }) => id === open)} onClose={onClose} />
    </Section>
  );
}
