import type { LicenseRequest } from '@licet/client';
import { countUnknownKeys, explainRefusal, GUESSED_KEYS } from '@licet/contract/refusals';
import { sharedHwid } from '@licet/contract/shared-hwids';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { OutcomeBadge } from '../../components/badge.tsx';
import { Block } from '../../components/block.tsx';
import { Button, ButtonLink, TextLink } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Facts, LoadFailure, Skeleton } from '../../components/page.tsx';
import { PaneDialog as PaneInDialog } from '../../components/side-pane.tsx';
import { Time } from '../../components/time.tsx';
import { productName } from '../../format.ts';
import { useProductNames } from '../../products.ts';
import { screenTexts } from '../../screen-texts.ts';
import { useMay, useRefusal } from '../../session.ts';
import { texts } from '../../texts.ts';
import { licenseQuery } from '../license/queries.ts';
import { Fix } from './fix.tsx';
import { moveToProduct } from './fixes.ts';
import { recordQuery, refusalsOfAddressQuery } from './queries.ts';

const words = screenTexts.history;
const { fields } = words;

/** All that is known about one request, and the buttons that fix a refusal. */
export function Pane({ id, known }: { id: number; known: LicenseRequest | undefined }) {
  const { data: record, error, refetch } = useQuery(recordQuery(id, known));
  if (error && !record) return <LoadFailure error={error} onRetry={refetch} />;
  if (!record) return <Skeleton />;
  return (
    <div className="flex flex-col">
      <div className="flex flex-col gap-3 border-b border-line px-4 pb-4 sm:px-5">
        <p className="flex flex-wrap items-center gap-2">
          <OutcomeBadge outcome={record.responseType} />
          <span className="text-muted">
            <Time value={record.requestDate} />
          </span>
        </p>
        <p>{explainRefusal(record).explanation ?? words.unexplained}</p>
        <Fixes record={record} />
      </div>
      <Details record={record} />
    </div>
  );
}

/** The pane in a dialog, for screens without room beside their content. */
export const PaneDialog = ({
  open,
  known,
  onClose,
}: {
  open: number | undefined;
  known: LicenseRequest | undefined;
  onClose: () => void;
}) => (
  <PaneInDialog title={words.paneTitle} isOpen={open !== undefined} onClose={onClose}>
    {open !== undefined && <Pane key={open} id={open} known={known} />}
  </PaneInDialog>
);

/** The buttons that fix the cause of a refusal, with what is known about it. */
export function Fixes({ record }: { record: LicenseRequest }) {
  if (record.responseType === 'LICENSE_NOT_FOUND' && record.ip !== null) {
    return <UnknownKeys record={record} ip={record.ip} />;
  }
  return (
    <>
      {record.responseType === 'PRODUCT_MISMATCH' && <RightProduct record={record} />}
      <div className="flex flex-wrap gap-2 empty:hidden">
        <Fix record={record} isFull />
      </div>
    </>
  );
}

/** Shows the number of unknown keys that an address has sent. */
function UnknownKeys({ record, ip }: { record: LicenseRequest; ip: string }) {
  const { data } = useQuery(refusalsOfAddressQuery(ip));
  const count = countUnknownKeys(data ?? []).get(ip) ?? 0;
  return (
    <>
      {count >= GUESSED_KEYS && <p>{words.unknownKeys(ip, count)}</p>}
      <div className="flex flex-wrap gap-2 empty:hidden">
        <Fix record={record} unknownKeys={count} isFull />
      </div>
    </>
  );
}

/** The product of the license, beside the one that the program has sent. */
function RightProduct({ record: { licenseId, productId } }: { record: LicenseRequest }) {
  const names = useProductNames();
  const refusal = useRefusal('writeLicenses');
  const mayRead = useMay('readLicenses');
  const { data } = useQuery({
    ...licenseQuery(licenseId ?? 0),
    enabled: mayRead && licenseId !== null,
  });
  if (!data || licenseId === null) return null;
  const right = data.item.productId;
  if (productId === right) return <p>{words.alreadyMoved(productName(names, right))}</p>;
  const sent = productId === null ? undefined : names.get(productId);
  return (
    <>
      <p>
        {words.rightProduct(
          productName(names, right),
          right,
          productId === null ? words.noProduct : productName(names, productId),
        )}
      </p>
      <div className="flex flex-wrap gap-2">
        <ButtonLink to="/program">{texts.navigation.program}</ButtonLink>
        {productId !== null && sent !== undefined && (
          <Button refusal={refusal} onClick={() => moveToProduct(licenseId, productId, sent)}>
            {words.fixes.move(sent)}
          </Button>
        )}
      </div>
    </>
  );
}

const Value = ({ value, children }: { value: string; children?: ReactNode }) => (
  <span className="-my-1.5 -mr-3 flex items-center sm:mr-0 sm:gap-1">
    <span className="min-w-0 flex-1 py-1.5 font-mono text-xs break-all">{value}</span>
    {children}
    <CopyButton value={value} label={words.copy(value)} isIcon />
  </span>
);

function Details({ record }: { record: LicenseRequest }) {
  const names = useProductNames();
  const mayReadLicenses = useMay('readLicenses');
  const { licenseId, licenseKey, ip, hwid, productId } = record;
  const shared = hwid === null ? undefined : sharedHwid(hwid);
  const system = [
    record.operatingSystem,
    record.operatingSystemVersion,
    record.operatingSystemArchitecture,
  ];
  const rows: readonly (readonly [string, ReactNode])[] = [
    [
      fields.licenseKey,
      licenseKey !== null && (
        <>
          <Value value={licenseKey} />
          <p className="mt-1 flex flex-wrap gap-x-4 gap-y-1">
            {licenseId !== null && mayReadLicenses && (
              <TextLink to="/licenses/$licenseId" params={{ licenseId }}>
                {words.toLicense}
              </TextLink>
            )}
            <TextLink to="/history" search={{ licenseKey }}>
              {words.ofKey}
            </TextLink>
          </p>
        </>
      ),
    ],
    [
      fields.product,
      productId !== null && (
        <TextLink to="/history" search={{ productId }}>
          {productName(names, productId)}
        </TextLink>
      ),
    ],
    [
      fields.ip,
      ip !== null && (
        <>
          <Value value={ip}>
            <Block type="IP" value={ip} isIcon />
          </Value>
          <p className="mt-1">
            <TextLink to="/history" search={{ ip }}>
              {words.ofAddress}
            </TextLink>
          </p>
        </>
      ),
    ],
    [
      fields.hwid,
      hwid !== null && (
        <>
          <Value value={hwid}>
            <Block type="HWID" value={hwid} isIcon />
          </Value>
          {shared && <p className="text-xs text-warn">{screenTexts.sharedHwid.slot(shared)}</p>}
          <p className="mt-1">
            <TextLink to="/history" search={{ hwid }}>
              {words.ofHardware}
            </TextLink>
          </p>
        </>
      ),
    ],
    [fields.version, record.productVersion],
    [fields.system, system.filter(Boolean).join(' ')],
    [fields.java, record.javaVersion],
    [fields.mac, record.macAddress],
    [fields.type, words.types[record.requestType] ?? record.requestType],
    [fields.blockReason, record.blockReason],
    [fields.remarks, record.remarks],
    [fields.spam, record.spam && words.isSpam],
    [fields.id, String(record.id)],
  ];
  return <Facts rows={rows.filter(([, value]) => value)} />;
}
