import type { Purchase } from '@licet/client';
import { PURCHASE_STATES } from '@licet/contract/enums';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { licet } from '../../api.ts';
import { Badge } from '../../components/badge.tsx';
import { ButtonLink } from '../../components/button.tsx';
import { Cut } from '../../components/cut.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Filters } from '../../components/filters.tsx';
import { FilterSelect, FilterText } from '../../components/form.tsx';
import { Empty, NoMatch, Page } from '../../components/page.tsx';
import { WithPane } from '../../components/side-pane.tsx';
import { Time } from '../../components/time.tsx';
import { shortenKey } from '../../format.ts';
import { screenTexts } from '../../screen-texts.ts';
import { countGiven } from '../../search.ts';
import { useMay } from '../../session.ts';
import { useShortcuts } from '../../shortcuts.ts';
import { amountText, buyerName, orderOf, soldName } from './names.ts';
import { PurchaseBadge, PurchasePane } from './purchase.tsx';
import { marketsQuery } from './queries.ts';
import { IGNORED, purchasesRoute } from './route.ts';

const words = screenTexts.purchases;
const PAGE_ROWS = 50;
const NEWEST_FIRST = '-id';

const COLUMNS: readonly Column<Purchase>[] = [
  {
    id: 'item',
    header: words.columns.item,
    cell: (purchase) => <Cut>{soldName(purchase)}</Cut>,
    phone: 'title',
  },
  {
    id: 'buyer',
    header: words.columns.buyer,
    cell: (purchase) => <Cut>{buyerName(purchase)}</Cut>,
    phone: 'line',
  },
  {
    id: 'state',
    header: words.columns.state,
    cell: (purchase) => (
      <span className="flex items-center gap-1.5" title={purchase.reason ?? undefined}>
        <PurchaseBadge purchase={purchase} />
        {purchase.isTest && <Badge>{words.test}</Badge>}
      </span>
    ),
    width: 'w-36',
    phone: 'titleEnd',
  },
  {
    id: 'amount',
    header: words.columns.amount,
    isNumber: true,
    cell: (purchase) => <span className="whitespace-nowrap">{amountText(purchase)}</span>,
    width: 'w-31',
    phone: 'lineEnd',
  },
  {
    id: 'market',
    header: words.columns.market,
    cell: ({ marketName }) => <Cut>{marketName ?? words.goneMarket}</Cut>,
    width: 'w-27',
    isWide: true,
  },
  {
    id: 'order',
    header: words.columns.order,
    cell: (purchase) => <Cut isMono>{orderOf(purchase) ?? ''}</Cut>,
    width: 'w-30',
    isWide: true,
  },
  {
    id: 'license',
    header: words.columns.license,
    cell: ({ licenseKey }) =>
      licenseKey !== null && (
        <span title={licenseKey} className="font-mono text-[0.8125rem] whitespace-nowrap">
          {shortenKey(licenseKey)}
        </span>
      ),
    width: 'w-24 xl:w-26',
    phone: 'last',
  },
  {
    id: 'created',
    header: words.columns.created,
    cell: ({ createdAt }) => <Time value={createdAt} show="ago" />,
    width: 'w-31 xl:w-36',
    sort: { ascending: 'id', descending: NEWEST_FIRST },
    phone: 'lastEnd',
  },
];

/** Purchases at markets, the newest first, with what is still to do. */
export function Screen() {
  const search = purchasesRoute.useSearch();
  const navigate = purchasesRoute.useNavigate();
  const mayReadMarkets = useMay('readMarkets');
  const { data: markets = [] } = useQuery({ ...marketsQuery, enabled: mayReadMarkets });
  const { open, after, ...filters } = search;
  const { q, state, marketId, sort } = filters;
  const page = useQuery({
    queryKey: ['purchases', 'list', filters, after],
    queryFn: ({ signal }) => {
      const waits = state === 'UNMATCHED' ? false : undefined;
      const isIgnored = state === IGNORED ? true : waits;
      const wanted = state === IGNORED ? undefined : state;
      const query = { q, marketId, state: wanted, isIgnored, sort: sort ?? NEWEST_FIRST } as const;
      return licet.purchases.page({ ...query, after, limit: PAGE_ROWS }, { signal });
    },
    placeholderData: keepPreviousData,
  });
  const filter = (changes: Partial<typeof search>): void =>
    void navigate({ search: { ...filters, ...changes }, replace: true });
  const close = (): void =>
    void navigate({
      search: (old) => ({ ...old, open: undefined }),
      state: true,
      replace: true,
      resetScroll: false,
    });
  useShortcuts(open === undefined ? {} : { Escape: close });
  const isFiltered = countGiven({ q, state, marketId }) > 0;
  const known = page.data?.items.find(({ id }) => id === open);
  return (
    <Page
      title={words.title}
      lead={words.lead}
      actions={mayReadMarkets && <ButtonLink to="/markets">{words.toMarkets}</ButtonLink>}
    >
      <WithPane
        title={words.pane}
        isOpen={open !== undefined}
        onClose={close}
        pane={open !== undefined && <PurchasePane key={open} id={open} known={known} />}
      >
        <DataTable
          name="purchases"
          label={words.title}
          columns={COLUMNS}
          rows={page.data?.items}
          error={page.error}
          onRetry={page.refetch}
          linkOf={({ id }) => ({
            to: '/purchases',
            search: { ...search, open: id },
            state: true,
            resetScroll: false,
            replace: open !== undefined,
          })}
          rowClassOf={({ id }) => (id === open ? 'bg-accent-soft' : '')}
          count={words.count}
          total={page.data?.total}
          sort={{
            value: sort ?? NEWEST_FIRST,
            onChange: (value) => filter({ sort: value === 'id' ? value : undefined }),
          }}
          tools={
            <Filters
              to="/purchases"
              count={countGiven({ state, marketId })}
              search={
                <FilterText
                  label={words.search}
                  value={q ?? ''}
                  onChange={(text) => filter({ q: text || undefined })}
                />
              }
            >
              <FilterSelect
                label={words.columns.state}
                any={words.anyState}
                options={[
                  ...PURCHASE_STATES.map((one) => [one, words.states[one]] as const),
                  [IGNORED, words.ignored] as const,
                ]}
                value={state}
                onChange={(chosen) => filter({ state: chosen })}
              />
              {markets.length > 0 && (
                <FilterSelect
                  label={words.columns.market}
                  any={words.anyMarket}
                  options={markets.map(({ id, name }) => [id, name] as const)}
                  value={marketId}
                  onChange={(chosen) => filter({ marketId: chosen })}
                />
              )}
            </Filters>
          }
          pages={{ to: '/purchases', search: filters, after, next: page.data?.after }}
          empty={
            isFiltered ? (
              <NoMatch to="/purchases" />
            ) : (
              <Empty
                title={words.emptyTitle}
                actions={mayReadMarkets && <ButtonLink to="/markets">{words.toMarkets}</ButtonLink>}
              >
                {words.empty}
              </Empty>
            )
          }
        />
      </WithPane>
    </Page>
  );
}
