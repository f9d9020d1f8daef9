import { DOCTOR_KEY } from '@licet/contract/license-key';
import { countUnknownKeys } from '@licet/contract/refusals';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useState } from 'react';
import { describe } from '../../api.ts';
import { OutcomeBadge } from '../../components/badge.tsx';
import { Button, ButtonLink } from '../../components/button.tsx';
import { Cut } from '../../components/cut.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Filters } from '../../components/filters.tsx';
import { FilterExact, FilterProduct, FilterSelect } from '../../components/form.tsx';
import { Hwid } from '../../components/hwid.tsx';
import { ArrowUp, Pause, Play } from '../../components/icons.tsx';
import { Empty, NoMatch, Page } from '../../components/page.tsx';
import { WithPane } from '../../components/side-pane.tsx';
import { Time } from '../../components/time.tsx';
import { productName, shortenKey } from '../../format.ts';
import { useProductNames } from '../../products.ts';
import { screenTexts } from '../../screen-texts.ts';
import { countGiven } from '../../search.ts';
import { useShortcuts } from '../../shortcuts.ts';
import { texts } from '../../texts.ts';
import { Fix } from './fix.tsx';
import { Pane } from './pane.tsx';
import { type Entry, isOpenEnded, pageQuery } from './queries.ts';
import { type HistorySearch, historyRoute, PERIODS } from './route.ts';

const words = screenTexts.history;

const columnsOf = (
  names: ReadonlyMap<number, string>,
  unknownKeys: ReadonlyMap<string, number>,
): readonly Column<Entry>[] => [
  {
    id: 'time',
    header: words.columns.time,
    cell: ({ record }) => (
      // Beside the longest outcome the time has just this space on the narrowest phone.
      <span className="max-md:text-[0.8125rem]">
        <Time value={record.requestDate} show="clock" />
      </span>
    ),
    width: 'w-37',
    phone: 'titleEnd',
  },
  {
    id: 'outcome',
    header: words.columns.outcome,
    cell: ({ record }) => <OutcomeBadge outcome={record.responseType} />,
    width: 'w-44 xl:w-47',
    phone: 'title',
  },
  {
    id: 'key',
    header: words.columns.key,
    cell: ({ record: { licenseKey, ip } }) => (
      <span className="flex gap-x-3 font-mono text-[0.8125rem]">
        <span title={licenseKey ?? undefined} className="shrink-0">
          {licenseKey && shortenKey(licenseKey)}
        </span>
        <span className="truncate md:hidden">{ip}</span>
      </span>
    ),
    width: 'w-24 xl:w-28',
    phone: 'line',
  },
  {
    id: 'product',
    header: words.columns.product,
    cell: ({ record: { licenseKey, productId } }) =>
      licenseKey === DOCTOR_KEY ? (
        <span className="text-muted">npm run doctor</span>
      ) : (
        productId !== null && <Cut>{productName(names, productId)}</Cut>
      ),
    isWide: true,
  },
  {
    id: 'ip',
    header: words.columns.ip,
    cell: ({ record: { ip } }) => ip && <Cut isMono>{ip}</Cut>,
  },
  {
    id: 'hwid',
    header: words.columns.hwid,
    cell: ({ record: { hwid } }) => hwid && <Hwid value={hwid} />,
    isExtra: true,
  },
  {
    id: 'version',
    header: words.columns.version,
    cell: ({ record: { productVersion } }) => productVersion && <Cut>{productVersion}</Cut>,
    isExtra: true,
  },
  {
    // Browsers store this id with the columns that their viewers chose.
    id: 'cure',
    header: words.columns.fix,
    cell: ({ record }) => (
      <div className="-my-3 -ml-3 max-md:-mr-3 md:-my-2">
        <Fix record={record} unknownKeys={unknownKeys.get(record.ip ?? '') ?? 0} />
      </div>
    ),
    width: 'w-40 xl:w-43',
    phone: 'lineEnd',
  },
];

/** Whether new rows would disturb the viewer: the page is scrolled, or a row is pointed at or has the focus. */
const isReading = (table: HTMLElement | null): boolean =>
  window.scrollY > 40 || table?.querySelector('tbody tr:hover, tbody tr:focus-within') != null;

/**
 * The rows of a live list. New rows appear at once, but wait while the viewer reads the list.
 *
 * @param key changes with the filters: the rows of other filters appear at once
 */
function useCalmRows(
  entries: readonly Entry[] | undefined,
  key: string,
  updatedAtMs: number,
  isBusy: () => boolean,
) {
  const newest = entries?.[0]?.record.id;
  const [shown, setShown] = useState({ key, top: newest, before: newest });
  const isOther = shown.key !== key || (shown.top === undefined && newest !== undefined);
  if (isOther) setShown({ key, top: newest, before: newest });
  const top = isOther ? newest : shown.top;
  const show = (): void => setShown({ key, top: newest, before: top });
  const latest = useRef({ isBusy, show, newest, top });
  useEffect(() => {
    latest.current = { isBusy, show, newest, top };
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: looks at the viewer each time it was read
  useEffect(() => {
    const now = latest.current;
    if ((now.newest ?? 0) > (now.top ?? 0) && !now.isBusy()) now.show();
  }, [updatedAtMs]);
  const rows = entries?.filter(({ record: { id } }) => top === undefined || id <= top);
  return {
    rows,
    waiting: (entries?.length ?? 0) - (rows?.length ?? 0),
    show,
    isNew: ({ record: { id } }: Entry): boolean => shown.before !== undefined && id > shown.before,
  };
}

export function Screen() {
  const search = historyRoute.useSearch();
  const navigate = historyRoute.useNavigate();
  const names = useProductNames();
  const [isPaused, setPaused] = useState(false);
  const { open, after, ...filters } = search;
  const canBeLive = isOpenEnded(search);
  const page = useQuery(pageQuery(search, !isPaused));
  const table = useRef<HTMLDivElement>(null);
  const { rows, waiting, show, isNew } = useCalmRows(
    page.data?.entries,
    JSON.stringify({ ...filters, after }),
    page.dataUpdatedAt,
    () => open !== undefined || isReading(table.current),
  );
  const unknownKeys = useMemo(
    () => countUnknownKeys((page.data?.entries ?? []).map(({ record }) => record)),
    [page.data],
  );
  const columns = useMemo(() => columnsOf(names, unknownKeys), [names, unknownKeys]);
  const close = (): void =>
    void navigate({
      search: (old) => ({ ...old, open: undefined }),
      state: true,
      replace: true,
      resetScroll: false,
    });
  useShortcuts(open === undefined ? {} : { Escape: close });

  const filter = (changes: Partial<HistorySearch>): void =>
    void navigate({ search: { ...filters, ...changes } });
  const isFiltered = countGiven(filters) > 0;
  const next = page.data?.after;
  const known = rows?.find(({ record }) => record.id === open)?.record;

  return (
    <Page
      title={words.title}
      lead={
        // Takes the place of the lead, so that no row moves.
        page.error && page.data ? (
          <span role="status" className="text-warn">
            {words.notLive(describe(page.error))}
          </span>
        ) : (
          words.lead
        )
      }
      actions={
        canBeLive ? (
          <Button onClick={() => setPaused(!isPaused)}>
            {isPaused ? <Play size={16} aria-hidden /> : <Pause size={16} aria-hidden />}
            {isPaused ? words.resume : words.pause}
          </Button>
        ) : (
          <ButtonLink to="/history" search={{ ...filters, from: undefined, to: undefined }}>
            <ArrowUp size={16} aria-hidden />
            {words.toNewest}
          </ButtonLink>
        )
      }
    >
      <WithPane
        title={words.paneTitle}
        isOpen={open !== undefined}
        onClose={close}
        pane={open !== undefined && <Pane key={open} id={open} known={known} />}
      >
        <div ref={table}>
          <div
            role="status"
            className="pointer-events-none sticky top-20 z-10 flex h-0 justify-center"
          >
            {waiting > 0 && (
              <Button
                look="primary"
                className="pointer-events-auto shadow-raised"
                onClick={() => {
                  show();
                  window.scrollTo({ top: 0 });
                }}
              >
                <ArrowUp size={16} aria-hidden />
                {words.waiting(waiting)}
              </Button>
            )}
          </div>
          <DataTable
            name="history"
            label={words.title}
            columns={columns}
            rows={rows}
            error={page.data ? null : page.error}
            onRetry={page.refetch}
            linkOf={({ record }) => ({
              to: '/history',
              search: { ...search, open: record.id },
              state: true,
              resetScroll: false,
              replace: open !== undefined,
            })}
            rowClassOf={(entry) =>
              entry.record.id === open ? 'bg-accent-soft' : isNew(entry) ? 'animate-arrive' : ''
            }
            tools={
              <Filters
                to="/history"
                count={countGiven({ ...filters, licenseKey: undefined })}
                search={
                  <FilterExact
                    label={words.filters.licenseKey}
                    value={search.licenseKey ?? ''}
                    onChange={(licenseKey) => filter({ licenseKey })}
                  />
                }
              >
                <FilterExact
                  label={words.filters.ip}
                  value={search.ip ?? ''}
                  onChange={(ip) => filter({ ip })}
                />
                <FilterExact
                  label={words.filters.hwid}
                  value={search.hwid ?? ''}
                  onChange={(hwid) => filter({ hwid })}
                />
                <FilterSelect
                  label={words.filters.outcome}
                  any={words.filters.anyOutcome}
                  options={[
                    ['true', words.filters.valid],
                    ['false', words.filters.refused],
                  ]}
                  value={search.valid === undefined ? undefined : String(search.valid)}
                  onChange={(value) =>
                    filter({ valid: value === undefined ? undefined : value === 'true' })
                  }
                />
                <FilterSelect
                  label={words.filters.period}
                  any={words.filters.anyTime}
                  options={[
                    ...PERIODS.map((period) => [period, words.filters.periods[period]] as const),
                    ...(search.from || search.to ? [['given', words.filters.given] as const] : []),
                  ]}
                  value={search.from || search.to ? 'given' : search.period}
                  onChange={(value) =>
                    filter({
                      period: PERIODS.find((known) => known === value),
                      from: undefined,
                      to: undefined,
                    })
                  }
                />
                <FilterProduct
                  label={words.filters.product}
                  names={names}
                  value={search.productId}
                  onChange={(productId) => filter({ productId })}
                />
              </Filters>
            }
            empty={
              isFiltered || after !== undefined ? (
                <NoMatch to="/history">{words.noMatch}</NoMatch>
              ) : (
                <Empty
                  title={words.emptyTitle}
                  actions={<ButtonLink to="/program">{texts.navigation.program}</ButtonLink>}
                >
                  {words.empty}
                </Empty>
              )
            }
            count={words.count}
            pages={{ to: '/history', search: filters, after, next }}
          />
        </div>
      </WithPane>
    </Page>
  );
}
