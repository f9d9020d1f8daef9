import type { Event, License } from '@licet/client';
import { lacksSlot } from '@licet/contract/refusals';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Badge } from '../../components/badge.tsx';
import { ButtonLink, TextLink } from '../../components/button.tsx';
import { TypeBadge } from '../../components/changes.tsx';
import { LoadFailure, Section } from '../../components/page.tsx';
import { Time } from '../../components/time.tsx';
import { formatNumber, productName } from '../../format.ts';
import { useProductNames } from '../../products.ts';
import { screenTexts } from '../../screen-texts.ts';
import { useMay, useRefusal } from '../../session.ts';
import { licenseQuery } from '../license/queries.ts';
import { ExtendButton } from '../licenses/extend-button.tsx';
import { buyerName, soldName } from '../markets/names.ts';
import { nameOf, webhooksQuery } from '../webhooks/queries.ts';
import { alertsQuery, type Waiting, waitingQuery } from './queries.ts';

/** The latest events of the service, each with its fix. */

const words = screenTexts.alerts;

/** The latest alerts; nothing without any. */
export default function Alerts() {
  const mayReadEvents = useMay('readEvents');
  const alerts = useQuery({ ...alertsQuery, enabled: mayReadEvents });
  const waits = useQuery({ ...waitingQuery, enabled: useMay('readPurchases') });
  const { data = [] } = alerts;
  const { data: waiting = [] } = waits;
  const failed = [waits, alerts].find(({ error, data: read }) => error && !read);
  if (data.length === 0 && waiting.length === 0 && !failed) return null;
  return (
    <Section
      title={words.title}
      actions={
        mayReadEvents && (
          <TextLink to="/events" search={{ actor: 'service' }} className="mr-2">
            {words.all}
          </TextLink>
        )
      }
    >
      {failed && <LoadFailure error={failed.error} onRetry={failed.refetch} />}
      <ul>
        {waiting.slice(0, WAITING_ROWS).map((one) => (
          <WaitingAlert key={one.purchases[0].id} waiting={one} />
        ))}
        {data.map((event) =>
          event.resourceType === 'license' && event.resourceId !== null ? (
            <LicenseAlert key={event.id} event={event} id={event.resourceId} />
          ) : event.resourceType === 'webhook' ? (
            <WebhookAlert key={event.id} event={event} />
          ) : event.resourceType === 'mail' ? (
            <MailAlert key={event.id} event={event} />
          ) : (
            <MarketAlert key={event.id} event={event} />
          ),
        )}
      </ul>
    </Section>
  );
}

/** More groups stand in the list of purchases. */
const WAITING_ROWS = 4;
const NAMED_BUYERS = 3;

/** Buyers who have paid and have no license: the most urgent of all. */
function WaitingAlert({ waiting: { purchases, isCut } }: { waiting: Waiting }) {
  const [first] = purchases;
  const { marketId, id } = first;
  const buyers = [...new Set(purchases.map(buyerName).filter(Boolean))];
  const open = purchases.length === 1 ? id : undefined;
  return (
    <li className="flex min-h-14 items-center gap-3 border-line py-1.5 pr-2 pl-4 not-last:border-b sm:pl-5">
      <div className="flex min-w-0 flex-1 flex-col gap-x-4 gap-y-0.5 md:flex-row md:items-baseline">
        <p className="flex flex-wrap items-center gap-x-2 md:w-64 md:shrink-0">
          <Badge tone="bad">{words.paid(purchases.length, isCut)}</Badge>
          <span className="text-xs text-muted">
            <Time value={first.createdAt} show="ago" />
          </span>
        </p>
        <p className="min-w-0 break-words">
          {words.waits(
            buyers.slice(0, NAMED_BUYERS),
            purchases.length,
            first.marketName,
            soldName(first),
          )}
        </p>
      </div>
      <ButtonLink look="link" to="/purchases" search={{ state: 'UNMATCHED', marketId, open }}>
        {words.fixes.purchase}
      </ButtonLink>
    </li>
  );
}

/** A value that an event is about. */
const foundIn = ({ changes }: Event, field: string): unknown => changes?.[field]?.after;

const textOf = (event: Event, field: string): string | undefined => {
  const value = foundIn(event, field);
  return typeof value === 'string' && value !== '' ? value : undefined;
};

const Line = ({
  event,
  isDone = false,
  fix,
  children,
}: {
  event: Event;
  /** Whether the cause is gone. */
  isDone?: boolean | undefined;
  /** The next step. */
  fix: ReactNode;
  children: ReactNode;
}) => (
  <li className="flex min-h-14 items-center gap-3 border-line py-1.5 pr-2 pl-4 not-last:border-b sm:pl-5">
    <div className="flex min-w-0 flex-1 flex-col gap-x-4 gap-y-0.5 md:flex-row md:items-baseline">
      <p className="flex flex-wrap items-center gap-x-2 md:w-64 md:shrink-0">
        <TypeBadge type={event.type} />
        <span className="text-xs text-muted">
          <Time value={event.time} show="ago" />
        </span>
      </p>
      <p className="min-w-0 break-words">{children}</p>
    </div>
    {isDone ? <span className="px-3 text-muted">{words.isFixed}</span> : fix}
  </li>
);

/** The finding about a license, after its key. */
function findingOf(event: Event): ReactNode {
  const value = textOf(event, 'ip') ?? textOf(event, 'hwid');
  const expiry = textOf(event, 'expiryDate');
  switch (event.type) {
    case 'license.limit_reached':
      return words.refused(value);
    case 'license.expiring':
    case 'license.expired':
      return (
        <>
          {event.type === 'license.expired' ? words.expired : words.expires}{' '}
          {expiry && <Time value={expiry} show="ago" />}
        </>
      );
    case 'license.many_addresses':
      return words.addresses(formatNumber(Number(foundIn(event, 'addresses'))));
    case 'blacklist.hit':
      return words.hit(value, textOf(event, 'blockReason') ?? '');
    default:
      return words.firstUsed;
  }
}

/** Whether the cause of an alert is gone, as far as the license shows it. */
function isFixed(event: Event, license: License): boolean {
  const [ip, hwid] = [textOf(event, 'ip'), textOf(event, 'hwid')];
  const expiry = textOf(event, 'expiryDate');
  switch (event.type) {
    case 'license.limit_reached':
      if (ip !== undefined) return !lacksSlot(license, 'ips', ip);
      return hwid !== undefined && !lacksSlot(license, 'hwids', hwid);
    case 'license.expiring':
    case 'license.expired':
      return (
        license.expiryDate === null ||
        (expiry !== undefined && Date.parse(license.expiryDate) > Date.parse(expiry))
      );
    default:
      return false;
  }
}

function LicenseAlert({ event, id }: { event: Event; id: number }) {
  const names = useProductNames();
  const mayRead = useMay('readLicenses');
  const { data } = useQuery({ ...licenseQuery(id), enabled: mayRead });
  const license = data?.item;
  const label = license ? words.key(license.licenseKey.split('-').at(-1) ?? '') : words.license(id);
  return (
    <Line
      event={event}
      isDone={license && isFixed(event, license)}
      fix={<Fix event={event} id={id} license={license} />}
    >
      <TextLink
        to="/licenses/$licenseId"
        params={{ licenseId: id }}
        className={`underline ${license ? 'font-mono text-[0.8125rem]' : ''}`}
        title={license?.licenseKey}
      >
        {label}
      </TextLink>{' '}
      {license && <span className="text-muted">({productName(names, license.productId)}) </span>}
      {findingOf(event)}
    </Line>
  );
}

/** The next step of an alert about a license. */
function Fix({
  event,
  id: licenseId,
  license,
}: {
  event: Event;
  id: number;
  license: License | undefined;
}): ReactNode {
  const refusal = useRefusal('writeLicenses');
  const mayReadHistory = useMay('readRequests');
  const [ip, hwid] = [textOf(event, 'ip'), textOf(event, 'hwid')];
  const toPart = (hash: string, label: string) => (
    <ButtonLink look="link" to="/licenses/$licenseId" params={{ licenseId }} hash={hash}>
      {label}
    </ButtonLink>
  );
  switch (event.type) {
    case 'license.limit_reached':
      return toPart('slots', words.fixes.free);
    case 'license.many_addresses':
      return toPart('installations', words.fixes.installations);
    case 'license.expiring':
    case 'license.expired':
      return license && <ExtendButton license={license} refusal={refusal} look="link" />;
    case 'blacklist.hit':
      return (
        mayReadHistory && (
          <ButtonLink look="link" to="/history" search={{ valid: false, ip, hwid }}>
            {words.fixes.refusals}
          </ButtonLink>
        )
      );
    default:
      return null;
  }
}

/** A market that fails or is guessed at, or a purchase of more than its license. */
const MarketAlert = ({ event }: { event: Event }) => (
  <Line
    event={event}
    fix={
      event.resourceType === 'market' && event.resourceId !== null ? (
        <ButtonLink look="link" to="/markets/$id" params={{ id: event.resourceId }}>
          {words.fixes.market}
        </ButtonLink>
      ) : (
        <ButtonLink look="link" to="/purchases" search={{ open: event.resourceId ?? undefined }}>
          {words.fixes.order}
        </ButtonLink>
      )
    }
  >
    {[textOf(event, 'market'), textOf(event, 'reason')].filter(Boolean).join(': ')}
  </Line>
);

/** A mail that failed. Its remedy is the right e-mail of the customer. */
const MailAlert = ({ event }: { event: Event }) => (
  <Line
    event={event}
    fix={
      <ButtonLink
        look="link"
        to="/customers/$id"
        params={{ id: Number(foundIn(event, 'customerId')) }}
      >
        {words.fixes.customer}
      </ButtonLink>
    }
  >
    {textOf(event, 'reason')}
  </Line>
);

function WebhookAlert({ event }: { event: Event }) {
  const { data } = useQuery(webhooksQuery);
  const webhook = data?.find(({ id }) => id === event.resourceId);
  const link = webhook && ({ to: '/webhooks/$id', params: { id: webhook.id } } as const);
  return (
    <Line
      event={event}
      isDone={webhook?.enabled}
      fix={
        link && (
          <ButtonLink look="link" {...link}>
            {words.fixes.webhook}
          </ButtonLink>
        )
      }
    >
      {webhook && link && (
        <TextLink {...link} className="underline">
          {nameOf(webhook)}
        </TextLink>
      )}{' '}
      {textOf(event, 'reason')}
    </Line>
  );
}
