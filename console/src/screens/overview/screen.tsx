import { useQuery } from '@tanstack/react-query';
import { ArrowDownRight, ArrowRight, ArrowUpRight } from 'lucide-react';
import type { ReactNode } from 'react';
import { OutcomeBadge } from '../../components/badge';
import { TextLink } from '../../components/button';
import { Actor, EventObject } from '../../components/changes';
import { Empty, LoadFailure, Page, Section, Skeleton } from '../../components/page';
import { Time } from '../../components/time';
import { formatNumber, productName } from '../../format';
import { useProductNames } from '../../products';
import { useMay } from '../../session';
import { texts } from '../../texts';
import { Cure } from '../history/cure';
import { countUnknownKeys } from '../history/queries';
import { ExpirySection } from './expiries';
import { FirstSteps, useFirstSteps } from './first-steps';
import { OutcomeSection } from './outcome-section';
import {
  eventsQuery,
  refusalsQuery,
  type Statistics,
  statisticsQuery,
  todayQuery,
} from './queries';
import { overviewRoute, type Range } from './route';

const words = texts.overview;

export function Screen() {
  const { range = 'day' } = overviewRoute.useSearch();
  const mayReadHistory = useMay('readRequests');
  const mayReadEvents = useMay('readEvents');
  const { done, isShown, isEmpty, isDone, dismiss } = useFirstSteps();
  return (
    <Page title={words.title}>
      {isShown && done && <FirstSteps done={done} isDone={isDone} dismiss={dismiss} />}
      {/* Without a product there is nothing to count. */}
      {isEmpty ? null : mayReadHistory ? (
        <>
          <Figures />
          <Ranged range={range} />
        </>
      ) : (
        <Empty title={words.noHistoryTitle}>{words.noHistory}</Empty>
      )}
      {!isEmpty && (
        <div className="grid gap-5 xl:grid-cols-2">
          {mayReadHistory && <Refusals />}
          {mayReadEvents && <Events />}
        </div>
      )}
    </Page>
  );
}

/** How a figure compares with the one before. */
function Trend({ now, before }: { now: number; before: number | null }) {
  if (before === null) return <p className="text-muted">{words.noTrend}</p>;
  const change = now - before;
  const Arrow = change > 0 ? ArrowUpRight : change < 0 ? ArrowDownRight : ArrowRight;
  return (
    <p className="flex items-center gap-1 text-muted" title={words.trendTitle}>
      <Arrow size={16} aria-hidden />
      {words.trend(change)}
    </p>
  );
}

const Figure = ({
  label,
  value,
  children,
}: {
  label: ReactNode;
  value: number | undefined;
  children: ReactNode;
}) => (
  <div className="flex min-w-0 flex-col rounded-xl border border-line bg-surface px-4 py-3 sm:px-5 sm:py-4">
    <dt className="text-muted">{label}</dt>
    <dd className="flex flex-1 flex-col">
      <span className="text-2xl leading-10 font-semibold tracking-tight sm:text-3xl sm:leading-12">
        {value === undefined ? (
          <span role="status" aria-label={texts.loading} className="text-edge">
            –
          </span>
        ) : (
          formatNumber(value)
        )}
      </span>
      <div className="min-h-5">{children}</div>
    </dd>
  </div>
);

/** Active licenses, validations and refusals, each with its trend. */
function Figures() {
  const { data, error, refetch } = useQuery(todayQuery);
  const mayReadLicenses = useMay('readLicenses');
  if (error && !data) {
    return (
      <Section title={words.figures}>
        <LoadFailure error={error} onRetry={refetch} />
      </Section>
    );
  }
  const active = mayReadLicenses ? (
    <TextLink to="/licenses" search={{ licenseStatus: 'ACTIVE' }}>
      {words.active}
    </TextLink>
  ) : (
    words.active
  );
  const refused = (
    <TextLink to="/history" search={{ valid: false, period: 'day' }}>
      {words.refused}
    </TextLink>
  );
  return (
    <dl className="grid grid-cols-2 gap-3 *:first:col-span-2 sm:grid-cols-3 sm:gap-5 sm:*:first:col-span-1">
      <Figure label={active} value={data?.licenses.active}>
        {data && <Trend now={data.licenses.active} before={data.licenses.activeBefore} />}
      </Figure>
      <Figure label={words.validations} value={data?.total[0]}>
        {data && <Trend now={data.total[0]} before={data.total[1]} />}
      </Figure>
      <Figure label={refused} value={data?.refused[0]}>
        {data && <Trend now={data.refused[0]} before={data.refused[1]} />}
      </Figure>
    </dl>
  );
}

/** The parts that belong to a range. */
function Ranged({ range }: { range: Range }) {
  const { data, error, refetch } = useQuery(statisticsQuery(range));
  if (error && !data) {
    return (
      <Section title={words.outcomes}>
        <LoadFailure error={error} onRetry={refetch} />
      </Section>
    );
  }
  if (!data) {
    return (
      <Section title={words.outcomes}>
        <div className="min-h-72">
          <Skeleton lines={6} />
        </div>
      </Section>
    );
  }
  return (
    <>
      <OutcomeSection data={data} range={range} />
      <div className="grid gap-5 xl:grid-cols-2">
        <div className="flex min-w-0 flex-col gap-5">
          <Products data={data} range={range} />
          <ExpirySection expiries={data.expiries} />
        </div>
        <Versions data={data} />
      </div>
    </>
  );
}

const Nothing = ({ children }: { children: ReactNode }) => (
  <p className="px-4 py-4 text-muted sm:px-5">{children}</p>
);

/** A bar as long as its part of the longest one. */
const Bar = ({ part }: { part: number }) => (
  <svg
    viewBox="0 0 100 6"
    preserveAspectRatio="none"
    aria-hidden
    className="h-1.5 w-full rounded-full bg-hover"
  >
    <rect width={Math.max(1, 100 * part)} height="6" className="fill-accent" />
  </svg>
);

function Products({ data: { products }, range }: { data: Statistics; range: Range }) {
  const mayReadLicenses = useMay('readLicenses');
  const highest = Math.max(1, ...products.map(({ active }) => active));
  return (
    <Section title={words.products} note={words.inRange[range]}>
      {products.length === 0 ? (
        <Nothing>{words.noProducts}</Nothing>
      ) : (
        <table className="w-full text-left">
          <thead>
            <tr className="border-b border-line text-xs text-muted">
              <th scope="col" className="py-2 pl-4 font-medium sm:pl-5">
                {words.product}
              </th>
              <th scope="col" className="py-2 pl-3 text-right font-medium">
                {words.activeShort}
              </th>
              <th scope="col" className="py-2 pr-4 pl-3 text-right font-medium sm:pr-5">
                {words.validationsShort}
              </th>
            </tr>
          </thead>
          <tbody>
            {products.map(({ productId, productName: name, active, validations }) => (
              <tr key={productId} className="border-line not-last:border-b">
                <td className="max-w-0 py-2 pl-4 sm:pl-5">
                  <span className="block truncate" title={name}>
                    {mayReadLicenses ? (
                      <TextLink to="/licenses" search={{ productId }}>
                        {name}
                      </TextLink>
                    ) : (
                      name
                    )}
                  </span>
                  <Bar part={active / highest} />
                </td>
                <td className="w-20 py-2 pl-3 text-right">{formatNumber(active)}</td>
                <td className="w-24 py-2 pr-4 pl-3 text-right sm:pr-5">
                  {formatNumber(validations)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Section>
  );
}

const MAX_VERSIONS = 10;

function Versions({ data: { versions, products } }: { data: Statistics }) {
  const names = new Map(products.map(({ productId, productName: name }) => [productId, name]));
  const shown = versions
    .toSorted((a, b) => b.installations - a.installations)
    .slice(0, MAX_VERSIONS);
  const highest = shown[0]?.installations ?? 1;
  return (
    <Section title={words.versions} note={words.mostUsed}>
      {shown.length === 0 ? (
        <Nothing>{words.noVersions}</Nothing>
      ) : (
        <table className="w-full text-left">
          <thead>
            <tr className="border-b border-line text-xs text-muted">
              <th scope="col" className="py-2 pl-4 font-medium sm:pl-5">
                {words.version}
              </th>
              <th scope="col" className="py-2 pr-4 pl-3 text-right font-medium sm:pr-5">
                {words.installations}
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map(({ productId, productVersion, installations }) => {
              const name = productName(names, productId);
              return (
                <tr
                  key={`${productId} ${productVersion}`}
                  className="border-line not-last:border-b"
                >
                  <td className="max-w-0 py-2 pl-4 sm:pl-5">
                    <span className="flex gap-2">
                      <span className="min-w-0 truncate" title={name}>
                        {name}
                      </span>
                      <span className="max-w-40 shrink-0 truncate font-medium">
                        {productVersion ?? words.noVersion}
                      </span>
                    </span>
                    <Bar part={installations / highest} />
                  </td>
                  <td className="w-28 py-2 pr-4 pl-3 text-right sm:pr-5">
                    {formatNumber(installations)}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
    </Section>
  );
}

/** The latest refusals, with what cures them. */
function Refusals() {
  const { data, error, refetch } = useQuery(refusalsQuery);
  const unknownKeys = countUnknownKeys(data ?? []);
  return (
    <Section
      title={words.refusals}
      actions={
        <TextLink to="/history" search={{ valid: false }} className="mr-2">
          {words.allRefusals}
        </TextLink>
      }
    >
      {error && !data ? (
        <LoadFailure error={error} onRetry={refetch} />
      ) : !data ? (
        <Skeleton lines={6} />
      ) : data.length === 0 ? (
        <Nothing>{words.noRefusals}</Nothing>
      ) : (
        <ul>
          {data.map((record, index) => (
            <li
              // biome-ignore lint/suspicious/noArrayIndexKey: many records can have one id
              key={`${record.id} ${index}`}
              className="flex min-h-14 items-center gap-3 border-line py-1.5 pr-2 pl-4 not-last:border-b sm:pl-5"
            >
              <div className="min-w-0 flex-1">
                <p className="flex flex-wrap items-center gap-x-2">
                  <OutcomeBadge outcome={record.responseType} />
                  <span className="text-xs text-muted">
                    <Time value={record.requestDate} show="ago" />
                  </span>
                </p>
                <TextLink
                  to="/history"
                  search={{ valid: false, open: record.id }}
                  className="block truncate font-mono text-[0.8125rem]"
                >
                  {record.licenseKey ?? record.ip ?? words.noKey}
                </TextLink>
              </div>
              <Cure record={record} unknownKeys={unknownKeys.get(record.ip ?? '') ?? 0} />
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

function Events() {
  const { data, error, refetch } = useQuery(eventsQuery);
  const names = useProductNames();
  return (
    <Section
      title={words.events}
      actions={
        <TextLink to="/events" className="mr-2">
          {words.allEvents}
        </TextLink>
      }
    >
      {error && !data ? (
        <LoadFailure error={error} onRetry={refetch} />
      ) : !data ? (
        <Skeleton lines={6} />
      ) : data.length === 0 ? (
        <Nothing>{words.noEvents}</Nothing>
      ) : (
        <ul>
          {data.map((event) => (
            <li
              key={event.id}
              className="flex min-h-14 flex-col justify-center border-line px-4 py-1.5 not-last:border-b sm:px-5"
            >
              <p className="flex flex-wrap gap-x-3">
                <span className="flex-1 whitespace-nowrap">{texts.eventTypes[event.type]}</span>
                <span className="min-w-0">
                  <EventObject event={event} names={names} />
                </span>
              </p>
              <p className="flex gap-x-3 text-xs text-muted">
                <span className="min-w-0 flex-1 truncate">
                  <Actor actor={event.actor} />
                </span>
                <Time value={event.time} show="ago" />
              </p>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}
