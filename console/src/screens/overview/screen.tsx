import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import { TextLink } from '../../components/button.tsx';
import { ArrowDownRight, ArrowRight, ArrowUpRight } from '../../components/icons.tsx';
import { EmptyScreen, LoadFailure, Page, Section, Skeleton } from '../../components/page.tsx';
import { useMay } from '../../session.ts';
import { texts } from '../../texts.ts';
import { Figure } from './figure.tsx';
import { todayQuery } from './queries.ts';
import { overviewRoute } from './route.ts';
import { useFirstSteps } from './use-first-steps.ts';

// These load after the figures, which come first.
const FirstSteps = lazy(() => import('./first-steps.tsx'));
const Alerts = lazy(() => import('./alerts.tsx'));
const Sales = lazy(() => import('./sales.tsx'));
const ranged = () => import('./ranged.tsx');
const Outcomes = lazy(async () => ({ default: (await ranged()).Outcomes }));
const Licenses = lazy(async () => ({ default: (await ranged()).Licenses }));
const Versions = lazy(async () => ({ default: (await ranged()).Versions }));
const latest = () => import('./latest.tsx');
const Refusals = lazy(async () => ({ default: (await latest()).Refusals }));
const Events = lazy(async () => ({ default: (await latest()).Events }));

const COLUMN = 'flex min-w-0 flex-col gap-5';

const words = texts.overview;

export function Screen() {
  const { range = 'day' } = overviewRoute.useSearch();
  const mayReadHistory = useMay('readRequests');
  const mayReadEvents = useMay('readEvents');
  const mayReadPurchases = useMay('readPurchases');
  const { done, isShown, isEmpty, isDone, dismiss } = useFirstSteps();
  return (
    <Page title={words.title}>
      {isShown && done && (
        <Suspense>
          <FirstSteps done={done} isDone={isDone} dismiss={dismiss} />
        </Suspense>
      )}
      {/* Without a product there is nothing to count. */}
      {!isEmpty && (
        <>
          {mayReadHistory && <Figures />}
          {mayReadPurchases && (
            <Suspense>
              <Sales />
            </Suspense>
          )}
          {(mayReadEvents || mayReadPurchases) && (
            <Suspense>
              <Alerts />
            </Suspense>
          )}
          {mayReadHistory ? (
            <>
              <Suspense fallback={<RangedSkeleton />}>
                <Outcomes range={range} />
              </Suspense>
              {/* Two columns, not rows: sections of unequal height would leave gaps. */}
              <div className="grid items-start gap-5 xl:grid-cols-2">
                <div className={COLUMN}>
                  <Suspense>
                    <Licenses range={range} />
                  </Suspense>
                  <Suspense>
                    <Refusals />
                  </Suspense>
                </div>
                <div className={COLUMN}>
                  <Suspense>
                    <Versions range={range} />
                  </Suspense>
                  {mayReadEvents && (
                    <Suspense>
                      <Events />
                    </Suspense>
                  )}
                </div>
              </div>
            </>
          ) : (
            <EmptyScreen title={words.noHistoryTitle}>{words.noHistory}</EmptyScreen>
          )}
        </>
      )}
    </Page>
  );
}

/** The difference between a figure and the earlier one. */
function Trend({
  now,
  before,
  isWorse = false,
}: {
  now: number;
  before: number | null;
  /** More is worse. */
  isWorse?: boolean;
}) {
  if (before === null) return <p className="text-muted">{words.noTrend}</p>;
  const change = now - before;
  const Arrow = change > 0 ? ArrowUpRight : change < 0 ? ArrowDownRight : ArrowRight;
  return (
    <p
      className={`flex items-start gap-1 ${isWorse && change > 0 ? 'text-bad' : 'text-muted'}`}
      title={words.trendTitle}
    >
      <Arrow size={16} aria-hidden className="mt-0.5 shrink-0" />
      {words.trend(change)}
    </p>
  );
}

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
  const validations = (
    <TextLink to="/history" search={{ period: 'day' }}>
      {words.validations}
    </TextLink>
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
      <Figure label={validations} value={data?.total[0]}>
        {data && <Trend now={data.total[0]} before={data.total[1]} />}
      </Figure>
      <Figure label={refused} value={data?.refused[0]}>
        {data && (
          <>
            <Trend now={data.refused[0]} before={data.refused[1]} isWorse />
            {data.topReason !== undefined && (
              <p className="text-muted">
                {words.topReason(texts.outcomes[data.topReason]?.name ?? data.topReason)}
              </p>
            )}
          </>
        )}
      </Figure>
    </dl>
  );
}

const RangedSkeleton = () => (
  <Section title={words.outcomes}>
    <div className="min-h-80">
      <Skeleton lines={6} />
    </div>
  </Section>
);
