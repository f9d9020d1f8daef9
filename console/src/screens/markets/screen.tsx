import type { Market } from '@licet/client';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Badge } from '../../components/badge.tsx';
import { ButtonLink } from '../../components/button.tsx';
import { Cut } from '../../components/cut.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Plus } from '../../components/icons.tsx';
import { Empty, Page } from '../../components/page.tsx';
import { Time } from '../../components/time.tsx';
import { formatNumber } from '../../format.ts';
import { screenTexts } from '../../screen-texts.ts';
import { useRefusal } from '../../session.ts';
import { MarketForm } from './form.tsx';
import { marketsQuery } from './queries.ts';
import { marketsRoute } from './route.ts';

const words = screenTexts.markets;

/** The colour says whether somebody must act. */
const TONES = {
  OFF: 'neutral',
  NEEDS_SECRET: 'warn',
  FAILING: 'bad',
  NEEDS_PRODUCT: 'warn',
  WAITING: 'neutral',
  WORKS: 'good',
} as const;

/** The state of a market in a word: what it needs, or whether its last request was right. */
export const StateBadge = ({ market: { state } }: { market: Market }) => (
  <Badge tone={TONES[state]}>{words.states[state]}</Badge>
);

/** The name, and the kind of market unless the name says it. */
const nameOf = ({ name, kind }: Market): string =>
  name.toLowerCase().includes(words.kinds[kind].toLowerCase())
    ? name
    : `${name} · ${words.kinds[kind]}`;

const COLUMNS: readonly Column<Market>[] = [
  {
    id: 'name',
    header: words.name,
    cell: (market) => <Cut>{nameOf(market)}</Cut>,
    phone: 'title',
  },
  {
    id: 'state',
    header: words.state,
    cell: (market) => <StateBadge market={market} />,
    width: 'w-41',
    phone: 'titleEnd',
  },
  {
    id: 'products',
    header: words.products,
    isNumber: true,
    cell: ({ products }) => formatNumber(products.length),
    width: 'w-24',
  },
  {
    id: 'sales',
    header: words.sales,
    isNumber: true,
    cell: ({ sales }) => (
      <>
        {formatNumber(sales)}
        <span className="md:hidden"> {words.salesShort(sales)}</span>
      </>
    ),
    width: 'w-32',
    phone: 'line',
  },
  {
    id: 'lastSale',
    header: words.lastSale,
    cell: ({ lastSaleAt }) =>
      lastSaleAt === null ? (
        <span className="text-muted">{words.never}</span>
      ) : (
        <Time value={lastSaleAt} show="ago" />
      ),
    width: 'w-40',
    phone: 'lineEnd',
  },
];

export function Screen() {
  const { open } = marketsRoute.useSearch();
  const navigate = marketsRoute.useNavigate();
  const refusal = useRefusal('everything');
  const markets = useQuery({ ...marketsQuery, placeholderData: keepPreviousData });
  const isEmpty = markets.data?.length === 0;
  const create = refusal === undefined && (
    <ButtonLink to="/markets" search={{ open: 'new' }} look="primary">
      <Plus size={16} aria-hidden />
      {words.new}
    </ButtonLink>
  );
  return (
    <Page
      title={words.title}
      lead={!isEmpty && words.lead}
      actions={
        !isEmpty && (
          <>
            <ButtonLink to="/purchases">{words.toPurchases}</ButtonLink>
            {create}
          </>
        )
      }
    >
      <DataTable
        name="markets"
        label={words.title}
        columns={COLUMNS}
        rows={markets.data}
        error={markets.error}
        onRetry={markets.refetch}
        linkOf={({ id }) => ({ to: '/markets/$id', params: { id } })}
        {...(refusal === undefined && {
          onEdit: ({ id }: Market) => void navigate({ to: '/markets/$id/edit', params: { id } }),
        })}
        count={words.count}
        empty={
          <Empty title={words.emptyTitle} actions={create}>
            {words.empty}
          </Empty>
        }
      />
      <Dialog
        title={words.new}
        isOpen={open !== undefined}
        onClose={() => void navigate({ search: {}, replace: true })}
        isWide
      >
        <MarketForm
          onCreated={({ id }) =>
            void navigate({ to: '/markets/$id', params: { id }, replace: true })
          }
        />
      </Dialog>
    </Page>
  );
}
