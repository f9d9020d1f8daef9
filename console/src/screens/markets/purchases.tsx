import type { Purchase } from '@licet/client';
import { PURCHASE_STATES } from '@licet/contract/enums';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { licet } from '../../api.ts';
import { Badge } from '../../components/badge.tsx';
import { Button, ButtonLink, TextLink } from '../../components/button.tsx';
import { Cut } from '../../components/cut.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { FilterSelect, FilterText, Form, SelectField } from '../../components/form.tsx';
import { Empty, NoMatch, Page } from '../../components/page.tsx';
import { Time } from '../../components/time.tsx';
import { toasts } from '../../components/toasts.tsx';
import { productName } from '../../format.ts';
import { useProductNames, useProducts } from '../../products.ts';
import { screenTexts } from '../../screen-texts.ts';
import { countGiven } from '../../search.ts';
import { useMay, useRefusal } from '../../session.ts';
import { marketsQuery, refreshMarkets } from './queries.ts';
import { purchasesRoute } from './route.ts';

const words = screenTexts.purchases;
const PAGE_ROWS = 50;
const TONES = { GRANTED: 'good', REVOKED: 'bad', UNMATCHED: 'warn' } as const;

/** Purchases at markets, with what is still to do. */
export function Screen() {
  const search = purchasesRoute.useSearch();
  const navigate = purchasesRoute.useNavigate();
  const refusal = useRefusal('writeLicenses');
  const mayReadMarkets = useMay('readMarkets');
  const names = useProductNames();
  const { data: markets = [] } = useQuery({ ...marketsQuery, enabled: mayReadMarkets });
  const { q, state, marketId, after, open } = search;
  const page = useQuery({
    queryKey: ['purchases', 'list', q, state, marketId, after],
    queryFn: ({ signal }) =>
      licet.purchases.page({ q, state, marketId, after, limit: PAGE_ROWS }, { signal }),
    placeholderData: keepPreviousData,
  });
  const filter = (changes: Partial<typeof search>): void =>
    void navigate({ search: { q, state, marketId, ...changes }, replace: true });
  const nameOfMarket = (id: number): string =>
    markets.find((one) => one.id === id)?.name ?? words.market(id);
  const columns: readonly Column<Purchase>[] = [
    {
      id: 'item',
      header: words.columns.item,
      cell: ({ item, productId }) => (
        <Cut>{productId === null ? words.item(item) : productName(names, productId)}</Cut>
      ),
      phone: 'title',
    },
    {
      id: 'state',
      header: words.columns.state,
      cell: (purchase) => (
        <span className="flex items-center gap-2" title={purchase.reason ?? undefined}>
          <Badge tone={TONES[purchase.state]}>{words.states[purchase.state]}</Badge>
          {purchase.isTest && <Badge>{words.test}</Badge>}
        </span>
      ),
      width: 'w-38',
      phone: 'titleEnd',
    },
    {
      id: 'market',
      header: words.columns.market,
      cell: (purchase) => <Cut>{nameOfMarket(purchase.marketId)}</Cut>,
      width: 'w-32',
      phone: 'line',
    },
    {
      id: 'buyer',
      header: words.columns.buyer,
      cell: ({ buyerName, buyerId }) => <Cut>{buyerName ?? buyerId ?? ''}</Cut>,
      width: 'w-32',
      phone: 'lineEnd',
    },
    {
      id: 'order',
      header: words.columns.order,
      cell: ({ order }) => <Cut isMono>{order ?? ''}</Cut>,
      width: 'w-32',
      isExtra: true,
    },
    {
      id: 'license',
      header: words.columns.license,
      cell: ({ id, licenseId, state: itsState }) =>
        licenseId !== null ? (
          <TextLink to="/licenses/$licenseId" params={{ licenseId }}>
            {words.license(licenseId)}
          </TextLink>
        ) : (
          itsState === 'UNMATCHED' &&
          refusal === undefined && (
            <ButtonLink look="link" to="/purchases" search={{ ...search, open: id }}>
              {words.choose}
            </ButtonLink>
          )
        ),
      width: 'w-36',
      phone: 'last',
    },
    {
      id: 'created',
      header: words.columns.created,
      cell: ({ createdAt }) => <Time value={createdAt} show="ago" />,
      width: 'w-33',
      phone: 'lastEnd',
    },
  ];
  const isFiltered = countGiven({ q, state, marketId }) > 0;
  const next = page.data?.after;
  const close = () => filter({ after, open: undefined });
  return (
    <Page
      title={words.title}
      lead={words.lead}
      actions={mayReadMarkets && <ButtonLink to="/markets">{words.toMarkets}</ButtonLink>}
    >
      <DataTable
        name="purchases"
        label={words.title}
        columns={columns}
        rows={page.data?.items}
        error={page.error}
        onRetry={page.refetch}
        count={words.count}
        tools={
          <search className="flex flex-wrap items-center gap-2">
            <FilterText
              label={words.search}
              value={q ?? ''}
              onChange={(text) => filter({ q: text || undefined })}
            />
            <FilterSelect
              label={words.columns.state}
              any={words.anyState}
              options={PURCHASE_STATES.map((one) => [one, words.states[one]] as const)}
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
          </search>
        }
        pages={{ to: '/purchases', search: { q, state, marketId }, after, next }}
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
      <Dialog title={words.choose} isOpen={open !== undefined} onClose={close}>
        {open !== undefined && <ChooseProduct id={open} refusal={refusal} onDone={close} />}
      </Dialog>
    </Page>
  );
}

/** Grants a purchase that waits for a product. */
function ChooseProduct({
  id,
  refusal,
  onDone,
}: {
  id: number;
  refusal: string | undefined;
  onDone: () => void;
}) {
  const { data: products = [] } = useProducts();
  return (
    <Form
      onSubmit={async (data) => {
        const productId = Number(data.get('productId'));
        const { licenseId } = await licet.purchases.grant(id, { productId });
        await refreshMarkets();
        toasts.done(words.granted(licenseId ?? 0));
        onDone();
      }}
      buttons={(isBusy) => (
        <Button type="submit" look="primary" disabled={isBusy} refusal={refusal}>
          {words.grant}
        </Button>
      )}
    >
      <p>{words.chooseLead}</p>
      <SelectField
        label={words.product}
        name="productId"
        options={products.map(({ id: value, name }) => [String(value), name] as const)}
        required
      />
    </Form>
  );
}
