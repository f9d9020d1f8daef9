import type { Market } from '@licet/client';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Badge } from '../../components/badge.tsx';
import { ButtonLink } from '../../components/button.tsx';
import { Cut } from '../../components/cut.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Plus } from '../../components/icons.tsx';
import { Empty, Page } from '../../components/page.tsx';
import { formatNumber } from '../../format.ts';
import { screenTexts } from '../../screen-texts.ts';
import { useRefusal } from '../../session.ts';
import { MarketForm } from './form.tsx';
import { marketsQuery } from './queries.ts';
import { marketsRoute } from './route.ts';

const words = screenTexts.markets;

/** Whether a market is ready, in a word. */
export function StateBadge({ market: { enabled, secretCount, products } }: { market: Market }) {
  if (!enabled) return <Badge>{words.states.off}</Badge>;
  if (secretCount === 0) return <Badge tone="warn">{words.states.noSecret}</Badge>;
  if (products.length === 0) return <Badge tone="warn">{words.states.noProducts}</Badge>;
  return <Badge tone="good">{words.states.ready}</Badge>;
}

const COLUMNS: readonly Column<Market>[] = [
  { id: 'name', header: words.name, cell: ({ name }) => <Cut>{name}</Cut>, phone: 'title' },
  {
    id: 'state',
    header: words.state,
    cell: (market) => <StateBadge market={market} />,
    width: 'w-41',
    phone: 'titleEnd',
  },
  {
    id: 'kind',
    header: words.kind,
    cell: ({ kind }) => words.kinds[kind],
    width: 'w-44',
    phone: 'line',
  },
  {
    id: 'products',
    header: words.products,
    isNumber: true,
    cell: ({ products }) => formatNumber(products.length),
    width: 'w-28',
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
